"""Parses filters in the form of supermemory v5 into the tree of `models.filters`.

{"field": "priority", "operator": "gte", "value": 3}
{"operator": "and", "operands": [{"field": "source", "operator": "eq", "value": "slack"}, ...]}
"""

import math
import re
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Annotated, Any, Literal

from pydantic import PlainValidator, WithJsonSchema

from scrubjay.models.filters import Comparison, Condition, Filter, Group, Operator, text_of

DEEPEST = 5  # groups inside each other
WIDEST = 200  # operands of one group
MOST = 1_000  # predicates of one filter; without this limit, a filter could have 200 to the power of 5
LONGEST_FIELD, LONGEST_VALUE = 200, 10_000  # characters; metadata has the same limits
_FIELD = re.compile(r"[a-zA-Z0-9_.-]+")
_COMPARE: dict[str, Operator] = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_Kind = Literal["metadata", "string_contains", "array_contains"]
_MATCH: dict[str, tuple[_Kind, bool]] = {  # operator -> (kind of comparison, is negated)
    "eq": ("metadata", False),
    "neq": ("metadata", True),
    "contains": ("string_contains", False),
    "notContains": ("string_contains", True),
    "arrayContains": ("array_contains", False),
    "arrayNotContains": ("array_contains", True),
}
_OPERATORS = (*_MATCH, *_COMPARE)


def parse_expression(expression: Any) -> Filter:
    """Parse a caller's filter.

    `neq`, `notContains` and `arrayNotContains` also match a record without the field.

    Raises:
        ValueError: the filter is invalid; the message says where in the tree.
    """
    if expression == {}:  # from a program that has no predicate
        return Group(every=True, parts=())
    return _parse(expression, "", 1, count(1))


def _parse(expression: Any, path: str, depth: int, numbers: Iterator[int]) -> Filter:
    """Parse the part of a filter at `path`; `numbers` counts the predicates of the whole filter."""
    if not isinstance(expression, Mapping):
        form = "an object with field, operator and value, or with operator and operands"
        raise ValueError(f"{path or 'the filter'} must be {form}")
    where = f"{path}." if path else ""
    if "operands" in expression or expression.get("operator") in ("and", "or"):
        return _parse_group(expression, where, depth, numbers)
    if next(numbers) > MOST:
        raise ValueError(f"has more than {MOST:,} predicates; leave some out")
    return _parse_predicate(expression, where)


def _parse_group(expression: Mapping[str, Any], where: str, depth: int, numbers: Iterator[int]) -> Group:
    _check_keys(expression, ("operator", "operands"), where)
    operator, operands = expression.get("operator"), expression.get("operands")
    if operator not in ("and", "or"):
        shown = str(operator)[:60]
        raise ValueError(f"{where}operator must be and or or where there are operands, not {shown!r}")
    if depth > DEEPEST:
        raise ValueError(f"{where}operands is nested more than {DEEPEST} levels deep; make the tree flatter")
    if not isinstance(operands, list) or not 1 <= len(operands) <= WIDEST:
        raise ValueError(f"{where}operands must be a list of 1 to {WIDEST} filters")
    parts = (
        _parse(part, f"{where}operands[{number}]", depth + 1, numbers) for number, part in enumerate(operands)
    )
    return Group(operator == "and", tuple(parts))


def _parse_predicate(expression: Mapping[str, Any], where: str) -> Condition | Comparison:
    _check_keys(expression, ("field", "operator", "value", "caseSensitive"), where)
    field, operator, value = expression.get("field"), expression.get("operator"), expression.get("value")
    if not isinstance(field, str) or len(field) > LONGEST_FIELD or not _FIELD.fullmatch(field):
        rule = f"1 to {LONGEST_FIELD} letters, digits or _ . -"
        raise ValueError(f"{where}field must be the name of a metadata value: {rule}")
    if not isinstance(operator, str) or operator not in _OPERATORS:
        operators = ", ".join(_OPERATORS)
        raise ValueError(f"{where}operator must be one of {operators}, not {str(operator)[:60]!r}")
    if operator in _COMPARE:
        return Comparison(field, _COMPARE[operator], _number_value(expression, value, f"{where}value"))
    text = _text_value(operator, value, f"{where}value")
    kind, negate = _MATCH[operator]
    case_sensitive = _is_case_sensitive(expression, operator, value, where)
    return Condition(field, text, kind, negate, ignore_case=not case_sensitive)


def _number_value(expression: Mapping[str, Any], value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not _is_finite(value):
        raise ValueError(
            f"{where} must be a finite number for {expression['operator']}, not {str(value)[:60]!r}"
        )
    if "caseSensitive" in expression:
        raise ValueError(f"{where} is a number, which has no letter case; leave caseSensitive out")
    return float(value)


def _is_finite(value: int | float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number of more than 308 digits
        return False


def _text_value(operator: str, value: Any, where: str) -> str:
    if operator in ("eq", "neq") and isinstance(value, bool | int | float):
        if not _is_finite(value):
            raise ValueError(f"{where} must be a finite number")
        return text_of(value)
    if not isinstance(value, str):
        raise ValueError(f"{where} must be a text for {operator}, not {str(value)[:60]!r}")
    if operator in ("contains", "notContains") and not value:
        raise ValueError(f"{where} is empty, and every text contains that; give some text")
    if (
        len(value) > LONGEST_VALUE
        or "\x00" in value
        or any("\ud800" <= character <= "\udfff" for character in value)
    ):
        raise ValueError(f"{where} must be a text of at most {LONGEST_VALUE:,} characters, without NUL")
    return value


def _is_case_sensitive(expression: Mapping[str, Any], operator: str, value: Any, where: str) -> bool:
    if "caseSensitive" not in expression:
        return True
    if operator.startswith("array") or not isinstance(value, str):
        operators = "eq, neq, contains and notContains of a text"
        raise ValueError(f"{where}caseSensitive belongs to {operators}; leave it out")
    if not isinstance(expression["caseSensitive"], bool):
        raise ValueError(
            f"{where}caseSensitive must be true or false, not {str(expression['caseSensitive'])[:60]!r}"
        )
    return expression["caseSensitive"]


def _check_keys(expression: Mapping[str, Any], allowed: tuple[str, ...], where: str) -> None:
    if unknown := [name for name in expression if name not in allowed]:
        raise ValueError(f"{where}{str(unknown[0])[:60]!r} is not known here; there are {', '.join(allowed)}")


def _filter_schema() -> dict[str, Any]:
    """Return the JSON Schema of filters: predicates, and groups of them."""
    field = {"type": "string", "minLength": 1, "maxLength": LONGEST_FIELD, "pattern": f"^{_FIELD.pattern}$"}
    text = {"type": "string", "maxLength": LONGEST_VALUE}
    forms: tuple[tuple[tuple[str, ...], dict[str, Any], bool], ...] = (
        (("eq", "neq"), text, True),
        (("eq", "neq"), {"type": ["number", "boolean"]}, False),
        (tuple(_COMPARE), {"type": "number"}, False),
        (("contains", "notContains"), {**text, "minLength": 1}, True),
        (("arrayContains", "arrayNotContains"), text, False),
    )
    predicates = [
        _object_schema(
            {"field": field, "operator": {"enum": list(names)}, "value": value},
            {"caseSensitive": {"type": "boolean"}} if has_case else {},
        )
        for names, value, has_case in forms
    ]
    expressions = predicates
    for _ in range(DEEPEST):  # each level is written out, because groups may not nest deeper
        operands = {"type": "array", "minItems": 1, "maxItems": WIDEST, "items": {"anyOf": expressions}}
        expressions = [
            *predicates,
            _object_schema({"operator": {"enum": ["and", "or"]}, "operands": operands}, {}),
        ]
    return {
        "anyOf": [*expressions, _object_schema({}, {})],
        "description": "One predicate, or a group of filters under and / or, or {} for none; "
        f"{MOST:,} predicates at most.",
    }


def _object_schema(required: dict[str, Any], optional: dict[str, Any]) -> dict[str, Any]:
    properties = {**required, **optional}
    schema = {"type": "object", "additionalProperties": False}
    return {**schema, "properties": properties, "required": list(required)}


FilterExpression = Annotated[Filter, PlainValidator(parse_expression), WithJsonSchema(_filter_schema())]
