"""Reads the rules of redaction from `rules.jsonl`.

Patterns are regular expressions, in which `<<name>>` stands for the shape of that name. The kinds of rows:

- `token`: a secret whose beginning (`begins`, `then`) or content (`holds`, `pattern`) shows who issued it.
- `line`: a secret in a line of a known form. Every match contains one of the texts in `holds`; texts without
  a capital are searched in the folded text.
- `command`: commands (`names`), and their `flags` that take a password.
- `shape`: a pattern that code refers to by name; rows with the same name are alternatives. `is` describes it.
- `words`: a list that code refers to by name.

A rule removes the group `secret`, or else the whole match. The value must pass the check that `only_if`
names (`shapes.CHECKS`), must not match `without`, and must not follow a match of `not_after`.
"""

from __future__ import annotations

import json
import os
import re
from collections import namedtuple

from scrubjay.redaction.patterns import pattern

FILE = os.path.join(os.path.dirname(__file__), "rules.jsonl")
Rule = namedtuple("Rule", "kind literals row")
WORDS: dict[str, tuple[str, ...]] = {}
SHAPES: dict[str, list[str]] = {}
TOKENS: list[Rule] = []
LINES: list[Rule] = []
_compiled: dict[str, re.Pattern[str]] = {}  # shapes by name


def _load() -> None:
    """Read the rows; patterns are compiled on first use, because hooks must start fast."""
    with open(FILE, encoding="utf-8") as lines:
        rows = json.loads(f"[{','.join(lines)}]")
    for row in rows:
        if "shape" in row:
            SHAPES.setdefault(row["shape"], []).append(row["pattern"])
        elif "line" in row:
            LINES.append(Rule(row["line"], row["holds"], row))
        elif "token" in row:
            begins = row["holds"] if "holds" in row else row["begins"].split()
            TOKENS.append(Rule(row["token"], begins, row))
        elif "command" in row:
            LINES.append(Rule(row["command"], row["names"].split("|"), row))
        else:
            WORDS[row["words"]] = tuple(row["list"])


def shape(name: str) -> re.Pattern[str]:
    """Return the compiled shape of this name."""
    if name not in _compiled:
        _compiled[name] = pattern(_expanded("|".join(SHAPES[name])))
    return _compiled[name]


def compiled(rule: Rule, field: str = "pattern") -> re.Pattern[str]:
    """Return the `pattern`, `without` or `not_after` of a rule; a missing one never matches."""
    row = rule.row
    if field == "pattern" and field not in row:
        make = _token_pattern if "then" in row else _command_pattern
        row[field] = make(row, rule.literals)
    return pattern(_expanded(row.get(field, "(?!)")))


def _token_pattern(row: dict[str, str], begins: list[str]) -> str:
    """Return the pattern of a token, which matches only at the beginning of a word."""
    prefix = "|".join(map(re.escape, begins))
    start = rf"{prefix}(?<![A-Za-z0-9_-]{prefix})" if len(begins) == 1 else rf"(?<![A-Za-z0-9_-])(?:{prefix})"
    return f"(?P<secret>{start}(?:{row['then']}))(?![A-Za-z0-9])"


def _command_pattern(row: dict[str, str], names: list[str]) -> str:
    # literals before assertions, because literals are found quickly
    command = "|".join(rf"{name}(?<![\w.-]{name})" for name in names)
    arguments = r"[\w-]{0,12}[ \t](?:[^\n|;]|(?<=\\)\n){0,200}?(?<!\S)"
    secret = r"[\"']?(?!\[redacted:)(?P<secret>[^\s\"'`]{4,})"
    return f"(?:{command}){arguments}(?:{row['flags']}){secret}"


def _expanded(source: str) -> str:
    """Replace each `<<name>>` with the shape of that name."""
    expanded, *parts = source.split("<<")
    for part in parts:
        name, _, rest = part.partition(">>")
        expanded += _expanded("|".join(SHAPES[name])) + rest if name in SHAPES else "<<" + part
    return expanded


_load()
