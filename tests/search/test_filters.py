"""Filters: valid forms, what is refused and where, and that the index answers exactly as plain Python would."""

from __future__ import annotations

import json
from typing import Any

import pytest
import said
from hypothesis import given, settings
from hypothesis import strategies as st

from scrubjay.engine.core import Core
from scrubjay.errors import InputError
from scrubjay.models.filters import DEEPEST, MOST, Comparison, Condition, Filter, Group, matches, parse_filter
from scrubjay.models.filters import text_of as number_text
from scrubjay.models.requests import SearchDocuments, SearchMemories, parse
from scrubjay.store import facets
from scrubjay.store.store import Store

OPERATORS = (">", "<", ">=", "<=", "=", "!=")

# Few names and values, so that they coincide, with any text that could break SQL, JSON or the form of
# facets.
TEXTS = st.sampled_from(
    [*"a A ab 5 5.0 1e3 true it's \\ %_ =k :a STRASSE straße".split(), "", " 7 ", 'say "x"', "x' OR 1=1 --"]
)
KEYS = st.sampled_from(["k", "n", "a.b", "it's", '"', "=k", "#n", "K"])
NUMBERS = st.one_of(
    st.integers(-3, 3), st.sampled_from([0.0, -0.0, 2.5, 5.0, 5, 1000, 2**53, 1e22, 1e-7]), st.floats(-10, 10)
)
WORDS = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=4)
VALUES = st.one_of(TEXTS, WORDS, NUMBERS, st.booleans(), st.lists(TEXTS | WORDS, max_size=3))
METADATA = st.dictionaries(KEYS, VALUES, max_size=4)
CONDITIONS = st.builds(
    Condition,
    key=KEYS,
    value=st.one_of(TEXTS, NUMBERS.map(number_text)),
    kind=st.sampled_from(["metadata", "array_contains", "string_contains"]),
    negate=st.booleans(),
    ignore_case=st.booleans(),
).filter(lambda one: one.value or one.kind != "string_contains")  # which parse_filter refuses
COMPARISONS = st.builds(Comparison, key=KEYS, operator=st.sampled_from(OPERATORS), value=NUMBERS.map(float))
FILTERS: st.SearchStrategy[Filter] = st.recursive(
    CONDITIONS | COMPARISONS,
    lambda part: st.builds(
        Group, every=st.booleans(), parts=st.lists(part, min_size=1, max_size=3).map(tuple)
    ),
    max_leaves=6,
)


@settings(max_examples=60)
@given(rows=st.lists(METADATA, min_size=1, max_size=12), filters=st.lists(FILTERS, min_size=1, max_size=8))
async def test_the_index_answers_a_filter_as_plain_python_would(
    store: Store, rows: list[dict[str, Any]], filters: list[Filter]
) -> None:
    table = store.tables.passages
    await table.delete("true")
    columns = {
        "id": [str(number) for number in range(len(rows))],
        "facets": [facets.facets(row) for row in rows],
    }
    schema = (await table.schema()).empty_table().select(list(columns)).schema
    await (
        table.merge_insert("id")
        .when_not_matched_insert_all()
        .execute(schema.empty_table().from_pydict(columns, schema=schema))
    )
    for tree in filters:
        kept = await table.query().where(facets.where(tree)).select(["id"]).to_arrow()
        assert sorted(kept["id"].to_pylist(), key=int) == [
            str(at) for at, row in enumerate(rows) if matches(tree, row)
        ]


def test_a_filter_is_read_from_an_object_and_from_json_text() -> None:
    numeric = {"key": "n", "value": "3", "filterType": "numeric", "numericOperator": "<"}
    given = {"AND": [{"key": "lang", "value": "go"}, {"OR": [numeric]}]}
    tree = Group(True, (Condition("lang", "go"), Group(False, (Comparison("n", "<", 3.0),))))
    assert parse_filter(given) == parse_filter(json.dumps(given)) == tree


def test_a_lone_condition_needs_no_group_and_names_of_fields_may_be_in_snake_case() -> None:
    given: dict[str, Any] = {"key": "lang", "value": "Go", "ignoreCase": "true"}
    assert parse_filter(given) == Condition("lang", "Go", ignore_case=True)
    given = {"key": "n", "value": 3, "filter_type": "numeric", "numeric_operator": ">=", "negate": True}
    assert parse_filter(given) == Comparison("n", "<", 3.0)


def test_a_negated_comparison_has_the_opposite_operator() -> None:
    given = {"key": "n", "value": "1", "filterType": "numeric", "negate": "true"}
    for operator, opposite in ((">", "<="), ("<", ">="), (">=", "<"), ("<=", ">"), ("=", "!=")):
        assert parse_filter({**given, "numericOperator": operator}) == Comparison("n", opposite, 1.0)


def nested(levels: int) -> dict[str, Any]:
    tree: dict[str, Any] = {"key": "k", "value": "v"}
    for _ in range(levels):
        tree = {"AND": [tree]}
    return tree


def test_eight_levels_and_two_hundred_conditions_are_accepted_and_more_are_refused() -> None:
    assert isinstance(parse_filter(nested(DEEPEST)), Group)
    with pytest.raises(ValueError, match="more than 8 levels"):
        parse_filter(nested(DEEPEST + 1))
    condition = {"key": "k", "value": "v"}
    assert parse_filter({"OR": [condition] * MOST})
    with pytest.raises(ValueError, match="more than 200 conditions"):
        parse_filter({"OR": [condition] * (MOST + 1)})


@pytest.mark.parametrize(
    ("given", "said_of_it"),
    [
        ("{", "must be JSON"),
        ("[" * 100_000, "must be JSON"),
        ({"AND": [{"key": "a", "value": "b"}, {"OR": [3]}]}, r"AND\[1\]\.OR\[0\] must be an object"),
        ({"AND": [], "OR": []}, "nothing else"),
        ({"OR": []}, "OR is empty"),
        ({"AND": {}}, "AND must be a list"),
        ({"AND": [{"key": "a", "value": "b", "kind": "x"}]}, r"AND\[0\]\.'kind'"),
        ({"value": "b"}, "key must be the name"),
        ({"key": "a"}, "value must be a text"),
        ({"key": "a\x00", "value": "b"}, "key must be the name"),
        ({"key": "a", "value": "b\ud800"}, "value must be a text"),
        ({"key": "a", "value": "b", "filterType": "regex"}, "filterType must be one of"),
        ({"key": "a", "value": 10**400, "filterType": "numeric"}, "finite number"),
        ({"key": "a", "value": "1", "numericOperator": "~"}, "numericOperator must be one of"),
        (
            {"key": "a", "value": "1", "filterType": "metadata", "numericOperator": ">"},
            'needs filterType "numeric"',
        ),
        ({"key": "a", "value": "", "filterType": "string_contains"}, "value is empty"),
        ({"key": "a", "value": "b", "negate": "perhaps"}, "negate must be true or false"),
    ],
)
def test_an_invalid_filter_is_refused_with_its_location(given: Any, said_of_it: str) -> None:
    with pytest.raises(ValueError, match=said_of_it):
        parse_filter(given)


@pytest.mark.parametrize("kind", [SearchMemories, SearchDocuments])
def test_a_search_that_cannot_be_filtered_as_asked_is_refused_in_one_sentence(kind: type) -> None:
    with pytest.raises(InputError, match=r"^filters = .*: AND\[0\]\.filterType must be one of .*\.$"):
        parse(kind, {"query": "x", "filters": {"AND": [{"key": "a", "value": "b", "filterType": "regex"}]}})


async def test_search_memories_returns_facts_and_turns_whose_metadata_matches(core: Core) -> None:
    await said.fact(core, "The port is 8421.", metadata={"team": "api", "year": 2024})
    await said.fact(core, "The port was 8000.", metadata={"team": "web", "year": 2023})
    await said.turn(core, "s", user="Which port?", assistant="Port 8421.", metadata={"team": "api"})
    await said.turn(core, "s", user="Why that port?", assistant="The proxy has port 8000.")
    team = {"AND": [{"key": "team", "value": "API", "ignoreCase": True}]}
    hits = await said.search(core, "port", filters=team)
    assert sorted(hit.src for hit in hits.results) == ["memory", "turn"]
    hits = await said.search(core, "port", filters={"key": "year", "value": 2024, "numericOperator": "<"})
    assert said.texts(hits) == ["The port was 8000."]


@pytest.mark.long
async def test_a_filter_finds_the_one_matching_record_among_many_better_answers(core: Core) -> None:
    await said.facts(core, (f"The deploy port of service {n} is {8000 + n}." for n in range(300)))
    await said.fact(core, "The deploy port of the last service is 9000.", metadata={"n": 299})
    given = {"key": "n", "value": "299", "filterType": "numeric"}
    hits = await said.search(core, "deploy port of service 7", filters=given)
    assert said.texts(hits) == ["The deploy port of the last service is 9000."]


async def test_a_filter_sees_changed_metadata(core: Core) -> None:
    for state in ("draft", "done"):
        text = "# Ports\n\nThe API listens on 8421."
        added = await said.document(core, text, custom_id="ports", metadata={"state": state})
    for state, ids in (("draft", []), ("done", [added.id])):
        asked = parse(SearchDocuments, {"query": "API port", "filters": {"key": "state", "value": state}})
        hits = await core.search.documents(asked, said.SCOPE)
        assert [hit.document_id for hit in hits.results] == ids
