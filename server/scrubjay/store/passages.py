"""The passages of a store: searching them by words, vectors and ties, and reading and writing their rows."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from lancedb import AsyncTable
from lancedb.query import MatchQuery
from numpy.typing import NDArray

from scrubjay.models.records import Passage
from scrubjay.store import conditions
from scrubjay.store.cache import TRIES, PassageRow
from scrubjay.store.changes import Embedding
from scrubjay.store.conditions import EVER, Dates, Where
from scrubjay.store.connection import Connection
from scrubjay.store.queries import descending, matching_rows, scan
from scrubjay.store.row_sets import rows_of
from scrubjay.store.schema import VECTOR, from_table, read_batches, read_table
from scrubjay.store.tables import Tables
from scrubjay.store.upserts import put_vectors

# How many partitions of the vector index a search reads. A partition has 8,192 passages, so up to half a
# million passages are all read. With 20 partitions, a third of the nearest 200 would be missed.
PROBES = 64

# How many passages outside the word index a search reads. It reads each of them twice, in 30 to 50 us each
# time. Upkeep indexes them as soon as there are a tenth as many. Reading 100,000 would take many seconds.
MOST_READ = 5_000

_GENERATION_MASK = 127 << 56  # the bits of a row id with its generation; LanceDB's ids do not use them


class RowScores(NamedTuple):
    """The passages that one search found, best first: their row ids, and their scores or cosines."""

    row_ids: NDArray[np.uint64]
    values: NDArray[np.float64]


class Passages:
    """The committed passages of the searched generation, and of the one being built."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._counted_for: object = None  # the table and version for which `_unindexed` was counted
        self._unindexed = 0  # passages that the word index lacks

    @property
    def _tables(self) -> Tables:
        return self._connection.tables  # another object after each opening

    async def by_words(self, text: str, where: Where, limit: int) -> RowScores:
        """Find passages by BM25 (k1 1.2, b 0.75)."""
        return await self._search_words(text, "search_text", where, limit)

    async def by_vector(
        self, vector: NDArray[np.float32], where: Where, limit: int, dates: Dates = EVER
    ) -> RowScores:
        """Find passages by their cosine to a unit vector; passages without a vector are not found.

        The search runs in memory, unless there are too many passages or the store is in a bucket. Then
        LanceDB searches by squared Euclidean distance, which is 2 (1 - cos) for unit vectors: a cosine index
        would give indexed rows (one byte per number, off by up to .005) another scale than rows that are not
        indexed yet.
        """
        bits, passages = self._generation_bits, self._tables.passages
        if self._connection.shared is None:
            nearest = await self._tables.cached_vectors.nearest(passages, vector, where, limit, dates)
            if nearest is not None:
                return RowScores(nearest[0] | bits, nearest[1])
        where = conditions.both(where, conditions.dated(dates))
        query = scan(passages).nearest_to(vector).distance_type("l2").nprobes(PROBES).where(where)
        hits = await self._row_scores(query, "_distance", limit)
        return RowScores(hits.row_ids, 1.0 - hits.values / 2.0)

    async def by_ties(self, ties: Iterable[str], where: Where, limit: int, dates: Dates = EVER) -> RowScores:
        """Find passages that have at least one of these ties, first those with the most and the rarest."""
        passages, ties = self._tables.passages, list(ties)
        for _ in range(TRIES if self._connection.shared is None else 0):
            version = await passages.version()
            matching = await self._tables.cached_vectors.matching(passages, where, dates)
            if matching is None:
                break
            best = await self._tables.cached_ties.best(passages, ties, matching, limit)
            if best is None:
                break
            if await passages.version() == version:  # else one of the two reads may lack a row that moved
                return RowScores(best[0] | self._generation_bits, best[1])
        where = conditions.both(where, conditions.dated(dates))
        return await self._search_words(" ".join(ties), "tied", where, limit)

    async def _search_words(self, text: str, column: str, where: Where, limit: int) -> RowScores:
        match: Any = MatchQuery  # its type annotations require every argument
        query = scan(self._tables.passages).nearest_to_text(match(text, column)).where(where)
        if await self.unsearched():
            query = query.fast_search()
        return await self._row_scores(query, "_score", limit)

    async def unsearched(self) -> int:
        """Count the passages whose words are not searched, because the word index lacks too many.

        LanceDB reads up to `MOST_READ` that the index lacks, and then this returns 0.
        """
        unindexed = await self.unindexed()
        return unindexed if unindexed > MOST_READ else 0

    async def unindexed(self) -> int:
        """Count the passages that the word index lacks; counted once per version of the table."""
        table = self._tables.passages
        version = await table.version()
        if self._counted_for != (table, version):
            index = await table.index_stats("search_text_idx")
            self._counted_for, self._unindexed = (table, version), index.num_unindexed_rows if index else 0
        return self._unindexed

    async def _row_scores(self, query: Any, score_column: str, limit: int) -> RowScores:
        """Read only row ids and scores: to read another column of the hits takes as long as the search."""
        bits = self._generation_bits
        rows = await read_table(query.select([score_column]).with_row_id().limit(limit))
        return RowScores(rows["_rowid"].to_numpy() | bits, rows[score_column].to_numpy().astype(np.float64))

    @property
    def _generation_bits(self) -> np.uint64:
        """The bits that distinguish the row ids of one generation from equal ids of the next."""
        return np.uint64(self._connection.note.generation % 128 << 56)

    async def read(self, row_ids: Iterable[int]) -> dict[int, PassageRow]:
        """Return passages by row id, without those that were removed after a search found them."""
        wanted, bits = self._lance_ids(row_ids), int(self._generation_bits)
        rows = await self._tables.cached_passages.get(self._tables.passages, wanted)
        return {row_id | bits: row for row_id, row in rows.items()}

    def _lance_ids(self, row_ids: Iterable[int]) -> list[int]:
        """Return LanceDB's own ids of those rows that are of the searched generation."""
        bits = int(self._generation_bits)
        return [row_id ^ bits for row_id in row_ids if row_id & _GENERATION_MASK == bits]

    async def matching(self, where: Where, limit: int) -> list[PassageRow]:
        """Return passages that match, in no particular order."""
        for _ in range(TRIES):
            query = scan(self._tables.passages).where(where).select([]).with_row_id().limit(limit)
            row_ids = ((await read_table(query))["_rowid"].to_numpy() | self._generation_bits).tolist()
            rows = await self.read(row_ids)
            if len(rows) == len(row_ids):  # else a passage got its vector meanwhile, and became another row
                break
        return list(rows.values())

    async def token_codes(self, record_ids: Iterable[str]) -> list[tuple[str, bytes]]:
        """Return (record id, token codes) of these records' passages that have codes, sorted."""
        ids, codes, passages = list(record_ids), self._tables.codes_and_ties, self._tables.passages
        if (rows := await codes.current(passages)) is not None:
            rows = rows_of(rows, codes.places, ids)
        else:  # without a condition on the codes: Lance would first read those of all rows, for 2 ms more
            where = conditions.one_of("record_id", ids)
            rows = await matching_rows(passages, where, columns=["record_id", "token_vectors"])
        pairs = zip(rows["record_id"].to_pylist(), rows["token_vectors"].to_pylist(), strict=True)
        return sorted((record_id, code) for record_id, code in pairs if code is not None)

    async def select(
        self, where: Where, *, limit: int | None = None, columns: Sequence[str] | None = None
    ) -> list[Passage]:
        """Return passages that match, in no particular order."""
        return from_table(Passage, await matching_rows(self._tables.passages, where, limit, columns))

    async def vectors_of(self, rows: Mapping[int, str]) -> dict[str, NDArray[np.float32]]:
        """Return the vectors of passages that have one, by id; `rows` maps row ids to passage ids."""
        ids = {row_id: rows[row_id | int(self._generation_bits)] for row_id in self._lance_ids(rows)}
        # From memory if a search has just compared them there.
        cached = self._tables.cached_vectors.cached(ids) if self._connection.shared is None else {}
        vectors = {ids[row_id]: vector for row_id, vector in cached.items()}
        if missing := [each for each in ids.values() if each not in vectors]:
            vectors |= await self._read_vectors(conditions.one_of("id", missing), "id")
        return vectors

    async def vectors_of_facts(self, ids: Iterable[str]) -> dict[str, NDArray[np.float32]]:
        """Return the vectors of these facts by id; for a long fact, the vector of its beginning."""
        where = conditions.both(conditions.one_of("record_id", ids), conditions.equal("part", 0))
        return await self._read_vectors(where, "record_id")

    async def _read_vectors(self, where: Where, key: str) -> dict[str, NDArray[np.float32]]:
        """Read the vectors of the passages that match and have one, by their value in the column `key`."""
        vectors: dict[str, NDArray[np.float32]] = {}
        where = conditions.both(where, conditions.present("space_id"))
        async for rows in read_batches(scan(self._tables.passages).where(where).select([key, VECTOR])):
            ids = rows[key].to_pylist()
            matrix = rows[VECTOR].flatten().to_numpy().reshape(len(ids), self._connection.note.dim)
            vectors.update(zip(ids, matrix, strict=True))
        return vectors

    async def count(self, where: Where | None = None) -> int:
        """Count the passages that match."""
        return await self._tables.passages.count_rows(where)

    async def without_vectors(self, limit: int, where: Where = conditions.NO_VECTOR) -> list[Passage]:
        """Return passages without a vector, newest first, because searches look for the newest most often."""
        return await self._to_embed(self._tables.passages, limit, where)

    async def count_built(self) -> int:
        """Count the passages of the generation being built."""
        return await self._tables.indexes[-1].count_rows()

    async def built_without_vectors(self, limit: int) -> list[Passage]:
        """Return passages of the generation being built that have no vector yet."""
        if self._tables.building is None:  # the index was damaged, and is built from the start
            return []
        return await self._to_embed(self._tables.building, limit, conditions.NO_VECTOR)

    async def _to_embed(self, table: AsyncTable, limit: int, where: Where) -> list[Passage]:
        query = scan(table).where(where).order_by(descending("dated_at"))
        columns = ["id", "src", "record_id", "role", "part", "text", "embed_text", "dated_at"]
        return from_table(Passage, await read_table(query.select(columns).limit(limit)))

    async def set_built_vectors(self, embeddings: Mapping[str, Embedding]) -> int:
        """Store vectors in the generation being built; return the number of passages still without one."""
        async with self._connection.lock:
            if self._tables.building is None:
                return 0
            await put_vectors(self._tables.building, embeddings)
            return await self._tables.building.count_rows(conditions.NO_VECTOR)
