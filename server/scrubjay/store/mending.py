"""Compares a store with its inventory, rebuilds derived data and reports damaged records.

Passages and all indexes are made from records, so they are rebuilt without asking. Damage to records is
reported until a backup replaces them or the user decides to continue without them.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Collection, Iterable
from itertools import groupby
from typing import Any

import pyarrow as pa
from lancedb import AsyncTable

from scrubjay.models.records import AnyRecord, Passage
from scrubjay.store import conditions
from scrubjay.store.changes import TABLE_OF
from scrubjay.store.schema import read_batches, read_table
from scrubjay.store.store import Store
from scrubjay.store.tables import rebuild_index

log = logging.getLogger("scrubjay.store")

_RECORDS = tuple(sorted(TABLE_OF.values()))
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
        rows = await store.rows(known={})
        lacking = inventory.lacking(rows)
        for name in set(_RECORDS).intersection(lacking):
            before, inventory.rows[name] = inventory.rows[name], rows[name]
            inventory.lost[name] = max(inventory.lost.get(name, before), before)
        if lacking:
            await asyncio.to_thread(inventory.forget, *lacking)
        found = await asyncio.to_thread(inventory.damage, deep=deep)
        await _mend_passages(store, found, lacking, deep=deep)
        sentences = [
            f"Table {name} had {lost.total:,} records and has {rows[name].total:,}, or older ones."
            for name, lost in sorted(inventory.lost.items())
            if lost.total and name in rows
        ]
        for name in _RECORDS:
            damaged = [path for path in _of_table(name, found) if _index_of(path) is None]
            sentences += [f"Records are damaged: {path} is missing or was altered." for path in damaged]
            if deep and not damaged and not await _is_readable(store.tables.of(name)):
                sentences.append(f"Records are damaged: some of table {name} cannot be read.")
            try:
                await _mend_indexes(store, store.tables.of(name), _of_table(name, found))
            except (RuntimeError, ValueError) as error:  # the records are damaged too
                log.error("an index cannot be rebuilt: %s", error)
        store.damage = tuple(sentences)
    for sentence in store.damage:
        log.error("%s", sentence)


async def mend(store: Store) -> tuple[int, str | None]:
    """Delete the records of damaged fragments, so that the store can continue without them.

    Returns their number, and the folder that has the store's files as they were.

    Raises:
        OSError, RuntimeError: the disk or LanceDB refused.
    """
    if (inventory := store.inventory) is None:
        return 0, None
    deleted = 0
    async with store.lock:
        aside = await asyncio.to_thread(inventory.link_aside)
        found = await asyncio.to_thread(inventory.damage, deep=True)
        for name in _RECORDS:
            own = _of_table(name, found)
            if deletions := [path for path in own if "/_deletions/" in path]:
                await asyncio.to_thread(write_empty, [os.path.join(store.path, path) for path in deletions])
                await store.reopen()
            table = store.tables.of(name)
            for fragment in await _unreadable(table):
                first, next_one = fragment << 32, (fragment + 1) << 32  # LanceDB's row ids
                rows = conditions.number("_rowid", ">=", first), conditions.number("_rowid", "<", next_one)
                result: Any = await table.delete(conditions.both(*rows))  # its type is incomplete
                deleted += result.num_deleted_rows
            if deletions:
                await _delete_replaced(table)
            await _mend_indexes(store, table, own)
        await asyncio.to_thread(inventory.accept)
        store.damage = ()
    await store.checkpoint()
    return deleted, aside


def _of_table(name: str, found: Iterable[str]) -> list[str]:
    return [path for path in found if path.startswith(f"{name}.lance/")]


def _index_of(path: str) -> str | None:
    """Return the id of the index that a file belongs to, or None."""
    _, part, *rest = path.split("/")
    return rest[0] if part == "_indices" else None


def write_empty(paths: Collection[str]) -> None:
    """Replace these files of deleted rows by empty ones: LanceDB can read their rows again."""
    schema = pa.schema([pa.field("row_id", pa.uint32(), nullable=False)])
    none = pa.record_batch([pa.array([], pa.uint32())], schema=schema)
    for path in paths:
        if os.path.lexists(path):
            os.unlink(path)  # `link_aside` linked it
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        with open(path, "wb") as file:
            if path.endswith(".bin"):
                file.write(_NO_BITMAP)
            else:
                with pa.ipc.new_file(file, schema) as writer:
                    writer.write_batch(none)


async def _delete_replaced(table: AsyncTable) -> None:
    """Delete the rows that a later row of the same record replaced; records are deleted in no other way."""
    rows = await read_table(table.query().select(["id"]).with_row_id())
    newest: dict[str, int] = {}
    old = []
    for row_id, record_id in sorted(zip(rows["_rowid"].to_pylist(), rows["id"].to_pylist(), strict=True)):
        if record_id in newest:
            old.append(newest[record_id])
        newest[record_id] = row_id
    if old:
        await table.delete(conditions.one_of("_rowid", old))


async def _is_readable(table: AsyncTable) -> bool:
    try:
        async for _ in read_batches(table.query()):
            pass
    except (RuntimeError, ValueError):
        return False
    return True


async def _unreadable(table: AsyncTable) -> list[int]:
    """Return the fragments of a table that have an unreadable row."""
    if await _is_readable(table):
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


async def _mend_passages(store: Store, found: list[str], lacking: Collection[str], *, deep: bool) -> None:
    """Repair the word and vector indexes, or restart the passages from the records."""
    for table, note in zip(store.tables.indexes, store.index_notes, strict=True):
        own = _of_table(note.passages, found)
        if None not in map(_index_of, own) and note.passages not in lacking:
            try:
                await _mend_indexes(store, table, own)
                if not deep or await _is_readable(table):
                    continue
            except (RuntimeError, ValueError) as error:
                log.error("an index cannot be rebuilt: %s", error)
        store.repairs.append(f"The index {note.passages} was damaged and is being rebuilt from the records.")
        await store.restart_index()
        return


async def _mend_indexes(store: Store, table: AsyncTable, found: Collection[str]) -> None:
    """Rebuild the indexes of a table to which damaged files belong."""
    damaged = {_index_of(path) for path in found} - {None}
    if not damaged:
        return
    for index in await table.list_indices():
        # LanceDB names only one part of an index that has several.
        if index.index_uuid in damaged or (index.num_segments or 1) > 1:
            await rebuild_index(table, index)
            store.repairs.append(f"The index {index.name} of {table.name} was damaged and has been rebuilt.")
            log.warning("%s", store.repairs[-1])
