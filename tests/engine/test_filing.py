"""Filing documents by name: which one a name refers to, several at once, and a replay of the write-ahead log."""

import asyncio
from collections.abc import Callable
from datetime import datetime

import pytest
from said import opened

from scrubjay.engine.core import Core
from scrubjay.errors import InputError
from scrubjay.home import spool
from scrubjay.home.paths import Home
from scrubjay.models.records import Document, Memory
from scrubjay.models.requests import DocumentText
from scrubjay.records.extracted import facts_of_documents

SCOPE = "acme"


def text(content: str, **values: object) -> DocumentText:
    return DocumentText.model_validate({"content": content, "task_type": "memory", **values})


async def content(core: Core, id: str) -> str:
    return (await core.store.get(Document, [id]))[id].content


async def facts_of(core: Core, id: str) -> list[Memory]:
    return [fact for fact in await facts_of_documents(core.store, [id]) if fact.forgotten_at is None]


async def test_parts_that_are_sent_at_the_same_time_are_all_stored(core: Core):
    parts = [f"user: question number {n}" for n in range(8)]
    filed = await asyncio.gather(
        *(core.documents.add(text(part, custom_id="conv"), scope=SCOPE, source="api") for part in parts)
    )
    assert len({each.id for each in filed}) == 1
    assert sorted((await content(core, filed[0].id)).split("\n\n")) == parts


async def test_replaying_the_log_changes_nothing(home: Home, clock: Callable[[], datetime]):
    core = await opened(home, clock)
    kept: dict[str, dict] = {}
    for part in ("user: one", "user: two", "user: three"):
        filed = await core.documents.add(text(part, custom_id="conv"), scope=SCOPE, source="api")
        kept |= {path: spool.read(path) for path in spool.pending(home)}
    before, facts = await content(core, filed.id), await facts_of(core, filed.id)
    await core.close()
    for envelope in kept.values():  # as after a power cut between the commit and the end of the log
        spool.write(home, envelope)
    again = await opened(home, clock)
    await again.writer.drain()
    assert await content(again, filed.id) == before == "user: one\n\nuser: two\n\nuser: three"
    assert await facts_of(again, filed.id) == facts
    await again.close()


async def test_a_batch_knows_its_own_earlier_texts(core: Core):
    sent = (("The pump is red.", "a"), ("The pump is red.", "b"), ("And it leaks.", "a"))
    texts = [(text(content, custom_id=custom_id), SCOPE) for content, custom_id in sent]
    first, second, third = await core.documents.add_all(texts, source="api")
    assert first.id == third.id and await content(core, first.id) == "The pump is red.\n\nAnd it leaks."
    assert [fact.content for fact in await facts_of(core, second.id)] == ["The pump is red."]


async def test_a_custom_id_given_later_names_its_document(core: Core):
    filed = await core.documents.add(text("The pump is red."), scope=SCOPE, source="api")
    row = (await core.store.get(Document, [filed.id]))[filed.id]
    await core.documents.change(row, {"custom_id": "pump"}, source="api")
    again = await core.documents.add(text("It leaks.", custom_id="pump"), scope=SCOPE, source="api")
    assert again.id == filed.id
    other = await core.documents.add(text("The fence is green."), scope=SCOPE, source="api")
    row = (await core.store.get(Document, [other.id]))[other.id]
    with pytest.raises(InputError, match="another document"):
        await core.documents.change(row, {"custom_id": "pump"}, source="api")


async def test_a_document_is_queued_then_embedding_then_done(core: Core):
    filed = await core.documents.add(text("The pump is red."), scope=SCOPE, source="api")
    row = (await core.store.get(Document, [filed.id]))[filed.id]
    assert filed.status == (await core.documents.statuses([row]))[row.id] == "queued"
    await core.writer.settle()
    async with asyncio.timeout(20):
        while (await core.documents.statuses([row]))[row.id] != "done":
            await asyncio.sleep(0.01)
    again = await core.documents.add(text("The pump is red."), scope=SCOPE, source="api")
    assert (again.status, again.changed) == ("done", False)
