"""The outline of files that are rows under a header: CSV, TSV and other lists of records. Knows rows; does not know types of values."""

from __future__ import annotations

import csv
from bisect import bisect_right
from collections.abc import Iterator

from scrubjay.chunking.stretch import Repeat, Stretch

HEADER = 300  # characters of it that are repeated


def outline(text: str, starts: list[int], delimiter: str) -> Iterator[Stretch]:
    """One stretch whose rows stay whole, even those with line breaks in quotes, and repeat the header."""
    ends: list[int] = []
    try:
        for row in (reader := csv.reader(text.split("\n"), delimiter=delimiter)):
            if row:
                ends.append(starts[reader.line_num] if reader.line_num < len(starts) else len(text))
    except csv.Error:  # a NUL, or one cell above 128 KB: not rows after all, and lines will do
        ends = starts[1:]
    rows = [*zip([0, *ends], ends, strict=False)]
    several = [(low, high) for low, high in rows if bisect_right(starts, high - 1) > bisect_right(starts, low)]
    whole = tuple((low, low + len(text[low:high].rstrip())) for low, high in several)
    header = text[: ends[0]].strip() if ends else ""
    repeats = (Repeat(ends[0] - 1, len(text), header[:HEADER]),) if len(rows) > 1 else ()
    yield Stretch(0, len(text), (), whole, repeats)
