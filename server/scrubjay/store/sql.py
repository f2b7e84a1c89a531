"""Filters as SQL text, safely: the only place where a value becomes part of a filter.

LanceDB filters are DataFusion SQL. In a literal only the single quote is special (doubled); everything else, backslashes and
newlines included, is plain text there. Column names come from our own code, never from a caller.
"""

from __future__ import annotations

from collections.abc import Iterable


def quote(value: str) -> str:
    """A string literal.

    >>> print(quote("it's"))
    'it''s'
    """
    return "'" + value.replace("'", "''") + "'"


def equal(column: str, value: str | int | bool) -> str:
    if isinstance(value, bool):
        return f"{column} = {'true' if value else 'false'}"
    return f"{column} = {value if isinstance(value, int) else quote(value)}"


def one_of(column: str, values: Iterable[str]) -> str:
    """`column IN (...)`; no values means no rows (an empty IN list is a syntax error there)."""
    listed = ", ".join(quote(value) for value in values)
    return f"{column} IN ({listed})" if listed else "false"


def has_all(column: str, values: Iterable[str]) -> str:
    """The list column holds every one of the values."""
    return f"array_has_all({column}, [{', '.join(quote(value) for value in values)}])"


def has_any(column: str, values: Iterable[str]) -> str:
    """The list column holds at least one of the values."""
    return f"array_has_any({column}, [{', '.join(quote(value) for value in values)}])"


def at_or_below(column: str, path: str) -> str:
    """The column is this path, or begins with it when it ends in a slash."""
    return f"starts_with({column}, {quote(path)})" if path.endswith("/") else equal(column, path)


def both(*conditions: str | None) -> str:
    """All conditions, without the empty ones; no condition at all is `true`."""
    return " AND ".join(f"({condition})" for condition in conditions if condition) or "true"


def either(*conditions: str) -> str:
    return " OR ".join(f"({condition})" for condition in conditions)
