"""Several engines on one bucket: real LanceDB against moto's S3 server, each engine with a home of
its own.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest
from said import SCOPE, fact, forget, search, texts, turn, until

from scrubjay.engine.background import upkeep
from scrubjay.engine.core import Core
from scrubjay.errors import InputError
from scrubjay.home import spool
from scrubjay.models import requests
from scrubjay.models.records import Memory, Turn
from scrubjay.store import conditions
from scrubjay.store.bucket import sharing
from scrubjay.store.bucket.inbox import ENVELOPE, open_inbox
from scrubjay.store.tables import ALWAYS, connect

pytestmark = pytest.mark.long

Start = Callable[[str], Awaitable[Core]]


def hurry(core: Core) -> None:
    """Make the engine check the lease more often, and take it after two seconds without a heartbeat."""
    core.store.shared.lease._seconds = 2.0


async def equals(reading: Awaitable[object], wanted: object) -> bool:
    return await reading == wanted


async def test_a_write_to_one_engine_is_found_by_the_other(start: Start):
    first, second = await start("a"), await start("b")
    assert (first.store.is_writer, second.store.is_writer) == (True, False)
    await fact(first, "The gate opens at seven.")
    await fact(second, "The heron nests behind the mill.")

    for core in (first, second):
        await until(lambda core=core: _found_both(core))


async def _found_both(core: Core) -> bool:
    found = texts(await search(core, "heron gate", top_k=5))
    return {"The gate opens at seven.", "The heron nests behind the mill."} <= set(found)


async def test_a_write_is_readable_by_id_before_the_maintainer_commits_it(start: Start):
    _, second = await start("a"), await start("b")
    recorded = await turn(second, "s1", user="Which port?", assistant="Port 8080.")
    kept = await second.lists.find(recorded.id)
    assert isinstance(kept, Turn) and kept.user == "Which port?"


async def test_engines_that_write_concurrently_lose_nothing_and_number_turns_without_gaps(start: Start):
    first, second = await start("a"), await start("b")

    async def record(core: Core, said: str) -> None:
        for number in range(50):
            await turn(core, "shared", user=f"{said} asks {number}", assistant=f"Answer {number} to {said}.")

    await asyncio.gather(record(first, "Ann"), record(second, "Bob"))

    await until(lambda: equals(first.store.count(Turn), 100), 120)
    rows = await first.store.select(Turn, "true", columns=["turn", "user"])
    assert sorted(row.turn for row in rows) == list(range(100))
    assert len({row.user for row in rows}) == 100
    assert spool.pending(second.home) == []


async def test_two_sides_of_a_turn_sent_to_two_engines_become_one_turn(start: Start):
    first, second = await start("a"), await start("b")
    await asyncio.gather(
        turn(first, "s1", user="How long does the lease last?", prompt_id="p1"),
        turn(second, "s1", assistant="Fifteen seconds without a beat.", prompt_id="p1"),
    )

    async def sides() -> list[tuple[str | None, str | None]]:
        rows = await first.store.select(Turn, conditions.equal("session_id", "s1"))
        return [(row.user, row.assistant) for row in rows]

    both = "How long does the lease last?", "Fifteen seconds without a beat."
    await until(lambda: equals(sides(), [both]))


async def test_when_the_maintainer_leaves_another_engine_takes_its_place_and_its_work(start: Start):
    first, second = await start("a"), await start("b")
    await fact(first, "The ferry leaves at nine.")
    await first.writer.settle()
    await first.close()
    await fact(second, "The ferry is blue.")

    async def leads() -> bool:
        return second.store.is_writer

    hurry(second)
    await until(leads)
    assert {"The ferry leaves at nine.", "The ferry is blue."} <= set(texts(await search(second, "ferry")))

    await until(lambda: equals(second.store.passages.count("space_id IS NULL"), 0))


async def test_writes_handed_to_a_maintainer_that_dies_wait_for_the_next_one(start: Start, place: str):
    first, second = await start("a"), await start("b")
    await first._background.end()  # it stops in the middle of everything, and releases nothing
    await fact(second, "The kiln was lit on Monday.")
    await second.writer.settle()
    assert spool.pending(second.home) == []  # the bucket has it
    inbox = await open_inbox(await connect(place, fresh=ALWAYS))
    assert [entry.kind for entry in await inbox.next_entries()] == [ENVELOPE]

    async def taken() -> bool:
        is_done = await second.store.count(Memory) == 1 and await inbox.next_entries() == []
        return second.store.is_writer and is_done

    hurry(second)
    await until(taken)


async def test_a_restarted_engine_hands_over_the_rest_of_its_spool(start: Start):
    await start("a")
    second = await start("b")
    await second._background.end()
    await fact(second, "The spool survives a power cut.")
    assert len(spool.pending(second.home)) == 1
    again = await start("b")

    await until(lambda: _searched(again, "What survives a power cut?", "The spool survives a power cut."))


async def test_a_record_forgotten_or_purged_through_one_engine_is_gone_in_all(start: Start):
    first, second = await start("a"), await start("b")
    kept = await fact(first, "The cellar key hangs left.")
    purged = await fact(first, "The attic key hangs right.")
    await search(first, "key")
    await forget(second, kept.id)
    request = requests.parse(requests.Forget, {"id": purged.id, "purge": True})
    done = await second.removal.forget(request, SCOPE, "test")
    left = done.kept_until - second.clock()
    assert timedelta(minutes=69) < left < timedelta(minutes=71)  # how long older versions keep it

    async def gone() -> bool:
        return [texts(await search(core, "key hangs")) for core in (first, second)] == [[], []]

    await until(gone)
    assert await first.store.count(Memory, conditions.equal("id", purged.id)) == 0


def objects_with(place: str, word: bytes) -> list[str]:
    """The objects of a bucket that hold a word; words are folded to small letters in the word index."""
    import boto3  # installed with moto

    bucket = boto3.resource("s3", endpoint_url=os.environ["AWS_ENDPOINT"]).Bucket(place.split("/")[2])
    return [
        each.key
        for each in bucket.objects.filter(Prefix=place.split("/")[3])
        if word in each.get()["Body"].read().lower()
    ]


async def test_a_purge_removes_older_versions_from_the_bucket_too(
    start: Start, place: str, monkeypatch: pytest.MonkeyPatch
):
    core = await start("a")
    purged = await fact(core, "The password of the attic is Zanzibaroon.")
    await fact(core, "The cellar key hangs left.")
    await search(core, "attic")
    assert objects_with(place, b"zanzibaroon")
    request = requests.parse(requests.Forget, {"id": purged.id, "purge": True})
    await core.removal.forget(request, SCOPE, "test")
    monkeypatch.setattr(upkeep, "VERSION_LIFETIME", timedelta(milliseconds=1))  # as if that time had passed
    monkeypatch.setattr(sharing, "VERSION_LIFETIME", timedelta(milliseconds=1))
    await core.upkeep.sweep()
    assert objects_with(place, b"zanzibaroon") == []


async def test_a_recall_through_a_follower_is_counted(start: Start):
    first, second = await start("a"), await start("b")
    added = await fact(first, "The well is forty metres deep.")
    await first.writer.settle()

    await until(lambda: _searched(second, "How deep is the well?", "The well is forty metres deep."))
    await second.access.flush()

    async def counted() -> bool:
        rows = await first.store.get(Memory, [added.id])
        return rows[added.id].access_count >= 1

    await until(counted)


async def test_a_follower_searches_by_meaning_even_after_a_reindex(start: Start):
    first, second = await start("a"), await start("b")
    await fact(first, "The lantern burns oil.")

    await until(lambda: equals(first.store.passages.count("space_id IS NOT NULL"), 1))

    async def meant() -> bool:
        return await second.indexer.embed_query("lantern") is not None

    await until(lambda: _searched(second, "lantern", "The lantern burns oil."))
    await until(meant)
    await first.reindex.run()
    assert first.store.note.generation == 2
    await until(lambda: _searched(second, "lantern", "The lantern burns oil."))

    async def moved() -> bool:
        await search(second, "lantern")
        return second.store.note == first.store.note

    await until(moved)


async def _searched(core: Core, query: str, answer: str) -> bool:
    return texts(await search(core, query))[:1] == [answer]


async def test_refused_operations_name_the_maintainer_or_another_command(start: Start, tmp_path: Path):
    first, second = await start("a"), await start("b")
    me = re.escape(first.store.shared.lease.holder)
    with pytest.raises(InputError, match=f"A reindex needs the engine that maintains this store: {me}"):
        await second.reindex.run()
    with pytest.raises(InputError, match=f"Merging scopes needs the engine that maintains this store: {me}"):
        await second.scopes.merge("old", "new")
    with pytest.raises(InputError, match="scrubjay export"):
        await first.backup.make(str(tmp_path / "copy"), lambda done, total: None)


async def test_sweeping_leaves_one_generation_and_every_record(start: Start):
    first = await start("a")
    await fact(first, "The archive stays.")
    await first.reindex.run()
    await first.upkeep.sweep()
    names = (await (await connect(first.store.path)).list_tables()).tables
    assert sorted(names) == ["documents", "inbox", "memories", "notes", "passages_2", "turns"]
    assert texts(await search(first, "archive")) == ["The archive stays."]


async def test_notes_that_are_written_meanwhile_end_no_sweep(start: Start):
    shared = (await start("a")).store.shared
    assert shared is not None

    async def write() -> None:
        for number in range(40):
            await shared.notes.write("test", str(number))

    written = asyncio.ensure_future(write())
    while not written.done():
        await shared.tidy()
    await written
    assert await shared.notes.read("test") == "39"
