"""E-mail into Markdown: who wrote what to whom when, the body, the names of what is attached. Knows MIME; opens no attachment."""

from __future__ import annotations

from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from email.utils import parsedate_to_datetime

from scrubjay.reading.encodings import decode
from scrubjay.reading.result import Converted, Unreadable, tidy_values

_HEADERS = ("From", "To", "Cc", "Date")


def convert_mail(data: bytes) -> Converted:
    """The headers that people read, then the plain body, or the HTML one as Markdown.

    Raises:
        Unreadable: neither headers nor a body.
    """
    message = message_from_bytes(data, policy=default)
    assert isinstance(message, EmailMessage)
    if not any(message.get(name) for name in ("From", "To", "Subject", "Date", "Message-ID", "Received")):
        raise Unreadable("is no e-mail message, or damaged")
    said = {name: " ".join(str(message.get(name) or "").split()) for name in (*_HEADERS, "Subject")}
    names = (
        ", ".join(part.get_filename() or part.get_content_type() for part in message.iter_attachments())
        if message.is_multipart()
        else ""
    )
    head = [
        *(f"{name}: {said[name]}" for name in _HEADERS if said[name]),
        *([f"Attachments: {names}"] if names else []),
    ]
    text = "\n\n".join(
        filter(None, (f"# {said['Subject']}" if said["Subject"] else "", "\n".join(head), _body(message)))
    )
    return Converted(
        text,
        title=said["Subject"] or None,
        metadata=tidy_values(
            author=said["From"], to=said["To"], date=_date(said["Date"]), subject=said["Subject"]
        ),
    )


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


def _date(said: str) -> str | None:
    try:
        return parsedate_to_datetime(said).date().isoformat()
    except ValueError:
        return None
