"""Redacts numeric codes, and secrets in cells below the head of a column or in lines below a name."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from types import SimpleNamespace

from scrubjay.redaction.cuts import Cuts, folded, positions
from scrubjay.redaction.patterns import pattern
from scrubjay.redaction.rules import WORDS, shape
from scrubjay.redaction.shapes import (
    CHECKS,
    digits,
    is_jumbled,
    is_key,
    is_made_up,
    is_password,
    is_placeholder,
)

MOST_HEADS = 400  # characters of the first line of a table

_CELLS = {"  ": r"[^ \t]+(?:[ \t][^ \t]+)*", "|": r"[^|]+"}  # by separator


class _Columns(SimpleNamespace):
    """The columns of secrets in a table: `kinds` has the kind of each by its index.

    It is `any` for passwords next to users, where any word is one, and else what the shape `head` says.
    """


class _Parent(SimpleNamespace):
    """A line that describes the lines below it."""


_NO_COLUMNS = _Columns(kinds={})


def without_codes(text: str) -> tuple[str, int]:
    """Replace digits that the text calls a PIN or an access code."""
    lowered, cuts = folded(text), Cuts(text)
    for position in positions(("pin", "code", "otp", "puk", "2fa", "mfa", "time password"), lowered):
        start = position + 5 if lowered.startswith("time ", position) else position
        match = shape("codes").match(lowered, start) if start >= cuts.end else None
        if match:
            cuts.replace(*match.span("secret"), "password")
    return cuts.result()


def without_cells(text: str) -> tuple[str, int]:
    """Replace secrets in cells below the head of their column, and in lines below their name."""
    lowered, cuts = folded(text), Cuts(text)
    stems = tuple(stem for stem in WORDS["heads"] if stem in lowered)
    if not stems:
        return cuts.result()
    is_manifest = bool(pattern(r"kind[\"']?: ?[\"']?secret\b").search(lowered))
    lines = text.split("\n")
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    naming_lines = {bisect_right(starts, position) - 1 for position in positions(stems, lowered)}
    next_line = 0
    for first_line in sorted(naming_lines):
        columns, parent = _NO_COLUMNS, None
        for number in range(first_line, len(lines) if first_line >= next_line else first_line):
            line, next_line = lines[number], number + 1
            spans = _secrets(line, columns) if columns.kinds else None
            if spans is None:
                columns = _columns(line) if number in naming_lines else _NO_COLUMNS
                parent = parent if parent and _is_below(line, number, parent) else None
                spans = _secret_below(line, parent, is_manifest) if parent else []
                if parent is None and number in naming_lines:
                    parent = _parent(line, number, is_manifest)
            for start, end in spans:
                cuts.replace(starts[number] + start, starts[number] + end, "secret")
            if not parent and not columns.kinds:
                break
    return cuts.result()


def _columns(line: str) -> _Columns:
    """Return the columns of secrets that a line names, if it is the head of a table."""
    for separator in ("|", "\t", ";", ",", "  ") if len(line) <= MOST_HEADS else ():
        spans = _cells(line, separator) if separator in line else []
        heads = [line[start:end] for start, end in spans]
        if len(heads) < 2 or not all(heads[1:]) or max(map(len, heads)) > 40:
            continue  # the first head may be blank, above the numbers of rows
        matches = {index: match for index, head in enumerate(heads) if (match := shape("head").match(head))}
        kinds = {index: match.lastgroup or "key" for index, match in matches.items()}
        if pattern(r"[{}=]|[,;] |\w\(").search(line):  # code or prose: the words below may be anything
            kinds = {index: kind if kind == "vague" else "key" for index, kind in kinds.items()}
        elif any(map(shape("head-of-users").match, heads)):
            kinds = {index: "any" if kind in ("password", "pass") else kind for index, kind in kinds.items()}
        if kinds:
            return _Columns(width=len(spans), separator=separator, kinds=kinds)
    return _NO_COLUMNS


def _secrets(line: str, columns: _Columns) -> list[tuple[int, int]] | None:
    """Return the positions of secrets in a row, or None if the line is not a row of the table."""
    if not line.strip(" |+-:=\t"):
        return [] if line.strip() else None
    spans = _cells(line, columns.separator)
    if len(spans) != columns.width:
        return None
    cells = [(*spans[index], kind) for index, kind in columns.kinds.items()]
    return [(start, end) for start, end, kind in cells if _is_secret_cell(line[start:end], kind)]


def _is_secret_cell(value: str, kind: str) -> bool:
    """Return True if a cell is a secret of the kind that the head of its column names."""
    if kind == "pin" and value.isdigit():
        return 4 <= len(value) <= 8
    if _is_secret(value, kind == "vague"):
        return True
    if len(value) < 4 or " " in value or shape("no-cell").match(value):
        return False
    if kind == "key":
        return bool(shape("uuid").fullmatch(value))
    if kind == "any":
        return CHECKS["set"](value)
    if kind != "password" or is_placeholder(value):
        return False
    return len(value) >= 6 if value.isdigit() else digits(value) >= 2 and not shape("term").match(value)


def _cells(line: str, separator: str) -> list[tuple[int, int]]:
    """Return the positions of the cells of a line, without quotes and blanks."""
    spans = []
    # blanks outside the bars of Markdown are no cells
    searched = (len(line) - len(line.lstrip()), len(line.rstrip())) if separator == "|" else ()
    cells = _CELLS.get(separator, f'(?:^|(?<={separator}))(?:"[^"]*"(?={separator}|\\s*\\Z)|[^{separator}]*)')
    for cell in pattern(cells).finditer(line, *searched):
        stripped = cell.group().strip(" \t\"'`*()")
        start = cell.start() + cell.group().find(stripped)
        spans.append((start, start + len(stripped)))
    return spans


def _is_secret(value: str, is_vague: bool = False) -> bool:
    """Return True if a cell, or the value of a line below the name of secrets, is a secret."""
    if " " in value or len(value) < 6 or is_placeholder(value) or shape("no-cell").match(value):
        return False
    if is_made_up(value) or is_key(value):
        return True
    return not is_vague and is_password(value) and not shape("versioned").match(value)


def _parent(line: str, number: int, is_manifest: bool) -> _Parent | None:
    """Return a line as the parent of the lines below, if it names secrets or is a command that shows one."""
    stripped, is_prompt = line.rstrip(), bool(shape("prompted").match(line))
    name_match = shape("parent").match(stripped) if len(stripped) < 200 else None
    if not is_prompt and (not name_match or (name_match["data"] and not is_manifest)):
        return None
    has_passwords = not is_prompt and bool(shape("parent-of-passwords").search(line))
    depth = len(line) - len(line.lstrip())
    return _Parent(depth=depth, number=number, is_prompt=is_prompt, has_passwords=has_passwords)


def _is_below(line: str, number: int, parent: _Parent) -> bool:
    """Return True if a line belongs to a parent; one blank line may follow the parent."""
    if not line.strip():
        return bool(parent.depth > 0 or number == parent.number + 1)
    depth = len(line) - len(line.lstrip())
    return bool(depth > parent.depth or (depth == parent.depth and ":" not in line))


def _secret_below(line: str, parent: _Parent, is_manifest: bool) -> list[tuple[int, int]]:
    """Return the position of the secret in a line below the name of secrets."""
    child = shape("child").match(line)
    if not child or (child["name"] and shape("harmless-child").match(child["name"])):
        return []
    value = child["secret"]
    is_sure = is_made_up(value) or is_key(value) or (is_manifest and shape("base64-value").match(value))
    is_named = child["name"] and digits(value) >= 2 and _is_secret(value)
    if is_sure or is_named or (not child["name"] and _is_bare_secret(value, parent)):
        return [child.span("secret")]
    return []


def _is_bare_secret(value: str, parent: _Parent) -> bool:
    if is_jumbled(value) and len(value) >= 16 and value.isalnum():
        return True
    if len(set(map(len, value.split("-")))) == 1 and shape("recovery-code").match(value):
        return True
    if parent.is_prompt and len(value) >= 8:  # the output of a command that makes or shows a secret
        return bool(("/" not in value and is_password(value)) or shape("base64-key").match(value))
    return bool(parent.has_passwords) and is_jumbled(value) and not is_placeholder(value)
