"""`/v4/memories`: creating, new versions, forgetting one or many, listing, and tags that nothing crosses."""

from __future__ import annotations

import httpx2
import pytest
from said import document, fact, turn
from v4_calls import TAG, keep, post, said, search, send

from scrubjay.engine.engine import Engine
from scrubjay.models.records import Memory


async def test_created_memories_are_found_at_once_and_named_in_their_order(http: httpx2.AsyncClient):
    given = [
        {"content": f"The zebra number {n} is calm.", "isStatic": n == 1, "metadata": {"n": n}}
        for n in range(3)
    ]
    made = await post(http, "/v4/memories", 201, containerTag=TAG, memories=given)
    assert made["documentId"] is None and set(made) == {"documentId", "memories"}
    assert [each["memory"] for each in made["memories"]] == [each["content"] for each in given]
    assert [each["isStatic"] for each in made["memories"]] == [False, True, False]
    assert {"id", "memory", "isStatic", "createdAt"} == set(made["memories"][0])
    assert {each["id"] for each in await search(http, "zebra calm")} == {
        each["id"] for each in made["memories"]
    }


async def test_a_repeated_call_creates_nothing(http: httpx2.AsyncClient):
    once, again = [await keep(http, "The zebra is calm.") for _ in range(2)]
    assert once == again and len(await search(http, "zebra")) == 1


async def test_secrets_are_replaced_before_a_memory_is_kept(http: httpx2.AsyncClient):
    await keep(http, "The zebra's key is ghp_0123456789abcdefABCDEF0123456789abcd.")
    (found,) = await search(http, "zebra key")
    assert "ghp_" not in found["memory"]


async def test_a_new_version_hides_the_old_one_and_keeps_the_chain(http: httpx2.AsyncClient):
    first = await keep(http, "The zebra lives in Lisbon.", metadata={"about": "home"}, isStatic=True)
    second = await send(
        http, "PATCH", "/v4/memories", containerTag=TAG, id=first, newContent="The zebra lives in Porto."
    )
    assert set(second) == {
        "id", "memory", "version", "parentMemoryId", "rootMemoryId", "createdAt", "metadata", "forgetAfter", "forgetReason"
    }  # fmt: skip
    assert (second["version"], second["parentMemoryId"], second["rootMemoryId"]) == (2, first, first)
    assert second["metadata"] == {"about": "home"}
    third = await send(
        http,
        "PATCH",
        "/v4/memories",
        containerTag=TAG,
        id=first,
        newContent="The zebra lives in Faro.",
        metadata={},
    )
    assert (third["version"], third["parentMemoryId"], third["rootMemoryId"]) == (
        3,
        second["id"],
        first,
    ) and third["metadata"] is None
    assert said(await search(http, "zebra lives")) == ["The zebra lives in Faro."]
    (entry,) = (await post(http, "/v4/memories/list", containerTags=[TAG]))["memoryEntries"]
    assert entry["isStatic"] and [each["version"] for each in entry["history"]] == [2, 1]


async def test_nothing_new_makes_no_new_version(http: httpx2.AsyncClient):
    id = await keep(http, "The zebra lives in Lisbon.")
    again = await send(
        http, "PATCH", "/v4/memories", containerTag=TAG, id=id, newContent="The zebra lives in Lisbon."
    )
    assert (again["id"], again["version"]) == (id, 1)


async def test_a_memory_is_addressed_by_its_exact_words(http: httpx2.AsyncClient):
    await keep(http, "The zebra lives in Lisbon.")
    old, new = "The zebra lives in Lisbon.", "The zebra lives in Porto."
    await send(http, "PATCH", "/v4/memories", containerTag=TAG, content=old, newContent=new)
    gone = await send(http, "DELETE", "/v4/memories", containerTag=TAG, content=new, reason="moved away")
    assert gone["forgotten"] is True and await search(http, "zebra lives") == []
    await send(http, "DELETE", "/v4/memories", 404, containerTag=TAG, content="The zebra lives nowhere.")


async def test_an_expiry_is_inherited_and_null_clears_it_with_its_reason(http: httpx2.AsyncClient):
    id = await keep(
        http, "The zebra sale is on.", forgetAfter="2027-01-01T00:00:00Z", forgetReason="it ends then"
    )
    kept = await send(
        http, "PATCH", "/v4/memories", containerTag=TAG, id=id, newContent="The zebra sale goes on."
    )
    assert kept["forgetAfter"].startswith("2027-01-01") and kept["forgetReason"] == "it ends then"
    later = await send(
        http,
        "PATCH",
        "/v4/memories",
        containerTag=TAG,
        id=id,
        newContent="The zebra sale lasts.",
        forgetAfter="2028-01-01",
        forgetReason="new",
    )
    assert later["forgetAfter"].startswith("2028-01-01") and later["forgetReason"] == "new"
    ever = await send(
        http,
        "PATCH",
        "/v4/memories",
        containerTag=TAG,
        id=id,
        newContent="The zebra sale never ends.",
        forgetAfter=None,
    )
    assert ever["forgetAfter"] is None and ever["forgetReason"] is None


async def test_temporal_context_is_metadata_and_outlives_other_metadata(http: httpx2.AsyncClient):
    id = await keep(
        http,
        "The zebra arrives.",
        temporalContext={"documentDate": "2026-01-02", "eventDate": ["2026-02-03"]},
    )
    new = await send(
        http,
        "PATCH",
        "/v4/memories",
        containerTag=TAG,
        id=id,
        newContent="The zebra arrived.",
        metadata={"a": 1},
    )
    assert new["metadata"] == {
        "a": 1,
        "documentDate": "2026-01-02T00:00:00.000Z",
        "eventDate": ["2026-02-03T00:00:00.000Z"],
    }
    changed = {"eventDate": ["2026-03-04"]}
    new = await send(
        http,
        "PATCH",
        "/v4/memories",
        containerTag=TAG,
        id=id,
        newContent="The zebra came.",
        temporalContext=changed,
    )
    assert new["metadata"]["eventDate"] == ["2026-03-04T00:00:00.000Z"] and new["metadata"]["a"] == 1


async def test_forgetting_keeps_the_record_with_its_reason(http: httpx2.AsyncClient, engine: Engine):
    id = await keep(http, "The zebra is calm.")
    for _ in range(2):
        assert await send(http, "DELETE", "/v4/memories", containerTag=TAG, id=id, reason="it is not") == {
            "id": id,
            "forgotten": True,
        }
    record = (await (await engine.core()).store.get(Memory, [id]))[id]
    assert record.forget_reason == "it is not" and record.content == "The zebra is calm."
    await send(http, "PATCH", "/v4/memories", 404, containerTag=TAG, id=id, newContent="The zebra is wild.")
    assert (await post(http, "/v4/memories/list", containerTag=TAG))["memoryEntries"] == []


async def test_an_older_version_means_the_newest(http: httpx2.AsyncClient):
    first = await keep(http, "The zebra lives in Lisbon.")
    second = await send(
        http, "PATCH", "/v4/memories", containerTag=TAG, id=first, newContent="The zebra lives in Porto."
    )
    assert (await send(http, "DELETE", "/v4/memories", containerTag=TAG, id=first))["id"] == second["id"]
    assert await search(http, "zebra") == []


async def test_a_documents_id_is_accepted_where_a_memorys_is_expected(
    http: httpx2.AsyncClient, engine: Engine
):
    core = await engine.core()
    short = (await document(core, "The zebra is calm.", scope=TAG, task_type="memory")).id
    new = await send(
        http, "PATCH", "/v4/memories", containerTag=TAG, id=short, newContent="The zebra is wild."
    )
    assert new["version"] == 2
    other = (await document(core, "The walrus queue drains.", scope=TAG, task_type="memory")).id
    assert await send(http, "DELETE", "/v4/memories", containerTag=TAG, id=other) == {
        "id": other,
        "forgotten": True,
    }
    assert not any("walrus" in text for text in said(await search(http, "walrus queue", searchMode="hybrid")))
    said_once = (await turn(core, "s1", scope=TAG, user="Is the zebra calm?")).id
    refused = await send(http, "PATCH", "/v4/memories", 400, containerTag=TAG, id=said_once, newContent="No.")
    assert "turn" in refused["error"]


async def test_an_id_of_another_tag_is_404(http: httpx2.AsyncClient):
    id = await keep(http, "The zebra is calm.", "mine")
    await send(
        http, "PATCH", "/v4/memories", 404, containerTag="other", id=id, newContent="The zebra is wild."
    )
    await send(http, "DELETE", "/v4/memories", 404, containerTag="other", id=id)
    await send(http, "DELETE", "/v4/memories", 404, containerTag="other", content="The zebra is calm.")
    none = await post(http, "/v4/memories/forget-matching", containerTag="other", ids=[id])
    assert none["count"] == 0 and "1 of the ids" in none["summary"]
    assert len(await search(http, "zebra", "mine")) == 1


async def test_the_users_own_facts_are_out_of_reach(http: httpx2.AsyncClient, engine: Engine):
    id = (await fact(await engine.core(), "The user's zebra is calm.", scope="user")).id
    await send(http, "DELETE", "/v4/memories", 404, id=id)
    for path, more in (
        ("/v4/memories/list", {}),
        ("/v4/profile", {}),
        ("/v4/memories", {"memories": [{"content": "x"}]}),
    ):
        await post(http, path, 400, containerTag="user", **more)


async def test_a_query_forgets_at_once_what_it_is_about_and_a_dry_run_only_shows_it(http: httpx2.AsyncClient):
    zebra = await keep(http, "The zebra cache holds forty entries.")
    await keep(http, "Lunch is at noon.")
    await keep(http, "The zebra cache holds forty entries.", "elsewhere")
    query = {"containerTag": TAG, "query": "zebra cache holds forty entries"}
    dry = await post(http, "/v4/memories/forget-matching", dryRun=True, **query)
    assert dry["dryRun"] and dry["forgetBatchId"] is None and dry["count"] == 1 and "forgotten" not in dry
    assert dry["candidates"] == [
        {
            "id": zebra,
            "memory": "The zebra cache holds forty entries.",
            "score": dry["candidates"][0]["score"],
        }
    ]
    done = await post(http, "/v4/memories/forget-matching", reason="stale", **query)
    assert done["forgotten"] == dry["candidates"] and done["forgetBatchId"] and "candidates" not in done
    assert said(await search(http, "zebra lunch")) == ["Lunch is at noon."]
    assert len(await search(http, "zebra", "elsewhere")) == 1
    assert (await post(http, "/v4/memories/forget-matching", **query))["count"] == 0


async def test_a_query_forgets_neither_more_than_asked_nor_what_is_less_similar(http: httpx2.AsyncClient):
    for n in range(6):
        await keep(http, f"The zebra {n} is {'very ' * n}calm.")
    asked = {"containerTag": TAG, "query": "zebra calm", "dryRun": True}
    counts = [
        (await post(http, "/v4/memories/forget-matching", threshold=level, **asked))["count"]
        for level in (0, 0.5, 0.9, 1)
    ]
    assert counts == sorted(counts, reverse=True) and counts[0] == 6
    assert (await post(http, "/v4/memories/forget-matching", threshold=0, maxForget=2, **asked))["count"] == 2


async def test_ids_are_forgotten_together(http: httpx2.AsyncClient):
    ids = [await keep(http, f"The zebra {n} is calm.") for n in range(4)]
    assert (await post(http, "/v4/memories/forget-matching", containerTag=TAG, ids=ids[:3], dryRun=True))[
        "count"
    ] == 3
    done = await post(http, "/v4/memories/forget-matching", containerTag=TAG, ids=[*ids[:3], "mem_unknown"])
    assert [each["id"] for each in done["forgotten"]] == ids[:3]
    assert [each["id"] for each in await search(http, "zebra")] == ids[3:]


async def test_the_list_comes_in_pages_and_by_time(http: httpx2.AsyncClient):
    ids = [await keep(http, f"The zebra {n} is calm.", metadata={"n": n}) for n in range(5)]
    await keep(http, "The zebra elsewhere is calm.", "elsewhere")
    pages = [
        await post(http, "/v4/memories/list", containerTags=[TAG], page=n, limit=2, order="asc")
        for n in (1, 2, 3, 4)
    ]
    assert [[each["id"] for each in page["memoryEntries"]] for page in pages] == [
        ids[:2],
        ids[2:4],
        ids[4:],
        [],
    ]
    assert pages[0]["pagination"] == {"currentPage": 1, "limit": 2, "totalItems": 5, "totalPages": 3}
    newest = (await post(http, "/v4/memories/list", containerTag=TAG, limit=1))["memoryEntries"][0]
    assert (
        newest["id"] == ids[4]
        and newest["isLatest"]
        and not newest["isForgotten"]
        and newest["documentIds"] == []
    )
    only = await post(
        http, "/v4/memories/list", containerTag=TAG, filters={"AND": [{"key": "n", "value": "3"}]}
    )
    assert [each["id"] for each in only["memoryEntries"]] == [ids[3]]
    same = await http.get("/v4/memories", params={"containerTag": TAG, "limit": 2})
    assert [each["id"] for each in same.json()["memoryEntries"]] == ids[:2:-1]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v4/memories", {"memories": []}),
        ("POST", "/v4/memories", {"memories": [{"content": ""}]}),
        ("POST", "/v4/memories", {"memories": [{"content": "x" * 10_001}]}),
        ("POST", "/v4/memories", {"memories": [{"content": "x", "metadata": {"a": {"b": 1}}}]}),
        ("POST", "/v4/memories", {"memories": [{"content": "x"}] * 101}),
        ("PATCH", "/v4/memories", {"id": "mem_x"}),
        ("PATCH", "/v4/memories", {"newContent": "x"}),
        ("PATCH", "/v4/memories", {"id": "mem_x", "newContent": "x", "forgetAfter": "soon"}),
        ("DELETE", "/v4/memories", {}),
        ("POST", "/v4/memories/forget-matching", {}),
        ("POST", "/v4/memories/forget-matching", {"query": "x", "ids": ["y"]}),
        ("POST", "/v4/memories/forget-matching", {"query": "x", "maxForget": 501}),
        ("POST", "/v4/memories/list", {"page": 0}),
    ],
)
async def test_what_is_out_of_range_is_refused_with_400_and_a_sentence(
    http: httpx2.AsyncClient, method: str, path: str, body: dict
):
    assert (await send(http, method, path, 400, containerTag=TAG, **body))["error"]
