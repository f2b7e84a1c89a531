"""Lays out the tables of a page so that each value is in its row and below its header."""

import copy
import re
from collections.abc import Iterator

from bs4 import BeautifulSoup, Tag

_MOST_CELLS = 100_000  # in all tables of a page, counting every place that a cell spans
_BLOCKS = ["h1", "h2", "h3", "h4", "h5", "h6", "p", "ul", "ol", "pre", "div", "table", "form"]
_FACTORY = BeautifulSoup("", "lxml")

_Row = list[Tag]


def lay_out_tables(content: Tag) -> None:
    """Repeat cells that span rows or columns, join header rows, and write tables inside cells as text."""
    cells_left = _MOST_CELLS
    for table in reversed(content.find_all("table")):  # inner tables first
        groups = list(_groups(table))
        rows = [row for group in groups for row in group]
        if _is_layout(table, rows):
            for tag in [*table.find_all(["thead", "tbody", "tfoot", "tr", "td", "th"]), table]:
                tag.name = "div"
            continue
        cells_left -= sum(map(len, rows)) + _count_spanned_cells(rows)
        grid = [line for group in groups for line in _grid(group)] if cells_left > 0 else rows
        for cell in (cell for row in grid for cell in row):
            del cell["rowspan"], cell["colspan"]
        header_count = _count_header_rows(table, rows)
        if header_count > 1 and cells_left > 0:
            grid = [_joined_header(grid[:header_count]), *grid[header_count:]]
        elif not header_count and all(row and row[0].name == "th" != row[-1].name for row in rows):
            grid.insert(0, [_FACTORY.new_tag("th") for _ in grid[0]])  # the headers are the first column
        if table.find_parent(["td", "th"]) is not None:
            table.replace_with(_as_text(grid, has_header=header_count > 0))
        else:
            _rebuild(table, grid)


def _groups(table: Tag) -> Iterator[list[_Row]]:
    """Yield the rows of each group in the displayed order: head, bodies, foot. No cell spans two groups."""
    parts = [table, *table.find_all(["thead", "tbody", "tfoot"], recursive=False)]
    for part in sorted(parts, key=lambda part: {"thead": 0, "tfoot": 2}.get(part.name, 1)):
        rows = part.find_all("tr", recursive=False)
        yield [row.find_all(["td", "th"], recursive=False) for row in rows]


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


def _count_spanned_cells(rows: list[_Row]) -> int:
    return sum(_span(cell, "rowspan") * _span(cell, "colspan") for row in rows for cell in row)


def _grid(rows: list[_Row]) -> list[_Row]:
    """Return the rows with each cell repeated in every place that it spans."""
    grid: list[_Row] = []
    from_above: dict[int, tuple[Tag, int]] = {}  # column -> a cell, and how many more rows it spans
    for row in rows:
        line: _Row = []
        cells = iter(row)
        cell = next(cells, None)
        while cell is not None or len(line) in from_above:
            if len(line) in from_above:
                above, rows_left = from_above.pop(len(line))
                if rows_left > 1:
                    from_above[len(line)] = above, rows_left - 1
                line.append(copy.copy(above))
                continue
            assert cell is not None
            more_rows, first = _span(cell, "rowspan") - 1, len(line)
            for column in range(first, first + _span(cell, "colspan")):
                if more_rows:
                    from_above[column] = cell, more_rows
                line.append(cell if column == first else copy.copy(cell))
            cell = next(cells, None)
        grid.append(line)
    return grid


def _count_header_rows(table: Tag, rows: list[_Row]) -> int:
    """Count the header rows at the top."""
    head = table.find("thead", recursive=False)
    if head is not None:
        return len(head.find_all("tr", recursive=False))
    count = 0
    while count < len(rows) - 1 and rows[count] and all(cell.name == "th" for cell in rows[count]):
        count += 1
    return count


def _joined_header(rows: list[_Row]) -> _Row:
    """Return one header row with the joined names of each column."""
    header = []
    for column in range(max(map(len, rows))):
        names = [_text(row[column]) for row in rows if column < len(row)]
        cell = _FACTORY.new_tag("th")
        cell.string = " ".join(dict.fromkeys(filter(None, names)))
        header.append(cell)
    return header


def _as_text(rows: list[_Row], *, has_header: bool) -> str:
    """Return a table as one line, in which each value follows the name of its column."""
    names = [_text(cell) for cell in rows[0]] if has_header else []
    lines = []
    for row in rows[has_header:]:
        pairs = zip([*names, *[""] * len(row)], map(_text, row), strict=False)
        lines.append(", ".join(f"{name}: {value}" if name else value for name, value in pairs if value))
    return "; ".join(filter(None, lines))


def _text(cell: Tag) -> str:
    return " ".join(cell.get_text(" ").split())


def _rebuild(table: Tag, grid: list[_Row]) -> None:
    caption = table.find("caption", recursive=False)
    if caption is not None:
        caption.name = "p"
        table.insert_before(caption.extract())
    new_table = _FACTORY.new_tag("table")
    for cells in grid:
        row = _FACTORY.new_tag("tr")
        for cell in cells:
            row.append(cell)
        new_table.append(row)
    table.replace_with(new_table)
