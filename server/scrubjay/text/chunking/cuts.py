"""The best places to cut a long text: between paragraphs, else items, lines, sentences, words. Knows characters and sizes; does not
know what the text means. Pure; standard library only.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from zlib import crc32

SIZE = 900  # characters: about 200 tokens of prose, inside the 256 that all-MiniLM-L6-v2 reads

Span = tuple[int, int]
_Choose = Callable[[str, list[int], int, int], int]

_PARAGRAPH = re.compile(r"\n[^\S\n]*\n")
_ITEM = re.compile(r"\n(?=[ \t]*(?:[-*+\u2022]|\d{1,9}[.)])[ \t])")
_LINE = re.compile(r"\n")
_SENTENCE = re.compile(r"[.!?\u2026][\"'\u201d\u2019)\]]*\s|[\u3002\uff01\uff1f][\u300d\u300f\uff09\u201d]*")
_SPACE = re.compile(r"\s")
_SOLID = re.compile(r"\S")
# From the best place to cut to the worst; a cut is made where the match ends.
_IN_TURNS = (_PARAGRAPH, _LINE, _SENTENCE, _SPACE)
_IN_DOCUMENTS = (_PARAGRAPH, _ITEM, _LINE, _SENTENCE, _SPACE)
_SEEN = 32  # characters behind a cut that it is known again by


def split(text: str, size: int = SIZE) -> list[Span]:
    """Spans of at most `size` characters, in order, that leave out nothing but white space.

    A cut falls at a paragraph, else a line, a sentence, a word, and only inside a word that is longer than `size`.
    """
    return list(_cut(text, 0, len(text), size, [], _IN_TURNS, _latest))


def pieces(text: str, start: int, end: int, size: int, whole: Sequence[Span] = ()) -> Iterator[Span]:
    """Like `split`, for `text[start:end]`; no cut falls inside one of the sorted spans of `whole` that fits into `size`.

    Cuts are known again by what follows them, so that after an edit they soon fall where they fell before, and all later
    pieces stay as they were (content-defined chunking). One line more in 3,000 lines of a log changed 2 pieces on average
    where the last cut that fits would have changed 63; in return pieces are a quarter shorter.
    """
    return _cut(text, start, end, size, whole, _IN_DOCUMENTS, _steadiest)


def line_starts(text: str) -> list[int]:
    """Offsets of the lines, as editors count them: at \\n and nowhere else."""
    return [0, *(match.end() for match in _LINE.finditer(text))]


def known_again(text: str, at: int) -> int:
    """A checksum of the next characters: the same wherever they stand, so a cut chosen by it follows them."""
    return crc32(text[at : at + _SEEN].encode("utf-8", "surrogatepass"))


def _latest(text: str, cuts: list[int], start: int, size: int) -> int:
    return cuts[-1]


def _steadiest(text: str, cuts: list[int], start: int, size: int) -> int:
    """Of the cuts in the last three fifths, the one whose next characters have the least checksum; else the last cut."""
    late = cuts[bisect_left(cuts, start + size - size * 3 // 5) :]
    return min(late, key=lambda cut: (known_again(text, cut), cut)) if late else cuts[-1]


def _cut(
    text: str,
    start: int,
    end: int,
    size: int,
    whole: Sequence[Span],
    patterns: Sequence[re.Pattern[str]],
    choose: _Choose,
) -> Iterator[Span]:
    if size < 1:
        raise ValueError(f"size must be at least 1 character, not {size}")
    whole = [(low, high) for low, high in whole if high - low <= size]
    end = start + len(text[start:end].rstrip())
    while (solid := _SOLID.search(text, start, end)) is not None:
        start = solid.start()
        stop = _end_of_piece(text, start, end, size, whole, patterns, choose)
        yield start, start + len(text[start:stop].rstrip())
        start = stop


def _end_of_piece(
    text: str,
    start: int,
    end: int,
    size: int,
    whole: list[Span],
    patterns: Sequence[re.Pattern[str]],
    choose: _Choose,
) -> int:
    """Where the piece that begins at `start` ends: a good cut of the window, but not in its first third.

    A cut too early makes crumbs: a greeting alone is a passage that answers nothing.
    """
    if end - start <= size:
        return end
    limit = start + size
    near = whole[bisect_left(whole, (start,)) : bisect_left(whole, (limit,))]
    if near and near[-1][0] > start and near[-1][1] > limit:
        return near[-1][0]
    floor = start + size // 3
    for pattern in patterns:
        # one character more than fits is looked at: the white space that a cut ends with is not part of the piece
        cuts = [match.end() for match in pattern.finditer(text, start, limit + 1)]
        cuts = [cut for cut in cuts if cut > floor and _fits(text, cut, limit) and not _inside(cut, near)]
        if cuts:
            return choose(text, cuts, start, size)
    early = [match.end() for match in _SPACE.finditer(text, start, limit) if not _inside(match.end(), near)]
    return early[-1] if early else limit


def _fits(text: str, cut: int, limit: int) -> bool:
    return cut <= limit or text[cut - 1].isspace()


def _inside(cut: int, spans: list[Span]) -> bool:
    return any(low < cut < high for low, high in spans)


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
