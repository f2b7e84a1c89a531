"""Opens the tables: connection, creation with their indexes, and repair of a damaged newest version.

Follows what was measured of LanceDB 0.40: read consistency 0 (else writes act on stale snapshots), a declared primary key (else
concurrent upserts double rows), open-else-create (a racing `exist_ok` overwrites), positions off (compaction crashes were reported).
"""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from datetime import timedelta

import lancedb
import pyarrow as pa
from lancedb import AsyncConnection, AsyncTable
from lancedb.index import FTS, Bitmap, BTree, IvfSq

from scrubjay.errors import StoreError
from scrubjay.models.records import Document, Memory, Passage, Turn
from scrubjay.store.schema import VECTOR, arrow_schema
from scrubjay.terms import STOP

log = logging.getLogger("scrubjay.store")

TABLES = ("turns", "memories", "documents", "passages")
RECORDS = {"turns": Turn, "memories": Memory, "documents": Document}
_BTREES = {"turns": ("id", "session_id"), "memories": ("id", "content_hash"), "documents": ("id",), "passages": ("id", "record_id")}
_INDEX_CACHE, _METADATA_CACHE = 16 << 20, 8 << 20  # bytes; four times as much was no faster at 30,000 passages, half of it slower
_TORN = ("Invalid range 0..0", "file size is too small", "Invalid user input: Invalid range")


@dataclass(frozen=True)
class Tables:
    """The open tables of one connection, and what had to be repaired to open them."""

    turns: AsyncTable
    memories: AsyncTable
    documents: AsyncTable
    passages: AsyncTable
    repairs: tuple[str, ...] = ()

    def of(self, name: str) -> AsyncTable:
        return getattr(self, name)


async def open_tables(path: str, passages: str, dim: int) -> Tables:
    """Open the four tables below `path`, creating what is missing.

    Raises:
        StoreError: a table is damaged beyond its newest version.
    """
    session = lancedb.Session(_INDEX_CACHE, _METADATA_CACHE)
    database = await lancedb.connect_async(path, read_consistency_interval=timedelta(0), session=session)
    repairs: list[str] = []
    records = {
        name: await _open_or_create(database, path, name, arrow_schema(model), _BTREES[name], repairs) for name, model in RECORDS.items()
    }
    pieces = await _open_or_create(database, path, passages, arrow_schema(Passage, dim=dim), _BTREES["passages"], repairs)
    return Tables(**records, passages=pieces, repairs=tuple(repairs))


async def drop_table(path: str, name: str) -> None:
    database = await lancedb.connect_async(path, read_consistency_interval=timedelta(0))
    await database.drop_table(name, ignore_missing=True)


async def _open_or_create(
    database: AsyncConnection, path: str, name: str, schema: pa.Schema, btrees: tuple[str, ...], repairs: list[str]
) -> AsyncTable:
    try:
        table = await database.open_table(name)
    except ValueError as error:
        if "was not found" not in str(error):
            raise
        return await _create(database, name, schema, btrees)
    except RuntimeError as error:
        if not any(sign in str(error) for sign in _TORN):
            raise StoreError(f"Table {name} cannot be opened: {error}. Restore a backup of the home, or move {path} away.") from error
        repairs.append(_set_newest_version_aside(path, name))
        table = await database.open_table(name)
    await _add_missing_columns(table, schema)
    return table


async def _create(database: AsyncConnection, name: str, schema: pa.Schema, btrees: tuple[str, ...]) -> AsyncTable:
    table = await database.create_table(name, schema=schema)
    await table.set_unenforced_primary_key("id")
    for column in btrees:
        await table.create_index(column, config=BTree())
    if "search_text" in schema.names:
        await table.create_index("scope", config=Bitmap())
        await table.create_index(
            "search_text",
            config=FTS(
                base_tokenizer="simple",
                language="English",
                stem=True,
                lower_case=True,
                ascii_folding=True,
                remove_stop_words=True,
                custom_stop_words=sorted(STOP),
                max_token_length=128,  # the default of 40 drops SHA-1 hashes
                with_position=False,
            ),
        )
    return table


async def index_vectors(table: AsyncTable, *, segments: int) -> None:
    """Build the vector index of a passages table if it has none, and anew if it has at least `segments` segments.

    Every optimize adds a segment, and fragments of different segments are never merged; only a new index makes them one again.
    """
    index = next((index for index in await table.list_indices() if index.name == f"{VECTOR}_idx"), None)
    if index is None or (index.num_segments or 0) >= segments:
        await table.create_index(VECTOR, config=IvfSq(distance_type="cosine"), replace=True)


async def _add_missing_columns(table: AsyncTable, schema: pa.Schema) -> None:
    """Columns that a newer Scrubjay knows are added as nulls, so that an older one can keep writing beside it."""
    present = set((await table.schema()).names)
    missing = [field for field in schema if field.name not in present]
    if missing:
        await table.add_columns(missing)


def _set_newest_version_aside(path: str, name: str) -> str:
    """Rename the newest manifest, so that the version before it opens; a power loss can leave the newest one empty."""
    folder = os.path.join(path, f"{name}.lance", "_versions")
    manifests = [entry for entry in os.listdir(folder) if entry.endswith(".manifest")]
    if len(manifests) < 2:
        raise StoreError(f"Table {name} has no version that can be read. Restore a backup of the home, or move {path} away.")
    # V2 names count down from 2^64, so that the smallest name is the newest version.
    newest = min(manifests) if all(len(entry) > 20 for entry in manifests) else max(manifests, key=lambda entry: int(entry.split(".")[0]))
    os.replace(os.path.join(folder, newest), os.path.join(folder, f"{newest}.bad"))
    hint = os.path.join(folder, "latest_version_hint.json")
    if os.path.exists(hint):
        os.remove(hint)
    sentence = f"Table {name}: its newest version was unreadable and was set aside; what was not yet confirmed to be on disk is replayed."
    log.warning("%s (%s)", sentence, newest)
    return sentence
