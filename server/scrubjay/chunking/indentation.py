"""Blocks of a source or settings file by its indentation: for languages without a grammar here, and for JSON, YAML, TOML and the like.
Knows lines, their depth, and how most languages spell a definition. Pure; standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from scrubjay.chunking.blocks import Block

_TAB = 4  # columns
_NAME = 80  # characters of one in a breadcrumb
# A line that ends what stands above it, though it is not indented.
_CLOSES = re.compile(
    r"\s*(?:[)\]}>]|end\b|else\b|elif\b|elsif\b|elseif\b|catch\b|rescue\b|ensure\b|finally\b|fi\b|done\b|esac\b|then\b|\*/|-->|</)"
)
_ABOVE = re.compile(r"\s*(?:#|//|/\*|\*|--(?:\s|$)|;|@|<!--|\[[\w:(])")  # a comment or an attribute belongs to what follows it
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
    re.compile(r"\s*([^\s{}();=][^{}();=]{0,79}?)\s*\{\s*$"),  # a selector, or a block with a name before its brace
)


def blocks(text: str, starts: Sequence[int]) -> Sequence[Block]:
    """The blocks of the whole file; a block is a line with all that is indented below it, and what closes it.

    >>> [(block.first, block.last, block.name) for block in blocks("a: 1\\n\\nb:\\n  c: 2\\n", [0, 5, 6, 9, 16])]
    [(0, 1, 'a'), (2, 4, 'b')]
    """
    lines = [line.rstrip() for line in text.split("\n")]
    sections = {at: found[1].strip() for at, line in enumerate(lines) if (found := _SECTION.match(line))}
    return _sections(lines, sections) if len(sections) > 1 or 0 in sections else _blocks(lines, 0, len(lines), -1)


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
    return Block(first, last, _name(lines[head]) if last - head > 1 else None, lambda: _blocks(lines, head + 1, last, depth))


def _name(line: str) -> str | None:
    found = next((match for pattern in _NAMES if (match := pattern.search(line) if pattern is _NAMES[0] else pattern.match(line))), None)
    return " ".join(found[1].split())[:_NAME] if found else None


def _depth(line: str) -> int:
    bare = line.lstrip()
    return len(line[: len(line) - len(bare)].expandtabs(_TAB))
