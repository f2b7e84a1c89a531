"""Counts how often each record was recalled.

Counts wait in memory and are written after everything else, without an entry in the write-ahead log: a crash
loses some of them, which costs only a little recency. Every write creates a version of its table and moves
the counted rows into a separate fragment, which slows down every search until a compaction. Therefore a
record is written at most once an hour, and all records together every ten minutes.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import TypeVar

from scrubjay.engine.background.tasks import failures_logged
from scrubjay.models.records import Record
from scrubjay.store.bucket.inbox import access_entry
from scrubjay.store.store import Store
from scrubjay.store.upserts import AccessCount

log = logging.getLogger("scrubjay.engine.background.access")

EVERY_SECONDS = 600.0
SELDOM = timedelta(hours=1)  # the least time between two writes of one record

R = TypeVar("R", bound=Record)


class Access:
    """Counts recalls and writes the counts from time to time; call `flush(everything=True)` at the end.

    `on_written` is called after each commit.
    """

    def __init__(self, store: Store, clock: Callable[[], datetime], on_written: Callable[[], None]) -> None:
        self._store, self._clock, self._on_written = store, clock, on_written
        self._waiting: dict[str, AccessCount] = {}
        self._written: dict[str, datetime] = {}  # when records were written, within the last hour
        self._has_counts = asyncio.Event()

    def note(self, ids: Iterable[str]) -> None:
        """Count a recall of these records."""
        now = self._clock()
        for record_id in ids:
            count = self._waiting.get(record_id)
            self._waiting[record_id] = AccessCount(count.times + 1 if count else 1, now)
            self._has_counts.set()

    def move(self, old: str, new: str) -> None:
        """Move the unwritten counts of a record to its new version."""
        if old != new and (count := self._waiting.pop(old, None)):
            self._waiting[new] = count

    def counted(self, record: R) -> R:
        """Return the record including its unwritten counts."""
        if (count := self._waiting.get(record.id)) is None:
            return record
        last = max(record.last_accessed_at, count.last)
        return record.model_copy(
            update={"access_count": record.access_count + count.times, "last_accessed_at": last}
        )

    async def run(self) -> None:
        """Write counts forever, each time ten minutes after the first one."""
        while True:
            await self._has_counts.wait()
            await asyncio.sleep(EVERY_SECONDS)
            self._has_counts.clear()
            await self.flush()

    async def flush(self, *, everything: bool = False) -> int:
        """Write the new counts; return the number of records.

        Records that were written within the last hour wait, unless `everything` is set.
        """
        now = self._clock()
        self._written = {
            record_id: written_at
            for record_id, written_at in self._written.items()
            if now - written_at < SELDOM
        }
        due = [record_id for record_id in self._waiting if everything or self._is_due(record_id, now)]
        counts = {record_id: self._waiting.pop(record_id) for record_id in due}
        if not counts:
            return 0
        with failures_logged(log, f"access counts of {len(counts)} records are lost"):  # not worth a retry
            await self._put(counts)
        self._written.update(dict.fromkeys(counts, now))
        self._on_written()
        return len(counts)

    async def _put(self, counts: Mapping[str, AccessCount]) -> None:
        if self._store.shared is None or self._store.shared.is_maintainer:
            await self._store.count_access(counts)
        else:
            await self._store.shared.inbox.put([access_entry(counts)])

    def _is_due(self, record_id: str, now: datetime) -> bool:
        written = self._written.get(record_id)
        return written is None or now - written >= SELDOM
