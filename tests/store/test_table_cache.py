"""The store's cache of its tables: a search with it finds the same as one without it."""

from __future__ import annotations

import random
import tempfile
from datetime import UTC, datetime
from typing import Any

import lancedb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lancedb import AsyncTable
from said import SCOPE, embedded, fact, forget, turn

from scrubjay.engine.background.upkeep import Bounds
from scrubjay.engine.core import Core
from scrubjay.models.requests import Forget, SearchMemories, parse
from scrubjay.search.recall import search_memories
from scrubjay.store import conditions, row_sets
from scrubjay.store.cache import FIRST, TableCache
from scrubjay.store.row_sets import rows_of
from scrubjay.store.schema import read_table
from scrubjay.store.store import Store
from scrubjay.store.tables import open_tables
from scrubjay.text.entities import query_ties

pytestmark = pytest.mark.long

WORDS = ("lighthouse", "marmalade", "bicycle", "telescope")
NOW = datetime(2026, 7, 1, tzinfo=UTC)
QUERIES = ({}, {"top_k": 5, "prev_turns": 1, "next_turns": 1}, {"include": {"forgotten": True}})

act = st.tuples(
    st.sampled_from(["turn", "fact", "forget", "purge", "compact", "reindex", "reopen", "rescope"]),
    st.sampled_from(WORDS),
)


async def found(core: Core) -> list[Any]:
    """What searches find, by id, with scores and texts."""
    answers = []
    for arguments in QUERIES:
        request = parse(SearchMemories, {"query": f"the {WORDS[0]} and the {WORDS[1]}", **arguments})
        hits = await search_memories(
            core.store, request, scope=SCOPE, now=NOW, embed=core.indexer.embed_query
        )
        answers.append([(hit.id, hit.score, hit.memory) for hit in (*hits.results, *hits.related)])
    return answers


async def found_uncached(core: Core) -> list[Any]:
    """The same through a connection without a cache."""
    store, tables = core.store, core.store.tables
    store.tables = await open_tables(store.path, store.note.passages, store.note.dim)
    for whole in (
        *(each.whole for each in store.tables.cached_records.values()),
        store.tables.whole_passages,
        store.tables.codes_and_ties,
    ):
        whole._fits = False
    try:
        return await found(core)
    finally:
        store.tables = tables


async def do(core: Core, what: str, word: str, ids: list[str]) -> None:
    if what == "turn":
        ids.append((await turn(core, word, user=f"Where is the {word}?", assistant=f"Number {len(ids)}.")).id)
    elif what == "fact":
        ids.append((await fact(core, f"The {word} is number {len(ids)}.")).id)
    elif what in ("forget", "purge") and ids:
        request = parse(Forget, {"id": ids.pop(), "purge": what == "purge"})
        await core.removal.forget(request, SCOPE, "test")
    elif what == "compact":
        await core.writer.settle()
        await core.upkeep.tidy(Bounds(0, 0))
    elif what == "reindex":
        await core.reindex.run()
    elif what == "reopen":
        await core.store.reopen()
    elif what == "rescope":
        await turn(core, word, scope="another", user=f"Where was the {word}?", turn=len(ids))
        await core.writer.settle()
        await core.store.rescope("another", SCOPE)


@settings(max_examples=12)
@given(acts=st.lists(act, min_size=2, max_size=8))
async def test_a_cached_search_equals_an_uncached_one(core: Core, acts: list[tuple[str, str]]):
    ids: list[str] = []
    for what, word in (("turn", WORDS[0]), ("fact", WORDS[1]), *acts):
        await do(core, what, word, ids)
        await embedded(core)
        for _ in range(3):  # background work may happen between the two
            remembered, uncached = await found(core), await found_uncached(core)
            if remembered == uncached:
                break
        assert remembered == uncached, what


async def test_the_first_searches_after_a_start_do_not_read_all_codes_and_entities(core: Core):
    for word in WORDS:
        await fact(core, f"The {word} is kept in `src/{word}.py`.")
    await embedded(core)  # else rows move, and a search looks again
    tables = core.store.tables
    request = parse(SearchMemories, {"query": f"what is in src/{WORDS[0]}.py?"})
    for _ in range(FIRST):
        await search_memories(core.store, request, scope=SCOPE, now=NOW, embed=core.indexer.embed_query)
        assert tables.codes_and_ties._rows is None
    await search_memories(core.store, request, scope=SCOPE, now=NOW, embed=core.indexer.embed_query)
    assert tables.codes_and_ties._rows is not None


async def test_a_table_that_is_too_long_is_not_cached(core: Core):
    await turn(core, "s", user="one", assistant="two")
    await turn(core, "s", user="three", assistant="four", turn=1)
    await core.writer.settle()
    turns = core.store.tables.turns
    short, long = TableCache(1), TableCache(2)
    lengths = [(await short.current(turns), await long.current(turns)) for _ in range(5)]
    assert not any(found for found, _ in lengths)
    assert [found is not None and len(found) for _, found in lengths][-1] == 2 and lengths[0][1] is None


async def test_a_row_moved_by_a_compaction_during_a_read_is_not_lost(core: Core, monkeypatch):
    turns, whole = core.store.tables.turns, TableCache(100)
    for number in range(6):
        await turn(core, "a", turn=number, user=f"Where is number {number}?")
        await core.writer.settle()
        await whole.current(turns)
    assert whole.row_ids.size == 6
    await turn(core, "a", turn=6, user="Where is the last one?")
    await core.writer.settle()

    read = row_sets.row_ids

    async def row_ids(query: Any) -> Any:
        found = await read(query)
        await turns.optimize()
        return found

    monkeypatch.setattr("scrubjay.store.row_sets.row_ids", row_ids)
    assert len(await whole.current(turns) or ()) == 7


@settings(max_examples=12)
@given(
    acts=st.lists(
        st.sampled_from(["add", "add", "add many", "change", "remove", "remove last", "compact"]),
        min_size=9,
        max_size=24,
    ),
    seed=st.integers(0, 99),
)
async def test_a_cached_table_equals_the_one_on_disk_row_by_row_and_key_by_key(acts: list[str], seed: int):
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        database = await lancedb.connect_async(folder)
        schema = pa.schema([("id", pa.string()), ("key", pa.string()), ("text", pa.string())])
        table = await database.create_table("things", schema=schema)
        cache, made = TableCache(1_000, key="key"), 0
        for _ in range(FIRST):
            await cache.current(table)
        for act in ["add", *acts]:
            there = (await read_table(table.query()))["id"].to_pylist()
            if act.startswith("add"):
                ids = [f"{made + each}" for each in range(70 if act == "add many" else chance.randint(1, 3))]
                made += len(ids)
                await table.add([{"id": i, "key": f"k{int(i) // 2}", "text": f"text {i}"} for i in ids])
            elif act == "compact":
                await table.optimize()
            elif there:
                which = there[-1] if act == "remove last" else chance.choice(there)
                if act == "change":
                    await table.update({"text": f"changed {made}"}, where=f"id = '{which}'")
                else:
                    await table.delete(f"id = '{which}'")
            rows = await cache.current(table)
            now = (await read_table(table.query().with_row_id())).sort_by("_rowid")
            assert rows.to_pylist() == now.to_pylist(), act
            keys = now["key"].to_pylist()
            assert {key: list(at) for key, at in cache.places.items()} == {
                key: [at for at, each in enumerate(keys) if each == key] for key in keys
            }
            wanted = chance.sample(sorted(set(keys)), min(3, len(set(keys))))
            assert rows_of(rows, cache.places, wanted)["key"].to_pylist() == [
                key for key in wanted for each in keys if each == key
            ]


async def test_tables_used_by_searches_are_cached_again_after_a_compaction(core: Core, monkeypatch):
    for number in range(6):
        await fact(core, f"Fact number {number} is about a {WORDS[number % 4]}.")
    await embedded(core)
    for _ in range(4):
        await found(core)
    await core.writer.settle()
    for _ in range(3):  # some reopen the tables
        before = await found(core)
        await core.upkeep.tidy(Bounds(0, 0))
        with monkeypatch.context() as patched:
            patched.setattr("scrubjay.store.row_sets.row_ids", _read_nothing)
            assert await found(core) == before


def _read_nothing(*_: object) -> None:
    raise AssertionError("A search reads a table.")


async def test_cached_entities_find_the_same_records_as_their_index(core: Core):
    names = ("HttpClient", "retry_policy", "src/app/cache.py", "ECONNREFUSED")
    words = {name: next(tie.word for tie in query_ties(f"`{name}`")) for name in names}
    made: list[str] = []
    for number in range(40):
        said = " and ".join(name for at, name in enumerate(names) if number % (at + 2) == 0)
        where = "another" if number % 7 == 6 else SCOPE
        made.append((await fact(core, f"Number {number} is about {said or 'nothing'}.", scope=where)).id)
        if number % 10 == 3:
            await forget(core, made[number // 2], purge=number == 23)
        if number % 16 == 9:
            await core.writer.settle()
            await core.upkeep.tidy(Bounds(0, 0))
        if number % 5 == 4:
            await core.writer.settle()
            await _ties_agree(core.store, [*words.values(), "0" * 16])
    assert await core.store.tables.codes_and_ties.current(core.store.tables.passages) is not None


async def _ties_agree(store: Store, words: list[str]) -> None:
    """Compare what `by_ties` finds with what LanceDB's index of the column does, for one word and for all."""
    here = conditions.both(conditions.equal("scope", SCOPE), conditions.equal("hidden", False))
    passages = store.tables.passages
    for asked in ([words[0]], words[1:3], words):
        version = None
        while version != (version := await passages.version()):  # vectors are filled in, which moves rows
            found = await store.passages.by_ties(asked, here, 100)
            index = await store.passages._search_words(" ".join(asked), "tied", here, 100)
        assert sorted(found.row_ids) == sorted(index.row_ids)
        assert sorted(found.values, reverse=True) == list(found.values)
        first = await store.passages.by_ties(asked, here, 3)
        assert list(first.values) == pytest.approx(found.values[:3], rel=0.2)  # indexes count deleted rows


async def test_a_row_that_moves_between_two_reads_of_the_cache_is_found(core: Core, monkeypatch):
    word = next(tie.word for tie in query_ties("`retry_policy`"))
    for number in range(5):
        await fact(core, f"Number {number} is about retry_policy.")
    await embedded(core)
    tables = core.store.tables
    for _ in range(4):
        assert len((await core.store.passages.by_ties([word], "hidden = false", 100)).row_ids) == 5
    matching = tables.cached_vectors.matching
    moves = iter((tables.passages.update, None))

    async def moved(*asked: Any) -> Any:
        found = await matching(*asked)
        if move := next(moves):
            async with core.store.lock:
                await move({"hidden": False})
        return found

    monkeypatch.setattr(tables.cached_vectors, "matching", moved)
    assert len((await core.store.passages.by_ties([word], "hidden = false", 100)).row_ids) == 5


async def test_a_version_is_asked_of_the_table_again_after_each_write(core: Core, monkeypatch):
    passages, asked = core.store.tables.passages, []
    ask = AsyncTable.version

    async def counted(table: AsyncTable) -> int:
        asked.append(table)
        return await ask(table)

    monkeypatch.setattr(AsyncTable, "version", counted)
    for number in range(2):
        await fact(core, f"Number {number}.")
        await embedded(core)
        version = await passages.version()
        before = len(asked)
        assert await passages.version() == version == await ask(passages)
        assert len(asked) == before
        async with core.store.lock:
            await passages.update({"hidden": False})
            assert await passages.version() > version
        assert await passages.version() == await ask(passages)


async def test_a_row_id_always_refers_to_the_same_row(core: Core):
    passages, seen = core.store.tables.passages, {}
    for number in range(6):
        await fact(core, f"Fact number {number} is about a {WORDS[number % 4]}.")
        await embedded(core)
        if number % 2:
            await core.upkeep.tidy(Bounds(0, 0))
        rows = await passages.query().with_row_id().to_arrow()
        for row in rows.select(["_rowid", "id", "space_id", "hidden"]).to_pylist():
            row_id = row.pop("_rowid")
            assert seen.setdefault(row_id, row) == row
