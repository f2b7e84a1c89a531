"""Facts and documents: stored, known, similar, replaced, forgotten."""

from __future__ import annotations

import pytest
from said import document, embedded, fact, forget, search, texts

from scrubjay.engine.core import Core
from scrubjay.errors import NotFound
from scrubjay.models import requests
from scrubjay.models.records import Document, Memory


async def find_documents(core: Core, query: str, **args):
    return await core.search.documents(
        requests.parse(requests.SearchDocuments, {"query": query, **args}), "repo_demo__0123456789abcdef"
    )


async def test_adding_the_same_words_returns_the_existing_id(core: Core):
    first = await fact(core, "Alex prefers tabs.")
    again = await fact(core, "alex  prefers\ntabs.")
    assert (first.action, again.action, again.id) == ("stored", "known", first.id)
    assert (await fact(core, "Alex prefers tabs.", scope="user")).action == "stored"


async def test_similar_facts_are_shown_and_nothing_is_merged(core: Core):
    await fact(core, "The API listens on port 8080.")
    await core.writer.settle()
    added = await fact(core, "The API listens on port 8081.")
    assert added.action == "stored"
    assert [hit.memory for hit in added.similar] == ["The API listens on port 8080."]
    await core.writer.settle()
    assert await core.store.count(Memory) == 2


async def test_a_known_fact_reports_which_details_it_keeps_and_how_to_change_them(core: Core):
    said = "The demo server is down."
    known = await fact(core, said, tags=["demo"])
    assert (await fact(core, said, tags=["demo"])).note is None
    again = await fact(core, said, tags=["sales"], expires_at="2026-03-06")
    assert (again.id, again.action) == (known.id, "known")
    assert "keeps its expires_at and tags" in again.note and "updates" in again.note
    assert (await fact(core, said, tags=["sales"], updates=[known.id])).action == "updated"


async def test_a_fact_that_has_already_expired_says_that_no_search_returns_it(core: Core):
    late = await fact(core, "The freeze ends on 1 April.", expires_at="2025-04-01")
    assert late.note.startswith("It expired on 2025-04-01 00:00 UTC, so no search returns it.")
    again = await fact(core, "The freeze ends on 1 April.", expires_at="2026-04-01")
    assert (again.action, again.note) == ("stored", None)


async def test_a_fact_expires_at_read_time(core: Core):
    await fact(core, "The demo server is down.", expires_at="2026-03-05T13:00:00Z")
    assert texts(await search(core, "is the demo server down?")) == ["The demo server is down."]
    assert texts(await search(core, "is the demo server down?", now="2026-03-05T13:00:01Z")) == []


async def test_forgetting_an_unknown_id_says_so(core: Core):
    with pytest.raises(NotFound, match="mem_nothing"):
        await forget(core, "mem_nothing")


async def test_a_forgotten_fact_can_be_added_again(core: Core):
    first = await fact(core, "Alex prefers tabs.")
    await forget(core, first.id)
    again = await fact(core, "Alex prefers tabs.")
    assert again.action == "stored" and again.id != first.id


async def test_a_document_is_found_by_its_chunk_with_its_lines(core: Core):
    added = await document(
        core, "# Deploy\n\nRun make deploy.\n\n## Rollback\n\nUse make rollback and tell the team.\n"
    )
    await embedded(core)
    hits = await find_documents(core, "how do we rollback", only_matching_chunks=True, chunk_threshold=0.3)
    assert (hits.results[0].document_id, hits.results[0].title, hits.results[0].type) == (
        added.id,
        "Deploy",
        "markdown",
    )
    best = max(hits.results[0].chunks, key=lambda chunk: chunk.score)
    assert "make rollback" in best.content and best.lines == (5, 7) and best.is_relevant


async def test_neighbouring_chunks_are_returned_on_request(core: Core):
    parts = "\n\n".join(f"## Part {n}\n\n{word} " * 20 for n, word in enumerate(["apple", "zebra", "cello"]))
    await document(core, parts)
    await embedded(core)
    alone = await find_documents(core, "zebra", chunk_threshold=0.4)
    loose = await find_documents(core, "zebra", only_matching_chunks=False, chunk_threshold=0.4)
    assert all(chunk.is_relevant for chunk in alone.results[0].chunks)
    assert len(loose.results[0].chunks) > len(alone.results[0].chunks)


async def test_the_same_custom_id_is_the_same_document(core: Core):
    first = await document(core, "The port is 1.", custom_id="ports")
    same = await document(core, "The port is 1.", custom_id="ports")
    other = await document(core, "The port is 2.", custom_id="ports")
    assert first.id == same.id == other.id
    await embedded(core)
    assert [row.content for row in await core.store.select(Document, "true")] == ["The port is 2."]
    assert [chunk.content for chunk in (await find_documents(core, "port")).results[0].chunks] == [
        "The port is 2."
    ]
    assert (await find_documents(core, "port", doc_id="ports")).total == 1


async def test_documents_are_returned_only_on_request(core: Core):
    await document(core, "The gate code is in the safe.")
    await embedded(core)
    assert texts(await search(core, "gate code")) == []
    hit = (await search(core, "gate code", search_mode="hybrid")).results[0]
    assert (hit.chunk, hit.memory, hit.src) == ("The gate code is in the safe.", None, "chunk")
