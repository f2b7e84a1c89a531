"""Converts workbooks to Markdown; `word` and `slides` convert the other office files.

It also finds the type of an office file, and checks that its archive is safe to open.
"""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from scrubjay.reading.kinds import OLE, ZIP, kinds_by_word
from scrubjay.reading.result import Budget, Conversion, Unreadable, tidy_values

if TYPE_CHECKING:
    from python_calamine import CalamineSheet, CalamineWorkbook

    from scrubjay.reading.cells import Cells, Position

# Bytes of all unpacked members; a file of 50 MB has fewer, because it is mostly pictures, hardly compressed.
LARGEST = 256 * 1024 * 1024
_MOST_MEMBERS = 10_000
_STEP = 1 << 20  # bytes that are read at once
_MOST_MERGED = 10_000  # cells merged into one
_MOST_TITLES = 3  # lines above a table; more of them are a list
_LEAST_NAMES = 3  # in the header of a further table; two may be a name and its value
_FIGURE = re.compile(r"\W{0,2}\d")  # the beginning of a number, an amount or a date
_MEMBERS, _MIMETYPES, _STREAMS = map(kinds_by_word, ("members", "mimetypes", "streams"))
_NUMBER = re.compile(r"^word/document\d+")  # Word in the browser writes document2.xml
_MANIFEST = "META-INF/manifest.xml"  # says which parts of an OpenDocument file are encrypted


def office_type(data: bytes) -> str | None:
    """Return the type of an office file, a book or an Outlook message; None for other files.

    Raises:
        Unreadable: the file is protected, damaged, or too large when unpacked.
    """
    if data.startswith(OLE):
        return _old_type(data)
    if not data.startswith(ZIP):
        return None
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = (_NUMBER.sub("word/document", name) for name in archive.namelist())
            kind = next((_MEMBERS[name] for name in names if name in _MEMBERS), None)
            if kind is None and "mimetype" in archive.namelist():
                with archive.open("mimetype") as member:
                    name = member.read(200).decode("latin-1").strip()
                    kind = _MIMETYPES.get(name.removesuffix("-template"))
            if kind:
                _check_archive(archive)
            return kind
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, ValueError, RuntimeError):
        raise Unreadable("is a damaged archive; get it again from where it came") from None


def _old_type(data: bytes) -> str | None:
    """Return the type of a file in the older container, which protected newer files are in too."""
    if "EncryptedPackage".encode("utf-16-le") in data:
        raise Unreadable("is protected by a password; save it without one")
    import olefile

    try:
        with olefile.OleFileIO(io.BytesIO(data)) as file:
            names = {path[0] for path in file.listdir()}
    except (OSError, ValueError, IndexError, struct.error):
        return None
    return next((kind for name, kind in _STREAMS.items() if name in names), None)


def _check_archive(archive: zipfile.ZipFile) -> None:
    """Unpack everything once without storing it, because an archive may state a wrong size."""
    members = archive.infolist()
    if len(members) > _MOST_MEMBERS or sum(member.file_size for member in members) > LARGEST:
        raise Unreadable(f"is larger than {LARGEST >> 20} MB when it is unpacked; split it")
    is_encrypted = _MANIFEST in archive.namelist() and b"encryption-data" in archive.read(_MANIFEST)
    for member in members:
        if member.flag_bits & 1 or is_encrypted:
            raise Unreadable("is protected by a password; save it without one")
        with archive.open(member) as content:
            while content.read(_STEP):  # reads at most the stated size; a longer member raises an error
                pass


def core_properties(data: bytes) -> tuple[str | None, dict[str, str]]:
    """Return the title and metadata (author, date, subject, keywords) that the office program wrote."""
    from lxml.etree import XMLSyntaxError

    from scrubjay.reading.parts import parse_part

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            root = parse_part(archive, "docProps/core.xml")
    except (KeyError, zipfile.BadZipFile, XMLSyntaxError):
        return None, {}
    tags = {"author": "{*}creator", "subject": "{*}subject", "keywords": "{*}keywords"}
    values = {name: root.findtext(tag) for name, tag in tags.items()}
    date = root.findtext("{*}modified") or root.findtext("{*}created") or ""
    title = " ".join((root.findtext("{*}title") or "").split())
    return title or None, tidy_values(**values, date=date[:10])


def convert_workbook(data: bytes, budget: Budget) -> Conversion:
    """Write each sheet that has a value: its name as a heading, and its rows; the first row is the header.

    Raises:
        Unreadable: the workbook is protected or damaged.
        TooLong: the workbook has too much text.
    """
    from python_calamine import CalamineError, CalamineWorkbook, PasswordError, ZipError

    from scrubjay.reading.cells import Cells

    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(data))
        cells = Cells(data) if data.startswith(ZIP) else None
        texts = ("\n".join(_sheet(book, name, cells)) for name in book.sheet_names)
        sheets = [budget.take(text) for text in texts if text]
    except PasswordError:
        raise Unreadable("is protected by a password; save it without one") from None
    except (CalamineError, ZipError):
        raise Unreadable("is not a workbook, or is damaged") from None
    title, metadata = core_properties(data) if data.startswith(ZIP) else (None, {})
    return Conversion("\n\n".join(sheets), title=title, metadata=metadata)


def _sheet(book: CalamineWorkbook, name: str, cells: Cells | None) -> Iterator[str]:
    from python_calamine import CalamineError

    try:
        sheet = book.get_sheet_by_name(name)
    except CalamineError:  # a sheet of charts has no cells
        return
    displayed = cells.displayed(name) if cells else {}
    comments = cells.comments(name) if cells else {}
    links = cells.links(name) if cells else {}
    lines = list(_titles_and_tables(_rows(sheet, displayed, comments, links)))
    lines += cells.boxes(name) if cells else []
    if lines:
        yield f"# {' '.join(name.split())}\n"
        yield from lines


def _titles_and_tables(rows: Iterable[list[str]]) -> Iterator[str]:
    """Write the titles above tables as paragraphs, and the tables below each other as several."""
    table: list[list[str]] = []
    titles: list[list[str]] = []  # rows with one text after an empty row or at the top
    may_start = True
    for row in rows:
        texts = set(filter(None, row))
        if not texts:
            may_start = True
        elif may_start and len(texts) == 1 and len(titles) < _MOST_TITLES:
            titles.append(row)
        elif may_start and len(texts) > 1 and (not table or _is_header(row, table)):
            if table:
                yield from [*markdown_table(table), ""]
            for title in titles:
                yield from [next(filter(None, title)), ""]
            table, titles, may_start = [row], [], False
        else:
            table += [*titles, row]
            titles, may_start = [], False
    yield from markdown_table([*table, *titles])


def _is_header(row: list[str], table: list[list[str]]) -> bool:
    """Return True if a row after an empty one is the header of another table.

    It has at least three texts and no number, and is wider than the table or has texts below numbers.
    """
    if sum(map(bool, row)) < _LEAST_NAMES or any(_FIGURE.match(text) for text in row):
        return False
    is_wider = sum(map(bool, row)) > max(sum(map(bool, line)) for line in table)
    return is_wider or any(text and _FIGURE.match(last) for text, last in zip(row, table[-1], strict=False))


def _rows(
    sheet: CalamineSheet,
    displayed: dict[Position, str],
    comments: dict[Position, str],
    links: dict[Position, str],
) -> Iterator[list[str]]:
    """Yield the rows of a sheet as they are displayed; merged cells repeat their value."""
    top, left = sheet.start or (0, 0)
    merged = {
        (row, column): first
        for first, last in sheet.merged_cell_ranges or ()
        if (last[0] - first[0] + 1) * (last[1] - first[1] + 1) <= _MOST_MERGED
        for row in range(first[0], last[0] + 1)
        for column in range(first[1], last[1] + 1)
    }
    values: dict[Position, str] = {}  # the text of each merged range, by its first cell
    for row, cells in enumerate(sheet.iter_rows(), top):
        line = []
        for column, value in enumerate(cells, left):
            position = row, column
            text = displayed.pop(position, None) or _text(value)
            if position in merged:
                text = values.setdefault(merged[position], text)
            if text and (address := links.get(position)) and address not in (text, f"mailto:{text}"):
                text = f"[{text}]({address})"
            comment = comments.pop(position, "")
            line.append(f"{text} (comment: {comment})" if comment else text)
        yield line
    if displayed:  # formulas in cells below all rows
        yield [text for _, text in sorted(displayed.items())]
    for _, comment in sorted(comments.items()):  # of cells outside of all rows
        yield [f"(comment: {comment})"]


def _text(value: object) -> str:
    """Write a value as people type it: 3.0 as 3, a date without midnight, 30 hours as 30:00."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else f"{value:.15g}"
    if isinstance(value, timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02}" + (f":{seconds:02}" if seconds else "")
    return str(value).removesuffix(" 00:00:00")


def markdown_table(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Write a table without empty rows; the first row is the header, and other rows have at least its width.

    >>> list(markdown_table([["a", "b"], ["1", ""]]))
    ['| a | b |', '|---|---|', '| 1 | |']
    """
    width = 0
    for row in rows:
        cells = [_cell(cell) for cell in row]
        while cells and not cells[-1]:
            cells.pop()
        if not cells:
            continue
        is_header = width == 0
        width = width or max(len(cells), len(row))
        yield _line(cells, width)
        if is_header:
            yield "|" + "---|" * width


def _line(cells: list[str], width: int) -> str:
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in [*cells, *[""] * (width - len(cells))])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
