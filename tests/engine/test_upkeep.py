"""Upkeep: compaction, folding of the word index, a new connection, and the removal of superseded versions."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from said import embedded, search, turn, until

from scrubjay.engine.background.upkeep import Bounds, Upkeep
from scrubjay.engine.core import Core
from scrubjay.home.paths import Home

pytestmark = pytest.mark.long


async def zebras(core: Core, count: int) -> None:
    """Record turns, each with a commit of its own."""
    for n in range(count):
        await turn(core, f"s{n}", user=f"zebra number {n}")
        await core.writer.settle()


async def test_upkeep_compacts_by_fragments_and_loses_nothing(core: Core):
    await zebras(core, 25)
    upkeep = Upkeep(core.store)
    await upkeep.tidy(Bounds(fragments=2, unindexed=500))  # the engine's own may have existed before
    assert (await core.store.tables.turns.stats())["fragment_stats"]["num_fragments"] <= 2
    assert upkeep.failures == 0
    assert len((await search(core, "zebra number", top_k=50)).results) == 25


async def test_upkeep_survives_the_end_of_a_reindex_while_it_looks_for_work(core: Core):
    """It ended for as long as the engine ran, because the table that was being built had gone."""
    await turn(core, "s", user="zebra")
    await core.writer.settle()
    await core.indexer.begin_generation(await core.indexer.load())
    upkeep = Upkeep(core.store)
    looking = core.store.tables.names
    await core.store.finish_generation()
    assert looking[-1] == "building" and core.store.building is None
    assert not await upkeep._is_due("building", Bounds(fragments=2, unindexed=500))


@pytest.mark.long
async def test_superseded_versions_are_deleted_when_the_engine_is_idle(core: Core, home: Home, monkeypatch):
    """Found by a bulk load: 3 GB of older versions stayed until the next compaction, if there was one."""
    await zebras(core, 8)
    await embedded(core)
    *older, _ = _versions(home)
    assert older
    monkeypatch.setattr("scrubjay.engine.background.upkeep.QUIET_SECONDS", 0.2)
    monkeypatch.setattr("scrubjay.engine.background.upkeep.KEEP_VERSIONS", timedelta(seconds=0.1))
    upkeep = Upkeep(core.store)
    pruning = asyncio.create_task(upkeep.run())
    async with asyncio.timeout(20):
        while {*older} & {*_versions(home)}:
            await asyncio.sleep(0.01)
    pruning.cancel()
    assert upkeep.failures == 0 and len((await search(core, "zebra number", top_k=50)).results) == 8


@pytest.mark.long
async def test_superseded_versions_stay_until_their_replacement_is_on_disk(
    core: Core, home: Home, monkeypatch
):
    """A power cut after a clean-up without a preceding sync would lose the newest version and the one before."""
    monkeypatch.setattr("scrubjay.engine.background.upkeep.KEEP_VERSIONS", timedelta(milliseconds=1))
    await zebras(core, 4)
    await embedded(core)
    *older, _ = _versions(home)
    there: list[int] = []
    checkpoint = core.store.checkpoint

    async def looked():
        there.extend(_versions(home))
        await checkpoint()

    monkeypatch.setattr(core.store, "checkpoint", looked)
    await Upkeep(core.store).prune()
    assert {*older} & {*there} and not {*older} & {*_versions(home)}


def _versions(home: Home) -> list[int]:
    """Oldest first, from the disk: LanceDB's list of them fails if one is deleted meanwhile."""
    names = Path(home.data, "turns.lance", "_versions").glob("*.manifest")
    return sorted(2**64 - 1 - int(name.stem) for name in names)


@pytest.mark.long
async def test_new_vectors_trigger_folding_of_the_word_index(core: Core):
    """Vectors rewrite rows, which were not folded until the next turn was recorded."""
    for n in range(60):
        await turn(core, f"s{n}", user=f"zebra number {n}")
    await core.writer.settle()

    async def is_folded() -> bool:
        index = await core.store.tables.passages.index_stats("search_text_idx")
        return not (await core.store.passages.count("space_id IS NULL") or index.num_unindexed_rows)

    await until(is_folded)


async def test_the_connection_is_renewed_after_many_compactions(core: Core, monkeypatch):
    monkeypatch.setattr("scrubjay.engine.background.upkeep.REOPEN_AFTER", 1)
    upkeep, before = Upkeep(core.store), core.store.tables
    await zebras(core, 3)
    await upkeep.tidy(Bounds(fragments=1, unindexed=500))
    assert core.store.tables is not before
    await turn(core, "s9", user="zebra after")
    assert len((await search(core, "zebra", top_k=50)).results) == 4
