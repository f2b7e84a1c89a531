"""Caches over the tables of one connection, dropped with it. The tables are the truth.

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
from scrubjay.store.row_sets import among, filtered, rows_at, shared_beginning, taken
from scrubjay.store.schema import from_table, read_table

# New rows up to this number are read one by one; beyond it, reading all 10,000 takes as long (7 ms).
MANY = 64
_MOST_BYTES = 64 << 20
FIRST = 3  # uses of a table before it is read whole; a search uses most tables once
_MOST_ROWS = 10_000  # passages cached as objects
_FEW = 3  # records read one by one after a write, because planning a write needs only its own
TRIES = 3  # to see a consistent set of matching rows
_CHUNKS = 8  # of a table in memory, before they are combined; that copies all of it: 10 ms for 30 MB
_MOST_RECORDS = 4_000  # records of a kind cached as objects

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

    Rows are found by their values in the column `key`. The `first` uses do not read the table, because the
    first search after a start must not wait for it.
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
        self._placed: NDArray[np.uint64] = np.empty(0, np.uint64)  # row ids whose places are computed
        self._keys: list[str] = []  # of the rows whose places are computed
        self._places: dict[str, list[int]] = {}  # of these rows, ascending, by key

    async def current(self, table: AsyncTable, *, read: bool = True) -> pa.Table | None:
        """Return the current table; None if it is too long, or too rarely used.

        With `read` False, also None if the table has changed since it was read.
        """
        self._uses += 1
        self._used = True
        if self._uses <= self._first:
            return None
        async with self._lock:
            # Before reading, so that anything committed meanwhile is read next time.
            if self._fits and (version := await table.version()) != self._version:
                if not read:
                    return None
                self._fits = await table.count_rows() <= self._most and await self._read(table)
                self._version = version
            return self._rows if self._fits else None

    async def warm(self, table: AsyncTable, before: "TableCache") -> None:
        """Read the table again if it, or `before` of an older handle, was used since the last time."""
        self._uses, used, before._used = before._uses, before._used, False
        if before is not self:
            before._rows = None  # not both at once
        if used and self._uses > self._first:  # the `current` below must not count as a first use
            await self.current(table)
            self._used = False

    @property
    def places(self) -> Mapping[str, Sequence[int]]:
        """Map each key to the places of its rows in what `current` returned last."""
        if self._placed is not self.row_ids:
            same = shared_beginning(self._placed, self.row_ids)
            for key in self._keys[same:]:
                self._places[key].pop()
                if not self._places[key]:
                    del self._places[key]
            added = self._rows[self._key].slice(same).to_pylist()
            for at, key in enumerate(added, same):
                self._places.setdefault(key, []).append(at)
            self._keys[same:] = added
            self._placed = self.row_ids
        return self._places

    def met(self, row_ids: Iterable[int]) -> pa.Table | None:
        """Return the rows with these ids that existed when the table was read."""
        if self._rows is None or not len(self.row_ids):
            return None
        wanted = np.fromiter(row_ids, dtype=np.uint64)
        wanted = wanted[among(wanted, self.row_ids)]
        return rows_at(self._rows, np.searchsorted(self.row_ids, wanted))

    async def _read(self, table: AsyncTable) -> bool:
        """Read new rows and drop removed ones; False if the table is too large."""
        query = table.query() if self._columns is None else table.query().select(self._columns)
        for _ in range(TRIES):
            there = await row_sets.row_ids(table.query())
            new = there[~among(there, self.row_ids)]
            if self._rows is None or len(new) > MANY:
                break
            added = await self._take_rows(table, new) if len(new) else None
            if added is None or len(added) == len(new):  # else a compaction moved one between the two reads
                rows = filtered(self._rows, among(self.row_ids, there))
                if added is not None:  # they are in new fragments, so they come last
                    rows = pa.concat_tables([rows, added.select(rows.column_names).combine_chunks()])
                return self._keep(rows.combine_chunks() if rows["_rowid"].num_chunks > _CHUNKS else rows)
        self._rows = None  # not both at once
        rows = (await read_table(query.with_row_id())).combine_chunks()
        if (np.diff(rows["_rowid"].to_numpy().astype(np.int64)) < 0).any():
            rows = rows.sort_by("_rowid").combine_chunks()
        return self._keep(rows)

    async def _take_rows(self, table: AsyncTable, row_ids: NDArray[np.uint64]) -> pa.Table:
        rows = table.take_row_ids(row_ids.tolist())
        rows = rows if self._columns is None else rows.select(self._columns)
        return (await read_table(rows.with_row_id())).sort_by("_rowid")

    def _keep(self, rows: pa.Table) -> bool:
        fits: bool = rows.nbytes <= _MOST_BYTES
        self._rows = rows if fits else None
        self.row_ids = rows["_rowid"].to_numpy() if fits else np.empty(0, np.uint64)
        return fits


class PassageCache:
    """Passages by row id: those of a table in memory, and the last ones read from the table."""

    def __init__(self, whole: TableCache) -> None:
        self._whole = whole
        self._rows: dict[int, PassageRow] = {}

    async def of(self, table: AsyncTable, row_ids: Iterable[int]) -> dict[int, PassageRow]:
        """Return the passages with these row ids, without those that the table no longer has."""
        wanted = dict.fromkeys(row_ids)
        rows = {each: row for each in wanted if (row := self._rows.get(each))}
        if len(rows) < len(wanted):
            rows.update(_passages(self._whole.met(each for each in wanted if each not in rows)))
        if unknown := [each for each in wanted if each not in rows]:
            if len(unknown) > MANY and await self._whole.current(table) is not None:
                rows.update(_passages(self._whole.met(unknown)))
            else:
                query = table.take_row_ids(unknown).select(list(PassageRow._fields)).with_row_id()
                rows.update(_passages(await read_table(query)))
        if len(self._rows) > _MOST_ROWS:
            self._rows = {}
        self._rows.update(rows)
        return rows


class RecordCache(Generic[R]):
    """Records of one kind by id, from a table in memory; the last ones used are kept as objects."""

    def __init__(self, kind: type[R], most: int) -> None:
        self.whole = TableCache(most)
        self._kind = kind
        self._records: dict[int, R] = {}  # by row id

    async def of(self, table: AsyncTable, ids: Iterable[str]) -> dict[str, R] | None:
        """Return the records with these ids; None if the table is not in memory."""
        ids = list(ids)
        rows = await self.whole.current(table, read=len(ids) > _FEW)
        if rows is None:
            return None
        row_ids, known = self.whole.row_ids, self.whole.places
        places = {each: known[each][0] for each in ids if each in known}
        if unknown := [at for at in places.values() if int(row_ids[at]) not in self._records]:
            if len(self._records) > _MOST_RECORDS:
                self._records = {}
                unknown = list(places.values())
            read = from_table(self._kind, rows_at(rows, np.array(unknown)))
            self._records.update(zip(row_ids[unknown].tolist(), read, strict=True))
        return {each: self._records[int(row_ids[at])] for each, at in places.items()}

    async def columns(self, table: AsyncTable, ids: Iterable[str], names: list[str]) -> pa.Table | None:
        """Return these columns of the rows with these ids; None if the table is not in memory."""
        rows = await self.whole.current(table)
        return None if rows is None else taken(rows.select(names), self.whole.places, ids)


def _passages(table: pa.Table | None) -> dict[int, PassageRow]:
    if table is None:
        return {}
    columns = (table[name].to_pylist() for name in PassageRow._fields)
    return dict(zip(table["_rowid"].to_pylist(), map(PassageRow, *columns), strict=True))
