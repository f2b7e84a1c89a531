"""Stories of supermemory's Python client 5.0.1: what its README does, then each of its calls except those of
a hosted service. See `telling`; every story has a namespace of its own.
"""

from __future__ import annotations

import asyncio
import io
from typing import Any

import httpx
import supermemory
from supermemory import AsyncSupermemory, Supermemory
from telling import refused, tell, until, whole


def done(client: Supermemory, namespace: str, id: str) -> Any:
    """The document with its chunks and memories, once it is processed; it exists from the start."""

    def look() -> Any:
        seen = client.documents.get(namespace, id, include=["chunks", "memories"])
        return seen.system.status in ("done", "failed") and seen

    return until(look, f"{id} is done")


def fact(client: Supermemory, namespace: str, text: str, **fields: Any) -> str:
    """The id of the memory that a short text becomes."""
    (memory,) = done(client, namespace, client.add(namespace, content=text, **fields).id).memories
    return str(memory.id)


# -- its README ----------------------------------------------------------------------------------------------


def it_adds_and_searches_as_its_readme_does(client: Supermemory) -> None:
    added = whole(client.add("user_alex", content="Alex prefers morning meetings.", id="pref-1"))
    assert added.status == "queued"
    response = whole(client.search("user_alex", query="when does alex like to meet?", limit=5))
    result = response.results[0]
    assert "morning meetings" in (result.memory or result.chunk)
    assert result.is_latest and not result.is_inference
    assert 0 < result.similarity <= 1 and response.search_time >= 0 and result.system.updated_at
    assert client.add("user_alex", content="Alex prefers morning meetings.", id="pref-1").id == added.id


def it_asks_asynchronously(client: Supermemory) -> None:
    async def main() -> None:
        async with AsyncSupermemory() as waiting:
            profile, results = await asyncio.gather(
                waiting.profile("user_bo"), waiting.search("user_bo", query="upcoming meetings")
            )
            assert whole(profile).profile.static == [] and whole(results).results == []

    asyncio.run(main())


def it_filters_as_its_readme_does(client: Supermemory) -> None:
    for source, priority in (("slack", 1), ("slack", 3), ("mail", 5)):
        text = f"Launch plans of priority {priority} from {source}."
        client.add("plans", content=text, metadata={"source": source, "priority": priority})
    conditions = (("source", "eq", "slack"), ("priority", "gte", 3))
    operands = [dict(zip(("field", "operator", "value"), each, strict=True)) for each in conditions]
    wanted = {"operator": "and", "operands": operands}
    found = whole(client.search("plans", query="launch plans", filter=wanted)).results
    assert {(row.metadata["source"], row.metadata["priority"]) for row in found} == {("slack", 3)}
    (row,) = client.list("plans", "documents", filter=wanted).documents
    assert row.metadata["priority"] == 3
    (row,) = client.profile("plans", filter=wanted).profile.dynamic
    assert row.memory == "Launch plans of priority 3 from slack."


def it_lists_as_its_readme_does(client: Supermemory) -> None:
    for n in range(3):
        client.add("pages", content=f"Page {n} of the ledger.")
    page = whole(client.list("pages", "documents", page=1, limit=2, sort="createdAt", order="desc"))
    assert len(page.documents) == 2 and page.chunks == page.memories == []
    facts = page.pagination
    assert (facts.current_page, facts.limit, facts.total_items, facts.total_pages) == (1, 2, 3, 2)


def it_uploads_a_file_as_its_readme_does(client: Supermemory) -> None:
    file = io.BytesIO(b"# Notes\n\nThe curlew calls at night.\n")
    file.name = "notes.md"
    added = whole(client.documents.upload_file("uploads", file=file))
    assert "curlew" in done(client, "uploads", added.id).content


def it_maps_refusals_to_its_own_exceptions(client: Supermemory) -> None:
    for call in (
        lambda: client.documents.get("user_alex", "missing-id"),
        lambda: client.memories.get("user_alex", "missing-id"),
        lambda: client.connectors.list_all(),
    ):
        refused(supermemory.NotFoundError, 404, call)
    for call in (
        lambda: client.search("user_alex", query=""),
        lambda: client.search("user_alex", query="x", limit=101),
        lambda: client.add("user", content="x"),
    ):
        refused(supermemory.BadRequestError, 400, call)


def it_takes_options_for_one_request(client: Supermemory) -> None:
    client.with_options(max_retries=0, timeout=httpx.Timeout(30.0)).search("user_alex", query="...")
    client.search("user_alex", query="...", extra_headers={"X-Trace": "1"}, timeout=30)
    raw = client.with_raw_response.search("user_alex", query="...")
    assert raw.headers["content-type"] == "application/json" and whole(raw.parse())


# -- documents -----------------------------------------------------------------------------------------------


def it_takes_every_field_of_an_add(client: Supermemory) -> None:
    added = client.add(
        "fields",
        content="The gannet dives from thirty metres.",
        id="gannet-1",
        supporting_context="Notes on sea birds.",
        metadata={"kind": "bird", "wings": 2, "seen": True, "places": ["rock", "sea"]},
        group={"kind": "bird"},
        date="2026-01-02T03:04:05Z",
        task_type="memory",
        dreaming="instant",
    )
    document = whole(done(client, "fields", added.id))
    assert (document.system.status, document.system.dreaming_status) == ("done", "done")
    assert document.type == "text"
    assert document.metadata == {"kind": "bird", "wings": 2, "seen": True, "places": ["rock", "sea"]}
    (chunk,), (memory,) = document.chunks, document.memories
    assert document.content == chunk.content == memory.memory == "The gannet dives from thirty metres."
    assert document.chunks[0].position == 0 and document.memories[0].version == 1 and document.summary
    assert client.documents.get("fields", "gannet-1").id == added.id
    bare = client.documents.get("fields", added.id)
    assert bare.chunks is None and bare.memories is None
    assert whole(client.documents.update("fields", added.id, content="The gannet flew.")).id == added.id
    assert client.documents.get("fields", "gannet-1").content == "The gannet flew."


def it_deletes_documents(client: Supermemory) -> None:
    ids = [client.add("delete", content=f"Rail {n} of the reeds.").id for n in range(2)]
    gone = whole(client.documents.delete("delete", ids=[*ids, "missing-id"]))
    assert gone.count == 2 and [error.id for error in gone.errors] == ["missing-id"] and gone.errors[0].error
    refused(supermemory.NotFoundError, 404, lambda: client.documents.get("delete", ids[0]))
    assert client.search("delete", query="rail of the reeds", threshold=0).results == []


def it_adds_many_at_once(client: Supermemory) -> None:
    documents = [
        {"content": f"Bird number {n} is a wren.", "id": f"wren-{n}", "metadata": {"n": n}} for n in range(3)
    ]
    added = whole(client.documents.batch_add("batch", documents=documents, task_type="superrag"))
    assert (added.count, added.failed, len(added.results)) == (3, 0, 3)
    document = done(client, "batch", added.results[1].id)
    assert document.metadata == {"n": 1} and document.memories == []  # of the task superrag


def it_uploads_replaces_and_updates_files(client: Supermemory) -> None:
    def file(text: str) -> tuple[str, bytes, str]:
        return "bird.txt", text.encode(), "text/plain"

    def shown() -> tuple[str, Any]:
        document = done(client, "files", added.id)
        return document.content.strip(), document.metadata

    fields = {"supporting_context": "Birds of the beach.", "metadata": '{"n": 1}', "group": '{"n": 1}'}
    fields |= {"date": "2026-01-02T03:04:05Z", "task_type": "memory", "dreaming": "instant"}
    fields |= {"file_type": "text", "mime_type": "text/plain"}
    added = client.documents.upload_file("files", file=file("The sanderling runs."), **fields)
    assert shown() == ("The sanderling runs.", {"n": 1})
    replaced = client.documents.replace_with_file("files", added.id, file=file("The turnstone turns stones."))
    assert whole(replaced).id == added.id and shown()[0] == "The turnstone turns stones."
    updated = whole(client.documents.update_file("files", added.id, metadata='{"n": 2}'))
    assert updated.id == added.id and shown() == ("The turnstone turns stones.", {"n": 2})
    client.documents.update_file("files", added.id, file=file("The phalarope spins."))
    assert shown()[0] == "The phalarope spins."


def it_lists_every_type(client: Supermemory) -> None:
    added = client.add("types", content="The wigeon whistles.", metadata={"n": 1})
    client.memories.forget("types", ids=[fact(client, "types", "The teal is forgotten.")])
    extras = {"content": True, "memory_count": True, "forgotten": True}
    rows = whole(client.list("types", "documents", include=extras)).documents
    row = next(row for row in rows if row.id == added.id)
    assert row.content == "The wigeon whistles." and row.system.memory_count == 1 and row.metadata == {"n": 1}
    bare = next(row for row in client.list("types", "documents").documents if row.id == added.id)
    assert bare.content is None and bare.system.memory_count is None
    chunk = next(row for row in whole(client.list("types", "chunks")).chunks if row.document_id == added.id)
    assert chunk.content == "The wigeon whistles." and chunk.position == 0
    (memory,) = whole(client.list("types", "memories")).memories
    assert memory.memory == "The wigeon whistles."
    every = whole(client.list("types", "memories", include=extras)).memories
    forgotten = {row.memory: row.is_forgotten for row in every}
    assert forgotten == {"The wigeon whistles.": False, "The teal is forgotten.": True}


# -- searches, memories and profiles -------------------------------------------------------------------------


def it_searches_with_every_field(client: Supermemory) -> None:
    id = fact(client, "search", "The osprey takes fish from the brindlewater.", metadata={"kind": "raptor"})
    include = {"documents": True, "related": True, "forgotten": True}
    for mode in ("memories", "hybrid", "chunks"):
        for rerank in ("none", "order", "aggregate"):
            options = {"search_mode": mode, "limit": 3, "include": include, "threshold": 0.0}
            options |= {"rerank": rerank, "rewrite_query": True}
            (row,) = whole(client.search("search", query="fish of the brindlewater", **options)).results
            texts = (row.chunk, row.memory) if mode == "chunks" else (row.memory, row.chunk)
            assert texts == ("The osprey takes fish from the brindlewater.", None)
            assert row.included.document.id
            assert mode == "chunks" or (row.id == id and row.included.related.parents == [])
    assert client.search("search", query="fish of the brindlewater").results[0].included is None


def it_gets_and_forgets_memories(client: Supermemory) -> None:
    ids = [fact(client, "forget", f"Memory {word} of the marsh.") for word in ("one", "two", "three")]
    memory = whole(client.memories.get("forget", ids[0], include=["related", "documents"], related_limit=5))
    assert memory.memory == "Memory one of the marsh." and memory.is_latest and not memory.is_forgotten
    assert memory.included.document.id and memory.included.related.parents == []
    gone = whole(client.memories.forget("forget", ids=[ids[0], "missing-id"]))
    assert (gone.count, gone.matches[0].memory) == (1, "Memory one of the marsh.")
    assert gone.errors[0].id == "missing-id"
    preview = whole(client.memories.forget_matching("forget", query="memory two of the marsh", dry_run=True))
    assert ids[1] in {match.id for match in preview.matches} and preview.count == len(preview.matches)
    assert not client.memories.get("forget", ids[1]).is_forgotten
    client.memories.forget_matching("forget", query="memory two of the marsh", dry_run=False)
    found = client.search("forget", query="memory two", search_mode="memories", threshold=0).results
    assert ids[1] not in {row.id for row in found}


def it_keeps_buckets_of_a_profile(client: Supermemory) -> None:
    food = {"food": "What they like to eat"}
    both = {**food, "work": "Their job"}
    assert whole(client.profiles.set_buckets("buckets", buckets=both)).buckets == both
    assert whole(client.profiles.delete_buckets("buckets", buckets=["work"])).buckets == food
    assert whole(client.profiles.get_buckets("buckets")).buckets == food
    client.add("buckets", content="Mara likes to eat plums.")
    profile = whole(client.profile("buckets", buckets=["food"])).profile
    assert [row.memory for row in profile.dynamic] == ["Mara likes to eat plums."]
    assert set(profile.buckets) == {"food"}


# -- namespaces ----------------------------------------------------------------------------------------------


def it_keeps_namespaces(client: Supermemory) -> None:
    client.add("space-a", content="Something to move.")
    details = whole(client.namespaces.update("space-a", supporting_context="About moving."))
    assert details.supporting_context == "About moving."
    assert whole(client.namespaces.get("space-a")).supporting_context == "About moving."
    (listed,) = whole(client.namespaces.list(q="space-a", page=1, limit=10)).namespaces
    assert (listed.namespace, listed.document_count, listed.memory_count) == ("space-a", 1, 1)
    moved = whole(client.namespaces.delete("space-a", move_to="space-b"))
    assert moved.namespace == "space-a"
    until(lambda: client.list("space-b", "documents").documents, "the document moved")
    gone = whole(client.namespaces.delete("space-b"))
    assert (gone.status, gone.namespace) == ("deleted", "space-b")
    assert (gone.deleted_documents_count, gone.deleted_memories_count) == (1, 1)
    refused(supermemory.NotFoundError, 404, lambda: client.namespaces.get("space-b"))


def it_knows_the_organization(client: Supermemory) -> None:
    client.add("of-the-organization", content="One namespace at least.")
    assert whole(client.organization.get()).namespace_count >= 1


if __name__ == "__main__":
    tell(globals(), Supermemory)
