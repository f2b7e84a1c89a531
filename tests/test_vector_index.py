"""The vector index: built by upkeep where an exact scan gets slow, and exact in what it answers."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from scrubjay.engine.upkeep import VECTOR_SEGMENTS, VECTORS, Bounds, Upkeep
from scrubjay.models.records import Passage
from scrubjay.store.store import Store

EVERYWHERE = "hidden = false"


def passage(number: int) -> Passage:
    return Passage(
        id=f"p{number}",
        src="turn",
        record_id=f"t{number}",
        part=0,
        role="user",
        text=f"text {number}",
        search_text=f"text {number}",
        embed_text=f"text {number}",
        scope="user",
        partition_id="mem_episodic",
        importance_score=5.0,
        dated_at=datetime(2026, 3, 5, tzinfo=UTC),
    )


def vectors(count: int, seed: int) -> NDArray[np.float32]:
    drawn = np.random.default_rng(seed).standard_normal((count, 64)).astype(np.float32)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


async def fill(store: Store, count: int) -> None:
    await store.put_passages([passage(number) for number in range(count)])
    await store.set_vectors({f"p{number}": vector for number, vector in enumerate(vectors(count, 1))}, "space")


async def segments(store: Store) -> int | None:
    found = [index.num_segments for index in await store.tables.passages.list_indices() if index.columns == ["vector"]]
    return found[0] if found else None


async def nearest(store: Store, question: NDArray[np.float32]) -> dict[str, float]:
    rows = await store.by_vector(question, EVERYWHERE, 50)
    return dict(zip(rows["id"].to_pylist(), rows["_distance"].to_pylist(), strict=True))


async def test_a_small_store_is_searched_without_a_vector_index(store: Store) -> None:
    await fill(store, 300)
    await Upkeep(store).tidy(Bounds(0, 0))
    assert await segments(store) is None


async def test_the_vector_index_finds_what_the_exact_scan_finds_at_the_same_distances(store: Store) -> None:
    await fill(store, VECTORS)
    questions = vectors(10, 2)
    exact = [await nearest(store, question) for question in questions]
    await Upkeep(store).tidy(Bounds(0, 0))
    assert await segments(store) == 1
    for question, expected in zip(questions, exact, strict=True):
        found = await nearest(store, question)
        assert list(found) == list(expected)
        assert np.allclose(list(found.values()), list(expected.values()), atol=1e-6)


async def test_a_vector_that_came_after_the_index_was_built_is_found(store: Store) -> None:
    await fill(store, VECTORS)
    await Upkeep(store).tidy(Bounds(0, 0))
    (late,) = vectors(1, 3)
    await store.put_passages([passage(VECTORS)])
    await store.set_vectors({f"p{VECTORS}": late}, "space")
    assert next(iter(await nearest(store, late))) == f"p{VECTORS}"


async def test_the_segments_of_the_vector_index_stay_few(store: Store) -> None:
    await fill(store, VECTORS)
    upkeep = Upkeep(store)
    for seed in range(VECTOR_SEGMENTS + 3):
        await store.set_vectors({f"p{number}": vector for number, vector in enumerate(vectors(200, seed))}, "space")
        await upkeep.tidy(Bounds(0, 0))
    assert (await segments(store) or 0) <= VECTOR_SEGMENTS
