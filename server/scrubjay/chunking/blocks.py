"""Blocks of lines inside blocks of lines, and how they become the stretches of a source file. Knows sizes and names; does not know any
programming language: who finds the blocks does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from scrubjay.chunking.cuts import known_again
from scrubjay.chunking.stretch import Stretch

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
            return length(to) < size // 4  # what little stands before something large goes with it, even if that is cut as text
        if to.names == 1 and length(to) >= size // 4:
            return length(unit) < size // 8
        # a row of small ones ends where it ended before, though one more may stand in it now
        return length(to) < size // 5 or known_again(text, offset(unit.first)) % 4 > 0

    joined: _Unit | None = None
    for unit in _units(Block(0, len(starts), None, lambda: blocks), (), 0, lambda block: length(block) > size):
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
    if block.name and path[-1:] != (block.name,):  # a decorated function is called what the function in it is called
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
    if not parts or (len(parts) == 1 and (parts[0].first, parts[0].last) == (block.first, block.last) and not parts[0].name):
        return []
    ends = [*(part.first for part in parts[1:]), block.last]
    closed = [replace(part, last=end) for part, end in zip(parts, ends, strict=True)]
    return closed if parts[0].first == block.first else [Block(block.first, parts[0].first), *closed]
