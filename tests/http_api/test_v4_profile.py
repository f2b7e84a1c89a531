"""`POST /v4/profile`: lasting and new facts of a tag, its buckets, and a search beside them."""

from __future__ import annotations

import httpx2
from said import document, fact
from v4_calls import TAG, keep, post

from scrubjay.engine.engine import Engine
from scrubjay.home.scopes import EVERY_SCOPE


async def test_lasting_and_new_facts_are_told_word_for_word(http: httpx2.AsyncClient, engine: Engine):
    await keep(http, "The team is in Lisbon.", isStatic=True)
    await keep(http, "The API has a new port.")
    await keep(http, "The demo is down.")
    await keep(http, "Nothing of ours.", "elsewhere", isStatic=True)
    await fact(await engine.core(), "Alex likes tea.", scope="user", is_static=True)
    answer = await post(http, "/v4/profile", containerTag=TAG)
    assert answer == {
        "profile": {
            "static": ["The team is in Lisbon."],
            "dynamic": ["The demo is down.", "The API has a new port."],
        }
    }


async def test_only_the_sections_asked_for_are_there(http: httpx2.AsyncClient):
    await keep(http, "The team is in Lisbon.", isStatic=True)
    for sections in (["static"], ["dynamic"], ["buckets"], ["static", "buckets"]):
        answer = await post(http, "/v4/profile", containerTag=TAG, include=sections)
        assert set(answer["profile"]) == set(sections)
    await post(http, "/v4/profile", 400, containerTag=TAG, include=["everything"])


async def test_a_question_is_answered_beside_it_from_memories_and_documents_alike(
    http: httpx2.AsyncClient, engine: Engine
):
    await document(await engine.core(), "# Zebra\n\nThe zebra cache holds forty entries.\n", scope=TAG)
    await keep(http, "The zebra cache was cold.")
    answer = await post(http, "/v4/profile", containerTag=TAG, q="zebra cache", threshold=0)
    found = answer["searchResults"]
    assert {"memory", "chunk"} == {
        key for each in found["results"] for key in ("memory", "chunk") if key in each
    }
    assert found["total"] == len(found["results"]) and found["timing"] > 0
    strict = await post(http, "/v4/profile", containerTag=TAG, q="zebra cache", threshold=1)
    assert strict["searchResults"]["results"] == []


async def test_filters_hold_for_facts_and_results(http: httpx2.AsyncClient):
    await keep(http, "The zebra is calm.", metadata={"kind": "a"})
    await keep(http, "The zebra is wild.", metadata={"kind": "b"})
    only = {"AND": [{"key": "kind", "value": "a"}]}
    answer = await post(http, "/v4/profile", containerTag=TAG, q="zebra", threshold=0, filters=only)
    assert (
        answer["profile"]["dynamic"]
        == ["The zebra is calm."]
        == [each["memory"] for each in answer["searchResults"]["results"]]
    )


async def test_a_fact_is_in_the_bucket_whose_description_it_answers_best(
    http: httpx2.AsyncClient, engine: Engine
):
    core = await engine.core()
    at = core.clock()
    await core.scope_settings.change(
        TAG, lambda held: held.with_buckets({"food": "what anybody eats or drinks for lunch"}), at
    )
    await core.scope_settings.change(
        EVERY_SCOPE, lambda held: held.with_buckets({"caches": "caches and how many entries they hold"}), at
    )
    await keep(http, "The zebra cache holds forty entries.")
    await keep(http, "The zebra eats grass for lunch.")
    await keep(http, "Tuesdays are quiet.")
    known = (await post(http, "/v4/profile/buckets", containerTag=TAG))["buckets"]
    assert {each["key"]: each["description"] for each in known}.keys() == {"food", "caches"}
    held = (await post(http, "/v4/profile", containerTag=TAG, include=["buckets"]))["profile"]["buckets"]
    assert held == {
        "caches": ["The zebra cache holds forty entries."],
        "food": ["The zebra eats grass for lunch."],
    }
    one = (await post(http, "/v4/profile", containerTag=TAG, buckets=["food", "nothing"]))["profile"]
    assert one["buckets"] == {"food": ["The zebra eats grass for lunch."]} and one["dynamic"]
    assert (await post(http, "/v4/profile", containerTag="elsewhere", include=["buckets"]))["profile"][
        "buckets"
    ] == {"caches": []}


async def test_an_unknown_tag_has_an_empty_profile(http: httpx2.AsyncClient):
    assert await post(http, "/v4/profile", containerTag="nobody") == {
        "profile": {"static": [], "dynamic": []}
    }
