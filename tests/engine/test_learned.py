"""Facts learned from a document: one for each paragraph, which follows the document through changes,
forgetting and restoring.
"""

import pytest
from said import fact, search

from scrubjay.engine.core import Core
from scrubjay.models.records import Memory
from scrubjay.models.requests import DocumentText, Forget
from scrubjay.records.extracted import DOCUMENT_GONE, EXTRACTED, NO_LONGER, facts_of_documents

pytestmark = pytest.mark.long

SCOPE = "acme"
DEPLOYS = (
    "Deploys go out on Tuesdays after the smoke tests have passed on staging, and Priya presses the button."
)
ROLLBACK = (
    "A rollback is made with `make undo`, which takes the last images and then restarts all the workers."
)
PAGER = "The pager goes to the person who deployed last, or to the team lead while that person is on leave."
PAGER += " It is never silenced at night." * 5
CODE = "```sh\nmake undo VERSION=3\n```"
LONG = f"# Runbook\n\n{DEPLOYS}\n\n## Rollback\n\n{ROLLBACK}\n\n{CODE}\n\n## Pager\n\n{PAGER}\n"


async def add(core: Core, content: str, **values: object) -> str:
    text = DocumentText.model_validate({"content": content, "task_type": "memory", **values})
    return (await core.documents.add(text, scope=SCOPE, source="api")).id


async def facts(core: Core, id: str) -> list[Memory]:
    await core.writer.drain()
    return [row for row in await facts_of_documents(core.store, [id]) if row.forgotten_at is None]


async def test_a_short_text_is_one_fact_that_is_recalled_and_names_its_document(core: Core):
    id = await add(core, DEPLOYS, metadata={"team": "ops"})
    found = (await search(core, "When do deploys go out?", scope=SCOPE)).results
    assert [(hit.src, hit.memory, hit.source, hit.metadata) for hit in found] == [
        ("memory", DEPLOYS, EXTRACTED, {"team": "ops"})
    ]
    assert [row.document_ids for row in await facts(core, id)] == [(id,)]


async def test_a_longer_text_becomes_a_fact_per_paragraph_with_headings_and_without_code(core: Core):
    said = [row.content for row in await facts(core, await add(core, LONG))]
    headings = sorted(text.partition("\n")[0] for text in said)
    assert headings == ["Runbook", "Runbook > Pager", "Runbook > Rollback"]
    assert not any("VERSION=3" in text for text in said)


async def test_a_document_with_superrag_or_without_a_task_gives_no_facts(core: Core):
    assert not await facts(core, await add(core, DEPLOYS, task_type="superrag"))
    assert not await facts(core, await add(core, ROLLBACK, task_type=None))


async def test_an_unchanged_paragraph_keeps_its_fact_and_that_of_a_removed_one_is_hidden_until_it_returns(
    core: Core,
):
    id = await add(core, LONG, custom_id="runbook")
    before = {row.content.partition("\n")[0]: row.id for row in await facts(core, id)}
    assert await add(core, LONG.replace("Tuesdays", "Thursdays"), custom_id="runbook") == id
    after = {row.content.partition("\n")[0]: row.id for row in await facts(core, id)}
    assert {name for name in before if before[name] != after[name]} == {"Runbook"}
    gone = (await core.store.get(Memory, [before["Runbook"]]))[before["Runbook"]]
    assert gone.forgotten_at is not None and gone.forget_reason == NO_LONGER
    await add(core, LONG, custom_id="runbook")
    assert {row.id for row in await facts(core, id)} == set(before.values())


async def test_forgetting_a_document_forgets_its_facts_and_restoring_it_restores_them(core: Core):
    id = await add(core, LONG)
    before = {row.id for row in await facts(core, id)}
    await core.removal.forget(Forget(id=id), SCOPE, "test")
    rows = await core.store.get(Memory, before)
    assert {row.forget_reason for row in rows.values()} == {DOCUMENT_GONE}
    assert not (await search(core, "rollback make undo", scope=SCOPE, search_mode="hybrid")).results
    await core.removal.restore(id, "test")
    assert {row.id for row in await facts(core, id)} == before
    assert (await search(core, "rollback make undo", scope=SCOPE)).results


async def test_a_fact_the_user_forgot_stays_forgotten_when_its_document_is_added_again(core: Core):
    id = await add(core, DEPLOYS)
    (one,) = await facts(core, id)
    await core.removal.forget(Forget(id=one.id, reason="wrong"), SCOPE, "test")
    await add(core, DEPLOYS, metadata={"team": "ops"})
    assert not await facts(core, id)


async def test_an_existing_fact_is_linked_and_outlives_the_document(core: Core):
    known = await fact(core, DEPLOYS, scope=SCOPE)
    id = await add(core, DEPLOYS)
    assert [row.id for row in await facts(core, id)] == [known.id]
    await core.removal.forget(Forget(id=id), SCOPE, "test")
    row = (await core.store.get(Memory, [known.id]))[known.id]
    assert row.forgotten_at is None and row.document_ids == ()


async def test_a_fact_of_two_documents_goes_with_the_last_of_them(core: Core):
    first, second = await add(core, DEPLOYS, custom_id="one"), await add(core, DEPLOYS, custom_id="two")
    (one,) = await facts(core, second)
    assert one.document_ids == (first, second)
    await core.removal.forget(Forget(id=first), SCOPE, "test")
    assert [row.id for row in await facts(core, second)] == [one.id]
    await core.removal.forget(Forget(id=second), SCOPE, "test")
    assert (await core.store.get(Memory, [one.id]))[one.id].forgotten_at is not None


async def test_purging_a_document_deletes_its_facts_from_disk(core: Core):
    id = await add(core, DEPLOYS)
    (one,) = await facts(core, id)
    await core.removal.forget(Forget(id=id, purge=True), SCOPE, "test")
    assert await core.lists.find(one.id) is None and await core.lists.find(id) is None


async def test_a_fact_and_a_chunk_with_the_same_words_are_one_hybrid_hit(core: Core):
    await add(core, DEPLOYS)
    hits = await search(core, "When do deploys go out?", scope=SCOPE, search_mode="hybrid")
    assert len(hits.results) == 1
