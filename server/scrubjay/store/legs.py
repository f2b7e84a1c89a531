"""The two ways into the passages table: by words and by vector. Knows what a search reads of a passage and how thoroughly it looks;
does not know what the rows are then worth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lancedb import AsyncTable
from lancedb.query import AsyncQuery, MatchQuery
from numpy.typing import NDArray

from scrubjay.store import conditions
from scrubjay.store.conditions import Where

LEG_COLUMNS = [
    "id",
    "src",
    "record_id",
    "role",
    "text",
    "scope",
    "session_id",
    "dated_at",
    "importance_score",
    "space_id",
]
PROBES = 64  # partitions looked into, of 8,192 passages each: all of them up to half a million, where 20 miss a third of the nearest 200


async def by_words(
    passages: AsyncTable, text: str, where: Where, limit: int, extra: Sequence[str]
) -> pa.Table:
    """See `Store.by_words`."""
    query = scan(passages).nearest_to_text(MatchQuery(text, "search_text")).where(where)
    return await query.select([*LEG_COLUMNS, *extra, "_score"]).limit(limit).to_arrow()


async def by_ties(
    passages: AsyncTable, words: Iterable[str], where: Where, limit: int, columns: Sequence[str]
) -> pa.Table:
    """See `Store.tied`."""
    query = scan(passages).nearest_to_text(MatchQuery(" ".join(words), "tied")).where(where)
    return await query.select([*columns, "tied"]).limit(limit).to_arrow()


async def by_vector(
    passages: AsyncTable, vector: NDArray[np.float32], where: Where, limit: int, extra: Sequence[str]
) -> pa.Table:
    """See `Store.by_vector`.

    Asked for by squared Euclidean distance, which is 2 (1 - cos) between vectors of length 1, for rows in the index (one byte a number,
    so that a cosine may be off by .005) and beside it alike. An index by cosine answers in that scale too, but the rows beside it in
    another, unless all are weighed again by their full vectors, which took 4 of 15 ms.
    """
    query = scan(passages).nearest_to(vector).distance_type("l2").nprobes(PROBES).where(where)
    rows = await query.select([*LEG_COLUMNS, *extra, "_distance"]).limit(limit).to_arrow()
    at = rows.schema.get_field_index("_distance")
    return rows.set_column(at, "_distance", pc.divide(rows["_distance"], 2.0))


def scan(table: AsyncTable) -> AsyncQuery:
    """`table.query()`, but without a look at its schema before each: LanceDB fetches and walks it for blobs, of which no table has any.

    That was a tenth of a search, which asks up to seven times.
    """
    return AsyncQuery(table._inner.query())


async def codes_of(passages: AsyncTable, record_ids: Iterable[str]) -> list[tuple[str, bytes]]:
    """(record id, token codes) of these records' passages that have codes, in an order that only depends on them.

    Any further condition makes Lance read its column for all of these rows first: 5.5 ms instead of 3.7 for 80 records.
    """
    rows = (
        await scan(passages)
        .where(conditions.one_of("record_id", record_ids))
        .select(["record_id", "token_vectors"])
        .to_arrow()
    )
    pairs = zip(rows["record_id"].to_pylist(), rows["token_vectors"].to_pylist(), strict=True)
    return sorted((record_id, code) for record_id, code in pairs if code is not None)
