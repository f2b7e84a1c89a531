"""Compares a store with its inventory: builds anew what is derived, and says what else is damaged.

Passages and all indexes are made of records, so they are built anew without asking. Records are not: what of
them is damaged is said, until a backup takes their place or somebody decides to go on without.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any

import pyarrow as pa
from lancedb import AsyncTable

from scrubjay.home.files import clear_way
from scrubjay.models.records import AnyRecord, Passage
from scrubjay.store import conditions
from scrubjay.store.changes import TABLE_OF
from scrubjay.store.conditions import Where
from scrubjay.store.inventory import Damage, Inventory, Rows
from scrubjay.store.schema import read_batches, read_table
from scrubjay.store.store import Store
from scrubjay.store.tables import rebuild_index

log = logging.getLogger("scrubjay.store")

_RECORDS = frozenset(TABLE_OF.values())
_NO_BITMAP = (12_346).to_bytes(4, "little") + bytes(4)  # a roaring bitmap without containers


async def examine(store: Store, *, deep: bool) -> None:
    """Compare a store with its inventory; mend its indexes, and note the rest in `store.damage`.

    Files are looked at; with `deep` they are read, at some 500 MB a second, and then the records too. If the
    passages are damaged, `store.note` is of an empty index afterwards, which a reindex fills.

    Raises:
        OSError, RuntimeError: as the disk or LanceDB says.
    """
    if (inventory := store.inventory) is None:
        return
    async with store.lock:
        rows = await _rows(store, inventory)
        lacking = inventory.lacking(rows)
        for name in _RECORDS.intersection(lacking):
            before, inventory.rows[name] = inventory.rows[name], rows[name]
            inventory.lost[name] = max(inventory.lost.get(name, before), before)
        if lacking:
            await asyncio.to_thread(inventory.forget, *lacking)
        found = await asyncio.to_thread(inventory.damage, deep=deep)
        await _mend_passages(store, found, lacking, deep=deep)
        said = _sentences(inventory, found, {name: each.total for name, each in rows.items()})
        for name in sorted(_RECORDS):
            of_table = [each for each in found if each.table == name]
            try:
                await _mend_indexes(store, store.tables.of(name), of_table)
            except (RuntimeError, ValueError) as error:  # of records that are damaged too
                log.error("an index cannot be built anew: %s", error)
            if deep and all(each.index is not None for each in of_table):  # no file says what is damaged
                for fragment in await _unreadable(store.tables.of(name)):
                    said.append(f"Records are damaged: part {fragment} of table {name} cannot be read.")
        store.damage = tuple(said)
        if deep:
            await store.check_notes()
    for sentence in store.damage:
        log.error("%s", sentence)


async def _rows(store: Store, inventory: Inventory) -> dict[str, Rows]:
    """Count the rows of all tables; make those anew that went while they were open."""
    try:
        return await store.rows(known={})
    except (RuntimeError, ValueError):
        os.makedirs(store.path, 0o700, exist_ok=True)
        store.repairs += await asyncio.to_thread(inventory.clear_ways)
        await store.write_note(store.note)
        await store.reopen()
        store.forget_cache()
        return await store.rows(known={})


async def mend(store: Store) -> tuple[int, str | None]:
    """Go on without the records that cannot be read: delete those of damaged fragments.

    Returns how many, and the folder with copies of the damaged files, None where there are none.

    Raises:
        OSError: there is no room for these copies; nothing was deleted.
    """
    if (inventory := store.inventory) is None:
        return 0, None
    deleted = 0
    async with store.lock:
        found = await asyncio.to_thread(inventory.damage, deep=True)
        aside = await asyncio.to_thread(
            inventory.set_aside, [each for each in found if each.table in _RECORDS]
        )
        revived = [each for each in found if each.table in _RECORDS and "/_deletions/" in each.path]
        if revived:
            await asyncio.to_thread(write_empty, [os.path.join(store.path, each.path) for each in revived])
            await store.reopen()
        for name in _RECORDS:
            table = store.tables.of(name)
            for fragment in await _unreadable(table):
                result: Any = await table.delete(_of_fragment(fragment))  # whose type lacks what it has
                deleted += result.num_deleted_rows
            await _delete_replaced(
                table, {each.fragment for each in revived if each.table == name and each.fragment is not None}
            )
            await _mend_indexes(store, table, [each for each in found if each.table == name])
        await asyncio.to_thread(inventory.accept)
        store.damage = ()
    await store.checkpoint()
    return deleted, aside


def _of_fragment(fragment: int) -> Where:
    first, next_one = fragment << 32, (fragment + 1) << 32  # how LanceDB numbers rows
    return conditions.both(
        conditions.number("_rowid", ">=", first), conditions.number("_rowid", "<", next_one)
    )


def write_empty(paths: Sequence[str]) -> None:
    """Let these files of deletions say that no row was deleted."""
    schema = pa.schema([pa.field("row_id", pa.uint32(), nullable=False)])
    none = pa.record_batch([pa.array([], pa.uint32())], schema=schema)
    for path in paths:
        clear_way(path)
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        with open(path, "wb") as file:
            if path.endswith(".bin"):
                file.write(_NO_BITMAP)
                continue
            with pa.ipc.new_file(file, schema) as writer:
                writer.write_batch(none)


async def _delete_replaced(table: AsyncTable, fragments: Collection[int]) -> None:
    """Delete the rows of these fragments that a later fragment has in a newer version.

    LanceDB had deleted these; of records nothing else is, without a compaction that leaves no deletions.
    """
    if not fragments:
        return
    rows = await read_table(table.query().select(["id"]).with_row_id())
    pairs = list(zip(rows["id"].to_pylist(), rows["_rowid"].to_pylist(), strict=True))
    newest: dict[str, int] = {}
    for record_id, row_id in pairs:
        newest[record_id] = max(row_id, newest.get(record_id, 0))
    for fragment in fragments:
        old = [each for each, row_id in pairs if row_id >> 32 == fragment and row_id != newest[each]]
        if old:
            await table.delete(conditions.both(_of_fragment(fragment), conditions.one_of("id", old)))


async def _unreadable(table: AsyncTable) -> list[int]:
    """Return the fragments of a table with a row that cannot be read."""
    with suppress(RuntimeError, ValueError):
        async for _ in read_batches(table.query()):
            pass
        return []
    row_ids = (await read_table(table.query().select([]).with_row_id()))["_rowid"].to_pylist()
    unreadable = []
    for fragment, of_fragment in groupby(sorted(row_ids), lambda row_id: row_id >> 32):
        own = list(of_fragment)
        try:
            for start in range(0, len(own), 100):
                await read_table(table.take_row_ids(own[start : start + 100]))
        except (RuntimeError, ValueError):
            unreadable.append(fragment)
    return unreadable


async def count_lacking(store: Store, cut: Callable[[AnyRecord], Iterable[Passage]]) -> int:
    """Count the records that have passages by `cut`, and none in the index that is searched.

    Raises:
        RuntimeError: a table cannot be read.
    """
    async with store.lock:
        indexed = set((await _column(store.tables.passages, "record_id")).unique().to_pylist())
        lacking = 0
        for kind, name in TABLE_OF.items():
            ids = [
                each
                for each in (await _column(store.tables.of(name), "id")).to_pylist()
                if each not in indexed
            ]
            for start in range(0, len(ids), 500):
                rows = await store.select(kind, conditions.one_of("id", ids[start : start + 500]))
                lacking += sum(bool(list(cut(row))) for row in rows)
        return lacking


async def _column(table: AsyncTable, name: str) -> pa.ChunkedArray:
    return (await read_table(table.query().select([name])))[name]


async def _mend_passages(
    store: Store, found: Sequence[Damage], lacking: Collection[str], *, deep: bool
) -> None:
    """Mend the indexes of words and vectors, or begin the passages anew."""
    for table, note in zip(store.tables.indexes, store.index_notes, strict=True):
        own = [each for each in found if each.table == note.passages]
        if all(each.index is not None for each in own) and note.passages not in lacking:
            try:
                await _mend_indexes(store, table, own)
                if not (deep and await _unreadable(table)):
                    continue
            except (RuntimeError, ValueError) as error:
                log.error("an index cannot be built anew: %s", error)
        store.repairs.append(f"The index {note.passages} was damaged, so it is built anew from the records.")
        await store.begin_anew()
        return


async def _mend_indexes(store: Store, table: AsyncTable, found: Sequence[Damage]) -> None:
    damaged = {each.index for each in found if each.index is not None}
    if not damaged:
        return
    indexes = await table.list_indices()
    known = {index.index_uuid for index in indexes}
    for index in indexes:
        in_parts = (index.num_segments or 1) > 1 and not damaged <= known  # one of which alone is named
        if index.index_uuid in damaged or in_parts:
            await rebuild_index(table, index)
            store.repairs.append(
                f"The index {index.name} of {found[0].table} was damaged and was built anew."
            )
            log.warning("%s", store.repairs[-1])


def _sentences(inventory: Inventory, found: Sequence[Damage], rows: dict[str, int]) -> list[str]:
    """Say what is wrong with the records."""
    said = [
        f"Table {name} had {lost.total:,} records and has {rows.get(name, 0):,}, or an older state of them."
        for name, lost in sorted(inventory.lost.items())
        if lost.total
    ]
    for each in found:
        if each.table in _RECORDS and each.index is None:
            said.append(f"Records are damaged: the file {each.path} {each.what}.")
    return said
