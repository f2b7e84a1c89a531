"""Rows as a Markdown table. Knows cells as text; does not know where they come from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence


def markdown_table(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a table whose first row is its header; rows are as wide as the widest may need, empty ones are left out.

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
        if not width:
            width = max(len(cells), len(row))
            yield _line(cells, width)
            yield "|" + "---|" * width
        else:
            yield _line(cells, width)


def _line(cells: list[str], width: int) -> str:
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in [*cells, *[""] * (width - len(cells))])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
