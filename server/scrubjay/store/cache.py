"""Caches of the tables of one connection, dropped with it.

LanceDB's row id is a fragment's number and a position in it. A changed row goes into a new fragment, and a
fragment's number is never reused, so a row id always means the same row content. Every search looks up again
which rows currently exist.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from lancedb import AsyncTable
from numpy.typing import NDArray

from scrubjay.models.records import PassageSrc, Row
from scrubjay.store import row_sets
from scrubjay.store.row_sets import among, filtered, rows_at, rows_of, shared_beginning
from scrubjay.store.schema import from_table, read_table

# Most new rows that are read one by one. Reading more takes as long as reading all 10,000 (7 ms).
MANY = 64
_MAX_BYTES = 64 << 20
FIRST = 3  # uses of a table before all of it is read; a search uses most tables once
_MAX_ROWS = 10_000  # passages cached as objects
_FEW = 3  # most records that are read one by one after a write; planning a write needs few
TRIES = 3  # attempts to read a consistent set of rows
_MAX_CHUNKS = 8  # of a table in memory; more are combined, which copies the table: 10 ms for 30 MB
_MAX_RECORDS = 4_000  # records of a kind cached as objects

R = TypeVar("R", bound=Row)


class PassageRow(NamedTuple):
    """The fields of a stored passage that a search uses."""

    id: str
    src: PassageSrc
    record_id: str
    part: int
    role: str | None
    text: str
    scope: str
    partition_id: str
    tags: list[str] | None
    session_id: str | None
    dated_at: int  # microseconds since 1970
    importance_score: float
    expires_at: int | None
    tied: str | None
    space_id: str | None  # None: it has no vector yet


class TableCache:
    """A whole table in memory, or some of its columns, unless it exceeds `most` rows or 64 MB.

    Rows are looked up by their values in the column `key`. The `first` uses do not read the table, so that
    the first search after a start does not wait for it.
    """

    def __init__(
        self, most: int, columns: list[str] | None = None, *, key: str = "id", first: int = FIRST
    ) -> None:
        self._most, self._columns, self._key, self._first = most, columns, key, first
        self._lock = asyncio.Lock()
        self._uses, self._version = 0, -1
        self._used = False  # since the last warming
        self._fits = True
        self._rows: pa.Table = None
        self.row_ids: NDArray[np.uint64] = np.empty(0, np.uint64)  # of what `current` returned last
        self._placed_row_ids: NDArray[np.uint64] = np.empty(0, np.uint64)  # those with places in `_places`
        self._keys: list[str] = []  # of the rows whose places are in `_places`
        self._places: dict[str, list[int]] = {}  # the places of each key's rows, ascending

    async def current(self, table: AsyncTable, *, read: bool = True) -> pa.Table | None:
        """Return the current table; None if it is too large or was used too rarely.

        With `read` False, also None if the table has changed since it was read.
        """
        self._uses += 1
        self._used = True
        if self._uses <= self._first:
            return None
        async with self._lock:
            # Get the version before the rows, so that rows committed in between are read next time.
            if self._fits and (version := await table.version()) != self._version:
                if not read:
                    return None
                self._fits = await table.count_rows() <= self._most and await self._read(table)
                self._version = version
            return self._rows if self._fits else None

    async def warm(self, table: AsyncTable, before: "TableCache") -> None:
        """Read the table again if this cache or `before`, from an older handle, was used since last time."""
        self._uses, used, before._used = before._uses, before._used, False
        if before is not self:
            before._rows = None  # do not keep both in memory
        if used and self._uses > self._first:  # otherwise `current` would count as one of the `first` uses
            await self.current(table)
            self._used = False

    @property
    def places(self) -> Mapping[str, Sequence[int]]:
        """Map each key to the places of its rows in what `current` returned last."""
        if self._placed_row_ids is not self.row_ids:
            unchanged = shared_beginning(self._placed_row_ids, self.row_ids)
            for key in self._keys[unchanged:]:
                self._places[key].pop()
                if not self._places[key]:
                    del self._places[key]
            added = self._rows[self._key].slice(unchanged).to_pylist()
            for place, key in enumerate(added, unchanged):
                self._places.setdefault(key, []).append(place)
            self._keys[unchanged:] = added
            self._placed_row_ids = self.row_ids
        return self._places

    def cached_rows(self, row_ids: Iterable[int]) -> pa.Table | None:
        """Return the rows with these ids that existed when the table was read."""
        if self._rows is None or not len(self.row_ids):
            return None
        wanted = np.fromiter(row_ids, dtype=np.uint64)
        wanted = wanted[among(wanted, self.row_ids)]
        return rows_at(self._rows, np.searchsorted(self.row_ids, wanted))

    async def _read(self, table: AsyncTable) -> bool:
        """Read new rows and drop removed ones; return False if the table is too large."""
        query = table.query() if self._columns is None else table.query().select(self._columns)
        for _ in range(TRIES):
            existing = await row_sets.row_ids(table.query())
            new = existing[~among(existing, self.row_ids)]
            if self._rows is None or len(new) > MANY:
                break
            added = await self._take_rows(table, new) if len(new) else None
            if added is None or len(added) == len(new):  # else a compaction moved a row between the reads
                rows = filtered(self._rows, among(self.row_ids, existing))
                if added is not None:  # they are in new fragments, so they come last
                    rows = pa.concat_tables([rows, added.select(rows.column_names).combine_chunks()])
                return self._keep(rows.combine_chunks() if rows["_rowid"].num_chunks > _MAX_CHUNKS else rows)
        self._rows = None  # do not keep both in memory
        rows = (await read_table(query.with_row_id())).combine_chunks()
        if (np.diff(rows["_rowid"].to_numpy().astype(np.int64)) < 0).any():
            rows = rows.sort_by("_rowid").combine_chunks()
        return self._keep(rows)

    async def _take_rows(self, table: AsyncTable, row_ids: NDArray[np.uint64]) -> pa.Table:
        rows = table.take_row_ids(row_ids.tolist())
        rows = rows if self._columns is None else rows.select(self._columns)
        return (await read_table(rows.with_row_id())).sort_by("_rowid")

    def _keep(self, rows: pa.Table) -> bool:
        fits: bool = rows.nbytes <= _MAX_BYTES
        self._rows = rows if fits else None
        self.row_ids = rows["_rowid"].to_numpy() if fits else np.empty(0, np.uint64)
        return fits


class PassageCache:
    """Passages by row id: those of a table in memory, and those read last from the table on disk."""

    def __init__(self, whole: TableCache) -> None:
        self._whole = whole
        self._rows: dict[int, PassageRow] = {}

    async def get(self, table: AsyncTable, row_ids: Iterable[int]) -> dict[int, PassageRow]:
        """Return the passages with these row ids, without those that the table no longer has."""
        wanted = dict.fromkeys(row_ids)
        rows = {each: row for each in wanted if (row := self._rows.get(each))}
        if len(rows) < len(wanted):
            rows.update(_passages(self._whole.cached_rows(each for each in wanted if each not in rows)))
        if missing := [each for each in wanted if each not in rows]:
            if len(missing) > MANY and await self._whole.current(table) is not None:
                rows.update(_passages(self._whole.cached_rows(missing)))
            else:
                query = table.take_row_ids(missing).select(list(PassageRow._fields)).with_row_id()
                rows.update(_passages(await read_table(query)))
        if len(self._rows) > _MAX_ROWS:
            self._rows = {}
        self._rows.update(rows)
        return rows


class RecordCache(Generic[R]):
    """Records of one kind by id, from a table in memory; those used last are kept as objects."""

    def __init__(self, kind: type[R], most: int) -> None:
        self.whole = TableCache(most)
        self._kind = kind
        self._records: dict[int, R] = {}  # by row id

    async def get(self, table: AsyncTable, ids: Iterable[str]) -> dict[str, R] | None:
        """Return the records with these ids; None if the table is not in memory."""
        ids = list(ids)
        rows = await self.whole.current(table, read=len(ids) > _FEW)
        if rows is None:
            return None
        row_ids, all_places = self.whole.row_ids, self.whole.places
        places = {each: all_places[each][0] for each in ids if each in all_places}
        if missing := [place for place in places.values() if int(row_ids[place]) not in self._records]:
            if len(self._records) > _MAX_RECORDS:
                self._records = {}
                missing = list(places.values())
            records = from_table(self._kind, rows_at(rows, np.array(missing)))
            self._records.update(zip(row_ids[missing].tolist(), records, strict=True))
        return {each: self._records[int(row_ids[place])] for each, place in places.items()}

    async def columns(self, table: AsyncTable, ids: Iterable[str], names: list[str]) -> pa.Table | None:
        """Return these columns of the rows with these ids; None if the table is not in memory."""
        rows = await self.whole.current(table)
        return None if rows is None else rows_of(rows.select(names), self.whole.places, ids)


def _passages(table: pa.Table | None) -> dict[int, PassageRow]:
    if table is None:
        return {}
    columns = (table[name].to_pylist() for name in PassageRow._fields)
    return dict(zip(table["_rowid"].to_pylist(), map(PassageRow, *columns), strict=True))
