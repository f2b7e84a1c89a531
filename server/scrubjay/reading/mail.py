"""Converts e-mail to Markdown: headers, body, and the names of attachments, which are not opened."""

from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from email.utils import parsedate_to_datetime

from scrubjay.reading.encodings import decode
from scrubjay.reading.result import Conversion, Unreadable, tidy_values

_HEADERS = ("From", "To", "Cc", "Date")


def convert_mail(data: bytes) -> Conversion:
    """Write the headers that people read, then the plain body, or the HTML one as Markdown.

    Raises:
        Unreadable: it has none of the headers of an e-mail.
    """
    message = message_from_bytes(data, policy=default)
    assert isinstance(message, EmailMessage)
    if not any(message.get(name) for name in ("From", "To", "Subject", "Date", "Message-ID", "Received")):
        raise Unreadable("is no e-mail message, or damaged")
    headers = {name: " ".join(str(message.get(name) or "").split()) for name in (*_HEADERS, "Subject")}
    attachments = list(message.iter_attachments()) if message.is_multipart() else []
    names = ", ".join(part.get_filename() or part.get_content_type() for part in attachments)
    head = [f"{name}: {headers[name]}" for name in _HEADERS if headers[name]]
    head += [f"Attachments: {names}"] if names else []
    subject, date = headers["Subject"], _date(headers["Date"])
    heading = f"# {subject}" if subject else ""
    text = "\n\n".join(filter(None, (heading, "\n".join(head), _body(message))))
    metadata = tidy_values(author=headers["From"], to=headers["To"], date=date, subject=subject)
    return Conversion(text, title=subject or None, metadata=metadata)


def _body(message: EmailMessage) -> str:
    part = message.get_body(preferencelist=("plain", "html"))
    if part is None:
        return ""
    payload = part.get_payload(decode=True)
    raw = payload if isinstance(payload, bytes) else b""
    try:
        text = raw.decode(part.get_content_charset() or "utf-8")
    except (LookupError, UnicodeDecodeError):
        text, _ = decode(raw)
    text = text.replace("\r\n", "\n")
    if part.get_content_type() == "text/html":
        from scrubjay.reading.html import convert_html

        return convert_html(text).text
    return text.strip()


def _date(header: str) -> str | None:
    try:
        return parsedate_to_datetime(header).date().isoformat()
    except ValueError:
        return None
