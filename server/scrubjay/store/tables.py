"""Connects to LanceDB, and opens or creates the tables and their indexes.

The options follow from measurements of LanceDB 0.40:

- read consistency 0, because otherwise writes act on stale snapshots;
- a declared primary key, because otherwise concurrent upserts duplicate rows;
- open, else create, because with `exist_ok` one of two racing calls overwrites the other;
- an index without positions, because crashes in compaction were reported with them.
"""

import asyncio
import logging
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import lancedb
import pyarrow as pa
from lancedb import AsyncConnection, AsyncTable, Session
from lancedb.index import FTS, Bitmap, BTree, IndexConfig, IvfSq

from scrubjay.errors import StoreError
from scrubjay.home.paths import is_shared
from scrubjay.models.records import Memory, Passage, Turn
from scrubjay.store.cache import FIRST, PassageCache, PassageRow, RecordCache, TableCache
from scrubjay.store.changes import TABLE_OF
from scrubjay.store.failures import RESTORE
from scrubjay.store.schema import VECTOR, arrow_schema
from scrubjay.store.ties import TieCache
from scrubjay.store.vectors import VectorCache
from scrubjay.text.terms import STOP

log = logging.getLogger("scrubjay.store")


class WriteLock(asyncio.Lock):
    """The lock that every write to the tables holds; it counts its releases."""

    releases = 0

    def release(self) -> None:
        """Release the lock."""
        self.releases += 1
        super().release()


class OwnTable(AsyncTable):
    """A table that only this process writes.

    The version is read from LanceDB only if the lock is or was held since the last read. A search needs it
    nine times, and each read takes .3 ms of processor time and a change of threads.
    """

    def __init__(self, table: AsyncTable, lock: WriteLock) -> None:
        super().__init__(table._inner)
        self._lock, self._version = lock, 0
        self._releases = -1  # releases of the lock when the version was read

    async def version(self) -> int:
        """Return the number of the newest version."""
        if self._lock.locked() or self._releases != self._lock.releases:
            releases = self._lock.releases
            self._version = await super().version()
            self._releases = releases
        return self._version


Index = FTS | BTree | Bitmap
TABLES = (*TABLE_OF.values(), "passages")
_BTREES = {
    "turns": ("id", "session_id"),
    "memories": ("id", "content_hash", "session_id"),
    "documents": ("id",),
    "passages": ("id", "record_id"),
}
# The columns of passages that every search needs. With these indexes in memory, a search of 100,000 passages
# takes 2 ms less of processor time.
_BITMAPS = ("scope", "src", "hidden")
# The greatest age of the data that a handle reads. It must be 0, or LanceDB's writes act on stale snapshots.
ALWAYS = timedelta(0)
# The same for a bucket, where checking for a new version costs a request, and only one engine writes.
EVERY_SECOND = timedelta(seconds=1)
# With LanceDB's defaults, a wrong bucket would delay the start of an engine by three minutes.
_BUCKET_OPTIONS = {
    "client_max_retries": "4",
    "client_retry_timeout": "30",
    "connect_timeout": "5s",
    "request_timeout": "60s",
}
# Sizes in bytes. With 30,000 passages, four times as much was no faster, and half was slower.
_INDEX_CACHE, _METADATA_CACHE = 16 << 20, 8 << 20
# A search of the vector index reads the codes of many passages, one byte per dimension. If they fit into the
# cache, a search of 100,000 passages takes 11 ms less.
_CACHED_FOR_INDEXES = 384  # bytes per passage, for the other indexes that a search reads
_MAX_INDEX_CACHE = 768 << 20  # bytes, for a million passages
_PROSE = FTS(
    base_tokenizer="simple",
    language="English",
    stem=True,
    lower_case=True,
    ascii_folding=True,
    remove_stop_words=True,
    custom_stop_words=sorted(STOP),
    max_token_length=128,  # the default of 40 drops SHA-1 hashes
    with_position=False,
)
_WORDS = FTS(
    base_tokenizer="whitespace",
    stem=False,
    lower_case=False,
    ascii_folding=False,
    remove_stop_words=False,
    with_position=False,
)
_TEXT_INDEXES = {"search_text": _PROSE, "tied": _WORDS}
# Most vectors that are compared one by one in memory, which takes 54 MB and 19 ms of processor time. With
# more passages, LanceDB's vector index is searched.
FEW_VECTORS = 150_000


@dataclass(eq=False)
class Tables:
    """The open tables of one connection, and what is cached of them."""

    turns: AsyncTable
    memories: AsyncTable
    documents: AsyncTable
    passages: AsyncTable
    building: AsyncTable | None = None  # the next generation of passages, not searched yet
    lock: WriteLock = field(default_factory=WriteLock)  # held by every write

    def __post_init__(self) -> None:
        # Documents are not cached: a search shows their chunks and reads few of their records.
        kinds = {"turns": Turn, "memories": Memory}
        self.cached_records = {name: RecordCache[Any](kind, 50_000) for name, kind in kinds.items()}
        # One cache for both columns, because a search uses both, and after a write both are read at once.
        columns = ["record_id", "token_vectors", "tied"]
        self.codes_and_ties = TableCache(FEW_VECTORS, columns, key="record_id", first=2 * FIRST)
        self.cached_ties = TieCache(self.codes_and_ties)
        self.whole_passages = TableCache(FEW_VECTORS, list(PassageRow._fields))
        self.cached_passages = PassageCache(self.whole_passages)
        self.cached_vectors = VectorCache(FEW_VECTORS)

    async def warm(self, before: "Tables") -> None:
        """Read again what searches used in memory, in these tables or in those of an earlier connection.

        Otherwise the next search would wait for it: with 30,000 passages, .3 s of processor time.
        """
        for name, cache in self.cached_records.items():
            await cache.whole.warm(self.of(name), before.cached_records[name].whole)
        await self.whole_passages.warm(self.passages, before.whole_passages)
        await self.codes_and_ties.warm(self.passages, before.codes_and_ties)
        await self.cached_vectors.warm(self.passages, before.cached_vectors)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the tables that are written."""
        return TABLES if self.building is None else (*TABLES, "building")

    @property
    def indexes(self) -> list[AsyncTable]:
        """Return the passages that are searched, and those being built, if any."""
        return [self.passages] if self.building is None else [self.passages, self.building]

    def of(self, name: str) -> AsyncTable:
        """Return the table with this name, one of `names`."""
        table: AsyncTable = getattr(self, name)
        return table

    def by_name(self, passages: str) -> dict[str, AsyncTable]:
        """Return every table by its name on disk; `passages` is the name of the passages."""
        return {name if name != "passages" else passages: self.of(name) for name in TABLES}


async def lacks_columns(path: str, passages: str) -> bool:
    """Return True if an older Scrubjay wrote these passages, so that they lack a column."""
    table = await _open_undamaged(path, passages)
    return table is not None and not set(Passage.model_fields) <= set((await table.schema()).names)


async def _open_undamaged(path: str, name: str) -> AsyncTable | None:
    with suppress(RuntimeError):  # `open_tables` reports damage
        return await open_if_exists(await connect(path), name)
    return None


async def open_tables(
    path: str,
    passages: str,
    dim: int,
    *,
    change: bool = True,
    building: tuple[str, int] | None = None,
    lock: WriteLock | None = None,
) -> Tables:
    """Open the four tables below `path`; create missing tables and columns if `change` is set.

    `building` is the name and width of a new generation of passages that is built next to the current one.
    `change` is False if another engine maintains the tables. `lock` is the lock of an earlier connection.

    Raises:
        StoreError: a table is damaged, or is missing and may not be created.
    """
    lock = lock or WriteLock()
    schemas = {name: arrow_schema(kind) for kind, name in TABLE_OF.items()}
    schemas[passages] = arrow_schema(Passage, dim=dim)
    before = await _open_undamaged(path, passages)
    cache = _index_cache(path, dim, await before.count_rows() if before else 0)
    database = await connect(path, session=lancedb.Session(cache, _METADATA_CACHE))
    opened, next_passages = [], None
    for name, schema in schemas.items():
        table = await _open(database, path, name, schema, change=change)
        opened.append(table if is_shared(path) else OwnTable(table, lock))
    if building is not None:
        next_passages = await _open(database, path, building[0], arrow_schema(Passage, dim=building[1]))
    turns, memories, documents, open_passages = opened
    return Tables(turns, memories, documents, open_passages, next_passages, lock)


def _index_cache(path: str, dim: int, rows: int) -> int:
    """Return the size of the cache for the indexes of this many passages (`rows`), in bytes."""
    vector_bytes = dim if rows > FEW_VECTORS or is_shared(path) else 0
    return max(_INDEX_CACHE, min(rows * (vector_bytes + _CACHED_FOR_INDEXES), _MAX_INDEX_CACHE))


async def drop_other_passages(path: str, wanted: Collection[str]) -> list[str]:
    """Drop the tables of passages that are not `wanted`; return their names.

    They are earlier generations, or incomplete ones that a killed engine left.
    """
    database = await connect(path)
    names = (await database.list_tables()).tables
    others = [name for name in names if name.startswith("passages_") and name not in wanted]
    for name in others:
        await database.drop_table(name, ignore_missing=True)
    return others


async def _open(
    database: AsyncConnection, path: str, name: str, schema: pa.Schema, *, change: bool = True
) -> AsyncTable:
    """Open a table; if `change` is set, create it, or add the columns and indexes that it lacks."""
    try:
        table = await open_if_exists(database, name)
    except RuntimeError as error:
        if not change:
            raise
        problem = f"Table {name} cannot be opened: {error}."
        raise StoreError(f"{problem} {RESTORE}, or move {path} away.") from error
    if table is None:
        if not change:
            problem = f"Table {name} is missing in {path}."
            raise StoreError(f"{problem} The engine that maintains this store creates it; try again then.")
        table = await database.create_table(name, schema=schema)
    if not change:
        return table
    present = set((await table.schema()).names)
    if missing := [field for field in schema if field.name not in present]:
        await table.add_columns(missing)  # nullable, so that an older Scrubjay can still write
    await _add_indexes(table, name)
    return table


async def index_vectors(table: AsyncTable, *, segments: int) -> bool:
    """Build the vector index of a passages table if it has none or at least `segments` segments.

    Return True if it was built. Every optimize adds a segment, and fragments of different segments are never
    merged; only a new index combines them.
    """
    count = await vector_segments(table)
    if 0 < count < segments:
        return False
    config: Any = IvfSq(distance_type="l2")  # missing in the types of `create_index`
    await table.create_index(VECTOR, config=config, replace=True)
    return True


async def rebuild_index(table: AsyncTable, index: IndexConfig) -> None:
    """Rebuild an index of a table from its rows. Raises RuntimeError if they cannot be read."""
    (column,) = index.columns
    if column == VECTOR:
        await index_vectors(table, segments=0)  # fragments of different segments are never merged
        return
    config = _TEXT_INDEXES.get(column) or (Bitmap() if index.index_type == "Bitmap" else BTree())
    await table.create_index(column, config=config, replace=True)


async def vector_segments(table: AsyncTable) -> int:
    """Count the segments of the vector index of a passages table; 0 without an index."""
    indexes = await table.list_indices()
    return next((index.num_segments or 1 for index in indexes if index.name == f"{VECTOR}_idx"), 0)


async def _add_indexes(table: AsyncTable, name: str) -> None:
    """Add a table's primary key and the indexes that an older or interrupted Scrubjay did not add."""
    schema = await table.schema()
    if not schema.field("id").metadata:
        await table.set_unenforced_primary_key("id")
    indexes: dict[str, Index] = {column: BTree() for column in _BTREES.get(name, _BTREES["passages"])}
    if "search_text" in schema.names:
        indexes |= _TEXT_INDEXES
        indexes |= {column: Bitmap() for column in _BITMAPS}
    indexed = {column for index in await table.list_indices() for column in index.columns}
    for column, config in indexes.items():
        if column not in indexed:
            await table.create_index(column, config=config)


async def open_if_exists(database: AsyncConnection, name: str) -> AsyncTable | None:
    """Open the table with that name, or return None if it is missing."""
    try:
        return await database.open_table(name)
    except ValueError as error:
        if "was not found" not in str(error):
            raise
        return None


async def open_or_create(database: AsyncConnection, name: str, schema: pa.Schema) -> AsyncTable:
    """Open the table with that name, or create it with `id` as its key.

    `exist_ok` is not used, because with it one of two racing calls would overwrite the other's rows.
    """
    if (table := await open_if_exists(database, name)) is not None:
        return table
    try:
        table = await database.create_table(name, schema=schema)
    except ValueError as error:
        if "already exists" not in str(error):
            raise
        return await database.open_table(name)
    await table.set_unenforced_primary_key("id")
    await table.create_index("id", config=BTree())
    return table


async def connect(
    path: str, *, session: Session | None = None, fresh: timedelta | None = None
) -> AsyncConnection:
    """Connect to the store at `path`; for a bucket, LanceDB reads the standard AWS_* variables.

    `fresh` is the greatest age of the data read; by default, 0 in a folder and a second in a bucket.
    """
    interval, options = (EVERY_SECOND, _BUCKET_OPTIONS) if is_shared(path) else (ALWAYS, None)
    interval = interval if fresh is None else fresh
    return await lancedb.connect_async(
        path, read_consistency_interval=interval, session=session, storage_options=options
    )
