"""Finds the columns and tables of a PDF page by the positions of its pieces of text."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from pypdfium2 import PdfTextPage  # type: ignore[import-untyped]

from scrubjay.reading.office import markdown_table

_MOST_PIECES = 2_000  # pieces of text; a page with more is a drawing
_LEAST_LINES = 3  # lines that must share the columns of a block
_GAP = 0.9  # line heights; a gap of at least this width separates two cells
_FAR = 2.5  # line heights; a line farther below begins another block
_PROSE = 3.0  # words per line; a column with at least this average is a text column


class _Cell(NamedTuple):
    left: float
    bottom: float
    right: float
    top: float


_Line = list[_Cell]


def lay_out(layer: PdfTextPage) -> str:
    """Return a page's text column by column, with tables in Markdown.

    Return the plain text if the page has no columns, or if the layout would change its letters and digits.
    """
    inside: str = layer.get_text_bounded()
    plain: str = layer.get_text_range()
    if _letter_counts(inside) != _letter_counts(plain):  # some of it is outside the page
        plain = inside  # in which lines that are turned run together
    count = layer.count_rects()
    if not 2 * _LEAST_LINES <= count <= _MOST_PIECES:
        return plain
    lines = list(_lines([_Cell(*layer.get_rect(index)) for index in range(count)]))
    blocks = list(_blocks(lines))
    if not any(block.has_columns for block in blocks):
        return plain
    text = "\n".join(_block_text(layer, block) for block in blocks)
    return text if _letter_counts(text) == _letter_counts(plain) else plain


def _lines(pieces: list[_Cell]) -> Iterator[_Line]:
    """Yield each line of a page as a list of cells, which wide gaps separate."""
    line: _Line = []
    for piece in pieces:
        last = line[-1] if line else None
        if last and _is_on_same_line(last, piece) and piece.left >= last.right - 1:
            if piece.left - last.right < _GAP * max(last.top - last.bottom, piece.top - piece.bottom):
                line[-1] = _Cell(
                    last.left, min(last.bottom, piece.bottom), piece.right, max(last.top, piece.top)
                )
            else:
                line.append(piece)
        else:
            if line:
                yield line
            line = [piece]
    if line:
        yield line


def _is_on_same_line(one: _Cell, other: _Cell) -> bool:
    overlap = min(one.top, other.top) - max(one.bottom, other.bottom)
    return overlap > 0.4 * min(one.top - one.bottom, other.top - other.bottom)


class _Block:
    """Consecutive lines with the same columns; cells may be missing."""

    def __init__(self, line: _Line) -> None:
        self.columns = [(cell.left, cell.right) for cell in line]
        self.rows: list[list[_Cell | None]] = [list(line)]
        self._last = line[0]

    @property
    def has_columns(self) -> bool:
        return len(self.columns) > 1 and len(self.rows) >= _LEAST_LINES

    def add(self, line: _Line) -> bool:
        """Add a line if its cells fit the columns and it is near the last line; return True if so."""
        columns = [self._column(cell) for cell in line]
        is_far = self._last.bottom - line[0].top > _FAR * (line[0].top - line[0].bottom)
        is_prose = len(line) == 1 == len(self.rows)
        if None in columns or len(set(columns)) < len(columns) or is_far or is_prose or len(self.columns) < 2:
            return False
        row: list[_Cell | None] = [None] * len(self.columns)
        for cell, column in zip(line, columns, strict=True):
            assert column is not None
            row[column] = cell
            left, right = self.columns[column]
            self.columns[column] = min(left, cell.left), max(right, cell.right)
        self.rows.append(row)
        self._last = line[0]
        return True

    def _column(self, cell: _Cell) -> int | None:
        """Return the index of the column that a cell overlaps, or None unless it overlaps exactly one."""
        matches = [
            index
            for index, (left, right) in enumerate(self.columns)
            if cell.left < right and left < cell.right
        ]
        return matches[0] if len(matches) == 1 else None


def _blocks(lines: list[_Line]) -> Iterator[_Block]:
    block = None
    for line in lines:
        if block is None or not block.add(line):
            if block is not None:
                yield block
            block = _Block(line)
    if block is not None:
        yield block


def _block_text(layer: PdfTextPage, block: _Block) -> str:
    rows = [[_text(layer, cell) if cell else "" for cell in row] for row in block.rows]
    if not block.has_columns:
        return "\n".join(" ".join(filter(None, row)) for row in rows)
    columns = [list(filter(None, column)) for column in zip(*rows, strict=True)]
    if all(sum(len(cell.split()) for cell in column) >= _PROSE * len(column) for column in columns):
        return "\n\n".join("\n".join(column) for column in columns)
    return "\n" + "\n".join(markdown_table(rows)) + "\n"


def _text(layer: PdfTextPage, cell: _Cell) -> str:
    return " ".join(layer.get_text_bounded(*cell).split())


def _letter_counts(text: str) -> Counter[str]:
    """Count the letters and digits, which a layout must not change."""
    return Counter(filter(str.isalnum, text))
