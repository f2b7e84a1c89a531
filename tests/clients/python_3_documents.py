"""Stories of supermemory's Python client 3.62.0: what its README does, then its calls about documents. See
`telling`; every story has a tag of its own.
"""

from __future__ import annotations

import asyncio

import supermemory
from supermemory import AsyncSupermemory, Supermemory
from telling import done, refused, tell, whole

# -- its README ----------------------------------------------------------------------------------------------


def it_searches_asynchronously(client: Supermemory) -> None:
    async def main() -> None:
        async with AsyncSupermemory() as waiting:
            whole(await waiting.search.documents(q="documents related to python"))

    asyncio.run(main())


def it_shows_raw_and_streamed_responses(client: Supermemory) -> None:
    raw = client.with_raw_response.add(content="content")
    assert raw.headers["content-type"] == "application/json" and raw.parse().id
    with client.with_streaming_response.add(content="content") as response:
        assert "".join(response.iter_lines()).startswith("{")


def it_maps_refusals_to_its_own_exceptions(client: Supermemory) -> None:
    missing = "nothing-like-it"
    for call in (
        lambda: client.documents.get(missing),
        lambda: client.documents.delete(missing),
        lambda: client.documents.update(missing, content="x"),
        lambda: client.memories.forget(container_tag="nobody", id=missing),
        lambda: client.connections.list(),
    ):
        refused(supermemory.NotFoundError, 404, call)
    for call in (
        lambda: client.search.memories(q="x", aggregate=True, rerank=True),
        lambda: client.search.documents(q=""),
        lambda: client.search.documents(q="x", limit=101),
        lambda: client.add(content="x", container_tag="user"),
        lambda: client.add(content="x", container_tag="two words"),
    ):
        refused(supermemory.BadRequestError, 400, call)
    client.settings.update(filter_prompt="Only birds.")
    assert client.settings.get().filter_prompt == "Only birds."


# -- documents -----------------------------------------------------------------------------------------------


def it_adds_a_document_that_is_done_and_found(client: Supermemory) -> None:
    text, metadata = "Herons wait for frogs near the zyxweir.", {"bird": "heron", "n": 3}
    added = whole(client.add(content=text, container_tag="add", metadata=metadata))
    assert added.status == "queued"
    document = whole(done(client, added.id))
    assert (document.status, document.dreaming_status) == ("done", "done")
    assert (document.type, document.task_type, document.custom_id) == ("text", "memory", None)
    assert (document.content, document.metadata, document.container_tags) == (text, metadata, ["add"])
    assert document.created_at <= document.updated_at and document.summary
    (memory,) = document.memories
    assert (memory.memory, memory.version, memory.source_count) == (text, 1, 1) and memory.is_latest
    (result,) = client.search.memories(q="zyxweir", container_tag="add").results
    assert result.id == memory.id and result.memory == memory.memory and result.similarity > 0.6


def it_takes_every_field_of_an_add(client: Supermemory) -> None:
    added = client.add(
        content="The gannet dives from thirty metres.",
        container_tags=["fields"],
        custom_id="gannet-1",
        document_date="2026-01-02T03:04:05Z",
        dreaming="instant",
        entity_context="Notes on sea birds.",
        filepath="/birds/sea/gannet.md",
        filter_by_metadata={"kind": "bird"},
        metadata={"kind": "bird", "wings": 2, "seen": True, "places": ["rock", "sea"]},
        task_type="memory",
    )
    document = done(client, added.id)
    assert document.custom_id == "gannet-1" and document.filepath == "/birds/sea/gannet.md"
    assert document.metadata == {"kind": "bird", "wings": 2, "seen": True, "places": ["rock", "sea"]}


def it_takes_a_custom_id_wherever_an_id_is_asked_for(client: Supermemory) -> None:
    added = client.add(content="Avocets sweep their bills.", container_tag="custom", custom_id="avocet")
    assert client.documents.get("avocet").id == added.id
    assert client.documents.update("avocet", metadata={"seen": True}).id == added.id
    assert client.documents.get(added.id).metadata == {"seen": True}
    assert client.documents.delete("avocet") is None
    refused(supermemory.NotFoundError, 404, lambda: client.documents.get(added.id))


def it_adds_many_at_once(client: Supermemory) -> None:
    documents = [{"content": f"Bird number {n} is a wren.", "customId": f"wren-{n}"} for n in range(3)]
    added = whole(
        client.documents.batch_add(documents=documents, container_tag="batch", metadata={"all": "wrens"})
    )
    assert (added.success, added.failed, len(added.results)) == (3, 0, 3)
    assert done(client, added.results[0].id).metadata == {"all": "wrens"}
    plain = client.documents.batch_add(documents=["A finch.", "A linnet."], container_tag="batch")
    assert plain.success == 2 and client.documents.get(plain.results[1].id).content == "A linnet."
    assert client.documents.list(container_tags=["batch"]).pagination.total_items == 5


def it_uploads_a_file_with_every_field(client: Supermemory) -> None:
    added = whole(
        client.documents.upload_file(
            file=("sanderling.txt", b"The sanderling runs from the waves.", "text/plain"),
            container_tags='["files"]',
            custom_id="sanderling",
            dreaming="instant",
            entity_context="Birds of the beach.",
            filepath="/beach/sanderling.txt",
            file_type="text",
            filter_by_metadata='{"kind": "bird"}',
            metadata='{"kind": "bird", "n": 1}',
            mime_type="text/plain",
            task_type="memory",
        )
    )
    document = done(client, added.id)
    assert document.content.strip() == "The sanderling runs from the waves."
    assert document.custom_id == "sanderling"
    assert document.metadata == {"kind": "bird", "n": 1} and document.container_tags == ["files"]
    assert document.filepath == "/beach/sanderling.txt" and document.memories


def it_lists_pages_in_order_with_and_without_content(client: Supermemory) -> None:
    for n in range(5):
        client.add(
            content=f"Gull {n} of the harbour.", container_tag="list", metadata={"n": n, "even": n % 2 == 0}
        )
    rising = {"limit": 2, "page": 2, "order": "asc", "sort": "createdAt", "include_content": True}
    page = whole(client.documents.list(container_tags=["list"], **rising))
    assert [row.content for row in page.memories] == ["Gull 2 of the harbour.", "Gull 3 of the harbour."]
    facts = page.pagination
    assert (facts.current_page, facts.limit, facts.total_items, facts.total_pages) == (2, 2, 5, 3)
    bare = whole(client.documents.list(container_tags=["list"]))
    assert len(bare.memories) == 5 and all("content" not in row.model_fields_set for row in bare.memories)
    three = {"key": "n", "value": "3", "filter_type": "numeric", "numeric_operator": ">="}
    few = client.documents.list(container_tags=["list"], filters={"and_": [three]})
    assert {row.metadata["n"] for row in few.memories} == {3, 4}


def it_lists_what_is_being_processed(client: Supermemory) -> None:
    done(client, client.add(content="Soon done.", container_tag="processing").id)
    for view in ("active", "pending", "all"):
        asked = {"container_tags": "processing", "view": view, "page": 1, "limit": 10}
        assert whole(client.documents.list_processing(**asked)).total_count == 0


def it_deletes_in_bulk(client: Supermemory) -> None:
    ids = [
        client.add(content=f"Rail {n} of the reeds.", container_tag="bulk", filepath=f"/reeds/{n}.md").id
        for n in range(4)
    ]
    gone = whole(client.documents.delete_bulk(ids=[ids[0], "nothing-like-it"]))
    assert gone.deleted_count == 1 and [error.id for error in gone.errors] == ["nothing-like-it"]
    assert client.documents.delete_bulk(filepath="/reeds/1.md").deleted_count == 1
    rest = client.documents.delete_bulk(container_tags=["bulk"])
    assert rest.success and rest.deleted_count == 2 and rest.container_tags == ["bulk"]
    assert client.documents.list(container_tags=["bulk"]).memories == []
    asked = {"container_tag": "bulk", "search_mode": "hybrid", "threshold": 0}
    assert client.search.memories(q="rail of the reeds", **asked).results == []


if __name__ == "__main__":
    tell(globals(), Supermemory)
