"""Access counts: the hits of a recall are counted in the background, and nothing else is."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest
from said import SCOPE, fact, forget, search, turn

from scrubjay.engine.core import Core
from scrubjay.home.settings import Settings
from scrubjay.models.requests import Forget, parse


@dataclass
class Clock:
    """A clock that stops until it is set forward."""

    now: datetime

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock(now: datetime) -> Clock:
    return Clock(now)


async def counts(core: Core, *ids: str) -> list[int]:
    return [(await core.lists.find(id)).access_count for id in ids]


async def test_hits_are_counted_and_their_neighbours_are_not(core: Core, clock: Clock):
    found = await turn(core, "s", user="Why is the zebra cache slow?")
    neighbour = await turn(core, "s", user="And now for something else.")
    known = await fact(core, "The zebra cache is Redis.")
    clock.now += timedelta(minutes=5)
    hits = await search(core, "zebra cache", next_turns=1)
    assert {hit.id for hit in hits.results} == {found.id, known.id}
    assert [hit.id for hit in hits.related] == [neighbour.id]
    await search(core, "zebra cache", next_turns=1)
    await core.lists.latest(10, SCOPE)
    await core.search.profile(SCOPE)
    await core.removal.forget(parse(Forget, {"query": "zebra cache", "dry_run": True}), SCOPE, "test")
    core.settings = Settings(inject="prompt")
    await core.search.injection({"prompt": "zebra cache"}, SCOPE)
    assert await counts(core, found.id, known.id) == [0, 0]
    assert await core.access.flush() == 2
    assert await counts(core, found.id, neighbour.id, known.id) == [2, 0, 2]
    record = await core.lists.find(known.id)
    assert record.last_accessed_at == clock.now and record.updated_at < clock.now
    await core.writer.settle()
    assert await counts(core, found.id, known.id) == [2, 2]


async def test_waiting_counts_are_written_when_the_engine_ends(opens, clock: Clock):
    core = await opens()
    known = await fact(core, "The zebra cache is Redis.")
    await search(core, "zebra cache")
    assert await counts(await opens(), known.id) == [1]


async def test_a_count_restores_no_record_that_was_forgotten_or_replaced_meanwhile(core: Core):
    gone, old = await fact(core, "The zebra cache is Redis."), await fact(core, "The zebra queue is Kafka.")
    await search(core, "zebra")
    await forget(core, gone.id)
    new = await fact(core, "The zebra queue is NATS.", updates=[old.id])
    await core.access.flush()  # newer rows of these two wait for a commit, and take precedence
    assert [hit.id for hit in (await search(core, "zebra")).results] == [new.id]
    await core.writer.settle()
    await core.access.flush()
    assert [hit.id for hit in (await search(core, "zebra")).results] == [new.id]
    purged = await core.removal.forget(parse(Forget, {"id": new.id, "purge": True}), SCOPE, "test")
    assert set(purged.ids) == {new.id, old.id}
    await core.access.flush()
    assert await core.lists.find(new.id) is None
