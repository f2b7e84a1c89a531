"""Backups: a usable copy of a home in use, and a home that is replaced by a copy completely or not at all."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hashing_encoder import HashingEncoder
from said import SCOPE, document, embedded, fact, search, texts, turn

from scrubjay.engine.background import prompts
from scrubjay.engine.core import Core, open_core
from scrubjay.errors import HomeError, InputError
from scrubjay.home import backups
from scrubjay.home.paths import Home, open_home, restored
from scrubjay.home.settings import Settings
from scrubjay.http_api import tokens
from scrubjay.models.records import Memory
from scrubjay.models.requests import Forget

FACTS = {"scrubjay": "0", "schema_version": 1, "made_at": "2026-03-05T12:00:00Z", "counts": {"turns": 0}}


def quietly(done: int, total: int) -> None:
    """Report nothing."""


async def filled(core: Core) -> None:
    await turn(core, "one", user="Which port does the proxy listen on?", assistant="8080, as in proxy.toml.")
    await fact(core, "The finch build uses Clang 19.")
    await document(core, "# Wren\n\nThe wren service has port 7070.", title="Wren")
    await embedded(core)


async def test_a_backup_of_a_home_in_use_can_be_searched_for_everything(
    core: Core, tmp_path: Path, clock: Callable[[], datetime]
):
    await filled(core)
    Path(core.home.config).write_text("min_length = 3\n")
    prompts.save(core.home, "s1", "p1", "Is it answered yet?", 0, None, 1)
    folder, progress = tmp_path / "copy", []
    made = await core.backup.make(str(folder), lambda done, total: progress.append((done, total)))
    assert (made.turns, made.memories, made.documents) == (1, 1, 1)
    assert progress[-1] == (made.bytes, made.bytes)
    assert not os.path.exists(core.home.backup_links) and not list(tmp_path.glob("*.part"))
    await fact(core, "Written after the backup.")
    await embedded(core)  # committed, so that it is counted
    restored = Home(str(tmp_path / "restored"))
    backups.copy_backup(str(folder), restored.root, quietly)
    opened = await open_core(open_home(restored.root), Settings(), clock, lambda *_, **__: HashingEncoder())
    try:
        hits = await search(opened, "finch build Clang", search_mode="hybrid")
        assert texts(hits)[0] == "The finch build uses Clang 19." and hits.degraded is None
        assert not await opened.store.passages.count("space_id IS NULL")
        assert await opened.store.passages.count() == await core.store.passages.count() - 1
        assert Path(restored.config).read_text() == "min_length = 3\n"
        assert prompts.pair(restored, "s1", "p1") == prompts.pair(core.home, "s1", "p1") is not None
    finally:
        await opened.close()


async def test_a_backup_is_consistent_during_writes_and_compaction(core: Core, tmp_path: Path):
    await filled(core)
    asked = asyncio.get_running_loop()
    busy: list[asyncio.Future[object]] = []

    async def disturb() -> None:
        await fact(core, "Written during the copy.")
        await core.writer.settle()
        for table in (core.store.tables.memories, core.store.tables.passages):
            await table.optimize()

    def report(done: int, total: int) -> None:
        if not busy:
            busy.append(asyncio.wrap_future(asyncio.run_coroutine_threadsafe(disturb(), asked), loop=asked))

    made = await core.backup.make(str(tmp_path / "copy"), report)
    await busy[0]
    assert made.memories == 1 and core.store.staged(Memory) == [] and await core.store.count(Memory) == 2


async def test_a_purge_waits_for_a_backup_and_says_so(core: Core, tmp_path: Path):
    kept = await fact(core, "The ibis key is 4711.")
    refusals: list[str] = []
    loop = asyncio.get_running_loop()

    async def purge() -> None:
        with pytest.raises(InputError) as refused:
            await core.removal.forget(Forget(id=kept.id, purge=True), SCOPE, "test")
        refusals.append(str(refused.value))

    def report(done: int, total: int) -> None:
        if not refusals:
            asyncio.run_coroutine_threadsafe(purge(), loop).result(10)

    await core.backup.make(str(tmp_path / "copy"), report)
    assert "Purge when it is done." in refusals[0]


async def test_a_backup_needs_a_new_folder_outside_the_home(core: Core, tmp_path: Path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "diary").write_text("mine")
    (tmp_path / "empty").mkdir()
    refusals = {"full": "is not empty", "home/copy": "is inside the home", "no/copy": "create it first"}
    for folder, says in refusals.items():
        with pytest.raises(InputError, match=says):
            await core.backup.make(str(tmp_path / folder), quietly)
    await core.backup.make(str(tmp_path / "empty"), quietly)
    assert (tmp_path / "empty" / backups.MANIFEST).exists()


async def test_of_two_backups_to_one_folder_the_second_is_told_that_it_is_full(core: Core, tmp_path: Path):
    pair = (core.backup.make(str(tmp_path / "copy"), quietly) for _ in range(2))
    made, refused = await asyncio.gather(*pair, return_exceptions=True)
    assert made.files and isinstance(refused, InputError) and "is not empty" in str(refused)


async def test_a_damaged_backup_is_noticed_before_anything_is_replaced(core: Core, tmp_path: Path):
    await filled(core)
    folder = tmp_path / "copy"
    await core.backup.make(str(folder), quietly)
    files = json.loads((folder / backups.MANIFEST).read_text())["files"]
    victim = folder / next(name for name in files if name.endswith(".lance"))
    whole = victim.read_bytes()
    victim.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(InputError, match=r"is not what was written\. Nothing was changed"):
        backups.copy_backup(str(folder), str(tmp_path / "a"), quietly)
    victim.unlink()
    with pytest.raises(InputError, match=r"is missing\. Nothing was changed"):
        backups.copy_backup(str(folder), str(tmp_path / "b"), quietly)
    (folder / backups.MANIFEST).unlink()
    with pytest.raises(InputError, match="is not a complete Scrubjay backup"):
        backups.copy_backup(str(folder), str(tmp_path / "c"), quietly)


def test_a_manifest_that_points_outside_its_folder_is_refused(tmp_path: Path):
    (tmp_path / "copy" / "data").mkdir(parents=True)
    (tmp_path / "copy" / "data" / "index.json").write_text("x")
    files = {"data/index.json": (1, hashlib.sha256(b"x").hexdigest()), "../evil": (1, "x")}
    backups.write_manifest(str(tmp_path / "copy"), FACTS, files)
    with pytest.raises(InputError, match="is outside the backup"):
        backups.copy_backup(str(tmp_path / "copy"), str(tmp_path / "home"), quietly)
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize("newer", [{"version": 2}, {"version": 1, "schema_version": 99}])
def test_a_backup_of_a_newer_version_is_refused(tmp_path: Path, newer: dict[str, int]):
    (tmp_path / backups.MANIFEST).write_text(
        json.dumps({"format": backups.FORMAT, "scrubjay": "9.0", "files": {}, **newer})
    )
    with pytest.raises(InputError, match=r"newer Scrubjay \(9\.0\)"):
        backups.read_manifest(str(tmp_path))


@pytest.mark.parametrize(
    ("files", "facts"),
    [
        ({}, {}),
        ({"data/index.json": (1, "x")}, {"made_at": "soon"}),
        ({"data/index.json": (1, "x")}, {"version": "x"}),
        ({"data/index.json": (1, "x")}, {"counts": {"turns": "many"}}),
    ],
)
def test_a_folder_with_an_odd_manifest_is_not_a_backup(
    tmp_path: Path, files: dict[str, object], facts: dict[str, object]
):
    manifest = {"format": backups.FORMAT, "version": 1, **FACTS, "files": files, **facts}
    (tmp_path / backups.MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="is not a complete Scrubjay backup"):
        backups.read_manifest(str(tmp_path))


def test_a_replaced_home_keeps_its_own_keys(home: Home, tmp_path: Path):
    os.mkdir(backups.restoring(home))
    Path(backups.restoring(home), "tokens.json").write_text("those of the backup")
    assert not backups.keep_tokens(home)  # a home without keys takes those of the backup
    tokens.add(home, datetime(2026, 3, 5, tzinfo=UTC), name="laptop")
    assert backups.keep_tokens(home)
    backups.replace_home(home, str(tmp_path / "aside"))
    assert [token.name for token in tokens.load(home)] == ["laptop"]


def test_a_home_is_replaced_completely_or_not_at_all(tmp_path: Path):
    home, aside = open_home(str(tmp_path / "home")), str(tmp_path / "aside")
    Path(home.config).write_text("")
    with pytest.raises(HomeError, match="It is unchanged"):
        backups.replace_home(home, aside)
    assert os.path.exists(home.config) and not os.path.exists(aside)
    os.mkdir(backups.restoring(home))
    backups.replace_home(home, aside)
    assert not os.listdir(home.root) and os.path.exists(Home(aside).config)


def test_opening_a_home_that_was_moved_away_installs_the_finished_copy(tmp_path: Path):
    home, aside = open_home(str(tmp_path / "home")), tmp_path / "aside"
    os.mkdir(restored(home))
    Path(restored(home), "config.toml").write_text("min_length = 3\n")
    os.rename(home.root, aside)  # and here it was killed
    assert Path(open_home(home.root).config).read_text() == "min_length = 3\n"
    assert not os.path.exists(restored(home)) and aside.exists()


async def test_the_next_engine_removes_the_leftovers_of_a_killed_restore(home: Home, clock):
    for folder in (backups.restoring(home), restored(home)):
        os.mkdir(folder)
    core = await open_core(home, Settings(), clock, lambda *_, **__: HashingEncoder())
    await core.close()
    assert os.listdir(Path(home.root).parent) == ["home"]


@pytest.mark.parametrize("place", ["spool_new", "events"])
def test_a_fresh_home_is_empty_and_one_with_a_waiting_turn_is_not(home: Home, place: str):
    assert not backups.has_content(home)
    Path(getattr(home, place), "1-turn.json").write_text("{}")
    assert backups.has_content(home)
