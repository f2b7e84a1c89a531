"""Counts how often each record was recalled.

Counts wait in memory, and a crash loses those of the last hour, which costs only a little recency. They are
written once an hour and when the engine ends, because each write moves the counted rows into a separate
fragment, which slows down every search until a compaction.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TypeVar

from scrubjay.engine.background.tasks import failures_logged
from scrubjay.models.records import Record
from scrubjay.store.bucket.inbox import access_entry
from scrubjay.store.store import Store
from scrubjay.store.upserts import AccessCount

log = logging.getLogger("scrubjay.engine.background.access")

EVERY_SECONDS = 3_600.0

R = TypeVar("R", bound=Record)


class Access:
    """Counts recalls, and writes the counts from time to time; then `on_written` is called."""

    def __init__(self, store: Store, clock: Callable[[], datetime], on_written: Callable[[], None]) -> None:
        self._store, self._clock, self._on_written = store, clock, on_written
        self._waiting: dict[str, AccessCount] = {}

    def note(self, ids: Iterable[str]) -> None:
        """Count a recall of these records."""
        now = self._clock()
        for record_id in ids:
            count = self._waiting.get(record_id)
            self._waiting[record_id] = AccessCount(count.times + 1 if count else 1, now)

    def move(self, old: str, new: str) -> None:
        """Move the unwritten counts of a record to its new version."""
        if old != new and (count := self._waiting.pop(old, None)):
            self._waiting[new] = count

    def with_counts(self, record: R) -> R:
        """Return the record including its unwritten counts."""
        if (count := self._waiting.get(record.id)) is None:
            return record
        last = max(record.last_accessed_at, count.last)
        return record.model_copy(
            update={"access_count": record.access_count + count.times, "last_accessed_at": last}
        )

    async def run(self) -> None:
        """Write counts every hour, forever."""
        while True:
            await asyncio.sleep(EVERY_SECONDS)
            await self.flush()

    async def flush(self) -> int:
        """Write the new counts; return the number of records."""
        counts, self._waiting = self._waiting, {}
        if counts:
            shared = self._store.shared
            with failures_logged(log, f"access counts of {len(counts)} records are lost"):
                if shared is None or shared.is_maintainer:
                    await self._store.count_access(counts)
                else:
                    await shared.inbox.put([access_entry(counts)])
            self._on_written()
        return len(counts)
