"""The rules of redaction, read from `rules.jsonl`.

Patterns are regular expressions; `<<name>>` in one stands for the shape of that name. The kinds of rows:

- `token`: a secret that shows its issuer by how it begins (`begins`, `then`) or by what it has in it
  (`holds`, `pattern`).
- `line`: a secret in a line of a known form. Every match has one of the texts in `holds`; those without a
  capital are searched in the folded text.
- `command`: commands (`names`) and `flags`, after one of which a password follows.
- `shape`: a pattern that code refers to by name; rows of one name are alternatives. `is` says what matches.
- `words`: a list that code refers to by name.

A rule takes out the group `secret`, or else the whole match. Its value must pass the check that `only_if`
names (`shapes.CHECKS`), must not match `without`, and must not follow what matches `not_after`.
"""

from __future__ import annotations

import json
import os
import re
from collections import namedtuple
from collections.abc import Iterable

from scrubjay.redaction.patterns import pattern

FILE = os.path.join(os.path.dirname(__file__), "rules.jsonl")
Rule = namedtuple("Rule", "kind literals source only_if without not_after")
WORDS: dict[str, tuple[str, ...]] = {}
SHAPES: dict[str, str] = {}
TOKENS: list[Rule] = []
LINES: list[Rule] = []


def shape(name: str) -> re.Pattern[str]:
    """Return the shape of this name, compiled."""
    return pattern(SHAPES[name])


def _load() -> None:
    with open(FILE, encoding="utf-8") as lines:
        rows = json.loads(f"[{','.join(lines)}]")
    for row in rows:
        if "shape" in row:
            name = row["shape"]
            before = f"{SHAPES[name]}|" if name in SHAPES else ""
            SHAPES[name] = before + _expanded(row["pattern"])
        elif "words" in row:
            WORDS[row["words"]] = tuple(row["list"])
        elif "token" in row:
            TOKENS.append(_token(row))
        elif "command" in row:
            LINES.append(_command(row))
        else:
            LINES.append(_rule(row["line"], row["holds"], row["pattern"], row))


def _rule(kind: str, literals: Iterable[str], source: str, row: dict[str, str]) -> Rule:
    more = (row.get(field, "") for field in ("only_if", "without", "not_after"))
    return Rule(kind, tuple(literals), *map(_expanded, (source, *more)))


def _token(row: dict[str, str]) -> Rule:
    """Return the rule of a token, which begins at the beginning of a word."""
    if "pattern" in row:
        return _rule(row["token"], row["holds"], row["pattern"], row)
    begins = row["begins"].split()
    either = "|".join(map(re.escape, begins))
    start = rf"{either}(?<![A-Za-z0-9_-]{either})" if len(begins) == 1 else rf"(?<![A-Za-z0-9_-])(?:{either})"
    return _rule(row["token"], begins, f"(?P<secret>{start}(?:{row['then']}))(?![A-Za-z0-9])", row)


def _command(row: dict[str, str]) -> Rule:
    names = row["names"].split("|")
    either = "|".join(rf"{name}(?<![\w.-]{name})" for name in names)  # found quickly, as a literal
    arguments = r"[\w-]{0,12}[ \t](?:[^\n|;]|(?<=\\)\n){0,200}?(?<!\S)"
    secret = r"[\"']?(?!\[redacted:)(?P<secret>[^\s\"'`]{4,})"
    return _rule(row["command"], names, f"(?:{either}){arguments}(?:{row['flags']}){secret}", row)


def _expanded(source: str) -> str:
    first, *parts = source.split("<<")
    for part in parts:
        name, _, rest = part.partition(">>")
        first += SHAPES[name] + rest if name in SHAPES else "<<" + part
    return first


_load()
