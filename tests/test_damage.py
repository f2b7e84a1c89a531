"""Damaged files of a home: indexes are built anew, manifests put back, and lost records are said."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
import said
from hashing_encoder import HashingEncoder

from scrubjay.cli.doctor import PROBLEM
from scrubjay.cli.doctor import store as findings_of
from scrubjay.engine.core import Core, open_core
from scrubjay.engine.engine import Engine
from scrubjay.home.files import clear_way
from scrubjay.home.paths import Home
from scrubjay.home.settings import Settings
from scrubjay.models.records import Memory
from scrubjay.store.failures import not_read, not_written
from scrubjay.store.inventory import Inventory
from scrubjay.store.manifest import newest_manifest, read_manifest

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
    assert "was damaged and was built anew" in core.store.repairs[0]
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


async def test_a_damaged_manifest_is_put_back_from_its_copy(home: Home, clock: Clock):
    await filled(home, clock)
    for damage in (flip, os.unlink, lambda path: path.write_bytes(b"")):
        damage(Path(str(newest_manifest(os.path.join(home.data, "memories.lance")))))
        core = await opened(home, clock)
        assert "put back from its copy" in core.store.repairs[0]
        assert await core.store.count(Memory) == 2 and await problems(core) == []
        await core.close()


async def test_records_that_are_gone_are_said_until_somebody_goes_on_without(home: Home, clock: Clock):
    await filled(home, clock)
    shutil.rmtree(Path(home.data, "memories.lance"))
    for _ in range(2):
        core = await opened(home, clock)
        assert await problems(core) == ["Table memories had 2 records and has 0, or an older state of them."]
        hits = await said.search(core, "owl")
        assert hits.degraded and "damaged" in hits.degraded
        await core.close()
    core = await opened(home, clock)
    assert await core.mending.mend() == {"deleted": 0}
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


async def test_tables_that_go_while_they_are_used_are_made_anew_and_said(home: Home, clock: Clock):
    await filled(home, clock)
    core = await opened(home, clock)
    shutil.rmtree(home.data)
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


async def test_altered_records_are_named_though_they_can_be_read(home: Home, clock: Clock):
    await filled(home, clock)
    flip(used(home, "memories", "data")[0])
    core = await opened(home, clock)
    assert "has other bytes than were written" in (await problems(core))[0]
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
        assert clear_way(str(tmp_path / "place"))
    assert sorted(os.listdir(tmp_path)) == ["place.aside1", "place.aside2"]
    assert not clear_way(str(tmp_path / "place"))


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
