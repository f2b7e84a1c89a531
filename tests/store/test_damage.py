"""Damaged files of a store: indexes are rebuilt, manifests restored, and damaged records listed."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import lancedb
import pytest
import said
from damaged_files import cut, empty, flip, used
from said import opened

from scrubjay.cli.doctor import PROBLEM
from scrubjay.cli.doctor import store as findings_of
from scrubjay.engine.core import Core
from scrubjay.engine.engine import Engine
from scrubjay.home.paths import Home
from scrubjay.models.records import Document, Memory, Turn
from scrubjay.models.requests import Forget
from scrubjay.records.passages import passages_of
from scrubjay.store import conditions
from scrubjay.store.failures import not_read, not_written
from scrubjay.store.inventory import Inventory
from scrubjay.store.manifest import newest_manifest
from scrubjay.store.mending import count_lacking, write_empty

pytestmark = pytest.mark.long

BIRDS = ["The owl nests in the church tower.", "The heron fishes at the mill."]
Clock = Callable[[], datetime]


async def filled(home: Home, clock: Clock) -> None:
    """A home with two facts, each in a fragment of its own, whose engine has ended."""
    core = await opened(home, clock)
    for bird in BIRDS:
        await said.fact(core, bird)
        await core.writer.settle()
    await core.close()


async def problems(core: Core) -> list[str]:
    """The findings of doctor about the store that need a user."""
    found = findings_of(await core.status.report() | await core.mending.report())
    return [finding.message for finding in found if finding.verdict == PROBLEM]


async def test_an_intact_store_has_no_damage_even_after_upkeep(home: Home, clock: Clock, monkeypatch):
    monkeypatch.setattr("scrubjay.engine.background.upkeep.READ_SECONDS", 0.0)
    core = await opened(home, clock)
    for n in range(6):
        await said.fact(core, f"The owl number {n} nests in tower {n}.")
        await core.writer.settle()
    await said.embedded(core)
    await core.upkeep.prune()
    await core.upkeep.prune()
    assert await problems(core) == []
    await core.close()
    again = await opened(home, clock)
    assert (await problems(again), again.store.repairs, again.store.note.complete) == ([], [], True)
    await again.close()


def misspell(file: Path) -> None:
    """Flip a bit that makes LanceDB panic."""
    file.write_bytes(file.read_bytes().replace(b"string", b"spring"))


@pytest.mark.parametrize("damage", [empty, misspell])
async def test_a_damaged_index_is_rebuilt_while_it_is_in_use(
    home: Home, clock: Clock, caplog: pytest.LogCaptureFixture, damage: Callable[[Path], None]
):
    await filled(home, clock)
    core = await opened(home, clock)
    for part in used(home, "passages_1", "_indices") + used(home, "memories", "_indices"):
        damage(part)
    await core.store.reopen()
    assert BIRDS[0] in said.texts(await said.search(core, "owl church tower"))
    await said.fact(core, "The kite circles.")
    await said.embedded(core)
    assert "The kite circles." in said.texts(await said.search(core, "kite circles"))
    assert await problems(core) == [] and core.store.repairs
    await core.close()
    assert "background work ended" not in caplog.text


async def test_missing_or_damaged_passages_are_rebuilt_from_the_records(home: Home, clock: Clock):
    await filled(home, clock)
    for damage in (
        lambda: shutil.rmtree(Path(home.data, "passages_1.lance")),
        lambda: os.unlink(used(home, max(Path(home.data).glob("passages_*.lance")).stem, "data")[0]),
        lambda: Path(home.data, "index.json").write_text("{"),
        lambda: os.unlink(Path(home.data, "index.json")),
    ):
        damage()
        core = await opened(home, clock)
        await core.reindex.run()
        assert BIRDS[1] in said.texts(await said.search(core, "heron mill"))
        assert await problems(core) == [] and core.store.repairs
        await core.close()
    assert len(list(Path(home.data).glob("passages_*"))) == 1


async def test_a_damaged_manifest_is_restored_from_its_copy(home: Home, clock: Clock):
    await filled(home, clock)
    for damage in (flip, os.unlink, empty):
        damage(Path(str(newest_manifest(os.path.join(home.data, "memories.lance")))))
        core = await opened(home, clock)
        assert "restored from its copy" in core.store.repairs[0]
        assert await core.store.count(Memory) == 2 and await problems(core) == []
        await core.close()


@pytest.mark.parametrize("lost", ["memories.lance", ""])
async def test_lost_records_are_reported_until_the_user_continues_without(
    home: Home, clock: Clock, lost: str
):
    await filled(home, clock)
    shutil.rmtree(Path(home.data, lost))
    for _ in range(2):
        core = await opened(home, clock)
        assert "memories had 2 records and has 0" in (await problems(core))[0]
        hits = await said.search(core, "owl")
        assert hits.degraded and "damaged" in hits.degraded
        await core.close()
    core = await opened(home, clock)
    assert (await core.mending.mend())["deleted"] == 0 and await problems(core) == []
    await core.close()


async def test_a_checkpoint_of_tables_that_were_made_again_hides_no_loss(home: Home, clock: Clock):
    await filled(home, clock)
    core = await opened(home, clock)
    os.rename(home.data, f"{home.root}.gone")
    os.mkdir(home.data)
    await core.store.reopen()
    await core.store.checkpoint()
    assert "memories had 2 records and has 0" in (await problems(core))[0]
    await core.close()


@pytest.mark.parametrize(("damage", "inventory"), [(os.unlink, "kept"), (cut, "lost")])
async def test_damaged_records_are_listed_and_mending_continues_without_them(
    home: Home, clock: Clock, damage: Callable[[Path], None], inventory: str
):
    core = await opened(home, clock)
    for n, bird in enumerate(BIRDS):
        await said.turn(core, f"s{n}", user=bird)
        await said.fact(core, bird)
        await said.document(core, bird, title=bird)
        await core.writer.settle()
    await core.reindex.run()  # so that the next opening drops an index, and writes the inventory again
    await core.close()
    lost = [used(home, table, "data")[0] for table in ("turns", "memories", "documents")]
    for file in lost:
        damage(file)
    if inventory == "lost":
        shutil.rmtree(f"{home.data}.inventory")

    core = await opened(home, clock)
    found = await problems(core)
    assert len(found) == 3 and all(each.startswith("Records are damaged: ") for each in found)
    if inventory == "kept":
        assert all(any(file.name in each for each in found) for file in lost)
    mended = await core.mending.mend()
    assert mended["deleted"] == 3
    await filled_again(core)
    assert await problems(core) == []
    assert [await core.store.count(kind) for kind in (Turn, Memory, Document)] == [1, 1, 1]
    fact = await said.fact(core, "The kite circles.")
    found = said.texts(await said.search(core, "kite circles owl heron", top_k=10))
    assert "The kite circles." in found and set(found) & set(BIRDS)

    assert list(Path(mended["aside"]).glob("memories.lance/data/*"))
    await core.writer.settle()
    await core.removal.forget(Forget(id=fact.id, purge=True), said.SCOPE, "mcp")
    assert not os.path.exists(mended["aside"])
    await core.close()


async def test_records_that_were_altered_are_listed_though_they_can_be_read(home: Home, clock: Clock):
    await filled(home, clock)
    file = used(home, "memories", "data")[0]
    flip(file)
    core = await opened(home, clock)
    assert file.name in (await problems(core))[0]
    await core.close()


async def test_a_lost_list_of_deletions_brings_no_older_version_back(home: Home, clock: Clock):
    core = await opened(home, clock)
    facts = await said.facts(core, BIRDS)
    await core.writer.settle()
    await said.forget(core, facts[1].id)
    await core.writer.settle()
    await core.close()
    (lost,) = used(home, "memories", "_deletions")
    lost.unlink()

    core = await opened(home, clock)
    assert lost.name in (await problems(core))[0]
    assert (await core.mending.mend())["deleted"] == 0
    await filled_again(core)
    assert await problems(core) == [] and await core.store.count(Memory) == len(facts)
    assert said.texts(await said.search(core, "owl church tower")) == [BIRDS[0]]
    assert BIRDS[1] not in said.texts(await said.search(core, "heron fishes mill"))
    await core.close()


async def test_a_record_file_with_many_deletions_can_be_emptied(tmp_path: Path):
    table = await (await lancedb.connect_async(tmp_path)).create_table("t", [{"n": n} for n in range(6_000)])
    await table.delete("n > 100")
    (deletions,) = tmp_path.glob("t.lance/_deletions/*")
    assert deletions.suffix == ".bin" and await table.count_rows() == 101
    write_empty([str(deletions)])
    again = await (await lancedb.connect_async(tmp_path)).open_table("t")
    assert len(await again.query().to_arrow()) == 6_000


async def test_readable_records_are_found_while_others_are_damaged_and_the_index_fills(
    home: Home, clock: Clock
):
    core = await opened(home, clock)
    await said.turn(core, "s", user=BIRDS[0])
    await said.fact(core, BIRDS[1])
    await core.close()
    used(home, "memories", "data")[0].unlink()
    Path(home.data, "index.json").unlink()
    core = await opened(home, clock)
    with pytest.raises(RuntimeError):
        await core.reindex.run()
    assert await core.store.passages.count(conditions.equal("src", "turn")) and not core.store.note.complete
    await core.close()


@pytest.mark.parametrize("phase", ["reading", "embedding"])
@pytest.mark.parametrize("began", ["anew", "beside"])
async def test_an_index_that_restarts_while_filling_ends_with_every_record(
    home: Home, clock: Clock, phase: str, began: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("scrubjay.engine.verbs.reindex.PAGE", 1)
    core = await opened(home, clock)
    for n in range(3):
        await said.turn(core, f"s{n}", user=f"The owl number {n} nests in tower {n}.")
        await said.fact(core, f"The heron number {n} fishes at mill {n}.")
    await said.embedded(core)
    mends: list[asyncio.Task[dict[str, Any]]] = []

    def progress(done: int, total: int, what: str) -> None:
        if what == phase and not mends:
            mends.append(asyncio.create_task(core.mending.mend()))

    if began == "anew":
        async with core.store.lock:
            await core.store.restart_index()
    passages = await core.reindex.run(progress)
    await mends[0]
    await filled_again(core)
    assert passages == await core.store.passages.count()
    assert await count_lacking(core.store, passages_of) == 0
    assert await core.store.passages.count(conditions.NO_VECTOR) == 0
    hits = said.texts(await said.search(core, "owl tower heron mill", top_k=10))
    assert len(hits) == 6 and core.indexer.notice is None
    await core.close()


async def filled_again(core: Core) -> None:
    """Wait until the index is no longer being filled."""
    await asyncio.sleep(0)
    while core.reindex.is_running:
        await asyncio.sleep(0.005)
    await said.embedded(core)


async def test_an_index_that_lacks_records_is_named_and_filled(home: Home, clock: Clock):
    await filled(home, clock)
    core = await opened(home, clock)
    await said.embedded(core)
    async with core.store.lock:
        await core.store.tables.passages.delete("text LIKE '%heron%'")
    assert await problems(core) == ["The index lacks 1 record, which searches do not find."]
    await filled_again(core)
    assert BIRDS[1] in said.texts(await said.search(core, "heron mill"))
    assert await problems(core) == [] and core.store.note.complete
    await core.close()


def test_torn_lines_of_an_inventory_are_ignored(tmp_path: Path):
    files = tmp_path / "data" / "t.lance" / "data"
    files.mkdir(parents=True)
    (tmp_path / "data.inventory").mkdir()
    for name in ("one", "two"):
        (files / name).write_text(name)
    Inventory(str(tmp_path / "data")).sync_new({})
    lines = tmp_path / "data.inventory" / "files"
    lines.write_text(lines.read_text()[:-3].replace("one", "won", 1))
    assert Inventory.load(str(tmp_path / "data")).files == {}


def test_a_draft_renamed_while_an_index_is_written_is_not_reported_missing(tmp_path: Path):
    index = tmp_path / "data" / "passages_1.lance" / "_indices" / "6793cbc6"
    index.mkdir(parents=True)
    (index / "metadata.lance").write_bytes(b"done")
    draft = index / ".tmpLf7gSM"
    draft.write_bytes(b"half")
    inventory = Inventory(str(tmp_path / "data"))
    inventory.sync_new({})
    draft.rename(index / "part_0_docs.lance")

    assert [name.rpartition("/")[2] for name in inventory.files] == ["metadata.lance"]


async def test_a_purge_reaches_earlier_generations_drafts_and_tables_moved_away(home: Home, clock: Clock):
    await filled(home, clock)
    core = await opened(home, clock)
    draft = Path(home.data, "memories.lance", "data", ".tmpbBmcJr")  # LanceDB's, of a writer that died
    draft.write_text(BIRDS[0])
    await core.reindex.run()
    assert Path(home.data, "passages_1.lance").exists()
    remains = Path(f"{home.data}.inventory", "memories.1a2b.aside")
    remains.mkdir()
    (remains / "data").write_text(BIRDS[0])
    fact = (await said.search(core, "owl church tower")).results[0]
    await said.forget(core, fact.id, purge=True)
    await core.writer.settle()
    assert not (remains.exists() or draft.exists() or Path(home.data, "passages_1.lance").exists())
    await core.close()


async def test_a_bug_of_ours_is_not_reported_as_damage_of_the_store(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = await engine.core()
    looked: list[bool] = []
    monkeypatch.setattr(core.mending, "wake", lambda: looked.append(True))
    deep = RecursionError("maximum recursion depth exceeded")
    half = UnicodeEncodeError("utf-8", "\ud83d", 0, 1, "surrogates not allowed")
    sentences = [engine.report_bug("index", error) for error in (deep, half)]
    sentences += [str(not_written("/home/data", error)) for error in (deep, half)]
    sentences += [str(not_read("/home/data", error, ("Rows are lost.",))) for error in (deep, half)]
    assert all("inside Scrubjay" in each and "doctor" not in each for each in sentences) and not looked
    assert "doctor" in engine.report_bug("index", RuntimeError("LanceError(IO)")) and looked
