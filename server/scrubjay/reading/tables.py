"""Lays out the tables of a page so that each value stands in the row and under the header that is its own."""

import copy
import re
from collections.abc import Iterator

from bs4 import BeautifulSoup, Tag

_MOST_CELLS = 100_000  # of all tables of a page, spans included
_BLOCKS = ["h1", "h2", "h3", "h4", "h5", "h6", "p", "ul", "ol", "pre", "div", "table", "form"]
_MAKER = BeautifulSoup("", "lxml")

_Row = list[Tag]


def lay_out_tables(content: Tag) -> None:
    """Repeat cells that span rows or columns, make one header line, and write tables in cells as text."""
    room = _MOST_CELLS
    for table in reversed(content.find_all("table")):  # those inside others first
        rows = list(_rows(table))
        if _is_layout(table, rows):
            for tag in [*table.find_all(["thead", "tbody", "tfoot", "tr", "td", "th"]), table]:
                tag.name = "div"
            continue
        room -= sum(map(len, rows)) + _spanned(rows)
        grid = _grid(rows) if room > 0 else rows
        for cell in (cell for row in grid for cell in row):
            del cell["rowspan"], cell["colspan"]
        head = _header_rows(table, rows)
        if head > 1 and room > 0:
            grid = [_one_header(grid[:head]), *grid[head:]]
        if table.find_parent(["td", "th"]) is not None:
            table.replace_with(_as_text(grid, has_header=head > 0))
        else:
            _rebuild(table, grid)


def _rows(table: Tag) -> Iterator[_Row]:
    """Yield the cells of each row in the order that they are seen in: head, bodies, foot."""
    parts = [table, *table.find_all(["thead", "tbody", "tfoot"], recursive=False)]
    for part in sorted(parts, key=lambda part: {"thead": 0, "tfoot": 2}.get(part.name, 1)):
        for row in part.find_all("tr", recursive=False):
            yield row.find_all(["td", "th"], recursive=False)


def _is_layout(table: Tag, rows: list[_Row]) -> bool:
    """Return True if the table only places parts of the page."""
    if table.get("role") in ("presentation", "none"):
        return True
    if table.find("th") is not None or table.find("caption") is not None:
        return False
    return max(map(len, rows), default=0) <= 1 or (
        len(rows) == 1 and any(cell.find(_BLOCKS) is not None for cell in rows[0])
    )


def _span(cell: Tag, name: str) -> int:
    number = re.match(r"\s*(\d{1,4})", str(cell.get(name) or ""))
    return max(1, int(number[1])) if number else 1


def _spanned(rows: list[_Row]) -> int:
    return sum(_span(cell, "rowspan") * _span(cell, "colspan") for row in rows for cell in row)


def _grid(rows: list[_Row]) -> list[_Row]:
    """Return the rows with a cell in every place that it spans."""
    grid: list[_Row] = []
    from_above: dict[int, tuple[Tag, int]] = {}  # by column: a cell, and how many more rows it spans
    for row in rows:
        line: _Row = []
        cells = iter(row)
        cell = next(cells, None)
        while cell is not None or len(line) in from_above:
            if len(line) in from_above:
                above, left = from_above.pop(len(line))
                if left > 1:
                    from_above[len(line)] = above, left - 1
                line.append(copy.copy(above))
                continue
            assert cell is not None
            rest, first = _span(cell, "rowspan") - 1, len(line)
            for column in range(first, first + _span(cell, "colspan")):
                if rest:
                    from_above[column] = cell, rest
                line.append(cell if column == first else copy.copy(cell))
            cell = next(cells, None)
        grid.append(line)
    return grid


def _header_rows(table: Tag, rows: list[_Row]) -> int:
    """Count the rows at the top that name what is below them."""
    head = table.find("thead", recursive=False)
    if head is not None:
        return len(head.find_all("tr", recursive=False))
    count = 0
    while count < len(rows) - 1 and rows[count] and all(cell.name == "th" for cell in rows[count]):
        count += 1
    return count


def _one_header(rows: list[_Row]) -> _Row:
    """Join the names above each column."""
    header = []
    for column in range(max(map(len, rows))):
        names = [_text(row[column]) for row in rows if column < len(row)]
        cell = _MAKER.new_tag("th")
        cell.string = " ".join(dict.fromkeys(filter(None, names)))
        header.append(cell)
    return header


def _as_text(rows: list[_Row], *, has_header: bool) -> str:
    """Write a table in one line, each value after the name of its column."""
    names = [_text(cell) for cell in rows[0]] if has_header else []
    lines = []
    for row in rows[has_header:]:
        named = zip([*names, *[""] * len(row)], map(_text, row), strict=False)
        lines.append(", ".join(f"{name}: {value}" if name else value for name, value in named if value))
    return "; ".join(filter(None, lines))


def _text(cell: Tag) -> str:
    return " ".join(cell.get_text(" ").split())


def _rebuild(table: Tag, grid: list[_Row]) -> None:
    caption = table.find("caption", recursive=False)
    if caption is not None:
        caption.name = "p"
        table.insert_before(caption.extract())
    made = _MAKER.new_tag("table")
    for cells in grid:
        row = _MAKER.new_tag("tr")
        for cell in cells:
            row.append(cell)
        made.append(row)
    table.replace_with(made)
