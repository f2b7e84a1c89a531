"""The store on a real LanceDB in a temporary folder: group commit, order, repair, quoting."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from threading import Barrier, BrokenBarrierError

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rows_made import a_fact, a_passage, a_turn

from scrubjay.engine.background.upkeep import Bounds, Upkeep
from scrubjay.errors import StoreError
from scrubjay.home.paths import Home
from scrubjay.models.records import Memory, Passage, Turn, is_current
from scrubjay.store import conditions, file_of, inventory
from scrubjay.store.changes import Change
from scrubjay.store.inventory import Inventory, Rows
from scrubjay.store.notes import FileNotes, dump_note, parse_note
from scrubjay.store.opening import open_store
from scrubjay.store.schema import arrow_schema
from scrubjay.store.store import Store
from scrubjay.store.tables import connect, open_tables


async def commit(store: Store, *changes: Change, fresh: bool = False) -> None:
    """Stage these changes and commit them."""
    for change in changes:
        store.stage(change, fresh=fresh)
    await store.flush()


async def test_a_rewritten_record_loses_removed_passages_and_keeps_the_vectors_of_the_others(
    store: Store, now
):
    await commit(store, Change(a_turn(now), (a_passage(now, "p_kept"), a_passage(now, "p_gone"))))
    vector = np.ones(64, dtype=np.float32) / 8
    await store.set_vectors({"p_kept": vector, "p_gone": vector, "p_never": vector}, "space")
    await commit(
        store,
        Change(a_turn(now, user="more"), (a_passage(now, "p_kept"), a_passage(now, "p_new")), rewritten=True),
    )
    rows = {row.id: row.space_id for row in await store.passages.select("true")}
    assert rows == {"p_kept": "space", "p_new": None}


async def test_a_passage_is_found_by_words_at_once_and_by_meaning_when_it_has_a_vector(store: Store, now):
    await commit(store, Change(a_turn(now), (a_passage(now, text="the nightly backup"),)))
    vector = np.eye(64, dtype=np.float32)[0]
    assert len((await store.passages.by_words("backups", "true", 5)).row_ids) == 1
    assert len((await store.passages.by_vector(vector, "true", 5)).row_ids) == 0
    await store.set_vectors({"p_1": vector}, "space")
    assert (await store.passages.by_vector(vector, "true", 5)).values == pytest.approx([1], abs=1e-6)


async def test_many_passages_outside_the_word_index_are_not_read_until_indexed(
    store: Store, now, monkeypatch
):
    monkeypatch.setattr("scrubjay.store.passages.MOST_READ", 2)

    async def unsearched_and_found() -> tuple[int, int]:
        found = await store.passages.by_words("hello", "true", 5)
        return await store.passages.unsearched(), len(found.row_ids)

    changes = [Change(a_turn(now, f"turn_{n}"), (a_passage(now, f"p_{n}", f"turn_{n}"),)) for n in range(3)]
    await commit(store, *changes[:2])
    assert await unsearched_and_found() == (0, 2)
    await commit(store, changes[2])
    assert await unsearched_and_found() == (3, 0)
    await Upkeep(store).tidy(Bounds(fragments=0, unindexed=0))
    assert await unsearched_and_found() == (0, 3)


async def test_vectors_that_come_before_the_commit_go_to_disk_with_it(store: Store, now):
    await store.write_note(replace(store.note, space_id="space"))
    store.stage(Change(a_turn(now), (a_passage(now), a_passage(now, "p_2"))), fresh=True)
    assert not await store.set_vectors({"p_1": np.eye(64, dtype=np.float32)[0]}, "space")
    before = await store.tables.passages.version()
    await store.flush()
    assert await store.tables.passages.version() == before + 1
    rows = {row.id: row.space_id for row in await store.passages.select("true")}
    assert rows == {"p_1": "space", "p_2": None}


async def test_vectors_of_another_space_than_the_index_do_not_go_to_disk(store: Store, now):
    store.stage(Change(a_turn(now), (a_passage(now),)))
    await store.set_vectors({"p_1": np.ones(8, dtype=np.float32)}, "of a model that a reindex replaced")
    await store.flush()
    assert [row.space_id for row in await store.passages.select("true")] == [None]


async def test_a_fresh_write_of_a_known_id_replaces_its_rows(store: Store, now):
    for text in ("hello", "goodbye"):
        await commit(store, Change(a_turn(now, user=text), (a_passage(now, text=text),)), fresh=True)
    assert [row.user for row in await store.select(Turn, "true")] == ["goodbye"]
    assert [row.text for row in await store.passages.select("true")] == ["goodbye"]


@pytest.mark.parametrize("is_committed", [True, False])
async def test_forgotten_passages_are_hidden_and_stay(store: Store, now, *, is_committed: bool):
    store.stage(Change(a_turn(now), (a_passage(now),)))
    if is_committed:
        await store.flush()
    await commit(store, Change(a_turn(now, forgotten_at=now), hidden=True))
    assert [row.hidden for row in await store.passages.select("true")] == [True]


async def test_turns_of_a_session_are_ordered_by_their_start(store: Store, now):
    for number, minutes in ((0, 0), (1, 20), (2, 10)):
        started_at = now + timedelta(minutes=minutes)
        store.stage(Change(a_turn(now, f"turn_{number}", turn=number, started_at=started_at)))
    places = (await store.sessions.of([("s", "a")]))["s", "a"].places
    assert [place.turn for place in places] == [0, 2, 1]
    await store.flush()
    assert (await store.sessions.of([("s", "a")]))["s", "a"].places == places
    assert (await store.sessions.of([("other", "a")]))["other", "a"].places == ()


async def test_a_commit_that_failed_halfway_stays_staged_and_is_completed_without_duplicates(
    store: Store, now, home: Home
):
    store.stage(Change(a_turn(now), (a_passage(now),)), fresh=True)
    data = Path(home.data) / "turns.lance"
    data.rename(data.with_suffix(".away"))
    problem = r"a file of the store is missing or damaged \(turns.lance/_versions\)"
    with pytest.raises(StoreError, match=problem):
        await store.flush()
    data.with_suffix(".away").rename(data)
    assert len(store.staged(Turn)) == 1
    await store.flush()
    assert (await store.count(Turn), await store.passages.count()) == (1, 1)


async def test_an_empty_newest_manifest_is_moved_away_and_the_previous_version_opens(
    store: Store, now, home: Home
):
    await commit(store, Change(a_turn(now)))
    await commit(store, Change(a_turn(now, "turn_2", turn=1)))
    versions = Path(home.data) / "turns.lance" / "_versions"
    newest = min(versions.glob("*.manifest"))
    newest.write_bytes(b"")
    reopened = await open_store(home.data, dim=64)
    assert await reopened.count(Turn) == 1
    assert len(reopened.repairs) == 1 and "turns" in reopened.repairs[0]
    reopened.stage(Change(a_turn(now, "turn_2", turn=1)))
    await reopened.flush()
    assert await reopened.count(Turn) == 2


async def test_a_generation_is_built_next_to_the_one_in_use_and_replaces_it(store: Store, now, home: Home):
    await commit(store, Change(a_turn(now), (a_passage(now),)))
    note = replace(store.note.next_generation(dim=32), complete=True)
    await store.begin_generation(note)
    assert (await store.passages.count(), await store.passages.count_built(), store.note.dim) == (1, 0, 64)
    other = a_turn(now, "turn_other", session_id="other")
    await commit(store, Change(other, (a_passage(now, "p_other", record_id=other.id),)))
    # A write goes into both.
    assert (await store.passages.count(), await store.passages.count_built()) == (2, 1)
    await store.rescope(other.scope, "repo_moved__0123456789abcdef")
    await store.finish_generation()
    assert (await store.passages.count(), await store.count(Turn), store.note) == (1, 2, note)
    (moved,) = await store.passages.select(conditions.EVERY_ROW)
    assert (moved.id, moved.scope) == ("p_other", "repo_moved__0123456789abcdef")
    assert parse_note(Path(FileNotes(home.data).path("index")).read_text(), home.data) == note
    assert not Path(FileNotes(home.data).path("building")).exists()
    await store.drop_other_generations()
    assert tables_of_passages(home) == {"passages_2.lance"}


async def test_the_unfinished_generation_of_a_killed_engine_is_resumed_and_others_are_dropped(
    store: Store, now, home: Home
):
    await commit(store, Change(a_turn(now), (a_passage(now),)))
    note = replace(store.note.next_generation(dim=32), space_id="another", complete=True)
    await store.begin_generation(note)
    # The leftovers of kills of an older Scrubjay: before or after it noted which generation is searched.
    for name in ("passages_0", "passages_7"):
        await open_tables(home.data, name, 64)
    reopened = await open_store(home.data, dim=64)
    counts = await reopened.passages.count(), await reopened.passages.count_built()
    assert (reopened.building, counts) == (note, (1, 0))
    assert tables_of_passages(home) == {"passages_1.lance", "passages_2.lance"}
    # A kill between the two notes that end it: the first one counts.
    await reopened.finish_generation()
    await reopened.notes.write("building", dump_note(note))
    again = await open_store(home.data, dim=64)
    assert (again.building, again.note) == (None, note)
    assert tables_of_passages(home) == {"passages_2.lance"}
    assert not Path(FileNotes(home.data).path("building")).exists()


async def test_a_table_left_incomplete_by_a_kill_gets_its_key_and_every_index(home: Home):
    database = await connect(home.data)
    for name, schema in (("turns", arrow_schema(Turn)), ("passages_1", arrow_schema(Passage, dim=64))):
        await database.create_table(name, schema=schema)
    store = await open_store(home.data, dim=64)
    for table in (store.tables.turns, store.tables.passages):
        assert (await table.schema()).field("id").metadata
    indexed = {column for index in await store.tables.passages.list_indices() for column in index.columns}
    assert {"id", "search_text", "tied", "scope"} <= indexed


async def test_row_ids_of_a_generation_that_was_replaced_mean_nothing_in_the_next(store: Store, now):
    await commit(store, Change(a_turn(now), (a_passage(now, text="A text."),)))
    (row_id,) = (await store.passages.by_words("text", conditions.EVERY_ROW, 10)).row_ids.tolist()
    assert list(await store.passages.read([row_id])) == [row_id]
    await store.begin_generation(store.note.next_generation(dim=64))
    await store.refill(Turn, [a_turn(now).id], lambda turn: [a_passage(now, text="Another text.")])
    await store.finish_generation()
    assert await store.passages.read([row_id]) == {}
    (row_id,) = (await store.passages.by_words("text", conditions.EVERY_ROW, 10)).row_ids.tolist()
    assert (await store.passages.read([row_id]))[row_id].text == "Another text."


def tables_of_passages(home: Home) -> set[str]:
    return {path.name for path in Path(home.data).glob("passages_*.lance")}


@settings(max_examples=40)
@given(
    value=st.one_of(
        st.text(max_size=20),
        st.sampled_from(["' OR 1=1 --", "'; drop", "\\'", '"', "`x`", "a' AND 'b", "\n", "%_"]),
    )
)
async def test_no_value_can_leave_its_literal(store: Store, now, value: str):
    value = value.replace("\x00", "")
    await commit(
        store,
        Change(a_turn(now, "turn_real", session_id="real")),
        Change(a_turn(now, "turn_odd", session_id=f"odd {value}")),
    )
    rows = await store.select(Turn, conditions.equal("session_id", f"odd {value}"))
    assert [row.id for row in rows] == ["turn_odd"]


@settings(max_examples=40)
@given(
    text=st.one_of(
        st.text(min_size=1, max_size=40),
        st.sampled_from(['"hello"', '"', "hello AND (", "*", "hello^2 ~", "\x00", "🐦"]),
    )
)
async def test_no_query_text_can_break_the_word_search(store: Store, now, text: str):
    await store.passages.by_words(text, "true", 5)


async def test_empty_conditions_and_conditions_on_no_values_still_apply(store: Store, now):
    await commit(store, Change(a_turn(now, tags=("x", "y"))))
    assert len(await store.select(Turn, conditions.both(None, None))) == 1
    assert await store.select(Turn, conditions.one_of("id", [])) == []
    assert len(await store.select(Turn, conditions.has_all("tags", ["x", "y"]))) == 1
    assert await store.select(Turn, conditions.has_all("tags", ["x", "z"])) == []


async def test_rows_and_records_agree_on_what_is_current(store: Store, now):
    states = list(itertools.product((None, now), (None, -1, 0, 1), (True, False)))
    records: list[Turn | Memory] = []
    for n, (forgotten_at, late, is_latest) in enumerate(states):
        expires_at = None if late is None else now + timedelta(microseconds=late)
        gone = dict(forgotten_at=forgotten_at, expires_at=expires_at)
        records.append(a_turn(now, id=f"turn_{n}", turn=n, **gone))
        records.append(a_fact(now, f"mem_{n}", is_latest=is_latest, **gone))
    await commit(store, *map(Change, records))
    turns, facts = [await store.select(kind, conditions.current(kind, now)) for kind in (Turn, Memory)]
    assert {row.id for row in (*turns, *facts)} == {row.id for row in records if is_current(row, now)}
    assert (len(turns), len(facts)) == (4, 2)


def test_each_file_is_synced_once(tmp_path: Path):
    folder = tmp_path / "home" / "data" / "t.lance" / "data"
    folder.mkdir(parents=True)
    (folder / "one").write_text("1")
    files = Inventory(str(tmp_path / "home" / "data"))
    assert files.sync_new({}) == 1
    assert files.sync_new({}) == 0
    (folder / "two").write_text("2")
    os.remove(folder / "one")
    assert files.sync_new({}) == 1


def test_only_one_checkpoint_at_a_time_records_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    versions = tmp_path / "data" / "turns.lance" / "_versions"
    versions.mkdir(parents=True)
    files, meeting, read = Inventory(str(tmp_path / "data")), Barrier(2), inventory._read
    os.mkdir(files.folder)

    def met(path: str) -> inventory.Written:
        with suppress(BrokenBarrierError):  # no other thread came within the time, nor ever will
            meeting.wait(timeout=0.5)
            raise AssertionError("two checkpoints note their files at once")
        return read(path)

    def checkpoint(number: int) -> None:
        (versions / f"{number}.manifest").write_text("1")
        files.sync_new({"turns": Rows(number, number)})

    monkeypatch.setattr(inventory, "_read", met)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(checkpoint, range(2)))
    assert len(Inventory.load(str(tmp_path / "data")).files) == 2


async def test_moving_a_scope_moves_records_and_passages(store: Store, now):
    await commit(store, Change(a_turn(now), (a_passage(now),)))
    assert await store.rescope("s", "t") == 1
    assert [row.scope for row in await store.passages.select("true")] == ["t"]
    assert len((await store.sessions.of([("t", "a")]))["t", "a"].places) == 1


async def test_the_newest_records_of_every_kind_come_first(store: Store, now):
    store.stage(Change(a_turn(now, started_at=now - timedelta(days=1))))
    await commit(store, Change(a_fact(now)))
    assert [row.id for row in await store.latest(5, "s", now)] == ["mem_1", "turn_1"]
    assert await store.latest(5, "t", now) == []


def test_modules_of_lancedb_for_its_cloud_are_not_loaded():
    code = "import scrubjay.store.opening, sys; print(*sys.modules)"
    modules = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not [name for name in modules if name.startswith("lance_namespace_urllib3_client.api")]


def test_lancedbs_rest_models_are_replaced_by_stand_ins_that_load_the_real_ones():
    """The names and files are LanceDB's, and an upgrade may change them."""
    import importlib.util

    import lance_namespace

    models = "lance_namespace_urllib3_client.models"
    stand_ins = [
        each
        for each in map(lance_namespace.__dict__.get, lance_namespace.__all__)
        if isinstance(each, type) and each.__module__ == "scrubjay.store"
    ]
    assert len(stand_ins) > 100
    assert all(importlib.util.find_spec(f"{models}.{file_of(each.__name__)}") for each in stand_ins)
    made = lance_namespace.ListTablesResponse(tables=["a"])
    assert made.tables == ["a"] and type(made).__module__ == f"{models}.list_tables_response"
