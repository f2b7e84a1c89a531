"""Searches for memories and passages over supermemory's API, in both versions, and its search for documents."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from said import document, embedded, fact, facts, turn
from spellings import TAG, V4, V5, said

from scrubjay.engine.engine import Engine
from scrubjay.http_api.supermemory.matches import MOST_WORDINGS, rewrites

ALWAYS_4 = {"id", "similarity", "metadata", "updatedAt", "version", "rootMemoryId"}
ALWAYS_5 = {"id", "metadata", "similarity", "isLatest", "isInference", "system"}
GUIDE = (
    "# Zebra guide\n\nThe zebra cache holds forty entries.\n\n## Limits\n\nThe walrus queue drains every "
    "minute.\n"
)
CACHE = "The zebra cache holds forty entries."


async def with_guide(engine: Engine, **fields: Any) -> str:
    return (await document(await engine.core(), GUIDE, scope=TAG, **fields)).id


async def similarities(api: V4 | V5, question: str) -> dict[str, float]:
    """How similar each memory is, by its id."""
    return {each["id"]: each["similarity"] for each in await api.search(question, limit=100)}


async def test_a_memory_has_exactly_its_fields_unless_others_are_requested(v4: V4, v5: V5):
    id = await v4.keep(CACHE, metadata={"area": "cache"})
    answer = await v4.post("/v4/search", q="the zebra cache holds forty", containerTag=TAG)
    assert set(answer) == {"results", "timing", "total"} and answer["total"] == 1 and answer["timing"] > 0
    (found,) = answer["results"]
    assert set(found) == {*ALWAYS_4, "memory"} and found["metadata"] == {"area": "cache"}
    assert found["id"] == found["rootMemoryId"] == id and found["version"] == 1
    assert datetime.fromisoformat(found["updatedAt"]).tzinfo is not None
    (found,) = await v5.search("zebra cache")
    assert set(found) == {*ALWAYS_5, "memory"} and found["system"].keys() == {"createdAt", "updatedAt"}
    assert (found["id"], found["isLatest"], found["isInference"]) == (id, True, False)


@pytest.mark.parametrize("least", [0.3, 0.6])
async def test_a_quotation_passes_the_default_threshold_and_noise_does_not(v4: V4, v5: V5, least: float):
    await v4.keep(CACHE)
    await v4.keep("Lunch is at noon.")
    asked = "zebra cache holds forty entries"
    path, body = ("/v4/search", {"q": asked, "containerTag": TAG})
    if least == 0.3:
        path, body = f"/ns/{TAG}/search", {"query": asked}
    found = (await v4.post(path, **body))["results"]
    assert found[0]["memory"] == CACHE and found[0]["similarity"] >= 0.9
    assert all(each["similarity"] >= least for each in found)


async def test_results_are_ordered_and_a_higher_threshold_never_returns_more(api: V4 | V5):
    for n in range(8):
        await api.keep(f"The deploy of service {n} runs on day {n} of the week.")
    found = {}
    for threshold in (0.0, 0.3, 0.6, 0.9, 1.0):
        results = await api.search("When does the deploy of service 3 run?", threshold=threshold)
        found[threshold] = [each["similarity"] for each in results]
        assert found[threshold] == sorted(found[threshold], reverse=True)
        assert all(threshold <= value <= 1 for value in found[threshold])
    counts = [len(each) for each in found.values()]
    assert counts == sorted(counts, reverse=True) and counts[0] == 8
    assert len(await api.search("deploy", limit=4)) == 4


async def test_a_hundred_better_records_do_not_change_the_similarity_of_a_record(v4: V4, engine: Engine):
    core = await engine.core()
    await v4.keep(
        "The walrus has an old cache, a flat in Porto and a boat, and some of its friends hold a key."
    )
    question = "how many entries does the zebra cache hold?"
    await embedded(core)
    before = await similarities(v4, question)
    await facts(core, (f"The zebra cache {n} holds {n} entries." for n in range(99)), scope=TAG)
    await embedded(core)
    now = await similarities(v4, question)
    assert len(now) == 100 and before.items() <= now.items()
    assert min(now, key=lambda id: now[id]) in before


async def test_each_mode_returns_its_kinds_and_a_result_has_one_key(api: V4 | V5):
    await api.add("The rollback script is called undo.sh.", taskType="superrag", metadata={"kind": "guide"})
    await api.keep("Rollbacks are announced in the ops channel.")
    modes = ("memories", "chunks", "hybrid")
    found = {mode: await api.search("rollback", mode=mode) for mode in modes}
    assert said(found["memories"]) == ["Rollbacks are announced in the ops channel."]
    assert said(found["chunks"]) == ["The rollback script is called undo.sh."]
    assert found["chunks"][0]["metadata"] == {"kind": "guide"}
    assert sorted(said(found["hybrid"])) == sorted(said(found["memories"]) + said(found["chunks"]))
    assert all(("memory" in each) != ("chunk" in each) for results in found.values() for each in results)


async def test_a_chunk_does_not_repeat_a_memory_of_its_document(api: V4 | V5):
    await api.add(CACHE)
    found = await api.search("zebra cache entries", mode="hybrid")
    assert ["memory" in each for each in found] == [True]


async def test_versions_and_links_are_returned_on_request(v4: V4, v5: V5, engine: Engine):
    core = await engine.core()
    first = await v4.keep("The zebra lives in Lisbon.")
    second = (await v4.revise(first, "The zebra lives in Porto."))["id"]
    await fact(core, "The zebra likes its flat in Porto.", scope=TAG, extends=[second])
    await fact(core, "A visitor of the zebra flies to Porto.", scope=TAG, derives=[second])
    rows = await v4.search("zebra lives in Porto", include={"relatedMemories": True})
    found = {each["id"]: each for each in rows}
    context = found[second]["context"]
    assert [(each["relation"], each["version"], each["memory"]) for each in context["parents"]] == [
        ("updates", -1, "The zebra lives in Lisbon.")
    ]
    linked = {("extends", 1), ("derives", 1)}
    assert {(each["relation"], each["version"]) for each in context["children"]} == linked
    assert {each["relation"] for each in context["related"]} == {"extends", "derives"}
    assert found[second]["version"] == 2 and found[second]["rootMemoryId"] == first and first not in found
    assert all("context" not in each for each in await v4.search("zebra lives in Porto"))
    rows = await v5.search("zebra lives in Porto", include={"related": True, "documents": True})
    related = {each["id"]: each["included"]["related"] for each in rows}[second]
    assert [(each["memory"], each["relation"], each["version"]) for each in related["parents"]] == [
        ("The zebra lives in Lisbon.", "updates", 1)
    ]
    assert related["children"] == [] and len(related["siblings"]) == 2


async def test_documents_summaries_and_chunks_are_returned_on_request(v4: V4, v5: V5, engine: Engine):
    id = await with_guide(engine, custom_id="guide", filepath="/guides/zebra.md")
    await fact(await engine.core(), "The zebra cache is small.", scope=TAG, derives=[id])
    (plain,) = await v4.search("zebra cache")
    assert set(plain) == {*ALWAYS_4, "memory", "filepath"} and plain["filepath"] == "/guides/zebra.md"
    (found,) = await v4.search("zebra cache", include={"documents": True, "chunks": True})
    assert set(found["documents"][0]) == {"id", "title", "type", "metadata", "createdAt", "updatedAt"}
    assert (found["documents"][0]["title"], found["documents"][0]["type"]) == ("Zebra guide", "text")
    assert found["chunks"][0] == {"content": found["chunks"][0]["content"], "documentId": id, "position": 0}
    (found,) = await v4.search("zebra cache", include={"summaries": True})
    assert "summary" in found["documents"][0]
    chunk = (await v4.search("zebra cache", mode="chunks", include={"documents": True}))[0]
    assert (chunk["rootMemoryId"], chunk["version"]) == (None, 1)
    assert [each["id"] for each in chunk["documents"]] == [id] != [chunk["id"]]
    (passage, *_) = await v5.search("zebra cache", mode="chunks", include={"documents": True})
    assert passage["included"]["document"]["id"] == id and "related" not in passage["included"]


async def test_a_filter_also_applies_to_records_returned_with_a_result(v5: V5):
    old = await v5.keep("The port is 8080.", metadata={"team": "red"})
    await v5.revise(old, "The port is 9090.", metadata={"team": "blue"})
    (found,) = await v5.search("port", **v5.only("team", "blue"), include={"related": True})
    assert found["memory"] == "The port is 9090." and found["included"]["related"]["parents"] == []


async def test_forgotten_and_expired_memories_are_returned_only_on_request(v4: V4, v5: V5):
    id = await v4.keep("The zebra cache holds forty entries.")
    await v4.forget(id=id, reason="wrong")
    await v4.keep("The zebra sale is on.", forgetAfter="2020-01-01T00:00:00Z")
    assert await v4.search("zebra") == [] == await v5.search("zebra")
    found = await v4.search("zebra", include={"forgottenMemories": True})
    assert {each["memory"]: each["isForgotten"] for each in found}["The zebra cache holds forty entries."]
    assert len(found) == 2
    assert [each["isLatest"] for each in await v5.search("zebra", include={"forgotten": True})] == [False] * 2


AND_GO = {"AND": [{"key": "lang", "value": "go"}]}
SLACK = {"field": "lang", "operator": "eq", "value": "GO", "caseSensitive": False}
SINCE_2020 = {"AND": [{"key": "year", "value": "2020", "filterType": "numeric", "numericOperator": ">="}]}


@pytest.mark.parametrize(
    ("api", "filters", "expected"),
    [
        (V4, AND_GO, {"go"}),
        (V4, json.dumps({"OR": [*AND_GO["AND"], {"key": "lang", "value": "rust"}]}), {"go", "rust"}),
        (V4, {"AND": [{"key": "lang", "value": "GO", "ignoreCase": "true"}]}, {"go"}),
        (V4, {"AND": [{"key": "lang", "value": "go", "negate": True}]}, {"rust", "c"}),
        (V4, SINCE_2020, {"rust"}),
        (V4, {"AND": [{"key": "nothing", "value": "x"}]}, set()),
        (V4, {}, {"go", "rust", "c"}),
        (V5, {}, {"go", "rust", "c"}),
        (V5, SLACK, {"go"}),
    ],
    indirect=["api"],
)
async def test_a_filter_passes_records_whose_metadata_matches(api: V4 | V5, filters: Any, expected: set[str]):
    for lang, year in (("go", 2012), ("rust", 2021), ("c", 1972)):
        await api.add(f"The zebra is written in {lang}.", metadata={"lang": lang, "year": year})
    for mode in ("memories", "chunks", "hybrid"):
        name = "filters" if api.version == 4 else "filter"
        found = await api.search("zebra written", mode=mode, **{name: filters})
        assert {each["metadata"]["lang"] for each in found} == expected


@pytest.mark.parametrize(
    "path",
    "/v3/documents /v3/search /v3/documents/list /v4/search /v4/profile /v4/profile/buckets "
    "/v4/memories/list".split(),
)
async def test_an_answer_of_version_4_names_unknown_fields(v4: V4, path: str):
    answer = await v4.post(path, q="terns", content="Terns dive.", containerTag=TAG, filter={"AND": []})
    assert answer["warnings"][-1] == "'filter' is not a field here, and has no effect."


async def test_a_filepath_limits_results_to_documents_below_it(v4: V4, engine: Engine):
    core = await engine.core()
    inside = await with_guide(engine, custom_id="in", filepath="/guides/zebra.md")
    other = GUIDE.replace("forty", "fifty")
    await document(core, other, scope=TAG, custom_id="out", filepath="/other/zebra.md")
    await fact(core, "The zebra cache is small.", scope=TAG, derives=[inside])
    await v4.keep("The zebra cache was cold.")
    for path in ("/guides/", "/guides/zebra.md"):
        found = await v4.search("zebra cache", mode="hybrid", filepath=path)
        assert {"memory" in each for each in found} == {True, False}
        assert {each["filepath"] for each in found} == {"/guides/zebra.md"}
    assert await v4.search("zebra cache", mode="hybrid", filepath="/guides/zebra") == []


async def test_a_search_sees_its_scopes_and_nothing_else(api: V4 | V5, v4: V4, engine: Engine):
    for tag in ("one", "two", "three"):
        await api.keep(f"The zebra of {tag} is calm.", tag)
    await fact(await engine.core(), "The zebra of the user is calm.", scope="user")
    assert said(await api.search("zebra calm", "one")) == ["The zebra of one is calm."]
    assert await api.search("zebra calm", "four") == []
    both = await v4.search("zebra calm", None, containerTags=["one", "three"])
    assert set(said(both)) == {"The zebra of one is calm.", "The zebra of three is calm."}
    assert len(await v4.search("zebra calm", None)) == 3


async def test_rewriting_also_searches_the_parts_of_a_question_and_never_lowers_a_result(api: V4 | V5):
    await api.keep(CACHE)
    await api.keep("The walrus queue drains every minute.")
    question = "How much does the zebra cache hold, and how often does the walrus queue drain?"
    plain = await similarities(api, question)
    once, again = [await api.search(question, rewriteQuery=True) for _ in range(2)]
    assert [(each["id"], each["similarity"]) for each in once] == [
        (each["id"], each["similarity"]) for each in again
    ]
    assert len({each["id"] for each in once}) == len(once) == 2
    assert all(each["similarity"] >= plain[each["id"]] for each in once)


async def test_version_4_refuses_reserved_tags_and_rerank_with_aggregate(v4: V4):
    both = await v4.post("/v4/search", 400, q="zebra", rerank=True, aggregate=True)
    assert "rerank" in both["error"] and "aggregate" in both["error"]
    for tag in ("user", "*", "a b"):
        assert tag in (await v4.post("/v4/search", 400, q="zebra", containerTag=tag))["error"]


async def test_summaries_and_turns_are_returned_only_with_chats(v4: V4, engine: Engine):
    core = await engine.core()
    for n in range(20):
        user, assistant = f"How is zebra number {n} today?", f"We decided that zebra {n} is fine."
        await turn(core, "s1", scope=TAG, user=user, assistant=assistant)
    await core.writer.settle()
    await core.consolidation.process_all()
    for mode in ("memories", "hybrid", "chunks"):
        assert await v4.search("zebra", mode=mode) == []
    assert (await v4.memories())["rows"] == []
    found = await v4.post("/v4/profile", containerTag=TAG, q="zebra", threshold=0)
    assert found["searchResults"]["results"] == []


WORDS = st.sampled_from(["zebra", "walrus", "cache", "queue", "cold", "noon"])


@settings(max_examples=15)
@given(words=st.lists(WORDS, min_size=1, max_size=6))
async def test_any_question_is_answered_by_similarity_without_repeats(v4: V4, words: list[str]):
    for text in ("The zebra cache is cold.", "The walrus queue drains at noon.", "They share a cache."):
        await v4.keep(text)
    for more in ({}, {"rewriteQuery": True}):
        found = await v4.search(" ".join(words), mode="hybrid", **more)
        assert len({each["id"] for each in found}) == len(found)
        values = [each["similarity"] for each in found]
        assert values == sorted(values, reverse=True)


@given(query=st.text(max_size=200))
def test_rewriting_asks_any_question_itself_first_and_nothing_twice(query: str):
    wordings = rewrites(query)
    assert wordings == rewrites(query) and len(set(wordings)) == len(wordings) <= MOST_WORDINGS
    assert wordings[:1] == ([query] if query else [])
