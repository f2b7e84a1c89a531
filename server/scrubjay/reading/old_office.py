"""Converts Word files of 1997 to 2003 (DOC) and rich text (RTF) to Markdown."""

import io
import re
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import groupby, pairwise

import olefile

from scrubjay.reading.office import markdown_table
from scrubjay.reading.result import Budget, Conversion, Unreadable, tidy_values
from scrubjay.text.chunking.markdown import without_headings

_WORD_97 = 0xC1  # the first version with these tables
_IS_ENCRYPTED, _IS_TABLE_1 = 0x0100, 0x0200
_COMPRESSED = 1 << 30  # the flag of a piece in cp1252
_CELL = "\x07"
_HEADING = "\x10"  # marks a heading before the end of its paragraph, once for each level
_OUTSIDE = "\x0f"  # marks a paragraph outside of tables before its end
_IN_TABLE = b"\x16\x24\x01"  # the property of paragraphs in tables
_MARKS = dict.fromkeys(map(ord, f"\r{_CELL}{_HEADING}{_OUTSIDE}"))
_NO_YEAR = 1601  # the year of an empty time
_TITLE = 62  # the number of the built-in style; 1 to 9 are the headings
_FIELD = re.compile("[\x13\x14\x15]")
_REPLACED = str.maketrans({"\x0b": "\n", "\x0c": "\r", "\x1e": "-", "\xa0": " "})
_DROPPED = dict.fromkeys(map(ord, "\x01\x02\x05\x08\x1f"))  # pictures, marks of notes, soft hyphens
# Deleted text is blanked out: its bytes become 8, except zeros and ends of paragraphs (7 and 13). A letter of
# two bytes becomes 8 or one of the four letters below, which are dropped too.
_DELETED_BYTES = bytes(byte if byte in b"\x00\x07\r" else 8 for byte in range(256))
_DROPPED |= dict.fromkeys(map(ord, "\u0800\u0807\u0808\u080d"))
_IS_DELETED = 0x0800  # the property of characters that were deleted while changes were tracked
_VALUE_SIZES = (1, 1, 2, 4, 2, 2, 0, 3)  # by the three highest bits of a property; 0: a byte has the size
_RTF_TITLE = re.compile(r"\{\\info\b.{0,200}?\{\\title ([^{}]{1,2000})\}", re.DOTALL)
_RTF_STYLE = re.compile(r"\{\\s(\d+)\b[^{};]* (?:heading ([1-6])|title)[,;]", re.IGNORECASE)
_RTF_LEVEL = re.compile(r"(?<!\\)\\(outlinelevel(?=[0-5]\b)|s)(\d{1,5})\b ?")
_RTF_HEADING = re.compile(f"{_HEADING}(\\d)")
_BROKEN_ROW = re.compile(r"(?<![|\n])\n\|")  # a line break that a paragraph left inside a row
_LONG_NUMBER = re.compile(r"(?<!\\)(\\[a-z]{1,32}-?\d{9})\d+")
_SEPARATE_TEXTS = re.compile(  # striprtf drops these groups
    r"(?:\\\*)?\\(?:footnote|annotation|header[lrf]?|footer[lrf]?|shp|shpgrp|shpinst|shptxt)\b ?"
)
_DELETED = re.compile(r"\{\\deleted[^{}]*\}")


def convert_doc(data: bytes, budget: Budget) -> Conversion:
    """Write the paragraphs, tables, notes and comments of a Word document.

    Raises:
        Unreadable: the document is protected, or older than Word 97.
    """
    with olefile.OleFileIO(io.BytesIO(data)) as file:
        main = file.openstream("WordDocument").read()
        version, flags = struct.unpack_from("<H", main, 2)[0], struct.unpack_from("<H", main, 0x0A)[0]
        if version < _WORD_97:
            raise Unreadable("is older than Word 97; save it as .docx")
        if flags & _IS_ENCRYPTED:
            raise Unreadable("is protected by a password; save it without one")
        table = file.openstream("1Table" if flags & _IS_TABLE_1 else "0Table").read()
        marks: dict[int, str] = {}
        with suppress(struct.error, IndexError):  # without marks the text is still complete
            marks = _paragraph_marks(main, table)
        with suppress(struct.error, IndexError):
            main = _without_deleted(main, table)
        text = "".join(map(budget.take, _pieces(main, table, marks)))
        title, metadata = _title_and_metadata(file)
    lines = _blocks(_without_field_codes(text).translate(_REPLACED).translate(_DROPPED))
    return Conversion("\n\n".join(filter(None, lines)), title=title, metadata=metadata)


def _pieces(main: bytes, table: bytes, marks: Mapping[int, str]) -> Iterator[str]:
    """Yield the pieces of the text in order; `marks` has the marks of paragraphs by their ends."""
    marked_ends = sorted(marks)
    position, length = struct.unpack_from("<II", main, 0x01A2)
    table_end = position + length
    while position < table_end and table[position] == 1:  # skip formatting
        position += 3 + struct.unpack_from("<H", table, position + 1)[0]
    size = struct.unpack_from("<I", table, position + 1)[0]
    count, position = (size - 4) // 12, position + 5
    ends = struct.unpack_from(f"<{count + 1}I", table, position)
    for number in range(count):
        offset = struct.unpack_from("<I", table, position + 4 * (count + 1) + 8 * number + 2)[0]
        characters = ends[number + 1] - ends[number]
        if offset & _COMPRESSED:
            start, width, encoding = (offset & ~_COMPRESSED) // 2, 1, "cp1252"
        else:
            start, width, encoding = offset, 2, "utf-16-le"
        end = start + width * characters
        for marked_end in marked_ends[bisect_right(marked_ends, start) : bisect_right(marked_ends, end)]:
            text = main[start:marked_end].decode(encoding, "replace")
            yield f"{text[:-1]}{marks[marked_end]}{text[-1:]}"
            start = marked_end
        yield main[start:end].decode(encoding, "replace")


def _without_deleted(main: bytes, table: bytes) -> bytes:
    """Blank out the text that was deleted while changes were tracked."""
    blanked = bytearray(main)
    for page in _pages(main, table, 0x00FA):
        offsets = struct.unpack_from(f"<{page[511] + 1}I", page)
        for run, (first, last) in enumerate(pairwise(offsets)):
            at = 2 * page[4 * len(offsets) + run]
            properties = page[at + 1 : at + 1 + page[at]] if at else b""
            if dict(_properties(properties)).get(_IS_DELETED) == 1:
                blanked[first:last] = main[first:last].translate(_DELETED_BYTES)
    return bytes(blanked)


def _pages(main: bytes, table: bytes, list_at: int) -> Iterator[bytes]:
    """Yield the pages of 512 bytes in a list of formatted runs, whose place is at `list_at` in `main`."""
    start, size = struct.unpack_from("<II", main, list_at)
    count = size // 8  # the list has one offset more than pages
    for (number,) in struct.iter_unpack("<I", table[start + 4 * (count + 1) : start + size]):
        yield main[512 * (number & 0x3FFFFF) :][:512]


def _properties(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield each property in a list, and the first byte of its value."""
    position = 0
    while position + 3 <= len(data):
        (name,) = struct.unpack_from("<H", data, position)
        yield name, data[position + 2]
        position += 2 + (_VALUE_SIZES[name >> 13] or 1 + data[position + 2])


def _paragraph_marks(main: bytes, table: bytes) -> dict[int, str]:
    """Return the marks of headings and of paragraphs outside of tables, by the offset in `main` at their end.

    Pages of 512 bytes have these offsets, with the number of each paragraph's style and its own properties.
    """
    levels = _style_levels(table, *struct.unpack_from("<II", main, 0x00A2))
    marks: dict[int, str] = {}
    for page in _pages(main, table, 0x0102):
        offsets = struct.unpack_from(f"<{page[511] + 1}I", page)
        for run, end in enumerate(offsets[1:]):
            properties = 2 * page[4 * len(offsets) + 13 * run]
            at = properties + (1 if page[properties] else 2)
            length = 2 * page[at - 1] - (at == properties + 1)
            (style,) = struct.unpack_from("<H", page, at)
            level = levels.get(style, 0) if properties else 0
            is_outside = not properties or _IN_TABLE not in page[at + 2 : at + length]
            if level or is_outside:
                marks[end] = _HEADING * level + _OUTSIDE * is_outside
    return marks


def _style_levels(table: bytes, start: int, size: int) -> dict[int, int]:
    """Return the heading level of each style that has one; a style without its own level has its parent's."""
    styles = table[start : start + size]
    levels: dict[int, int] = {}
    position = 2 + struct.unpack_from("<H", styles)[0]
    for style in range(struct.unpack_from("<H", styles, 2)[0]):
        (length,) = struct.unpack_from("<H", styles, position)
        if length:
            base, parent = struct.unpack_from("<HH", styles, position + 2)
            base &= 0xFFF
            level = 1 if base == _TITLE else base if 1 <= base <= 9 else levels.get(parent >> 4, 0)
            levels |= {style: min(level, 6)} if level else {}
        position += 2 + length + length % 2
    return levels


def _without_field_codes(text: str) -> str:
    """Remove the instructions of fields, and keep their results."""
    parts: list[str] = []
    in_code: list[bool] = []  # for each open field, True while we are in its instructions
    text_start = 0
    for mark in _FIELD.finditer(text):
        if not any(in_code):
            parts.append(text[text_start : mark.start()])
        text_start = mark.end()
        if mark[0] == "\x13":
            in_code.append(True)
        elif in_code and mark[0] == "\x14":
            in_code[-1] = False
        elif in_code:
            in_code.pop()
    return "".join([*parts, "" if any(in_code) else text[text_start:]])


def _blocks(text: str) -> Iterator[str]:
    """Yield paragraphs and tables."""
    for is_row, group in groupby(_rows(text), key=lambda row: len(row) > 1):
        rows = list(group)
        yield (
            "\n".join(markdown_table(rows)) if is_row else "\n\n".join(words for row in rows for words in row)
        )


def _rows(text: str) -> Iterator[list[str]]:
    """Yield the cells of table rows, and other paragraphs as rows of one cell.

    A row has one cell mark more than cells, so an empty cell ends a row that is as wide as the first row.
    """
    row: list[str] = []
    width = 0  # of the table, 0 outside tables
    cell_paragraphs: list[str] = []  # paragraphs that may belong to the next cell
    for paragraph in re.findall(f"[^\r{_CELL}]*+[\r{_CELL}]|[^\r{_CELL}]++", text):
        words = paragraph.translate(_MARKS).strip()
        if paragraph.endswith(_CELL):
            if not words and not cell_paragraphs and row and len(row) >= width:
                yield row
                row, width = [], width or len(row)
            else:
                row.append(" ".join([*cell_paragraphs, words]).strip())
                cell_paragraphs = []
            continue
        level = paragraph.count(_HEADING)
        words = f"{'#' * level} {words}" if words and level else without_headings(words)
        if _OUTSIDE in paragraph:
            yield from ([line] for line in [*row, *cell_paragraphs, words] if line)
            row, cell_paragraphs, width = [], [], 0
        elif row or width:
            cell_paragraphs.append(words)
            if not row and len(cell_paragraphs) > 1:  # the table has ended
                yield from ([line] for line in cell_paragraphs if line)
                cell_paragraphs, width = [], 0
        elif words:
            yield [words]
    yield from ([line] for line in [*row, *cell_paragraphs] if line)


def _title_and_metadata(file: olefile.OleFileIO) -> tuple[str | None, dict[str, str]]:
    properties = file.get_metadata()

    def text_of(field: object) -> str | None:
        if isinstance(field, bytes):
            codepage = properties.codepage or 1252
            encoding = "utf-8" if codepage in (65001, -535) else f"cp{codepage}"
            return field.decode(encoding, "replace").strip("\x00 ")
        return None

    date = properties.last_saved_time
    date = date if date and date.year > _NO_YEAR else None
    values = {name: text_of(getattr(properties, name)) for name in ("author", "subject", "keywords")}
    return text_of(properties.title), tidy_values(**values, date=date and date.date().isoformat())


def convert_rtf(data: bytes, budget: Budget) -> Conversion:
    """Write the paragraphs of rich text, without text that is marked as deleted."""
    from striprtf.striprtf import rtf_to_text

    to_text: Callable[..., str] = rtf_to_text
    source = _LONG_NUMBER.sub(r"\1", data.decode("latin-1"))  # striprtf takes quadratic time for long numbers
    source = _SEPARATE_TEXTS.sub(" ", _DELETED.sub("", source))
    levels = {style: level or "1" for style, level in _RTF_STYLE.findall(source)}

    def mark(match: re.Match[str]) -> str:
        level = str(int(match[2]) + 1) if match[1] == "outlinelevel" else levels.get(match[2])
        return f"{match[0]}{_HEADING}{level}" if level else match[0]

    marked = _RTF_LEVEL.sub(mark, source)
    text = _BROKEN_ROW.sub("|", to_text(marked, errors="replace"))
    title = _RTF_TITLE.search(source)
    text = "\n\n".join(_paragraphs(text.split("\n")))
    return Conversion(budget.take(text), title=to_text(f"{{\\rtf1 {title[1]}}}") if title else None)


def _paragraphs(lines: Iterable[str]) -> Iterator[str]:
    """Yield paragraphs and tables; a table row is a line with a bar after each cell."""
    for is_row, group in groupby(lines, key=lambda line: line.endswith("|")):
        if is_row:
            rows = [_RTF_HEADING.sub("", line).split("|")[:-1] for line in group]
            yield "\n".join(markdown_table(rows))
        else:
            yield from filter(None, map(_rtf_line, group))


def _rtf_line(line: str) -> str:
    words, level = _RTF_HEADING.sub("", line).rstrip(), _RTF_HEADING.match(line)
    return f"{'#' * int(level[1])} {words.lstrip()}" if words and level else without_headings(words)
