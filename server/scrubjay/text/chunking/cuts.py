"""Cuts long texts at the best places: between paragraphs, or else items, lines, sentences or words."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from zlib import crc32

SIZE = 900  # characters: about 200 tokens of prose, within the 256 that all-MiniLM-L6-v2 reads

Span = tuple[int, int]  # start, end

_PARAGRAPH = re.compile(r"\n[^\S\n]*\n")
_ITEM = re.compile(r"\n(?=[ \t]*(?:[-*+\u2022]|\d{1,9}[.)])[ \t])")
_LINE = re.compile(r"\n")
# The same before a line without indentation: a step keeps its details, and an error its stack trace.
_OUTER_PARAGRAPH = re.compile(r"\n[^\S\n]*\n(?=\S)")
_OUTER_ITEM = re.compile(r"\n(?=(?:[-*+\u2022]|\d{1,9}[.)])[ \t])")
_OUTER_LINE = re.compile(r"\n(?=\S)")
_SENTENCE = re.compile(r"[.!?\u2026][\"'\u201d\u2019)\]]*\s|[\u3002\uff01\uff1f][\u300d\u300f\uff09\u201d]*")
_SPACE = re.compile(r"\s")
_SOLID = re.compile(r"\S")
# Where to cut, from the best place to the worst; a cut is at the end of a match.
_IN_TURNS = (_PARAGRAPH, _LINE, _SENTENCE, _SPACE)
_IN_DOCUMENTS = (
    _OUTER_PARAGRAPH,
    _OUTER_ITEM,
    _PARAGRAPH,
    _ITEM,
    _OUTER_LINE,
    _LINE,
    _SENTENCE,
    _SPACE,
)
_LOOKAHEAD = 32  # characters after a cut that identify it


@dataclass(frozen=True)
class Repeat:
    """A text to repeat before each piece that begins between `start` and `end`: a table's header."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Section:
    """`text[start:end]`, the headings above it, outermost first, and the spans that should stay whole."""

    start: int
    end: int
    headings: tuple[str, ...] = ()
    whole: tuple[Span, ...] = ()
    repeats: tuple[Repeat, ...] = ()


def split(text: str, size: int = SIZE) -> list[Span]:
    """Cut a text into spans of at most `size` characters, in order; only white space is left out.

    A cut is between paragraphs if possible, else between lines, sentences or words; only a word that is
    longer than `size` is cut inside.
    """
    return list(_cut(text, 0, len(text), size, [], steady=False))


def pieces(text: str, start: int, end: int, size: int, whole: Sequence[Span] = ()) -> Iterator[Span]:
    """Cut `text[start:end]` as `split` does, but not inside a span of `whole` (sorted) that fits.

    A cut is chosen by the text after it, so that soon after an edit the cuts are at the same places as
    before, and all later pieces stay the same (content-defined chunking). Adding a line to a log of
    3,000 changed 2 pieces on average; with cuts at the last possible place it would have changed 63. The
    price is that pieces are a quarter shorter.
    """
    return _cut(text, start, end, size, whole, steady=True)


def line_starts(text: str) -> list[int]:
    """Return the offsets of the lines as editors count them: only \\n ends a line."""
    return [0, *(match.end() for match in _LINE.finditer(text))]


def checksum(text: str, at: int) -> int:
    """Return a checksum of the text after `at`; a cut that is chosen by it moves with this text."""
    return crc32(text[at : at + _LOOKAHEAD].encode("utf-8", "surrogatepass"))


def _steadiest(text: str, cuts: list[int], start: int, size: int) -> int:
    """Return the cut with the least checksum in the last three fifths of the window, else the last cut."""
    late_cuts = cuts[bisect_left(cuts, start + size - size * 3 // 5) :]
    return min(late_cuts, key=lambda cut: (checksum(text, cut), cut)) if late_cuts else cuts[-1]


def _cut(
    text: str, start: int, end: int, size: int, whole: Sequence[Span], *, steady: bool
) -> Iterator[Span]:
    """Cut `text[start:end]` at the latest good places; if `steady`, at places that an edit does not move."""
    if size < 1:
        raise ValueError(f"size must be at least 1 character, not {size}")
    whole = [(low, high) for low, high in whole if high - low <= size]
    end = start + len(text[start:end].rstrip())
    while (solid := _SOLID.search(text, start, end)) is not None:
        start = solid.start()
        stop = _end_of_piece(text, start, end, size, whole, steady=steady)
        yield start, start + len(text[start:stop].rstrip())
        start = stop


def _end_of_piece(text: str, start: int, end: int, size: int, whole: list[Span], *, steady: bool) -> int:
    """Return the end of the piece that begins at `start`: a good cut, if possible after a third of `size`.

    Cutting earlier makes pieces that answer nothing, such as a greeting.
    """
    if end - start <= size:
        return end
    limit = start + size
    near_spans = whole[bisect_left(whole, (start,)) : bisect_left(whole, (limit,))]
    if near_spans and near_spans[-1][0] > start and near_spans[-1][1] > limit:
        return near_spans[-1][0]
    floor = start + size // 3
    for pattern in _IN_DOCUMENTS if steady else _IN_TURNS:
        # Search one character further, because the white space at the end of a piece does not count.
        ends = [match.end() for match in pattern.finditer(text, start, limit + 1)]
        fitting = [cut for cut in ends if cut <= limit or text[cut - 1].isspace()]
        cuts = [cut for cut in fitting if cut > floor and not _is_inside(cut, near_spans)]
        if cuts:
            return _steadiest(text, cuts, start, size) if steady else cuts[-1]
    spaces = [match.end() for match in _SPACE.finditer(text, start, limit)]
    early_cuts = [cut for cut in spaces if not _is_inside(cut, near_spans)]
    return early_cuts[-1] if early_cuts else limit


def _is_inside(cut: int, spans: list[Span]) -> bool:
    """Return True if a cut would be inside one of the spans, which are sorted and disjoint."""
    count_before = bisect_left(spans, (cut,))  # spans that begin before the cut
    return count_before > 0 and cut < spans[count_before - 1][1]
