"""The paragraphs of a text that say something by themselves, each under its headings. Knows Markdown's headings, fences, tables and
lists; does not know what becomes of a paragraph. Pure; standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from scrubjay.text.chunking.cuts import SIZE, Span, Stretch, line_starts, split
from scrubjay.text.chunking.markdown import outline

SHORT = 500  # characters: such a text is one paragraph, whatever it holds
LONGEST = SIZE  # characters of one paragraph; a longer one is cut at its lines or sentences
LEAST = 30  # characters: less says nothing without what follows it
MOST = 200  # paragraphs of one text; whatever comes later is found by its chunks alone

_BLANK = re.compile(r"\n(?:[^\S\n]*\n)+|\f")
_HEADING = re.compile(
    r"\s*(?: {0,3}#{1,6}(?:[ \t][^\n]*)?(?:\n|\Z)| {0,3}\S[^\n]*\n {0,3}(?:=+|-{2,})[ \t]*(?:\n|\Z))"
)
_INDENTED = re.compile(r"(?:(?: {4}|\t)[^\n]*(?:\n|\Z)|[^\S\n]*\n)+")


def paragraphs(text: str, title: str | None = None) -> list[str]:
    """What a text says, paragraph by paragraph, each once and at most `MOST`; code and tables are left out.

    A short text is one paragraph. In a longer one each begins with a line of the headings it stands under, the title first.

    >>> paragraphs("Deploys go out on Tuesdays.")
    ['Deploys go out on Tuesdays.']
    """
    whole = text.strip()
    if len(whole) <= SHORT:
        return [whole] if any(char.isalnum() for char in whole) else []
    found: dict[str, None] = {}
    for stretch in outline(text, line_starts(text)):
        above = " > ".join(dict.fromkeys(filter(None, (title, *stretch.headings))))
        for said in _joined(_pieces(text, stretch)):
            found[f"{above}\n{said}" if above else said] = None
            if len(found) == MOST:
                return list(found)
    return list(found)


def _pieces(text: str, stretch: Stretch) -> Iterator[str]:
    """The paragraphs below the headings that a stretch begins with, around its fences and tables."""
    start = stretch.start
    while (heading := _HEADING.match(text, start, stretch.end)) is not None and stretch.headings:
        start = heading.end()
    for low, high in _between(start, stretch.end, stretch.whole):
        for piece in _BLANK.split(text[low:high]):
            if any(char.isalnum() for char in piece) and not _INDENTED.fullmatch(piece.strip("\n")):
                yield piece.strip()


def _between(start: int, end: int, whole: Sequence[Span]) -> Iterator[Span]:
    for low, high in whole:
        if low >= start:
            yield start, low
        start = max(start, high)
    yield start, end


def _joined(pieces: Iterator[str]) -> Iterator[str]:
    """Paragraphs of a fitting length: what says nothing alone, or announces what follows, goes with the next; what is long is cut."""
    waiting = ""
    for piece in pieces:
        both = f"{waiting}\n\n{piece}" if waiting else piece
        if (len(both) < LEAST or piece.endswith(":")) and len(both) < LONGEST:
            waiting = both
            continue
        waiting = ""
        yield from (both[low:high] for low, high in split(both, LONGEST))
    if waiting:
        yield waiting
