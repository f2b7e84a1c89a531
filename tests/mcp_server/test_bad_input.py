"""Every argument of every tool with invalid values: one clear sentence that names it, and nothing is written."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from asked import call as ask
from asked import refusal
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client
from said import SCOPE

from scrubjay.engine.engine import Engine
from scrubjay.errors import InputError
from scrubjay.home import spool
from scrubjay.mcp_server.calls import call
from scrubjay.mcp_server.catalog import OFFERS, Offer
from scrubjay.models.records import Document, Memory, Turn
from scrubjay.models.requests import Request, parse

pytestmark = pytest.mark.long

NEEDED: dict[str, dict[str, Any]] = {
    "search_memories": {"query": "zebra"},
    "search_documents": {"query": "zebra"},
    "add_memory": {"content": "A zebra."},
    "record_turn": {"session_id": "s", "user": "A zebra."},
    "add_document": {"content": "A zebra."},
    "forget": {"id": "mem_1"},
}
SQL = """'); DROP TABLE turns; -- " ' \\' OR 1=1 /* % _ */ `x` ${y} {z}"""
MEGABYTE = "x" * 1_000_001

LONG = "x" * (10 * 1024 * 1024 + 1)
FLAT = [{"a": None}, {"a": {"b": 1}}, {"a": [1]}, {"a": math.nan}, {"a": -math.inf}, {"a": 10**400}]
KEYS = [{"": 1}, {"k\x00": 1}, {"k\ud800": 1}, {MEGABYTE: 1}, {str(n): 1 for n in range(101)}]

BAD: dict[str, list[Any]] = {  # type of an argument in its schema -> values that are invalid for that type
    "string": [7, True, 1.5, ["x"], {"x": "y"}, "", " \n\t", "a\x00b", "a\ud800b", LONG],
    "integer": ["1", True, 1.5, math.nan, [], -1, 10**12, 10**400],
    "number": ["1", True, math.nan, math.inf, [], -0.001, 10**12, -(10**400)],
    "boolean": ["true", 0, 1, [], {}],
    "array": [
        *("x", 1, {"x": 1}, [1], [""], [None], [["x"]]),
        *(["a\x00b"], ["a\ud800b"], [MEGABYTE], ["x"] * 201),
    ],
    "object": ["x", 1, [], *FLAT, {"a": MEGABYTE}, {"a": "\x00"}, {"a": ["\ud800"]}, *KEYS],
}
FOREIGN = [
    "pydantic",
    "http",
    "Traceback",
    "validation",
    "nput should",
    "unable to",
    "NoneType",
    "str_",
    "^[",
]


async def sentence(engine: Engine, tool: str, **arguments: Any) -> str:
    """The error of this call: one line, valid as text, in our words."""
    answer = await call(engine, tool, arguments)
    text = answer["content"][0]["text"]
    assert answer["isError"], (tool, {name: str(value)[:80] for name, value in arguments.items()})
    assert text.encode() and "\n" not in text and len(text) < 700 and text.endswith(".")
    assert not [word for word in FOREIGN if word in text], text
    return text


async def nothing_written(engine: Engine) -> bool:
    core = await engine.core()
    counts = [await core.store.count(kind) for kind in (Turn, Memory, Document)]
    staged = any(map(core.store.staged, (Turn, Memory, Document)))
    return counts == [0, 0, 0] and not staged and spool.pending(engine.home) == []


def types(request: type[Request]) -> dict[str, str]:
    """The type of each argument that a request may have, whether the tool's schema shows it or not."""
    schema = request.model_json_schema()
    forms = {name: field.get("anyOf", [field])[0] for name, field in schema["properties"].items()}
    known = {
        name: schema["$defs"][form["$ref"].rpartition("/")[2]] if "$ref" in form else form
        for name, form in forms.items()
    }
    return {name: form["type"] for name, form in known.items()}


@pytest.mark.parametrize("offer", OFFERS, ids=lambda offer: offer.name)
@pytest.mark.parametrize("place", ["at the top", "in options"])
async def test_an_invalid_argument_is_refused_with_a_sentence_that_names_it(
    engine: Engine, offer: Offer, place: str
):
    for name, kind in types(offer.request).items():
        for value in BAD[kind]:
            needed = {each: given for each, given in NEEDED[offer.name].items() if each != name}
            wrong = {name: value} if place == "at the top" else {"options": {name: value}}
            assert (await sentence(engine, offer.name, **needed, **wrong)).startswith(name)
    assert await nothing_written(engine)


@pytest.mark.parametrize("tool", NEEDED)
async def test_options_are_an_object_of_arguments_not_given_elsewhere(engine: Engine, tool: str):
    for value in ("x", 1, True, [], [{}]):
        assert (await sentence(engine, tool, **NEEDED[tool], options=value)).startswith("options = ")
    for name, value in NEEDED[tool].items():
        twice = await sentence(engine, tool, **NEEDED[tool], options={name: value})
        assert twice == f"{name} is given both in options and outside; give it once."
    unknown = await sentence(engine, tool, **NEEDED[tool], options={"topK": 1})
    assert "is not an argument here; known arguments: " in unknown
    assert await nothing_written(engine)


# By tool: arguments, and how the error begins.
ERRORS = json.loads(
    Path(__file__).with_name("errors.json").read_text(encoding="utf-8").replace("{long}", "x" * 10_001)
)


@pytest.mark.parametrize("tool", ERRORS)
async def test_the_error_says_what_is_allowed(engine: Engine, tool: str):
    for arguments, says in ERRORS[tool]:
        assert (await sentence(engine, tool, **{**NEEDED[tool], **arguments})).startswith(says)
    assert await nothing_written(engine)


@pytest.mark.parametrize("offer", OFFERS, ids=lambda offer: offer.name)
async def test_an_argument_that_is_null_counts_as_left_out(engine: Engine, offer: Offer):
    for name in offer.request.model_fields.keys() - NEEDED[offer.name].keys():
        for arguments in ({name: None}, {"options": {name: None}}):
            assert parse(offer.request, NEEDED[offer.name] | {name: None})
            answer = await call(engine, offer.name, NEEDED[offer.name] | arguments)
            assert not answer["isError"] or offer.name == "forget", answer  # there is no mem_1


async def test_a_whole_number_may_be_written_with_a_decimal_point(engine: Engine):
    found = parse(OFFERS[0].request, {"query": "zebra", "top_k": 3.0, "prev_turns": 0.0})
    assert (found.top_k, found.prev_turns) == (3, 0)


@pytest.mark.parametrize("tool", NEEDED)
async def test_an_unknown_argument_is_refused_and_the_known_ones_are_listed(engine: Engine, tool: str):
    for name in ("topK", "user_id", "", "a\x00b", "a\ud800b", "__class__", "x" * 10_000, SQL):
        text = await sentence(engine, tool, **{**NEEDED[tool], name: 1})
        assert "is not an argument here; known arguments: " in text, text
    assert await nothing_written(engine)


async def test_an_unknown_id_or_one_of_another_kind_is_refused_and_changes_nothing(
    client: Client, engine: Engine
):
    turn, _ = await ask(client, "record_turn", session_id="s-1", user="A zebra.")
    fact, _ = await ask(client, "add_memory", content="A zebra.")
    document, _ = await ask(client, "add_document", content="A zebra.", custom_id="guide")
    addresses = [f"scrubjay://turn/{turn['id']}", turn["id"].upper()]
    for id in ("s-1", "../../etc/passwd", "turn_0", "guide", SQL, "*", "%", *addresses):
        assert (await refusal(client, "forget", id=id)).startswith("There is no record with the id")
    for id in (turn["id"], fact["id"], "/etc/passwd", "doc_0", SQL, "%"):
        said = await refusal(client, "search_documents", query="zebra", doc_id=id)
        assert said.startswith("There is no document with the id or custom_id")
    for id in (document["id"], "guide"):
        assert (await ask(client, "search_documents", query="zebra", doc_id=id))[0]["total"] == 1
    assert (await ask(client, "search_memories", query="zebra", search_mode="hybrid"))[0]["total"] == 3


async def test_quotes_and_sql_in_any_text_are_plain_text(client: Client, engine: Engine):
    await ask(client, "record_turn", session_id="other", user="A zebra.")
    names = {"prompt_id": SQL, "tools": [SQL], "files": [SQL], "metadata": {SQL: [SQL]}}
    turn, _ = await ask(client, "record_turn", session_id=SQL, user=SQL, assistant=SQL, **names)
    spoken, _ = await ask(client, "record_turn", session_id=SQL, text=SQL, role=SQL, summary=SQL)
    fact, _ = await ask(client, "add_memory", content=SQL, metadata={"session_id": SQL, "it's": SQL})
    about = {"title": SQL, "custom_id": SQL, "metadata": {SQL: SQL}}
    document, _ = await ask(client, "add_document", content=SQL, **about)
    assert (await ask(client, "record_turn", session_id=SQL, user=SQL, prompt_id=SQL))[0]["id"] == turn["id"]
    assert (await ask(client, "add_memory", content=SQL))[0]["action"] == "known"
    found, _ = await ask(client, "search_memories", query=SQL, search_mode="hybrid", top_k=20, prev_turns=1)
    of_session = {turn["id"], spoken["id"], fact["id"]}
    assert {hit["id"] for hit in found["results"] + found["related"]} >= of_session | {document["id"]}
    found, _ = await ask(client, "search_memories", query="drop table", session_id=SQL, top_k=9)
    assert {hit["id"] for hit in found["results"]} == of_session
    found, _ = await ask(client, "search_documents", query=SQL, doc_id=SQL)
    assert found["results"][0]["document_id"] == document["id"]
    core = await engine.core()
    kept = await core.lists.find(turn["id"])
    assert (kept.session_id, kept.user, kept.assistant, kept.prompt_id) == (SQL,) * 4
    assert (kept.tools, kept.files, kept.metadata, kept.scope) == ((SQL,), (SQL,), {SQL: [SQL]}, SCOPE)
    await ask(client, "forget", id=turn["id"], reason=SQL)
    assert (await core.lists.find(turn["id"])).forget_reason == SQL
    await core.store.flush()
    assert await core.store.count(Turn) == 3


_LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters())
JSON = st.recursive(_LEAVES, lambda of: st.lists(of) | st.dictionaries(st.text(), of))


@given(st.data())
def test_any_arguments_become_a_request_or_an_error(data: st.DataObject):
    offer = data.draw(st.sampled_from(OFFERS))
    names = st.sampled_from([*offer.request.model_fields]) | st.text(st.characters())
    try:
        parse(offer.request, data.draw(st.dictionaries(names, JSON)))
    except InputError as error:
        assert str(error).encode() and str(error).endswith(".")
