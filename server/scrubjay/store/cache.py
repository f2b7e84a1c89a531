"""Caches over the tables of one connection, dropped with it. The tables are the truth.

LanceDB's row id is a fragment's number and a position in it. A changed row goes into a new fragment, and a
fragment's number is never reused, so a row id always means the same row content. Every search looks up again
which rows currently exist.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from lancedb import AsyncTable
from lancedb.query import AsyncQuery
from numpy.typing import NDArray

from scrubjay.models.records import PassageSrc, Row
from scrubjay.store.conditions import EVER, Dates
from scrubjay.store.schema import VECTOR, from_table, read_batches, read_table

# New rows up to this number are read one by one; beyond it, reading all 10,000 takes as long (7 ms).
_MANY = 64
_MOST_BYTES = 64 << 20
FIRST = 3  # uses of a table before it is read whole; a search uses most tables once
_MOST_ROWS = 10_000  # passages cached as objects
_FEW = 3  # records read one by one after a write, because planning a write needs only its own
_TRIES = 3  # to see a consistent set of matching rows
_CHUNKS = 8  # of a table in memory, before they are combined; that copies all of it: 10 ms for 30 MB
_CONDITIONS = 8  # whose matching rows are cached
# Row ids in one batch. An engine reads rows in batches of 512, because they are long; with that, 30,000 ids
# took 7 to 15 ms, five times in the first search after a write. Now they take 1 ms.
_ROW_IDS = 65_536
_AT_ONCE = 1_024  # vectors multiplied at once, so that they fit into a processor's cache
_IN_LOOP = 8_192  # vectors compared without a thread: that takes as long as the change of threads
_MOST_RECORDS = 4_000  # records of a kind cached as objects
_MOST_KEYS = 100_000  # rows; a key takes some 70 bytes

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
            same = _beginning(self._placed, self.row_ids)
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
        wanted = wanted[_among(wanted, self.row_ids)]
        return _rows_at(self._rows, np.searchsorted(self.row_ids, wanted))

    async def _read(self, table: AsyncTable) -> bool:
        """Read new rows and drop removed ones; False if the table is too large."""
        query = table.query() if self._columns is None else table.query().select(self._columns)
        for _ in range(_TRIES):
            there = await _row_ids(table.query())
            new = there[~_among(there, self.row_ids)]
            if self._rows is None or len(new) > _MANY:
                break
            added = await self._take_rows(table, new) if len(new) else None
            if added is None or len(added) == len(new):  # else a compaction moved one between the two reads
                rows = _filtered(self._rows, _among(self.row_ids, there))
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
            if len(unknown) > _MANY and await self._whole.current(table) is not None:
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
            read = from_table(self._kind, _rows_at(rows, np.array(unknown)))
            self._records.update(zip(row_ids[unknown].tolist(), read, strict=True))
        return {each: self._records[int(row_ids[at])] for each, at in places.items()}

    async def columns(self, table: AsyncTable, ids: Iterable[str], names: list[str]) -> pa.Table | None:
        """Return these columns of the rows with these ids; None if the table is not in memory."""
        rows = await self.whole.current(table)
        return None if rows is None else taken(rows.select(names), self.whole.places, ids)


class Vectors(NamedTuple):
    """Columns of the passages whose vectors are in memory."""

    row_ids: NDArray[np.uint64]  # ascending
    codes: NDArray[np.int8]
    steps: NDArray[np.float32]  # value of a code's unit; 0: no vector
    dates: NDArray[np.int64]  # microseconds since 1970

    def at(self, places: NDArray[Any]) -> "Vectors":
        """Return these rows, given by their places or by a mask."""
        return Vectors(self.row_ids[places], self.codes[places], self.steps[places], self.dates[places])


_NO_VECTORS = Vectors(
    np.empty(0, np.uint64), np.empty((0, 0), np.int8), np.empty(0, np.float32), np.empty(0, np.int64)
)


class VectorCache:
    """The vectors of a table that searches ask for, one byte per number, compared one by one.

    That takes 4 ms of processor time for 30,000 vectors of 384 numbers; LanceDB's index takes 12 to 17. A
    cosine is off by less than .002. Tables with more than `most` rows are not cached.
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
        """Return the row ids and cosines of the vectors nearest to a unit vector, among matching rows.

        None if the table has too many rows.
        """
        async with self._lock:
            if (places := await self._matching_places(table, where, dates)) is None:
                return None
            rows = self._rows
        if len(places) <= _IN_LOOP:
            best, cosines = _nearest(rows, places, vector, limit)
        else:  # it takes milliseconds in which the loop can serve other clients
            best, cosines = await asyncio.to_thread(_nearest, rows, places, vector, limit)
        return rows.row_ids[best], cosines

    def known(self, row_ids: Iterable[int]) -> dict[int, NDArray[np.float32]]:
        """Return the cached vectors of these rows, each of length about 1."""
        wanted, rows = np.fromiter(row_ids, dtype=np.uint64), self._rows
        wanted = wanted[_among(wanted, rows.row_ids)]
        places = np.searchsorted(rows.row_ids, wanted)
        vectors = rows.codes[places].astype(np.float32) * rows.steps[places][:, None]
        return dict(zip(wanted.tolist(), vectors, strict=True))

    async def matching(self, table: AsyncTable, where: str, dates: Dates = EVER) -> NDArray[np.uint64] | None:
        """Return the row ids of all matching rows, ascending; None if the table has too many rows."""
        async with self._lock:
            places = await self._matching_places(table, where, dates)
            return None if places is None else self._rows.row_ids[places]

    async def warm(self, table: AsyncTable, before: "VectorCache") -> None:
        """Read again what searches used of this cache, or of an older handle's `before`, since last time."""
        used, before._used = before._used, {}
        async with self._lock:
            for where in used:
                await self._places(table, where)

    async def _matching_places(self, table: AsyncTable, where: str, dates: Dates) -> NDArray[np.int64] | None:
        """Return the places of matching rows in a period; LanceDB would take 20 ms for 100,000 rows."""
        if len(self._used) < _CONDITIONS:
            self._used[where] = None
        places = await self._places(table, where)
        if places is not None and dates.since is not None:
            places = places[self._rows.dates[places] >= dates.since]
        if places is not None and dates.until is not None:
            places = places[self._rows.dates[places] < dates.until]
        return places

    async def _places(self, table: AsyncTable, where: str) -> NDArray[np.int64] | None:
        """Return the places of matching rows, reading their vectors where they are not cached yet."""
        for _ in range(_TRIES):
            # Before reading, so that anything committed meanwhile is read next time.
            if (version := await table.version()) != self._version:
                self._fits = await table.count_rows() <= self._most
                self._matching, self._version = {}, version
            if not self._fits:
                return None
            if (known := self._matching.get(where)) is not None:
                return known
            wanted = await _row_ids(table.query().where(where))
            new = wanted[~_among(wanted, self._rows.row_ids)]
            if len(new) > _MANY:
                kept = _among(self._rows.row_ids, await _row_ids(table.query()))  # others were removed
                self._rows, self._matching = self._rows.at(kept), {}  # places have moved
                await self._add(table.query().where(where), new)
            elif len(new):
                await self._add(table.take_row_ids(new.tolist()), new)
            there = _among(wanted, self._rows.row_ids)
            if there.all():  # else a row moved between the two reads
                break
        if len(self._matching) >= _CONDITIONS:
            self._matching.pop(next(iter(self._matching)))
        self._matching[where] = places = np.searchsorted(self._rows.row_ids, wanted[there])
        return places

    async def _add(self, rows: Any, new: NDArray[np.uint64]) -> None:
        """Read these rows' vectors in pieces, because all at once they take four times the memory."""
        pieces = [self._rows] if len(self._rows.row_ids) else []
        async for batch in read_batches(rows.select([VECTOR, "dated_at"]).with_row_id()):
            columns = await asyncio.to_thread(_coded, batch)
            added = _among(columns.row_ids, new)
            pieces.append(columns.at(added))
        if pieces:
            columns = Vectors(*map(np.concatenate, zip(*pieces, strict=True)))
            if (columns.row_ids[1:] < columns.row_ids[:-1]).any():
                columns = columns.at(np.argsort(columns.row_ids))
            self._rows, self._matching = columns, {}


class TieCache:
    """An index of the column `tied` of a table in memory: which rows have which of its words (`ties`).

    A look-up takes less than a millisecond; LanceDB's index of that column takes 5 to 8 ms on each core.
    """

    def __init__(self, whole: TableCache) -> None:
        self._whole = whole
        self._row_ids: NDArray[np.uint64] = np.empty(0, np.uint64)  # whose ties are indexed
        self._words: NDArray[np.uint64] = np.empty(0, np.uint64)  # ascending, one for each tie of a row
        self._places: NDArray[np.uint32] = np.empty(0, np.uint32)  # of the rows that have these words
        self._counts: NDArray[np.uint16] = np.empty(0, np.uint16)  # ties of each row
        self._tied, self._usual = 0, 1.0  # rows with ties, and how many each of them has on average

    async def best(
        self, table: AsyncTable, words: Iterable[str], matching: NDArray[np.uint64], limit: int
    ) -> tuple[NDArray[np.uint64], NDArray[np.float64]] | None:
        """Return rows among the `matching` that have one of the words, with their scores, best first.

        Scores are BM25 (k1 1.2, b 0.75), as in LanceDB's index: rows that share more and rarer words, and
        have few others, come first. None if the table is not in memory.
        """
        if (rows := await self._whole.current(table)) is None:
            return None
        if self._row_ids is not self._whole.row_ids:
            self._take(rows["tied"], self._whole.row_ids)
        if not len(self._words):
            return np.empty(0, np.uint64), np.empty(0)
        found, values = [], []
        for word in dict.fromkeys(_tie_numbers(" ".join(words)).tolist()):
            start, end = (int(np.searchsorted(self._words, word, side)) for side in ("left", "right"))
            rarity = np.log1p((self._tied - (end - start) + 0.5) / (end - start + 0.5))
            places = self._places[start:end]
            places = places[_among(self._row_ids[places], matching)]
            found.append(places)
            values.append(rarity * 2.2 / (1 + 1.2 * (0.25 + 0.75 * self._counts[places] / self._usual)))
        places, own = np.unique(np.concatenate(found), return_inverse=True)
        scores = np.bincount(own, np.concatenate(values), len(places)).astype(np.float64)
        best = np.lexsort((places, -scores))[:limit]
        return self._row_ids[places[best]], scores[best]

    def _take(self, tied: pa.ChunkedArray, row_ids: NDArray[np.uint64]) -> None:
        known = _beginning(self._row_ids, row_ids)
        if known < len(self._row_ids):
            kept = self._places < known
            self._words, self._places, self._counts = (
                self._words[kept],
                self._places[kept],
                self._counts[:known],
            )
        added = [words or "" for words in tied.slice(known).to_pylist()]
        counts = np.fromiter((words.count(" ") + bool(words) for words in added), np.uint16, len(added))
        words = _tie_numbers(" ".join(added))
        order = np.argsort(words, kind="stable")
        places = np.repeat(np.arange(known, len(row_ids), dtype=np.uint32), counts)[order]
        at = np.searchsorted(self._words, words[order], "right")  # after the same words of earlier rows
        self._words, self._places = (
            np.insert(self._words, at, words[order]),
            np.insert(self._places, at, places),
        )
        self._counts, self._row_ids = np.concatenate([self._counts, counts]), row_ids
        self._tied = int(np.count_nonzero(self._counts))
        self._usual = len(self._words) / max(self._tied, 1)


class KnownKeys:
    """All keys that rows of a table may have, so that a new key needs no look-up on disk (3 ms).

    It holds Python's hashes of them. The key of a removed row stays, so that this can outlive a connection;
    looking such a row up finds nothing. Tables with more than `most` rows are not cached.
    """

    def __init__(self, column: str, most: int = _MOST_KEYS) -> None:
        self._column, self._most = column, most
        self._lock = asyncio.Lock()
        self._uses = 0
        self._hashes: set[int] | None = None  # None: not read yet
        self._complete, self._fits = False, True

    def add(self, keys: Iterable[str]) -> None:
        """Add the keys of rows just written."""
        if self._hashes is not None:
            self._hashes.update(map(hash, keys))
            if len(self._hashes) > 2 * self._most:
                self._hashes, self._complete, self._fits = None, False, False

    async def among(self, table: AsyncTable, keys: Iterable[str]) -> set[str]:
        """Return the keys, of those given, that a row may have; all of them until the table is read."""
        self._uses += 1
        if self._uses > FIRST and self._fits:
            async with self._lock:
                if not self._complete:
                    await self._read(table)
        hashes = self._hashes if self._complete else None
        return {each for each in keys if hashes is None or hash(each) in hashes}

    async def _read(self, table: AsyncTable) -> None:
        self._fits = await table.count_rows() <= self._most
        if self._fits:
            self._hashes = set()  # before reading, so that `add` works meanwhile
            rows = await read_table(table.query().select([self._column]))
            self.add(rows[self._column].to_pylist())
            self._complete = self._hashes is not None


async def _row_ids(query: AsyncQuery) -> NDArray[np.uint64]:
    """Return the row ids of all rows of a query, in ascending order."""
    batches = read_batches(query.select([]).with_row_id(), _ROW_IDS)
    found = [batch.column("_rowid").to_numpy() async for batch in batches]
    return np.sort(np.concatenate(found)) if found else np.empty(0, np.uint64)


def _among(row_ids: NDArray[np.uint64], ascending: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return which row ids are in an ascending array; numpy's `isin` takes 50 ms for 30,000."""
    if not len(ascending):
        return np.zeros(len(row_ids), dtype=bool)
    at = np.searchsorted(ascending, row_ids).clip(max=len(ascending) - 1)
    found: NDArray[np.bool_] = ascending[at] == row_ids
    return found


def _tie_numbers(words: str) -> NDArray[np.uint64]:
    """Return ties, words of 16 hexadecimal digits each, as numbers."""
    return np.frombuffer(bytes.fromhex(words), ">u8").astype(np.uint64)


def _coded(batch: pa.RecordBatch) -> Vectors:
    """Return a batch's row ids, vectors as codes from -127 to 127, the unit of each code, and dates."""
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
    """Return the places of the nearest vectors and their cosines; of equals, the earliest first."""
    units = rows.steps[places]
    cosines = _products(rows.codes, places, vector) * units
    cosines[units == 0] = -np.inf
    best = np.argpartition(-cosines, limit)[:limit] if len(cosines) > limit else np.arange(len(cosines))
    best = best[np.lexsort((places[best], -cosines[best]))]
    best = best[np.isfinite(cosines[best])]
    return places[best], cosines[best].astype(np.float64)


def _products(
    codes: NDArray[np.int8], places: NDArray[np.int64], vector: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Multiply the vectors at these places with one, some at a time, to stay in the processor's cache."""
    values = np.empty(len(places), np.float32)
    in_row = len(places) > 0 and places[-1] - places[0] + 1 == len(places)
    for start in range(0, len(places), _AT_ONCE):
        end = min(start + _AT_ONCE, len(places))
        at = slice(places[start], places[end - 1] + 1) if in_row else places[start:end]
        np.dot(codes[at].astype(np.float32), vector, out=values[start:end])
    return values


def _beginning(before: NDArray[np.uint64], now: NDArray[np.uint64]) -> int:
    """Count the leading row ids that two arrays share."""
    length = min(len(before), len(now))
    same = before[:length] == now[:length]
    return length if same.all() else int(same.argmin())


def _filtered(rows: pa.Table, kept: NDArray[np.bool_]) -> pa.Table:
    """Drop rows of a table without copying chunks that lose none."""
    if kept.all():
        return rows
    parts, start = [rows.slice(0, 0)], 0
    for chunk in rows["_rowid"].chunks:
        part, own = rows.slice(start, len(chunk)), kept[start : start + len(chunk)]
        parts += [part] if own.all() else [part.filter(own)] if own.any() else []
        start += len(chunk)
    return pa.concat_tables(parts)


def _rows_at(rows: pa.Table, places: NDArray[np.int64]) -> pa.Table:
    """Take the rows at these places, in this order; pyarrow itself would combine all chunks first."""
    lengths = np.array([len(chunk) for chunk in rows.column(0).chunks])
    if len(lengths) < 2:
        return rows.take(places)
    ends = lengths.cumsum()
    chunk = np.searchsorted(ends, places, "right")
    order = np.argsort(chunk, kind="stable")
    parts = [rows.slice(0, 0)]
    for each in np.unique(chunk):
        part = rows.slice(ends[each] - lengths[each], lengths[each])
        parts.append(part.take(places[chunk == each] - (ends[each] - lengths[each])))
    found = pa.concat_tables(parts).combine_chunks()
    return found if (np.diff(order) > 0).all() else found.take(np.argsort(order))


def taken(table: pa.Table, places: Mapping[str, Sequence[int]], keys: Iterable[str]) -> pa.Table:
    """Return the rows of a table at the places of these keys."""
    return _rows_at(table, np.fromiter((at for each in keys for at in places.get(each, ())), dtype=np.int64))


def _passages(table: pa.Table | None) -> dict[int, PassageRow]:
    if table is None:
        return {}
    columns = (table[name].to_pylist() for name in PassageRow._fields)
    return dict(zip(table["_rowid"].to_pylist(), map(PassageRow, *columns), strict=True))
