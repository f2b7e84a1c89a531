"""Finds nested blocks of lines by indentation, and combines blocks into the sections of a source file.

`grammars` finds the blocks of a file whose grammar is available.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from scrubjay.text.chunking.cuts import Section, checksum

DEEPEST = 40  # levels of blocks that are split; deeper ones are cut like text

_TAB = 4  # columns
_NAME = 80  # characters of a name in a breadcrumb
# A line that belongs to the block above it, though it is not indented.
_CLOSES = re.compile(
    r"\s*(?:[)\]}>]|end\b|else\b|elif\b|elsif\b|elseif\b|catch\b|rescue\b|ensure\b|finally\b|fi\b|done\b|esac\b|then\b|\*/|-->|</)"
)
# A comment or an attribute belongs to the lines after it.
_ABOVE = re.compile(r"\s*(?:#|//|/\*|\*|--(?:\s|$)|;|@|<!--|\[[\w:(])")
_BRACE = re.compile(r"\s*\{\s*$")  # alone on a line, it belongs to the line above
_SECTION = re.compile(r"\[{1,2}([^\[\]]+)\]{1,2}\s*(?:[#;].*)?$")  # in TOML and INI files
_WORD = (
    r"function|func|fun|fn|def|defp|defmodule|defmacro|class|struct|interface|trait|enum|module|namespace|package|type|sub|proc|procedure"
    r"|object|protocol|extension|impl|record|contract|message|service|rpc|resource|TABLE|VIEW|FUNCTION|PROCEDURE|TRIGGER|INDEX"
)
_KEYWORD = re.compile(rf"(?:^|\s)(?:{_WORD})\s+(?:IF NOT EXISTS\s+)?[\"'`]?([\w.:$-]+)")
_NAMES = (
    re.compile(r"\s*(?:-\s+)?\"([^\"]{1,80})\"\s*:"),  # a key of JSON
    re.compile(r"\s*(?:-\s+)?([\w./-]{1,80})\s*:(?:\s|$)"),  # a key of YAML, a target of make
    re.compile(r"\s*([^\s{}();=][^{}();=]{0,79}?)\s*\{\s*$"),  # a selector, a name before a brace
)

Path = tuple[str, ...]


@dataclass(frozen=True)
class Block:
    """Lines from `first` to before `last`, from 0. A definition has a name; `inside` finds the parts."""

    first: int
    last: int
    name: str | None = None
    inside: Callable[[], Sequence[Block]] = tuple


@dataclass(frozen=True)
class _Unit:
    """Lines that stay together; `names` is the number of definitions in them.

    `path` has the names of the definitions around them, and their own name if they have one.
    """

    first: int
    last: int
    path: Path
    names: int

    @property
    def parent(self) -> Path:
        return self.path[:-1] if self.names == 1 else self.path


def sections(blocks: Sequence[Block], text: str, starts: Sequence[int], size: int) -> Iterator[Section]:
    """Combine the blocks of a file whose lines begin at `starts` into sections of about `size` characters.

    A definition that fits becomes one section; a larger one is split into its parts. Statements and
    definitions shorter than a quarter of `size` mean too little alone, so they are combined.
    """

    def offset(line: int) -> int:
        return starts[line] if line < len(starts) else len(text)

    def length(part: Block | _Unit) -> int:
        return offset(part.last) - offset(part.first)

    def belongs(unit: _Unit, group: _Unit) -> bool:
        if unit.parent != group.parent or (length(group) + length(unit) > size >= length(unit)):
            return False
        if length(unit) > size or (unit.names and length(unit) >= size // 4):
            # A small group joins a large unit after it, even if that is then cut as text.
            return length(group) < size // 4
        if group.names == 1 and length(group) >= size // 4:
            return length(unit) < size // 8
        # A series of small units ends at the same place as before an edit that added one to it.
        return length(group) < size // 5 or checksum(text, offset(unit.first)) % 4 > 0

    def section(unit: _Unit) -> Section:
        return Section(offset(unit.first), offset(unit.last), unit.path)

    file = Block(0, len(starts), None, lambda: blocks)
    current: _Unit | None = None
    for unit in _units(file, (), 0, lambda block: length(block) > size):
        if current is not None and not belongs(unit, current):
            yield section(current)
            current = None
        current = unit if current is None else _together(current, unit)
    if current is not None:
        yield section(current)


def blocks(text: str, starts: Sequence[int]) -> Sequence[Block]:
    """Find the blocks of a file by indentation: a line, the lines indented below it, and the closing line.

    >>> file_blocks = blocks("a: 1\\n\\nb:\\n  c: 2\\n", [0, 5, 6, 9, 16])
    >>> [(block.first, block.last, block.name) for block in file_blocks]
    [(0, 1, None), (2, 4, 'b')]
    """
    lines = [line.rstrip() for line in text.split("\n")]
    sections = {at: head[1].strip() for at, line in enumerate(lines) if (head := _SECTION.match(line))}
    if len(sections) > 1 or 0 in sections:
        return _sectioned_blocks(lines, sections)
    return _blocks(lines, 0, len(lines), -1)


def _together(one: _Unit, other: _Unit) -> _Unit:
    """Merge two adjacent units; a unit of several definitions has no name of its own."""
    names = one.names + other.names
    path = one.parent if names != 1 else one.path if one.names else other.path
    return _Unit(one.first, other.last, path, names)


def _units(block: Block, path: Path, depth: int, is_large: Callable[[Block], bool]) -> Iterator[_Unit]:
    """Yield a block as one unit or, if it is large, as its head and parts, which have all its lines."""
    if block.name and path[-1:] != (block.name,):  # a decorated function has the name of the function in it
        path = (*path, block.name)
    parts = _gapless(block) if depth < DEEPEST and is_large(block) else ()
    if not parts:
        yield _Unit(block.first, block.last, path, int(bool(block.name)))
        return
    for part in parts:
        yield from _units(part, path, depth + 1, is_large)


def _gapless(block: Block) -> list[Block]:
    """Return a block's parts without gaps: lines between two go to the first, lines above are the head."""
    parts = [part for part in block.inside() if block.first <= part.first < part.last <= block.last]
    only = parts[0] if len(parts) == 1 else None
    if not parts or (only and (only.first, only.last, only.name or "") == (block.first, block.last, "")):
        return []
    ends = [*(part.first for part in parts[1:]), block.last]
    extended = [replace(part, last=end) for part, end in zip(parts, ends, strict=True)]
    return extended if parts[0].first == block.first else [Block(block.first, parts[0].first), *extended]


def _sectioned_blocks(lines: list[str], names: dict[int, str]) -> list[Block]:
    """Split a TOML or INI file: all lines below a `[section]` belong to it, whatever their indentation."""

    def block(head: int, after: int) -> Block:
        return Block(head, after, names[head][:_NAME], lambda: _blocks(lines, head + 1, after, -1))

    heads = [*names, len(lines)]
    return [*_blocks(lines, 0, heads[0], -1), *(block(head, after) for head, after in pairwise(heads))]


def _blocks(lines: list[str], low: int, high: int, outer: int) -> list[Block]:
    """Split the lines from `low` to before `high` that are indented more than `outer` into blocks.

    A block starts at each line of least indentation that is not a closing bracket or keyword.
    """
    depths = {at: _depth(lines[at]) for at in range(low, high) if lines[at]}
    least = min((depth for depth in depths.values() if depth > outer), default=None)
    if least is None:
        return []
    spans: list[list[int]] = []  # first line, line after the last
    follows_comment = False
    for at, depth in depths.items():
        opens = depth == least and not _CLOSES.match(lines[at]) and not _BRACE.match(lines[at])
        if not spans or (opens and not follows_comment):
            spans.append([at, at])
        spans[-1][1] = at + 1
        follows_comment = opens and bool(_ABOVE.match(lines[at])) and at + 1 < high and bool(lines[at + 1])
    return [_block(lines, first, last, least) for first, last in spans]


def _block(lines: list[str], first: int, last: int, depth: int) -> Block:
    head = next((at for at in range(first, last) if lines[at] and not _ABOVE.match(lines[at])), first)
    name = _name(lines[head]) if last - head > 1 else None
    return Block(first, last, name, lambda: _blocks(lines, head + 1, last, depth))


def _name(line: str) -> str | None:
    match = _KEYWORD.search(line) or next(filter(None, (name.match(line) for name in _NAMES)), None)
    return " ".join(match[1].split())[:_NAME] if match else None


def _depth(line: str) -> int:
    bare = line.lstrip()
    return len(line[: len(line) - len(bare)].expandtabs(_TAB))
