"""Where a text is cut: passages of a turn, sections of a document. Knows characters, lines and Markdown's outline.

Everything is a span `(start, end)` into the text that was given, so nothing is ever rewritten. Does not know what a
turn or a document is. Pure; standard library only.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

SIZE = 900  # characters: about 200 tokens, inside the 256 that all-MiniLM-L6-v2 reads

Span = tuple[int, int]

# From the best place to cut to the worst; a cut is made where the match ends.
_CUTS = (
    re.compile(r"\n[^\S\n]*\n"),
    re.compile(r"\n"),
    re.compile(r"[.!?\u2026][\"'\u201d\u2019)\]]*\s|[\u3002\uff01\uff1f][\u300d\u300f\uff09\u201d]*"),
    re.compile(r"\s"),
)
_SOLID = re.compile(r"\S")

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^\n]*)")
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?")
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})[ \t]*")
_PARAGRAPH = re.compile(r" {0,3}(?![-*+>#|]|\d+[.)]\s)\S.*")  # a line that may be underlined into a heading
_TABLE_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")


@dataclass(frozen=True)
class Section:
    """A piece of a document: `text[start:end]`, the headings it stands under, and its lines, counted from 1.

    `headings` runs from the outermost in, and names also those that the piece itself begins with.
    """

    start: int
    end: int
    headings: tuple[str, ...]
    line_start: int
    line_end: int


def split(text: str, size: int = SIZE) -> list[Span]:
    """Spans of at most `size` characters, in order, that leave out nothing but white space.

    A cut falls at a paragraph, else a line, a sentence, a word, and only inside a word that is longer than `size`.
    """
    return list(_cut(text, 0, len(text), size, []))


def sections(text: str, size: int = SIZE) -> list[Section]:
    """The pieces of a Markdown or plain document: cut at headings, then like `split`.

    Fenced code and tables stay whole when they fit, and a `#` inside a fence is no heading. A heading stays with what
    follows it, so one without a body of its own opens the section below it.
    """
    starts = _line_starts(text)
    found = []
    for start, end, headings, whole in _outline(text, starts):
        for low, high in _cut(text, start, end, size, whole):
            found.append(Section(low, high, headings, bisect_right(starts, low), bisect_right(starts, high - 1)))
    return found


def _cut(text: str, start: int, end: int, size: int, whole: list[Span]) -> Iterator[Span]:
    """Spans of `text[start:end]`; no cut falls inside one of the sorted spans of `whole` that fits into `size`."""
    if size < 1:
        raise ValueError(f"size must be at least 1 character, not {size}")
    whole = [(low, high) for low, high in whole if high - low <= size]
    end = start + len(text[start:end].rstrip())
    while (solid := _SOLID.search(text, start, end)) is not None:
        start = solid.start()
        stop = _end_of_piece(text, start, end, size, whole)
        yield start, start + len(text[start:stop].rstrip())
        start = stop


def _end_of_piece(text: str, start: int, end: int, size: int, whole: list[Span]) -> int:
    """Where the piece that begins at `start` ends: the last good cut of the window, but not in its first third.

    A cut too early makes crumbs: a greeting alone is a passage that answers nothing.
    """
    if end - start <= size:
        return end
    limit = start + size
    near = whole[bisect_left(whole, (start,)) : bisect_left(whole, (limit,))]
    if near and near[-1][0] > start and near[-1][1] > limit:
        return near[-1][0]
    floor = start + size // 3
    for pattern in _CUTS:
        # one character more than fits is looked at: the white space that a cut ends with is not part of the piece
        cuts = [match.end() for match in pattern.finditer(text, start, limit + 1)]
        cuts = [cut for cut in cuts if cut > floor and _fits(text, cut, limit) and not _inside(cut, near)]
        if cuts:
            return cuts[-1]
    early = [match.end() for match in _CUTS[-1].finditer(text, start, limit) if not _inside(match.end(), near)]
    return early[-1] if early else limit


def _fits(text: str, cut: int, limit: int) -> bool:
    return cut <= limit or text[cut - 1].isspace()


def _inside(cut: int, spans: list[Span]) -> bool:
    return any(low < cut < high for low, high in spans)


def _line_starts(text: str) -> list[int]:
    """Offsets of the lines, as editors count them: at \\n and nowhere else."""
    return [0, *(match.end() for match in _CUTS[1].finditer(text))]


def _outline(text: str, starts: list[int]) -> Iterator[tuple[int, int, tuple[str, ...], list[Span]]]:
    """(start, end, headings, spans to keep whole) of each stretch between headings."""
    path: list[tuple[int, str]] = []
    opened, has_body, whole = 0, False, []
    for first, last, kind, level, title in _blocks(text, starts):
        start, end = starts[first], starts[last] if last < len(starts) else len(text)
        if kind == "heading":
            if has_body:
                yield opened, start, tuple(name for _, name in path), whole
                opened, has_body, whole = start, False, []
            path = [(depth, name) for depth, name in path if depth < level] + [(level, title)]
        else:
            has_body = has_body or bool(text[start:end].strip())
            if kind == "whole":
                whole.append((start, start + len(text[start:end].rstrip())))
    yield opened, len(text), tuple(name for _, name in path), whole


def _blocks(text: str, starts: list[int]) -> Iterator[tuple[int, int, str, int, str]]:
    """(first line, line after the last, heading | whole | text, level, title) for each block, in order."""
    lines = [line.rstrip("\r") for line in text.split("\n")]
    at = 0
    while at < len(lines):
        following = lines[at + 1] if at + 1 < len(lines) else ""
        if (fence := _FENCE.match(lines[at])) and not (fence[1][0] == "`" and "`" in fence[2]):
            after = _end_of_fence(lines, at, fence[1])
            yield at, after, "whole", 0, ""
        elif atx := _ATX.fullmatch(lines[at]):
            after = at + 1
            yield at, after, "heading", len(atx[1]), _title(atx[2] or "")
        elif "|" in lines[at] and "|" in following and _TABLE_RULE.fullmatch(following):
            after = at + 2
            while after < len(lines) and "|" in lines[after]:
                after += 1
            yield at, after, "whole", 0, ""
        elif (rule := _UNDERLINE.fullmatch(following)) and _PARAGRAPH.fullmatch(lines[at]) and not (at and lines[at - 1].strip()):
            after = at + 2
            yield at, after, "heading", 1 if rule[1][0] == "=" else 2, lines[at].strip()
        else:
            after = at + 1
            yield at, after, "text", 0, ""
        at = after


def _title(rest: str) -> str:
    """An ATX heading's words, without its closing marks: `C #` is C, `C#` is C#."""
    rest = rest.strip()
    bare = rest.rstrip("#")
    return bare.rstrip() if not bare or bare[-1].isspace() else rest


def _end_of_fence(lines: list[str], at: int, mark: str) -> int:
    """The line after the closing fence, or the end of the document when it is never closed."""
    closing = re.compile(rf" {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \t]*")
    return next((line + 1 for line in range(at + 1, len(lines)) if closing.fullmatch(lines[line])), len(lines))
