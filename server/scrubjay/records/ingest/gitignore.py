"""Matches paths against a .gitignore by git's rules (gitignore(5)), in time linear in the length of a rule.

A star stops at the first place where the text behind it fits, because a later place would let no other path
match. A plain regular expression for a rule such as `*a*a*a*b` would try all ways to match it, and never end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

# A part of a rule: `**` as a whole part of a path, a star, an escaped character, or any other character.
_PART = re.compile(
    r"(?s)(?P<deep>(?:^|(?<=/))\*\*+(?P<slash>/|$))|(?P<star>\*+)|\\(?P<escaped>.)|(?P<plain>.)"
)
# A class, in which a `]` at the beginning is a character, and its ranges and characters.
_CLASS = re.compile(r"(?s)\[([!^]?+)(\]?+(?:\\.|[^\]\\])*+)\]")
_MEMBER = re.compile(r"(?s)\\?(.)-\\?(.)|\\?(.)")


class Rules:
    """The rules of one .gitignore."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._includes: list[bool] = []  # by the number of the rule; True for a rule that begins with "!"
        name_rules: dict[int, str] = {}  # the expressions of rules without a slash, by the number of the rule
        path_rules: dict[int, str] = {}
        for line in lines:
            includes = line.startswith("!")
            pattern = _trimmed(line[includes:])
            if line.startswith("#") or not pattern:
                continue
            bare = pattern.removesuffix("/")
            if (expression := _expression(bare)) is not None:
                ending = "/?" if bare == pattern else "/"  # the path of a folder ends in a slash
                (path_rules if "/" in bare else name_rules)[len(self._includes)] = expression + ending
                self._includes.append(includes)
        self._name_rules, self._path_rules = _joined(name_rules), _joined(path_rules)

    def verdict(self, path: str, is_folder: bool) -> bool | None:
        """Return True if a path below the .gitignore is ignored, False if not, None if no rule matches it."""
        path += "/" if is_folder else ""
        name = path[path.rfind("/", 0, -1) + 1 :]
        number = max(_last_match(self._name_rules, name), _last_match(self._path_rules, path))
        return None if number < 0 else not self._includes[number]


_Joined = tuple[re.Pattern[str], list[int]]


def _joined(expressions: Mapping[int, str]) -> _Joined:
    """Return one expression with a group for each rule, the last rule first, and the numbers of the rules."""
    numbers = sorted(expressions, reverse=True)
    return re.compile("|".join(f"({expressions[number]})" for number in numbers)), numbers


def _last_match(rules: _Joined, path: str) -> int:
    """Return the number of the last rule that matches, or -1."""
    match = rules[0].fullmatch(path)
    return rules[1][match.lastindex - 1] if match and match.lastindex else -1


def _trimmed(line: str) -> str:
    """Remove the spaces at the end, but keep one after a backslash."""
    stripped = line.rstrip(" ")
    is_escaped = (len(stripped) - len(stripped.rstrip("\\"))) % 2 == 1
    return f"{stripped} " if is_escaped and stripped != line else stripped


def _expression(pattern: str) -> str | None:
    """Translate a rule without its `!` and last slash; return None for a rule that can match nothing."""
    text = pattern.removeprefix("/")
    # Sections between `**`, each with its parts between slashes, each with its expressions between stars.
    sections: list[list[list[list[str]]]] = [[[[]]]]
    position = 0
    while position < len(text):
        match = _PART.match(text, position)
        if match is None:  # a backslash at the end
            return None
        position = match.end()
        if match["deep"]:
            # At the end of a rule, `**` matches everything inside, but not the folder itself.
            sections.append([[[]]] if match["slash"] else [[[], []]])
        elif match["star"]:
            sections[-1][-1].append([])
        elif match["plain"] == "/":
            sections[-1].append([[]])
        elif match["plain"] == "[":
            if (bracketed := _CLASS.match(text, match.start())) is None:
                return None
            sections[-1][-1][-1].append(_class(*bracketed.groups()))
            position = bracketed.end()
        else:
            sections[-1][-1][-1].append(
                "[^/]" if match["plain"] == "?" else re.escape(match["escaped"] or match["plain"])
            )
    first, *middle = ["/".join(map(_between_slashes, section)) for section in sections]
    last = f"(?:[^/]+/)*{middle.pop()}" if middle else ""
    return first + "".join(f"(?>(?:[^/]+/)*?{section})" for section in middle) + last if text else None


def _between_slashes(texts: list[list[str]]) -> str:
    """Join the expressions between stars; `(?>...)` keeps the first place where one fits."""
    if texts == [[], []]:  # one star, and a name is never empty
        return "[^/]+"
    first, *middle = map("".join, texts)
    last = f"[^/]*{middle.pop()}" if middle else ""
    return first + "".join(f"(?>[^/]*?{text})" for text in middle) + last


def _class(negation: str, members: str) -> str:
    ranges = ""
    for first, last, single in _MEMBER.findall(members):
        ranges += re.escape(first or single)  # `[z-a]` matches z
        ranges += f"-{re.escape(last)}" if last and first <= last else ""
    return f"[^/{ranges}]" if negation else f"(?!/)[{ranges}]"
