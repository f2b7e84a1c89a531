"""Memories over supermemory's API: created, revised, read, listed, reviewed and forgotten, in both versions."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from said import document, turn
from spellings import TAG, V4, V5, said

from scrubjay.engine.engine import Engine
from scrubjay.models.records import Memory


async def test_created_memories_are_found_at_once_and_returned_in_order(v4: V4):
    given = [
        {"content": f"The zebra number {n} is calm.", "isStatic": n == 1, "metadata": {"n": n}}
        for n in range(3)
    ]
    made = await v4.post("/v4/memories", 201, containerTag=TAG, memories=given)
    assert made["documentId"] is None and set(made) == {"documentId", "memories"}
    assert said(made["memories"]) == [each["content"] for each in given]
    assert [each["isStatic"] for each in made["memories"]] == [False, True, False]
    assert {"id", "memory", "isStatic", "createdAt"} == set(made["memories"][0])
    assert {each["id"] for each in await v4.search("zebra calm")} == {each["id"] for each in made["memories"]}


async def test_secrets_are_replaced_before_a_memory_is_stored(api: V4 | V5):
    await api.keep("The zebra's key is ghp_0123456789abcdefABCDEF0123456789abcd.")
    (found,) = await api.search("zebra key")
    assert "ghp_" not in found["memory"]


async def test_forgetting_500_ids_is_one_look_up(v5: V5):
    path = f"/ns/{TAG}/memories"
    kept = await v5.keep("The zebra lives in Lisbon.")
    ids = [kept, *(f"mem_{number:024x}" for number in range(499))]
    started = time.process_time()
    answer = await v5.call("DELETE", path, json={"ids": ids})
    assert time.process_time() - started < 1  # a look-up for each takes three seconds
    assert (answer["count"], [each["id"] for each in answer["errors"]]) == (1, ids[1:])
    assert await v5.search("zebra") == []


async def test_a_new_version_hides_the_old_one_and_keeps_the_chain(v4: V4):
    first = await v4.keep("The zebra lives in Lisbon.", metadata={"about": "home"}, isStatic=True)
    second = await v4.revise(first, "The zebra lives in Porto.")
    assert set(second) == {
        "id", "memory", "version", "parentMemoryId", "rootMemoryId", "createdAt", "metadata", "forgetAfter", "forgetReason"
    }  # fmt: skip
    assert (second["version"], second["parentMemoryId"], second["rootMemoryId"]) == (2, first, first)
    assert second["metadata"] == {"about": "home"}
    third = await v4.revise(first, "The zebra lives in Faro.", metadata={})
    assert (third["version"], third["parentMemoryId"], third["rootMemoryId"]) == (3, second["id"], first)
    assert third["metadata"] is None
    assert said(await v4.search("zebra lives")) == ["The zebra lives in Faro."]
    (entry,) = (await v4.memories())["rows"]
    assert entry["isStatic"] and [each["version"] for each in entry["history"]] == [2, 1]


async def test_a_revision_with_the_same_words_creates_no_version(v4: V4):
    id = await v4.keep("The zebra lives in Lisbon.")
    again = await v4.revise(id, "The zebra lives in Lisbon.")
    assert (again["id"], again["version"]) == (id, 1)


async def test_a_memory_can_be_named_by_its_exact_words(v4: V4):
    await v4.keep("The zebra lives in Lisbon.")
    body = {"content": "The zebra lives in Lisbon.", "newContent": "The zebra lives in Porto."}
    await v4.call("PATCH", "/v4/memories", json={"containerTag": TAG, **body})
    gone = await v4.forget(content="The zebra lives in Porto.", reason="moved away")
    assert gone["forgotten"] is True and await v4.search("zebra lives") == []
    await v4.forget(status=404, content="The zebra lives nowhere.")


async def test_an_expiry_is_inherited_and_null_clears_it_with_its_reason(v4: V4):
    id = await v4.keep("The zebra sale is on.", forgetAfter="2027-01-01T00:00:00Z", forgetReason="it ends")
    for content, fields, after, reason in (
        ("The zebra sale goes on.", {}, "2027-01-01T00:00:00.000Z", "it ends"),
        (
            "It lasts.",
            {"forgetAfter": "2028-01-01", "forgetReason": "new"},
            "2028-01-01T00:00:00.000Z",
            "new",
        ),
        ("The zebra sale never ends.", {"forgetAfter": None}, None, None),
    ):
        new = await v4.revise(id, content, **fields)
        assert (new["forgetAfter"], new["forgetReason"]) == (after, reason)


async def test_temporal_context_is_metadata_and_survives_a_metadata_update(v4: V4):
    dates = {"documentDate": "2026-01-02", "eventDate": ["2026-02-03"]}
    id = await v4.keep("The zebra arrives.", temporalContext=dates)
    new = await v4.revise(id, "The zebra arrived.", metadata={"a": 1})
    spelled = {"documentDate": "2026-01-02T00:00:00.000Z", "eventDate": ["2026-02-03T00:00:00.000Z"]}
    assert new["metadata"] == {"a": 1, **spelled}
    new = await v4.revise(id, "The zebra came.", temporalContext={"eventDate": ["2026-03-04"]})
    assert new["metadata"] == {"a": 1, **spelled, "eventDate": ["2026-03-04T00:00:00.000Z"]}


async def test_forgetting_keeps_the_record_with_its_reason(v4: V4, engine: Engine):
    id = await v4.keep("The zebra is calm.")
    for _ in range(2):
        assert await v4.forget(id=id, reason="it is not") == {"id": id, "forgotten": True}
    record = (await (await engine.core()).store.get(Memory, [id]))[id]
    assert record.forget_reason == "it is not" and record.content == "The zebra is calm."
    await v4.revise(id, "The zebra is wild.", status=404)
    assert (await v4.memories())["rows"] == []


async def test_version_5_forgets_by_ids_and_reports_each_unknown_one(v5: V5):
    id, path = await v5.keep("The alarm rings in room 4711."), f"/ns/{TAG}/memories"
    answer = await v5.call("DELETE", path, json={"ids": [id, "nope", id]})
    assert (
        answer["matches"] == [{"id": id, "memory": "The alarm rings in room 4711."}] and answer["count"] == 1
    )
    assert [each["id"] for each in answer["errors"]] == ["nope"]
    assert (await v5.call("GET", f"{path}/{id}"))["isForgotten"] is True
    assert (await v5.call("DELETE", path, json={"ids": [id]}))["count"] == 1
    assert await v5.search("alarm code") == []
    document_id = (await v5.add("A document.", taskType="superrag"))["id"]
    await v5.call("GET", f"{path}/{document_id}", 404)
    assert (await v5.call("DELETE", path, json={"ids": [document_id]}))["errors"][0]["id"] == document_id


async def test_the_id_of_an_older_version_refers_to_the_newest(v4: V4):
    first = await v4.keep("The zebra lives in Lisbon.")
    second = await v4.revise(first, "The zebra lives in Porto.")
    assert (await v4.forget(id=first))["id"] == second["id"]
    assert await v4.search("zebra") == []


async def test_simultaneous_updates_of_one_memory_become_versions_in_turn(v4: V4):
    first = await v4.keep("The gate is number 5.")
    texts = [f"The gate is number {number}." for number in range(6, 10)]
    news = await asyncio.gather(*(v4.revise(first, text) for text in texts))
    assert sorted(new["version"] for new in news) == [2, 3, 4, 5]
    (row,) = (await v4.memories())["rows"]
    assert {row["memory"], *(each["memory"] for each in row["history"])} == {"The gate is number 5.", *texts}


async def test_the_id_of_a_document_refers_to_its_memory(v4: V4, engine: Engine):
    core = await engine.core()
    short = (await document(core, "The zebra is calm.", scope=TAG, task_type="memory")).id
    assert (await v4.revise(short, "The zebra is wild."))["version"] == 2
    other = (await document(core, "The walrus queue drains.", scope=TAG, task_type="memory")).id
    assert await v4.forget(id=other) == {"id": other, "forgotten": True}
    assert not any("walrus" in text for text in said(await v4.search("walrus queue", mode="hybrid")))
    turn_id = (await turn(core, "s1", scope=TAG, user="Is the zebra calm?")).id
    assert "turn" in (await v4.revise(turn_id, "No.", status=400))["error"]


async def test_a_query_forgets_what_its_dry_run_lists(api: V4 | V5):
    zebra = await api.keep("The zebra cache holds forty entries.")
    await api.keep("Lunch is at noon.")
    await api.keep("The zebra cache holds forty entries.", "elsewhere")
    query = "zebra cache holds forty entries"
    listed = await api.forget_about(query, dry=True)
    assert [(each["id"], each["memory"]) for each in listed] == [
        (zebra, "The zebra cache holds forty entries.")
    ]
    assert len(await api.search("zebra")) >= 1
    assert await api.forget_about(query, dry=False) == listed
    assert said(await api.search("zebra lunch")) == ["Lunch is at noon."]
    assert len(await api.search("zebra", "elsewhere")) == 1
    assert await api.forget_about(query, dry=False) == []


async def test_version_4_forgets_only_similar_memories_and_at_most_the_limit(v4: V4):
    ids = [await v4.keep(f"The zebra {n} is {'very ' * n}calm.") for n in range(6)]

    async def forget(**fields: Any) -> dict[str, Any]:
        return await v4.post("/v4/memories/forget-matching", containerTag=TAG, **fields)

    asked = {"query": "zebra calm", "dryRun": True}
    counts = [(await forget(threshold=level, **asked))["count"] for level in (0, 0.5, 0.9, 1)]
    assert counts == sorted(counts, reverse=True) and counts[0] == 6
    assert (await forget(threshold=0, maxForget=2, **asked))["count"] == 2
    dry = await forget(ids=ids[:3], dryRun=True)
    assert (dry["count"], dry["forgetBatchId"]) == (3, None) and "forgotten" not in dry
    done = await forget(ids=[*ids[:3], "mem_unknown"])
    assert [each["id"] for each in done["forgotten"]] == ids[:3] and done["forgetBatchId"]
    assert {each["id"] for each in await v4.search("zebra")} == set(ids[3:])


async def test_memories_are_listed_in_pages_by_time(api: V4 | V5):
    ids = [await api.keep(f"The zebra {n} is calm.", metadata={"n": str(n)}) for n in range(5)]
    await api.keep("The zebra elsewhere is calm.", "elsewhere")
    pages = [await api.memories(page=n, limit=2, order="asc") for n in (1, 2, 3, 4)]
    assert [[each["id"] for each in page["rows"]] for page in pages] == [ids[:2], ids[2:4], ids[4:], []]
    assert pages[0]["pagination"] == {"currentPage": 1, "limit": 2, "totalItems": 5, "totalPages": 3}
    (newest,) = (await api.memories(limit=1))["rows"]
    assert newest["id"] == ids[4] and newest["isLatest"] and not newest["isForgotten"]
    assert [each["id"] for each in (await api.memories(**api.only("n", "3")))["rows"]] == [ids[3]]


async def test_a_list_has_the_newest_versions_and_on_request_forgotten_ones(api: V4 | V5, v5: V5):
    id = await api.keep("The port is 8080.", metadata={"team": "ops"})
    newer = (await api.revise(id, "The port is 9090."))["id"]
    gone = await api.keep("The alarm rings in room 4711.")
    await api.forget(id=gone)
    assert [each["id"] for each in (await api.memories())["rows"]] == [newer]
    every = (await v5.memories(include={"forgotten": True}))["rows"]
    assert {each["id"]: each["isForgotten"] for each in every} == {newer: False, gone: True}


async def test_version_5_reads_a_memory_with_its_versions_and_its_document(v5: V5):
    await v5.add("The port is 8080.", id="port", metadata={"team": "ops"})
    first = (await v5.memories())["rows"][0]["id"]
    second = (await v5.revise(first, "The port is 9090."))["id"]
    third = (await v5.revise(second, "The port is 7070."))["id"]

    async def read(id: str, status: int = 200, **params: Any) -> dict[str, Any]:
        return await v5.call("GET", f"/ns/{TAG}/memories/{id}", status, params=params)

    def ids(shown: dict[str, Any], side: str) -> list[str]:
        return [each["id"] for each in shown["included"]["related"][side]]

    plain = await read(second)
    assert (plain["memory"], plain["version"], plain["isLatest"]) == ("The port is 9090.", 2, False)
    assert "included" not in plain
    shown = await read(second, include="related,documents")
    assert (ids(shown, "parents"), ids(shown, "children")) == ([first], [third])
    oldest = await read(first, include="related,documents")
    assert oldest["included"]["document"]["metadata"] == {"team": "ops"}
    assert ids(oldest, "children") == [second, third]
    assert ids(await read(first, include="related", relatedLimit=1), "children") == [second]
    alone = await v5.keep("The host is web1.")
    for include, keys in (("related", {"related"}), ("documents", set())):
        assert (await read(alone, include=include))["included"].keys() == keys
    await read(alone, 400, include="children")
    await read(alone, 400, relatedLimit=101)
