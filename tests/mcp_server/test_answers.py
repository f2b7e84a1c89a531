"""What a model sees: the best first, within the budget, inside the fence, and nothing if there is no
answer.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from typing import Any

import pytest
from asked import call, refusal, shown, strays, text_of
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import Client
from said import SCOPE, document, embedded, fact, turn

from scrubjay.engine.caller import Caller, set_caller
from scrubjay.engine.engine import Engine
from scrubjay.mcp_server.calls import call as call_tool
from scrubjay.mcp_server.calls import compact
from scrubjay.mcp_server.catalog import OFFERS, Offer, tools
from scrubjay.mcp_server.render import CLOSING, DOUBTFUL, OPENING
from scrubjay.search import recall
from scrubjay.search.retrieval import relevance
from scrubjay.text.short_ids import short_id


def tokens(text: str) -> int:
    return math.ceil(len(text) / 4)


# The budget.

WORDS = st.sampled_from("zebra stable upload cache hours port gateway why deploy_queue \n 缓存 x".split(" "))
SAID = st.lists(WORDS, min_size=1, max_size=300).map(" ".join).filter(str.strip)
VALUES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=200)
NAMES = st.text("abcdefgh", min_size=1, max_size=80)
FACTS = st.fixed_dictionaries(
    {"content": SAID, "tags": st.lists(NAMES, max_size=40)},
    optional={"metadata": st.dictionaries(NAMES, VALUES, max_size=10)},
)
TURNS = st.fixed_dictionaries(
    {"user": SAID}, optional={"assistant": SAID, "tags": st.lists(NAMES, max_size=5)}
)
STORES = st.lists(
    st.tuples(st.just("fact"), FACTS) | st.tuples(st.just("turn"), TURNS) | st.tuples(st.just("text"), SAID),
    min_size=1,
    max_size=12,
)
FLAGS = st.fixed_dictionaries(
    {}, optional={name: st.booleans() for name in ("explain", "related_memories", "documents", "forgotten")}
)
QUESTIONS = st.fixed_dictionaries(
    {"query": st.lists(WORDS, min_size=1, max_size=6).map(" ".join).filter(str.strip)},
    optional={
        "top_k": st.integers(1, 20),
        "prev_turns": st.integers(0, 3),
        "next_turns": st.integers(0, 3),
        "search_mode": st.sampled_from(["memories", "hybrid", "documents"]),
        "include": FLAGS,
    },
)
_SCOPES = (f"repo_made_up_{number}__0123456789abcdef" for number in itertools.count())


@settings(max_examples=6)
@given(STORES, st.lists(st.tuples(QUESTIONS, st.integers(200, 3_000)), min_size=1, max_size=3))
async def test_no_answer_exceeds_its_budget_and_each_reports_what_was_rendered(
    engine: Engine, store: list[tuple[str, Any]], questions: list[tuple[dict[str, Any], int]]
):
    core, scope = await engine.core(), next(_SCOPES)
    for kind, said in store:
        if kind == "turn":
            await turn(core, "s", scope=scope, **said)
        elif kind == "fact":
            await fact(core, scope=scope, **said)
        else:
            await document(core, said, scope=scope, title="zebra " * 80)
    set_caller(Caller(scope=scope, folder=None))
    for question, budget in questions:
        asked = {**question, "max_tokens": budget}
        plain = await call_tool(engine, "search_memories", asked)
        assert not plain["isError"] and "structuredContent" not in plain
        assert tokens(plain["content"][0]["text"]) <= budget
        asked["include"] = {**question.get("include", {}), "structured": True}
        both = await call_tool(engine, "search_memories", asked)
        text, structure = both["content"][0]["text"], both["structuredContent"]
        rendered = max(tokens(text), tokens(compact(structure)))
        assert structure["tokens"]["rendered"] == rendered <= budget
        default = await call_tool(engine, "search_memories", question)
        assert tokens(default["content"][0]["text"]) <= (10_000 if "top_k" in question else 1_500)


# The order.


async def test_the_text_begins_with_the_best_hit_and_a_strong_hit_does_not_pull_in_all_others(client: Client):
    for number in range(20):
        await call(client, "record_turn", session_id=f"s{number}", user=f"Meeting {number} was about lunch.")
    best, _ = await call(client, "add_memory", content="Uploads are kept for 72 hours, then deleted.")
    found, text = await call(client, "search_memories", query="how long are uploads kept?")
    assert found["confidence"] == "strong" and found["results"][0]["id"] == best["id"]
    assert len(found["results"]) <= 8
    lines = (await shown(client, "search_memories", query="how long are uploads kept?")).splitlines()
    assert lines[0] == OPENING and text.splitlines()[1:3] == lines[1:3]
    assert short_id("memory", best["id"]) in lines[1] and lines[2].startswith("> Uploads are kept for 72")


async def test_a_record_with_the_old_value_comes_after_its_replacement_and_says_so(client: Client):
    said = {"user": "How long are uploads kept?", "assistant": "For 48 hours."}
    await call(client, "record_turn", session_id="s", ts="2026-02-01T09:00:00Z", **said)
    await call(client, "add_memory", content="Kept uploads: 48 hours, in the bucket.")
    old, _ = await call(client, "add_memory", content="Uploads are kept for 48 hours.")
    new, _ = await call(client, "add_memory", content="Uploads are kept for 72 hours.", updates=[old["id"]])
    found, text = await call(client, "search_memories", query="How long are uploads kept?", top_k=5)
    first, *others = found["results"]
    assert first["memory"] == "Uploads are kept for 72 hours." and "replaced_by" not in first
    assert {hit["src"] for hit in others} == {"memory", "turn"}
    assert all("48" in hit["memory"] and hit["replaced_by"] == new["id"] for hit in others)
    named = re.findall(rf"\(replaced on 2026-03-05 by {short_id('memory', new['id'])}\)", text)
    assert len(named) == len(others) == 2


# The fence.


def _strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [each for item in value.values() for each in _strings(item)]
    if isinstance(value, list):
        return [each for item in value for each in _strings(item)]
    return [value] if isinstance(value, str) else []


async def test_without_structured_output_no_tool_shows_recalled_text_outside_its_fence(
    client: Client, engine: Engine
):
    said = "The marzipan gateway listens on port 8080."
    await call(client, "record_turn", session_id="s", user=said, assistant=said)
    await call(client, "add_document", content=f"# Marzipan\n\n{said}", title="Marzipan")
    kept, _ = await call(client, "add_memory", content=said)
    await embedded(await engine.core())  # so that all of it is found in each run
    whole = {"include_full_docs": True, "include_summary": True}
    calls: list[tuple[str, dict[str, Any]]] = [
        ("search_memories", {"query": "marzipan gateway port?", "search_mode": "hybrid", "top_k": 9}),
        ("search_documents", {"query": "marzipan gateway port", **whole}),
        ("add_memory", {"content": "The marzipan gateway listens on port 8081."}),
        ("record_turn", {"session_id": "s", "user": said}),
        ("add_document", {"content": f"{said} Always."}),
        ("forget", {"query": "marzipan gateway", "dry_run": True}),
        ("forget", {"id": kept["id"], "dry_run": True}),
        ("forget", {"id": kept["id"]}),
    ]
    quoting = 0
    for tool, arguments in calls:
        answer = await client.call_tool(tool, arguments)
        assert not answer.is_error, text_of(answer)
        assert (answer.structured_content is None) == tool.startswith("search_")
        for text in (text_of(answer), *_strings(answer.structured_content)):
            quoting += OPENING in text
            outside = re.sub(rf"{re.escape(OPENING)}.*?\n{CLOSING}(?=\n|$)", "", text, flags=re.DOTALL)
            assert "marzipan" not in outside.lower(), (tool, text)
            fenced = text[text.find(OPENING) :].splitlines() if OPENING in text else []
            assert all(line.startswith("> ") for line in fenced if "gateway" in line)
    assert quoting == 8  # both searches once; the other quoting tools in text and in structure


# Ways to pass an argument.


async def test_an_argument_means_the_same_at_the_top_level_and_in_options(client: Client, engine: Engine):
    for number, said in enumerate(["alpha", "the zebra stable", "beta", "the zebra stable is shut"]):
        await call(client, "record_turn", session_id="s", user=said, ts=f"2026-03-01T09:0{number}:00Z")
    await embedded(await engine.core())  # a vector that arrives in between would change the ranking
    rare = {"top_k": 1, "prev_turns": 1, "session_id": "s", "threshold": 0.0, "weight_recency": 0.0}
    top_level = await shown(client, "search_memories", query="zebra stable", **rare)
    assert top_level == await shown(client, "search_memories", query="zebra stable", options=rare)
    assert top_level == await shown(client, "search_memories", options={"query": "zebra stable", **rare})
    assert "[next to it]" in top_level
    twice = await refusal(client, "search_memories", query="zebra", top_k=1, options={"top_k": 1})
    assert twice == "top_k is given both in options and outside; give it once."
    for content, place in (("One.", {"importance": 9, "is_static": True}), ("Two.", {})):
        options = {} if place else {"options": {"importance": 9, "is_static": True}}
        await call(client, "add_memory", content=content, **place, **options)
    found, _ = await call(client, "search_memories", query="one two", top_k=2, include_turns=False)
    assert [hit["importance_score_normalized"] for hit in found["results"]] == [0.9, 0.9]


# The list of tools.


def test_the_tool_list_costs_few_tokens_per_session():
    offered = tools()
    shown_to_all = [{name: tool[name] for name in ("name", "description", "inputSchema")} for tool in offered]
    with_output = [
        each | {"outputSchema": tool.get("outputSchema")}
        for each, tool in zip(shown_to_all, offered, strict=True)
    ]
    assert tokens(compact(shown_to_all)) <= 1_500
    assert tokens(compact(with_output)) <= 2_600
    assert strays(offered) == []


@pytest.mark.parametrize("offer", OFFERS, ids=lambda offer: offer.name)
def test_every_argument_is_in_the_schema_or_named_in_the_description_of_options(offer: Offer):
    schema = next(tool["inputSchema"] for tool in tools() if tool["name"] == offer.name)
    rare = offer.request.model_fields.keys() - schema["properties"].keys()
    named = set(re.findall(r"\w+", schema["properties"]["options"]["description"]))
    assert rare <= named
    assert schema["properties"].keys() - {"options"} <= offer.request.model_fields.keys()
    assert set(schema.get("required", [])) <= schema["properties"].keys()


# Strong, weak, none.

QUESTION = "which port does the gateway listen on?"


async def _gateways(client: Client) -> None:
    for number in range(8):
        said = f"Gateway {number} listens on port 80{number}0. " + "It was restarted. " * 30
        await call(client, "record_turn", session_id=f"s{number}", user=said)


async def test_a_doubtful_answer_says_so_and_is_short_unless_more_is_requested(
    client: Client, monkeypatch: pytest.MonkeyPatch
):
    await _gateways(client)
    monkeypatch.setattr(relevance, "STRONG", 1.1)  # wherever the calibration draws the line
    text = await shown(client, "search_memories", query=QUESTION)
    assert text.startswith(f"{DOUBTFUL}\n") and tokens(text) <= 250
    found, same = await call(client, "search_memories", query=QUESTION)
    assert found["confidence"] == "weak" and 1 <= len(found["results"]) <= 3 and same.startswith(DOUBTFUL)
    assert found["tokens"]["rendered"] <= 250
    more, _ = await call(client, "search_memories", query=QUESTION, top_k=5)
    assert len(more["results"]) == 5


async def test_an_empty_answer_is_one_line_that_names_what_was_searched(
    client: Client, monkeypatch: pytest.MonkeyPatch
):
    await _gateways(client)
    monkeypatch.setattr(relevance, "STRONG", 1.1)
    monkeypatch.setattr(recall, "WEAK", 1.1)
    text = await shown(client, "search_memories", query=QUESTION)
    assert text.startswith("No memory answers this. Searched: demo and the user's own facts.")
    assert "\n" not in text and OPENING not in text and tokens(text) <= 60
    found, _ = await call(client, "search_memories", query=QUESTION)
    assert (found["confidence"], found["results"], found["related"], found["total"]) == ("none", [], [], 0)
    everywhere = await shown(client, "search_memories", query=QUESTION, scope="*")
    assert "Searched: every project." in everywhere and 'scope "*"' not in everywhere
    spring = await shown(client, "search_memories", query=QUESTION, since="2025-03-01", until="2025-06-01")
    assert re.match(r"No memory answers this from .*2025-03-01.*2025-0[56]-\d\d.*\. Searched", spring)
    assert json.dumps(SCOPE) not in json.dumps(found)


async def test_an_empty_answer_names_the_arguments_that_excluded_records(client: Client):
    await _gateways(client)
    limits = {"session_id": "unheard-of", "tags": ["owls"]}
    text = await shown(client, "search_memories", query=QUESTION, options=limits)
    assert text.endswith(
        "Only records that fit session_id and tags were searched; leave session_id and tags out to search all."
    )
    assert "Only records" not in await shown(client, "search_memories", query="owls in the attic")
    limits = {"filters": {"key": "topic", "value": "owls"}}
    assert "leave filters out" in await shown(client, "search_documents", query=QUESTION, options=limits)
