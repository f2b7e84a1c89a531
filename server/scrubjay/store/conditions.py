"""Conditions on rows: the only module that writes SQL and puts values into it.

In a literal of DataFusion SQL, only the single quote is special. Column names come from our own code.
"""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Literal, NamedTuple, NewType

from scrubjay.models.records import COMMIT, SUMMARY, Memory, Record
from scrubjay.store.schema import micros

Where = NewType("Where", str)  # a condition as SQL; only this package creates one


class Dates(NamedTuple):
    """A period from `since` to before `until`, in microseconds since 1970; None means no bound."""

    since: int | None = None
    until: int | None = None


EVER = Dates()
EVERY_ROW = Where("true")
NO_ROW = Where("false")


def quote(value: str) -> str:
    """Write a string literal, in which single quotes are doubled."""
    return "'" + value.replace("'", "''") + "'"


def equal(column: str, value: str | int | bool) -> Where:
    """The column has this value."""
    if isinstance(value, bool):
        return Where(f"{column} = {'true' if value else 'false'}")
    return Where(f"{column} = {value if isinstance(value, int) else quote(value)}")


def differs(column: str, value: str) -> Where:
    """The column has a value other than this one; rows without a value do not match."""
    return Where(f"{column} != {quote(value)}")


def one_of(column: str, values: Iterable[str | int]) -> Where:
    """The column has one of these values; without values, no row matches (IN () is a syntax error)."""
    literals = ", ".join(quote(value) if isinstance(value, str) else str(value) for value in values)
    return Where(f"{column} IN ({literals})") if literals else NO_ROW


def matching(**values: str | int | bool | Collection[str | int] | None) -> Where:
    """Each column has its value, or one of its values; None puts no condition on a column.

    >>> print(matching(scope="a", path=None, id=["x", "y"]))
    (scope = 'a') AND (id IN ('x', 'y'))
    """
    parts = []
    for column, value in values.items():
        if value is not None:
            parts.append(equal(column, value) if isinstance(value, str | int) else one_of(column, value))
    return both(*parts)


def missing(column: str) -> Where:
    """The column has no value."""
    return Where(f"{column} IS NULL")


def present(column: str) -> Where:
    """The column has a value."""
    return Where(f"{column} IS NOT NULL")


def number(column: str, operator: Literal["<", "<=", ">", ">="], value: int) -> Where:
    """The number in the column compares to `value` as the operator says."""
    return Where(f"{column} {operator} {value}")


def dated(dates: Dates) -> Where:
    """The passage is from this period."""
    since = None if dates.since is None else number("dated_at", ">=", dates.since)
    return both(since, None if dates.until is None else number("dated_at", "<", dates.until))


def has_all(column: str, values: Iterable[str]) -> Where:
    """The list column contains all of the values."""
    return Where(f"array_has_all({column}, [{', '.join(quote(value) for value in values)}])")


def has_any(column: str, values: Iterable[str]) -> Where:
    """The list column contains at least one of the values."""
    return Where(f"array_has_any({column}, [{', '.join(quote(value) for value in values)}])")


def starts_with(column: str, prefix: str) -> Where:
    """The text column begins with `prefix`."""
    return Where(f"starts_with({column}, {quote(prefix)})")


def contains(column: str, text: str) -> Where:
    """The text column contains `text`."""
    return Where(f"contains({column}, {quote(text)})")


def at_or_below(column: str, path: str) -> Where:
    """The column is this path, or if the path ends in a slash, begins with it."""
    return starts_with(column, path) if path.endswith("/") else equal(column, path)


def within(column: str, path: str) -> Where:
    """The column is this path or a path below it; a slash at the end makes no difference."""
    bare = path.rstrip("/")
    return either(equal(column, bare or "/"), starts_with(column, f"{bare}/"))


def has_all_folded(column: str, values: Iterable[str]) -> Where:
    """The list column contains all of these values, ignoring case."""
    joined = f"lower(concat('\x01', array_to_string({column}, '\x01'), '\x01'))"
    return both(*(contains(joined, f"\x01{value.lower()}\x01") for value in values))


def both(*parts: Where | None) -> Where:
    """All of these conditions hold; None is ignored, and without conditions every row matches."""
    return Where(" AND ".join(f"({part})" for part in parts if part not in (None, EVERY_ROW))) or EVERY_ROW


def either(*parts: Where) -> Where:
    """At least one of these conditions holds."""
    return Where(" OR ".join(f"({part})" for part in parts))


def negation(part: Where) -> Where:
    """The condition is false; rows for which it is unknown do not match."""
    return Where(f"NOT ({part})")


def not_true(part: Where) -> Where:
    """The condition is false or unknown."""
    return Where(f"NOT coalesce({part}, false)")


def text_between(column: str, start: str, end: str) -> str:
    """Write an expression for the text between `start` and the next `end` in a column; '' if missing."""
    return f"split_part(split_part({column}, {quote(start)}, 2), {quote(end)}, 1)"


def compares(column: str, operator: str, value: float) -> Where:
    """The text column holds a number that compares (<, <=, >, >=, =) to `value`."""
    return Where(f"cast(nullif({column}, '') as double) {operator} cast('{value!r}' as double)")


# What "current" means for rows. `models.records.is_current` is the same for a record; a test compares both.

NOT_FORGOTTEN = missing("forgotten_at")
# Passages that need a vector: all without one, except those of removed documents.
NO_VECTOR = both(missing("space_id"), negation(both(equal("src", "chunk"), Where("hidden"))))
LATEST = equal("is_latest", True)
A_COMMIT = equal("type", COMMIT)
NOT_A_COMMIT = differs("type", COMMIT)  # a condition on documents
NOT_A_SUMMARY = negation(equal("source", SUMMARY))  # the summary of a session repeats its turns


def unexpired(now: datetime) -> Where:
    """The row has not expired by `now`."""
    return either(missing("expires_at"), number("expires_at", ">", micros(now)))


def current(kind: type[Record], now: datetime) -> Where:
    """The record is neither forgotten nor expired, nor, if it is a fact, replaced by a newer version."""
    return both(NOT_FORGOTTEN, unexpired(now), LATEST if kind is Memory else None)
