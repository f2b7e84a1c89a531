"""Filters on metadata: trees of conditions under AND and OR, with parsing and matching."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from operator import eq, ge, gt, le, lt, ne
from typing import Annotated, Any, Literal, get_args

from pydantic import PlainValidator, WithJsonSchema
from pydantic.alias_generators import to_snake

Operator = Literal[">", "<", ">=", "<=", "=", "!="]
Kind = Literal["metadata", "numeric", "array_contains", "string_contains"]

DEEPEST = 8  # levels of nested groups that are allowed
MOST = 200  # conditions that are allowed
LONGEST_KEY, LONGEST_VALUE = 200, 10_000  # characters, the limits of metadata too

_COMPARE = {">": gt, "<": lt, ">=": ge, "<=": le, "=": eq, "!=": ne}
_OPPOSITE: dict[Operator, Operator] = {">": "<=", "<": ">=", ">=": "<", "<=": ">", "=": "!=", "!=": "="}
_FIELDS = "key value filterType numericOperator negate ignoreCase".split()
_HTTP_NAMES = {spelling: name for name in _FIELDS for spelling in (name, to_snake(name))}
_NUMBER = re.compile(r"\s*[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?\s*", re.ASCII)


@dataclass(frozen=True)
class Condition:
    """A condition on one key of a record's metadata; it fails if the key is missing.

    The kind `metadata` compares whole texts, `string_contains` looks for `value` in the text, and
    `array_contains` in a list. `negate` inverts the result, so that records without the key match too.
    """

    key: str
    value: str
    kind: Literal["metadata", "array_contains", "string_contains"] = "metadata"
    negate: bool = False
    ignore_case: bool = False


@dataclass(frozen=True)
class Comparison:
    """A numeric condition on one key of a record's metadata; it fails for values that are not numbers."""

    key: str
    operator: Operator
    value: float


@dataclass(frozen=True)
class Group:
    """A group of filters: if `every`, all parts must match (true without parts), else at least one."""

    every: bool
    parts: tuple[Filter, ...]


Filter = Condition | Comparison | Group


def text_of(value: str | bool | int | float) -> str:
    """Return a value as the text that conditions compare: a number as in JSON, without a zero fraction.

    >>> text_of(5.0), text_of(True), text_of("5.0")
    ('5', 'true', '5.0')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e16:
        return str(int(value))
    return value if isinstance(value, str) else repr(value)


def number_of(value: object) -> float | None:
    """Return a number or a numeric text as a float, or None for any other value, such as a boolean.

    >>> number_of(" 2.5e3 "), number_of("2,500"), number_of(True)
    (2500.0, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        return None
    try:
        number = float(value)
    except OverflowError:  # a whole number of more than 308 digits
        return None
    return number + 0.0 if math.isfinite(number) else None  # + 0.0 turns -0 into 0


def matches(condition: Filter, metadata: Mapping[str, Any]) -> bool:
    """Return True if a record with this metadata matches a filter.

    >>> matches(Condition("lang", "GO", ignore_case=True), {"lang": "go"})
    True
    """
    if isinstance(condition, Group):
        return (all if condition.every else any)(matches(part, metadata) for part in condition.parts)
    stored = metadata.get(condition.key)
    if isinstance(condition, Comparison):
        number = number_of(stored)
        return number is not None and bool(_COMPARE[condition.operator](number, condition.value))
    return _matches_value(condition, stored) is not condition.negate


def _matches_value(condition: Condition, stored: Any) -> bool:
    fold = str.casefold if condition.ignore_case else str
    value = fold(condition.value)
    if condition.kind == "array_contains":
        return isinstance(stored, list) and value in map(fold, stored)
    if stored is None or isinstance(stored, list):
        return False
    text = fold(text_of(stored))
    return value in text if condition.kind == "string_contains" else value == text


def parse_filter(value: Any) -> Filter:
    """Parse a caller's filter, which may be JSON text.

    Raises:
        ValueError: the filter has another form; the message says where in the tree.
    """
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise ValueError('must be JSON such as {"AND": [{"key": "status", "value": "open"}]}') from None
    if value == {}:  # from a program that has no condition
        return Group(every=True, parts=())
    return _parse_node(value, "", 1, count(1))


def _parse_node(node: Any, place: str, depth: int, condition_counter: Iterator[int]) -> Filter:
    """Parse one node of a filter at `place`; `condition_counter` counts the conditions of the tree."""
    if not isinstance(node, Mapping):
        raise ValueError(f"{place or 'the filter'} must be an object with AND, OR, or key and value")
    if "AND" not in node and "OR" not in node:
        if next(condition_counter) > MOST:
            raise ValueError(f"has more than {MOST} conditions; leave some out")
        return _parse_condition(node, place)
    if len(node) > 1:
        where = place or "the filter"
        raise ValueError(
            f"{where} must have either AND or OR and nothing else; put one group inside the other"
        )
    ((name, parts),) = node.items()
    group_place = f"{place}.{name}" if place else name
    if depth > DEEPEST:
        raise ValueError(f"{group_place} is nested more than {DEEPEST} levels deep; make the tree flatter")
    if not isinstance(parts, list | tuple):
        raise ValueError(f"{group_place} must be a list of conditions")
    if name == "OR" and not parts:
        raise ValueError(
            f"{group_place} is empty and would find nothing; give it a condition or leave it out"
        )
    filters = (
        _parse_node(part, f"{group_place}[{index}]", depth + 1, condition_counter)
        for index, part in enumerate(parts)
    )
    return Group(name == "AND", tuple(filters))


def _parse_condition(node: Mapping[str, Any], place: str) -> Condition | Comparison:
    prefix = f"{place}." if place else ""
    if unknown := [str(name) for name in node if name not in _HTTP_NAMES]:
        names = ", ".join(_FIELDS)
        raise ValueError(f"{prefix}{unknown[0][:60]!r} is unknown; a condition has {names}")
    fields = {_HTTP_NAMES[name]: value for name, value in node.items() if value is not None}
    key, value = _checked_key(fields.get("key"), prefix), _checked_value(fields.get("value"), prefix)
    kind = fields.get("filterType", "numeric" if "numericOperator" in fields else "metadata")
    if kind not in get_args(Kind):
        kinds = ", ".join(get_args(Kind))
        raise ValueError(f"{prefix}filterType must be one of {kinds}, not {str(kind)[:60]!r}")
    negate = _checked_flag(fields.get("negate", False), f"{prefix}negate")
    ignore_case = _checked_flag(fields.get("ignoreCase", False), f"{prefix}ignoreCase")
    if kind == "numeric":
        return _comparison(key, value, fields.get("numericOperator", "="), negate, prefix)
    if "numericOperator" in fields:
        raise ValueError(f'{prefix}numericOperator needs filterType "numeric", not {kind!r}')
    if kind == "string_contains" and not text_of(value):
        raise ValueError(f"{prefix}value is empty, which every text contains; give some text")
    return Condition(key, text_of(value), kind, negate, ignore_case)


def _comparison(key: str, value: str | float, operator: Any, negate: bool, prefix: str) -> Comparison:
    if operator not in get_args(Operator):
        options = " ".join(get_args(Operator))
        raise ValueError(f"{prefix}numericOperator must be one of {options}, not {str(operator)[:60]!r}")
    number = number_of(value)
    if number is None:
        shown = str(value)[:60]
        raise ValueError(f"{prefix}value must be a finite number for a numeric condition, not {shown!r}")
    return Comparison(key, _OPPOSITE[operator] if negate else operator, number)


def _checked_key(key: Any, prefix: str) -> str:
    if not isinstance(key, str) or not key or len(key) > LONGEST_KEY or not _is_text(key):
        description = f"the name of a metadata value, a text of 1 to {LONGEST_KEY} characters"
        raise ValueError(f"{prefix}key must be {description}")
    return key


def _checked_value(value: Any, prefix: str) -> str | float:
    if not isinstance(value, str | int | float) or (isinstance(value, float) and not math.isfinite(value)):
        raise ValueError(f"{prefix}value must be a text, a number, or true or false")
    if isinstance(value, str) and (len(value) > LONGEST_VALUE or not _is_text(value)):
        raise ValueError(f"{prefix}value must be a text of at most {LONGEST_VALUE:,} characters")
    return value


def _is_text(value: str) -> bool:
    return "\x00" not in value and not any("\ud800" <= character <= "\udfff" for character in value)


def _checked_flag(value: Any, name: str) -> bool:
    if value in (True, "true"):
        return True
    if value in (False, "false"):
        return False
    raise ValueError(f"{name} must be true or false, not {str(value)[:60]!r}")


Filters = Annotated[Filter, PlainValidator(parse_filter), WithJsonSchema({"type": "object"})]
