"""The passages of a store: searches by words, vectors and ties, and reads and writes of their rows."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from lancedb import AsyncTable
from lancedb.query import MatchQuery
from numpy.typing import NDArray

from scrubjay.models.records import Passage
from scrubjay.store import conditions
from scrubjay.store.cache import PassageRow
from scrubjay.store.changes import Embedding
from scrubjay.store.conditions import EVER, Dates, Where
from scrubjay.store.connection import Connection
from scrubjay.store.queries import descending, matching_rows, scan
from scrubjay.store.row_sets import taken
from scrubjay.store.schema import VECTOR, from_table, read_batches, read_table
from scrubjay.store.upserts import put_vectors

# Partitions of the vector index that a search reads, of 8,192 passages each: all of them up to half a million
# passages. 20 partitions would miss a third of the nearest 200.
PROBES = 64

# Passages outside the word index that a search reads: 30 to 50 us each, twice. Upkeep indexes them at a tenth
# of this; a search over 100,000 newly added ones would take many seconds.
MOST_READ = 5_000

_TRIES = 3  # attempts to read a consistent state from memory
_MARKS = 127 << 56  # the bits of a row id that hold its generation; LanceDB's ids are smaller


class RowScores(NamedTuple):
    """The passages that one search found, best first: their row ids, and their scores or cosines."""

    row_ids: NDArray[np.uint64]
    values: NDArray[np.float64]


class Passages:
    """The committed passages of the searched generation, and of the one being built."""

    def __init__(self, connection: Connection) -> None:
        self._of = connection
        self._counted: object = None  # the table and its version for which `_unindexed` was counted
        self._unindexed = 0  # passages missing in the word index

    async def by_words(self, text: str, where: Where, limit: int) -> RowScores:
        """Find passages by BM25 (k1 1.2, b 0.75)."""
        return await self._search_words(text, "search_text", where, limit)

    async def by_vector(
        self, vector: NDArray[np.float32], where: Where, limit: int, dates: Dates = EVER
    ) -> RowScores:
        """Find passages by their cosine to a unit vector; passages without a vector are not found.

        The search runs in memory, unless there are too many passages or the store is in a bucket. Then
        LanceDB searches by squared Euclidean distance, which is 2 (1 - cos) for unit vectors, both in its
        index (one byte per number, so a cosine may be off by .005) and among rows not indexed yet. An index
        by cosine returns that scale for indexed rows and another one for the rest, unless all are compared
        again with full vectors (4 of 15 ms).
        """
        mark, passages = self._mark, self._of.tables.passages
        if self._of.shared is None:
            near = await self._of.tables.cached_vectors.nearest(passages, vector, where, limit, dates)
            if near is not None:
                return RowScores(near[0] | mark, near[1])
        where = conditions.both(where, conditions.dated(dates))
        query = scan(passages).nearest_to(vector).distance_type("l2").nprobes(PROBES).where(where)
        found = await self._row_scores(query, "_distance", limit)
        return RowScores(found.row_ids, 1.0 - found.values / 2.0)

    async def by_ties(self, words: Iterable[str], where: Where, limit: int, dates: Dates = EVER) -> RowScores:
        """Find passages that have one of these ties, those that share the most and the rarest first.

        The search runs in memory when `by_vector` does.
        """
        passages, words = self._of.tables.passages, list(words)
        for _ in range(_TRIES if self._of.shared is None else 0):
            version = await passages.version()
            matching = await self._of.tables.cached_vectors.matching(passages, where, dates)
            if matching is None:
                break
            tied = await self._of.tables.cached_ties.best(passages, words, matching, limit)
            if tied is None:
                break
            if await passages.version() == version:  # else a moved row may be missing in one of the two
                return RowScores(tied[0] | self._mark, tied[1])
        where = conditions.both(where, conditions.dated(dates))
        return await self._search_words(" ".join(words), "tied", where, limit)

    async def _search_words(self, text: str, column: str, where: Where, limit: int) -> RowScores:
        match: Any = MatchQuery  # its types make every argument required
        query = scan(self._of.tables.passages).nearest_to_text(match(text, column)).where(where)
        if await self.unsearched():
            query = query.fast_search()
        return await self._row_scores(query, "_score", limit)

    async def unsearched(self) -> int:
        """Count the passages whose words are not searched, because the word index lacks too many of them.

        If the index lacks only a few, LanceDB reads those, and this returns 0.
        """
        unindexed = await self.unindexed()
        return unindexed if unindexed > MOST_READ else 0

    async def unindexed(self) -> int:
        """Count the passages that the word index lacks; counted once per version of the table."""
        table = self._of.tables.passages
        version = await table.version()
        if self._counted != (table, version):
            index = await table.index_stats("search_text_idx")
            self._counted, self._unindexed = (table, version), index.num_unindexed_rows if index else 0
        return self._unindexed

    async def _row_scores(self, query: Any, value: str, limit: int) -> RowScores:
        """Run a search for row ids only: reading one column of its hits costs as much as the search."""
        mark = self._mark
        rows = await read_table(query.select([value]).with_row_id().limit(limit))
        return RowScores(rows["_rowid"].to_numpy() | mark, rows[value].to_numpy().astype(np.float64))

    @property
    def _mark(self) -> np.uint64:
        """The bits that tell the row ids of one generation from equal ids of the next."""
        return np.uint64(self._of.note.generation % 128 << 56)

    async def read(self, row_ids: Iterable[int]) -> dict[int, PassageRow]:
        """Return passages by row id, without those removed since a search found them."""
        mark = int(self._mark)
        wanted = [each ^ mark for each in row_ids if each & _MARKS == mark]
        rows = await self._of.tables.cached_passages.of(self._of.tables.passages, wanted)
        return {each | mark: row for each, row in rows.items()}

    async def matching(self, where: Where, limit: int) -> list[PassageRow]:
        """Return passages that match, in no particular order.

        A passage that gets its vector meanwhile becomes another row, so a miss repeats the query.
        """
        mark, tries = self._mark, 3
        while True:
            tries -= 1
            query = scan(self._of.tables.passages).where(where).select([]).with_row_id().limit(limit)
            row_ids: list[int] = ((await read_table(query))["_rowid"].to_numpy() | mark).tolist()
            rows = await self.read(row_ids)
            if not tries or len(rows) == len(row_ids):
                return list(rows.values())

    async def token_codes(self, record_ids: Iterable[str]) -> list[tuple[str, bytes]]:
        """Return (record id, token codes) of these records' passages that have codes, sorted.

        Another condition would make Lance read its column for all of these rows first: 5.5 ms instead of 3.7
        for 80 records.
        """
        ids = list(record_ids)
        codes = self._of.tables.codes_and_ties
        if (rows := await codes.current(self._of.tables.passages)) is not None:
            rows = taken(rows, codes.places, ids)
        else:
            columns = ["record_id", "token_vectors"]
            rows = await matching_rows(
                self._of.tables.passages, conditions.one_of("record_id", ids), columns=columns
            )
        pairs = zip(rows["record_id"].to_pylist(), rows["token_vectors"].to_pylist(), strict=True)
        return sorted((record_id, code) for record_id, code in pairs if code is not None)

    async def select(
        self, where: Where, *, limit: int | None = None, columns: Sequence[str] | None = None
    ) -> list[Passage]:
        """Return passages that match, in no particular order."""
        return from_table(Passage, await matching_rows(self._of.tables.passages, where, limit, columns))

    async def vectors(
        self, where: Where, key: str = "id"
    ) -> AsyncIterator[tuple[list[str], NDArray[np.float32]]]:
        """Yield the ids and vectors of the passages that match, in batches and in no particular order.

        `where` must require a vector; `key` is the column with the ids.
        """
        query = scan(self._of.tables.passages).where(where).select([key, VECTOR])
        async for rows in read_batches(query):
            ids: list[str] = rows[key].to_pylist()
            yield ids, rows[VECTOR].flatten().to_numpy().reshape(len(ids), self._of.note.dim)

    async def vectors_of(self, rows: Mapping[int, str]) -> dict[str, NDArray[np.float32]]:
        """Return the vectors of passages that have one, by id; `rows` maps row ids to ids.

        They come from memory if a search has just compared them there, else from the table.
        """
        mark = int(self._mark)
        own = {row_id ^ mark: passage for row_id, passage in rows.items() if row_id & _MARKS == mark}
        known = self._of.tables.cached_vectors.known(own) if self._of.shared is None else {}
        found = {own[row_id]: vector for row_id, vector in known.items()}
        if missing := [passage for passage in own.values() if passage not in found]:
            where = conditions.both(conditions.one_of("id", missing), conditions.present("space_id"))
            async for ids, vectors in self.vectors(where):
                found.update(zip(ids, vectors, strict=True))
        return found

    async def vectors_of_facts(self, ids: Iterable[str]) -> dict[str, NDArray[np.float32]]:
        """Return the vectors of these facts, of a long one that of its beginning, by their ids."""
        found: dict[str, NDArray[np.float32]] = {}
        if wanted := list(ids):
            first = conditions.both(conditions.equal("part", 0), conditions.present("space_id"))
            where = conditions.both(conditions.one_of("record_id", wanted), first)
            async for own, vectors in self.vectors(where, "record_id"):
                found.update(zip(own, vectors, strict=True))
        return found

    async def count(self, where: Where | None = None) -> int:
        """Count the passages that match."""
        return await self._of.tables.passages.count_rows(where)

    async def without_vectors(self, limit: int, where: Where = conditions.NO_VECTOR) -> list[Passage]:
        """Return passages without a vector, newest first, because the newest are searched for most."""
        return await self._to_embed(self._of.tables.passages, limit, where)

    async def count_built(self) -> int:
        """Count the passages of the generation being built."""
        return await self._of.tables.indexes[-1].count_rows()

    async def built_without_vectors(self, limit: int) -> list[Passage]:
        """Return passages of the generation being built that have no vector yet."""
        if self._of.tables.building is None:  # damage restarted the index
            return []
        return await self._to_embed(self._of.tables.building, limit, conditions.NO_VECTOR)

    async def _to_embed(self, table: AsyncTable, limit: int, where: Where) -> list[Passage]:
        query = scan(table).where(where).order_by(descending("dated_at"))
        columns = ["id", "src", "record_id", "role", "part", "text", "embed_text", "dated_at"]
        return from_table(Passage, await read_table(query.select(columns).limit(limit)))

    async def set_built_vectors(self, made: Mapping[str, Embedding]) -> int:
        """Give passages of the generation being built their vectors; return how many still wait."""
        async with self._of.lock:
            if self._of.tables.building is None:
                return 0
            await put_vectors(self._of.tables.building, made)
            return await self._of.tables.building.count_rows(conditions.NO_VECTOR)
