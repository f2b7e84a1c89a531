"""A store's notes: short named texts next to its records, such as the description of its index.

If one engine owns the store, notes are files; if several engines share it, they are rows of a table.
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

from scrubjay.errors import StoreError
from scrubjay.home.files import move_aside_nonfile, read_whole, write_whole
from scrubjay.home.paths import SCHEMA_VERSION
from scrubjay.store import conditions
from scrubjay.store.schema import read_table
from scrubjay.store.tables import open_or_create

INDEX = "index"  # the name of the note on the index
MOST_DIMENSIONS = 65_536  # numbers in a vector
BUILDING = "building"  # the name of the note on the next generation; it exists only during a reindex
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
        """Return the text of a note, or None if it is missing."""
        return await asyncio.to_thread(self._read, self.path(name))

    async def write(self, name: str, text: str) -> None:
        """Replace the text of a note atomically; it is on disk when this returns."""
        await asyncio.to_thread(write_whole, self.path(name), text.encode())

    async def remove(self, name: str) -> None:
        """Remove a note, if it exists."""
        with suppress(FileNotFoundError):
            await asyncio.to_thread(os.unlink, self.path(name))

    def generations(self) -> list[int]:
        """Return the numbers of the generations of passages in the folder."""
        matches = (_GENERATION.fullmatch(name) for name in os.listdir(self._folder))
        return [int(match[1]) for match in matches if match]

    @staticmethod
    def _read(path: str) -> str | None:
        move_aside_nonfile(path)
        try:
            return read_whole(path).decode("utf-8", "replace")
        except FileNotFoundError:
            return None
        except ValueError:  # the file is too long for a note, so it is damaged
            return ""


class TableNotes:
    """Rows of one table; only one of several competing calls of `swap` succeeds."""

    def __init__(self, table: AsyncTable) -> None:
        self.table = table

    async def read(self, name: str) -> str | None:
        """Return the text of a note, or None if it is missing."""
        rows = await read_table(self.table.query().where(conditions.equal("id", name)))
        return rows["text"][0].as_py() if len(rows) else None

    async def write(self, name: str, text: str) -> None:
        """Replace the text of a note atomically; it is durable when this returns."""
        merge = self.table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        await merge.execute(_row(name, text))

    async def remove(self, name: str) -> None:
        """Remove a note, if it exists."""
        await self.table.delete(conditions.equal("id", name))

    async def swap(self, name: str, before: str | None, after: str) -> bool:
        """Write `after` if the current text is `before` (None: missing); return True if it was written."""
        if before is None:
            merge = self.table.merge_insert("id").when_not_matched_insert_all()
            inserted: int = (await merge.execute(_row(name, after))).num_inserted_rows
            return inserted == 1
        same = conditions.matching(id=name, text=before)
        # LanceDB evaluates the condition on the version that the update replaces.
        updated: int = (await self.table.update({"text": after}, where=same)).rows_updated
        return updated == 1


Notes = FileNotes | TableNotes


def _row(name: str, text: str) -> pa.Table:
    return pa.Table.from_pylist([{"id": name, "text": text}], schema=_SCHEMA)


async def open_notes(database: AsyncConnection) -> TableNotes:
    """Open the notes of a shared store; create them if they are missing."""
    return TableNotes(await open_or_create(database, "notes", _SCHEMA))


@dataclass(frozen=True)
class IndexNote:
    """How a generation of passages was made.

    `generation` is part of the name of their table. `space_id` is None until a model is accepted for them.
    `complete` is False while passages are being filled from the records, in a new generation or after an
    older Scrubjay wrote them.
    """

    schema_version: int = SCHEMA_VERSION
    generation: int = 1
    dim: int = 384
    space_id: str | None = None
    canaries: tuple[tuple[float, ...], ...] = ()
    complete: bool = True

    @property
    def passages(self) -> str:
        """Return the name of the passages table."""
        return f"passages_{self.generation}"

    def next_generation(self, *, dim: int) -> IndexNote:
        """Return the note of the next generation, which has no vectors yet."""
        generation = self.generation + 1
        return replace(self, generation=generation, dim=dim, space_id=None, canaries=(), complete=False)


class UnreadableNote(StoreError):
    """A note that is damaged."""


def parse_note(text: str, where: str) -> IndexNote:
    """Parse a note's text; `where` names its store.

    Raises:
        StoreError: a newer Scrubjay wrote the note; nothing was changed.
        UnreadableNote: the note is damaged.
    """
    try:
        values = json.loads(text)
        version = values["schema_version"]
        if version > SCHEMA_VERSION:  # checked first, because a newer note may have other fields
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
        raise UnreadableNote(f"{problem} The records are unchanged; run `scrubjay doctor`.") from error


def dump_note(note: IndexNote) -> str:
    """Return a text that `parse_note` reads."""
    return json.dumps(asdict(note))


async def load_or_create_note(
    notes: Notes, path: str, dim: int | None, repairs: list[str] | None = None
) -> IndexNote:
    """Return the note on the index, for the engine that writes; `dim` is the width of future vectors.

    If there are passages but no readable note, begin a new generation, to be filled from the records, and add
    a sentence to `repairs`.
    """
    text = await notes.read(INDEX)
    try:
        note = None if text is None else parse_note(text, path)
    except UnreadableNote:
        if not isinstance(notes, FileNotes):
            raise
        note = None
    generations = notes.generations() if isinstance(notes, FileNotes) else []
    if generations and (note is None or note.generation not in generations):
        note = IndexNote(generation=max(generations) + 1, dim=dim or IndexNote.dim, complete=False)
        await notes.write(INDEX, dump_note(note))
        if repairs is not None:
            repairs.append("The index's description was lost, so it is being rebuilt from the records.")
    elif note is None or (note.space_id is None and dim is not None and note.dim != dim):
        # Nothing is embedded yet, so the width can still change.
        note = note.next_generation(dim=dim) if note and dim else IndexNote(dim=dim or IndexNote.dim)
        await notes.write(INDEX, dump_note(note))
    return note
