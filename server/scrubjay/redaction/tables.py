"""Tables: secrets in cells below the head of a column and in lines below a name, and codes of digits."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from types import SimpleNamespace

from scrubjay.redaction.cuts import Cuts, folded, places
from scrubjay.redaction.patterns import pattern
from scrubjay.redaction.rules import WORDS, shape
from scrubjay.redaction.shapes import digits, is_jumbled, is_key, is_made_up, is_password, is_placeholder

MOST_HEADS = 400  # characters of the first line of a table

_CELLS = {"  ": r"[^ \t]+(?:[ \t][^ \t]+)*", "|": r"[^|]+"}  # by separator


class _Columns(SimpleNamespace):
    """The columns of a table that have secrets: the place of each, and whether its values must be keys."""


class _Parent(SimpleNamespace):
    """A line that says what the lines below it are."""


_NO_COLUMNS = _Columns(places=[])


def without_codes(text: str) -> tuple[str, int]:
    """Replace digits that are called a PIN, or a code that opens something."""
    small, cuts = folded(text), Cuts(text)
    for place in places(("pin", "code", "otp", "puk", "2fa", "mfa", "time password"), small):
        start = place + 5 if small.startswith("time ", place) else place
        match = shape("codes").match(small, start) if start >= cuts.end else None
        if match:
            cuts.replace(*match.span("secret"), "password")
    return cuts.result()


def without_cells(text: str) -> tuple[str, int]:
    """Replace secrets in the cells below the head of their column, and in the lines below their name."""
    small, cuts = folded(text), Cuts(text)
    stems = tuple(stem for stem in WORDS["heads"] if stem in small)
    if not stems:
        return cuts.result()
    is_manifest = bool(pattern(r"kind[\"']?: ?[\"']?secret\b").search(small))
    lines = text.split("\n")
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    naming = {bisect_right(starts, place) - 1 for place in places(stems, small)}
    done = 0
    for first in sorted(naming):
        columns, parent = _NO_COLUMNS, None
        for number in range(first, len(lines) if first >= done else first):
            line, done = lines[number], number + 1
            found = _secrets(line, columns) if columns.places else None
            if found is None:
                columns = _columns(line) if number in naming else _NO_COLUMNS
                parent = parent if parent and _is_below(line, number, parent) else None
                found = _child(line, parent, is_manifest) if parent else []
                if parent is None and number in naming:
                    parent = _parent(line, number, is_manifest)
            for start, end in found:
                cuts.replace(starts[number] + start, starts[number] + end, "secret")
            if not parent and not columns.places:
                break
    return cuts.result()


def _columns(line: str) -> _Columns:
    """Find the columns of secrets that a line names, if it is the first of a table."""
    for separator in ("|", "\t", ";", ",", "  ") if len(line) <= MOST_HEADS else ():
        spans = _cells(line, separator) if separator in line else []
        if len(spans) < 2 or not all(0 < end - start <= 40 for start, end in spans):
            continue
        heads = [(at, shape("head").match(line[start:end])) for at, (start, end) in enumerate(spans)]
        columns = [(at, bool(head["vague"])) for at, head in heads if head]
        if columns:
            return _Columns(width=len(spans), separator=separator, places=columns)
    return _NO_COLUMNS


def _secrets(line: str, columns: _Columns) -> list[tuple[int, int]] | None:
    """Find the secrets of a row; None if the line is not a row of the table."""
    if not line.strip(" |+-:=\t"):
        return [] if line.strip() else None
    spans = _cells(line, columns.separator)
    if len(spans) != columns.width:
        return None
    cells = [(spans[at], is_vague) for at, is_vague in columns.places]
    return [(start, end) for (start, end), is_vague in cells if _is_secret(line[start:end], is_vague)]


def _cells(line: str, separator: str) -> list[tuple[int, int]]:
    """Find the cells of a line, without their quotes and blanks."""
    found = []
    cells = _CELLS.get(separator, f"(?:^|(?<={separator}))[^{separator}]*")
    for cell in pattern(cells).finditer(line):
        stripped = cell.group().strip(" \t\"'`*()")
        start = cell.start() + cell.group().find(stripped)
        found.append((start, start + len(stripped)))
    return found


def _is_secret(value: str, is_vague: bool = False) -> bool:
    """Return True if a cell, or the value of a line below the name of secrets, is one of them."""
    if " " in value or len(value) < 6 or is_placeholder(value) or shape("no-cell").match(value):
        return False
    if is_made_up(value) or is_key(value):
        return True
    return not is_vague and is_password(value) and not shape("versioned").match(value)


def _parent(line: str, number: int, is_manifest: bool) -> _Parent | None:
    """Return what a line says of those below it, if it names secrets or is a command that shows one."""
    stripped, is_prompt = line.rstrip(), bool(shape("prompted").match(line))
    named = shape("parent").match(stripped) if len(stripped) < 200 else None
    if not is_prompt and (not named or (named["data"] and not is_manifest)):
        return None
    has_passwords = not is_prompt and bool(shape("parent-of-passwords").search(line))
    depth = len(line) - len(line.lstrip())
    return _Parent(depth=depth, number=number, is_prompt=is_prompt, has_passwords=has_passwords)


def _is_below(line: str, number: int, parent: _Parent) -> bool:
    """Return True if a line belongs to a parent; a blank line may follow it."""
    if not line.strip():
        return bool(parent.depth > 0 or number == parent.number + 1)
    depth = len(line) - len(line.lstrip())
    return bool(depth > parent.depth or (depth == parent.depth and ":" not in line))


def _child(line: str, parent: _Parent, is_manifest: bool) -> list[tuple[int, int]]:
    """Find the secret in a line below the name of secrets."""
    child = shape("child").match(line)
    if not child or (child["name"] and shape("harmless-child").match(child["name"])):
        return []
    value = child["secret"]
    is_sure = is_made_up(value) or is_key(value) or (is_manifest and shape("base64-value").match(value))
    if is_sure or (_is_named_secret(value) if child["name"] else _is_bare_secret(value, parent)):
        return [child.span("secret")]
    return []


def _is_named_secret(value: str) -> bool:
    return digits(value) >= 2 and _is_secret(value)


def _is_bare_secret(value: str, parent: _Parent) -> bool:
    if is_jumbled(value) and len(value) >= 16 and value.isalnum():
        return True
    if len(set(map(len, value.split("-")))) == 1 and shape("recovery-code").match(value):
        return True
    if parent.is_prompt and len(value) >= 8:  # a command that makes or shows a secret may have printed this
        return bool(("/" not in value and is_password(value)) or shape("base64-key").match(value))
    return bool(parent.has_passwords) and is_jumbled(value) and not is_placeholder(value)
