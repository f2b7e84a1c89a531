"""The rules of redaction, read from `rules.jsonl`.

Patterns are regular expressions; `<<name>>` in one stands for the shape of that name. The kinds of rows:

- `token`: a secret that shows its issuer by how it begins (`begins`, `then`) or by what it has in it
  (`holds`, `pattern`).
- `line`: a secret in a line of a known form. Every match has one of the texts in `holds`; those without a
  capital are searched in the folded text.
- `command`: commands (`names`), and the `flags` that take a password.
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

from scrubjay.redaction.patterns import pattern

FILE = os.path.join(os.path.dirname(__file__), "rules.jsonl")
Rule = namedtuple("Rule", "kind literals row")
WORDS: dict[str, tuple[str, ...]] = {}
SHAPES: dict[str, list[str]] = {}
TOKENS: list[Rule] = []
LINES: list[Rule] = []
_compiled: dict[str, re.Pattern[str]] = {}  # shapes by name


def _load() -> None:
    """Read the rows; patterns are built on first use, because hooks must start fast."""
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
    """Return the shape of this name, compiled."""
    if name not in _compiled:
        _compiled[name] = pattern(_expanded("|".join(SHAPES[name])))
    return _compiled[name]


def compiled(rule: Rule, field: str = "pattern") -> re.Pattern[str]:
    """Return the `pattern`, `without` or `not_after` of a rule, which matches nothing if it is missing."""
    row = rule.row
    if field == "pattern" and field not in row:
        row[field] = _of_token(row, rule.literals) if "then" in row else _of_command(row, rule.literals)
    return pattern(_expanded(row.get(field, "(?!)")))


def _of_token(row: dict[str, str], begins: list[str]) -> str:
    """Return the pattern of a token, which begins at the beginning of a word."""
    either = "|".join(map(re.escape, begins))
    start = rf"{either}(?<![A-Za-z0-9_-]{either})" if len(begins) == 1 else rf"(?<![A-Za-z0-9_-])(?:{either})"
    return f"(?P<secret>{start}(?:{row['then']}))(?![A-Za-z0-9])"


def _of_command(row: dict[str, str], names: list[str]) -> str:
    either = "|".join(rf"{name}(?<![\w.-]{name})" for name in names)  # found quickly, as a literal
    arguments = r"[\w-]{0,12}[ \t](?:[^\n|;]|(?<=\\)\n){0,200}?(?<!\S)"
    secret = r"[\"']?(?!\[redacted:)(?P<secret>[^\s\"'`]{4,})"
    return f"(?:{either}){arguments}(?:{row['flags']}){secret}"


def _expanded(source: str) -> str:
    """Replace each `<<name>>` by the shape of that name."""
    first, *parts = source.split("<<")
    for part in parts:
        name, _, rest = part.partition(">>")
        first += _expanded("|".join(SHAPES[name])) + rest if name in SHAPES else "<<" + part
    return first


_load()
