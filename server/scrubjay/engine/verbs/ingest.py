"""The ingests of one engine, one after another, and how far each document is. Knows which one runs now; does not know who asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime

from scrubjay.models.records import Document
from scrubjay.models.results import Ingested, ListedDocument
from scrubjay.records.ingest.job import Ingest, Report, Write
from scrubjay.store import conditions
from scrubjay.store.store import Store

_COLUMNS = ["id", "title", "type", "path", "scope", "status", "error", "chunk_count", "updated_at"]


class Ingesting:
    """Runs one ingest at a time."""

    def __init__(self, store: Store, write: Write, clock: Callable[[], datetime]) -> None:
        self._store, self._write, self._clock = store, write, clock
        self._turn = asyncio.Lock()  # two ingests of one tree at once would write every file twice
        self._running: Ingest | None = None

    @property
    def working(self) -> bool:
        return self._turn.locked()

    async def run(
        self, paths: Sequence[str], *, scope: str, source: str, report: Report, again: bool = False
    ) -> Ingested:
        """See `Ingest.run`; cancelled, it leaves what was written until then."""
        async with self._turn:
            self._running = Ingest(self._store, self._write, self._clock, scope, source)
            try:
                return await self._running.run(paths, report, again=again)
            finally:
                self._running = None

    async def documents(self, scope: str | None, last: int) -> list[ListedDocument]:
        """The documents of a scope (None: everywhere): those in hand, then the stored ones, the latest first."""
        where = conditions.both(
            conditions.NOT_FORGOTTEN, None if scope is None else conditions.equal("scope", scope)
        )
        rows = sorted(
            await self._store.select(Document, where, columns=_COLUMNS),
            key=lambda row: row.updated_at,
            reverse=True,
        )[:last]
        states, own = (dict(self._running.states), self._running.scope) if self._running else ({}, None)
        waiting = await self._store.records_without_vectors([row.id for row in rows]) if rows else set()
        in_hand = [
            ListedDocument(path=path, scope=own, status=state)
            for path, state in states.items()
            if own is not None and scope in (None, own)
        ]
        return [
            *sorted(in_hand, key=lambda each: each.status == "queued")[:last],
            *(_listed(row, row.id in waiting) for row in rows),
        ]


def _listed(row: Document, waits: bool) -> ListedDocument:
    return ListedDocument(
        id=row.id,
        title=row.title,
        type=row.type,
        path=row.path,
        scope=row.scope,
        status="embedding" if waits and row.status == "done" else row.status,
        error=row.error,
        chunks=row.chunk_count,
        updated_at=row.updated_at,
    )
