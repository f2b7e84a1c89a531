"""Reads what python-calamine leaves out of a workbook of 1997 to 2003 (XLS): number formats and comments."""

import io
import struct
from collections.abc import Iterator, Mapping
from contextlib import suppress

import olefile

from scrubjay.reading.number_formats import BUILT_IN, written_number

_BEGIN, _END, _SHEET, _FORMAT, _STYLE = 0x0809, 0x000A, 0x0085, 0x041E, 0x00E0  # kinds of records
_NUMBER, _FORMULA, _SHORT, _SHORTS = 0x0203, 0x0006, 0x027E, 0x00BD
_TEXT_OBJECT, _CONTINUED = 0x01B6, 0x003C

Position = tuple[int, int]  # row and column, from 0


class OldCells:
    """The cells of a workbook that are displayed differently from their value, and its comments."""

    def __init__(self, data: bytes) -> None:
        with olefile.OleFileIO(io.BytesIO(data)) as file:
            self._stream = file.openstream("Workbook").read() if file.exists("Workbook") else b""
        self._texts: dict[str, dict[Position, str]] = {}  # by sheet
        with suppress(struct.error, IndexError):  # without formats the values are still right
            self._read_formats()

    def _read_formats(self) -> None:
        formats = {int(number): code for number, code in BUILT_IN.items()}
        styles: list[int] = []  # the number of the format of each style
        sheets: dict[int, str] = {}  # offset -> name
        depth, texts = 0, dict[Position, str]()
        for offset, kind, body in _records(self._stream):
            if kind == _BEGIN:
                depth += 1
                texts = self._texts.setdefault(sheets[offset], {}) if offset in sheets else texts
            elif kind == _END:
                depth -= 1
            elif kind == _FORMAT:
                formats[struct.unpack_from("<H", body)[0]] = _string(body[2:], "<H")
            elif kind == _STYLE:
                styles.append(struct.unpack_from("<H", body, 2)[0])
            elif kind == _SHEET:
                sheets[struct.unpack_from("<I", body)[0]] = _string(body[6:], "<B")
            elif depth == 1:  # deeper are charts, which repeat cells
                for position, style, number in _numbers(kind, body):
                    if text := written_number(f"{number:.15g}", formats.get(styles[style], "")):
                        texts[position] = text

    def of(self, sheet: str) -> Mapping[Position, str]:
        """Return the displayed text of each cell of a sheet whose format adds something to its number."""
        return self._texts.get(sheet, {})

    def notes(self) -> list[str]:
        """Return the comments and text boxes of all sheets."""
        notes: list[str] = []
        text_length = 0
        for _, kind, body in _records(self._stream):
            if kind == _CONTINUED and text_length:
                encoding = "utf-16-le" if body[:1] == b"\x01" else "latin-1"
                notes.append(body[1:].decode(encoding, "replace")[:text_length].strip())
            has_length = kind == _TEXT_OBJECT and len(body) >= 12
            text_length = struct.unpack_from("<H", body, 10)[0] if has_length else 0
        return list(filter(None, notes))


def _records(stream: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield the offset, kind and body of each record."""
    offset = 0
    while offset + 4 <= len(stream):
        kind, size = struct.unpack_from("<HH", stream, offset)
        yield offset, kind, stream[offset + 4 : offset + 4 + size]
        offset += 4 + size


def _string(data: bytes, length_format: str) -> str:
    """Read a string: its length, a flag of its width, its letters."""
    (length,), start = struct.unpack_from(length_format, data), struct.calcsize(length_format)
    is_wide = bool(data[start] & 1)
    letters = data[start + 1 : start + 1 + length * (1 + is_wide)]
    return letters.decode("utf-16-le" if is_wide else "latin-1", "replace")


def _numbers(kind: int, body: bytes) -> Iterator[tuple[Position, int, float]]:
    """Yield the position, style and number of each cell in a record."""
    if kind in (_NUMBER, _FORMULA) and len(body) >= 14 and (kind == _NUMBER or body[12:14] != b"\xff\xff"):
        row, column, style, number = struct.unpack_from("<HHHd", body)
        yield (row, column), style, number
    elif kind in (_SHORT, _SHORTS):
        row, first = struct.unpack_from("<HH", body)
        for at in range((len(body) - 4) // 6):
            style, short = struct.unpack_from("<HI", body, 4 + 6 * at)
            whole = struct.unpack("<i", struct.pack("<I", short))[0] >> 2
            number = whole if short & 2 else struct.unpack("<d", struct.pack("<II", 0, short & ~3))[0]
            yield (row, first + at), style, number / (100 if short & 1 else 1)
