"""An index made with another dictionary of developers' words is rebuilt while the old one answers."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from hashing_encoder import Gated, HashingEncoder
from said import SCOPE, embedded, fact, facts, search, texts, turn, until

from scrubjay.engine.core import Core
from scrubjay.engine.verbs import reindex
from scrubjay.engine.verbs.reindex import WORDS, Reindex
from scrubjay.errors import EncoderError, InputError
from scrubjay.home.paths import Home
from scrubjay.models.requests import Forget
from scrubjay.records import passages
from scrubjay.store.notes import FileNotes
from scrubjay.text.developer_words import IN_USE

pytestmark = pytest.mark.long

PNPM = "The backlog tool uses pnpm, never npm."
HERON = "The heron nests behind the mill."


@pytest.fixture(autouse=True)
def shipped() -> Iterator[None]:
    yield
    IN_USE.extend()


async def renewed(core: Core) -> None:
    """Wait until the index uses the current words."""
    await until(lambda: _notes(core, IN_USE.version))


async def _notes(core: Core, version: str) -> bool:
    return not core.reindex.is_running and await core.store.notes.read(WORDS) == version


async def found_by(core: Core, words: str) -> list[str]:
    """The texts of the passages found by words alone."""
    await core.store.flush()
    best = (await core.store.passages.by_words(words, "true", 5)).row_ids.tolist()
    rows = await core.store.passages.read(best)
    return [rows[each].text for each in best]


async def leave_older(home: Home, opens, monkeypatch: pytest.MonkeyPatch) -> None:
    """Turn a home into one of a Scrubjay without developers' words."""
    with monkeypatch.context() as older:
        older.setattr(passages, "gloss", lambda text: "")
        core = await opens()
        await facts(core, [PNPM, HERON])
        await turn(core, "s", user="And what lints it?", assistant="Ruff does.")
        await embedded(core)
        assert await found_by(core, "manager") == []
        await opens.end()
    Path(FileNotes(home.data).path(WORDS)).unlink()


async def test_an_empty_store_only_notes_its_words(core: Core):
    await renewed(core)
    assert core.store.note.generation == 1 and core.store.building is None
    await fact(core, PNPM)
    assert await found_by(core, "manager") == [PNPM]


async def test_an_older_index_answers_until_the_new_one_is_ready(home: Home, opens, monkeypatch):
    monkeypatch.setattr(reindex, "PAGE", 1)
    await leave_older(home, opens, monkeypatch)
    encoder = Gated("backlog", "(", parallel=True)
    core = await opens(lambda: encoder)
    hits = await search(core, "heron nests", include={"explain": True})
    assert texts(hits)[0] == HERON and hits.degraded is None and hits.results[0].explain.dense
    assert await asyncio.to_thread(encoder.reached.wait, 30) and core.reindex.is_running and core.busy
    hits = await search(core, "backlog tool pnpm", include={"explain": True})
    assert texts(hits)[0] == PNPM and hits.degraded is None and hits.results[0].explain.dense
    assert await found_by(core, "manager") == []
    new = await fact(core, "The owl uses Poetry.")
    assert texts(await search(core, "owl"))[0] == "The owl uses Poetry."
    with pytest.raises(InputError, match=r"Purge when `scrubjay reindex` is done\."):
        await core.removal.forget(Forget(id=new.id, purge=True), SCOPE, "test")
    encoder.gate.set()
    await renewed(core)
    assert core.store.note.generation == 2 and await core.store.passages.count("space_id IS NULL") == 0
    assert set(await found_by(core, "manager")) == {PNPM, "The owl uses Poetry."}
    assert texts(await search(core, "which package manager"))[0] in (PNPM, "The owl uses Poetry.")
    assert "Ruff does." in await found_by(core, "linter")
    assert (await core.removal.forget(Forget(id=new.id, purge=True), SCOPE, "test")).purged == 1
    said = [text for text in encoder.said if "owl" not in text]
    assert f"{PNPM} (package manager, package registry)" in said and "Ruff does. (linter, formatter)" in said
    assert HERON not in said, "a text that is the same is embedded once"
    core = await opens()
    await renewed(core)
    assert core.store.note.generation == 2 and core.store.building is None


async def test_an_interrupted_rebuild_restarts_if_the_words_changed_again(home: Home, opens, monkeypatch):
    await leave_older(home, opens, monkeypatch)
    encoder = Gated("backlog", "(", parallel=True)
    core = await opens(lambda: encoder)
    assert await asyncio.to_thread(encoder.reached.wait, 30)
    encoder.gate.set()

    async def nothing(*_: object) -> None:
        await asyncio.sleep(60)

    monkeypatch.setattr(core.store, "finish_generation", nothing)  # killed just before the end

    async def is_embedded() -> bool:
        return not await core.store.passages.built_without_vectors(1)

    await until(is_embedded)
    await opens.end()
    Path(home.words).write_text("pnpm\tpebble grinder\n")
    encoder = Gated("backlog", "(", parallel=True)
    encoder.gate.set()
    core = await opens(lambda: encoder)
    await renewed(core)
    assert await found_by(core, "manager") == [PNPM] and await found_by(core, "grinder") == [PNPM]
    assert f"{PNPM} (pebble grinder, package manager, package registry)" in encoder.said


async def test_words_defined_in_a_home_are_found_and_a_damaged_file_changes_nothing(
    home: Home, opens, caplog: pytest.LogCaptureFixture
):
    core = await opens()
    await fact(core, "We use Frobnik for that.")
    await embedded(core)
    assert await found_by(core, "manager") == []
    await opens.end()

    Path(home.words).write_text("# ours\nFrobnik\tpackage manager\n")
    core = await opens()
    await renewed(core)
    assert core.store.note.generation == 2
    assert texts(await search(core, "which package manager"))[0] == "We use Frobnik for that."
    await opens.end()

    Path(home.words).write_text("# ours\nFrobnik package manager\n")
    core = await opens()
    await fact(core, "They want Frobnik too.")
    await until(lambda: _notes(core, "unknown"))
    assert f"{home.words} is not used, line 2 = 'Frobnik package manager'" in caplog.text
    assert core.store.note.generation == 2 and not core.reindex.is_running
    assert await found_by(core, "manager") == ["We use Frobnik for that."]
    await opens.end()

    Path(home.words).write_text("# ours\nFrobnik\tpackage manager\n")
    core = await opens()
    await renewed(core)
    assert core.store.note.generation == 3 and len(await found_by(core, "manager")) == 2


async def test_without_its_model_an_index_is_unchanged(home: Home, opens, monkeypatch):
    await leave_older(home, opens, monkeypatch)

    def missing() -> HashingEncoder:
        raise EncoderError("The model folder /nowhere does not exist.")

    core = await opens(missing)
    assert texts(await search(core, "heron"))[0] == HERON
    core = await opens(lambda: HashingEncoder("another"))  # whose reindex the user has to start
    hits = await search(core, "heron")
    assert texts(hits)[0] == HERON and "scrubjay reindex" in (hits.degraded or "")
    await core.indexer.check_space()
    assert core.store.note.generation == 1 and core.store.building is None and not core.reindex.is_running
    await core.reindex.run()
    await renewed(core)
    assert await found_by(core, "manager") == [PNPM]


async def test_an_index_that_is_still_filling_is_rebuilt_afterwards(home: Home, opens, monkeypatch):
    await leave_older(home, opens, monkeypatch)
    core = await opens()
    await renewed(core)
    await opens.end()
    Path(FileNotes(home.data).path(WORDS)).unlink()
    core = await opens()
    await core.store.set_complete(False, core.store.restarts)  # as one that lacks a column
    core = await opens()
    await renewed(core)
    assert core.store.note.complete and await found_by(core, "manager") == [PNPM]


@pytest.mark.long
async def test_only_the_maintainer_rebuilds_the_index_and_only_once(start, monkeypatch):
    with monkeypatch.context() as older:
        older.setattr(passages, "gloss", lambda text: "")
        older.setattr(Reindex, "is_needed", _never)
        first = await start("a")
        await fact(first, PNPM)
        await embedded(first)
    second = await start("b")
    assert not second.store.is_writer and not await second.reindex.is_needed()
    await second._renew()
    assert await first.store.notes.read(WORDS) is None and second.store.note.generation == 1
    assert await first.reindex.is_needed()
    await first._renew()
    assert first.store.note.generation == 2 and await found_by(first, "manager") == [PNPM]
    IN_USE.extend("pnpm\tpebble grinder")  # as in the home of another engine
    assert not await first.reindex.is_needed()
    await first.close()  # the second maintains the store then

    async def leads() -> bool:
        return second.store.is_writer

    await until(leads)
    await second._renew()
    assert second.store.note.generation == 2
    await second.reindex.run()
    assert await found_by(second, "grinder") == [PNPM]


async def _never(_: Reindex) -> bool:
    return False
