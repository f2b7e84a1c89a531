"""Blocks of lines inside blocks of lines, and how they become the stretches of a source file. Knows sizes and names; does not know any
programming language: who finds the blocks does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from scrubjay.text.chunking.cuts import Stretch, known_again

DEEPEST = 40  # levels that are opened; what lies deeper is cut like text

Path = tuple[str, ...]


def _nothing() -> Sequence[Block]:
    return ()


@dataclass(frozen=True)
class Block:
    """Lines `first` up to but not including `last`, 0-based; a definition has a name. `inside` finds its parts when they are needed."""

    first: int
    last: int
    name: str | None = None
    inside: Callable[[], Sequence[Block]] = _nothing


@dataclass(frozen=True)
class _Unit:
    """Lines that stay together, and how many definitions they are. `path` are the names around them, and their own if they have one."""

    first: int
    last: int
    path: Path
    names: int

    @property
    def parent(self) -> Path:
        return self.path[:-1] if self.names == 1 else self.path


def stretches(blocks: Sequence[Block], text: str, starts: Sequence[int], size: int) -> Iterator[Stretch]:
    """The stretches of a file whose lines begin at `starts`.

    A definition that fits is one stretch, and one that does not is opened. Statements and definitions below a quarter of
    `size`, which alone say too little, are put together.
    """

    def offset(line: int) -> int:
        return starts[line] if line < len(starts) else len(text)

    def length(part: Block | _Unit) -> int:
        return offset(part.last) - offset(part.first)

    def belongs(unit: _Unit, to: _Unit) -> bool:
        if unit.parent != to.parent or (length(to) + length(unit) > size >= length(unit)):
            return False
        if length(unit) > size or (unit.names and length(unit) >= size // 4):
            return (
                length(to) < size // 4
            )  # what little stands before something large goes with it, even if that is cut as text
        if to.names == 1 and length(to) >= size // 4:
            return length(unit) < size // 8
        # a row of small ones ends where it ended before, though one more may stand in it now
        return length(to) < size // 5 or known_again(text, offset(unit.first)) % 4 > 0

    joined: _Unit | None = None
    for unit in _units(
        Block(0, len(starts), None, lambda: blocks), (), 0, lambda block: length(block) > size
    ):
        if joined is not None and not belongs(unit, joined):
            yield Stretch(offset(joined.first), offset(joined.last), joined.path)
            joined = None
        joined = unit if joined is None else _together(joined, unit)
    if joined is not None:
        yield Stretch(offset(joined.first), offset(joined.last), joined.path)


def _together(one: _Unit, other: _Unit) -> _Unit:
    """Two neighbours as one unit; one that is several definitions has no name of its own."""
    names = one.names + other.names
    path = one.parent if names != 1 else one.path if one.names else other.path
    return _Unit(one.first, other.last, path, names)


def _units(block: Block, path: Path, depth: int, is_large: Callable[[Block], bool]) -> Iterator[_Unit]:
    """The block itself, or if it is large its head and parts; together they have all its lines, in order."""
    if block.name and path[-1:] != (
        block.name,
    ):  # a decorated function is called what the function in it is called
        path = (*path, block.name)
    parts = _filled(block) if depth < DEEPEST and is_large(block) else ()
    if not parts:
        yield _Unit(block.first, block.last, path, int(bool(block.name)))
        return
    for part in parts:
        yield from _units(part, path, depth + 1, is_large)


def _filled(block: Block) -> list[Block]:
    """The parts of a block without gaps: lines between two belong to the one before, lines above the first are the head."""
    parts = [part for part in block.inside() if block.first <= part.first < part.last <= block.last]
    if not parts or (
        len(parts) == 1 and (parts[0].first, parts[0].last) == (block.first, block.last) and not parts[0].name
    ):
        return []
    ends = [*(part.first for part in parts[1:]), block.last]
    closed = [replace(part, last=end) for part, end in zip(parts, ends, strict=True)]
    return closed if parts[0].first == block.first else [Block(block.first, parts[0].first), *closed]


_TAB = 4  # columns
_NAME = 80  # characters of one in a breadcrumb
# A line that ends what stands above it, though it is not indented.
_CLOSES = re.compile(
    r"\s*(?:[)\]}>]|end\b|else\b|elif\b|elsif\b|elseif\b|catch\b|rescue\b|ensure\b|finally\b|fi\b|done\b|esac\b|then\b|\*/|-->|</)"
)
_ABOVE = re.compile(
    r"\s*(?:#|//|/\*|\*|--(?:\s|$)|;|@|<!--|\[[\w:(])"
)  # a comment or an attribute belongs to what follows it
_BRACE = re.compile(r"\s*\{\s*$")  # on a line of its own it belongs to the line above
_SECTION = re.compile(r"\[{1,2}([^\[\]]+)\]{1,2}\s*(?:[#;].*)?$")  # of TOML and INI files
_WORD = (
    r"function|func|fun|fn|def|defp|defmodule|defmacro|class|struct|interface|trait|enum|module|namespace|package|type|sub|proc|procedure"
    r"|object|protocol|extension|impl|record|contract|message|service|rpc|resource|TABLE|VIEW|FUNCTION|PROCEDURE|TRIGGER|INDEX"
)
_NAMES = (
    re.compile(rf"(?:^|\s)(?:{_WORD})\s+(?:IF NOT EXISTS\s+)?[\"'`]?([\w.:$-]+)"),
    re.compile(r"\s*(?:-\s+)?\"([^\"]{1,80})\"\s*:"),  # a key of JSON
    re.compile(r"\s*(?:-\s+)?([\w./-]{1,80})\s*:(?:\s|$)"),  # a key of YAML, a target of make
    re.compile(
        r"\s*([^\s{}();=][^{}();=]{0,79}?)\s*\{\s*$"
    ),  # a selector, or a block with a name before its brace
)


def blocks(text: str, starts: Sequence[int]) -> Sequence[Block]:
    """The blocks of the whole file; a block is a line with all that is indented below it, and what closes it.

    >>> [(block.first, block.last, block.name) for block in blocks("a: 1\\n\\nb:\\n  c: 2\\n", [0, 5, 6, 9, 16])]
    [(0, 1, 'a'), (2, 4, 'b')]
    """
    lines = [line.rstrip() for line in text.split("\n")]
    sections = {at: found[1].strip() for at, line in enumerate(lines) if (found := _SECTION.match(line))}
    return (
        _sections(lines, sections)
        if len(sections) > 1 or 0 in sections
        else _blocks(lines, 0, len(lines), -1)
    )


def _sections(lines: list[str], names: dict[int, str]) -> list[Block]:
    """TOML and INI: what stands below a `[section]` belongs to it, whatever its indentation."""
    heads = [*names, len(lines)]
    return [
        *_blocks(lines, 0, heads[0], -1),
        *(_section(lines, head, after, names[head]) for head, after in pairwise(heads)),
    ]


def _section(lines: list[str], head: int, after: int, name: str) -> Block:
    return Block(head, after, name[:_NAME], lambda: _blocks(lines, head + 1, after, -1))


def _blocks(lines: list[str], low: int, high: int, outer: int) -> list[Block]:
    """The blocks of lines `low` to `high` that are deeper than `outer`: one begins at each of the least depth that closes nothing."""
    depths = {at: _depth(lines[at]) for at in range(low, high) if lines[at]}
    least = min((depth for depth in depths.values() if depth > outer), default=None)
    if least is None:
        return []
    found: list[list[int]] = []  # first line, line after the last
    waits = False  # whether the line before is a comment above what comes next
    for at, depth in depths.items():
        opens = depth == least and not _CLOSES.match(lines[at]) and not _BRACE.match(lines[at])
        if not found or (opens and not waits):
            found.append([at, at])
        found[-1][1] = at + 1
        waits = opens and bool(_ABOVE.match(lines[at])) and at + 1 < high and bool(lines[at + 1])
    return [_block(lines, first, last, least) for first, last in found]


def _block(lines: list[str], first: int, last: int, depth: int) -> Block:
    head = next((at for at in range(first, last) if lines[at] and not _ABOVE.match(lines[at])), first)
    return Block(
        first,
        last,
        _name(lines[head]) if last - head > 1 else None,
        lambda: _blocks(lines, head + 1, last, depth),
    )


def _name(line: str) -> str | None:
    found = next(
        (
            match
            for pattern in _NAMES
            if (match := pattern.search(line) if pattern is _NAMES[0] else pattern.match(line))
        ),
        None,
    )
    return " ".join(found[1].split())[:_NAME] if found else None


def _depth(line: str) -> int:
    bare = line.lstrip()
    return len(line[: len(line) - len(bare)].expandtabs(_TAB))
