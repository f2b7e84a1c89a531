"""Counts how often each record was recalled.

Counts wait in memory and are written behind everything else, without a place in the write-ahead log: a crash
loses some, which costs nothing but a little recency. Every write is a version of its table and moves the
counted rows into a fragment of their own, which every later search pays for until they are compacted: a
record is written at most once an hour, and all of them together every ten minutes.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import TypeVar

from scrubjay.engine.background.tasks import failures_logged, passed
from scrubjay.models.records import Record
from scrubjay.store.bucket.inbox import access_entry
from scrubjay.store.store import Store
from scrubjay.store.upserts import AccessCount

log = logging.getLogger("scrubjay.engine.background.access")

EVERY_SECONDS = 600.0
MANY = 2_000  # records that are written at once; with 200, a busy client had a commit every fifteenth search
SELDOM = timedelta(hours=1)  # between two writes of one record

R = TypeVar("R", bound=Record)


class Access:
    """Counts recalls and writes the counts now and then; call `flush(everything=True)` at the end.

    `written` is called after each commit.
    """

    def __init__(
        self, store: Store, clock: Callable[[], datetime], written: Callable[[], None] = lambda: None
    ) -> None:
        self._store, self._clock, self._tell = store, clock, written
        self._waiting: dict[str, AccessCount] = {}
        self._written: dict[str, datetime] = {}  # within the last hour
        self._new = 0  # of those that wait, how many had not been written for an hour when they came
        self._noted = asyncio.Event()
        self._many = asyncio.Event()

    def note(self, ids: Iterable[str]) -> None:
        """Count a recall of these records."""
        now = self._clock()
        for record_id in ids:
            before = self._waiting.get(record_id)
            self._waiting[record_id] = AccessCount(before.times + 1 if before else 1, now)
            self._new += before is None and self._is_due(record_id, now)
            self._noted.set()
        if self._new >= MANY:
            self._many.set()

    def move(self, old: str, new: str) -> None:
        """Move the unwritten counts of a record to its new version."""
        if old != new and (seen := self._waiting.pop(old, None)):
            self._waiting[new] = seen

    def counted(self, record: R) -> R:
        """Return the record with its unwritten counts."""
        if (seen := self._waiting.get(record.id)) is None:
            return record
        last = max(record.last_accessed_at, seen.last)
        return record.model_copy(
            update={"access_count": record.access_count + seen.times, "last_accessed_at": last}
        )

    async def run(self) -> None:
        """Write counts for ever: ten minutes after the first one, or when there are many."""
        while True:
            await self._noted.wait()
            await passed(EVERY_SECONDS, self._many)
            self._noted.clear()
            self._many.clear()
            await self.flush()

    async def flush(self, *, everything: bool = False) -> int:
        """Write the new counts; return the number of records.

        Unless `everything` is set, records written within the hour wait.
        """
        now = self._clock()
        self._written = {record_id: at for record_id, at in self._written.items() if now - at < SELDOM}
        due = [record_id for record_id in self._waiting if everything or self._is_due(record_id, now)]
        seen = {record_id: self._waiting.pop(record_id) for record_id in due}
        self._new = 0
        if not seen:
            return 0
        with failures_logged(log, f"access counts of {len(seen)} records are lost"):  # they are worth no more
            await self._put(seen)
        self._written.update(dict.fromkeys(seen, now))
        self._tell()
        return len(seen)

    async def _put(self, seen: Mapping[str, AccessCount]) -> None:
        if self._store.shared is None or self._store.shared.is_maintainer:
            await self._store.count_access(seen)
        else:
            await self._store.shared.inbox.put([access_entry(seen)])

    def _is_due(self, record_id: str, now: datetime) -> bool:
        written = self._written.get(record_id)
        return written is None or now - written >= SELDOM
