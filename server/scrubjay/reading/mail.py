"""Converts e-mail to Markdown: headers, texts, attached mails and documents, and the names of other files."""

import re
from collections.abc import Iterator
from contextlib import suppress
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from email.utils import parsedate_to_datetime
from itertools import pairwise

from scrubjay.reading.encodings import decode, decode_as, is_unicode, meant_encoding
from scrubjay.reading.kinds import ARCHIVES, HEAD, MESSAGE, kind_of
from scrubjay.reading.markdown import fence
from scrubjay.reading.result import Conversion, Unreadable, tidy_values
from scrubjay.text.chunking.markdown import without_headings

_HEADERS = ("From", "To", "Cc", "Date")
_HEAD = re.compile(rb".*?\n\r?\n", re.DOTALL)
_QUOTED = re.compile(rb"^>(>*From )", re.MULTILINE)  # a line of the text that looked like a new message
_REPORT = "message/delivery-status"  # says in headers why a mail was not delivered
# Parts of a saved page that control it, and forms of a text that another form repeats.
_FOR_DISPLAY = ("text/css", "text/javascript", "text/x-amp-html", "text/watch-html")
_CODED_WORD = re.compile(rb"(?<==\?)[\w-]+(?=\?[bq]\?)", re.IGNORECASE)  # names its encoding
_DEEPEST = 10  # levels of mails in mails
_LEAST = 0.5  # share of the HTML's words; a plain part with fewer of them only says that the mail has HTML
_WORD = re.compile(r"\w+")
_TEXTS = frozenset({"markdown", "code", "json", "csv", "tsv", "html", "email"})
_DOCUMENTS = ARCHIVES | {"pdf", "rtf"}
_MOST_ATTACHED = 1_000_000  # bytes; a larger document, which could take all the time, is only named
_SUFFIXES = (".txt", ".log", ".patch", ".diff", ".ics", ".vcf")


def convert_mail(data: bytes) -> Conversion:
    """Write the headers that people read, then each text, attached mails, texts and documents.

    Raises:
        Unreadable: the file has none of the headers of an e-mail.
    """
    message = _parsed(data)
    if not _is_mail(message):
        raise Unreadable("is not an e-mail message, or is damaged")
    return write_mail(message)


def convert_mailbox(data: bytes) -> Conversion:
    """Write each message of a mailbox, one after the other, without attached documents, which take long.

    Raises:
        Unreadable: the file has no e-mail.
    """
    starts = [match.start() for match in MESSAGE.finditer(data)] or [0]
    pieces = (_QUOTED.sub(rb"\1", data[low:high]) for low, high in pairwise([*starts, None]))
    mails = [message for message in map(_parsed, pieces) if _is_mail(message)]
    texts = [write_mail(message, with_documents=False).text for message in mails]
    if not texts:
        raise Unreadable("is not a mailbox, or is damaged")
    return Conversion("\n\n".join(texts))


def _parsed(data: bytes) -> EmailMessage:
    """Parse a message; headers that an older program wrote in another encoding become UTF-8."""
    data = data.lstrip(b"\xef\xbb\xbf\r\n")
    end = head.end() if (head := _HEAD.match(data)) else 0
    headers = _CODED_WORD.sub(lambda name: meant_encoding(name[0].decode()).encode(), data[:end])
    if not is_unicode(headers):
        with suppress(Unreadable):
            headers = decode(headers)[0].encode()
    message = message_from_bytes(headers + data[end:], policy=default)
    assert isinstance(message, EmailMessage)
    return message


def _is_mail(message: EmailMessage) -> bool:
    return any(message.get(name) for name in ("From", "To", "Subject", "Date", "Message-ID", "Received"))


def write_mail(message: EmailMessage, *, with_documents: bool = True) -> Conversion:
    """Write a message as Markdown, with the text of attached documents or only their names."""
    headers = _headers(message)
    metadata = tidy_values(
        author=headers["From"], to=headers["To"], date=_date(headers["Date"]), subject=headers["Subject"]
    )
    text = "\n\n".join(filter(None, _blocks(message, 1, with_documents)))
    return Conversion(text, title=headers["Subject"] or None, metadata=metadata)


def _headers(message: EmailMessage) -> dict[str, str]:
    return {name: " ".join(str(message.get(name) or "").split()) for name in (*_HEADERS, "Subject")}


def _blocks(message: EmailMessage, level: int, with_documents: bool) -> Iterator[str]:
    headers = _headers(message)
    parts = list(_visible_parts(message))
    names = ", ".join(part.get_filename() or part.get_content_type() for part in parts if _is_attached(part))
    head = [f"{name}: {headers[name]}" for name in _HEADERS if headers[name]]
    head += [f"Attachments: {names}"] if names else []
    yield f"{'#' * min(level, 6)} {headers['Subject']}" if headers["Subject"] else ""
    yield "\n".join(head)
    for part in parts:
        if part.get_content_type() == _REPORT:
            yield "\n\n".join(str(group).strip() for group in part.iter_parts())
        elif part.get_content_type() == "message/rfc822":
            inner = part.get_payload(0) if part.is_multipart() else None
            if isinstance(inner, EmailMessage) and level < _DEEPEST:
                yield from _blocks(inner, level + 1, with_documents)
        elif part.is_attachment() or part.get_content_maintype() != "text":
            text = _text(part) if _is_text(part) else _document_text(part) if with_documents else ""
            if text:
                yield f"{'#' * min(level + 1, 6)} {part.get_filename() or 'Attachment'}"
                yield text
        else:
            yield _text(part)


def _is_attached(part: EmailMessage) -> bool:
    """Return True if programs show a part as a file; pictures between the words are not."""
    return part.is_attachment() or (
        part.get_filename() is not None and part.get_content_maintype() not in ("text", "image")
    )


def _is_text(part: EmailMessage) -> bool:
    name = (part.get_filename() or "").lower()
    has_text_name = kind_of(name).type in _TEXTS or name.endswith(_SUFFIXES)
    return has_text_name or part.get_content_maintype() == "text"


def _visible_parts(message: EmailMessage) -> Iterator[EmailMessage]:
    """Yield the parts that a person sees; of a text in several forms, only one."""
    kind = message.get_content_type()
    if not message.is_multipart() or kind in ("message/rfc822", _REPORT):
        if kind not in _FOR_DISPLAY:
            yield message
        return
    parts = [part for part in message.iter_parts() if isinstance(part, EmailMessage)]
    if kind == "multipart/alternative":
        parts = _best_form(parts)
    for part in parts:
        yield from _visible_parts(part)


def _best_form(parts: list[EmailMessage]) -> list[EmailMessage]:
    """Choose the plain form, unless it lacks most of the HTML's words; keep parts of other types."""
    plain = next((part for part in parts if part.get_content_type() == "text/plain"), None)
    html_parts = [
        part for part in parts if any(leaf.get_content_type() == "text/html" for leaf in _visible_parts(part))
    ]
    if plain is None or not html_parts:
        return html_parts[-1:] or parts
    others = [part for part in parts if part is not plain and part not in html_parts]
    html = "\n".join(
        _text(leaf) for leaf in _visible_parts(html_parts[-1]) if leaf.get_content_maintype() == "text"
    )
    plain_words, html_words = set(_WORD.findall(_text(plain))), set(_WORD.findall(html))
    return [html_parts[-1] if len(plain_words & html_words) < _LEAST * len(html_words) else plain, *others]


def _text(part: EmailMessage) -> str:
    payload = part.get_payload(decode=True)
    raw = payload if isinstance(payload, bytes) else b""
    try:
        text, _ = decode_as(raw, part.get_content_charset() or "utf-8") or decode(raw)
    except Unreadable:  # binary, although its name or type promises text
        return ""
    text = text.replace("\r\n", "\n")
    if part.get_content_type() == "text/html":
        from scrubjay.reading.html import convert_html

        return convert_html(text).text
    kind = kind_of(part.get_filename() or "")
    if "markdown" in (kind.type, part.get_content_subtype()):
        return text.strip()
    return fence(text.strip("\n"), kind.language) if kind.language else without_headings(text.strip())


def _document_text(part: EmailMessage) -> str:
    """Return the text of an attached document, or "" if it is large or cannot be read."""
    from scrubjay.reading.reader import MAX_TEXT, read_here

    name, payload = part.get_filename() or "", part.get_payload(decode=True)
    if not isinstance(payload, bytes) or len(payload) > _MOST_ATTACHED:
        return ""
    if kind_of(name, payload[:HEAD]).type in _DOCUMENTS:
        with suppress(Unreadable):
            return read_here(payload, name, MAX_TEXT).text
    return ""


def _date(header: str) -> str | None:
    try:
        return parsedate_to_datetime(header).date().isoformat()
    except ValueError:
        return None
