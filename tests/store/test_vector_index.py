"""Search by meaning: vectors in memory, and from many on the vector index that upkeep builds."""

from __future__ import annotations

from datetime import UTC, datetime

import lancedb
import numpy as np
import pytest
from numpy.typing import NDArray
from rows_made import a_passage

from scrubjay.engine.background.upkeep import BUSY, IDLE, VECTOR_SEGMENTS, VECTORS, Bounds, Upkeep
from scrubjay.models.records import Passage
from scrubjay.store.conditions import EVER, Dates, both, dated
from scrubjay.store.schema import micros
from scrubjay.store.store import Store
from scrubjay.store.upserts import passage_rows, upsert

pytestmark = pytest.mark.long

EVERYWHERE = "hidden = false"


def passage(number: int) -> Passage:
    dated_at = datetime(2026, 3, 5, number % 24, tzinfo=UTC)
    return a_passage(dated_at, f"p{number}", f"t{number}", f"text {number}")


def vectors(count: int, seed: int) -> NDArray[np.float32]:
    drawn = np.random.default_rng(seed).standard_normal((count, 64)).astype(np.float32)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


async def put(store: Store, *numbers: int) -> None:
    await upsert(
        store.tables.passages, passage_rows([passage(number) for number in numbers], store.note.dim, {})
    )


async def fill(store: Store, count: int) -> None:
    await put(store, *range(count))
    await store.set_vectors(
        {f"p{number}": vector for number, vector in enumerate(vectors(count, 1))}, "space"
    )


def hour(number: int) -> int:
    """An hour of the one day on which all passages are dated."""
    return micros(datetime(2026, 3, 5, number, tzinfo=UTC))


async def segments(store: Store) -> int | None:
    indexes = await store.tables.passages.list_indices()
    return next((index.num_segments for index in indexes if index.columns == ["vector"]), None)


async def nearest(store: Store, question: NDArray[np.float32]) -> dict[str, float]:
    found = await store.passages.by_vector(question, EVERYWHERE, 50)
    rows = await store.passages.read(found.row_ids.tolist())
    return {rows[at].id: 1 - cosine for at, cosine in zip(found.row_ids.tolist(), found.values, strict=True)}


@pytest.fixture
async def many(store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store with so many vectors that they are not held in memory, and without an index of them."""
    monkeypatch.setattr("scrubjay.store.tables.FEW_VECTORS", 100)
    await store.reopen()
    await fill(store, VECTORS)
    return store


async def test_a_small_store_is_searched_without_a_vector_index(store: Store) -> None:
    await fill(store, 300)
    await Upkeep(store).tidy(Bounds(0, 0))
    assert await segments(store) is None


async def test_the_vector_index_finds_nearly_what_the_exact_scan_finds_at_nearly_the_same_distances(
    many: Store,
) -> None:
    questions = vectors(10, 2)
    exact = [await nearest(many, question) for question in questions]
    await Upkeep(many).tidy(Bounds(0, 0))
    assert await segments(many) == 1
    for question, expected in zip(questions, exact, strict=True):
        found = await nearest(many, question)
        # The index keeps a byte of each number, so it only estimates which are the last ones.
        both = expected.keys() & found.keys()
        assert len(both) >= 45
        assert np.allclose([found[id] for id in both], [expected[id] for id in both], atol=0.01)


async def test_unindexed_rows_have_the_same_distances_as_indexed_ones(many: Store) -> None:
    await Upkeep(many).tidy(Bounds(0, 0))
    twin, question = vectors(VECTORS, 1)[7], vectors(1, 2)[0]
    near = (twin + question) / np.linalg.norm(twin + question)
    await put(many, VECTORS)
    await many.set_vectors({f"p{VECTORS}": twin}, "space")
    found = await nearest(many, near)
    assert found["p7"] == pytest.approx(found[f"p{VECTORS}"], abs=0.01) and found["p7"] == pytest.approx(
        1 - float(near @ twin), abs=0.01
    )


async def test_many_segments_trigger_a_compaction_when_idle_and_not_during_bulk_writes(many: Store) -> None:
    upkeep = Upkeep(many)
    await upkeep.tidy(Bounds(0, 0))
    await many.set_vectors({f"p{number}": vector for number, vector in enumerate(vectors(200, 5))}, "space")
    await upkeep.tidy(Bounds(0, 0))
    assert await segments(many) == 2 and IDLE.segments == VECTOR_SEGMENTS < BUSY.segments
    assert await upkeep.tidy(Bounds(1, 50)) == 0, "fragments of two segments never merge"
    assert await upkeep.tidy(Bounds(50, 500, segments=3)) == 0
    assert await upkeep.tidy(Bounds(50, 500, segments=2)) == 1


async def test_a_compaction_that_joins_segments_writes_all_rows_once(many: Store) -> None:
    upkeep = Upkeep(many)
    await upkeep.tidy(Bounds(0, 0))
    for seed in range(VECTOR_SEGMENTS - 1):
        assert await segments(many) == 1 + seed
        await put(many, VECTORS + seed)
        await many.set_vectors({f"p{VECTORS + seed}": vectors(1, seed)[0]}, "space")
        await upkeep.tidy(Bounds(0, 0))
    table = many.tables.passages
    assert await segments(many) == 1
    assert (await table.stats())["fragment_stats"]["num_fragments"] == 1
    row_ids = (await table.query().select([]).with_row_id().to_arrow())["_rowid"].to_pylist()
    await table.optimize()
    assert (await table.query().select([]).with_row_id().to_arrow())["_rowid"].to_pylist() == row_ids


async def test_the_index_cache_grows_with_the_passages(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    await fill(store, 300)
    monkeypatch.setattr("scrubjay.store.tables._INDEX_CACHE", 1_000)
    asked: list[int] = []
    monkeypatch.setattr(
        "lancedb.Session",
        lambda index, metadata, session=lancedb.Session: asked.append(index) or session(index, metadata),
    )
    await store.reopen()
    assert asked == [300 * 384], "vectors are in memory anyhow"
    monkeypatch.setattr("scrubjay.store.tables.FEW_VECTORS", 299)
    await store.reopen()
    assert asked[1:] == [300 * (64 + 384)]
    assert len(await nearest(store, vectors(1, 2)[0])) == 50


async def test_cached_vectors_find_the_same_rows_as_an_exact_scan(store: Store) -> None:
    question = vectors(1, 2)[0]
    for seed, count in enumerate((3, 400, 250, 300, 10)):  # some rows are written again, some are new
        await fill(store, count)
        await put(store, 1_000 + seed)  # which has no vector
        async with store.lock:
            await store.tables.passages.delete(f"id IN ('p{seed}', 'p{7 * seed}')")
        if seed % 2:
            await Upkeep(store).tidy(Bounds(0, 0))
        for where, dates in (
            (EVERYWHERE, EVER),
            (EVERYWHERE, Dates(since=hour(7), until=hour(19))),
            (EVERYWHERE, Dates(until=hour(seed))),
            (f"record_id IN ('t{seed + 1}', 't2', 't1000')", EVER),
        ):
            sql = both(where, dated(dates))
            query = store.tables.passages.query().nearest_to(question).distance_type("l2").where(sql)
            rows = (await query.limit(50).to_arrow()).to_pylist()
            found = await store.passages.by_vector(question, where, 50, dates)
            read = await store.passages.read(found.row_ids.tolist())
            cosines = dict(zip((read[at].id for at in found.row_ids.tolist()), found.values, strict=True))
            expected = {row["id"]: 1 - row["_distance"] / 2 for row in rows if row["space_id"]}
            assert cosines.keys() == expected.keys() or len(cosines.keys() & expected.keys()) >= 49
            for each in cosines.keys() & expected.keys():
                assert cosines[each] == pytest.approx(expected[each], abs=0.005)  # of 64 numbers
