"""Reads Outlook messages (MSG) as e-mail."""

import io
import re
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from email.parser import HeaderParser
from email.policy import default
from email.utils import format_datetime

import olefile

from scrubjay.reading.mail import write_mail
from scrubjay.reading.result import Conversion

_SUBJECT, _HEADERS, _SENDER, _ADDRESS, _TO, _CC = "0037", "007D", "0C1A", "5D01", "0E04", "0E03"
_BODY, _HTML, _FILE_NAME, _SHORT_NAME = "1000", "1013", "3707", "3704"
_DATA, _MESSAGE = "37010102", "3701000D"
_ATTACHMENT = re.compile(r"__attach_version1\.0_#\w+")
# Properties with a time: their type and number. A time is counted in tenths of microseconds.
_SENT, _DELIVERED = b"\x40\x00\x39\x00", b"\x40\x00\x06\x0e"
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)
_DEEPEST = 5  # levels of messages in messages

_Place = list[str]  # path of a message or an attachment within the file


def convert_message(data: bytes) -> Conversion:
    """Write the headers, text and attachments of a message, as `mail` does."""
    with olefile.OleFileIO(io.BytesIO(data)) as file:
        return write_mail(_message(file, [], 0))


def _message(file: olefile.OleFileIO, place: _Place, depth: int) -> EmailMessage:
    message = EmailMessage(policy=default)
    transport_headers = HeaderParser(policy=default).parsestr(_text(file, place, _HEADERS))
    sender, address = _text(file, place, _SENDER), _text(file, place, _ADDRESS)
    values = {
        "From": transport_headers.get("From") or (f"{sender} <{address}>" if address else sender),
        "To": transport_headers.get("To") or _text(file, place, _TO),
        "Cc": transport_headers.get("Cc") or _text(file, place, _CC),
        "Date": transport_headers.get("Date") or _date(file, place),
        "Subject": _text(file, place, _SUBJECT),
    }
    for name, value in values.items():
        if line := " ".join(str(value).split()):
            message[name] = line
    message.set_content(_text(file, place, _BODY))
    if html := _bytes(file, place, f"{_HTML}0102") or _text(file, place, _HTML).encode():
        message.add_alternative(html.decode("utf-8", "replace"), subtype="html")
    for name in dict.fromkeys(path[len(place)] for path in file.listdir() if path[: len(place)] == place):
        if _ATTACHMENT.fullmatch(name):
            _attach(message, file, [*place, name], depth)
    return message


def _attach(message: EmailMessage, file: olefile.OleFileIO, place: _Place, depth: int) -> None:
    name = _text(file, place, _FILE_NAME) or _text(file, place, _SHORT_NAME)
    inner = [*place, f"__substg1.0_{_MESSAGE}"]
    if file.exists(inner) and depth < _DEEPEST:
        message.add_attachment(_message(file, inner, depth + 1))
    elif name:
        data = _bytes(file, place, _DATA)
        message.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)


def _date(file: olefile.OleFileIO, place: _Place) -> str:
    """Return when a message was sent or delivered by its table of properties, for mails without headers."""
    path = [*place, "__properties_version1.0"]
    table = bytes(file.openstream(path).read()) if file.exists(path) else b""
    times = {table[at : at + 4]: table[at + 8 : at + 16] for at in range(24 if place else 32, len(table), 16)}
    ticks = int.from_bytes(times.get(_SENT) or times.get(_DELIVERED) or b"", "little")
    return format_datetime(_EPOCH + timedelta(microseconds=ticks // 10)) if ticks else ""


def _text(file: olefile.OleFileIO, place: _Place, tag: str) -> str:
    if utf16 := _bytes(file, place, f"{tag}001F"):
        return utf16.decode("utf-16-le", "replace").rstrip("\x00")
    return _bytes(file, place, f"{tag}001E").decode("cp1252", "replace").rstrip("\x00")


def _bytes(file: olefile.OleFileIO, place: _Place, tag: str) -> bytes:
    path = [*place, f"__substg1.0_{tag}"]
    return bytes(file.openstream(path).read()) if file.exists(path) else b""
