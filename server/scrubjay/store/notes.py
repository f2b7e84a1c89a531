"""The notes of a store beside its records: short texts by name. Files where one engine has the store to itself, rows of a table where
several share it. Knows how a text is replaced at once; does not know what one says.
"""

from __future__ import annotations

import asyncio
import os
from typing import Protocol

import pyarrow as pa
from lancedb import AsyncConnection, AsyncTable
from lancedb.index import BTree

from scrubjay.store import sql
from scrubjay.store.creation import opened_or_created

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
        rows = await self.table.query().where(sql.equal("id", name)).to_arrow()
        return rows["text"][0].as_py() if len(rows) else None

    async def write(self, name: str, text: str) -> None:
        merge = self.table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        await merge.execute(pa.Table.from_pylist([{"id": name, "text": text}], schema=_SCHEMA))

    async def swap(self, name: str, before: str | None, after: str) -> bool:
        """Write `after` if the text still is `before` (None: if there is none); whether it was."""
        row = pa.Table.from_pylist([{"id": name, "text": after}], schema=_SCHEMA)
        if before is None:
            return (await self.table.merge_insert("id").when_not_matched_insert_all().execute(row)).num_inserted_rows == 1
        same = sql.both(sql.equal("id", name), sql.equal("text", before))
        return (await self.table.update({"text": after}, where=same)).rows_updated == 1


async def open_notes(database: AsyncConnection) -> TableNotes:
    """The notes of a shared store; created where they are missing."""
    return TableNotes(await opened_or_created(database, "notes", _SCHEMA, {"id": BTree()}))
