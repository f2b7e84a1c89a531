"""Finds nested blocks of lines by indentation, and combines blocks into the sections of a source file.

`grammars` finds the blocks of a file whose grammar is available.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from scrubjay.text.chunking.cuts import Section, checksum
from scrubjay.text.tables import pattern, table

DEEPEST = 40  # levels of blocks that are split; deeper blocks are cut like text

_TAB = 4  # columns of a tab
_NAME = 80  # most characters of a name in a breadcrumb
_CONTINUES, _ABOVE, _BRACE, _SECTION, _KEYWORD = (
    pattern("blocks", name) for name in ("continues", "above", "brace", "section", "keyword")
)
_NAMES = tuple(
    pattern("blocks", name) for name in ("item_of_yaml", "function", "key_of_json", "key_of_yaml", "selector")
)
_LONG_COMMENTS: dict[str, str] = table("blocks")["comments"]

Path = tuple[str, ...]


@dataclass(frozen=True)
class Block:
    """The lines from `first` to before `last`, counted from 0.

    The block of a definition has a name; `inside` finds the parts of the block.
    """

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
            # A small group joins a large unit after it, even if the two are then cut as text.
            return length(group) < size // 4
        if group.names == 1 and length(group) >= size // 4:
            return length(unit) < size // 8
        # The checksum decides where a series of small units ends, so that the end stays when one is added.
        return length(group) < size // 5 or checksum(text, offset(unit.first)) % 4 > 0

    def section(unit: _Unit) -> Section:
        return Section(offset(unit.first), offset(unit.last), unit.path)

    file = Block(0, len(starts), None, lambda: blocks)
    current: _Unit | None = None
    for unit in _units(file, (), 0, lambda block: length(block) > size):
        if current is not None and not belongs(unit, current):
            yield section(current)
            current = None
        current = unit if current is None else _merged(current, unit)
    if current is not None:
        yield section(current)


def blocks(text: str, starts: Sequence[int]) -> Sequence[Block]:
    """Find the blocks of a file by indentation: a line, the lines indented below it, and the closing line.

    >>> file_blocks = blocks("a: 1\\n\\nb:\\n  c: 2\\n", [0, 5, 6, 9, 16])
    >>> [(block.first, block.last, block.name) for block in file_blocks]
    [(0, 1, None), (2, 4, 'b')]
    """
    lines = [line.rstrip() for line in text.split("\n")]
    sections = {
        number: head[1].strip() for number, line in enumerate(lines) if (head := _SECTION.match(line))
    }
    if len(sections) > 1 or 0 in sections:
        return _sectioned_blocks(lines, sections)
    return _blocks(lines, 0, len(lines), -1)


def _merged(one: _Unit, other: _Unit) -> _Unit:
    """Merge two adjacent units; a unit of several definitions has no name of its own."""
    names = one.names + other.names
    path = one.parent if names != 1 else one.path if one.names else other.path
    return _Unit(one.first, other.last, path, names)


def _units(block: Block, path: Path, depth: int, is_large: Callable[[Block], bool]) -> Iterator[_Unit]:
    """Yield a block as one unit or, if it is large, as units of its head and parts that cover all lines."""
    if block.name and path[-1:] != (block.name,):  # a decorated function contains a function of the same name
        path = (*path, block.name)
    parts = _parts_without_gaps(block) if depth < DEEPEST and is_large(block) else ()
    if not parts:
        yield _Unit(block.first, block.last, path, int(bool(block.name)))
        return
    for part in parts:
        yield from _units(part, path, depth + 1, is_large)


def _parts_without_gaps(block: Block) -> list[Block]:
    """Return a block's parts without gaps.

    Lines between two parts go to the first of them; lines above all parts are the head, a part of its own.
    """
    parts = [part for part in block.inside() if block.first <= part.first < part.last <= block.last]
    only_part = parts[0] if len(parts) == 1 else None
    if not parts or (
        only_part and (only_part.first, only_part.last, only_part.name or "") == (block.first, block.last, "")
    ):
        return []
    ends = [*(part.first for part in parts[1:]), block.last]
    extended = [replace(part, last=end) for part, end in zip(parts, ends, strict=True)]
    return extended if parts[0].first == block.first else [Block(block.first, parts[0].first), *extended]


def _sectioned_blocks(lines: list[str], names_by_line: dict[int, str]) -> list[Block]:
    """Split a TOML or INI file: all lines below a `[section]` belong to it, whatever their indentation."""

    def block(head: int, after: int) -> Block:
        return Block(head, after, names_by_line[head][:_NAME], lambda: _blocks(lines, head + 1, after, -1))

    heads = [*names_by_line, len(lines)]
    return [*_blocks(lines, 0, heads[0], -1), *(block(head, after) for head, after in pairwise(heads))]


def _blocks(lines: list[str], low: int, high: int, outer: int) -> list[Block]:
    """Split the lines from `low` to before `high` that are indented more than `outer` into blocks.

    A block starts at each line of least indentation that is not a closing bracket or keyword.
    """
    depths = {number: _indentation(lines[number]) for number in range(low, high) if lines[number]}
    least = min((depth for depth in depths.values() if depth > outer), default=None)
    if least is None:
        return []
    spans: list[list[int]] = []  # first line, line after the last, first line that is not a comment
    follows_comment = False
    comment_end: str | None = None  # the end of the comment of several lines that a line is in
    for number, depth in depths.items():
        line, was_in_comment = lines[number], comment_end is not None
        comment_end = _end_of_comment(line, comment_end)
        opens = depth == least and not (was_in_comment or _CONTINUES.match(line) or _BRACE.match(line))
        if not spans or (opens and not follows_comment):
            spans.append([number, number + 1, number])
        spans[-1][1] = number + 1
        is_above = bool(_ABOVE.match(line)) if opens else follows_comment
        if follows_comment and opens and not is_above:
            spans[-1][2] = number
        ends_here = number + 1 == high or not lines[number + 1]
        follows_comment = is_above and (comment_end is not None or not ends_here)
    return [_block(lines, first, last, head, least) for first, last, head in spans]


def _end_of_comment(line: str, end: str | None) -> str | None:
    """Return the end of the comment that goes on after a line, or None; `end` is that of the line itself."""
    if end is None:
        bare = line.lstrip()
        begin = next(filter(bare.startswith, _LONG_COMMENTS), "")
        end, line = _LONG_COMMENTS.get(begin), bare[len(begin) :]
    return end if end and end not in line else None


def _block(lines: list[str], first: int, last: int, head: int, depth: int) -> Block:
    name = _name(lines[head]) if last - head > 1 else None
    return Block(first, last, name, lambda: _blocks(lines, head + 1, last, depth))


def _name(line: str) -> str | None:
    match = _KEYWORD.search(line) or next(filter(None, (name.match(line) for name in _NAMES)), None)
    return " ".join(match[1].split())[:_NAME] if match else None


def _indentation(line: str) -> int:
    bare = line.lstrip()
    return len(line[: len(line) - len(bare)].expandtabs(_TAB))
