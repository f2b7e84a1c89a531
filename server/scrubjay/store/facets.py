"""Encodes metadata for the index, and turns filters on metadata into conditions.

One text column holds all names and values as fields between NULs, which no metadata contains. So a condition
on metadata is a search in plain text:

    \\0=name\\0:text\\0        a text, number or boolean, as conditions compare it
    \\0~name\\0:folded\\0      the same, case-folded
    \\0@name\\0:item\\0        each item of a list; \\0&name\\0:folded\\0 case-folded
    \\0#name\\0:number\\0      a number, or a text that is one

A field with a name begins with a mark, and one with a value begins with a colon, so they cannot be confused.
LanceDB's JSON functions refuse rows whose value is of another type. A list of 5,000 matching ids as a filter
costs a search 100 ms; a condition on this column costs 2.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from scrubjay.models.filters import Comparison, Condition, Filter, number_of, text_of
from scrubjay.store import conditions
from scrubjay.store.conditions import Where

_MARKS = {  # kind of condition -> the marks of the fields it compares: as written, and case-folded
    "metadata": ("=", "~"),
    "string_contains": ("=", "~"),
    "array_contains": ("@", "&"),
}
_NUMBER = "#"
_COLUMN = "facets"


def facets(metadata: Mapping[str, Any]) -> str | None:
    """Return metadata in this module's encoding, or None if there is nothing to search for."""
    return "".join(field for name, value in metadata.items() for field in _fields(name, value)) or None


def _fields(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield _field("@", name, item)
            yield _field("&", name, item.casefold())
    elif isinstance(value, str | int | float):
        text = text_of(value)
        yield _field("=", name, text)
        yield _field("~", name, text.casefold())
        if (number := number_of(value)) is not None:
            yield _field(_NUMBER, name, repr(number))


def _field(mark: str, name: str, value: str) -> str:
    return f"{_start(mark, name)}{value}\0"


def _start(mark: str, name: str) -> str:
    return f"\0{mark}{name}\0:"


def where(tree: Filter) -> Where:
    """Return a filter as a condition on the column with the `facets`."""
    if isinstance(tree, Condition):
        return _condition(tree)
    if isinstance(tree, Comparison):
        return conditions.compares(_value(_NUMBER, tree.key), tree.operator, tree.value)
    parts = map(where, tree.parts)
    return conditions.both(*parts) if tree.every else conditions.either(*parts)


def has_key(key: str) -> Where:
    """Return the condition that a record's metadata has this name."""
    return conditions.either(*(conditions.contains(_COLUMN, _start(mark, key)) for mark in ("=", "@")))


def _condition(condition: Condition) -> Where:
    mark = _MARKS[condition.kind][condition.ignore_case]
    value = condition.value.casefold() if condition.ignore_case else condition.value
    if condition.kind == "string_contains":
        is_true = conditions.contains(_value(mark, condition.key), value)
    else:
        is_true = conditions.contains(_COLUMN, _field(mark, condition.key, value))
    # For a record without metadata the column is null, so a condition and its negation are both unknown.
    return conditions.not_true(is_true) if condition.negate else is_true


def _value(mark: str, name: str) -> str:
    """Write an expression for the value of a field; '' if it is missing."""
    return conditions.text_between(_COLUMN, _start(mark, name), "\0")
