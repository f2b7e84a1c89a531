"""Forgetting by id, by exact words, and by a query after a dry run; restoring; purging from every file."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from asked import call, refusal
from mcp import Client
from said import SCOPE, document, embedded, fact, facts, forget, opened, search, stored, texts, turn

from scrubjay.engine.background import upkeep
from scrubjay.engine.core import Core
from scrubjay.engine.writing import Writer
from scrubjay.errors import InputError, NotFound
from scrubjay.home import spool
from scrubjay.home.paths import Home
from scrubjay.models.envelopes import Envelope
from scrubjay.models.records import Document, Memory, Turn
from scrubjay.models.requests import Forget, parse
from scrubjay.models.results import Forgotten
from scrubjay.store.opening import open_store
from scrubjay.store.tables import index_vectors

SECRET = "quagga-7731-zorilla"


async def ask(core: Core, **arguments) -> Forgotten:
    return await core.removal.forget(parse(Forget, arguments), SCOPE, "test")


def holding(root: str, *texts: str) -> list[str]:
    """The files below a folder that contain one of the texts."""
    contents = {path: path.read_bytes() for path in Path(root).rglob("*") if path.is_file()}
    return [str(path) for path, data in contents.items() if any(text.encode() in data for text in texts)]


@pytest.mark.parametrize("kind", ["fact", "turn", "document"])
async def test_a_forgotten_record_is_not_found_until_it_is_restored_unchanged(core: Core, kind: str):
    text = "Run make deploy on the bastion."
    add = {"fact": fact, "document": document}.get(kind)
    added = await (add(core, text) if add else turn(core, "s", user=text))
    await embedded(core)
    assert (await forget(core, added.id, reason="moved")).ids == [added.id]
    assert (await forget(core, added.id)).forgotten == 0
    assert texts(await search(core, "how to make deploy", search_mode="hybrid")) == []
    record = await core.lists.find(added.id)
    assert record is not None and record.forget_reason == "moved"
    await core.writer.settle()
    back = await core.removal.restore(added.id, "test")
    assert back.restored and len(texts(await search(core, "make deploy", search_mode="hybrid"))) == 1
    record = await core.lists.find(added.id)
    assert (record.forgotten_at, record.forget_reason) == (None, None)
    assert await core.store.records_without_vectors([added.id]) == set()  # it keeps its vector
    assert not (await core.removal.restore(added.id, "test")).restored
    with pytest.raises(NotFound, match="mem_0"):
        await core.removal.restore("mem_0", "test")


async def test_a_restored_record_says_why_searches_still_leave_it_out(core: Core):
    said = "The heron queue is RabbitMQ."
    old = await fact(core, said)
    await fact(core, "The heron queue is NATS.", updates=old.id)
    gone = await fact(core, "The demo is down.", expires_at="2026-03-05T12:00:00Z")
    for id in (old.id, gone.id):
        await forget(core, id)
    assert (await core.removal.restore(old.id, "test")).unseen == "a newer version has replaced it"
    assert (await core.removal.restore(gone.id, "test")).unseen == "it expired on 2026-03-05"


async def test_a_fact_is_forgotten_by_its_exact_words(core: Core):
    await fact(core, "Alex prefers tabs.")
    await fact(core, "Alex prefers tabs.", scope="user")
    with pytest.raises(NotFound, match="says exactly that"):
        await ask(core, content="Alex prefers")
    assert (await ask(core, content="alex prefers  tabs.")).forgotten == 1
    assert [hit.scope for hit in (await search(core, "tabs")).results] == ["user"]


async def test_a_purged_value_does_not_stay_behind_the_empty_values_of_other_records(core: Core, home: Home):
    for part in ("one", "two"):
        await turn(core, part, user=f"What opens door {part}?")
        purged = await turn(core, part, user="What opens the gate?", assistant=f"{SECRET}, {part}")
        await turn(core, part, user=f"And what opens window {part}?")
        await core.writer.settle()  # one page, of one answer and two nulls
        for name in ("Robin", "Jo"):
            answer = f"{name} has those of door {part}."
            await turn(core, part, user=f"Who has keys, {name}?", assistant=answer)
        await core.writer.settle()
        await ask(core, id=purged.id, purge=True)
        assert holding(home.root, f"{SECRET}, {part}") == []
    assert [each.assistant for each in await stored(core, Turn)].count(None) == 6


async def test_a_purge_does_not_write_rows_again_for_values_that_other_records_still_have(core: Core):
    added = await facts(core, [f"The quince of garden {n} is ripe." for n in range(200)])
    await ask(core, id=added[0].id, reason="eaten")  # now one page has this reason and many nulls
    writes = []
    for each in added[1:4]:
        await core.writer.settle()
        before = await core.store.tables.memories.version()
        await ask(core, id=each.id, purge=True)
        writes.append(await core.store.tables.memories.version() - before)
    assert writes[2] == writes[0]


async def test_a_purge_by_exact_words_includes_a_copy_forgotten_earlier(core: Core):
    old = await fact(core, "The okra token is qxword.")
    await ask(core, id=old.id)
    new = await fact(core, "The okra token is qxword.")
    assert new.id != old.id
    purged = await ask(core, content="The okra token is qxword.", purge=True)
    assert set(purged.ids) == {old.id, new.id}
    again = await fact(core, "The okra token is qxword.")
    await ask(core, id=again.id)
    assert (await ask(core, content="The okra token is qxword.")).forgotten == 0
    assert (await ask(core, content="The okra token is qxword.", purge=True)).purged == 1


async def test_a_query_forgets_exactly_what_its_dry_run_showed(client: Client):
    await call(client, "add_memory", content="The zebra cache is Redis.")
    await call(client, "record_turn", session_id="s", user="Is the zebra cache Redis?")
    assert (await refusal(client, "forget", query="zebra cache")).startswith("query needs a dry run first.")
    dry_run = {"query": "zebra cache", "dry_run": True}
    shown, text = await call(client, "forget", **dry_run, include={"structured": True})
    assert (shown["ids"], shown["forgotten"], len(shown["candidates"])) == ([], 0, 2)
    assert "2 records would be forgotten; none is yet." in text and "> The zebra cache is Redis." in text
    quoted, same = await call(client, "forget", **dry_run)
    assert quoted == {"ids": [], "forgotten": 0, "purged": 0, "note": same}
    assert sorted(same.splitlines()) == sorted(text.splitlines())  # a new vector may change the order
    await call(client, "add_memory", content="The zebra cache was renamed.")
    done, text = await call(client, "forget", query="zebra cache", reason="gone")
    assert set(done["ids"]) == {hit["id"] for hit in shown["candidates"]} and done["forgotten"] == 2
    left, _ = await call(client, "search_memories", query="zebra cache")
    assert [hit["memory"] for hit in left["results"]] == ["The zebra cache was renamed."]
    assert (await refusal(client, "forget", query="zebra cache")).startswith("query needs a dry run first.")


async def test_a_dry_run_reaches_no_other_scope_and_says_when_nothing_matches(client: Client):
    await call(client, "add_memory", content="The zebra cache is Redis.", scope="elsewhere")
    shown, text = await call(client, "forget", query="zebra cache", dry_run=True)
    assert shown["note"] == text and text.startswith("Nothing would be forgotten")
    _, text = await call(client, "forget", query="zebra cache", dry_run=True, scope="elsewhere")
    assert text.startswith("1 record would be forgotten") and "> The zebra cache is Redis." in text


@pytest.mark.parametrize("arguments", [{}, {"id": "mem_1", "query": "zebra"}])
async def test_forget_takes_exactly_one_target(client: Client, arguments: dict):
    assert "Give one of id, content and query" in await refusal(client, "forget", **arguments)


async def test_expired_facts_are_in_no_list_or_profile_and_cannot_be_read(client: Client, engine):
    await call(client, "add_memory", content="The demo is down.", expires_at="2026-03-05T12:00:05Z")
    core = await engine.core()
    while engine.clock().second < 6:  # the clock of the tests advances by itself
        pass
    assert await core.lists.latest(10, SCOPE) == []
    assert (await core.search.profile(SCOPE)).recent == []
    for options, total in (({}, 0), ({"include": {"forgotten": True}}, 1)):
        found, _ = await call(client, "search_memories", query="demo down", **options)
        assert found["total"] == total


async def test_purged_bytes_are_in_no_file_of_the_home(core: Core):
    for n in range(30):  # other rows in every table, so that no fragment is dropped as a whole
        await fact(core, f"Zebra fact number {n}.")
        await turn(core, "s", user=f"zebra turn {n}", assistant="yes")
    other = await document(core, "The gnu guide.")
    await core.writer.settle()
    old = await fact(core, f"The old key is {SECRET}-one.")
    new = await fact(core, f"The key is {SECRET}.", updates=[old.id])
    sides = {"user": f"My key is {SECRET}, remember.", "assistant": f"Noted: {SECRET}."}
    said = await turn(core, "s", prompt_id="p", files=[f"{SECRET}.txt"], **sides)
    guide = await document(core, f"# Keys\n\nThe key of the door is {SECRET}.", title=f"On {SECRET}")
    await embedded(core)
    await forget(core, said.id)
    await core.writer.settle()
    await core.upkeep.tidy(upkeep.IDLE._replace(fragments=0, unindexed=0))
    text = f"My key is {SECRET}, remember."
    broken = {"id": "x", "kind": "turn", "args": {"session_id": "s", "prompt_id": "p", "user": text}}
    (Path(core.home.spool_broken) / "1-x.json").write_text(json.dumps(broken))
    (Path(core.home.spool_broken) / "1-x.json.reason").write_text("another text")
    prompts = Path(core.home.prompts) / "s"
    prompts.mkdir()
    (prompts / "1.p.p.json").write_text(json.dumps({"prompt_id": "p", "text": text}))
    assert len(holding(core.home.root, SECRET)) > 3
    for id in (new.id, said.id, guide.id):
        done = await ask(core, id=id, purge=True)
        assert id in done.ids and done.purged == len(done.ids)
    assert [hit.id for hit in (await ask(core, id=other.id, dry_run=True)).candidates] == [other.id]
    assert (await core.lists.find(other.id)).forgotten_at is None
    assert holding(core.home.root, SECRET, "zorilla", old.id, new.id, guide.id) == []
    assert await core.lists.find(old.id) is None and await core.lists.find(guide.id) is None
    assert SECRET not in str(texts(await search(core, SECRET)))
    await embedded(core)
    assert await core.store.count(Memory, "source = 'test'") == 30 and await core.store.count(Turn) == 31
    assert len(texts(await search(core, "zebra fact number", top_k=100, include_turns=False))) == 30


async def test_neither_a_transcript_nor_a_repetition_restores_a_purged_turn(core: Core):
    said = await turn(core, "s", prompt_id="p", user=f"My key is {SECRET}.", assistant="Noted.")
    await turn(core, "s", prompt_id="q", user="And now?", assistant="Nothing.")
    await ask(core, id=said.id, purge=True)
    again = await turn(core, "s", prompt_id="p", user=f"My key is {SECRET}.", assistant="Noted again.")
    assert (again.id, again.stored, again.updated) == (said.id, False, False)
    await core.writer.settle()
    assert holding(core.home.root, SECRET) == []
    with pytest.raises(InputError, match="deleted"):
        await core.removal.restore(said.id, "test")
    assert texts(await search(core, "And now?", include={"forgotten": True}, prev_turns=2)) == [
        "user: And now?\n\nassistant: Nothing."
    ]


async def test_an_interrupted_purge_is_finished_by_the_next_engine(home: Home, clock, now):
    core = await opened(home, clock)
    kept, gone = await fact(core, "Zebras are striped."), await fact(core, f"The key is {SECRET}.")
    await embedded(core)
    await core.close()
    args = {"ids": [gone.id], "purge": True}
    made = Envelope(id="purge_0001", kind="forget", at=now, scope=SCOPE, source="test", args=args)
    store = await open_store(home.data, dim=64)
    # it died after the rows were deleted, before the files were rewritten
    await store.tables.memories.delete(f"id = '{gone.id}'")
    spool.write(home, made.model_dump(mode="json"))
    assert holding(home.data, SECRET)
    writer = Writer(home, store, clock, lambda *_: None)
    assert await writer.drain() == 1
    await writer.settle()
    assert spool.pending(home) == [] and writer.set_aside == 0
    assert holding(home.root, SECRET) == []
    assert [row.id for row in await store.select(Memory, "true")] == [kept.id]


async def test_a_purge_reaches_replaced_passages_and_drafts_of_dead_processes(core: Core):
    added = await fact(core, f"The key is {SECRET}.")
    await fact(core, "Zebras are striped.")
    await embedded(core)
    await core.reindex.run()
    assert len(list(Path(core.home.data).glob("passages_*"))) == 2  # for the searches of this moment
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    Path(core.home.spool_tmp, f"{gone.pid}-0a1b").write_text(f'{{"content": "The key is {SECRET}')
    await ask(core, id=added.id, purge=True)
    assert holding(core.home.root, SECRET, "zorilla") == []
    assert texts(await search(core, "zebras")) == ["Zebras are striped."]


async def test_an_extending_version_outlives_the_purge_of_what_it_extends(core: Core):
    base = await fact(core, f"The key is {SECRET}.")
    more = await fact(core, "The key is changed every month.", extends=[base.id])
    assert (await ask(core, id=more.id, purge=True)).ids == [more.id]
    again = await fact(core, "The key is changed every month.", extends=[base.id])
    assert (await ask(core, id=base.id, purge=True)).ids == [base.id]
    hit = (await search(core, "key changed every month", include={"related_memories": True})).results[0]
    assert hit.id == again.id and hit.context.parents == []


async def test_a_forget_logged_by_an_older_scrubjay_still_applies(core: Core, now):
    added = await document(core, "The gnu guide.")
    args = {"id": added.id, "reason": "old"}
    made = Envelope(id="forget_0001", kind="forget", at=now, scope=SCOPE, source="test", args=args)
    spool.write(core.home, made.model_dump(mode="json"))
    await core.writer.drain()
    (record,) = await stored(core, Document)
    assert record.forget_reason == "old"


@pytest.mark.long
async def test_a_purge_also_empties_a_vector_index(core: Core):
    await facts(core, (f"Zebra fact number {n}." for n in range(300)))
    gone = await fact(core, f"The key is {SECRET}.")
    await embedded(core)
    await index_vectors(core.store.tables.passages, segments=1)
    await ask(core, id=gone.id, purge=True)
    assert holding(core.home.root, SECRET, gone.id) == []
    assert texts(await search(core, "Zebra fact number 17."))[0] == "Zebra fact number 17."
