"""The store: records and passages of one home, with group commit. The engine is its only user and the only writer.

A write is staged in memory (the caller has it in the write-ahead log by then) and committed by `flush`; reads by id and by session
see staged writes, a search flushes first. Everything async runs in one event loop; mutations hold one lock.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar, cast

import numpy as np
import pyarrow as pa
from lancedb.query import ColumnOrdering, MatchQuery
from numpy.typing import NDArray

from scrubjay.models.records import AnyRecord, Document, Memory, Passage, Turn
from scrubjay.store import sql
from scrubjay.store.changes import TABLE_OF, Change, Staged
from scrubjay.store.durable import Durable
from scrubjay.store.failures import not_written
from scrubjay.store.index_note import IndexNote, read_note, write_note
from scrubjay.store.schema import arrow_schema, from_table, micros, to_table
from scrubjay.store.sessions import Key, Place, Sessions
from scrubjay.store.tables import Tables, drop_table, open_tables
from scrubjay.store.upserts import put_vectors, upsert, upsert_passages

T = TypeVar("T", Turn, Memory, Document)
LEG_COLUMNS = [
    "id",
    "src",
    "record_id",
    "role",
    "text",
    "scope",
    "partition_id",
    "session_id",
    "turn",
    "dated_at",
    "importance_score",
    "space_id",
]
REFINED = 2  # times the rows asked for are weighed again by their full vectors; recall at 200 of 30,000 is 1.000, without it 0.978


class Store:
    """See the module. Open one with `open_store`."""

    def __init__(self, path: str, note: IndexNote, tables: Tables) -> None:
        self.path, self.note, self.tables = path, note, tables
        self.repairs = tables.repairs
        self.lock = asyncio.Lock()
        self._noting = asyncio.Lock()
        self.sessions = Sessions(self._places)
        self._staged, self._committing = Staged(), Staged()
        self._speakers: set[tuple[str, str]] | None = None
        self._durable = Durable(path)

    # -- writing ---------------------------------------------------------------------------------------------------

    def stage(self, change: Change) -> None:
        """Take a write for the next commit; reads by id and by session see it at once."""
        self._staged.add(change)
        if isinstance(change.record, Turn):
            self.sessions.changed((change.record.scope, change.record.session_id), _place(change.record))
            if self._speakers is not None and change.record.role:
                self._speakers.add((change.record.scope, change.record.role))

    @property
    def unwritten(self) -> int:
        return len(self._staged.changes)

    async def flush(self) -> int:
        """Commit what is staged; the number of records. A failed commit leaves everything staged.

        Raises:
            StoreError: the disk does not take it.
        """
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
            await self._put(staged)
        except (RuntimeError, OSError) as error:
            raise not_written(self.path, error) from error

    async def _put(self, staged: Staged) -> None:
        """Passages first, records last: a record on disk has its passages."""
        passages = staged.passages()
        rewritten = [id for id, change in staged.changes.items() if change.rewritten and change.passages is not None]
        if rewritten:
            kept = sql.one_of("id", (piece.id for piece in passages))
            await self.tables.passages.delete(sql.both(sql.one_of("record_id", rewritten), f"NOT ({kept})"))
        if passages:
            await upsert_passages(self.tables.passages, passages, self.note.dim, rewritten=bool(rewritten))
        bare = [id for id, change in staged.changes.items() if change.hidden and change.passages is None]
        if bare:
            await self.tables.passages.update({"hidden": True}, where=sql.one_of("record_id", bare))
        for kind, name in TABLE_OF.items():
            if rows := staged.records(kind):
                await upsert(self.tables.of(name), to_table(rows, arrow_schema(kind)))

    async def checkpoint(self) -> None:
        """Put everything committed so far on disk; only then may its envelopes leave the write-ahead log."""
        await asyncio.to_thread(self._durable.sync)

    # -- records ---------------------------------------------------------------------------------------------------

    async def get(self, kind: type[T], ids: Iterable[str]) -> dict[str, T]:
        """Records by id, staged ones first; unknown ids are left out."""
        wanted = list(dict.fromkeys(ids))
        staged = {id: found for id in wanted if isinstance(found := self._seen(id), kind)}
        if rest := [id for id in wanted if id not in staged]:
            for row in await self.select(kind, sql.one_of("id", rest)):
                staged[row.id] = row
        return staged

    async def find(self, id: str) -> AnyRecord | None:
        """The record of any kind that has this id."""
        if found := self._seen(id):
            return found
        for kind in TABLE_OF:
            if rows := await self.select(kind, sql.equal("id", id), limit=1):
                return rows[0]
        return None

    def staged(self, kind: type[T]) -> list[T]:
        """Records written but not yet committed; the latest version of each."""
        rows = {row.id: row for batch in (self._committing, self._staged) for row in batch.records(kind)}
        return cast(list[T], list(rows.values()))

    def _seen(self, id: str) -> AnyRecord | None:
        return self._staged.record(id) or self._committing.record(id)

    async def select(self, kind: type[T], where: str, *, limit: int | None = None, columns: Sequence[str] | None = None) -> list[T]:
        """Committed records that match, in no particular order."""
        query = self.tables.of(TABLE_OF[kind]).query().where(where)
        if columns:
            query = query.select(list(columns))
        if limit is not None:
            query = query.limit(limit)
        return from_table(kind, await query.to_arrow())

    async def latest(self, last: int, scope: str | None) -> list[AnyRecord]:
        """The newest committed records that are not forgotten, of every kind together, newest first."""
        where = sql.both("forgotten_at IS NULL", None if scope is None else sql.equal("scope", scope))
        rows: list[AnyRecord] = []
        for kind, name in TABLE_OF.items():
            moment = "started_at" if kind is Turn else "created_at"
            query = self.tables.of(name).query().where(where).order_by([ColumnOrdering(column_name=moment, ascending=False)])
            rows += from_table(kind, await query.limit(last).to_arrow())
        rows.sort(key=lambda row: row.started_at if isinstance(row, Turn) else row.created_at, reverse=True)
        return rows[:last]

    async def rescope(self, old: str, new: str) -> int:
        """Move every record and passage of one scope into another; how many records moved."""
        async with self.lock:
            moved = 0
            for name in ("passages", *TABLE_OF.values()):
                result = await self.tables.of(name).update({"scope": new}, where=sql.equal("scope", old))
                moved += 0 if name == "passages" else result.rows_updated
            self.sessions, self._speakers = Sessions(self._places), None
            return moved

    async def count(self, kind: type[T], where: str | None = None) -> int:
        return await self.tables.of(TABLE_OF[kind]).count_rows(where)

    async def speakers(self, scopes: Iterable[str] | None) -> frozenset[str]:
        """The names under which others than user and assistant spoke, in these scopes (None: everywhere)."""
        if self._speakers is None:
            rows = await self.select(Turn, "role IS NOT NULL", columns=["scope", "role"])
            self._speakers = {(row.scope, row.role) for row in (*rows, *self.staged(Turn)) if row.role}
        return frozenset(role for scope, role in self._speakers if scopes is None or scope in scopes)

    async def _places(self, keys: list[Key]) -> dict[Key, list[Place]]:
        where = sql.one_of("session_id", {session for _, session in keys})
        columns = ["id", "scope", "session_id", "turn", "role", "started_at", "forgotten_at"]
        rows = {row.id: row for row in await self.select(Turn, where, columns=columns)}
        rows.update((row.id, row) for row in self.staged(Turn))
        places: dict[Key, list[Place]] = {key: [] for key in keys}
        for row in rows.values():
            if (key := (row.scope, row.session_id)) in places:
                places[key].append(_place(row))
        return places

    # -- passages --------------------------------------------------------------------------------------------------

    async def by_words(self, text: str, where: str, limit: int, *, extra: Sequence[str] = ()) -> pa.Table:
        """Passages by BM25 (k1 1.2, b 0.75), best first: the leg columns, `extra` ones, and `_score`."""
        query = self.tables.passages.query().nearest_to_text(MatchQuery(text, "search_text")).where(where)
        return await query.select([*LEG_COLUMNS, *extra, "_score"]).limit(limit).to_arrow()

    async def by_vector(self, vector: NDArray[np.float32], where: str, limit: int, *, extra: Sequence[str] = ()) -> pa.Table:
        """Passages by cosine distance (1 - cos), best first, as `by_words` with `_distance`; rows without a vector are not seen."""
        query = self.tables.passages.query().nearest_to(vector).distance_type("cosine").where(where)
        query = query.refine_factor(REFINED)  # distances are exact then, with the index as without it
        return await query.select([*LEG_COLUMNS, *extra, "_distance"]).limit(limit).to_arrow()

    async def passages(self, where: str, *, limit: int | None = None, columns: Sequence[str] | None = None) -> list[Passage]:
        query = self.tables.passages.query().where(where)
        if columns:
            query = query.select(list(columns))
        if limit is not None:
            query = query.limit(limit)
        return from_table(Passage, await query.to_arrow())

    async def vectorless(self, record_ids: Iterable[str]) -> set[str]:
        """Which of these records have a passage that waits for its vector."""
        where = sql.both(sql.one_of("record_id", record_ids), "space_id IS NULL")
        return {piece.record_id for piece in await self.passages(where, columns=["record_id"])}

    async def unembedded(self, limit: int) -> list[Passage]:
        """Passages that wait for their vector, at most `limit` of them, newest first: what was just said is asked for first."""
        query = self.tables.passages.query().where("space_id IS NULL").order_by([ColumnOrdering(column_name="dated_at", ascending=False)])
        return from_table(Passage, await query.select(["id", "record_id", "text", "embed_text", "dated_at"]).limit(limit).to_arrow())

    async def count_passages(self, where: str | None = None) -> int:
        return await self.tables.passages.count_rows(where)

    async def set_vectors(self, vectors: Mapping[str, NDArray[np.float32]], space_id: str) -> None:
        """Give passages their vectors, by passage id; ids that are gone by now are passed over."""
        async with self.lock:
            await put_vectors(self.tables.passages, vectors, space_id)

    async def put_passages(self, passages: Sequence[Passage]) -> None:
        """Write passages without vectors as they are, without staging; a reindex does this."""
        if passages:
            async with self.lock:
                await upsert_passages(self.tables.passages, passages, self.note.dim, rewritten=False)

    # -- generations and connections -------------------------------------------------------------------------------

    async def write_note(self, note: IndexNote) -> None:
        self.note = note
        async with self._noting:  # the last one to be written is the latest, whoever came first
            await asyncio.to_thread(write_note, note_path(self.path), self.note)

    async def next_generation(self, dim: int) -> None:
        """Begin an empty passages table of the given width and drop the old one; the caller fills it from the records."""
        async with self.lock:
            old, note = self.note, self.note.following(dim=dim)
            self.tables = await open_tables(self.path, note.passages, note.dim)
            await self.write_note(note)
            await drop_table(self.path, old.passages)

    async def reopen(self) -> None:
        """A new connection and session: the old one keeps every superseded index file open."""
        self.tables = await open_tables(self.path, self.note.passages, self.note.dim)


async def open_store(path: str, *, dim: int | None) -> Store:
    """Open the store below `path`, creating it; `dim` is the width of the encoder's vectors, None if no encoder is known.

    Raises:
        StoreError: the files are damaged, or a newer Scrubjay wrote them.
    """
    os.makedirs(path, mode=0o700, exist_ok=True)
    note = read_note(note_path(path))
    if note is None or (note.space_id is None and dim is not None and note.dim != dim):
        note = note.following(dim=dim) if note and dim else IndexNote(dim=dim or IndexNote.dim)  # nothing embedded yet: start over
        write_note(note_path(path), note)
    return Store(path, note, await open_tables(path, note.passages, note.dim))


def _place(turn: Turn) -> Place:
    return Place(micros(turn.started_at), turn.turn, turn.id, turn.role, turn.forgotten_at is not None)


def note_path(path: str) -> str:
    return os.path.join(path, "index.json")
