"""Filing documents by name: which one a name refers to, several at once, and a replay of the write-ahead log."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime

import pytest
from said import opened

from scrubjay.engine.core import Core
from scrubjay.errors import InputError
from scrubjay.home import spool
from scrubjay.home.paths import Home
from scrubjay.models.records import Document
from scrubjay.models.requests import DocumentText
from scrubjay.records.extracted import facts_of_documents

SCOPE = "acme"


def text(content: str, **values: object) -> DocumentText:
    return DocumentText.model_validate({"content": content, "task_type": "memory", **values})


async def content(core: Core, id: str) -> str:
    return (await core.store.get(Document, [id]))[id].content


async def test_parts_that_are_sent_at_the_same_time_are_all_stored(core: Core) -> None:
    parts = [f"user: question number {n}" for n in range(8)]
    filed = await asyncio.gather(
        *(core.documents.add(text(part, custom_id="conv"), scope=SCOPE, source="api") for part in parts)
    )
    assert len({each.id for each in filed}) == 1
    assert sorted((await content(core, filed[0].id)).split("\n\n")) == parts


async def test_replaying_the_log_changes_nothing(home: Home, clock: Callable[[], datetime]) -> None:
    core = await opened(home, clock)
    kept: dict[str, dict] = {}
    for part in ("user: one", "user: two", "user: three"):
        filed = await core.documents.add(text(part, custom_id="conv"), scope=SCOPE, source="api")
        kept |= {path: spool.read(path) for path in spool.pending(home)}
    before, facts = (
        await content(core, filed.id),
        [fact.id for fact in await facts_of_documents(core.store, [filed.id]) if fact.forgotten_at is None],
    )
    await core.close()
    for envelope in kept.values():  # as after a power cut between the commit and the end of the log
        spool.write(home, envelope)
    again = await opened(home, clock)
    await again.writer.drain()
    assert await content(again, filed.id) == before == "user: one\n\nuser: two\n\nuser: three"
    assert [
        fact.id for fact in await facts_of_documents(again.store, [filed.id]) if fact.forgotten_at is None
    ] == facts
    await again.close()


async def test_a_batch_knows_its_own_earlier_texts(core: Core) -> None:
    texts = [
        text("The pump is red.", custom_id="a"),
        text("The pump is red.", custom_id="b"),
        text("And it leaks.", custom_id="a"),
    ]
    first, second, third = await core.documents.add_all([(each, SCOPE) for each in texts], source="api")
    assert (
        not isinstance(first, InputError)
        and not isinstance(second, InputError)
        and not isinstance(third, InputError)
    )
    assert first.id == third.id and await content(core, first.id) == "The pump is red.\n\nAnd it leaks."
    (fact,) = [
        fact for fact in await facts_of_documents(core.store, [second.id]) if fact.forgotten_at is None
    ]
    assert fact.content == "The pump is red."


async def test_a_custom_id_given_later_names_its_document(core: Core) -> None:
    filed = await core.documents.add(text("The pump is red."), scope=SCOPE, source="api")
    row = (await core.store.get(Document, [filed.id]))[filed.id]
    await core.documents.change(row, {"custom_id": "pump"}, source="api")
    assert (
        await core.documents.add(text("It leaks.", custom_id="pump"), scope=SCOPE, source="api")
    ).id == filed.id
    other = await core.documents.add(text("The fence is green."), scope=SCOPE, source="api")
    row = (await core.store.get(Document, [other.id]))[other.id]
    with pytest.raises(InputError, match="another document"):
        await core.documents.change(row, {"custom_id": "pump"}, source="api")


async def test_a_document_is_queued_then_embedding_then_done(core: Core) -> None:
    filed = await core.documents.add(text("The pump is red."), scope=SCOPE, source="api")
    row = (await core.store.get(Document, [filed.id]))[filed.id]
    assert filed.status == (await core.documents.statuses([row]))[row.id] == "queued"
    await core.writer.settle()
    async with asyncio.timeout(20):
        while (await core.documents.statuses([row]))[row.id] != "done":
            await asyncio.sleep(0.01)
    again = await core.documents.add(text("The pump is red."), scope=SCOPE, source="api")
    assert (again.status, again.changed) == ("done", False)
