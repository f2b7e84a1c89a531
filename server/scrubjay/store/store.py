"""The store: records and passages, with group commit. One engine writes it; of a store in a bucket, the one that maintains it.

A write is staged in memory (the caller has it in the write-ahead log by then) and committed by `flush`; reads by id and by session
see staged writes, a search flushes first. Everything async runs in one event loop; mutations hold one lock.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TypeVar, cast

import numpy as np
import pyarrow as pa
from lancedb.query import ColumnOrdering
from numpy.typing import NDArray

from scrubjay.models.records import AnyRecord, Document, Memory, Passage, Turn
from scrubjay.store import conditions, legs
from scrubjay.store.bucket.sharing import Shared
from scrubjay.store.changes import TABLE_OF, Change, Staged
from scrubjay.store.conditions import Where
from scrubjay.store.failures import not_written
from scrubjay.store.legs import scan
from scrubjay.store.notes import INDEX, FileNotes, IndexNote, Notes, dump_note
from scrubjay.store.schema import arrow_schema, from_table, micros, to_table
from scrubjay.store.sessions import COLUMNS, Key, Place, Sessions, places_of
from scrubjay.store.tables import Tables, drop_table, open_tables
from scrubjay.store.upserts import AccessCount, put_counts, put_vectors, upsert, upsert_passages

T = TypeVar("T", Turn, Memory, Document)


class Store:
    """See the module. Open one with `store.opening`; `shared` is its part in a store that other engines use too.

    `wait_for_writer` is awaited in place of a commit where another engine writes the tables.
    """

    def __init__(self, path: str, note: IndexNote, tables: Tables, shared: Shared | None = None) -> None:
        self.path, self.note, self.tables, self.shared = path, note, tables, shared
        self.notes: Notes = shared.notes if shared else FileNotes(path)
        self.wait_for_writer: Callable[[], Awaitable[None]] = _nothing
        self.repairs = tables.repairs
        self.lock = asyncio.Lock()
        self.readers = 0  # of versions that are not the newest; while there are any, none is removed
        self._noting = asyncio.Lock()
        self.sessions = Sessions(self._places)
        self._staged, self._committing = Staged(), Staged()
        self.names = Names(
            lambda: self.tables,
            lambda: [
                change.record
                for batch in (self._committing, self._staged)
                for change in batch.changes.values()
            ],
        )
        self._durable = None if shared else Durable(path)  # what a bucket has taken, it keeps

    @property
    def writes(self) -> bool:
        """Whether this engine is the one that writes the tables."""
        return self.shared is None or self.shared.maintains

    # -- writing ---------------------------------------------------------------------------------------------------

    def stage(self, change: Change) -> None:
        """Take a write for the next commit; reads by id and by session see it at once."""
        self._staged.add(change)
        self.names.written(change.record)
        if isinstance(change.record, Turn):
            self.sessions.changed((change.record.scope, change.record.session_id), _place(change.record))

    def unstage(self, ids: Iterable[str] | None = None) -> None:
        """Let go of staged records (None: of all): another engine has written them, or they are planned anew."""
        for id in list(self._staged.changes) if ids is None else ids:
            self._staged.changes.pop(id, None)
        self.forget_cache()

    def forget_cache(self) -> None:
        """Somebody else wrote the tables: what is remembered of them is read anew."""
        self.sessions = Sessions(self._places)
        self.names.clear()

    async def flush(self) -> int:
        """Commit what is staged; the number of records. A failed commit leaves everything staged.

        Where another engine writes, wait for it instead, as long as that makes sense.

        Raises:
            StoreError: the disk does not take it.
        """
        if not self.writes:
            await self.wait_for_writer()
            return 0
        return await self.commit()

    async def commit(self) -> int:
        """As `flush`, by the engine that writes the tables; it is an error by any other."""
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
                raise
            finally:
                done, self._committing = len(self._committing.changes), Staged()
            return done

    async def _commit(self, staged: Staged) -> None:
        try:
            if not self.writes:  # the lease went while this waited for its turn
                raise OSError(f"another engine maintains the store now ({self.path})")
            await commit(self.tables, staged, self.note.dim)
        except (RuntimeError, OSError) as error:
            raise not_written(self.path, error) from error

    async def count_access(self, seen: Mapping[str, AccessCount]) -> None:
        """Add to the access counts of committed records of any kind, by id; a staged write of one of them wins over its count."""
        async with self.lock:
            for name in TABLE_OF.values():
                await put_counts(self.tables.of(name), seen)

    async def checkpoint(self) -> None:
        """Put everything committed so far on disk; only then may its envelopes leave the write-ahead log."""
        if self._durable is not None:
            await asyncio.to_thread(self._durable.sync)

    # -- records ---------------------------------------------------------------------------------------------------

    async def get(
        self, kind: type[T], ids: Iterable[str], *, columns: Sequence[str] | None = None
    ) -> dict[str, T]:
        """Records by id, staged ones first; unknown ids are left out. `columns` (with the id) are read of committed ones, else all."""
        wanted = list(dict.fromkeys(ids))
        staged = {id: found for id in wanted if isinstance(found := self._seen(id), kind)}
        if rest := [id for id in wanted if id not in staged]:
            for row in await self.select(kind, conditions.one_of("id", rest), columns=columns):
                staged[row.id] = row
        return staged

    async def find(self, id: str) -> AnyRecord | None:
        """The record of any kind that has this id."""
        if found := self._seen(id):
            return found
        for kind in TABLE_OF:
            if rows := await self.select(kind, conditions.equal("id", id), limit=1):
                return rows[0]
        return None

    def is_staged(self, id: str) -> bool:
        """Whether the newest version of this record is not committed yet."""
        return self._seen(id) is not None

    def staged(self, kind: type[T]) -> list[T]:
        """Records written but not yet committed; the latest version of each."""
        rows = {row.id: row for batch in (self._committing, self._staged) for row in batch.records(kind)}
        return cast(list[T], list(rows.values()))

    def _seen(self, id: str) -> AnyRecord | None:
        return self._staged.record(id) or self._committing.record(id)

    async def select(
        self, kind: type[T], where: Where, *, limit: int | None = None, columns: Sequence[str] | None = None
    ) -> list[T]:
        """Committed records that match, in no particular order."""
        query = scan(self.tables.of(TABLE_OF[kind])).where(where)
        if columns:
            query = query.select(list(columns))
        if limit is not None:
            query = query.limit(limit)
        return from_table(kind, await query.to_arrow())

    async def latest(self, last: int, scope: str | None, now: datetime) -> list[AnyRecord]:
        """The newest committed records that are neither forgotten, expired nor replaced, of every kind together, newest first."""
        here = None if scope is None else conditions.equal("scope", scope)
        rows: list[AnyRecord] = []
        for kind, name in TABLE_OF.items():
            moment = ColumnOrdering(
                column_name="started_at" if kind is Turn else "created_at", ascending=False
            )
            query = scan(self.tables.of(name)).where(conditions.both(conditions.current(kind, now), here))
            rows += from_table(kind, await query.order_by([moment]).limit(last).to_arrow())
        rows.sort(key=lambda row: row.started_at if isinstance(row, Turn) else row.created_at, reverse=True)
        return rows[:last]

    async def rescope(self, old: str, new: str) -> int:
        """Move every record and passage of one scope into another; how many records moved."""
        async with self.lock:
            moved = 0
            for name in ("passages", *TABLE_OF.values()):
                result = await self.tables.of(name).update(
                    {"scope": new}, where=conditions.equal("scope", old)
                )
                moved += 0 if name == "passages" else result.rows_updated
            self.forget_cache()
            return moved

    async def count(self, kind: type[T], where: Where | None = None) -> int:
        return await self.tables.of(TABLE_OF[kind]).count_rows(where)

    async def _places(self, keys: list[Key]) -> dict[Key, list[Place]]:
        where = conditions.one_of("session_id", {session for _, session in keys})
        places = places_of(keys, await scan(self.tables.turns).where(where).select(COLUMNS).to_arrow())
        for row in self.staged(Turn):
            if (session := places.get((row.scope, row.session_id))) is not None:
                session[row.id] = _place(row)
        return {key: list(session.values()) for key, session in places.items()}

    # -- passages --------------------------------------------------------------------------------------------------

    async def by_words(self, text: str, where: Where, limit: int, *, extra: Sequence[str] = ()) -> pa.Table:
        """Passages by BM25 (k1 1.2, b 0.75), best first: the leg columns, `extra` ones, and `_score`."""
        return await legs.by_words(self.tables.passages, text, where, limit, extra)

    async def by_vector(
        self, vector: NDArray[np.float32], where: Where, limit: int, *, extra: Sequence[str] = ()
    ) -> pa.Table:
        """Passages by cosine distance (1 - cos) to a vector of length 1, best first, as `by_words` with `_distance`.

        Rows without a vector are not seen.
        """
        return await legs.by_vector(self.tables.passages, vector, where, limit, extra)

    async def by_ties(
        self, words: Iterable[str], where: Where, limit: int, columns: Sequence[str]
    ) -> list[Passage]:
        """Passages that have one of these ties, by their words; first those that share the most and the rarest."""
        return from_table(Passage, await legs.by_ties(self.tables.passages, words, where, limit, columns))

    async def passages(
        self, where: Where, *, limit: int | None = None, columns: Sequence[str] | None = None
    ) -> list[Passage]:
        query = scan(self.tables.passages).where(where)
        if columns:
            query = query.select(list(columns))
        if limit is not None:
            query = query.limit(limit)
        return from_table(Passage, await query.to_arrow())

    async def records_without_vectors(self, record_ids: Iterable[str]) -> set[str]:
        """Which of these records have a passage that waits for its vector."""
        where = conditions.both(conditions.one_of("record_id", record_ids), conditions.missing("space_id"))
        return {piece.record_id for piece in await self.passages(where, columns=["record_id"])}

    async def passages_without_vectors(self, limit: int, where: Where = conditions.missing("space_id")) -> list[Passage]:
        """Passages that wait for their vector, at most `limit` of them, newest first: what was just said is asked for first."""
        query = (
            scan(self.tables.passages)
            .where(where)
            .order_by([ColumnOrdering(column_name="dated_at", ascending=False)])
        )
        columns = ["id", "src", "record_id", "role", "part", "text", "embed_text", "dated_at"]
        return from_table(Passage, await query.select(columns).limit(limit).to_arrow())

    async def count_passages(self, where: Where | None = None) -> int:
        return await self.tables.passages.count_rows(where)

    async def set_vectors(
        self,
        vectors: Mapping[str, NDArray[np.float32]],
        space_id: str,
        codes: Mapping[str, bytes] | None = None,
    ) -> None:
        """Give passages their vectors and the codes of their tokens, by passage id; ids that are gone by now are passed over."""
        async with self.lock:
            await put_vectors(self.tables.passages, vectors, codes or {}, space_id)

    async def refill(self, kind: type[T], ids: Iterable[str], cut: Callable[[T], Iterable[Passage]]) -> None:
        """Make the passages of these records anew, without staging; those that are the same keep their vectors.

        Under one lock, so that no newer version of a record is committed between its reading and the writing of its passages.
        """
        async with self.lock:
            passages = [
                piece for row in await self.select(kind, conditions.one_of("id", ids)) for piece in cut(row)
            ]
            if passages:
                await upsert_passages(self.tables.passages, passages, self.note.dim, rewritten=True)

    # -- generations and connections -------------------------------------------------------------------------------

    async def write_note(self, note: IndexNote) -> None:
        self.note = note
        async with self._noting:  # the last one to be written is the latest, whoever came first
            await self.notes.write(INDEX, dump_note(self.note))

    async def next_generation(self, dim: int) -> None:
        """Begin an empty passages table of the given width and drop the old one; the caller fills it from the records."""
        async with self.lock:
            old, note = self.note, self.note.next_generation(dim=dim)
            self.tables = await open_tables(self.path, note.passages, note.dim)
            await self.write_note(note)
            if self.shared is None:  # others may still search it; `Upkeep.sweep` drops it later
                await drop_table(self.path, old.passages)

    async def reopen(self) -> None:
        """A new connection and session: the old one keeps every superseded index file open."""
        self.tables = await open_tables(self.path, self.note.passages, self.note.dim, change=self.writes)


def _place(turn: Turn) -> Place:
    forgotten_at = None if turn.forgotten_at is None else micros(turn.forgotten_at)
    return Place(micros(turn.started_at), turn.turn, turn.id, turn.role, forgotten_at)


async def _nothing() -> None:
    """There is nobody else to wait for."""


async def commit(tables: Tables, staged: Staged, dim: int) -> None:
    """Passages first, records last: a record on disk has its passages."""
    passages = staged.passages()
    rewritten = [
        id for id, change in staged.changes.items() if change.rewritten and change.passages is not None
    ]
    if rewritten:
        kept = conditions.one_of("id", (piece.id for piece in passages))
        await tables.passages.delete(
            conditions.both(conditions.one_of("record_id", rewritten), conditions.negation(kept))
        )
    if passages:
        await upsert_passages(tables.passages, passages, dim, rewritten=bool(rewritten))
    for since, ids in staged.hidden().items():
        values = {"hidden": True, "hidden_at": None if since is None else micros(since)}
        await tables.passages.update(values, where=conditions.one_of("record_id", ids))
    for kind, name in TABLE_OF.items():
        if rows := staged.records(kind):
            await upsert(tables.of(name), to_table(rows, arrow_schema(kind)))


class Names:
    """Of one store; `staged` gives the records that are written and not yet committed."""

    def __init__(self, tables: Callable[[], Tables], staged: Callable[[], Iterable[AnyRecord]]) -> None:
        self._tables, self._staged = tables, staged
        self._scopes: set[str] | None = None
        self._speakers: dict[str, set[str]] | None = None  # by scope

    def written(self, record: AnyRecord) -> None:
        """Learn from a record that is staged."""
        if self._scopes is not None:
            self._scopes.add(record.scope)
        if self._speakers is not None and isinstance(record, Turn) and record.role:
            self._speakers.setdefault(record.scope, set()).add(record.role)

    def clear(self) -> None:
        """Read all of them anew when they are next asked for."""
        self._scopes = self._speakers = None

    async def scopes(self) -> frozenset[str]:
        """Every scope that holds a record, or held one when it was read."""
        if self._scopes is None:
            seen = {record.scope for record in self._staged()}
            for name in TABLE_OF.values():
                rows = await self._tables().of(name).query().select(["scope"]).to_arrow()
                seen.update(rows["scope"].unique().to_pylist())
            self._scopes = seen
        return frozenset(self._scopes)

    async def speakers(self, scopes: Iterable[str] | None) -> frozenset[str]:
        """The names under which others than user and assistant spoke, in these scopes (None: everywhere)."""
        if self._speakers is None:
            rows = (
                await self._tables()
                .turns.query()
                .where(conditions.present("role"))
                .select(["scope", "role"])
                .to_arrow()
            )
            pairs = (
                rows.group_by(["scope", "role"]).aggregate([]).to_pydict()
            )  # in Arrow: there may be millions of turns
            staged = (
                (turn.scope, turn.role) for turn in self._staged() if isinstance(turn, Turn) and turn.role
            )
            self._speakers = {}
            for scope, role in (*zip(pairs["scope"], pairs["role"], strict=True), *staged):
                self._speakers.setdefault(scope, set()).add(role)
        names = (
            self._speakers.values() if scopes is None else (self._speakers.get(scope, ()) for scope in scopes)
        )
        return frozenset(role for found in names for role in found)


class Durable:
    """Remembers which files below `root` were synced, so that each is synced once."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._known: set[str] = set()

    def sync(self) -> int:
        """Put every new file below the root on disk, then the folders that hold them; the number of files. Blocks; call in a thread."""
        fresh, folders, seen = [], set(), set()
        for folder, _, names in os.walk(self.root):
            for name in names:
                path = os.path.join(folder, name)
                seen.add(path)
                if path not in self._known:
                    fresh.append(path)
                    folders.add(folder)
        for path in fresh:
            _fsync(path)
        for folder in folders:
            _fsync(folder)
        self._known = seen
        return len(fresh)


def _fsync(path: str) -> None:
    # A file may be gone again: compaction and clean-up remove what newer versions replaced.
    with suppress(FileNotFoundError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
