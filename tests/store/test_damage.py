"""Damaged files of a home: indexes are built anew, manifests put back, and lost records are said."""

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
from hashing_encoder import HashingEncoder

from scrubjay.cli.doctor import PROBLEM
from scrubjay.cli.doctor import store as findings_of
from scrubjay.engine.core import Core, open_core
from scrubjay.engine.engine import Engine
from scrubjay.home.files import move_aside_nonfile
from scrubjay.home.paths import Home
from scrubjay.home.settings import Settings
from scrubjay.models.records import Document, Memory, Turn
from scrubjay.models.requests import Forget
from scrubjay.records.passages import passages_of
from scrubjay.store import conditions
from scrubjay.store.failures import not_read, not_written
from scrubjay.store.inventory import Inventory
from scrubjay.store.manifest import newest_manifest, read_manifest
from scrubjay.store.mending import count_lacking, write_empty

BIRDS = ["The owl nests in the church tower.", "The heron fishes at the mill."]
Clock = Callable[[], datetime]


async def opened(home: Home, clock: Clock) -> Core:
    return await open_core(home, Settings(), clock, lambda *_, **__: HashingEncoder())


async def filled(home: Home, clock: Clock) -> None:
    """A home with two facts, each in a fragment of its own, whose engine has ended."""
    core = await opened(home, clock)
    for bird in BIRDS:
        await said.fact(core, bird)
        await core.writer.settle()
    await core.close()


def used(home: Home, table: str, part: str) -> list[Path]:
    """The files of a part of a table that its newest version reads, `data` or `_indices`."""
    folder = Path(home.data, f"{table}.lance")
    manifest = read_manifest(str(newest_manifest(str(folder))))
    names = [each.relative_to(folder).as_posix() for each in sorted(folder.glob(f"{part}/**/*"))]
    names = [name for name in names if Path(folder, name).is_file()]
    of = manifest.index_of if part == "_indices" else manifest.fragment_of
    return [folder / name for name in names if of(name) is not None]


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


async def problems(core: Core) -> list[str]:
    """What doctor says of the store that needs somebody."""
    found = findings_of(await core.status.report() | await core.mending.report())
    return [finding.says for finding in found if finding.verdict == PROBLEM]


async def test_a_sound_store_has_no_damage_after_upkeep_too(home: Home, clock: Clock, monkeypatch):
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


async def test_a_damaged_index_is_built_anew_while_it_is_used(home: Home, clock: Clock):
    await filled(home, clock)
    core = await opened(home, clock)
    for part in used(home, "passages_1", "_indices") + used(home, "memories", "_indices"):
        part.write_bytes(b"")
    await core.store.reopen()
    assert BIRDS[0] in said.texts(await said.search(core, "owl church tower"))
    await said.fact(core, "The kite circles.")
    await core.writer.settle()
    assert await problems(core) == [] and core.store.repairs
    assert "The kite circles." in said.texts(await said.search(core, "kite circles"))
    await core.close()


async def test_a_flipped_bit_that_makes_lancedb_panic_ends_no_work(home: Home, clock: Clock, caplog):
    await filled(home, clock)
    for part in used(home, "passages_1", "_indices"):
        part.write_bytes(part.read_bytes().replace(b"string", b"spring"))
    core = await opened(home, clock)
    assert BIRDS[0] in said.texts(await said.search(core, "owl church tower"))
    await said.fact(core, "The kite circles.")
    await said.embedded(core)
    assert "The kite circles." in said.texts(await said.search(core, "kite circles"))
    assert await problems(core) == [] and core.store.repairs
    await core.close()
    assert "background work ended" not in caplog.text


async def test_a_flipped_bit_in_an_index_is_found_by_doctor(home: Home, clock: Clock):
    await filled(home, clock)
    flip(used(home, "memories", "_indices")[0])
    core = await opened(home, clock)
    assert core.store.repairs == []
    assert await problems(core) == []
    assert "was damaged" in core.store.repairs[0]
    await core.close()


async def test_passages_that_are_gone_or_damaged_are_made_anew_from_the_records(home: Home, clock: Clock):
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


async def test_passages_that_are_cut_without_an_inventory_are_made_anew(home: Home, clock: Clock):
    await filled(home, clock)
    cut = used(home, "passages_1", "data")[0]
    cut.write_bytes(cut.read_bytes()[:100])
    shutil.rmtree(f"{home.data}.inventory")
    core = await opened(home, clock)
    assert await problems(core) == [] and "passages_1 was damaged" in core.store.repairs[-1]
    await filled_again(core)
    assert BIRDS[1] in said.texts(await said.search(core, "heron mill"))
    await core.close()


async def test_a_damaged_manifest_is_put_back_from_its_copy(home: Home, clock: Clock):
    await filled(home, clock)
    for damage in (flip, os.unlink, lambda path: path.write_bytes(b"")):
        damage(Path(str(newest_manifest(os.path.join(home.data, "memories.lance")))))
        core = await opened(home, clock)
        assert "restored from its copy" in core.store.repairs[0]
        assert await core.store.count(Memory) == 2 and await problems(core) == []
        await core.close()


async def test_records_that_are_gone_are_said_until_somebody_goes_on_without(home: Home, clock: Clock):
    await filled(home, clock)
    shutil.rmtree(Path(home.data, "memories.lance"))
    for _ in range(2):
        core = await opened(home, clock)
        assert "memories had 2 records and has 0" in (await problems(core))[0]
        hits = await said.search(core, "owl")
        assert hits.degraded and "damaged" in hits.degraded
        await core.close()
    core = await opened(home, clock)
    assert (await core.mending.mend())["deleted"] == 0
    assert await problems(core) == []
    await said.fact(core, BIRDS[0])
    assert said.texts(await said.search(core, "owl church tower")) == [BIRDS[0]]
    await core.close()


async def test_a_folder_of_the_store_that_is_gone_is_said(home: Home, clock: Clock):
    await filled(home, clock)
    shutil.rmtree(home.data)
    core = await opened(home, clock)
    assert "memories had 2 records and has 0" in (await problems(core))[0]
    await core.close()


async def test_a_checkpoint_of_tables_that_were_made_anew_hides_no_loss(home: Home, clock: Clock):
    """It came between the making and the look at what they lack, and noted that there never was more."""
    await filled(home, clock)
    core = await opened(home, clock)
    os.rename(home.data, f"{home.root}.gone")
    os.mkdir(home.data)
    await core.store.reopen()
    await core.store.checkpoint()
    assert "memories had 2 records and has 0" in (await problems(core))[0]
    assert (await core.mending.mend())["deleted"] == 0
    await said.fact(core, "The kite circles.")
    await core.writer.settle()
    assert await problems(core) == []
    await core.close()


async def test_tables_that_go_while_they_are_used_are_made_anew_and_said(home: Home, clock: Clock):
    await filled(home, clock)
    core = await opened(home, clock)
    os.rename(home.data, f"{home.root}.gone")  # in one step: the core may still write there
    assert "memories had 2 records and has 0" in (await problems(core))[0]
    await said.fact(core, "The kite circles.")
    assert said.texts(await said.search(core, "kite circles")) == ["The kite circles."]
    await core.close()


async def test_of_damaged_records_those_that_can_be_read_are_kept(home: Home, clock: Clock):
    await filled(home, clock)
    os.unlink(used(home, "memories", "data")[0])
    core = await opened(home, clock)
    (problem,) = await problems(core)
    assert problem.startswith("Records are damaged: the file memories.lance/data/")
    assert (await core.mending.mend())["deleted"] == 1
    assert await core.store.count(Memory) == 1 and await problems(core) == []
    await core.reindex.run()
    assert len((await said.search(core, "owl church tower heron mill")).results) == 1
    await core.close()


async def test_damaged_records_are_copied_before_they_are_deleted_and_a_purge_removes_the_copies(
    home: Home, clock: Clock
):
    core = await opened(home, clock)
    await said.fact(core, "The kite circles.")
    await core.close()
    lost = used(home, "memories", "data")[0]
    damaged = lost.read_bytes()[:-7] + b"damaged"
    lost.write_bytes(damaged)
    core = await opened(home, clock)
    done = await core.mending.mend()
    assert done["deleted"] == 1
    (copy,) = Path(done["aside"]).iterdir()
    assert copy.read_bytes() == damaged
    await core.reindex.run()
    fact = await said.fact(core, "The owl nests in the tower.")
    await core.writer.settle()
    await core.removal.forget(Forget(id=fact.id, purge=True), said.SCOPE, "mcp")
    assert not os.path.exists(done["aside"])
    await core.close()


@pytest.mark.parametrize("table", ["turns", "memories", "documents"])
@pytest.mark.parametrize(
    "damage",
    [
        "missing, unknown",
        *(pytest.param(each, marks=pytest.mark.long) for each in ("missing", "cut, unknown")),
    ],
)
async def test_a_lost_file_of_records_is_named_and_gone_on_without(
    home: Home, clock: Clock, table: str, damage: str
):
    core = await opened(home, clock)
    for n, bird in enumerate(BIRDS):
        await said.turn(core, f"s{n}", user=bird)
        await said.fact(core, bird)
        await said.document(core, bird, title=bird)
        await core.writer.settle()
    await core.reindex.run()  # so that the next opening drops an index, and writes the inventory anew
    await core.close()
    lost = used(home, table, "data")[0]
    if damage.startswith("cut"):
        lost.write_bytes(lost.read_bytes()[:100])
    else:
        lost.unlink()
    if damage.endswith("unknown"):
        shutil.rmtree(f"{home.data}.inventory")

    core = await opened(home, clock)
    (problem,) = await problems(core)
    assert problem.startswith("Records are damaged: ") and table in problem
    assert (lost.name in problem) == damage.startswith("missing")
    assert (await core.mending.mend())["deleted"] == 1
    await filled_again(core)
    assert await problems(core) == []
    counts = [await core.store.count(kind) for kind in (Turn, Memory, Document)]
    assert sorted(counts) == [1, 2, 2] and (await core.counts.by_scope(said.SCOPE))
    assert await core.store.count_passages(conditions.one_of("src", ["memory", "chunk"])) >= 3
    await said.fact(core, "The kite circles.")
    found = said.texts(await said.search(core, "kite circles owl heron", top_k=10))
    assert {"The kite circles.", BIRDS[1]} <= set(found)
    await core.close()


@pytest.mark.parametrize("inventory", ["there", "gone"])
async def test_records_whose_file_of_deletions_is_missing_are_all_kept_in_their_newest_version(
    home: Home, clock: Clock, inventory: str
):
    core = await opened(home, clock)
    facts = await said.facts(core, BIRDS)
    await core.writer.settle()
    for fact in facts[1:]:
        await said.forget(core, fact.id)
    await core.writer.settle()
    await core.close()
    lost = used(home, "memories", "_deletions")
    for file in lost:
        file.unlink()
    if inventory == "gone":
        shutil.rmtree(f"{home.data}.inventory")

    core = await opened(home, clock)
    assert lost[0].name in (await problems(core))[0]
    assert (await core.mending.mend())["deleted"] == 0
    await filled_again(core)
    assert await problems(core) == [] and await core.store.count(Memory) == len(facts)
    assert said.texts(await said.search(core, "owl church heron mill")) == [BIRDS[0]]
    await core.close()


async def test_a_file_of_many_deletions_can_be_emptied(tmp_path: Path):
    table = await (await lancedb.connect_async(tmp_path)).create_table("t", [{"n": n} for n in range(6_000)])
    await table.delete("n > 100")
    (deletions,) = tmp_path.glob("t.lance/_deletions/*")
    assert deletions.suffix == ".bin" and await table.count_rows() == 101
    write_empty([str(deletions)])
    again = await (await lancedb.connect_async(tmp_path)).open_table("t")
    assert len(await again.query().to_arrow()) == 6_000


async def test_a_missing_index_of_records_is_built_anew_after_the_inventory_was_written_anew(
    home: Home, clock: Clock
):
    await filled(home, clock)
    core = await opened(home, clock)
    await core.reindex.run()
    await core.close()
    for part in used(home, "memories", "_indices"):
        part.unlink()
    core = await opened(home, clock)
    assert await problems(core) == [] and "was damaged" in core.store.repairs[0]
    assert (await said.fact(core, BIRDS[0])).action == "known"
    await core.close()


async def test_records_that_can_be_read_are_found_while_others_are_damaged_and_the_index_is_filled(
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
    assert await core.store.count_passages(conditions.equal("src", "turn")) and not core.store.note.complete
    await core.close()


@pytest.mark.parametrize("phase", ["reading", "embedding"])
@pytest.mark.parametrize("began", ["anew", "beside"])
async def test_an_index_that_begins_anew_while_it_is_filled_has_every_record_at_the_end(
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
    assert passages == await core.store.count_passages()
    assert await count_lacking(core.store, passages_of) == 0
    assert await core.store.count_passages(conditions.NO_VECTOR) == 0
    hits = said.texts(await said.search(core, "owl tower heron mill", top_k=10))
    assert len(hits) == 6 and core.indexer.notice is None
    await core.close()


async def filled_again(core: Core) -> None:
    """Wait until nobody fills the index any more."""
    await asyncio.sleep(0)
    while core.reindex.is_running:
        await asyncio.sleep(0.005)
    await said.embedded(core)


async def test_an_index_that_lacks_records_is_named_and_filled(home: Home, clock: Clock):
    await filled(home, clock)
    core = await opened(home, clock)
    await said.embedded(core)
    await core.store.tables.passages.delete("text LIKE '%heron%'")
    assert await problems(core) == ["The index lacks 1 record, which searches do not find."]
    await filled_again(core)
    assert BIRDS[1] in said.texts(await said.search(core, "heron mill"))
    assert await problems(core) == [] and core.store.note.complete
    await core.close()


async def test_a_note_on_the_index_that_is_cut_while_it_is_used_is_named_and_written_anew(
    home: Home, clock: Clock
):
    await filled(home, clock)
    core = await opened(home, clock)
    note = Path(home.data, "index.json")
    before = note.read_text()
    for damage in (lambda: note.write_text(before[:20]), note.unlink):
        damage()
        assert await problems(core) == []
        assert "index.json was damaged" in core.store.repairs.pop()
        assert note.read_text() == before
    await core.close()


async def test_altered_records_are_named_though_they_can_be_read(home: Home, clock: Clock):
    await filled(home, clock)
    flip(used(home, "memories", "data")[0])
    core = await opened(home, clock)
    assert "differs from what was written" in (await problems(core))[0]
    await core.close()


async def test_nothing_waits_for_what_is_no_file(home: Home, clock: Clock):
    await filled(home, clock)
    places = [*used(home, "memories", "_indices")[:1], *used(home, "passages_1", "data")[:1]]
    places += [Path(newest_manifest(os.path.join(home.data, "turns.lance")) or "")]
    places += [Path(home.data, "index.json"), Path(f"{home.data}.inventory", "files")]
    places += [Path(home.data, "memories.lance", "_versions", "latest_version_hint.json")]
    places += [Path(home.capture), Path(home.scope_settings)]
    for place in places:
        place.unlink(missing_ok=True)
        os.mkfifo(place)
    core = await opened(home, clock)
    await core.reindex.run()
    assert BIRDS[1] in said.texts(await said.search(core, "heron mill"))
    assert await problems(core) == []
    await core.close()


def test_an_inventory_whose_lines_are_torn_says_nothing_of_those_files(tmp_path: Path):
    (tmp_path / "data" / "t.lance" / "data").mkdir(parents=True)
    (tmp_path / "data.inventory").mkdir()
    for name in ("one", "two"):
        (tmp_path / "data" / "t.lance" / "data" / name).write_text(name)
    Inventory(str(tmp_path / "data")).sync_new({})
    lines = tmp_path / "data.inventory" / "files"
    lines.write_text(lines.read_text()[:-3].replace("one", "won", 1))
    assert Inventory.load(str(tmp_path / "data")).files == {}


def test_a_draft_that_is_renamed_while_an_index_is_written_is_not_missed(tmp_path: Path):
    index = tmp_path / "data" / "passages_1.lance" / "_indices" / "6793cbc6"
    index.mkdir(parents=True)
    (index / "metadata.lance").write_bytes(b"done")
    draft = index / ".tmpLf7gSM"
    draft.write_bytes(b"half")
    inventory = Inventory(str(tmp_path / "data"))
    inventory.sync_new({})
    draft.rename(index / "part_0_docs.lance")

    assert [name.rpartition("/")[2] for name in inventory.files] == ["metadata.lance"]


def test_what_is_moved_aside_keeps_what_was_moved_before(tmp_path: Path):
    for _ in range(2):
        (tmp_path / "place").mkdir()
        assert move_aside_nonfile(str(tmp_path / "place"))
    assert sorted(os.listdir(tmp_path)) == ["place.aside1", "place.aside2"]
    assert not move_aside_nonfile(str(tmp_path / "place"))


async def test_a_purge_reaches_earlier_generations_drafts_and_what_was_moved_aside(home: Home, clock: Clock):
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


async def test_an_engine_removes_the_drafts_of_one_that_died(home: Home, clock: Clock):
    await filled(home, clock)
    drafts = [Path(home.data, "memories.lance", folder, ".tmpbBmcJr") for folder in ("data", "_versions")]
    for draft in drafts:
        draft.write_text(BIRDS[0])
    await (await opened(home, clock)).close()
    assert not any(draft.exists() for draft in drafts)


async def test_a_fault_of_ours_is_not_reported_as_damage_of_the_store(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = await engine.core()
    looked: list[bool] = []
    monkeypatch.setattr(core.mending, "wake", lambda: looked.append(True))
    deep = RecursionError("maximum recursion depth exceeded")
    half = UnicodeEncodeError("utf-8", "\ud83d", 0, 1, "surrogates not allowed")
    sentences = [engine.unforeseen("index", error) for error in (deep, half)]
    sentences += [str(not_written("/home/data", error)) for error in (deep, half)]
    sentences += [str(not_read("/home/data", error, ("Rows are lost.",))) for error in (deep, half)]
    assert all("inside Scrubjay" in each and "doctor" not in each for each in sentences) and not looked
    assert "doctor" in engine.unforeseen("index", RuntimeError("LanceError(IO)")) and looked
