"""Compares a store with its inventory: builds anew what is derived, and says what else is damaged.

Passages and all indexes are made of records, so they are built anew without asking. Records are not: what of
them is damaged is said, until a backup takes their place or somebody decides to go on without.
"""

import asyncio
import logging
import os
from collections.abc import Collection, Sequence
from typing import Any

from lancedb import AsyncTable

from scrubjay.store import conditions
from scrubjay.store.changes import TABLE_OF
from scrubjay.store.inventory import Damage, Inventory, Rows
from scrubjay.store.schema import read_table
from scrubjay.store.store import Store
from scrubjay.store.tables import rebuild_index

log = logging.getLogger("scrubjay.store")

_RECORDS = frozenset(TABLE_OF.values())


async def examine(store: Store, *, deep: bool) -> None:
    """Compare a store with its inventory; mend its indexes, and note the rest in `store.damage`.

    Files are looked at; with `deep` they are read, at some 500 MB a second. If the passages are damaged,
    `store.note` is of an empty index afterwards, which a reindex fills.

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
        await _mend_passages(store, found, lacking)
        for name in _RECORDS:
            await _mend_indexes(store, store.tables.of(name), [each for each in found if each.table == name])
        store.damage = tuple(_sentences(inventory, found, {name: each.total for name, each in rows.items()}))
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


async def mend(store: Store) -> int:
    """Go on without the records that cannot be read: delete those of damaged fragments; return how many."""
    if (inventory := store.inventory) is None:
        return 0
    deleted = 0
    async with store.lock:
        found = await asyncio.to_thread(inventory.damage, deep=True)
        for name in _RECORDS:
            table = store.tables.of(name)
            damaged = {each.fragment for each in found if each.table == name and each.fragment is not None}
            for fragment in await _unreadable(table, damaged):
                first, next_one = fragment << 32, (fragment + 1) << 32  # how LanceDB numbers rows
                where = conditions.both(
                    conditions.number("_rowid", ">=", first), conditions.number("_rowid", "<", next_one)
                )
                result: Any = await table.delete(where)  # whose type lacks what it has
                deleted += result.num_deleted_rows
        await asyncio.to_thread(inventory.accept)
        store.damage = ()
    await store.checkpoint()
    return deleted


async def _unreadable(table: AsyncTable, fragments: Collection[int]) -> list[int]:
    """Return those of these fragments with a row that cannot be read."""
    row_ids = (await read_table(table.query().select([]).with_row_id()))["_rowid"].to_pylist()
    unreadable = []
    for fragment in fragments:
        own = [each for each in row_ids if each >> 32 == fragment]
        try:
            for start in range(0, len(own), 100):
                await read_table(table.take_row_ids(own[start : start + 100]))
        except (RuntimeError, ValueError):
            unreadable.append(fragment)
    return unreadable


async def _mend_passages(store: Store, found: Sequence[Damage], lacking: Collection[str]) -> None:
    """Mend the indexes of words and vectors, or begin the passages anew."""
    for table, note in zip(store.tables.indexes, store.index_notes, strict=True):
        own = [each for each in found if each.table == note.passages]
        if all(each.index is not None for each in own) and note.passages not in lacking:
            try:
                await _mend_indexes(store, table, own)
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
