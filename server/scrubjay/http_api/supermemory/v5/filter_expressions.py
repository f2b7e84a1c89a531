"""Filters in the form of supermemory v5, which become the tree of `models.filters`.

{"field": "priority", "operator": "gte", "value": 3}
{"operator": "and", "operands": [{"field": "source", "operator": "eq", "value": "slack"}, ...]}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from scrubjay.models.fields import Count, Flag, Real
from scrubjay.models.filters import Comparison, Condition, Filter, Group, Operator, text_of

DEEPEST = 5  # groups inside each other
WIDEST = 200  # operands of one group
MOST = 1_000  # predicates of one filter; without this limit, a filter could have 200 to the power of 5
LONGEST_FIELD, LONGEST_VALUE = 200, 10_000  # characters; metadata has the same limits
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

Value = Annotated[str, Field(max_length=LONGEST_VALUE, pattern=r"^[^\x00]*$")]
CaseSensitive = Annotated[Flag, Field(alias="caseSensitive")]


def _scalar(value: Any) -> Any:
    """Refuse a list, an object or null with one sentence; a union writes one for each of its types."""
    if not isinstance(value, str | int | float):
        raise ValueError("must be a text, a number, or true or false")
    return value


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Predicate(_Part):
    field: str = Field(min_length=1, max_length=LONGEST_FIELD, pattern="^[a-zA-Z0-9_.-]+$")


class Equality(_Predicate):
    operator: Literal["eq", "neq"]
    value: Annotated[Flag | Count | Real | Value, BeforeValidator(_scalar)]
    case_sensitive: CaseSensitive = True


class Order(_Predicate):
    operator: Literal["gt", "gte", "lt", "lte"]
    value: Real


class Containment(_Predicate):
    operator: Literal["contains", "notContains", "arrayContains", "arrayNotContains"]
    value: Annotated[Value, Field(min_length=1)]
    case_sensitive: CaseSensitive = True


class Operands(_Part):
    operator: Literal["and", "or"]
    operands: list[Expression] = Field(min_length=1, max_length=WIDEST)


Expression = Annotated[Equality | Order | Containment | Operands, Field(discriminator="operator")]
EVERYTHING = Operands.model_construct(operator="and", operands=[])


def _as_filter(expression: Expression) -> Filter:
    """Return the filter of the engine; negated predicates also match a record without the field."""
    if isinstance(expression, Operands):
        return Group(expression.operator == "and", tuple(map(_as_filter, expression.operands)))
    if isinstance(expression, Order):
        return Comparison(expression.field, _COMPARE[expression.operator], expression.value)
    kind, negate = _MATCH[expression.operator]
    ignore_case = not expression.case_sensitive
    return Condition(expression.field, text_of(expression.value), kind, negate, ignore_case)


def _checked_filter(expression: Expression) -> Filter:
    condition = _as_filter(expression)
    depth, predicates = _size(condition)
    if depth > DEEPEST:
        raise ValueError(f"is nested more than {DEEPEST} levels deep; make the tree flatter")
    if predicates > MOST:
        raise ValueError(f"has more than {MOST:,} predicates; leave some out")
    return condition


def _size(part: Filter) -> tuple[int, int]:
    """Return how many groups are nested in a filter, and its number of predicates."""
    if not isinstance(part, Group):
        return 0, 1
    depths, counts = zip(*map(_size, part.parts), strict=True) if part.parts else ((0,), (0,))
    return 1 + max(depths), sum(counts)


def _allow_none(schema: dict[str, Any]) -> None:
    schema["oneOf"].append({"type": "object", "maxProperties": 0, "description": "No predicate."})


if TYPE_CHECKING:
    FilterExpression = Filter  # the result of the validation
else:
    FilterExpression = Annotated[
        Expression,
        BeforeValidator(lambda value: EVERYTHING if value == {} else value),
        AfterValidator(_checked_filter),
        Field(
            description="One predicate, or a group of filters under and / or, or {} for none; "
            f"{MOST:,} predicates and {DEEPEST} nested groups at most.",
            json_schema_extra=_allow_none,
        ),
    ]
