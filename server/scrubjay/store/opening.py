"""Opens a store in a folder or a bucket. In a bucket one engine creates the tables, and the others wait.

The functions raise StoreError if the store is unreachable or damaged, or a newer Scrubjay wrote it.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

from scrubjay.errors import StoreError
from scrubjay.home.paths import is_shared
from scrubjay.store.bucket.sharing import LEASE_SECONDS, Lease, join
from scrubjay.store.failures import not_opened
from scrubjay.store.inventory import Inventory
from scrubjay.store.mending import examine
from scrubjay.store.notes import (
    INDEX,
    FileNotes,
    IndexNote,
    Notes,
    UnreadableNote,
    dump_note,
    load_or_create_note,
    parse_note,
)
from scrubjay.store.store import Store
from scrubjay.store.tables import Tables, lacks_columns, open_tables

PATIENCE = 60.0  # seconds to wait until the engine that maintains a store has created its tables
_PAUSE = 0.5


async def open_at(path: str, *, dim: int | None, lease_seconds: float = LEASE_SECONDS) -> Store:
    """Open the store in a folder, or below the prefix of a bucket; see `open_store`."""
    try:
        if is_shared(path):
            return await _open_shared(path, dim, lease_seconds)
        return await open_store(path, dim=dim)
    except (OSError, RuntimeError, ValueError) as error:
        # a full disk, missing permissions, an unknown bucket, damage
        raise not_opened(path, error) from error


async def has_vectors(path: str) -> bool:
    """Return True if a store in a folder has vectors, so that opening it need not wait for a model."""
    if is_shared(path):
        return False
    with suppress(OSError, StoreError, UnreadableNote):
        text = await FileNotes(path).read(INDEX)
        return text is not None and parse_note(text, path).space_id is not None
    return False


async def open_store(path: str, *, dim: int | None) -> Store:
    """Open the store in a folder, creating it; `dim` is the width of the vectors (None: unknown)."""
    os.makedirs(path, mode=0o700, exist_ok=True)
    notes = FileNotes(path)
    with suppress(UnreadableNote):
        if (text := await notes.read(INDEX)) is not None:
            parse_note(text, path)  # refuse a newer Scrubjay's store before changing anything
    inventory = await asyncio.to_thread(Inventory.load, path)
    repairs = await asyncio.to_thread(inventory.repair_tables)
    note = await load_or_create_note(notes, path, dim, repairs)
    store = Store(path, *await open_to_write(path, notes, note), inventory=inventory)
    store.repairs += repairs
    await store.resume_generation()
    await store.drop_other_generations()
    await examine(store, deep=False)
    return store


async def open_to_write(path: str, notes: Notes, note: IndexNote) -> tuple[IndexNote, Tables]:
    """Open the tables and add what they lack; return the note, which this may change, and the tables.

    The note says that the index is incomplete before columns are added: afterwards that cannot be seen.
    """
    if note.complete and await lacks_columns(path, note.passages):
        note = replace(note, complete=False)  # the passages keep their vectors
        await notes.write(INDEX, dump_note(note))
    return note, await open_tables(path, note.passages, note.dim)


async def _open_shared(path: str, dim: int | None, lease_seconds: float) -> Store:
    shared = await join(path, seconds=lease_seconds)
    deadline = time.monotonic() + PATIENCE
    while True:
        if await shared.lease.keep():
            async with _renewals(shared.lease):
                note = await load_or_create_note(shared.notes, path, dim)
                store = Store(path, *await open_to_write(path, shared.notes, note), shared)
                await store.resume_generation()
            shared.leads = True
            return store
        if (text := await shared.notes.read(INDEX)) is not None:
            note = parse_note(text, path)
            try:
                tables = await open_tables(path, note.passages, note.dim, change=False)
                return Store(path, note, tables, shared)
            except StoreError:  # a table is missing and about to be created
                if time.monotonic() > deadline:
                    raise
        elif time.monotonic() > deadline:
            problem = f"The store in {path} is not ready yet; {shared.lease.holder} holds its lease."
            raise StoreError(f"{problem} Check whether that engine is running.")
        await asyncio.sleep(_PAUSE)


@asynccontextmanager
async def _renewals(lease: Lease) -> AsyncIterator[None]:
    """Renew the lease while tables are created, which takes about twenty commits."""
    finished = asyncio.Event()

    async def renew() -> None:
        while not finished.is_set():  # an event, because LanceDB sometimes loses a cancellation
            await lease.keep()
            await asyncio.sleep(_PAUSE)

    renewing = asyncio.create_task(renew())
    try:
        yield
    finally:
        finished.set()
        await renewing
