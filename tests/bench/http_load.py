"""Fills a home with facts for the HTTP benchmark, in seconds: records as the product makes
them, added in blocks. Knows facts and how their vectors are drawn; does not know what is asked of them.

The first `REAL` facts are embedded by the bundled model; the vectors of all others are drawn near those, see
`scale_load`.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import numpy as np
import scale_text
from scale_load import Drawn

from scrubjay.encoders import EmbeddingWorker, open_encoder
from scrubjay.engine.background.indexing import Indexer
from scrubjay.engine.background.upkeep import Bounds, Upkeep
from scrubjay.home.paths import open_home
from scrubjay.models.records import Memory, Passage, content_hash, derived_id
from scrubjay.records.passages import passages_of
from scrubjay.store.opening import open_store
from scrubjay.store.schema import arrow_schema, to_table

REAL = 1_200
_WRITTEN = datetime(2026, 1, 5, tzinfo=UTC)


def fill(folder: str, count: int) -> None:
    """Fill the home in `folder` with the answers of the first `count` turns of `scale_text`, as facts."""
    asyncio.run(_fill(folder, count))


async def _fill(folder: str, count: int) -> None:
    home = open_home(folder)
    worker = EmbeddingWorker(open_encoder)
    worker.start()
    try:
        encoder = await worker.ready()
        store = await open_store(home.data, dim=encoder.space.dim)
        await Indexer(
            store, worker
        ).check_space()  # notes the model's space, as an engine does over an empty store
        facts = [_fact(number) for number in range(count)]
        pieces = [piece for fact in facts for piece in passages_of(fact)]
        seen = await worker.passages([piece.text for piece in pieces[:REAL]])
    finally:
        worker.close()
    near = np.asarray(seen.vectors, dtype=np.float32)
    drawn = Drawn(
        near,
        encoder.space.space_id,
        sum(map(len, seen.codes)) / sum(len(piece.text) for piece in pieces[:REAL]),
    )
    random = np.random.default_rng(11)
    embedded = [drawn.embedded(piece, random) for piece in pieces]
    vectors = np.concatenate([near, drawn.vectors(len(pieces) - len(near), random)])
    await store.tables.passages.add(
        to_table(embedded, arrow_schema(Passage, dim=near.shape[1]), list(vectors))
    )
    await store.tables.memories.add(to_table(facts, arrow_schema(Memory)))
    await Upkeep(store).tidy(Bounds(0, 0))


def _fact(number: int) -> Memory:
    """The answer of the turn of this number, as a fact of its project."""
    said = scale_text.turn(number)
    scope = scale_text.scope_name(said.scope)
    id = derived_id("memory", scope, str(number))
    return Memory(
        id=id,
        root_id=id,
        scope=scope,
        partition_id="mem_semantic",
        source="bench",
        content=said.assistant,
        content_hash=content_hash(said.assistant),
        created_at=_WRITTEN,
        updated_at=_WRITTEN,
        last_accessed_at=_WRITTEN,
    )
