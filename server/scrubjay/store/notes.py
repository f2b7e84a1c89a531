"""The notes of a store beside its records: short texts by name. Files where one engine has the store to itself, rows of a table where
several share it. Knows how a text is replaced at once; does not know what one says.
"""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import asdict, dataclass, replace
from typing import Protocol

import pyarrow as pa
from lancedb import AsyncConnection, AsyncTable
from lancedb.index import BTree

from scrubjay.errors import StoreError
from scrubjay.store import conditions
from scrubjay.store.tables import open_or_create

_SCHEMA = pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("text", pa.string())])


class Notes(Protocol):
    """Texts by name."""

    async def read(self, name: str) -> str | None:
        """The text of that name, None if there is none."""

    async def write(self, name: str, text: str) -> None:
        """Put a text in the place of the one before, whole or not at all; it is on disk when this returns."""


class FileNotes:
    """JSON files in a folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def path(self, name: str) -> str:
        return os.path.join(self._folder, f"{name}.json")

    async def read(self, name: str) -> str | None:
        return await asyncio.to_thread(self._read, self.path(name))

    async def write(self, name: str, text: str) -> None:
        await asyncio.to_thread(self._write, self.path(name), text)

    @staticmethod
    def _read(path: str) -> str | None:
        try:
            with open(path, encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return None

    @staticmethod
    def _write(path: str, text: str) -> None:
        draft = f"{path}.draft"
        with open(draft, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)


class TableNotes:
    """Rows of one table. LanceDB evaluates the condition of an update against the version it replaces, so `swap` has one winner."""

    def __init__(self, table: AsyncTable) -> None:
        self.table = table

    async def read(self, name: str) -> str | None:
        rows = await self.table.query().where(conditions.equal("id", name)).to_arrow()
        return rows["text"][0].as_py() if len(rows) else None

    async def write(self, name: str, text: str) -> None:
        merge = self.table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        await merge.execute(pa.Table.from_pylist([{"id": name, "text": text}], schema=_SCHEMA))

    async def swap(self, name: str, before: str | None, after: str) -> bool:
        """Write `after` if the text still is `before` (None: if there is none); whether it was."""
        row = pa.Table.from_pylist([{"id": name, "text": after}], schema=_SCHEMA)
        if before is None:
            return (
                await self.table.merge_insert("id").when_not_matched_insert_all().execute(row)
            ).num_inserted_rows == 1
        same = conditions.both(conditions.equal("id", name), conditions.equal("text", before))
        return (await self.table.update({"text": after}, where=same)).rows_updated == 1


async def open_notes(database: AsyncConnection) -> TableNotes:
    """The notes of a shared store; created where they are missing."""
    return TableNotes(await open_or_create(database, "notes", _SCHEMA, {"id": BTree()}))


SCHEMA_VERSION = 1
INDEX = "index"  # its name among the notes


@dataclass(frozen=True)
class IndexNote:
    """`generation` names the passages table; `space_id` is None until a model was accepted for it.

    `complete` is False while passages are being filled from the records, of a new generation or of an older
    Scrubjay's.
    """

    schema_version: int = SCHEMA_VERSION
    generation: int = 1
    dim: int = 384
    space_id: str | None = None
    canaries: tuple[tuple[float, ...], ...] = ()
    complete: bool = True

    @property
    def passages(self) -> str:
        return f"passages_{self.generation}"

    def next_generation(self, *, dim: int) -> IndexNote:
        """The note of the next generation, which holds no vectors yet."""
        return replace(
            self, generation=self.generation + 1, dim=dim, space_id=None, canaries=(), complete=False
        )

    def with_space(self, space_id: str, canaries: tuple[tuple[float, ...], ...]) -> IndexNote:
        return replace(self, space_id=space_id, canaries=canaries)

    def as_incomplete(self) -> IndexNote:
        """The note of passages that lack something, and are to be made anew of the records; they keep their vectors."""
        return replace(self, complete=False)

    def as_complete(self) -> IndexNote:
        return replace(self, complete=True)


def parse_note(text: str, where: str) -> IndexNote:
    """The note in a text; `where` is its store.

    Raises:
        StoreError: it cannot be read, or a newer Scrubjay wrote it; nothing is touched then.
    """
    try:
        values = json.loads(text)
        _refuse_newer(
            values["schema_version"], where
        )  # before anything else of it is looked at: a newer note may have other fields
        return IndexNote(**{**values, "canaries": tuple(tuple(row) for row in values.get("canaries", ()))})
    except (ValueError, TypeError, LookupError) as error:
        raise StoreError(
            f"The note `index` in {where} cannot be read ({error}). Move it away and run `scrubjay reindex`; the records are not touched."
        ) from error


def _refuse_newer(version: int, where: str) -> None:
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"The store in {where} was written by a newer Scrubjay (schema {version}, this one knows {SCHEMA_VERSION}). "
            "Upgrade Scrubjay; nothing was changed."
        )


def dump_note(note: IndexNote) -> str:
    """The text that `parse_note` reads."""
    return json.dumps(asdict(note))


async def load_or_create_note(notes: Notes, path: str, dim: int | None) -> IndexNote:
    """The note on the index of a store whose engine may write; one that fits `dim` where nothing is embedded yet."""
    text = await notes.read(INDEX)
    note = None if text is None else parse_note(text, path)
    if note is None or (note.space_id is None and dim is not None and note.dim != dim):
        note = (
            note.next_generation(dim=dim) if note and dim else IndexNote(dim=dim or IndexNote.dim)
        )  # nothing embedded yet: start over
        await notes.write(INDEX, dump_note(note))
    return note


async def mark_if_outdated(notes: Notes, note: IndexNote, *, outdated: bool) -> IndexNote:
    """The note of a store whose passages may be `outdated`, so that whoever opened it fills them anew, also after an interruption."""
    if not outdated or not note.complete:
        return note
    await notes.write(INDEX, dump_note(note.as_incomplete()))
    return note.as_incomplete()
