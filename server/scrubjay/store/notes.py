"""The notes of a store beside its records: short texts by name, one of which says what its index is made of.

They are files where one engine has the store to itself, and rows of a table where several share it.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from contextlib import suppress
from dataclasses import asdict, dataclass, replace

import pyarrow as pa
from lancedb import AsyncConnection, AsyncTable
from lancedb.index import BTree

from scrubjay.errors import StoreError
from scrubjay.home.files import clear_way, read_whole, sync_folder
from scrubjay.home.paths import SCHEMA_VERSION
from scrubjay.store import conditions
from scrubjay.store.schema import read_table
from scrubjay.store.tables import open_or_create

INDEX = "index"  # the name of the note on the index
MOST_DIMENSIONS = 65_536  # of a vector
BUILDING = "building"  # of that on the generation that will take its place; there is none most of the time
_GENERATION = re.compile(r"passages_(\d+)\.lance")
_SCHEMA = pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("text", pa.string())])


class FileNotes:
    """JSON files in a folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def path(self, name: str) -> str:
        """Return the path of a note's file."""
        return os.path.join(self._folder, f"{name}.json")

    async def read(self, name: str) -> str | None:
        """Return the text of that name, None if there is none."""
        return await asyncio.to_thread(self._read, self.path(name))

    async def write(self, name: str, text: str) -> None:
        """Replace a text, whole or not at all; it is on disk when this returns."""
        await asyncio.to_thread(self._write, self.path(name), text)

    async def remove(self, name: str) -> None:
        """Remove the text of that name, if there is one."""
        with suppress(FileNotFoundError):
            await asyncio.to_thread(os.unlink, self.path(name))

    async def set_aside(self, name: str) -> None:
        """Move the text of that name away, which says nothing."""
        await asyncio.to_thread(os.replace, self.path(name), f"{self.path(name)}.aside")

    def generations(self) -> list[int]:
        """Return the numbers of the generations of passages that lie in the folder."""
        names = (_GENERATION.fullmatch(name) for name in os.listdir(self._folder))
        return [int(name[1]) for name in names if name]

    @staticmethod
    def _read(path: str) -> str | None:
        clear_way(path)
        try:
            return read_whole(path).decode("utf-8", "replace")
        except FileNotFoundError:
            return None
        except ValueError:  # too much for notes: damaged
            return ""

    @staticmethod
    def _write(path: str, text: str) -> None:
        draft = f"{path}.draft"
        clear_way(draft)
        with open(draft, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
        sync_folder(os.path.dirname(path))


class TableNotes:
    """Rows of one table.

    LanceDB evaluates the condition of an update against the version it replaces, so that `swap` has one
    winner.
    """

    def __init__(self, table: AsyncTable) -> None:
        self.table = table

    async def read(self, name: str) -> str | None:
        """Return the text of that name, None if there is none."""
        rows = await read_table(self.table.query().where(conditions.equal("id", name)))
        return rows["text"][0].as_py() if len(rows) else None

    async def write(self, name: str, text: str) -> None:
        """Replace a text, whole or not at all; it is durable when this returns."""
        merge = self.table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        await merge.execute(_row(name, text))

    async def remove(self, name: str) -> None:
        """Remove the text of that name, if there is one."""
        await self.table.delete(conditions.equal("id", name))

    async def swap(self, name: str, before: str | None, after: str) -> bool:
        """Write `after` if the text still is `before` (None: if there is none); return whether it was."""
        if before is None:
            merge = self.table.merge_insert("id").when_not_matched_insert_all()
            inserted: int = (await merge.execute(_row(name, after))).num_inserted_rows
            return inserted == 1
        same = conditions.matching(id=name, text=before)
        updated: int = (await self.table.update({"text": after}, where=same)).rows_updated
        return updated == 1


Notes = FileNotes | TableNotes


def _row(name: str, text: str) -> pa.Table:
    return pa.Table.from_pylist([{"id": name, "text": text}], schema=_SCHEMA)


async def open_notes(database: AsyncConnection) -> TableNotes:
    """Open the notes of a shared store; create them if they are missing."""
    return TableNotes(await open_or_create(database, "notes", _SCHEMA, {"id": BTree()}))


@dataclass(frozen=True)
class IndexNote:
    """What the passages in use are made of.

    `generation` names their table, `space_id` is None until a model was accepted for it, and `complete` is
    False while they are being filled from the records: of a new generation, or of an older Scrubjay's.
    """

    schema_version: int = SCHEMA_VERSION
    generation: int = 1
    dim: int = 384
    space_id: str | None = None
    canaries: tuple[tuple[float, ...], ...] = ()
    complete: bool = True

    @property
    def passages(self) -> str:
        """The name of the passages table."""
        return f"passages_{self.generation}"

    def next_generation(self, *, dim: int) -> IndexNote:
        """Return the note of the next generation, which holds no vectors yet."""
        generation = self.generation + 1
        return replace(self, generation=generation, dim=dim, space_id=None, canaries=(), complete=False)


class UnreadableNote(StoreError):
    """A note that is damaged."""


def parse_note(text: str, where: str) -> IndexNote:
    """Return the note in a text; `where` is its store.

    Raises:
        StoreError: a newer Scrubjay wrote it; nothing is touched then.
        UnreadableNote: it cannot be read.
    """
    try:
        values = json.loads(text)
        version = values["schema_version"]
        if version > SCHEMA_VERSION:  # looked at first: a newer note may have other fields
            raise StoreError(
                f"The store in {where} was written by a newer Scrubjay (schema {version}, this one knows "
                f"{SCHEMA_VERSION}). Upgrade Scrubjay; nothing was changed."
            )
        note = IndexNote(**{**values, "canaries": tuple(tuple(row) for row in values.get("canaries", ()))})
        if not (note.generation > 0 and 0 < note.dim <= MOST_DIMENSIONS):
            raise ValueError(f"generation {note.generation}, dimension {note.dim}")
        return note
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        problem = f"The note `index` in {where} cannot be read ({error})."
        raise UnreadableNote(f"{problem} The records are not touched; run `scrubjay doctor`.") from error


def dump_note(note: IndexNote) -> str:
    """Return the text that `parse_note` reads."""
    return json.dumps(asdict(note))


async def load_or_create_note(
    notes: Notes, path: str, dim: int | None, repairs: list[str] | None = None
) -> IndexNote:
    """Return the note on the index, for the engine that writes; without vectors yet, one of width `dim`.

    If there are passages and no note that can be read says what they are, it is one of a new generation,
    which is to be filled from the records; `repairs` gets a sentence.
    """
    text = await notes.read(INDEX)
    try:
        note = None if text is None else parse_note(text, path)
    except UnreadableNote:
        if not isinstance(notes, FileNotes):
            raise
        await notes.set_aside(INDEX)
        note = None
    generations = notes.generations() if isinstance(notes, FileNotes) else []
    if generations and (note is None or note.generation not in generations):
        note = IndexNote(generation=max(generations) + 1, dim=dim or IndexNote.dim, complete=False)
        await notes.write(INDEX, dump_note(note))
        if repairs is not None:
            repairs.append("What is known of the index was lost, so it is built anew from the records.")
    elif note is None or (note.space_id is None and dim is not None and note.dim != dim):
        # Nothing is embedded yet, so that the width is free to change.
        note = note.next_generation(dim=dim) if note and dim else IndexNote(dim=dim or IndexNote.dim)
        await notes.write(INDEX, dump_note(note))
    return note


async def mark_outdated(notes: Notes, note: IndexNote) -> IndexNote:
    """Note that the passages are incomplete, so that the next engine to open the store fills them."""
    if not note.complete:
        return note
    note = replace(note, complete=False)  # they keep their vectors
    await notes.write(INDEX, dump_note(note))
    return note
