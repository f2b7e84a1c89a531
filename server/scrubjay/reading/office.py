"""Converts workbooks to Markdown; `word` and `slides` do the rest.

It first looks into the archive that such a file is: which kind it is, and whether it is safe to open.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from scrubjay.reading.result import Budget, Conversion, Unreadable, tidy_values

if TYPE_CHECKING:
    from python_calamine import CalamineWorkbook

ZIP, OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# bytes of all members, unpacked; most of a file of 50 MB are pictures, which do not shrink
LARGEST = 256 * 1024 * 1024
_MOST_MEMBERS = 10_000
_STEP = 1 << 20  # bytes
_MAIN = {
    "word/document.xml": "docx",
    "ppt/presentation.xml": "pptx",
    "xl/workbook.xml": "xlsx",
    "xl/workbook.bin": "xlsx",
}
_MIMETYPES = {
    b"application/epub+zip": "epub",
    b"application/vnd.oasis.opendocument.text": "odt",
    b"application/vnd.oasis.opendocument.spreadsheet": "ods",
    b"application/vnd.oasis.opendocument.presentation": "odp",
}
_OLD = (("Workbook", "xlsx"), ("Book", "xlsx"), ("WordDocument", "doc"), ("PowerPoint Document", "ppt"))
_OLD += (("__properties_version1.0", "msg"),)
_DC, _DCTERMS = "{http://purl.org/dc/elements/1.1/}", "{http://purl.org/dc/terms/}"
_CORE = "{http://schemas.openxmlformats.org/package/2006/metadata/core-properties}"
_LONGEST_PROPERTIES = 1_000_000  # bytes


def office_type(data: bytes) -> str | None:
    """Tell the type of an office file, a book or a message of Outlook; None for other bytes.

    Raises:
        Unreadable: it is protected, damaged, or larger unpacked than is safe.
    """
    if data.startswith(OLE):
        return _old_type(data)
    if not data.startswith(ZIP):
        return None
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            kind = next((_MAIN[name] for name in archive.namelist() if name in _MAIN), None)
            if kind is None and "mimetype" in archive.namelist():
                with archive.open("mimetype") as member:
                    kind = _MIMETYPES.get(member.read(200).strip().removesuffix(b"-template"))
            if kind:
                _check(archive)
            return kind
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, ValueError, RuntimeError):
        raise Unreadable("is a damaged archive; get it again from where it came") from None


def _old_type(data: bytes) -> str | None:
    """Tell the type of a file in the older container, which also holds newer files that are protected."""
    if "EncryptedPackage".encode("utf-16-le") in data:
        raise Unreadable("is protected by a password; save it without one")
    import olefile

    try:
        with olefile.OleFileIO(io.BytesIO(data)) as file:
            names = {path[0] for path in file.listdir()}
    except (OSError, ValueError, IndexError, struct.error):
        return None
    return next((kind for name, kind in _OLD if name in names), None)


def _check(archive: zipfile.ZipFile) -> None:
    """Unpack everything once, into nothing, because what an archive says of its size need not be true."""
    members = archive.infolist()
    if len(members) > _MOST_MEMBERS or sum(member.file_size for member in members) > LARGEST:
        raise Unreadable(f"is larger than {LARGEST >> 20} MB when it is unpacked; split it")
    for member in members:
        if member.flag_bits & 1:
            raise Unreadable("is protected by a password; save it without one")
        with archive.open(member) as content:
            while content.read(_STEP):  # never more than the size it states, and damaged if there is more
                pass


def core_properties(data: bytes) -> tuple[str | None, dict[str, str]]:
    """Read title and metadata (author, date, subject, keywords) as the office program wrote them."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive, archive.open("docProps/core.xml") as member:
            root = ElementTree.fromstring(member.read(_LONGEST_PROPERTIES))
    except (KeyError, zipfile.BadZipFile, ElementTree.ParseError):
        return None, {}
    tags = {"author": f"{_DC}creator", "subject": f"{_DC}subject", "keywords": f"{_CORE}keywords"}
    values = {name: root.findtext(tag) for name, tag in tags.items()}
    date = root.findtext(f"{_DCTERMS}modified") or root.findtext(f"{_DCTERMS}created") or ""
    title = " ".join((root.findtext(f"{_DC}title") or "").split())
    return title or None, tidy_values(**values, date=date[:10])


def convert_workbook(data: bytes, budget: Budget) -> Conversion:
    """Write each sheet with a value: `# its name` and its rows, the first of them as header.

    Raises:
        Unreadable: it is protected or damaged.
        TooLong: it has too much text.
    """
    from python_calamine import CalamineError, CalamineWorkbook, PasswordError, ZipError

    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(data))
        sheets = [
            budget.take(sheet)
            for name in book.sheet_names
            if (sheet := "\n".join(_sheet(book, name, budget)))
        ]
    except PasswordError:
        raise Unreadable("is protected by a password; save it without one") from None
    except (CalamineError, ZipError):
        raise Unreadable("is no workbook, or damaged") from None
    title, metadata = core_properties(data) if data.startswith(ZIP) else (None, {})
    return Conversion("\n\n".join(sheets), title=title, metadata=metadata)


def _sheet(book: CalamineWorkbook, name: str, budget: Budget) -> Iterator[str]:
    from python_calamine import CalamineError

    try:
        rows = book.get_sheet_by_name(name).iter_rows()
    except CalamineError:  # a sheet of charts has no cells
        return
    lines = markdown_table([_text(value) for value in row] for row in rows)
    if (header := next(lines, None)) is not None:
        yield f"# {' '.join(name.split())}\n"
        yield header
        yield from lines


def _text(value: object) -> str:
    """Write a value as a person would type it: 3.0 is 3, a date has no midnight."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value).removesuffix(" 00:00:00")


def markdown_table(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Write a table whose first row is its header, without empty rows; other rows get at least its width.

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
