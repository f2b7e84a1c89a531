"""Filters in the form of v5: the meaning of each operator, what is refused, and that the schema agrees."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from scrubjay.http_api.supermemory.v5.filter_expressions import DEEPEST, MOST, WIDEST, FilterExpression
from scrubjay.models.filters import Filter, matches
from scrubjay.store import facets
from scrubjay.store.store import Store

ROW = {"lang": "Go", "year": 2024, "done": True, "tags": ["db", "API"], "a.b": "dotted"}
ADAPTER: TypeAdapter[Filter] = TypeAdapter(FilterExpression)
parse_expression = ADAPTER.validate_python
SCHEMA = ADAPTER.json_schema()


def predicate(operator: str, value: Any, field: str = "lang", **more: Any) -> dict[str, Any]:
    return {"field": field, "operator": operator, "value": value, **more}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (predicate("eq", "Go"), True),
        (predicate("eq", "go"), False),
        (predicate("eq", "go", caseSensitive=False), True),
        (predicate("neq", "go", caseSensitive=False), False),
        (predicate("eq", 2024.0, "year"), True),
        (predicate("neq", 2024, "year"), False),
        (predicate("eq", False, "done"), False),
        (predicate("gt", 2023, "year"), True),
        (predicate("gte", 2024, "year"), True),
        (predicate("lt", 2024, "year"), False),
        (predicate("lte", 2024, "year"), True),
        (predicate("contains", "O"), False),
        (predicate("contains", "O", caseSensitive=False), True),
        (predicate("notContains", "x"), True),
        (predicate("arrayContains", "api", "tags"), False),
        (predicate("arrayContains", "api", "tags", caseSensitive=False), True),
        (predicate("arrayNotContains", "web", "tags"), True),
        (predicate("eq", "dotted", "a.b"), True),
        (predicate("gt", 0, "missing"), False),
        (predicate("eq", "x", "missing"), False),
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
    "wrong",
    [
        {"AND": [{"key": "lang", "value": "Go"}]},
        {"operator": "and", "operands": [{}]},
        predicate("eq", "Go", "no space"),
        predicate("is", "Go"),
        predicate("gt", "5"),
        predicate("gt", 5, caseSensitive=True),
        predicate("eq", ["Go"]),
        predicate("contains", ""),
        predicate("eq", "\0"),
        predicate("eq", "Go", negate=True),
        {"operator": "and", "operands": []},
        {"operator": "or", "operands": [predicate("eq", "Go"), {"operator": "and", "operands": [5]}]},
        wide(WIDEST + 1),
    ],
)
def test_an_invalid_expression_is_refused(wrong: Any) -> None:
    with pytest.raises(ValidationError):
        parse_expression(wrong)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, SCHEMA)


def test_the_deepest_and_widest_allowed_expressions_are_accepted() -> None:
    for allowed in (nested(DEEPEST), wide(WIDEST)):
        assert matches(parse_expression(allowed), ROW)
        jsonschema.validate(allowed, SCHEMA)


def test_a_tree_that_is_too_deep_or_has_too_many_predicates_is_refused() -> None:
    many = {"operator": "and", "operands": [wide(WIDEST)] * (MOST // WIDEST + 1)}
    for tree, words in (
        (many, "1,000 predicates"),
        (nested(DEEPEST + 1), "5 levels"),
        (nested(500), "depth"),
    ):
        with pytest.raises(ValidationError, match=f"more than {words}|maximum validation {words}"):
            parse_expression(tree)


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
    except ValidationError as error:
        assert error.errors()
