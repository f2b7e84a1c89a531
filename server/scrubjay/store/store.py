"""The store: records and passages, with group commit.

It has one writer: the engine, or for a store in a bucket, the engine that maintains it.

A write is staged in memory (it is in the write-ahead log already) and committed by `flush`. Reads by id and
by session see staged writes; a search flushes first. Everything async runs in one event loop; mutations hold
one lock.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
import pyarrow as pa
from lancedb import AsyncTable
from lancedb.query import AsyncQuery, ColumnOrdering, MatchQuery
from numpy.typing import NDArray

from scrubjay.models.records import AnyRecord, Document, Memory, Passage, Turn
from scrubjay.store import conditions
from scrubjay.store.bucket.sharing import Shared
from scrubjay.store.cache import KnownKeys, PassageRow, RecordCache, taken
from scrubjay.store.changes import TABLE_OF, Change, Embedding, Staged
from scrubjay.store.conditions import EVER, Dates, Where
from scrubjay.store.failures import not_written
from scrubjay.store.inventory import Inventory, Rows
from scrubjay.store.notes import (
    BUILDING,
    INDEX,
    FileNotes,
    IndexNote,
    Notes,
    UnreadableNote,
    dump_note,
    parse_note,
)
from scrubjay.store.schema import VECTOR, arrow_schema, from_table, micros, read_batches, read_table, to_table
from scrubjay.store.sessions import COLUMNS, Key, Place, Sessions, places_of
from scrubjay.store.tables import Tables, drop_other_passages, open_tables
from scrubjay.store.upserts import (
    AccessCount,
    append,
    passage_rows,
    put_counts,
    put_vectors,
    stored_embeddings,
    upsert,
)

# Partitions of the vector index that a search reads, of 8,192 passages each: all of them up to half a million
# passages. 20 partitions would miss a third of the nearest 200.
PROBES = 64

# Passages outside the word index that a search reads: 30 to 50 us each, twice. Upkeep indexes them at a tenth
# of this; a search over 100,000 newly added ones would take many seconds.
MOST_READ = 5_000

# The column by which an added document or fact is recognised as an existing one.
_KEYS: dict[type, str] = {Document: "id", Memory: "content_hash"}
_MOST_SCOPES = 100  # sets of scopes in the cache of `has_documents`
_TRIES = 3  # attempts to read a consistent state from memory
_MARKS = 127 << 56  # the bits of a row id that hold its generation; LanceDB's ids are smaller

T = TypeVar("T", Turn, Memory, Document)
Put = Callable[[AsyncTable, pa.Table], Awaitable[None]]


class RowScores(NamedTuple):
    """The passages that one search found, best first: their row ids, and their scores or cosines."""

    row_ids: NDArray[np.uint64]
    values: NDArray[np.float64]


class Store:
    """Records and passages of one home or bucket. Open one with `store.opening`.

    `shared` is this engine's part in a store that other engines use too. Otherwise `inventory` has the
    expected files, `damage` lists what differs, and `repairs` what was repaired. If another engine writes the
    tables, `wait_for_writer` is awaited instead of a commit.
    """

    def __init__(
        self,
        path: str,
        note: IndexNote,
        tables: Tables,
        shared: Shared | None = None,
        inventory: Inventory | None = None,
    ) -> None:
        self.path, self.note, self.tables, self.shared = path, note, tables, shared
        self.building: IndexNote | None = None  # the next generation of passages
        self.notes: Notes = shared.notes if shared else FileNotes(path)
        self.wait_for_writer: Callable[[], Awaitable[None]] = _no_other_writer
        self.inventory = inventory
        self.repairs: list[str] = []
        self.damage: tuple[str, ...] = ()
        self.lock = tables.lock
        self.readers = 0  # readers of older versions; while there are any, no version is removed
        self.sessions = Sessions(self._places)
        self.names = Names(self)
        self._known_keys = {kind: KnownKeys(column) for kind, column in _KEYS.items()}
        self._unindexed: int | None = None  # passages missing in the word index
        # For each set of scopes, whether it has documents, at one version of a table.
        self._documented: tuple[object, int, dict[tuple[str, ...] | None, bool]] = (None, 0, {})
        self.vectorless_writes = 0  # counts writes that may have left passages without a vector
        self.restarts = 0  # how often damage restarted the index
        self.filling = False  # True while a task fills the index from the records
        self._note_lock = asyncio.Lock()
        self._staged, self._committing = Staged(), Staged()

    @property
    def is_writer(self) -> bool:
        """Return True if this engine writes the tables."""
        return self.shared is None or self.shared.is_maintainer

    # -- writing

    def stage(self, change: Change, *, fresh: bool = False) -> None:
        """Add a write to the next commit; reads by id and by session see it at once.

        `fresh` means that none of it can be on disk from a commit that a crash interrupted.
        """
        record = change.record
        self._staged.add(change, fresh=fresh)
        self.names.add(record)
        if isinstance(record, Turn):
            self.sessions.put((record.scope, record.session_id), _place(record))

    def unstage(self, ids: Iterable[str] | None = None) -> None:
        """Drop staged records (None: all): another engine has written them, or they are planned again."""
        for record_id in list(self._staged.changes) if ids is None else ids:
            self._staged.changes.pop(record_id, None)
        self.forget_cache()

    def forget_cache(self) -> None:
        """Drop everything cached of the tables, because another engine wrote them."""
        self.sessions = Sessions(self._places)
        self.names.clear()
        self.invalidate_index_stats()
        self.vectorless_writes += 1

    async def flush(self) -> int:
        """Commit the staged writes; return the number of records. A failed commit leaves everything staged.

        If another engine writes, wait for it instead, within limits.

        Raises:
            StoreError: the disk refused.
        """
        if not self.is_writer:
            await self.wait_for_writer()
            return 0
        return await self.commit()

    async def commit(self) -> int:
        """Commit as `flush` does; only the engine that writes the tables may call it."""
        if not self._staged and not self._committing:
            return 0
        async with self.lock:
            self._committing, self._staged = self._staged, Staged()
            try:
                await self._commit(self._committing)
            except BaseException:
                later, self._staged = self._staged, self._committing
                for change in later.changes.values():
                    self._staged.add(change)
                self._staged.embeddings |= later.embeddings
                self._staged.fresh = False
                raise
            finally:
                count, self._committing = len(self._committing.changes), Staged()
            return count

    async def _commit(self, staged: Staged) -> None:
        """Write the passages first and the records last, so that a record on disk has its passages."""
        try:
            if not self.is_writer:  # the lease was lost while this waited for the lock
                raise OSError(f"another engine maintains the store now ({self.path})")
            put = append if staged.fresh and not await self._has_committed(staged) else upsert
            await self._write_passages(staged, put)
            for kind, name in TABLE_OF.items():
                if rows := staged.records(kind):
                    await put(self.tables.of(name), to_table(rows, arrow_schema(kind)))
                    if kind in _KEYS:
                        self._known_keys[kind].add(getattr(row, _KEYS[kind]) for row in rows)
        except (RuntimeError, ValueError, OSError, TypeError, OverflowError) as error:
            # LanceDB raises two types for a damaged file, and Arrow three for a value that a column does not
            # accept.
            raise not_written(self.path, error) from error

    def unstorable(self) -> list[str]:
        """Return the ids of staged records that no commit can write, because of a value."""
        found = []
        for record_id, change in self._staged.changes.items():
            try:
                to_table([change.record], arrow_schema(type(change.record)))
                if change.passages:
                    to_table(change.passages, arrow_schema(Passage))
            except (ValueError, TypeError, OverflowError):
                found.append(record_id)
        return found

    async def _has_committed(self, staged: Staged) -> bool:
        """Return True if one of the ids is in its table, as after the merging of scopes."""
        for kind, name in TABLE_OF.items():
            ids = [row.id for row in staged.records(kind)]
            if ids and await self.tables.of(name).count_rows(conditions.one_of("id", ids)):
                return True
        return False

    async def _write_passages(self, staged: Staged, put: Put) -> None:
        for table, note in zip(self.tables.indexes, self.index_notes, strict=True):
            await self._write_index(table, note, staged, put)

    async def _write_index(self, table: AsyncTable, note: IndexNote, staged: Staged, put: Put) -> None:
        passages = staged.passages()
        if rewritten := staged.rewritten():
            keep = conditions.one_of("id", (passage.id for passage in passages))
            of_them = conditions.one_of("record_id", rewritten)
            await table.delete(conditions.both(of_them, conditions.negation(keep)))
        if passages:
            ids = [passage.id for passage in passages]
            embeddings = await stored_embeddings(table, ids) if rewritten else {}
            # A reindex may have begun since the vectors were made.
            embeddings |= {
                each: made for each, made in staged.embeddings.items() if made.space_id == note.space_id
            }
            await put(table, passage_rows(passages, note.dim, embeddings))
            self.vectorless_writes += not embeddings.keys() >= set(ids)
        for since, ids in staged.hidden().items():
            values = {"hidden": True, "hidden_at": None if since is None else micros(since)}
            await table.update(values, where=conditions.one_of("record_id", ids))
        self.invalidate_index_stats()

    async def count_access(self, counts: Mapping[str, AccessCount]) -> None:
        """Add to the access counts of committed records, by id; a staged write of a record wins."""
        async with self.lock:
            for name in TABLE_OF.values():
                await put_counts(self.tables.of(name), counts)

    async def checkpoint(self) -> None:
        """Sync everything committed so far to disk; only then may its envelopes leave the log."""
        if self.inventory is not None:  # a bucket is durable
            try:
                rows = await self.rows(
                    known=self.inventory.rows
                )  # before the sync, so that all counted rows get synced
            except RuntimeError:  # a damaged table: record nothing new about it
                rows = {}
            await asyncio.to_thread(self.inventory.sync_new, rows)

    # -- records

    async def get(
        self, kind: type[T], ids: Iterable[str], *, columns: Sequence[str] | None = None
    ) -> dict[str, T]:
        """Return records by id, staged ones first; unknown ids are left out.

        Of committed records, only `columns` (and the id) are read, all by default.
        """
        wanted = list(dict.fromkeys(ids))
        found = {each: row for each in wanted if isinstance(row := self._staged_record(each), kind)}
        if missing := [each for each in wanted if each not in found]:
            table, cache = self._table(kind)
            cached = await cache.of(table, missing) if cache and columns is None else None
            if cached is None:
                rows = from_table(kind, await self._columns(kind, missing, columns))
                cached = {row.id: row for row in rows}
            found.update(cached)
        return found

    async def may_hold(self, kind: type[T], keys: Iterable[str]) -> list[str]:
        """Return the keys, of those given, that a record may have: a document's id, a fact's content hash.

        All others are certainly new, which saves a look at the disk.
        """
        if self.shared is not None:  # other engines write too
            return list(keys)
        keys, staged = list(keys), {getattr(row, _KEYS[kind]) for row in self.staged(kind)}
        there = staged | await self._known_keys[kind].among(self.tables.of(TABLE_OF[kind]), keys)
        return [each for each in keys if each in there]

    async def last_accessed(self, ids: Iterable[str]) -> dict[str, int]:
        """Return when each of these facts was last recalled, in microseconds since 1970, by id."""
        wanted = dict.fromkeys(ids)
        found = {each: micros(row.last_accessed_at) for each in wanted if (row := self._staged_fact(each))}
        if missing := [each for each in wanted if each not in found]:
            rows = await self._columns(Memory, missing, ["id", "last_accessed_at"])
            recalled = zip(rows["id"].to_pylist(), rows["last_accessed_at"].to_pylist(), strict=True)
            found.update((each, at) for each, at in recalled if at is not None)
        return found

    async def _columns(self, kind: type[T], ids: list[str], columns: Sequence[str] | None) -> pa.Table:
        """Read columns of committed records, all by default, from memory where possible."""
        table, cache = self._table(kind)
        rows = await cache.columns(table, ids, list(columns)) if cache and columns else None
        return rows if rows is not None else await _rows(table, conditions.one_of("id", ids), None, columns)

    def _table(self, kind: type[AnyRecord]) -> tuple[AsyncTable, RecordCache[Any] | None]:
        """Return the table of a kind of records, and its cache."""
        name = TABLE_OF[kind]
        return self.tables.of(name), self.tables.cached_records.get(name)

    async def find(self, record_id: str) -> AnyRecord | None:
        """Return the record of any kind with this id."""
        if staged := self._staged_record(record_id):
            return staged
        for kind in TABLE_OF:
            if rows := await self.select(kind, conditions.equal("id", record_id), limit=1):
                return rows[0]
        return None

    def is_staged(self, record_id: str) -> bool:
        """Return True if the newest version of this record is not committed yet."""
        return self._staged_record(record_id) is not None

    def staged(self, kind: type[T]) -> list[T]:
        """Return the records that are written but not committed, the latest version of each."""
        rows = {row.id: row for batch in (self._committing, self._staged) for row in batch.records(kind)}
        return cast(list[T], list(rows.values()))

    def _staged_fact(self, record_id: str) -> Memory | None:
        record = self._staged_record(record_id)
        return record if isinstance(record, Memory) else None

    def _staged_record(self, record_id: str) -> AnyRecord | None:
        return self._staged.record(record_id) or self._committing.record(record_id)

    async def select(
        self, kind: type[T], where: Where, *, limit: int | None = None, columns: Sequence[str] | None = None
    ) -> list[T]:
        """Return committed records that match, in no particular order."""
        return from_table(kind, await _rows(self.tables.of(TABLE_OF[kind]), where, limit, columns))

    async def select_newest(
        self,
        kind: type[T],
        where: Where,
        matches: Callable[[T], bool],
        *,
        columns: Sequence[str] | None = None,
    ) -> list[T]:
        """Return matching records in their latest version, staged or committed.

        `matches` tests a record for the same condition that `where` tests on a row, by the same `columns`
        only.
        """
        staged = self.staged(kind)  # before reading the disk, or a commit in between could hide one
        rows = {row.id: row for row in await self.select(kind, where, columns=columns)}
        rows.update((row.id, row) for row in staged)
        return [row for row in rows.values() if matches(row)]

    async def latest(
        self,
        last: int,
        scope: str | None,
        now: datetime,
        *,
        kinds: Iterable[type[AnyRecord]] = tuple(TABLE_OF),
        **of: str | Collection[str] | None,
    ) -> list[AnyRecord]:
        """Return the `last` newest records of these kinds that are current, without commits, newest first."""
        rows: list[AnyRecord] = []
        for kind in kinds:
            here = conditions.matching(scope=scope, **of)
            others = conditions.NOT_A_COMMIT if kind is Document else None
            where = conditions.both(conditions.current(kind, now), here, others)
            rows += await self.newest(kind, where, last)  # type: ignore[type-var]
        rows.sort(key=lambda row: row.started_at if isinstance(row, Turn) else row.created_at, reverse=True)
        return rows[:last]

    async def newest(self, kind: type[T], where: Where, limit: int) -> list[T]:
        """Return the newest committed records of one kind that match, newest first."""
        order = _descending("started_at" if kind is Turn else "created_at")
        query = _scan(self.tables.of(TABLE_OF[kind])).where(where)
        return from_table(kind, await read_table(query.order_by(order).limit(limit)))

    async def count(self, kind: type[T], where: Where | None = None) -> int:
        """Count the committed records that match."""
        return await self.tables.of(TABLE_OF[kind]).count_rows(where)

    async def has_documents(self, scopes: tuple[str, ...] | None) -> bool:
        """Return True if these scopes have a document; counted once per version of the documents."""
        version = await self.tables.documents.version()
        if self._documented[:2] != (self.tables.documents, version):
            self._documented = self.tables.documents, version, {}
        known = self._documented[2]
        if (held := known.get(scopes)) is None:
            here = conditions.both(conditions.NOT_FORGOTTEN, conditions.matching(scope=scopes))
            held = await self.count(Document, here) > 0
            if len(known) < _MOST_SCOPES:
                known[scopes] = held
        return held

    async def rows(self, known: Mapping[str, Rows]) -> dict[str, Rows]:
        """Count the rows of each table, by its name on disk, with its version.

        Versions in `known` are not counted again; a table that is written meanwhile is left out.
        """
        found = {}
        for name, table in self.tables.by_name(self.note.passages).items():
            version = await table.version()
            before = known.get(name)
            if before is not None and before.version == version:
                found[name] = before
                continue
            rows = Rows(await table.count_rows(), version)
            if await table.version() == version:
                found[name] = rows
        return found

    async def rescope(self, old: str, new: str) -> int:
        """Move every record and passage of one scope into another; return how many records moved."""
        async with self.lock:
            count = 0
            for name in self.tables.names:
                where = conditions.equal("scope", old)
                result = await self.tables.of(name).update({"scope": new}, where=where)
                count += result.rows_updated if name in TABLE_OF.values() else 0
            self.forget_cache()
            return count

    async def _places(self, keys: list[Key]) -> dict[Key, list[Place]]:
        where = conditions.one_of("session_id", {session for _, session in keys})
        staged = self.staged(Turn)  # before reading the disk, or a commit in between could hide one
        places = places_of(keys, await _rows(self.tables.turns, where, None, COLUMNS))
        for turn in staged:
            if (session := places.get((turn.scope, turn.session_id))) is not None:
                session[turn.id] = _place(turn)
        return {key: list(session.values()) for key, session in places.items()}

    # -- passages

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
        mark, passages = self._mark, self.tables.passages
        if self.shared is None:
            near = await self.tables.cached_vectors.nearest(passages, vector, where, limit, dates)
            if near is not None:
                return RowScores(near[0] | mark, near[1])
        where = conditions.both(where, conditions.dated(dates))
        query = _scan(passages).nearest_to(vector).distance_type("l2").nprobes(PROBES).where(where)
        found = await self._row_scores(query, "_distance", limit)
        return RowScores(found.row_ids, 1.0 - found.values / 2.0)

    async def by_ties(self, words: Iterable[str], where: Where, limit: int, dates: Dates = EVER) -> RowScores:
        """Find passages that have one of these ties, those that share the most and the rarest first.

        The search runs in memory when `by_vector` does.
        """
        passages, words = self.tables.passages, list(words)
        for _ in range(_TRIES if self.shared is None else 0):
            version = await passages.version()
            matching = await self.tables.cached_vectors.matching(passages, where, dates)
            if matching is None:
                break
            tied = await self.tables.cached_ties.best(passages, words, matching, limit)
            if tied is None:
                break
            if await passages.version() == version:  # else a moved row may be missing in one of the two
                return RowScores(tied[0] | self._mark, tied[1])
        where = conditions.both(where, conditions.dated(dates))
        return await self._search_words(" ".join(words), "tied", where, limit)

    async def _search_words(self, text: str, column: str, where: Where, limit: int) -> RowScores:
        match: Any = MatchQuery  # its types make every argument required
        query = _scan(self.tables.passages).nearest_to_text(match(text, column)).where(where)
        if await self.unsearched():
            query = query.fast_search()
        return await self._row_scores(query, "_score", limit)

    async def unsearched(self) -> int:
        """Count the passages whose words are not searched, because the word index lacks too many of them.

        If the index lacks only a few, LanceDB reads those, and this returns 0.
        """
        if self._unindexed is None:
            index = await self.tables.passages.index_stats("search_text_idx")
            self._unindexed = index.num_unindexed_rows if index else 0
        return self._unindexed if self._unindexed > MOST_READ else 0

    def invalidate_index_stats(self) -> None:
        """Forget the number of unindexed passages, because passages were written or indexed."""
        self._unindexed = None

    async def _row_scores(self, query: Any, value: str, limit: int) -> RowScores:
        """Run a search for row ids only: reading one column of its hits costs as much as the search."""
        mark = self._mark
        rows = await read_table(query.select([value]).with_row_id().limit(limit))
        return RowScores(rows["_rowid"].to_numpy() | mark, rows[value].to_numpy().astype(np.float64))

    @property
    def _mark(self) -> np.uint64:
        """The bits that tell the row ids of one generation from equal ids of the next."""
        return np.uint64(self.note.generation % 128 << 56)

    async def read_passages(self, row_ids: Iterable[int]) -> dict[int, PassageRow]:
        """Return passages by row id, without those removed since a search found them."""
        mark = int(self._mark)
        wanted = [each ^ mark for each in row_ids if each & _MARKS == mark]
        rows = await self.tables.cached_passages.of(self.tables.passages, wanted)
        return {each | mark: row for each, row in rows.items()}

    async def matching_passages(self, where: Where, limit: int) -> list[PassageRow]:
        """Return passages that match, in no particular order.

        A passage that gets its vector meanwhile becomes another row, so a miss repeats the query.
        """
        mark, tries = self._mark, 3
        while True:
            tries -= 1
            query = _scan(self.tables.passages).where(where).select([]).with_row_id().limit(limit)
            row_ids: list[int] = ((await read_table(query))["_rowid"].to_numpy() | mark).tolist()
            rows = await self.read_passages(row_ids)
            if not tries or len(rows) == len(row_ids):
                return list(rows.values())

    async def token_codes(self, record_ids: Iterable[str]) -> list[tuple[str, bytes]]:
        """Return (record id, token codes) of these records' passages that have codes, sorted.

        Another condition would make Lance read its column for all of these rows first: 5.5 ms instead of 3.7
        for 80 records.
        """
        ids = list(record_ids)
        codes = self.tables.codes_and_ties
        if (rows := await codes.current(self.tables.passages)) is not None:
            rows = taken(rows, codes.places, ids)
        else:
            columns = ["record_id", "token_vectors"]
            rows = await _rows(self.tables.passages, conditions.one_of("record_id", ids), None, columns)
        pairs = zip(rows["record_id"].to_pylist(), rows["token_vectors"].to_pylist(), strict=True)
        return sorted((record_id, code) for record_id, code in pairs if code is not None)

    async def passages(
        self, where: Where, *, limit: int | None = None, columns: Sequence[str] | None = None
    ) -> list[Passage]:
        """Return passages that match, in no particular order."""
        return from_table(Passage, await _rows(self.tables.passages, where, limit, columns))

    async def vectors(
        self, where: Where, key: str = "id"
    ) -> AsyncIterator[tuple[list[str], NDArray[np.float32]]]:
        """Yield the ids and vectors of the passages that match, in batches and in no particular order.

        `where` must require a vector; `key` is the column with the ids.
        """
        query = _scan(self.tables.passages).where(where).select([key, VECTOR])
        async for rows in read_batches(query):
            ids: list[str] = rows[key].to_pylist()
            yield ids, rows[VECTOR].flatten().to_numpy().reshape(len(ids), self.note.dim)

    async def vectors_of(self, rows: Mapping[int, str]) -> dict[str, NDArray[np.float32]]:
        """Return the vectors of passages that have one, by id; `rows` maps row ids to ids.

        They come from memory if a search has just compared them there, else from the table.
        """
        mark = int(self._mark)
        own = {row_id ^ mark: passage for row_id, passage in rows.items() if row_id & _MARKS == mark}
        known = self.tables.cached_vectors.known(own) if self.shared is None else {}
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

    async def count_passages(self, where: Where | None = None) -> int:
        """Count the passages that match."""
        return await self.tables.passages.count_rows(where)

    async def records_without_vectors(self, record_ids: Iterable[str]) -> set[str]:
        """Return the records, of those given, that have a passage without a vector, staged or committed."""
        staged = self._committing.without_vectors() | self._staged.without_vectors()
        ids = set(record_ids)
        waiting = {each for each in ids if staged.get(each)}
        if committed := ids - staged.keys():
            where = conditions.both(conditions.one_of("record_id", committed), conditions.NO_VECTOR)
            waiting.update(row.record_id for row in await self.passages(where, columns=["record_id"]))
        return waiting

    async def passages_without_vectors(
        self, limit: int, where: Where = conditions.NO_VECTOR
    ) -> list[Passage]:
        """Return passages without a vector, newest first, because the newest are searched for most."""
        return await self._to_embed(self.tables.passages, limit, where)

    async def count_built(self) -> int:
        """Count the passages of the generation being built."""
        return await self.tables.indexes[-1].count_rows()

    async def built_without_vectors(self, limit: int) -> list[Passage]:
        """Return passages of the generation being built that have no vector yet."""
        if self.tables.building is None:  # damage restarted the index
            return []
        return await self._to_embed(self.tables.building, limit, conditions.NO_VECTOR)

    async def _to_embed(self, table: AsyncTable, limit: int, where: Where) -> list[Passage]:
        query = _scan(table).where(where).order_by(_descending("dated_at"))
        columns = ["id", "src", "record_id", "role", "part", "text", "embed_text", "dated_at"]
        return from_table(Passage, await read_table(query.select(columns).limit(limit)))

    async def set_vectors(
        self,
        vectors: Mapping[str, NDArray[np.float32]],
        space_id: str,
        codes: Mapping[str, bytes] | None = None,
    ) -> bool:
        """Give passages their vectors and the codes of their tokens, by id; unknown ids are ignored.

        Passages that are not committed yet get them when they are. Return True if other rows had to be
        rewritten.
        """
        codes = codes or {}
        made = {each: Embedding(vector, codes.get(each), space_id) for each, vector in vectors.items()}
        if late := self._staged.embed(made):
            async with self.lock:
                if late := self._staged.embed(late):  # a failed commit stages its passages again
                    await put_vectors(self.tables.passages, late)
                    self.invalidate_index_stats()
        return bool(late)

    async def set_built_vectors(self, made: Mapping[str, Embedding]) -> int:
        """Give passages of the generation being built their vectors; return how many still wait."""
        async with self.lock:
            if self.tables.building is None:
                return 0
            await put_vectors(self.tables.building, made)
            return await self.tables.building.count_rows(conditions.NO_VECTOR)

    async def refill(
        self, kind: type[T], ids: Collection[str], cut: Callable[[T], Iterable[Passage]]
    ) -> None:
        """Rebuild the passages of these records, without staging; unchanged ones keep their vectors.

        They go into the generation being built, or else into the one that is searched. The lock is held
        throughout, so that no newer version of a record is committed between reading it and writing its
        passages.
        """
        async with self.lock:
            rows = await self.select(kind, conditions.one_of("id", ids)) if ids else []
            if passages := [passage for row in rows for passage in cut(row)]:
                table, note = self.tables.indexes[-1], self.index_notes[-1]
                embeddings = await stored_embeddings(table, (passage.id for passage in passages))
                await upsert(table, passage_rows(passages, note.dim, embeddings))
                self.invalidate_index_stats()
                self.vectorless_writes += 1

    # -- generations and connections

    async def write_note(self, note: IndexNote) -> None:
        """Replace the note on the index, in memory and on disk."""
        self.note = note
        async with self._note_lock:  # the latest note is written last, whatever the order of callers
            await self.notes.write(INDEX, dump_note(self.note))

    async def set_complete(self, complete: bool, begun: int) -> None:
        """Note whether the index has all records, unless it was restarted since `begun`."""
        async with self.lock:
            if begun == self.restarts:
                await self.write_note(replace(self.note, complete=complete))

    @property
    def index_notes(self) -> list[IndexNote]:
        """The notes on `Tables.indexes`, in the same order."""
        return [self.note] if self.building is None else [self.note, self.building]

    async def begin_generation(self, note: IndexNote) -> None:
        """Begin to build a new generation of passages; from now on every write goes into both."""
        async with self.lock:
            self.building = None
            await self.notes.remove(BUILDING)
            await self._drop_others()
            self.building = note
            await self.reopen()
            await self.notes.write(BUILDING, dump_note(note))

    async def resume_generation(self) -> None:
        """Continue a build that a killed engine began; called when a store is opened to write it."""
        self.building = None
        if (text := await self.notes.read(BUILDING)) is not None:
            try:
                note = parse_note(text, self.path)
            except UnreadableNote:
                note = self.note
                self.repairs.append(
                    "A new index was being built, and its note is lost; run `scrubjay reindex` again."
                )
            if note.generation > self.note.generation:
                self.building = note
                await self.reopen()
            else:  # the engine was killed between the two notes
                await self.notes.remove(BUILDING)

    async def finish_generation(self) -> None:
        """Let searches use the new generation in place of the old one.

        The old one stays for running searches, until `drop_other_generations`. Nothing is done if the index
        was restarted meanwhile.
        """
        async with self.lock:
            note = self.building
            if note is None:
                return
            tables = await open_tables(self.path, note.passages, note.dim, lock=self.lock)
            self.tables, self.building = tables, None
            self.invalidate_index_stats()
            await self.write_note(note)
            await self.notes.remove(BUILDING)
            self.vectorless_writes += 1

    async def restart_index(self) -> None:
        """Search an empty index from now on, to be filled from the records; the caller holds the lock."""
        self.restarts += 1
        self.building = None
        await self.notes.remove(BUILDING)
        await self._drop_others()  # an unfinished build has the number of the next generation
        await self.write_note(self.note.next_generation(dim=self.note.dim))
        await self.reopen()
        await self._drop_others()
        self.vectorless_writes += 1

    async def drop_other_generations(self) -> None:
        """Drop all passages that are neither searched nor being built."""
        async with self.lock:
            await self._drop_others()

    async def _drop_others(self) -> None:
        dropped = await drop_other_passages(self.path, [note.passages for note in self.index_notes])
        if dropped and self.inventory is not None:
            await asyncio.to_thread(self.inventory.forget, *dropped)

    async def reopen(self) -> None:
        """Open a new connection and session: the old one keeps every superseded index file open."""
        building = None if self.building is None else (self.building.passages, self.building.dim)
        self.tables = await open_tables(
            self.path,
            self.note.passages,
            self.note.dim,
            change=self.is_writer,
            building=building,
            lock=self.lock,
        )
        self.invalidate_index_stats()


class Names:
    """The scopes of a store and the speakers in it, cached and kept current with every staged record."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._scopes: set[str] | None = None
        self._speakers: dict[str, set[str]] | None = None  # by scope
        # Scopes and speakers of staged records: a commit may hide one from a reader.
        self._staged: set[tuple[str, str | None]] = set()

    def add(self, record: AnyRecord) -> None:
        """Add the names in a staged record."""
        scope, role = _names(record)
        self._staged.add((scope, role))
        if self._scopes is not None:
            self._scopes.add(scope)
        if self._speakers is not None and role:
            self._speakers.setdefault(scope, set()).add(role)

    def clear(self) -> None:
        """Drop all names; they are read again when needed."""
        self._scopes = self._speakers = None
        self._staged = {_names(row) for kind in TABLE_OF for row in self._store.staged(kind)}

    async def scopes(self) -> frozenset[str]:
        """Return every scope that holds a record, or held one when the tables were read."""
        if self._scopes is None:
            scopes: set[str] = set()
            for name in TABLE_OF.values():
                rows = await read_table(self._store.tables.of(name).query().select(["scope"]))
                scopes.update(rows["scope"].unique().to_pylist())
            self._scopes = scopes | {scope for scope, _ in self._staged}
        return frozenset(self._scopes)

    async def speakers(self, scopes: Iterable[str] | None) -> frozenset[str]:
        """Return the names of speakers other than user and assistant in these scopes (None: everywhere)."""
        if self._speakers is None:
            query = self._store.tables.turns.query().where(conditions.present("role"))
            rows = await read_table(query.select(["scope", "role"]))
            # In Arrow, because there may be millions of turns.
            pairs = rows.group_by(["scope", "role"]).aggregate([]).to_pydict()
            self._speakers = {}
            for scope, role in (*zip(pairs["scope"], pairs["role"], strict=True), *self._staged):
                if role:
                    self._speakers.setdefault(scope, set()).add(role)
        by_scope = self._speakers
        names = by_scope.values() if scopes is None else (by_scope.get(scope, ()) for scope in scopes)
        return frozenset(name for each in names for name in each)


def _names(record: AnyRecord) -> tuple[str, str | None]:
    return record.scope, record.role if isinstance(record, Turn) else None


def _scan(table: AsyncTable) -> AsyncQuery:
    """Return `table.query()` without a look at its schema.

    LanceDB fetches the schema and walks it for blobs, which no table has. That was a tenth of a search, which
    makes up to seven queries.
    """
    return AsyncQuery(table._inner.query())


async def _rows(
    table: AsyncTable, where: Where, limit: int | None, columns: Sequence[str] | None
) -> pa.Table:
    query = _scan(table).where(where)
    if columns:
        query = query.select(list(columns))
    return await read_table(query if limit is None else query.limit(limit))


def _descending(column: str) -> list[ColumnOrdering]:
    return [ColumnOrdering(column_name=column, ascending=False)]


def _place(turn: Turn) -> Place:
    forgotten_at = None if turn.forgotten_at is None else micros(turn.forgotten_at)
    return Place(micros(turn.started_at), turn.turn, turn.id, turn.role, forgotten_at)


async def _no_other_writer() -> None:
    """Return at once: there is no other writer to wait for."""
