"""Compares a store with its inventory, rebuilds derived data and reports damaged records.

Passages and all indexes are derived, so they are rebuilt without asking. Damaged records are reported until a
backup replaces them or the user decides to continue without them. Functions raise OSError or RuntimeError if
the disk or LanceDB refuses.
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
_ROWS = 100  # rows that are read at once, to find out which cannot be read
_EMPTY_BITMAP = (12_346).to_bytes(4, "little") + bytes(4)  # a roaring bitmap without containers


async def examine(store: Store, *, deep: bool) -> None:
    """Compare a store with its inventory; repair its indexes, and report other damage in `store.damage`.

    Compare the sizes of files; with `deep`, read the files, at about 500 MB a second, and then the records.
    If the passages are damaged, `store.note` describes an empty index afterwards, which a reindex fills.
    """
    if (inventory := store.inventory) is None:
        return
    async with store.lock:
        rows = await store.count_rows(earlier={})
        lacking = inventory.lacking(rows)
        for name in set(_RECORDS).intersection(lacking):
            before, inventory.rows[name] = inventory.rows[name], rows[name]
            inventory.lost[name] = max(inventory.lost.get(name, before), before)
        if lacking:
            await asyncio.to_thread(inventory.forget, *lacking)
        damaged_files = await asyncio.to_thread(inventory.damage, deep=deep)
        await _mend_passages(store, damaged_files, lacking, deep=deep)
        sentences = [
            f"Table {name} had {lost.total:,} records and has {rows[name].total:,}, or older ones."
            for name, lost in sorted(inventory.lost.items())
            if lost.total and name in rows
        ]
        for name in _RECORDS:
            damaged = [path for path in _of_table(name, damaged_files) if _index_of(path) is None]
            sentences += [f"Records are damaged: {path} is missing or was altered." for path in damaged]
            if deep and not damaged and not await _is_readable(store.tables.of(name).query()):
                sentences.append(f"Records are damaged: some of table {name} cannot be read.")
            try:
                await _mend_indexes(store, store.tables.of(name), _of_table(name, damaged_files))
            except (RuntimeError, ValueError) as error:  # the records are damaged too
                log.error("an index cannot be rebuilt: %s", error)
        store.damage = tuple(sentences)
    for sentence in store.damage:
        log.error("%s", sentence)


async def mend(store: Store) -> tuple[int, str | None]:
    """Delete the records of damaged fragments, so that the store can continue without them.

    Return their number, and the folder that has the store's files as they were before.
    """
    if (inventory := store.inventory) is None:
        return 0, None
    deleted = 0
    async with store.lock:
        aside = await asyncio.to_thread(inventory.link_aside)
        damaged_files = await asyncio.to_thread(inventory.damage, deep=True)
        for name in _RECORDS:
            table_files = _of_table(name, damaged_files)
            if deletions := [path for path in table_files if "/_deletions/" in path]:
                await asyncio.to_thread(write_empty, [os.path.join(store.path, path) for path in deletions])
                await store.reopen()
            table = store.tables.of(name)
            for fragment in await _unreadable(table):
                start = conditions.number("_rowid", ">=", fragment << 32)  # LanceDB's row ids
                end = conditions.number("_rowid", "<", (fragment + 1) << 32)
                result: Any = await table.delete(conditions.both(start, end))  # its type is incomplete
                deleted += result.num_deleted_rows
            if deletions:
                await _delete_replaced(table)
            await _mend_indexes(store, table, table_files)
        await asyncio.to_thread(inventory.accept)
        store.damage = ()
    await store.checkpoint()
    return deleted, aside


def _of_table(name: str, paths: Iterable[str]) -> list[str]:
    return [path for path in paths if path.startswith(f"{name}.lance/")]


def _index_of(path: str) -> str | None:
    """Return the id of the index that a file belongs to, or None."""
    _, part, *rest = path.split("/")
    return rest[0] if part == "_indices" else None


def write_empty(paths: Collection[str]) -> None:
    """Replace these lists of deleted rows with empty ones, so that LanceDB can read the rows again."""
    schema = pa.schema([pa.field("row_id", pa.uint32(), nullable=False)])
    empty_batch = pa.record_batch([pa.array([], pa.uint32())], schema=schema)
    for path in paths:
        if os.path.lexists(path):
            os.unlink(path)  # `link_aside` linked it
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        with open(path, "wb") as file:
            if path.endswith(".bin"):
                file.write(_EMPTY_BITMAP)
            else:
                with pa.ipc.new_file(file, schema) as writer:
                    writer.write_batch(empty_batch)


async def _delete_replaced(table: AsyncTable) -> None:
    """Delete the rows that a later row of the same record replaced; no rows are deleted otherwise."""
    rows = await read_table(table.query().select(["id"]).with_row_id())
    newest: dict[str, int] = {}
    replaced = []
    for row_id, record_id in sorted(zip(rows["_rowid"].to_pylist(), rows["id"].to_pylist(), strict=True)):
        if record_id in newest:
            replaced.append(newest[record_id])
        newest[record_id] = row_id
    if replaced:
        await table.delete(conditions.one_of("_rowid", replaced))


async def _is_readable(query: Any) -> bool:
    try:
        async for _ in read_batches(query):
            pass
    except (RuntimeError, ValueError):
        return False
    return True


async def _unreadable(table: AsyncTable) -> list[int]:
    """Return the numbers of the fragments of a table that have an unreadable row."""
    if await _is_readable(table.query()):
        return []
    row_ids = (await read_table(table.query().select([]).with_row_id()))["_rowid"].to_pylist()
    unreadable: dict[int, None] = {}
    for start in range(0, len(row_ids), _ROWS):
        for fragment, group in groupby(row_ids[start : start + _ROWS], lambda row_id: row_id >> 32):
            if fragment not in unreadable and not await _is_readable(table.take_row_ids(list(group))):
                unreadable[fragment] = None
    return list(unreadable)


async def count_lacking(store: Store, cut: Callable[[AnyRecord], Iterable[Passage]]) -> int:
    """Count the records for which `cut` returns passages and the searched index has none."""
    async with store.lock:
        indexed = set((await _column(store.tables.passages, "record_id")).unique().to_pylist())
        lacking = 0
        for kind, name in TABLE_OF.items():
            all_ids = (await _column(store.tables.of(name), "id")).to_pylist()
            ids = [each for each in all_ids if each not in indexed]
            for start in range(0, len(ids), 500):
                rows = await store.select(kind, conditions.one_of("id", ids[start : start + 500]))
                lacking += sum(bool(list(cut(row))) for row in rows)
        return lacking


async def _column(table: AsyncTable, name: str) -> pa.ChunkedArray:
    return (await read_table(table.query().select([name])))[name]


async def _mend_passages(
    store: Store, damaged_files: list[str], lacking: Collection[str], *, deep: bool
) -> None:
    """Repair the word and vector indexes, or restart the passages from the records."""
    for table, note in zip(store.tables.indexes, store.index_notes, strict=True):
        table_files = _of_table(note.passages, damaged_files)
        if None not in map(_index_of, table_files) and note.passages not in lacking:
            try:
                await _mend_indexes(store, table, table_files)
                if not deep or await _is_readable(table.query()):
                    continue
            except (RuntimeError, ValueError) as error:
                log.error("an index cannot be rebuilt: %s", error)
        store.repairs.append(f"The index {note.passages} was damaged and is being rebuilt from the records.")
        await store.restart_index()
        return


async def _mend_indexes(store: Store, table: AsyncTable, damaged_files: Collection[str]) -> None:
    """Rebuild the indexes of a table that have damaged files."""
    damaged = {_index_of(path) for path in damaged_files} - {None}
    if not damaged:
        return
    for index in await table.list_indices():
        # LanceDB names only one part of an index that has several.
        if index.index_uuid in damaged or (index.num_segments or 1) > 1:
            await rebuild_index(table, index)
            store.repairs.append(f"The index {index.name} of {table.name} was damaged and has been rebuilt.")
            log.warning("%s", store.repairs[-1])
