"""Compares a store with its inventory, rebuilds derived data and reports damaged records.

Passages and all indexes are made from records, so they are rebuilt without asking. Damage to records is
reported until a backup replaces them or the user decides to continue without them.
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

from scrubjay.home.files import move_aside_nonfile
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
    """Compare a store with its inventory; repair its indexes, and report the rest in `store.damage`.

    File sizes are compared; with `deep`, files are read at some 500 MB a second, and then the records too. If
    the passages are damaged, `store.note` describes an empty index afterwards, which a reindex fills.

    Raises:
        OSError, RuntimeError: the disk or LanceDB refused.
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
        sentences = _sentences(inventory, found, {name: each.total for name, each in rows.items()})
        for name in sorted(_RECORDS):
            of_table = [each for each in found if each.table == name]
            try:
                await _mend_indexes(store, store.tables.of(name), of_table)
            except (RuntimeError, ValueError) as error:  # the records are damaged too
                log.error("an index cannot be rebuilt: %s", error)
            if deep and all(each.index is not None for each in of_table):  # no file names the damaged part
                for fragment in await _unreadable(store.tables.of(name)):
                    sentences.append(f"Records are damaged: part {fragment} of table {name} cannot be read.")
        store.damage = tuple(sentences)
        if deep:
            await store.check_notes()
    for sentence in store.damage:
        log.error("%s", sentence)


async def _rows(store: Store, inventory: Inventory) -> dict[str, Rows]:
    """Count the rows of all tables; recreate tables that vanished while they were open."""
    try:
        return await store.rows(known={})
    except (RuntimeError, ValueError):
        os.makedirs(store.path, 0o700, exist_ok=True)
        store.repairs += await asyncio.to_thread(inventory.repair_tables)
        await store.write_note(store.note)
        await store.reopen()
        store.forget_cache()
        return await store.rows(known={})


async def mend(store: Store) -> tuple[int, str | None]:
    """Delete the records of damaged fragments, so that the store can continue without them.

    Returns their number, and the folder with copies of the damaged files, or None.

    Raises:
        OSError: there is no space for the copies; nothing was deleted.
    """
    if (inventory := store.inventory) is None:
        return 0, None
    deleted = 0
    async with store.lock:
        found = await asyncio.to_thread(inventory.damage, deep=True)
        aside = await asyncio.to_thread(
            inventory.copy_damaged, [each for each in found if each.table in _RECORDS]
        )
        revived = [each for each in found if each.table in _RECORDS and "/_deletions/" in each.path]
        if revived:
            await asyncio.to_thread(write_empty, [os.path.join(store.path, each.path) for each in revived])
            await store.reopen()
        for name in _RECORDS:
            table = store.tables.of(name)
            for fragment in await _unreadable(table):
                result: Any = await table.delete(_of_fragment(fragment))  # its type is incomplete
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
    first, next_one = fragment << 32, (fragment + 1) << 32  # LanceDB's row ids
    return conditions.both(
        conditions.number("_rowid", ">=", first), conditions.number("_rowid", "<", next_one)
    )


def write_empty(paths: Sequence[str]) -> None:
    """Overwrite these deletion files so that they list no deleted rows."""
    schema = pa.schema([pa.field("row_id", pa.uint32(), nullable=False)])
    none = pa.record_batch([pa.array([], pa.uint32())], schema=schema)
    for path in paths:
        move_aside_nonfile(path)
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        with open(path, "wb") as file:
            if path.endswith(".bin"):
                file.write(_NO_BITMAP)
                continue
            with pa.ipc.new_file(file, schema) as writer:
                writer.write_batch(none)


async def _delete_replaced(table: AsyncTable, fragments: Collection[int]) -> None:
    """Delete the rows of these fragments that a later fragment has in a newer version.

    LanceDB had deleted them. Records are deleted in no other way, except by a compaction that leaves no
    deletions.
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
    """Return the fragments of a table that have an unreadable row."""
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
    """Count the records for which `cut` returns passages and the searched index has none.

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
    """Repair the word and vector indexes, or restart the passages from the records."""
    for table, note in zip(store.tables.indexes, store.index_notes, strict=True):
        own = [each for each in found if each.table == note.passages]
        if all(each.index is not None for each in own) and note.passages not in lacking:
            try:
                await _mend_indexes(store, table, own)
                if not (deep and await _unreadable(table)):
                    continue
            except (RuntimeError, ValueError) as error:
                log.error("an index cannot be rebuilt: %s", error)
        store.repairs.append(f"The index {note.passages} was damaged and is being rebuilt from the records.")
        await store.restart_index()
        return


async def _mend_indexes(store: Store, table: AsyncTable, found: Sequence[Damage]) -> None:
    damaged = {each.index for each in found if each.index is not None}
    if not damaged:
        return
    indexes = await table.list_indices()
    known = {index.index_uuid for index in indexes}
    for index in indexes:
        # LanceDB names only one of its parts.
        in_parts = (index.num_segments or 1) > 1 and not damaged <= known
        if index.index_uuid in damaged or in_parts:
            await rebuild_index(table, index)
            store.repairs.append(
                f"The index {index.name} of {found[0].table} was damaged and has been rebuilt."
            )
            log.warning("%s", store.repairs[-1])


def _sentences(inventory: Inventory, found: Sequence[Damage], rows: dict[str, int]) -> list[str]:
    """Return sentences about damaged records."""
    sentences = [
        f"Table {name} had {lost.total:,} records and has {rows.get(name, 0):,}, or older ones."
        for name, lost in sorted(inventory.lost.items())
        if lost.total
    ]
    for each in found:
        if each.table in _RECORDS and each.index is None:
            sentences.append(f"Records are damaged: the file {each.path} {each.what}.")
    return sentences
