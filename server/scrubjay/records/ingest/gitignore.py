"""What a .gitignore keeps out, by git's rules (gitignore(5)), in time linear in the length of a name.

The rules of a file are one automaton, whose states are the bits of an integer: a state is how far a rule has
matched, and each character of a path moves all of them at once (Shift-And; Baeza-Yates and Gonnet, 1992). A
regular expression made of a rule such as `*a*a*a*b` tries all ways to match it, and never ends.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

MOST_CHARACTERS = 100_000  # of the rules that hold at one place, where a class in brackets counts as 100
_CLASS_COST = 100
_MOST_MASKS = 500  # that are remembered of one file
_STARS = re.compile(r"\*+")
_DEEP = re.compile(r"(?:^|(?<=/))\*\*+(/|$)")  # stars that are a whole part of a path
# One of `[...]`: a named class, or a character and perhaps the end of the range that it begins.
_MEMBER = re.compile(r"\[:([^\]]{0,9}):\]|(?:\\(.)|([^\\]))(?:-(?:\\(.)|([^\\\]])))?")
# Pairs of a first and a last character.
_NAMED = {
    "alnum": "09AZaz",
    "alpha": "AZaz",
    "blank": "\t\t  ",
    "cntrl": "\0\x1f\x7f\x7f",
    "digit": "09",
    "graph": "!~",
    "lower": "az",
    "print": " ~",
    "punct": "!/:@[`{~",
    "space": "\t\r  ",
    "upper": "AZ",
    "xdigit": "09AFaf",
}


class _Wild(Enum):
    STAR = "*"  # any characters but a slash
    DEEP = "**/"  # any folders, or none


@dataclass(frozen=True)
class _Class:
    """A character of these ranges (pairs of a first and a last one), or of none of them."""

    ranges: str
    is_negated: bool

    def has(self, character: str) -> bool:
        pairs = zip(self.ranges[::2], self.ranges[1::2], strict=True)
        return any(first <= character <= last for first, last in pairs) != self.is_negated


_ANY = _Class("", True)
_Step = str | _Class | _Wild  # of a rule; a text is one character


class Rules:
    """The rules of one .gitignore, from `begin`, the state of its folder.

    `size` is what they count of `MOST_CHARACTERS`; `left_out` is how many did not fit into `room`.
    """

    def __init__(self, lines: Iterable[str], room: int = MOST_CHARACTERS) -> None:
        self.size = self.left_out = self._states = 0
        self._masks: dict[str, int] = {}
        self._taking: defaultdict[str | _Class, list[int]] = defaultdict(list)  # states behind what was taken
        self._loops: defaultdict[_Wild, list[int]] = defaultdict(list)
        starts: list[int] = []
        ends: defaultdict[tuple[bool, bool], list[int]] = defaultdict(list)  # lets in, of folders alone
        for line in lines:
            lets_in, left = line.startswith("!"), room - self.size
            pattern = _trimmed(line[lets_in:])
            if line.startswith("#") or not pattern:
                continue
            steps = _steps(pattern.removesuffix("/")) if len(pattern) <= left else []
            cost = max(len(pattern), 1 + sum(map(_cost, steps)))
            if cost > left:
                self.left_out += 1
            elif steps:
                self.size += cost
                starts.append(self._states)
                self._add(steps)
                ends[lets_in, pattern.endswith("/")].append(self._states - 1)
        self.begin = _bits(starts)
        self._star, self._deep = _bits(self._loops[_Wild.STAR]), _bits(self._loops[_Wild.DEEP])
        files = [_bits(ends[lets_in, False]) for lets_in in (False, True)]
        folders = [_bits(ends[lets_in, True]) | files[lets_in] for lets_in in (False, True)]
        self._ends = files, folders

    def _add(self, steps: Sequence[_Step]) -> None:
        """Give a rule its states: the first one, and one behind each character."""
        for step in steps:
            if isinstance(step, _Wild):
                self._loops[step].append(self._states)
            else:
                self._states += 1
                self._taking[step].append(self._states)
        self._states += 1

    def verdict(self, state: int, name: str, is_folder: bool) -> bool | None:
        """Return True if this name is ignored in a folder of this state; None if no rule names it.

        The last matching rule decides: its bit is the highest.
        """
        read, (out, let_in) = self._read(state, name), self._ends[is_folder]
        return (read & out) > (read & let_in) if read & (out | let_in) else None

    def inside(self, state: int, name: str) -> int:
        """Return the state of the folder of this name in a folder of this state."""
        return ((self._read(state, name) << 1) & self._mask("/")) | (state & self._deep)

    def _read(self, state: int, name: str) -> int:
        for character in name:
            state = ((state << 1) & self._mask(character)) | (state & self._star)
        return state

    def _mask(self, character: str) -> int:
        """Return the states into which a character leads."""
        if (mask := self._masks.get(character)) is None:
            if len(self._masks) >= _MOST_MASKS:
                self._masks.clear()
            behind = [*self._taking.get(character, ())]
            if character != "/":
                for step, states in self._taking.items():
                    if isinstance(step, _Class) and step.has(character):
                        behind += states
            mask = self._masks[character] = _bits(behind)
        return mask


def _bits(states: Sequence[int]) -> int:
    data = bytearray(max(states, default=0) // 8 + 1)
    for state in states:
        data[state // 8] |= 1 << state % 8
    return int.from_bytes(data, "little")


def _cost(step: _Step) -> int:
    return _CLASS_COST if isinstance(step, _Class) and step != _ANY else 1


def _trimmed(line: str) -> str:
    """Remove the blanks at the end, but not one behind a backslash."""
    short = line.rstrip(" ")
    is_escaped = (len(short) - len(short.rstrip("\\"))) % 2 == 1
    return f"{short} " if is_escaped and short != line else short


def _steps(pattern: str) -> list[_Step]:
    """Parse a rule without its `!` and its last slash; no steps where it can match nothing."""
    text = pattern.removeprefix("/")
    is_name = "/" not in pattern  # then it may lie at any depth
    steps: list[_Step] = [_Wild.DEEP] if is_name and text else []
    at = 0
    while at < len(text):
        if deep := _DEEP.match(text, at):
            steps.append(_Wild.DEEP)
            if not deep[1]:  # at the end: all that is inside
                steps.append(_Wild.STAR)
            at = deep.end()
        elif stars := _STARS.match(text, at):
            steps.append(_Wild.STAR)
            at = stars.end()
        elif text[at] == "[":
            found = _class(text, at + 1)
            if found is None:
                return []
            step, at = found
            steps.append(step)
        elif text[at] == "\\":
            if at + 1 == len(text):
                return []
            steps.append(text[at + 1])
            at += 2
        else:
            steps.append(_ANY if text[at] == "?" else text[at])
            at += 1
    return steps


def _class(text: str, at: int) -> tuple[_Class, int] | None:
    """Parse what follows a `[`; return it and where it ends, None if it does not end or has no such name."""
    is_negated = text[at : at + 1] in ("!", "^")
    at += is_negated
    ranges, begin = "", at
    while at == begin or text[at : at + 1] != "]":
        if (member := _MEMBER.match(text, at)) is None:
            return None
        name, first, last = member[1], member[2] or member[3], member[4] or member[5]
        if name is None:
            ranges += first + first + (first + last if last else "")  # `[z-a]` takes z
        elif name in _NAMED:
            ranges += _NAMED[name]
        else:
            return None
        at = member.end()
    return _Class(ranges, is_negated), at + 1
