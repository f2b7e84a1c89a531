"""Matches paths against a .gitignore by git's rules (gitignore(5)), in time linear in the length of a name.

The rules of a file form one automaton whose states are the bits of an integer. A state says how far a rule
has matched, and each character of a path advances all states at once (Shift-And; Baeza-Yates and Gonnet,
1992). A regular expression for a rule such as `*a*a*a*b` would try all ways to match it, and never end.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

MOST_CHARACTERS = 100_000  # of all rules that apply to one folder; a class in brackets counts as 100
_CLASS_COST = 100
_MOST_MASKS = 500  # masks that are cached for one .gitignore
_STARS = re.compile(r"\*+")
_DEEP = re.compile(r"(?:^|(?<=/))\*\*+(/|$)")  # two or more stars that are a whole part of a path
# An item inside `[...]`: a named class, or a character or range of characters.
_MEMBER = re.compile(r"\[:([^\]]{0,9}):\]|(?:\\(.)|([^\\]))(?:-(?:\\(.)|([^\\\]])))?")
# Ranges of characters, each as its first and last.
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
    """A class in brackets: it matches a character in its ranges (pairs of first and last) or outside them."""

    ranges: str
    is_negated: bool

    def has(self, character: str) -> bool:
        pairs = zip(self.ranges[::2], self.ranges[1::2], strict=True)
        return any(first <= character <= last for first, last in pairs) != self.is_negated


_ANY = _Class("", True)
_Step = str | _Class | _Wild  # a part of a rule; a string is one character


class Rules:
    """The rules of one .gitignore; `begin` is the state of the folder that it is in.

    `size` is how much of `MOST_CHARACTERS` they use; `left_out` counts rules that did not fit into `room`.
    """

    def __init__(self, lines: Iterable[str], room: int = MOST_CHARACTERS) -> None:
        self.size = self.left_out = self._states = 0
        self._masks: dict[str, int] = {}
        self._targets: defaultdict[str | _Class, list[int]] = defaultdict(list)  # the states after a step
        self._loops: defaultdict[_Wild, list[int]] = defaultdict(list)  # states in which a star may stay
        starts: list[int] = []
        # The last states of the rules, by (lets in, only folders).
        ends: defaultdict[tuple[bool, bool], list[int]] = defaultdict(list)
        for line in lines:
            lets_in, remaining = line.startswith("!"), room - self.size
            pattern = _trimmed(line[lets_in:])
            if line.startswith("#") or not pattern:
                continue
            steps = _steps(pattern.removesuffix("/")) if len(pattern) <= remaining else []
            cost = max(len(pattern), 1 + sum(map(_cost, steps)))
            if cost > remaining:
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
        """Add the states of a rule: the first one, and one after each character."""
        for step in steps:
            if isinstance(step, _Wild):
                self._loops[step].append(self._states)
            else:
                self._states += 1
                self._targets[step].append(self._states)
        self._states += 1

    def verdict(self, state: int, name: str, is_folder: bool) -> bool | None:
        """Return True if a name is ignored in a folder with this state, or None if no rule matches it.

        The last matching rule decides; its bit is the highest.
        """
        reached, (ignoring, letting_in) = self._advance(state, name), self._ends[is_folder]
        return (reached & ignoring) > (reached & letting_in) if reached & (ignoring | letting_in) else None

    def inside(self, state: int, name: str) -> int:
        """Return the state of the subfolder with this name in a folder with this state."""
        return ((self._advance(state, name) << 1) & self._mask("/")) | (state & self._deep)

    def _advance(self, state: int, name: str) -> int:
        for character in name:
            state = ((state << 1) & self._mask(character)) | (state & self._star)
        return state

    def _mask(self, character: str) -> int:
        """Return the states that a character leads to, as bits."""
        if (mask := self._masks.get(character)) is None:
            if len(self._masks) >= _MOST_MASKS:
                self._masks.clear()
            targets = [*self._targets.get(character, ())]
            if character != "/":
                for step, step_targets in self._targets.items():
                    if isinstance(step, _Class) and step.has(character):
                        targets += step_targets
            mask = self._masks[character] = _bits(targets)
        return mask


def _bits(states: Sequence[int]) -> int:
    data = bytearray(max(states, default=0) // 8 + 1)
    for state in states:
        data[state // 8] |= 1 << state % 8
    return int.from_bytes(data, "little")


def _cost(step: _Step) -> int:
    return _CLASS_COST if isinstance(step, _Class) and step != _ANY else 1


def _trimmed(line: str) -> str:
    """Remove the spaces at the end, but keep one after a backslash."""
    stripped = line.rstrip(" ")
    is_escaped = (len(stripped) - len(stripped.rstrip("\\"))) % 2 == 1
    return f"{stripped} " if is_escaped and stripped != line else stripped


def _steps(pattern: str) -> list[_Step]:
    """Parse a rule without its `!` and last slash; return no steps for a rule that can match nothing."""
    text = pattern.removeprefix("/")
    is_name = "/" not in pattern  # a rule without a slash matches at any depth
    steps: list[_Step] = [_Wild.DEEP] if is_name and text else []
    position = 0
    while position < len(text):
        if deep_match := _DEEP.match(text, position):
            steps.append(_Wild.DEEP)
            if not deep_match[1]:  # at the end of a rule, `**` matches everything inside
                steps.append(_Wild.STAR)
            position = deep_match.end()
        elif star_match := _STARS.match(text, position):
            steps.append(_Wild.STAR)
            position = star_match.end()
        elif text[position] == "[":
            parsed = _class(text, position + 1)
            if parsed is None:
                return []
            step, position = parsed
            steps.append(step)
        elif text[position] == "\\":
            if position + 1 == len(text):
                return []
            steps.append(text[position + 1])
            position += 2
        else:
            steps.append(_ANY if text[position] == "?" else text[position])
            position += 1
    return steps


def _class(text: str, position: int) -> tuple[_Class, int] | None:
    """Parse a class after its `[`; return it and its end, or None if the class is unclosed or unknown."""
    is_negated = text[position : position + 1] in ("!", "^")
    position += is_negated
    ranges, begin = "", position
    while position == begin or text[position : position + 1] != "]":
        if (member := _MEMBER.match(text, position)) is None:
            return None
        name, first, last = member[1], member[2] or member[3], member[4] or member[5]
        if name is None:
            ranges += first + first + (first + last if last else "")  # `[z-a]` matches z
        elif name in _NAMED:
            ranges += _NAMED[name]
        else:
            return None
        position = member.end()
    return _Class(ranges, is_negated), position + 1
