"""A caller's filter in the form of supermemory v5, as the tree of `models.filters`.

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
MOST = 1_000  # predicates of one filter; the form allows 200 to the fifth, which no search could carry
LONGEST_FIELD, LONGEST_VALUE = 200, 10_000  # characters, as of metadata
_FIELD = re.compile(r"[a-zA-Z0-9_.-]+")
_COMPARE: dict[str, Operator] = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_Kind = Literal["metadata", "string_contains", "array_contains"]
_MATCH: dict[str, tuple[_Kind, bool]] = {  # operator -> (what is compared, whether it must not hold)
    "eq": ("metadata", False),
    "neq": ("metadata", True),
    "contains": ("string_contains", False),
    "notContains": ("string_contains", True),
    "arrayContains": ("array_contains", False),
    "arrayNotContains": ("array_contains", True),
}
_OPERATORS = (*_MATCH, *_COMPARE)


def parse_expression(given: Any) -> Filter:
    """Parse a caller's filter.

    `neq`, `notContains` and `arrayNotContains` also hold of a record without the field.

    Raises:
        ValueError: it is not of the form; says where in the tree.
    """
    return _parse(given, "", 1, count(1))


def _parse(given: Any, path: str, depth: int, numbers: Iterator[int]) -> Filter:
    """Parse the part of a filter at `path`; each predicate of the whole filter takes one of `numbers`."""
    if not isinstance(given, Mapping):
        form = "an object with field, operator and value, or with operator and operands"
        raise ValueError(f"{path or 'the filter'} must be {form}")
    where = f"{path}." if path else ""
    if "operands" in given or given.get("operator") in ("and", "or"):
        return _group(given, where, depth, numbers)
    if next(numbers) > MOST:
        raise ValueError(f"has more than {MOST:,} predicates; leave some out")
    return _predicate(given, where)


def _group(given: Mapping[str, Any], where: str, depth: int, numbers: Iterator[int]) -> Group:
    _only(given, ("operator", "operands"), where)
    operator, operands = given.get("operator"), given.get("operands")
    if operator not in ("and", "or"):
        found = str(operator)[:60]
        raise ValueError(f"{where}operator must be and or or where there are operands, not {found!r}")
    if depth > DEEPEST:
        raise ValueError(f"{where}operands is nested more than {DEEPEST} levels deep; make the tree flatter")
    if not isinstance(operands, list) or not 1 <= len(operands) <= WIDEST:
        raise ValueError(f"{where}operands must be a list of 1 to {WIDEST} filters")
    parts = (
        _parse(part, f"{where}operands[{number}]", depth + 1, numbers) for number, part in enumerate(operands)
    )
    return Group(operator == "and", tuple(parts))


def _predicate(given: Mapping[str, Any], where: str) -> Condition | Comparison:
    _only(given, ("field", "operator", "value", "caseSensitive"), where)
    field, operator, value = given.get("field"), given.get("operator"), given.get("value")
    if not isinstance(field, str) or len(field) > LONGEST_FIELD or not _FIELD.fullmatch(field):
        rule = f"1 to {LONGEST_FIELD} letters, digits or _ . -"
        raise ValueError(f"{where}field must be the name of a metadata value: {rule}")
    if not isinstance(operator, str) or operator not in _OPERATORS:
        known = ", ".join(_OPERATORS)
        raise ValueError(f"{where}operator must be one of {known}, not {str(operator)[:60]!r}")
    if operator in _COMPARE:
        return Comparison(field, _COMPARE[operator], _number(given, value, f"{where}value"))
    text = _text(operator, value, f"{where}value")
    kind, negate = _MATCH[operator]
    sensitive = _case_sensitive(given, operator, value, where)
    return Condition(field, text, kind, negate, ignore_case=not sensitive)


def _number(given: Mapping[str, Any], value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not _finite(value):
        raise ValueError(f"{where} must be a finite number for {given['operator']}, not {str(value)[:60]!r}")
    if "caseSensitive" in given:
        raise ValueError(f"{where} is a number, which has no letter case; leave caseSensitive out")
    return float(value)


def _finite(value: int | float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number of more than 308 digits
        return False


def _text(operator: str, value: Any, where: str) -> str:
    if operator in ("eq", "neq") and isinstance(value, bool | int | float):
        if not _finite(value):
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


def _case_sensitive(given: Mapping[str, Any], operator: str, value: Any, where: str) -> bool:
    if "caseSensitive" not in given:
        return True
    if operator.startswith("array") or not isinstance(value, str):
        owners = "eq, neq, contains and notContains of a text"
        raise ValueError(f"{where}caseSensitive belongs to {owners}; leave it out")
    if not isinstance(given["caseSensitive"], bool):
        raise ValueError(
            f"{where}caseSensitive must be true or false, not {str(given['caseSensitive'])[:60]!r}"
        )
    return given["caseSensitive"]


def _only(given: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    if unknown := [name for name in given if name not in known]:
        raise ValueError(f"{where}{str(unknown[0])[:60]!r} is not known here; there are {', '.join(known)}")


def _schema() -> dict[str, Any]:
    """The form as JSON Schema: predicates, and groups of them."""
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
        _object(
            {"field": field, "operator": {"enum": list(names)}, "value": value},
            {"caseSensitive": {"type": "boolean"}} if cased else {},
        )
        for names, value, cased in forms
    ]
    expressions = predicates
    for _ in range(DEEPEST):  # written out, so that it says how deep groups may nest
        operands = {"type": "array", "minItems": 1, "maxItems": WIDEST, "items": {"anyOf": expressions}}
        expressions = [*predicates, _object({"operator": {"enum": ["and", "or"]}, "operands": operands}, {})]
    return {
        "anyOf": expressions,
        "description": f"One predicate, or a group of filters under and / or; {MOST:,} predicates at most.",
    }


def _object(required: dict[str, Any], optional: dict[str, Any]) -> dict[str, Any]:
    properties = {**required, **optional}
    closed = {"type": "object", "additionalProperties": False}
    return {**closed, "properties": properties, "required": list(required)}


FilterExpression = Annotated[Filter, PlainValidator(parse_expression), WithJsonSchema(_schema())]
