"""Removes the bytes of records from the disk.

LanceDB 0.40 leaves deleted text in place after a delete and a compaction, because a fragment is rewritten
only if over a tenth of it is deleted or if it is merged with another. So one remaining row is written again,
which makes a second fragment; then all fragments are merged and every older version is removed. The second
compaction removes the index pages that the first one replaced.

LanceDB also stores a page of equal short values and nulls as one value. When it reads the page again, each
null has the bytes of the value behind it, and a compaction writes them next to other values. So rows with
bytes of a purged value behind a null are first written again without these bytes.
"""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
from lancedb import AsyncTable

from scrubjay.models.records import Turn
from scrubjay.store import conditions
from scrubjay.store.bucket.sharing import VERSION_LIFETIME
from scrubjay.store.changes import TABLE_OF
from scrubjay.store.failures import not_written
from scrubjay.store.schema import VECTOR, arrow_schema, read_batches, read_table, to_table
from scrubjay.store.store import Store
from scrubjay.store.tables import rebuild_index
from scrubjay.store.upserts import upsert

# 0 would make LanceDB warn about other writers. We hold the store's lock, so there is no other writer.
_AT_ONCE = timedelta(milliseconds=1)
_ROWS = 64  # rows that are read or rewritten at once; a document may have 50 MB


async def purge(store: Store, ids: Collection[str], now: datetime) -> None:
    """Delete these records with their passages and every older version of their tables.

    A purged turn is replaced by an empty one. The caller must have committed all writes. A search that runs
    meanwhile may fail once. A purge can be repeated, even after an interruption. In a shared store, older
    versions stay for the hour in which another engine may read them; then `Upkeep.sweep` removes them.

    Raises StoreError if the disk refuses.
    """
    try:
        if store.shared is None:
            await store.drop_other_generations()  # a replaced index, kept for a while, holds the texts too
        async with store.lock:
            await _purge(store, ids, now)
            if store.inventory is not None:
                await asyncio.to_thread(store.inventory.remove_remains)
    except (RuntimeError, OSError) as error:
        raise not_written(store.path, error) from error
    await store.checkpoint()


async def _purge(store: Store, ids: Collection[str], now: datetime) -> None:
    turns = [blank_turn(turn, now) for turn in await store.select(Turn, conditions.one_of("id", ids))]
    names = store.tables.names
    for name in reversed(names):  # passages first
        if name == "turns":
            continue  # purged turns are replaced below
        table = store.tables.of(name)
        where = conditions.one_of("id" if name in TABLE_OF.values() else "record_id", ids)
        if await table.count_rows(where):  # a delete of no rows would still store the ids in a version
            await table.delete(where)
    if turns:
        await upsert(store.tables.turns, to_table(turns, arrow_schema(Turn)))
    for name in names:
        await _rewrite(store.tables.of(name), at_once=store.shared is None)
    if store.shared is not None:
        return
    await store.reopen()  # the old connection keeps deleted index files open
    for name in names:
        await store.tables.of(name).optimize(cleanup_older_than=_AT_ONCE, delete_unverified=True)
    await store.reopen()


def blank_turn(turn: Turn, now: datetime) -> Turn:
    """Return a turn without its texts; it keeps its place, and its key, so that no transcript restores it."""
    values: dict[str, Any] = dict.fromkeys("user assistant role text summary host forget_reason".split())
    values |= dict.fromkeys(("tags", "tools", "files"), ())
    values |= {"forgotten_at": turn.forgotten_at or now, "purged_at": now, "updated_at": now}
    return turn.model_copy(update={**values, "metadata": {}})


async def _rewrite(table: AsyncTable, *, at_once: bool) -> None:
    """Merge all fragments of a table into new ones and remove everything older.

    Unless `at_once` is set, older versions stay as long as another engine may read them.
    """
    await _clear_nulls(table)
    row = await read_table(table.query().limit(1))
    if len(row):
        await upsert(table, row)
    for index in await table.list_indices():
        # A bitmap index keeps values even when no row has them any more.
        if index.columns == [VECTOR] or index.index_type == "Bitmap":
            await rebuild_index(table, index)
    await table.optimize(
        cleanup_older_than=_AT_ONCE if at_once else VERSION_LIFETIME, delete_unverified=at_once
    )


async def _clear_nulls(table: AsyncTable) -> None:
    """Write the rows again in which a null has bytes of a value that no row has, because it was purged.

    Usually the bytes are those of a value that other rows still have, such as a host in all turns of a page.
    """
    names = [field.name for field in await table.schema() if field.type in (pa.string(), pa.binary())]
    behind: dict[tuple[str, bytes], list[str]] = defaultdict(list)  # column and bytes -> ids of rows
    async for batch in read_batches(table.query().select(names), _ROWS):
        for column, value, record_id in _bytes_in_nulls(batch):
            behind[column, value].append(record_id)
    purged = [found for (column, value), found in behind.items() if not await _is_held(table, column, value)]
    ids = list({record_id for found in purged for record_id in found})
    for start in range(0, len(ids), _ROWS):
        where = conditions.one_of("id", ids[start : start + _ROWS])
        rows = await read_table(table.query().where(where))
        await upsert(table, rows.take(pa.array(range(len(rows)))))  # `take` copies no bytes of nulls


def _bytes_in_nulls(batch: pa.RecordBatch) -> Iterator[tuple[str, bytes, str]]:
    """Yield each null of a text or binary column that has bytes, with its column and the id of its row."""
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if column.null_count:
            offsets = np.frombuffer(column.buffers()[1], np.int32)[column.offset :][: len(batch) + 1]
            has_bytes = column.is_null().to_numpy(zero_copy_only=False) & (np.diff(offsets) > 0)
            for row in np.flatnonzero(has_bytes):
                value = memoryview(column.buffers()[2])[offsets[row] : offsets[row + 1]]
                yield name, bytes(value), batch["id"][row].as_py()


async def _is_held(table: AsyncTable, column: str, value: bytes) -> bool:
    """Return True if a row has this text."""
    field = (await table.schema()).field(column)
    return field.type == pa.string() and await table.count_rows(conditions.equal(column, value.decode())) > 0
