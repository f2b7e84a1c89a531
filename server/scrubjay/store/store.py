"""The store: records and passages, with group commit.

Only one engine writes it; for a store in a bucket, that is the engine that maintains it. A write is already
in the write-ahead log. It is staged in memory, and `flush` commits it. Reads by id and by session see staged
writes; a search flushes first. Everything async runs in one event loop; mutations hold one lock.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar, cast

import numpy as np
import pyarrow as pa
from lancedb import AsyncTable
from numpy.typing import NDArray

from scrubjay.models.records import AnyRecord, Document, Memory, Passage, Turn
from scrubjay.store import conditions
from scrubjay.store.changes import TABLE_OF, Change, Embedding, Staged
from scrubjay.store.conditions import Where
from scrubjay.store.connection import Connection
from scrubjay.store.failures import not_written
from scrubjay.store.inventory import Rows
from scrubjay.store.names import Names
from scrubjay.store.notes import IndexNote
from scrubjay.store.passages import Passages
from scrubjay.store.queries import descending, matching_rows, scan
from scrubjay.store.schema import arrow_schema, from_table, micros, read_table, to_table
from scrubjay.store.sessions import COLUMNS, Key, Place, Sessions, place_of, places_of
from scrubjay.store.upserts import (
    AccessCount,
    passage_rows,
    put_counts,
    put_vectors,
    stored_embeddings,
    upsert,
)

_MAX_CACHED_SCOPES = 100  # sets of scopes in the cache of `has_documents`

T = TypeVar("T", Turn, Memory, Document)
Put = Callable[[AsyncTable, pa.Table], Awaitable[object]]


class Store(Connection):
    """Records and passages of one home or bucket. Open one with `store.opening`.

    `damage` lists what differs from the inventory. If another engine writes the tables, `flush` awaits
    `wait_for_writer` instead of committing.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self.passages = Passages(self)
        self.sessions = Sessions(self._places)
        self.names = Names(self, lambda: (row for kind in TABLE_OF for row in self.staged(kind)))
        self.wait_for_writer: Callable[[], Awaitable[None]] = _no_other_writer
        self.damage: tuple[str, ...] = ()
        self.readers = 0  # snapshots that read older versions; while one is open, no version is removed
        self.filling = False  # True while a task fills the index from the records
        # By version of the documents, and scopes: if there is a document.
        self._has_documents: dict[tuple[int, tuple[str, ...] | None], bool] = {}
        self._staged, self._committing = Staged(), Staged()

    # -- writing

    def stage(self, change: Change, *, fresh: bool = False) -> None:
        """Add a write to the next commit; `fresh` means that an interrupted commit cannot have written it."""
        record = change.record
        self._staged.add(change, fresh=fresh)
        self.names.add(record)
        if isinstance(record, Turn):
            self.sessions.put((record.scope, record.session_id), place_of(record))

    def unstage(self, ids: Iterable[str] | None = None) -> None:
        """Drop staged records (None: all): another engine wrote them, or they will be planned again."""
        for record_id in list(self._staged.changes) if ids is None else ids:
            self._staged.changes.pop(record_id, None)
        self.forget_cache()

    def forget_cache(self) -> None:
        """Drop cached sessions and names, because another engine wrote the tables."""
        self.sessions = Sessions(self._places)
        self.names.clear()
        self.vectorless_writes += 1

    async def flush(self) -> int:
        """Commit the staged writes; return the number of records. A failed commit leaves everything staged.

        If another engine writes the tables, wait for it, for a limited time. Raises StoreError if the disk
        refuses.
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
            # Adding new rows takes half the processor time of an upsert.
            put: Put = AsyncTable.add if staged.fresh and not await self._has_committed(staged) else upsert
            for table, note in zip(self.tables.indexes, self.index_notes, strict=True):
                await self._write_index(table, note, staged, put)
            for kind, name in TABLE_OF.items():
                if rows := staged.records(kind):
                    await put(self.tables.of(name), to_table(rows, arrow_schema(kind)))
        except (RuntimeError, ValueError, OSError, TypeError, OverflowError) as error:
            # LanceDB raises two of these types for a damaged file, and Arrow three for a value that a column
            # rejects.
            raise not_written(self.path, error) from error

    def unstorable(self) -> list[str]:
        """Return the ids of staged records with a value that no commit can write."""
        ids = []
        for record_id, change in self._staged.changes.items():
            try:
                to_table([change.record], arrow_schema(type(change.record)))
                if change.passages:
                    to_table(change.passages, arrow_schema(Passage))
            except (ValueError, TypeError, OverflowError):
                ids.append(record_id)
        return ids

    async def _has_committed(self, staged: Staged) -> bool:
        """Return True if a staged id is already in its table, as it may be after scopes were merged."""
        for kind, name in TABLE_OF.items():
            ids = [row.id for row in staged.records(kind)]
            if ids and await self.tables.of(name).count_rows(conditions.one_of("id", ids)):
                return True
        return False

    async def _write_index(self, table: AsyncTable, note: IndexNote, staged: Staged, put: Put) -> None:
        passages = staged.passages()
        if rewritten := staged.rewritten():
            is_rewritten = conditions.one_of("record_id", rewritten)
            is_kept = conditions.one_of("id", (passage.id for passage in passages))
            await table.delete(conditions.both(is_rewritten, conditions.negation(is_kept)))
        if passages:
            ids = [passage.id for passage in passages]
            embeddings = await stored_embeddings(table, ids) if rewritten else {}
            # A reindex may have begun since the vectors were computed.
            new = staged.embeddings.items()
            embeddings |= {each: embedding for each, embedding in new if embedding.space_id == note.space_id}
            await put(table, passage_rows(passages, note.dim, embeddings))
            self.vectorless_writes += not embeddings.keys() >= set(ids)
        for since, ids in staged.hidden().items():
            values = {"hidden": True, "hidden_at": None if since is None else micros(since)}
            await table.update(values, where=conditions.one_of("record_id", ids))

    async def count_access(self, counts: Mapping[str, AccessCount]) -> None:
        """Add to the access counts of committed records, by id; a staged write of a record replaces them."""
        async with self.lock:
            for name in TABLE_OF.values():
                await put_counts(self.tables.of(name), counts)

    async def checkpoint(self) -> None:
        """Sync everything committed so far to disk; only then may its envelopes be removed from the log."""
        if self.inventory is not None:  # a bucket is durable
            try:
                # Count before the sync, so that all counted rows get synced.
                rows = await self.count_rows(earlier=self.inventory.rows)
            except RuntimeError:  # a damaged table: record nothing new about it
                rows = {}
            await asyncio.to_thread(self.inventory.sync_new, rows)

    # -- records

    async def get(
        self, kind: type[T], ids: Iterable[str], *, columns: Sequence[str] | None = None
    ) -> dict[str, T]:
        """Return records by id, in their staged version if they have one; unknown ids are left out.

        Of committed records, only `columns` and the id are read; by default all columns.
        """
        wanted = list(dict.fromkeys(ids))
        staged = ((record_id, self._staged_record(record_id)) for record_id in wanted)
        records = {record_id: row for record_id, row in staged if isinstance(row, kind)}
        if missing := [record_id for record_id in wanted if record_id not in records]:
            records.update(await self._committed(kind, missing, columns))
        return records

    async def _committed(self, kind: type[T], ids: list[str], columns: Sequence[str] | None) -> dict[str, T]:
        """Read committed records, from memory where possible."""
        name = TABLE_OF[kind]
        table, cache = self.tables.of(name), self.tables.cached_records.get(name)
        if cache and columns is None and (records := await cache.get(table, ids)) is not None:
            return records
        rows = await cache.columns(table, ids, list(columns)) if cache and columns else None
        if rows is None:
            rows = await matching_rows(table, conditions.one_of("id", ids), columns=columns)
        return {row.id: row for row in from_table(kind, rows)}

    async def find(self, record_id: str) -> AnyRecord | None:
        """Return the record of any kind with this id."""
        if staged := self._staged_record(record_id):
            return staged
        for kind in TABLE_OF:
            if rows := await self.select(kind, conditions.equal("id", record_id), limit=1):
                return rows[0]
        return None

    def is_staged(self, record_id: str) -> bool:
        """Return True if the newest version of this record is staged, not yet committed."""
        return self._staged_record(record_id) is not None

    def staged(self, kind: type[T]) -> list[T]:
        """Return the latest version of each record that is staged or being committed."""
        rows = {row.id: row for batch in (self._committing, self._staged) for row in batch.records(kind)}
        return cast(list[T], list(rows.values()))

    def _staged_record(self, record_id: str) -> AnyRecord | None:
        return self._staged.record(record_id) or self._committing.record(record_id)

    async def select(
        self, kind: type[T], where: Where, *, limit: int | None = None, columns: Sequence[str] | None = None
    ) -> list[T]:
        """Return committed records that match, in no particular order."""
        return from_table(kind, await matching_rows(self.tables.of(TABLE_OF[kind]), where, limit, columns))

    async def select_newest(
        self,
        kind: type[T],
        where: Where,
        is_match: Callable[[T], bool],
        *,
        columns: Sequence[str] | None = None,
    ) -> list[T]:
        """Return matching records in their latest version, staged or committed.

        `is_match` tests on a record what `where` tests on a row, and it uses only `columns`.
        """
        staged = self.staged(kind)  # read before the disk, because a commit in between could hide one
        rows = {row.id: row for row in await self.select(kind, where, columns=columns)}
        rows.update((row.id, row) for row in staged)
        return [row for row in rows.values() if is_match(row)]

    async def latest(
        self,
        limit: int,
        scope: str | None,
        now: datetime,
        *,
        kinds: Iterable[type[AnyRecord]] = tuple(TABLE_OF),
        **values: str | Collection[str] | None,
    ) -> list[AnyRecord]:
        """Return the newest current records of these kinds, without commits, newest first."""
        rows: list[AnyRecord] = []
        for kind in kinds:
            matching = conditions.matching(scope=scope, **values)
            not_a_commit = conditions.NOT_A_COMMIT if kind is Document else None
            where = conditions.both(conditions.current(kind, now), matching, not_a_commit)
            rows += await self.newest(kind, where, limit)  # type: ignore[type-var]
        rows.sort(key=lambda row: row.started_at if isinstance(row, Turn) else row.created_at, reverse=True)
        return rows[:limit]

    async def newest(self, kind: type[T], where: Where, limit: int) -> list[T]:
        """Return the newest committed records of one kind that match, newest first."""
        order = descending("started_at" if kind is Turn else "created_at")
        query = scan(self.tables.of(TABLE_OF[kind])).where(where)
        return from_table(kind, await read_table(query.order_by(order).limit(limit)))

    async def count(self, kind: type[T], where: Where | None = None) -> int:
        """Count the committed records that match."""
        return await self.tables.of(TABLE_OF[kind]).count_rows(where)

    async def has_documents(self, scopes: tuple[str, ...] | None) -> bool:
        """Return True if these scopes have a document; counted once per version of the documents."""
        key = await self.tables.documents.version(), scopes
        if key not in self._has_documents:
            if len(self._has_documents) >= _MAX_CACHED_SCOPES:
                self._has_documents = {}
            where = conditions.both(conditions.NOT_FORGOTTEN, conditions.matching(scope=scopes))
            self._has_documents[key] = await self.count(Document, where) > 0
        return self._has_documents[key]

    async def count_rows(self, earlier: Mapping[str, Rows]) -> dict[str, Rows]:
        """Return the number of rows and the version of each table, by its name on disk.

        A table whose version is in `earlier` is not counted again; one that is written meanwhile is left out.
        """
        counts = {}
        for name, table in self.tables.by_name(self.note.passages).items():
            version, rows = await table.version(), earlier.get(name)
            if rows is None or rows.version != version:
                rows = Rows(await table.count_rows(), version)
            if await table.version() == version:
                counts[name] = rows
        return counts

    async def rescope(self, old: str, new: str) -> int:
        """Move every record and passage of one scope into another; return the number of records."""
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
        staged = self.staged(Turn)  # read before the disk, because a commit in between could hide one
        places = places_of(keys, await matching_rows(self.tables.turns, where, columns=COLUMNS))
        for turn in staged:
            if (session := places.get((turn.scope, turn.session_id))) is not None:
                session[turn.id] = place_of(turn)
        return {key: list(session.values()) for key, session in places.items()}

    # -- passages

    async def records_without_vectors(self, record_ids: Iterable[str]) -> set[str]:
        """Return those of the records that have a passage without a vector, staged or committed."""
        staged_records = self._committing.without_vectors() | self._staged.without_vectors()
        ids = set(record_ids)
        unembedded = {record_id for record_id in ids if staged_records.get(record_id)}
        if committed := ids - staged_records.keys():
            where = conditions.both(conditions.one_of("record_id", committed), conditions.NO_VECTOR)
            passages = await self.passages.select(where, columns=["record_id"])
            unembedded.update(row.record_id for row in passages)
        return unembedded

    async def set_vectors(
        self,
        vectors: Mapping[str, NDArray[np.float32]],
        space_id: str,
        codes: Mapping[str, bytes] | None = None,
    ) -> bool:
        """Store the vectors of passages and the codes of their tokens, by id; unknown ids are ignored.

        Return True if committed rows had to be rewritten; staged passages get theirs with the commit.
        """
        codes = codes or {}
        embeddings = {each: Embedding(vectors[each], codes.get(each), space_id) for each in vectors}
        if committed := self._staged.embed(embeddings):
            async with self.lock:
                if committed := self._staged.embed(committed):  # a failed commit stages its passages again
                    await put_vectors(self.tables.passages, committed)
        return bool(committed)

    async def refill(
        self, kind: type[T], ids: Collection[str], cut: Callable[[T], Iterable[Passage]]
    ) -> None:
        """Rebuild the passages of these records, without staging; unchanged ones keep their vectors.

        Write them into the generation being built, or else into the one that is searched. The lock is held,
        so that no newer version of a record is committed between reading it and writing its passages.
        """
        async with self.lock:
            rows = await self.select(kind, conditions.one_of("id", ids)) if ids else []
            if passages := [passage for row in rows for passage in cut(row)]:
                table, note = self.tables.indexes[-1], self.index_notes[-1]
                embeddings = await stored_embeddings(table, (passage.id for passage in passages))
                await upsert(table, passage_rows(passages, note.dim, embeddings))
                self.vectorless_writes += 1


async def _no_other_writer() -> None:
    """Return at once: there is no other writer to wait for."""
