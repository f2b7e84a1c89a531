"""Version 5, memories: read with what they are linked to, listed, and forgotten one by one or by what they
are about.
"""

from __future__ import annotations

import httpx2
import pytest
from v5_calls import NS, add, call, document, keep, listed, post, revise, said, search


async def test_a_memory_is_read_with_its_versions_and_its_document(http: httpx2.AsyncClient) -> None:
    await add(http, "The port is 8080.", id="port", metadata={"team": "ops"})
    first = (await document(http, "port", "memories"))["memories"][0]["id"]
    second = await revise(http, first, "The port is 9090.")
    third = await revise(http, second, "The port is 7070.")
    plain = await call(http, "GET", f"/ns/{NS}/memories/{second}")
    assert (plain["memory"], plain["version"], plain["isLatest"]) == (
        "The port is 9090.",
        2,
        False,
    ) and "included" not in plain
    params = {"include": "related,documents"}
    shown = await call(http, "GET", f"/ns/{NS}/memories/{second}", params=params)
    related = shown["included"]["related"]
    assert [each["id"] for each in related["parents"]] == [first] and [
        each["id"] for each in related["children"]
    ] == [third]
    oldest = await call(http, "GET", f"/ns/{NS}/memories/{first}", params=params)
    assert oldest["included"]["document"]["metadata"] == {"team": "ops"}
    assert [each["id"] for each in oldest["included"]["related"]["children"]] == [second, third]
    assert (
        len(
            (await call(http, "GET", f"/ns/{NS}/memories/{first}", params={**params, "relatedLimit": 1}))[
                "included"
            ]["related"]["children"]
        )
        == 1
    )


async def test_only_what_is_asked_for_is_included(http: httpx2.AsyncClient) -> None:
    id = await keep(http, "The port is 8080.")
    for include, keys in (("related", {"related"}), ("documents", set())):
        shown = await call(http, "GET", f"/ns/{NS}/memories/{id}", params={"include": include})
        assert shown["included"].keys() == keys
    await call(http, "GET", f"/ns/{NS}/memories/{id}", 400, params={"include": "children"})
    await call(http, "GET", f"/ns/{NS}/memories/{id}", 400, params={"relatedLimit": 101})


async def test_each_id_that_is_forgotten_stands_for_itself(http: httpx2.AsyncClient) -> None:
    id = await keep(http, "The alarm rings in room 4711.")
    answer = await call(http, "DELETE", f"/ns/{NS}/memories", json={"ids": [id, "nope", id]})
    assert (
        answer["matches"] == [{"id": id, "memory": "The alarm rings in room 4711."}] and answer["count"] == 1
    )
    assert [each["id"] for each in answer["errors"]] == ["nope"]
    assert (await call(http, "GET", f"/ns/{NS}/memories/{id}"))["isForgotten"] is True
    assert (await call(http, "DELETE", f"/ns/{NS}/memories", json={"ids": [id]}))["count"] == 1
    assert await search(http, "alarm code") == []


async def test_a_query_forgets_what_its_dry_run_lists(http: httpx2.AsyncClient) -> None:
    await keep(http, "The old pricing plan costs nine euros.")
    await keep(http, "Herons stand in the river.")
    asked = {"query": "The old pricing plan costs nine euros."}
    listed_first = await call(http, "DELETE", f"/ns/{NS}/memories/semantic", json={**asked, "dryRun": True})
    assert [each["memory"] for each in listed_first["matches"]] == ["The old pricing plan costs nine euros."]
    assert len(await search(http, "old pricing plan")) >= 1
    forgotten = await call(http, "DELETE", f"/ns/{NS}/memories/semantic", json={**asked, "dryRun": False})
    assert forgotten == listed_first
    assert said(await search(http, "old pricing plan river")) == ["Herons stand in the river."]


@pytest.mark.parametrize(
    "body", [{"query": "x"}, {"dryRun": True}, {"query": "", "dryRun": True}, {"query": "x", "dryRun": "yes"}]
)
async def test_a_query_needs_to_say_whether_it_is_meant(
    http: httpx2.AsyncClient, body: dict[str, object]
) -> None:
    await call(http, "DELETE", f"/ns/{NS}/memories/semantic", 400, json=body)


async def test_what_version_5_does_not_have_names_the_route_of_version_4(http: httpx2.AsyncClient) -> None:
    id = await keep(http, "Alex lives in Graz.")
    added = await post(http, "memories", 404, memories=[{"content": "Alex is on leave."}])
    assert "POST /v4/memories" in added["error"]
    changed = await call(
        http, "PATCH", f"/ns/{NS}/memories/{id}", 404, json={"content": "Alex lives in Linz."}
    )
    assert "PATCH /v4/memories" in changed["error"]
    assert said(await search(http, "Alex")) == ["Alex lives in Graz."]


async def test_a_memory_of_another_namespace_is_not_there(http: httpx2.AsyncClient) -> None:
    id = await keep(http, "Alex's secret.")
    await call(http, "GET", f"/ns/sam/memories/{id}", 404)
    assert (await call(http, "DELETE", "/ns/sam/memories", json={"ids": [id]}))["count"] == 0
    assert (
        await call(
            http, "DELETE", "/ns/sam/memories/semantic", json={"query": "Alex's secret.", "dryRun": False}
        )
    )["count"] == 0
    assert said(await search(http, "secret")) == ["Alex's secret."]


async def test_the_id_of_a_document_is_no_memory(http: httpx2.AsyncClient) -> None:
    id = await add(http, "A document.", taskType="superrag")
    await call(http, "GET", f"/ns/{NS}/memories/{id}", 404)
    assert (await call(http, "DELETE", f"/ns/{NS}/memories", json={"ids": [id]}))["errors"][0]["id"] == id


# -- lists ---------------------------------------------------------------------------------------------------


async def test_pages_of_documents_hold_each_once_in_order(http: httpx2.AsyncClient) -> None:
    ids = [await add(http, f"Document {n}.") for n in range(5)]
    pages = [await listed(http, "documents", page=page, limit=2) for page in (1, 2, 3, 4)]
    assert [each["id"] for page in pages for each in page["documents"]] == ids[::-1]
    assert pages[0]["pagination"] == {"currentPage": 1, "limit": 2, "totalItems": 5, "totalPages": 3}
    assert all(page["chunks"] == page["memories"] == [] for page in pages)
    rising = await listed(http, "documents", order="asc", sort="updatedAt", limit=100)
    assert [each["id"] for each in rising["documents"]] == ids


async def test_a_document_in_a_list_brings_what_is_asked_for(http: httpx2.AsyncClient) -> None:
    await add(http, "https://example.org/page")
    (plain,) = (await listed(http, "documents"))["documents"]
    assert "content" not in plain and "memoryCount" not in plain["system"] and plain["url"] is None
    (whole,) = (await listed(http, "documents", body={"include": {"content": True, "memoryCount": True}}))[
        "documents"
    ]
    assert (
        whole["content"] == whole["url"] == "https://example.org/page" and whole["system"]["memoryCount"] == 1
    )


async def test_chunks_are_listed_by_their_place(http: httpx2.AsyncClient) -> None:
    text = "\n\n".join(f"# Part {n}\n\n" + f"Sentence {n} says something of its own. " * 40 for n in range(3))
    id = await add(http, text, taskType="superrag", metadata={"lang": "en"})
    found = await listed(http, "chunks", sort="position", order="asc", limit=100)
    assert [each["position"] for each in found["chunks"]] == list(range(len(found["chunks"]))) and len(
        found["chunks"]
    ) >= 3
    assert {each["documentId"] for each in found["chunks"]} == {id} and found["chunks"][0]["metadata"] == {
        "lang": "en"
    }
    none = await listed(http, "chunks", body={"filter": {"field": "lang", "operator": "neq", "value": "en"}})
    assert none["chunks"] == [] and none["pagination"]["totalPages"] == 0
    await call(http, "POST", f"/ns/{NS}/list/documents", 400, params={"sort": "position"})


async def test_memories_are_listed_in_their_latest_version(http: httpx2.AsyncClient) -> None:
    id = await keep(http, "The port is 8080.", metadata={"team": "ops"})
    newer = await revise(http, id, "The port is 9090.")
    gone = await keep(http, "The alarm rings in room 4711.")
    await call(http, "DELETE", f"/ns/{NS}/memories", json={"ids": [gone]})
    assert [each["id"] for each in (await listed(http, "memories"))["memories"]] == [newer]
    every = (await listed(http, "memories", body={"include": {"forgotten": True}}))["memories"]
    assert {each["id"]: each["isForgotten"] for each in every} == {newer: False, gone: True}
    ops = {"filter": {"field": "team", "operator": "eq", "value": "ops"}, "include": {"forgotten": True}}
    assert [each["id"] for each in (await listed(http, "memories", body=ops))["memories"]] == [newer]


async def test_a_list_needs_no_body(http: httpx2.AsyncClient) -> None:
    await add(http, "One.")
    assert len((await call(http, "POST", f"/ns/{NS}/list/documents"))["documents"]) == 1
    assert (await listed(http, "documents", ns="sam"))["documents"] == []


@pytest.mark.parametrize(
    "query", [{"page": 0}, {"limit": 0}, {"limit": 101}, {"sort": "title"}, {"order": "up"}, {"page": "x"}]
)
async def test_pages_that_there_are_not_are_refused(
    http: httpx2.AsyncClient, query: dict[str, object]
) -> None:
    await call(http, "POST", f"/ns/{NS}/list/memories", 400, params=query, json={})


async def test_there_are_three_lists(http: httpx2.AsyncClient) -> None:
    await call(http, "POST", f"/ns/{NS}/list/turns", 400, json={})


async def test_the_memories_of_documents_are_counted(http: httpx2.AsyncClient) -> None:
    one, two = await add(http, "One fact."), await add(http, "No fact.", taskType="superrag")
    elsewhere = await add(http, "Sam's fact.", ns="sam")
    answer = await call(
        http, "POST", f"/ns/{NS}/list/documents/memory-counts", json={"ids": [one, two, elsewhere, "nope"]}
    )
    assert answer == {"counts": [{"id": one, "memoryCount": 1}, {"id": two, "memoryCount": 0}]}
