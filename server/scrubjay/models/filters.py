"""Filters on metadata: a tree of conditions under AND and OR. Knows what each condition means, and when two values are equal; does not
know how a caller spells a filter, or how records are stored.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Operator = Literal[">", "<", ">=", "<=", "=", "!="]

_NUMBER = re.compile(r"\s*[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?\s*", re.ASCII)


@dataclass(frozen=True)
class Condition:
    """What one name of a record's metadata must hold; without that name the condition fails.

    `metadata` compares whole texts, `string_contains` looks for `value` inside, `array_contains` among the items of a list.
    `negate` takes what the condition alone would not, records without the name included.
    """

    key: str
    value: str
    kind: Literal["metadata", "array_contains", "string_contains"] = "metadata"
    negate: bool = False
    ignore_case: bool = False


@dataclass(frozen=True)
class Comparison:
    """What number one name of a record's metadata must hold; what is no number, and does not read as one, fails it."""

    key: str
    operator: Operator
    value: float


@dataclass(frozen=True)
class Group:
    """All of its parts must hold (of no part: everything does), or at least one of them."""

    every: bool
    parts: tuple[Filter, ...]


Filter = Condition | Comparison | Group


def text_of(value: str | bool | int | float) -> str:
    """A value as conditions compare it: numbers as JSON writes them, without a fraction that is zero.

    >>> text_of(5.0), text_of(True), text_of("5.0")
    ('5', 'true', '5.0')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e16:
        return str(int(value))
    return value if isinstance(value, str) else repr(value)


def number_of(value: object) -> float | None:
    """A number, or a text that is one, as a float; None for all else, booleans included.

    >>> number_of(" 2.5e3 "), number_of("2,500"), number_of(True)
    (2500.0, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        return None
    try:
        made = float(value)
    except OverflowError:  # a whole number of more than 308 digits
        return None
    return made + 0.0 if math.isfinite(made) else None  # + 0.0 makes 0 of -0


_COMPARE = {">": operator.gt, "<": operator.lt, ">=": operator.ge, "<=": operator.le, "=": operator.eq, "!=": operator.ne}


def holds(filter: Filter, metadata: Mapping[str, Any]) -> bool:
    """Whether a record with this metadata is one that the filter lets through.

    >>> holds(Condition("lang", "GO", ignore_case=True), {"lang": "go"})
    True
    """
    if isinstance(filter, Group):
        return (all if filter.every else any)(holds(part, metadata) for part in filter.parts)
    stored = metadata.get(filter.key)
    if isinstance(filter, Comparison):
        number = number_of(stored)
        return number is not None and bool(_COMPARE[filter.operator](number, filter.value))
    return _found(filter, stored) is not filter.negate


def _found(condition: Condition, stored: Any) -> bool:
    fold = str.casefold if condition.ignore_case else str
    wanted = fold(condition.value)
    if condition.kind == "array_contains":
        return isinstance(stored, list) and wanted in map(fold, stored)
    if stored is None or isinstance(stored, list):
        return False
    text = fold(text_of(stored))
    return wanted in text if condition.kind == "string_contains" else wanted == text
