"""The open tables of a store, and its generations of passages: the one searched, and one being built."""

import asyncio
from dataclasses import dataclass, replace

from scrubjay.store.bucket.sharing import Shared
from scrubjay.store.inventory import Inventory
from scrubjay.store.notes import (
    BUILDING,
    INDEX,
    FileNotes,
    IndexNote,
    Notes,
    UnreadableNote,
    dump_note,
    parse_note,
)
from scrubjay.store.tables import Tables, drop_other_passages, open_tables


@dataclass(eq=False)
class Connection:
    """The open tables of one home or bucket.

    If other engines use the store too, `shared` is this engine's part in it. Otherwise `inventory` lists the
    expected files. `repairs` lists what was repaired.
    """

    path: str
    note: IndexNote
    tables: Tables
    shared: Shared | None = None
    inventory: Inventory | None = None

    def __post_init__(self) -> None:
        self.building: IndexNote | None = None  # the next generation of passages
        self.notes: Notes = self.shared.notes if self.shared else FileNotes(self.path)
        self.repairs: list[str] = []
        self.lock = self.tables.lock
        self.vectorless_writes = 0  # counts writes that may have left passages without a vector
        self.restarts = 0  # how often damage restarted the index
        self._note_lock = asyncio.Lock()

    @property
    def is_writer(self) -> bool:
        """Return True if this engine writes the tables."""
        return self.shared is None or self.shared.is_maintainer

    async def write_note(self, note: IndexNote) -> None:
        """Replace the note on the index, in memory and on disk."""
        self.note = note
        async with self._note_lock:  # the latest note is written last, whatever the order of callers
            await self.notes.write(INDEX, dump_note(self.note))

    async def set_complete(self, complete: bool, begun: int) -> None:
        """Record in the note if the index has all records, unless `restarts` has changed from `begun`."""
        async with self.lock:
            if begun == self.restarts:
                await self.write_note(replace(self.note, complete=complete))

    @property
    def index_notes(self) -> list[IndexNote]:
        """The notes on `Tables.indexes`, in the same order."""
        return [self.note] if self.building is None else [self.note, self.building]

    async def begin_generation(self, note: IndexNote) -> None:
        """Begin to build a new generation of passages; every later write goes into both generations."""
        async with self.lock:
            self.building = None
            await self.notes.remove(BUILDING)
            await self._drop_others()
            self.building = note
            await self.reopen()
            await self.notes.write(BUILDING, dump_note(note))

    async def resume_generation(self) -> None:
        """Continue a build that a killed engine began; called when a store is opened for writing."""
        self.building = None
        if (text := await self.notes.read(BUILDING)) is not None:
            try:
                note = parse_note(text, self.path)
            except UnreadableNote:
                note = self.note
                self.repairs.append(
                    "A new index was being built, and its note is lost; run `scrubjay reindex` again."
                )
            if note.generation > self.note.generation:
                self.building = note
                await self.reopen()
            else:  # the engine was killed after writing one note and before removing the other
                await self.notes.remove(BUILDING)

    async def finish_generation(self) -> None:
        """Let searches use the new generation, unless the index was restarted meanwhile.

        The old one stays for running searches, until `drop_other_generations`.
        """
        async with self.lock:
            note = self.building
            if note is None:
                return
            tables = await open_tables(self.path, note.passages, note.dim, lock=self.lock)
            self.tables, self.building = tables, None
            await self.write_note(note)
            await self.notes.remove(BUILDING)
            self.vectorless_writes += 1

    async def restart_index(self) -> None:
        """Replace the index with an empty one, to be filled from the records; the caller holds the lock."""
        self.restarts += 1
        self.building = None
        await self.notes.remove(BUILDING)
        await self._drop_others()  # an unfinished build uses the number of the next generation
        await self.write_note(self.note.next_generation(dim=self.note.dim))
        await self.reopen()
        await self._drop_others()
        self.vectorless_writes += 1

    async def drop_other_generations(self) -> None:
        """Drop all passages that are neither searched nor being built."""
        async with self.lock:
            await self._drop_others()

    async def _drop_others(self) -> None:
        dropped = await drop_other_passages(self.path, [note.passages for note in self.index_notes])
        if dropped and self.inventory is not None:
            await asyncio.to_thread(self.inventory.forget, *dropped)

    async def reopen(self) -> None:
        """Open a new connection and session, because the old one keeps all replaced index files open."""
        building = None if self.building is None else (self.building.passages, self.building.dim)
        self.tables = await open_tables(
            self.path,
            self.note.passages,
            self.note.dim,
            change=self.is_writer,
            building=building,
            lock=self.lock,
        )
