"""A cache of the vectors of the passages."""

import asyncio
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from lancedb import AsyncTable
from numpy.typing import NDArray

from scrubjay.store import row_sets
from scrubjay.store.cache import MANY, TRIES
from scrubjay.store.conditions import EVER, Dates
from scrubjay.store.row_sets import among
from scrubjay.store.schema import VECTOR, read_batches

_MAX_CONDITIONS = 8  # conditions whose matching rows are cached
_AT_ONCE = 1_024  # vectors multiplied at once, so that they fit into a processor's cache
# Most vectors that are compared in the event loop, because starting a thread takes as long.
_MAX_IN_LOOP = 8_192


class Vectors(NamedTuple):
    """Columns of the passages whose vectors are in memory."""

    row_ids: NDArray[np.uint64]  # ascending
    codes: NDArray[np.int8]
    steps: NDArray[np.float32]  # the number that a code of 1 stands for; 0 if there is no vector
    dates: NDArray[np.int64]  # microseconds since 1970

    def at(self, places: NDArray[Any]) -> "Vectors":
        """Return these rows, given by their places or by a mask."""
        return Vectors(self.row_ids[places], self.codes[places], self.steps[places], self.dates[places])


_NO_VECTORS = Vectors(
    np.empty(0, np.uint64), np.empty((0, 0), np.int8), np.empty(0, np.float32), np.empty(0, np.int64)
)


class VectorCache:
    """The vectors that searches ask for, stored as one byte per number and compared one by one.

    A search takes 4 ms of processor time for 30,000 vectors of 384 numbers; LanceDB's index takes 12 to
    17 ms. A cosine is off by less than 0.002. Tables with more than `most` rows are not cached.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = asyncio.Lock()
        self._version, self._fits = -1, True
        self._rows = _NO_VECTORS
        self._matching: dict[str, NDArray[np.int64]] = {}  # places of the matching rows, by condition
        self._used: dict[str, None] = {}  # conditions used since the last warming

    async def nearest(
        self, table: AsyncTable, vector: NDArray[np.float32], where: str, limit: int, dates: Dates = EVER
    ) -> tuple[NDArray[np.uint64], NDArray[np.float64]] | None:
        """Return the row ids and cosines of the matching rows whose vectors are nearest to a unit vector.

        Return None if the table has too many rows.
        """
        async with self._lock:
            if (places := await self._matching_places(table, where, dates)) is None:
                return None
            rows = self._rows
        if len(places) <= _MAX_IN_LOOP:
            best, cosines = _nearest(rows, places, vector, limit)
        else:  # this takes milliseconds, in which the loop can serve other clients
            best, cosines = await asyncio.to_thread(_nearest, rows, places, vector, limit)
        return rows.row_ids[best], cosines

    def cached(self, row_ids: Iterable[int]) -> dict[int, NDArray[np.float32]]:
        """Return the cached vectors of these rows, each of length about 1."""
        wanted, rows = np.fromiter(row_ids, dtype=np.uint64), self._rows
        wanted = wanted[among(wanted, rows.row_ids)]
        places = np.searchsorted(rows.row_ids, wanted)
        vectors = rows.codes[places].astype(np.float32) * rows.steps[places][:, None]
        return dict(zip(wanted.tolist(), vectors, strict=True))

    async def matching(self, table: AsyncTable, where: str, dates: Dates = EVER) -> NDArray[np.uint64] | None:
        """Return the row ids of all matching rows, ascending; None if the table has too many rows."""
        async with self._lock:
            places = await self._matching_places(table, where, dates)
            return None if places is None else self._rows.row_ids[places]

    async def warm(self, table: AsyncTable, before: "VectorCache") -> None:
        """Read the rows of every condition that searches of `before` used since its last warming.

        `before` is this cache, or that of an older handle of the table.
        """
        used, before._used = before._used, {}
        async with self._lock:
            for where in used:
                await self._places(table, where)

    async def _matching_places(self, table: AsyncTable, where: str, dates: Dates) -> NDArray[np.int64] | None:
        """Return the places of matching rows in a period; LanceDB takes 20 ms to compare 100,000 dates."""
        if len(self._used) < _MAX_CONDITIONS:
            self._used[where] = None
        places = await self._places(table, where)
        if places is not None and dates.since is not None:
            places = places[self._rows.dates[places] >= dates.since]
        if places is not None and dates.until is not None:
            places = places[self._rows.dates[places] < dates.until]
        return places

    async def _places(self, table: AsyncTable, where: str) -> NDArray[np.int64] | None:
        """Return the places of matching rows, reading their vectors where they are not cached yet."""
        for _ in range(TRIES):
            # The version is read before the rows, so that rows committed meanwhile are read next time.
            if (version := await table.version()) != self._version:
                self._fits = await table.count_rows() <= self._most
                self._matching, self._version = {}, version
            if not self._fits:
                return None
            if (places := self._matching.get(where)) is not None:
                return places
            wanted = await row_sets.row_ids(table.query().where(where))
            missing = wanted[~among(wanted, self._rows.row_ids)]
            if len(missing) > MANY:
                existing = among(self._rows.row_ids, await row_sets.row_ids(table.query()))
                self._rows, self._matching = self._rows.at(existing), {}  # removing rows moved the others
                await self._add(table.query().where(where), missing)
            elif len(missing):
                await self._add(table.take_row_ids(missing.tolist()), missing)
            is_cached = among(wanted, self._rows.row_ids)
            if is_cached.all():  # otherwise a row moved between the two reads
                break
        if len(self._matching) >= _MAX_CONDITIONS:
            self._matching.pop(next(iter(self._matching)))
        self._matching[where] = places = np.searchsorted(self._rows.row_ids, wanted[is_cached])
        return places

    async def _add(self, rows: Any, new: NDArray[np.uint64]) -> None:
        """Read the vectors of these rows in pieces; all at once, they would take four times the memory."""
        pieces = [self._rows] if len(self._rows.row_ids) else []
        async for batch in read_batches(rows.select([VECTOR, "dated_at"]).with_row_id()):
            columns = await asyncio.to_thread(_encode, batch)
            pieces.append(columns.at(among(columns.row_ids, new)))
        if pieces:
            columns = Vectors(*map(np.concatenate, zip(*pieces, strict=True)))
            if (columns.row_ids[1:] < columns.row_ids[:-1]).any():
                columns = columns.at(np.argsort(columns.row_ids))
            self._rows, self._matching = columns, {}


def _encode(batch: pa.RecordBatch) -> Vectors:
    """Return a batch's row ids, its vectors as codes from -127 to 127 with their steps, and its dates."""
    column = batch.column(VECTOR)
    vectors = np.zeros((len(column), column.type.list_size), np.float32)
    vectors[column.is_valid().to_numpy(zero_copy_only=False)] = (
        column.flatten().to_numpy().reshape(-1, vectors.shape[1])
    )
    steps = np.abs(vectors).max(axis=1, initial=0.0) / 127
    codes = np.rint(vectors / np.where(steps == 0, 1, steps)[:, None]).astype(np.int8)
    dates = batch.column("dated_at").fill_null(0).to_numpy()
    return Vectors(batch.column("_rowid").to_numpy(), codes, steps, dates)


def _nearest(
    rows: Vectors, places: NDArray[np.int64], vector: NDArray[np.float32], limit: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the places of the nearest vectors and their cosines; equal cosines keep the order of places."""
    steps = rows.steps[places]
    cosines = _products(rows.codes, places, vector) * steps
    cosines[steps == 0] = -np.inf
    best = np.argpartition(-cosines, limit)[:limit] if len(cosines) > limit else np.arange(len(cosines))
    best = best[np.lexsort((places[best], -cosines[best]))]
    best = best[np.isfinite(cosines[best])]
    return places[best], cosines[best].astype(np.float64)


def _products(
    codes: NDArray[np.int8], places: NDArray[np.int64], vector: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Multiply the vectors at these places by a vector, in pieces that fit into the processor's cache."""
    values = np.empty(len(places), np.float32)
    are_adjacent = len(places) > 0 and places[-1] - places[0] + 1 == len(places)
    for start in range(0, len(places), _AT_ONCE):
        end = min(start + _AT_ONCE, len(places))
        piece = slice(places[start], places[end - 1] + 1) if are_adjacent else places[start:end]
        np.dot(codes[piece].astype(np.float32), vector, out=values[start:end])
    return values
