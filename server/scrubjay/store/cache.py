"""What is remembered of the tables of one connection, and goes with it. The tables are the truth.

LanceDB names a row by its fragment and its place there. It writes a changed row into a new fragment and never
gives a fragment's number again, so what a row id once meant it means for ever. Which rows there are now is
what every search looks up anew.
"""

import asyncio
from collections.abc import Iterable
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lancedb import AsyncTable
from numpy.typing import NDArray

from scrubjay.models.records import PassageSrc, Row
from scrubjay.store.schema import from_table

# New rows that are read one by one; from there on, all of 10,000 are read in the same time (7 ms).
_MANY = 64
_MOST_BYTES = 64 << 20
_FIRST = 3  # uses of a table that do not read it whole: the first search after a start must not wait for it
_MOST_ROWS = 10_000  # passages at hand as objects
_FEW = 3  # records that are read one by one after a write: the planner of a write asks for its own alone
_MOST_RECORDS = 4_000  # records of a kind at hand as objects

R = TypeVar("R", bound=Row)


class PassageRow(NamedTuple):
    """What a search uses of a passage, as it is stored."""

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
    space_id: str | None  # None: it waits for its vector


class TableCache:
    """A whole table in memory, or some of its columns, unless it has more than `most` rows or 64 MB."""

    def __init__(self, most: int, columns: list[str] | None = None) -> None:
        self._most, self._columns = most, columns
        self._lock = asyncio.Lock()
        self._asked, self._version = 0, -1
        self._fits = True
        self._rows: pa.Table = None
        self._row_ids: NDArray[np.uint64] = np.empty(0, np.uint64)  # of these rows, in order

    async def current(self, table: AsyncTable, *, read: bool = True) -> pa.Table | None:
        """Return the table as it is now; None if it is too long, or was not asked for often enough.

        Unless it is to be `read`, also None if the table has changed since it was read.
        """
        self._asked += 1
        if self._asked <= _FIRST:
            return None
        async with self._lock:
            # Before the reading, so that what is committed meanwhile is read again next time.
            if self._fits and (version := await table.version()) != self._version:
                if not read:
                    return None
                self._fits = await table.count_rows() <= self._most and await self._read(table)
                self._version = version
            return self._rows if self._fits else None

    @property
    def row_ids(self) -> NDArray[np.uint64]:
        """The row ids of what `current` returned last, in its order."""
        return self._row_ids

    def met(self, row_ids: Iterable[int]) -> pa.Table | None:
        """Return those rows with these ids that were there when the table was read."""
        if self._rows is None or not len(self._row_ids):
            return None
        wanted = np.fromiter(row_ids, dtype=np.uint64)
        at = np.searchsorted(self._row_ids, wanted).clip(max=len(self._row_ids) - 1)
        return self._rows.take(at[self._row_ids[at] == wanted])

    async def _read(self, table: AsyncTable) -> bool:
        """Read what is new, and drop what is gone; False if it is too much."""
        rows, query = (
            self._rows,
            table.query() if self._columns is None else table.query().select(self._columns),
        )
        there = (await table.query().select([]).with_row_id().to_arrow())["_rowid"].to_numpy()
        new = np.setdiff1d(there, self._row_ids, assume_unique=True)
        if rows is None or len(new) > _MANY:
            rows = (await query.with_row_id().to_arrow()).combine_chunks()
            if (np.diff(rows["_rowid"].to_numpy().astype(np.int64)) < 0).any():
                rows = rows.sort_by("_rowid").combine_chunks()
        else:
            if not (kept := np.isin(self._row_ids, there)).all():
                rows = rows.filter(kept)
            if len(new):  # in new fragments, so that they come after all others
                taken = table.take_row_ids(new.tolist())
                taken = taken if self._columns is None else taken.select(self._columns)
                added = (await taken.with_row_id().to_arrow()).sort_by("_rowid")
                rows = pa.concat_tables([rows, added.select(rows.column_names)]).combine_chunks()
        fits: bool = rows.nbytes <= _MOST_BYTES
        self._rows = rows if fits else None
        self._row_ids = rows["_rowid"].to_numpy() if fits else np.empty(0, np.uint64)
        return fits


class PassageCache:
    """Passages by row id: those of a table in memory, and the last that were read beside it."""

    def __init__(self, whole: TableCache) -> None:
        self._whole = whole
        self._rows: dict[int, PassageRow] = {}

    async def of(self, table: AsyncTable, row_ids: Iterable[int]) -> dict[int, PassageRow]:
        """Return the passages with these row ids, without those that are gone from the table."""
        wanted = dict.fromkeys(row_ids)
        rows = {each: row for each in wanted if (row := self._rows.get(each))}
        if len(rows) < len(wanted):
            rows.update(_passages(self._whole.met(each for each in wanted if each not in rows)))
        if unknown := [each for each in wanted if each not in rows]:
            if len(unknown) > _MANY and await self._whole.current(table) is not None:
                rows.update(_passages(self._whole.met(unknown)))
            else:
                query = table.take_row_ids(unknown).select(list(PassageRow._fields)).with_row_id()
                rows.update(_passages(await query.to_arrow()))
        if len(self._rows) > _MOST_ROWS:
            self._rows = {}
        self._rows.update(rows)
        return rows


class RecordCache(Generic[R]):
    """Records of one kind by id: those of a table in memory, the last that were read of it as objects."""

    def __init__(self, kind: type[R], most: int) -> None:
        self.whole = TableCache(most)
        self._kind = kind
        self._rows: pa.Table = None
        self._places: dict[str, int] = {}  # in the table, by id
        self._records: dict[int, R] = {}  # by row id

    async def of(self, table: AsyncTable, ids: Iterable[str]) -> dict[str, R] | None:
        """Return the records with these ids; None if the table is not in memory."""
        ids = list(ids)
        rows = await self._current(table, read=len(ids) > _FEW)
        if rows is None:
            return None
        row_ids = self.whole.row_ids
        places = {each: self._places[each] for each in ids if each in self._places}
        if unknown := [at for at in places.values() if int(row_ids[at]) not in self._records]:
            if len(self._records) > _MOST_RECORDS:
                self._records = {}
                unknown = list(places.values())
            read = from_table(self._kind, rows.take(unknown))
            self._records.update(zip(row_ids[unknown].tolist(), read, strict=True))
        return {each: self._records[int(row_ids[at])] for each, at in places.items()}

    async def columns(self, table: AsyncTable, ids: Iterable[str], names: list[str]) -> pa.Table | None:
        """Return these columns of the rows with these ids; None if the table is not in memory."""
        rows = await self._current(table)
        if rows is None:
            return None
        return rows.select(names).take([self._places[each] for each in ids if each in self._places])

    async def _current(self, table: AsyncTable, *, read: bool = True) -> pa.Table | None:
        rows = await self.whole.current(table, read=read)
        if rows is not None and rows is not self._rows:
            self._rows = rows
            self._places = {record_id: at for at, record_id in enumerate(rows["id"].to_pylist())}
        return rows


def with_value(table: pa.Table, column: str, values: Iterable[str]) -> pa.Table:
    """Return the rows that have one of these values in a column."""
    return table.filter(pc.is_in(table[column], pa.array(values, pa.string())))


def _passages(table: pa.Table | None) -> dict[int, PassageRow]:
    if table is None:
        return {}
    columns = (table[name].to_pylist() for name in PassageRow._fields)
    return dict(zip(table["_rowid"].to_pylist(), map(PassageRow, *columns), strict=True))
