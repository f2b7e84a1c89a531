"""What is remembered of the tables of one connection, and goes with it. The tables are the truth."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from lancedb import AsyncTable
from numpy.typing import NDArray

from scrubjay.models.records import PassageSrc

V = TypeVar("V")
# Passages that are read one by one; from there on, all of 10,000 are read in the same time (7 ms).
_MANY = 64
_LONGEST = 120_000  # passages that are read at once, in 70 ms, and take 40 MB
_MOST = 10_000  # passages at hand as objects


class PassageRow(NamedTuple):
    """What a search uses of a passage, as it is stored."""

    id: str
    src: PassageSrc
    record_id: str
    part: int
    role: str | None
    text: str
    scope: str
    session_id: str | None
    dated_at: int  # microseconds since 1970
    importance_score: float
    expires_at: int | None
    tied: str | None
    space_id: str | None  # None: it waits for its vector


_COLUMNS = list(PassageRow._fields)


class PassageCache:
    """Passages by row id: the whole table as it was at one time, if it is not too long, and those read since.

    LanceDB names a row by its fragment and its place there. It writes a changed row into a new fragment and
    never gives a fragment's number again, so what a row id once meant it means for ever. Which rows there are
    now is what every search looks up anew.
    """

    def __init__(self) -> None:
        self._table: pa.Table = None
        self._row_ids: NDArray[np.uint64] = np.empty(0, np.uint64)  # of its rows, in order
        self._rows: dict[int, PassageRow] = {}

    async def of(self, table: AsyncTable, row_ids: Iterable[int]) -> dict[int, PassageRow]:
        """Return the passages with these row ids, without those that are gone from the table."""
        wanted = dict.fromkeys(row_ids)
        rows = {each: row for each in wanted if (row := self._rows.get(each))}
        unknown = [each for each in wanted if each not in rows]
        if unknown:
            rows.update(self._from_table(unknown))
            unknown = [each for each in unknown if each not in rows]
        if len(unknown) > _MANY and await table.count_rows() <= _LONGEST:
            await self._read_all(table)
            rows.update(self._from_table(unknown))
        elif unknown:
            rows.update(_rows(await table.take_row_ids(unknown).select(_COLUMNS).with_row_id().to_arrow()))
        if len(self._rows) > _MOST:
            self._rows = {}
        self._rows.update(rows)
        return rows

    async def _read_all(self, table: AsyncTable) -> None:
        rows = await table.query().select(_COLUMNS).with_row_id().to_arrow()
        self._table = rows.sort_by("_rowid").combine_chunks()
        self._row_ids = self._table["_rowid"].to_numpy()

    def _from_table(self, row_ids: list[int]) -> dict[int, PassageRow]:
        if not len(self._row_ids):
            return {}
        wanted = np.array(row_ids, dtype=np.uint64)
        at = np.searchsorted(self._row_ids, wanted).clip(max=len(self._row_ids) - 1)
        return _rows(self._table.take(at[self._row_ids[at] == wanted]))


def _rows(table: pa.Table) -> dict[int, PassageRow]:
    columns = (table[name].to_pylist() for name in _COLUMNS)
    return dict(zip(table["_rowid"].to_pylist(), map(PassageRow, *columns), strict=True))


class VersionCache(Generic[V]):
    """Values by id, at most `most`, each right while its table is at the version that it was read at."""

    def __init__(self, most: int) -> None:
        self._most, self._version = most, -1
        self._values: dict[str, V | None] = {}  # None: the table has none

    async def of(
        self, table: AsyncTable, ids: Iterable[str], read: Callable[[list[str]], Awaitable[Mapping[str, V]]]
    ) -> dict[str, V]:
        """Return the values of these ids; `read` reads those that are not remembered."""
        wanted = list(ids)
        if not wanted:
            return {}
        # Before the reading, so that what another commit changes meanwhile is read again next time.
        if (version := await table.version()) != self._version:
            self._values, self._version = {}, version
        values = self._values
        if missing := [each for each in wanted if each not in values]:
            found = await read(missing)
            if values is self._values and len(values) + len(missing) > self._most:
                values = self._values = {each: values[each] for each in wanted if each in values}
            values.update((each, found.get(each)) for each in missing)
        return {each: value for each in wanted if (value := values[each]) is not None}
