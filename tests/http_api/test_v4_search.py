"""`POST /v4/search`: its parameters and fields as the clients of version 3 and 4 send and parse them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from said import document, embedded, fact, facts, turn
from v4_calls import TAG, keep, post, said, search, send

from scrubjay.engine.engine import Engine

ALWAYS = {"id", "similarity", "metadata", "updatedAt", "version", "rootMemoryId"}
GUIDE = (
    "# Zebra guide\n\nThe zebra cache holds forty entries.\n\n## Limits\n\nThe walrus queue drains every "
    "minute.\n"
)


async def with_guide(engine: Engine, **fields: Any) -> str:
    return (await document(await engine.core(), GUIDE, scope=TAG, **fields)).id


async def test_a_memory_has_these_fields_and_no_others_unless_asked_for(http: httpx2.AsyncClient):
    id = await keep(http, "The zebra cache holds forty entries.", metadata={"area": "cache"})
    answer = await post(http, "/v4/search", q="the zebra cache holds forty", containerTag=TAG)
    assert set(answer) == {"results", "timing", "total"} and answer["total"] == 1 and answer["timing"] > 0
    (found,) = answer["results"]
    assert set(found) == {*ALWAYS, "memory"}
    assert (
        found["id"] == found["rootMemoryId"] == id
        and found["metadata"] == {"area": "cache"}
        and found["version"] == 1
    )
    assert datetime.fromisoformat(found["updatedAt"]).tzinfo is not None


async def test_a_quotation_passes_the_default_threshold_and_noise_does_not(http: httpx2.AsyncClient):
    await keep(http, "The zebra cache holds forty entries.")
    await keep(http, "Lunch is at noon.")
    found = (await post(http, "/v4/search", q="zebra cache holds forty entries", containerTag=TAG))["results"]
    assert said(found) == ["The zebra cache holds forty entries."] and found[0]["similarity"] >= 0.9


async def test_raising_the_threshold_never_brings_more_and_zero_lets_everything_through(
    http: httpx2.AsyncClient,
):
    for n in range(8):
        await keep(http, f"Zebra note {n} about {'caches ' * n}.")
    counts = [
        len(await search(http, "zebra caches", threshold=level)) for level in (0, 0.2, 0.4, 0.6, 0.8, 1)
    ]
    assert counts[0] == 8 and counts == sorted(counts, reverse=True)


async def test_results_stand_by_similarity_and_as_many_as_asked_for(http: httpx2.AsyncClient, engine: Engine):
    await with_guide(engine)
    for n in range(5):
        await keep(http, f"Zebra fact {n}: the cache was {'very ' * n}cold.")
    found = await search(http, "zebra cache", searchMode="hybrid", limit=4)
    values = [each["similarity"] for each in found]
    assert (
        len(found) == 4
        and values == sorted(values, reverse=True)
        and all(0 <= value <= 1 for value in values)
    )


async def test_what_else_is_stored_never_moves_the_similarity_of_a_record(
    http: httpx2.AsyncClient, engine: Engine
):
    for text in ("The zebra cache holds forty entries.", "Zebras sleep in the stable.", "Lunch is at noon."):
        await keep(http, text)
    questions = ("how many entries does the zebra cache hold?", "zebra stable", "where is the walrus?")
    await embedded(await engine.core())
    before = {each: await similarities(http, each) for each in questions}
    assert all(len(values) == 3 for values in before.values())
    for others in (
        ["The walrus queue drains every minute."],  # worse, or of something else
        ["How many entries does the zebra cache hold? It holds forty."],  # better, and a quotation
        [f"Zebra cache {n} holds {n} entries in the stable of zebra {n}." for n in range(20)],
        [f"The walrus of stable {n} is {'very ' * (n % 7)}calm." for n in range(30)],
    ):
        for text in others:
            await keep(http, text)
        await embedded(await engine.core())
        for question in questions:
            now = await similarities(http, question)
            assert before[question].items() <= now.items(), (question, others[0])


async def test_a_hundred_better_records_do_not_move_the_similarity_of_a_record(
    http: httpx2.AsyncClient, engine: Engine
):
    await keep(
        http, "The walrus has an old cache, a flat in Porto and a boat, and some of its friends hold a key."
    )
    question = "how many entries does the zebra cache hold?"
    await embedded(await engine.core())
    before = await similarities(http, question)
    await facts(
        await engine.core(), (f"The zebra cache {n} holds {n} entries." for n in range(99)), scope=TAG
    )
    await embedded(await engine.core())
    now = await similarities(http, question)
    assert len(now) == 100 and before.items() <= now.items()
    assert min(now, key=lambda id: now[id]) in before


async def similarities(http: httpx2.AsyncClient, question: str) -> dict[str, float]:
    """How similar each memory is, by its id."""
    return {each["id"]: each["similarity"] for each in await search(http, question, limit=100)}


async def test_a_chunk_has_its_own_key_and_never_both(http: httpx2.AsyncClient, engine: Engine):
    id = await with_guide(engine, metadata={"kind": "guide"})
    await keep(http, "The zebra cache was cold.")
    for mode, keys in (("memories", {"memory"}), ("documents", {"chunk"}), ("hybrid", {"memory", "chunk"})):
        found = await search(http, "zebra cache", searchMode=mode, include={"documents": True})
        assert {key for each in found for key in ("memory", "chunk") if key in each} == keys
        assert all(("memory" in each) != ("chunk" in each) for each in found)
    chunk = next(each for each in found if "chunk" in each)
    assert chunk["rootMemoryId"] is None and chunk["version"] == 1 and chunk["metadata"] == {"kind": "guide"}
    assert [each["id"] for each in chunk["documents"]] == [id] != [chunk["id"]]


async def test_several_chunks_of_one_document_are_several_results(http: httpx2.AsyncClient, engine: Engine):
    await document(
        await engine.core(),
        "\n\n".join(f"# Part {n}\n\n{f'The zebra of part {n} is calm. ' * 30}" for n in range(6)),
        scope=TAG,
    )
    found = await search(http, "zebra part calm", searchMode="documents")
    assert len(found) >= 6 and len({each["id"] for each in found}) == len(found)


async def test_what_a_memory_of_a_document_says_is_not_said_again_by_its_chunk(
    http: httpx2.AsyncClient, engine: Engine
):
    await document(await engine.core(), "The zebra cache holds forty entries.", scope=TAG, task_type="memory")
    found = await search(http, "zebra cache entries", searchMode="hybrid")
    assert ["memory" in each for each in found] == [True]


async def test_versions_and_ties_come_when_asked_for_in_both_shapes(http: httpx2.AsyncClient, engine: Engine):
    core = await engine.core()
    first = await keep(http, "The zebra lives in Lisbon.")
    second = (
        await send(
            http, "PATCH", "/v4/memories", containerTag=TAG, id=first, newContent="The zebra lives in Porto."
        )
    )["id"]
    await fact(core, "The zebra likes its flat in Porto.", scope=TAG, extends=[second])
    await fact(core, "Whoever visits the zebra flies to Porto.", scope=TAG, derives=[second])
    found = {
        each["id"]: each
        for each in await search(http, "zebra lives in Porto", include={"relatedMemories": True})
    }
    context = found[second]["context"]
    assert [(tie["relation"], tie["version"], tie["memory"]) for tie in context["parents"]] == [
        ("updates", -1, "The zebra lives in Lisbon.")
    ]
    assert {(tie["relation"], tie["version"]) for tie in context["children"]} == {
        ("extends", 1),
        ("derives", 1),
    }
    assert {tie["relation"] for tie in context["related"]} == {"extends", "derives"}
    assert found[second]["version"] == 2 and found[second]["rootMemoryId"] == first and first not in found
    assert all("context" not in each for each in await search(http, "zebra lives in Porto"))


async def test_documents_summaries_and_chunks_come_when_asked_for(http: httpx2.AsyncClient, engine: Engine):
    core = await engine.core()
    id = await with_guide(engine, custom_id="guide", filepath="/guides/zebra.md")
    await fact(core, "The zebra cache is small.", scope=TAG, derives=[id])
    (plain,) = await search(http, "zebra cache")
    assert set(plain) == {*ALWAYS, "memory", "filepath"} and plain["filepath"] == "/guides/zebra.md"
    (found,) = await search(http, "zebra cache", include={"documents": True, "chunks": True})
    assert set(found["documents"][0]) == {"id", "title", "type", "metadata", "createdAt", "updatedAt"}
    assert (found["documents"][0]["title"], found["documents"][0]["type"]) == ("Zebra guide", "text")
    assert found["chunks"][0] == {"content": found["chunks"][0]["content"], "documentId": id, "position": 0}
    (found,) = await search(http, "zebra cache", include={"summaries": True})
    assert "summary" in found["documents"][0]


async def test_the_forgotten_come_only_when_asked_for(http: httpx2.AsyncClient):
    id = await keep(http, "The zebra cache holds forty entries.")
    await send(http, "DELETE", "/v4/memories", containerTag=TAG, id=id, reason="wrong")
    assert await search(http, "zebra cache") == []
    (found,) = await search(http, "zebra cache", include={"forgottenMemories": True})
    assert found["id"] == id and found["isForgotten"] is True


async def test_an_expired_memory_is_as_forgotten(http: httpx2.AsyncClient):
    await keep(http, "The zebra sale is on.", forgetAfter="2020-01-01T00:00:00Z")
    assert await search(http, "zebra sale") == []
    assert len(await search(http, "zebra sale", include={"forgottenMemories": True})) == 1


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"AND": [{"key": "lang", "value": "go"}]}, {"go"}),
        ('{"OR": [{"key": "lang", "value": "go"}, {"key": "lang", "value": "rust"}]}', {"go", "rust"}),
        ({"AND": [{"key": "lang", "value": "GO", "ignoreCase": "true"}]}, {"go"}),
        ({"AND": [{"key": "lang", "value": "go", "negate": True}]}, {"rust", "c"}),
        (
            {"AND": [{"key": "year", "value": "2020", "filterType": "numeric", "numericOperator": ">="}]},
            {"rust"},
        ),
        ({"AND": [{"key": "nothing", "value": "x"}]}, set()),
    ],
)
async def test_filters_are_on_metadata_as_an_object_or_its_json(
    http: httpx2.AsyncClient, filters: Any, expected: set[str]
):
    for lang, year in (("go", 2012), ("rust", 2021), ("c", 1972)):
        await keep(http, f"The zebra is written in {lang}.", metadata={"lang": lang, "year": year})
    assert {
        each["metadata"]["lang"] for each in await search(http, "zebra written", filters=filters)
    } == expected


async def test_a_filepath_keeps_what_is_of_documents_there(http: httpx2.AsyncClient, engine: Engine):
    core = await engine.core()
    inside = await with_guide(engine, custom_id="in", filepath="/guides/zebra.md")
    await document(
        core, GUIDE.replace("forty", "fifty"), scope=TAG, custom_id="out", filepath="/other/zebra.md"
    )
    await fact(core, "The zebra cache is small.", scope=TAG, derives=[inside])
    await keep(http, "The zebra cache was cold.")
    for path in ("/guides/", "/guides/zebra.md"):
        found = await search(http, "zebra cache", searchMode="hybrid", filepath=path)
        assert {"memory" in each for each in found} == {True, False}
        assert {each["filepath"] for each in found} == {"/guides/zebra.md"}
    assert await search(http, "zebra cache", searchMode="hybrid", filepath="/guides/zebra") == []


async def test_tags_are_any_of_those_named_and_nothing_else_is_seen(http: httpx2.AsyncClient, engine: Engine):
    for tag in ("one", "two", "three"):
        await keep(http, f"The zebra of {tag} is calm.", tag)
    await fact(await engine.core(), "The zebra of the user is calm.", scope="user")
    assert said(await search(http, "zebra calm", "one")) == ["The zebra of one is calm."]
    both = await search(http, "zebra calm", None, containerTags=["one", "three"])
    assert set(said(both)) == {"The zebra of one is calm.", "The zebra of three is calm."}
    assert len(await search(http, "zebra calm", None)) == 3
    assert await search(http, "zebra calm", "four") == []


async def test_rewriting_searches_the_parts_of_a_question_too_and_never_lowers_a_result(
    http: httpx2.AsyncClient,
):
    await keep(http, "The zebra cache holds forty entries.")
    await keep(http, "The walrus queue drains every minute.")
    question = "How much does the zebra cache hold, and how often does the walrus queue drain?"
    plain = {each["id"]: each["similarity"] for each in await search(http, question)}
    twice = [await search(http, question, rewriteQuery=True) for _ in range(2)]
    assert [(each["id"], each["similarity"]) for each in twice[0]] == [
        (each["id"], each["similarity"]) for each in twice[1]
    ]
    assert len({each["id"] for each in twice[0]}) == len(twice[0]) == 2
    assert all(each["similarity"] >= plain[each["id"]] for each in twice[0])


async def test_what_cannot_be_meant_is_refused_with_400(http: httpx2.AsyncClient):
    both = await post(http, "/v4/search", 400, q="zebra", rerank=True, aggregate=True)
    assert "rerank" in both["error"] and "aggregate" in both["error"]
    for wrong in (
        {"limit": 0},
        {"limit": 101},
        {"threshold": 1.5},
        {"q": ""},
        {"searchMode": "all"},
        {"filters": {"OR": []}},
    ):
        answer = await post(http, "/v4/search", 400, **{"q": "zebra", **wrong})
        assert answer["success"] is False and answer["error"][0]["path"][0] == next(iter(wrong))
    for tag in ("user", "*", "a b"):
        assert tag in (await post(http, "/v4/search", 400, q="zebra", containerTag=tag))["error"]


async def test_rerank_aggregate_and_unknown_fields_are_accepted_without_effect(http: httpx2.AsyncClient):
    await keep(http, "The zebra cache holds forty entries.")
    plain = await search(http, "zebra cache")
    for more in (
        {"rerank": True},
        {"aggregate": True},
        {"onlyMatchingChunks": True, "categoriesFilter": ["x"]},
    ):
        assert await search(http, "zebra cache", **more) == plain


async def test_session_summaries_and_turns_are_in_no_answer_that_did_not_ask_for_chats(
    http: httpx2.AsyncClient, engine: Engine
):
    core = await engine.core()
    for n in range(20):
        await turn(
            core,
            "s1",
            scope=TAG,
            user=f"How is zebra number {n} today?",
            assistant=f"We decided that zebra {n} is fine.",
        )
    await core.writer.settle()
    while await core.consolidation.work():
        pass
    for mode in ("memories", "hybrid", "documents"):
        assert await search(http, "zebra", searchMode=mode) == []
    assert (await post(http, "/v4/memories/list", containerTag=TAG))["memoryEntries"] == []
    assert (await post(http, "/v4/profile", containerTag=TAG, q="zebra", threshold=0))["searchResults"][
        "results"
    ] == []


@settings(max_examples=15)
@given(
    words=st.lists(
        st.sampled_from(["zebra", "walrus", "cache", "queue", "cold", "noon"]), min_size=1, max_size=6
    )
)
async def test_any_question_is_answered_by_similarity_each_thing_once(
    http: httpx2.AsyncClient, words: list[str]
):
    for text in (
        "The zebra cache is cold.",
        "The walrus queue drains at noon.",
        "Zebra and walrus share a cache.",
    ):
        await keep(http, text)
    for more in ({}, {"rewriteQuery": True}):
        found = await search(http, " ".join(words), searchMode="hybrid", **more)
        assert len({each["id"] for each in found}) == len(found)
        assert [each["similarity"] for each in found] == sorted(
            (each["similarity"] for each in found), reverse=True
        )
