"""Moves the cells of a sparse sheet (XLSX) together.

python-calamine takes memory for all empty cells between them.
"""

import io
import re
import zipfile

_MOST_PLACES = 4_000_000  # of a sheet; python-calamine takes about 30 bytes for each
_LARGEST = 64 * 1024 * 1024  # bytes of a sheet
_LEAST_BYTES = 5  # of a place; a sheet with more is hardly sparse
_SHEET = re.compile(r"xl/worksheets/[^/]+\.xml")
_DIMENSION = re.compile(rb'<(?:\w+:)?dimension ref="(?:[A-Z]+\d+:)?([A-Z]{1,3})(\d{1,7})"')
_CELL = re.compile(rb'(<(?:\w+:)?c r=")([A-Z]{1,3})(\d{1,7})("[^<>]*+>)')
_MERGED = re.compile(rb"<(?:\w{1,20}:)?mergeCell\b[^<>]{0,200}/>")


def without_gaps(data: bytes) -> tuple[bytes, set[str]]:
    """Return a workbook without the empty rows and columns of its sparse sheets, and these sheets' parts."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = [part for part in archive.infolist() if _SHEET.fullmatch(part.filename)]
        sparse = {part.filename for part in parts if _is_sparse(archive, part)}
        if not sparse:
            return data, sparse
        with zipfile.ZipFile(output := io.BytesIO(), "w") as new:
            for name in archive.namelist():
                part = archive.read(name)
                new.writestr(name, _compacted(part) if name in sparse else part)
    return output.getvalue(), sparse


def _is_sparse(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> bool:
    with archive.open(part) as member:
        size = _DIMENSION.search(member.read(4_000))
    places = column_number(size[1]) * int(size[2]) if size else 0
    return places > _MOST_PLACES and part.file_size <= min(_LARGEST, places * _LEAST_BYTES)


def _compacted(sheet: bytes) -> bytes:
    cells = [match for match in _CELL.finditer(sheet) if not match[4].endswith(b"/>")]
    columns = {name: at for at, name in enumerate(sorted({cell[2] for cell in cells}, key=column_number), 1)}
    rows = {row: at for at, row in enumerate(sorted({int(cell[3]) for cell in cells}), 1)}

    def move(cell: re.Match[bytes]) -> bytes:
        if cell[4].endswith(b"/>"):
            return b""
        return b"%s%s%d%s" % (cell[1], _column_name(columns[cell[2]]), rows[int(cell[3])], cell[4])

    return _DIMENSION.sub(b'<dimension ref="A1"', _MERGED.sub(b"", _CELL.sub(move, sheet)))


def column_number(name: bytes) -> int:
    """Return the number of a column from 1, such as 27 for AA."""
    number = 0
    for letter in name:
        number = number * 26 + letter - ord("A") + 1
    return number


def _column_name(number: int) -> bytes:
    name = b""
    while number:
        number, letter = divmod(number - 1, 26)
        name = bytes([ord("A") + letter]) + name
    return name
