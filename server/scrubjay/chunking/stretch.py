"""What an outline finds in a document: stretches of text that belong together, and where they stand. Knows no sizes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Repeat:
    """What a piece that begins inside `start` < at < `end` has to be told again: the header of a table's later rows."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Stretch:
    """`text[start:end]` of a document, the headings over it from the outermost in, and spans that should stay whole."""

    start: int
    end: int
    headings: tuple[str, ...] = ()
    whole: tuple[tuple[int, int], ...] = ()
    repeats: tuple[Repeat, ...] = ()
