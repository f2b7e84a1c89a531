"""The write path: acknowledged means durable, replay means once, and broken envelopes are moved away."""

import asyncio
import dataclasses
import json
import os
import shutil
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from lancedb import AsyncTable
from said import SCOPE, document, fact, search, texts, turn, until

import scrubjay.store.store
from scrubjay.engine.core import Core
from scrubjay.engine.in_hand import InHand
from scrubjay.errors import HomeError, InputError
from scrubjay.home import spool
from scrubjay.home.capture import unanswered
from scrubjay.models.envelopes import Envelope, envelope
from scrubjay.models.records import Document, Memory, Turn, content_hash
from scrubjay.models.requests import DocumentText, RecordTurn, parse
from scrubjay.records.documents import _find_at, plan_add
from scrubjay.records.full_ids import _turns_by_number
from scrubjay.records.memories import facts_with_text
from scrubjay.records.planners import PLANNERS
from scrubjay.store.store import Store


def an_envelope(now, n: int, **values) -> dict:
    args = {"session_id": "a", "prompt_id": f"p{n}", "user": f"zebra {n}"}
    fields = {"kind": "turn", "at": now, "scope": SCOPE, "source": "hook:stop", "args": args}
    return {**Envelope(id=f"envelope_{n:04d}", **fields).model_dump(mode="json"), **values}


async def test_an_acknowledged_write_is_on_disk_before_the_store_has_it(core: Core):
    await turn(core, "a", user="the zebra decision")
    assert len(spool.pending(core.home)) == 1
    await core.writer.settle()
    assert spool.pending(core.home) == [] and await core.store.count(Turn) == 1


async def test_a_turn_that_is_slow_to_redact_keeps_its_place_and_blocks_no_reader(
    core: Core, monkeypatch: pytest.MonkeyPatch
):
    begun, go_on = threading.Event(), threading.Event()

    def sealed(kind, request, **values) -> Envelope:
        if request.user == "long":
            begun.set()
            assert go_on.wait(10)
        return envelope(kind, request, **values)

    async def record(user: str) -> Any:
        request = parse(RecordTurn, {"session_id": "a", "user": user})
        made = await core.writer.seal("turn", request, scope=SCOPE, source="test", at=core.clock())
        return await core.write(made)

    monkeypatch.setattr("scrubjay.engine.writing.envelope", sealed)
    writes = [asyncio.create_task(record(user)) for user in ("long", "short")]
    await asyncio.to_thread(begun.wait, 10)
    assert await core.store.count(Turn) == 0 and not any(write.done() for write in writes)
    go_on.set()
    first, second = await asyncio.gather(*writes)
    assert first.turn < second.turn


async def _in_a_session(core: Core) -> Any:
    return (await core.store.sessions.of([(SCOPE, "a")]))[SCOPE, "a"].places


FROGS = "Frogs fear herons."
LOOKS: dict[str, tuple[str, Callable[[Core], Awaitable[Any]]]] = {
    "a custom id": ("documents", lambda core: core.documents.with_custom_id("heron", [SCOPE])),
    "a path": ("documents", lambda core: _find_at(core.store, SCOPE, "notes/heron.md")),
    "a number": ("turns", lambda core: _turns_by_number(core.store, "a/0", [SCOPE])),
    "a session": ("turns", _in_a_session),
    "a text": ("memories", lambda core: facts_with_text(core.store, SCOPE, [content_hash(FROGS)])),
}


@pytest.mark.parametrize("name", LOOKS)
async def test_a_record_committed_during_a_disk_read_is_found(
    core: Core, monkeypatch: pytest.MonkeyPatch, name: str
):
    """Neither the table, read before, nor the staged records, read afterwards, had it."""
    table, look = LOOKS[name]
    await turn(core, "a", user="Where do herons wait?")
    await fact(core, FROGS)
    await document(core, "Herons wait for frogs.", custom_id="heron")
    await document(core, "Herons wait.", path="notes/heron.md")
    core.store.forget_cache()

    async def read_before_the_commit(read: AsyncTable, *args: Any, **more: Any) -> Any:
        rows = await read_rows(read, *args, **more)
        if read.name == table:
            await core.writer.settle()
        return rows

    read_rows = scrubjay.store.store.matching_rows
    monkeypatch.setattr("scrubjay.store.store.matching_rows", read_before_the_commit)
    assert await look(core)
    assert await core.store.count(Turn) == 1  # the commit did happen


async def test_a_write_that_changes_nothing_or_is_refused_leaves_no_envelope(core: Core):
    await turn(core, "a", turn=0, user="one")
    await core.writer.settle()
    await turn(core, "a", turn=0, user="one")
    with pytest.raises(InputError):
        await turn(core, "a", turn=0, user="two")
    assert spool.pending(core.home) == []


async def test_a_search_sees_everything_acknowledged(core: Core):
    for n in range(20):
        await turn(core, f"s{n}", user=f"zebra number {n}")
        assert f"zebra number {n}" in texts(await search(core, "zebra number", top_k=50))


async def test_broken_envelopes_are_moved_away_with_a_reason_and_stop_nothing(core: Core, now):
    field = an_envelope(now, 4, args={"session_id": "", "user": "x"}, host="codex")
    contents = ["{half", "[1]", json.dumps(an_envelope(now, 3, v=9)), json.dumps(field)]
    for number, content in enumerate(contents, 1):
        Path(core.home.spool_new, f"{number:020}-broken.json").write_text(content)
    spool.write(core.home, an_envelope(now, 5, host="codex"))
    assert texts(await search(core, "zebra")) == ["zebra 5"]
    reasons = spool.reasons(spool.json_files(core.home.spool_broken))
    assert len(reasons) == 4 and "session_id" in reasons[3]
    report = await core.status.report()
    assert report["spool"] == {"waiting": 0, "set_aside": 4} or core.writer.pending
    without_answer, aside_for = report["hosts"]["codex"]["trouble"]
    assert without_answer == unanswered(1)
    assert aside_for.startswith(f"Moved away: {4:020}-broken.json: ")


async def test_broken_events_and_conflicting_envelopes_are_moved_away_and_stop_nothing(core: Core, now):
    events = Path(core.home.events)
    (events / "00000000000000000001-answer-half0000.json").write_text("{half")
    (events / "00000000000000000002-answer-version0.json").write_text('{"v": 2, "kind": "answer"}')
    await turn(core, "a", prompt_id="p7", user="known zebra")
    for number in (5, 7):  # the latter has other words for a known turn
        spool.write(core.home, an_envelope(now, number))
    assert sorted(texts(await search(core, "zebra"))) == ["known zebra", "zebra 5"]
    assert (spool.events(core.home), core.writer.set_aside) == ([], 3)
    assert any(
        "wrong fields: " in reason for reason in spool.reasons(spool.json_files(core.home.spool_broken))
    )


async def test_an_unwritable_spool_is_reported_and_nothing_is_stored(core: Core):
    shutil.rmtree(core.home.spool)
    Path(core.home.spool).write_text("a file in the way")
    with pytest.raises((HomeError, OSError)):
        await fact(core, "Alex prefers tabs.")
    os.remove(core.home.spool)
    for folder in (core.home.spool_new, core.home.spool_tmp, core.home.spool_broken):
        os.makedirs(folder)
    assert await core.store.count(Memory) == 0 and core.store.staged(Memory) == []


async def test_a_clock_that_is_set_back_does_not_reorder_writes(core: Core, now):
    in_an_hour = time.time_ns() + 3_600 * 10**9
    spool.write(core.home, an_envelope(now, 1), in_an_hour)
    await core.writer.drain()
    await fact(core, "Alex prefers tabs.")
    await fact(core, "Robin prefers spaces.")
    kinds = [spool.read(path)["args"].get("content") for path in spool.pending(core.home)]
    assert kinds == [None, "Alex prefers tabs.", "Robin prefers spaces."]


async def test_a_write_that_settles_while_the_spool_is_listed_does_not_count_as_lost(core: Core, now):
    """With many calls in flight, a listed envelope was deleted before its turn came, and another call failed."""
    await core.writer.settle()
    async with core.writer._order:  # another reader has listed the folder and waits for its turn
        path = spool.write(core.home, an_envelope(now, 1))
        draining = asyncio.create_task(core.writer.drain())
        while not core.writer._draining.locked():
            await asyncio.sleep(0)
        spool.remove([path])
    await draining
    assert core.writer.set_aside == 0


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="needs a file that opens and cannot be read")
async def test_the_spool_is_still_watched_after_a_brief_disk_failure(core: Core, now, monkeypatch):
    monkeypatch.setattr("scrubjay.engine.writing.DRAIN_SECONDS", 0.01)
    failing = Path(core.home.spool_new) / "00000000000000000001-failing.json"
    failing.symlink_to("/proc/self/mem")  # its first byte is an input/output error
    watch = asyncio.create_task(core.writer.watch())
    with pytest.raises(HomeError):
        await core.writer.drain()
    await asyncio.sleep(0)
    failing.unlink()
    spool.write(core.home, an_envelope(now, 1))

    async def is_taken() -> bool:
        return bool(core.store.staged(Turn) or await core.store.count(Turn))

    await until(is_taken)
    assert not watch.done()
    watch.cancel()


@pytest.mark.long
async def test_a_search_waits_for_a_busy_store_for_a_bounded_time_and_says_so(core: Core, monkeypatch):
    await fact(core, "The owl nests in the tower.")
    assert texts(await search(core, "owl tower"))
    await fact(core, "The owl left the tower.")
    monkeypatch.setattr("scrubjay.engine.writing.CATCH_UP_SECONDS", 0.05)
    async with core.store.lock:
        hits = await search(core, "owl tower")
        assert texts(hits) == ["The owl nests in the tower."]
        assert hits.degraded and "the store is busy" in hits.degraded
        assert (await core.status.report())["records"]["memories"] == 1
    monkeypatch.undo()
    assert len((await search(core, "owl tower", top_k=5)).results) == 2


async def test_a_long_document_delays_no_other_write(core: Core, monkeypatch):
    """Ten million characters are planned for six seconds."""
    monkeypatch.setattr("scrubjay.engine.writing.LONG_DOCUMENT", 10)
    planned, free = asyncio.Event(), asyncio.Event()

    async def slowly(store, made, now):
        planned.set()
        await free.wait()
        return await plan_add(store, made, now)

    monkeypatch.setitem(PLANNERS, "document", slowly)
    adding = asyncio.create_task(document(core, "# Ships\n\nThe Albatross lies in harbour 84."))
    await planned.wait()
    await fact(core, "The tern flies.")
    free.set()
    assert (await adding).chunks == 1
    assert await core.store.get(Document, [(await adding).id or ""])


async def test_invalid_characters_are_removed_before_redaction_and_the_rest_is_stored(core: Core):
    token = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT" + "5vW7xY9zA1cD3eF5"
    parted = f"{token[:12]}\ud83d{token[12:20]}\x00{token[20:]}"
    request = DocumentText.model_construct(
        content=f"The heron queue: {parted}", title="half \ud83d of a bird", _fields_set={"content", "title"}
    )
    made = envelope("document", request, scope=SCOPE, source="test", at=core.clock())
    assert made.redacted == 1 and made.args["title"] == "half  of a bird"
    assert token[4:20] not in json.dumps(made.args)


async def test_a_write_that_no_table_accepts_is_moved_away_and_blocks_nothing(core: Core):
    async def plan_half(store: Store, said: Envelope, now: Any) -> Any:
        plan = await PLANNERS["turn"](store, said, now)
        (change,) = plan.changes
        record = change.record.model_copy(update={"user": "half \ud83d of a character"})
        return dataclasses.replace(plan, changes=[dataclasses.replace(change, record=record)])

    await turn(core, "a", user="before it")
    bad = Envelope.model_validate(an_envelope(core.clock(), 7))
    await core.writer.write(bad, planner=plan_half)
    await turn(core, "b", user="after it")
    assert "after it" in texts(await search(core, "after it"))
    await core.writer.settle()
    assert await core.store.count(Turn) == 2 and core.writer.pending == 0 and core.writer.set_aside == 1
    assert spool.pending(core.home) == []


async def test_an_envelope_that_hung_two_engines_is_not_read_again(core: Core):
    home = core.home
    paths = [spool.write(home, an_envelope(core.clock(), number)) for number in (1, 2)]

    def hung() -> None:
        InHand(home).take(paths[0])
        with open(home.deaths, "a") as file:
            file.write("Timeout!\n")

    InHand(home).take(paths[0])  # and was killed, which is not the envelope's fault
    hung()
    InHand(home).take(paths[0])
    hung()
    core.writer._in_hand = InHand(home)
    await core.writer.drain()
    await core.writer.settle()
    assert [row.user for row in await core.store.select(Turn, "true")] == ["zebra 2"]
    (broken,) = spool.json_files(home.spool_broken)
    assert "deaths.log" in Path(broken + ".reason").read_text()
