"""Workbooks into Markdown: a heading and a table for each sheet. Knows XLSX, XLS, XLSB and ODS; sees values and no formulas."""

from __future__ import annotations

import io
from collections.abc import Iterator

from python_calamine import CalamineError, CalamineWorkbook, PasswordError, ZipError

from scrubjay.reading.archives import ZIP, core_properties
from scrubjay.reading.result import Budget, Converted, Unreadable
from scrubjay.reading.tables import markdown_table


def convert_workbook(data: bytes, budget: Budget) -> Converted:
    """`# name of the sheet` and its rows, the first of them as header; sheets without a value are left out.

    Raises:
        Unreadable: protected or damaged.
        TooLong: too much text.
    """
    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(data))
        sheets = [budget.take(sheet) for name in book.sheet_names if (sheet := "\n".join(_sheet(book, name, budget)))]
    except PasswordError:
        raise Unreadable("is protected by a password; save it without one") from None
    except (CalamineError, ZipError):
        raise Unreadable("is no workbook, or damaged") from None
    title, metadata = core_properties(data) if data.startswith(ZIP) else (None, {})
    return Converted("\n\n".join(sheets), title=title, metadata=metadata)


def _sheet(book: CalamineWorkbook, name: str, budget: Budget) -> Iterator[str]:
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
    """A value as a person would type it: 3.0 is 3, a date has no midnight."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value).removesuffix(" 00:00:00")
