"""Filters in the form of v5: the meaning of each operator, what is refused and where, and that the schema
agrees.
"""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from scrubjay.http_api.supermemory.v5.filter_expressions import (
    DEEPEST,
    MOST,
    WIDEST,
    FilterExpression,
    parse_expression,
)
from scrubjay.models.filters import matches
from scrubjay.store import facets
from scrubjay.store.store import Store

ROW = {"lang": "Go", "year": 2024, "done": True, "tags": ["db", "API"], "a.b": "dotted"}
SCHEMA = TypeAdapter(FilterExpression).json_schema()


def predicate(operator: str, value: Any, field: str = "lang", **more: Any) -> dict[str, Any]:
    return {"field": field, "operator": operator, "value": value, **more}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (predicate("eq", "Go"), True),
        (predicate("eq", "go"), False),
        (predicate("eq", "go", caseSensitive=False), True),
        (predicate("neq", "go"), True),
        (predicate("neq", "go", caseSensitive=False), False),
        (predicate("eq", 2024, "year"), True),
        (predicate("eq", 2024.0, "year"), True),
        (predicate("neq", 2024, "year"), False),
        (predicate("eq", True, "done"), True),
        (predicate("eq", False, "done"), False),
        (predicate("gt", 2023, "year"), True),
        (predicate("gte", 2024, "year"), True),
        (predicate("lt", 2024, "year"), False),
        (predicate("lte", 2024, "year"), True),
        (predicate("contains", "o"), True),
        (predicate("contains", "O"), False),
        (predicate("contains", "O", caseSensitive=False), True),
        (predicate("notContains", "x"), True),
        (predicate("arrayContains", "db", "tags"), True),
        (predicate("arrayContains", "api", "tags"), False),
        (predicate("arrayNotContains", "web", "tags"), True),
        (predicate("eq", "dotted", "a.b"), True),
        (predicate("gt", 0, "missing"), False),
        (predicate("eq", "x", "missing"), False),
        (predicate("neq", "x", "missing"), True),
        (predicate("neq", 5, "missing"), True),
        (predicate("notContains", "x", "missing"), True),
        (predicate("arrayNotContains", "x", "missing"), True),
        ({"operator": "and", "operands": [predicate("eq", "Go"), predicate("gt", 2030, "year")]}, False),
        ({"operator": "or", "operands": [predicate("eq", "Go"), predicate("gt", 2030, "year")]}, True),
    ],
)
def test_every_operator_means_what_its_name_says(given: dict[str, Any], kept: bool) -> None:
    assert matches(parse_expression(given), ROW) is kept
    jsonschema.validate(given, SCHEMA)


def nested(levels: int) -> dict[str, Any]:
    tree = predicate("eq", "Go")
    for _ in range(levels):
        tree = {"operator": "and", "operands": [tree]}
    return tree


def wide(operands: int) -> dict[str, Any]:
    return {"operator": "or", "operands": [predicate("eq", "Go")] * operands}


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ([], "must be an object"),
        ({"AND": [{"key": "lang", "value": "Go"}]}, "'AND' is not known"),
        ({"operator": "and", "operands": [{}]}, "field must be"),
        (predicate("eq", "Go", "no space"), "field must be"),
        (predicate("eq", "Go", ""), "field must be"),
        (predicate("is", "Go"), "operator must be one of eq, neq"),
        (predicate("gt", "5"), "value must be a finite number"),
        (predicate("gt", True), "value must be a finite number"),
        (predicate("gt", 5, caseSensitive=True), "no letter case"),
        (predicate("eq", None), "value must be a text"),
        (predicate("eq", ["Go"]), "value must be a text"),
        (predicate("contains", ""), "every text contains that"),
        (predicate("contains", 5), "must be a text"),
        (predicate("arrayContains", "x", caseSensitive=False), "caseSensitive belongs to"),
        (predicate("eq", 5, caseSensitive=False), "caseSensitive belongs to"),
        (predicate("eq", "Go", caseSensitive="yes"), "must be true or false"),
        (predicate("eq", "Go", negate=True), "'negate' is not known"),
        ({"operator": "and", "operands": []}, "operands must be a list of 1 to 200"),
        ({"operator": "not", "operands": [predicate("eq", "Go")]}, "operator must be and or or"),
        (
            {"operator": "or", "operands": [predicate("eq", "Go"), {"operator": "and", "operands": [5]}]},
            r"operands\[1\].operands\[0\]",
        ),
        (nested(DEEPEST + 1), "more than 5 levels"),
        (wide(WIDEST + 1), "1 to 200"),
    ],
)
def test_an_invalid_expression_is_refused_with_its_location(wrong: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse_expression(wrong)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, SCHEMA)


def test_the_deepest_and_widest_allowed_expressions_are_accepted() -> None:
    for allowed in (nested(DEEPEST), wide(WIDEST)):
        assert matches(parse_expression(allowed), ROW)
        jsonschema.validate(allowed, SCHEMA)


def test_a_tree_of_too_many_predicates_is_refused() -> None:
    with pytest.raises(ValueError, match="more than 1,000 predicates"):
        parse_expression({"operator": "and", "operands": [wide(WIDEST)] * (MOST // WIDEST + 1)})


async def test_a_search_carries_as_many_predicates_as_are_allowed(store: Store) -> None:
    tree = parse_expression({"operator": "and", "operands": [wide(WIDEST)] * (MOST // WIDEST)})
    assert await store.passages.select(facets.where(tree)) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda part: (
        st.lists(part, max_size=3)
        | st.dictionaries(st.sampled_from(["field", "operator", "value", "operands"]), part)
    ),
    max_leaves=8,
)


@given(JSON)
def test_any_expression_is_read_or_refused(value: Any) -> None:
    try:
        parse_expression(value)
    except ValueError as error:
        assert str(error)
