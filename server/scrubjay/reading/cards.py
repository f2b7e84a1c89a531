"""Reads calendars (iCalendar) and address books (vCard): their lines whole, and without codes."""

import quopri
import re

from scrubjay.reading.encodings import decode, decode_as
from scrubjay.reading.result import Conversion

_FOLD = re.compile(r"\n[ \t]")  # continues a line, even in the middle of a word
_CODED = re.compile(r"[^:\n]*;(?:ENCODING=)?QUOTED-PRINTABLE[;:]", re.IGNORECASE)
_BINARY = re.compile(r"[^:\n]*(?:;ENCODING=(?:b|base64)\b|;base64[;:]|:data:[^,]*;base64,)", re.IGNORECASE)
_CHARSET = re.compile(r";CHARSET=([\w-]+)", re.IGNORECASE)
_PARAMETERS = re.compile(r";(?:CHARSET=[\w-]+|(?:ENCODING=)?QUOTED-PRINTABLE)", re.IGNORECASE)
_ENTRY = re.compile(r"\n(?=BEGIN:V(?:EVENT|TODO|JOURNAL|CARD)$)", re.MULTILINE)
_ESCAPE = re.compile(r"\\([nN,;\\])")


def convert_card(text: str) -> Conversion:
    """Join folded lines, decode their values, leave out pictures, and put a blank line above each entry."""
    lines: list[str] = []
    for line in _FOLD.sub("", text.replace("\r\n", "\n")).split("\n"):
        if lines and lines[-1].endswith("=") and _CODED.match(lines[-1]):
            lines[-1] = lines[-1][:-1] + line
        else:
            lines.append(line)
    values = (_decoded(line) if _CODED.match(line) else line for line in lines if not _BINARY.match(line))
    plain = (_ESCAPE.sub(lambda mark: "\n" if mark[1] in "nN" else mark[1], value) for value in values)
    return Conversion(_ENTRY.sub("\n\n", "\n".join(plain)))


def _decoded(line: str) -> str:
    name, _, value = line.partition(":")
    charset = _CHARSET.search(name)
    data = quopri.decodestring(value.encode())
    text, _ = decode_as(data, charset[1] if charset else "utf-8") or decode(data)
    return f"{_PARAMETERS.sub('', name)}:{text}"
