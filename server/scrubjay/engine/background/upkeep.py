"""Keeps LanceDB's files few and small: compacts, adds new rows to the indexes, removes old versions.

Measured on LanceDB 0.40: every commit adds a fragment and a manifest that lists all fragments, so 2,000
single appends make searches 30 times slower and the folder 8 times larger. Every full-text index version that
was opened keeps its files open until the session is dropped.
"""

import asyncio
import logging
import math
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, NamedTuple

from scrubjay.engine.background.tasks import quiet_for
from scrubjay.store import conditions
from scrubjay.store.allocator import give_memory_back
from scrubjay.store.bucket.sharing import VERSION_LIFETIME
from scrubjay.store.store import Store
from scrubjay.store.tables import index_vectors, vector_segments

log = logging.getLogger("scrubjay.engine.background.upkeep")

IDLE_SECONDS = 3.0  # a compaction rewrites its table, so if it can, it waits for this time without a write
# Least passages with a vector for which the vector index is built. So many could be compared in memory, but
# compactions do not rewrite indexed rows. With 10,000 turns and no index, the engine's peak was 796 MB, not
# 692 MB, and a search waited for a write for 4.4 s, not 0.9 s.
VECTORS = 1_000
# With more rows than this, a compaction or a vector index takes seconds, so the table has wider bounds.
LARGE = 50_000
LARGE_TABLE_SLACK = 4  # the bounds of such a table are multiplied by this
# Segments at which the vector index is rebuilt, because fragments of different segments never merge. A
# rebuild takes 0.3 s for 30,000 passages.
VECTOR_SEGMENTS = 4
# A version is kept for this time after it was superseded, because a query of this process may still read it.
# Where other processes write, 5 s was measured to be enough, while with 0 s removed rows came back.
KEEP_VERSIONS = timedelta(seconds=30)
READ_SECONDS = 1.0  # after this time, no query still reads files that a compaction replaced
LOOK_EVERY = 4  # commits between checks; checking four tables costs 4 ms of processor time, a commit 10 ms
# After this time without a write, every superseded version is old enough to be removed.
QUIET_SECONDS = KEEP_VERSIONS.total_seconds() + 30.0
KEEP_ALL = timedelta(days=7)
KEEP_READ = timedelta(days=36_500)  # while a reader uses an older version, however old
# Compactions after which the store is reopened, because each leaves 2-4 file descriptors and about 15 MB of
# superseded index pages in the old session.
REOPEN_AFTER = 2
ORPHANS_EVERY = 86_400.0  # seconds between two removals of files that failed writes left
_INDEXES = ("passages", "building")  # the tables with a word index and a vector index


class Bounds(NamedTuple):
    """A table of up to `LARGE` rows is compacted above these limits; 5,000 rows take 0.05 s.

    A fragment costs 0.45 ms in each of the five to seven look-ups of a search. Passages outside the word
    index are searched by reading them: 256 passages of 900 characters cost 12 ms, and 768 cost 25 ms. A
    search of 6,000 passages took 52 ms of processor time with 4 segments, and so 8 fragments, and 37 ms with
    one segment.
    """

    fragments: int
    unindexed: int
    segments: int = VECTOR_SEGMENTS


BUSY, IDLE = Bounds(24, 500, 24), Bounds(4, 50)


class Upkeep:
    """Maintains the tables of one store; `failures` counts compactions that failed in a row.

    After each failed compaction, `failed` is called.
    `is_resting` returns True if no passage waits for its vector, because the time between two batches of a
    long ingest is not a pause.
    """

    def __init__(
        self,
        store: Store,
        is_resting: Callable[[], bool] = lambda: True,
        failed: Callable[[], None] = lambda: None,
    ) -> None:
        self._store, self._is_resting, self._failed = store, is_resting, failed
        self._wake = asyncio.Event()
        self._since_reopened = 0
        self._commits = 0  # since the last look
        self._orphans_removed = -math.inf
        self.failures = 0
        self.compactions = 0
        self.working = False

    def wake(self, commits: int = 1) -> None:
        """Note a commit; vectors of a backlog count as several commits, because they rewrite many rows."""
        self._commits += commits
        self._wake.set()

    async def run(self) -> None:
        """Compact tables over their limits at once and others when idle, and drop old versions, forever."""
        while True:
            if await quiet_for(QUIET_SECONDS, self._wake):
                await self.prune()
                await self._wake.wait()
            self._wake.clear()
            if self._commits >= LOOK_EVERY:
                await self.tidy(BUSY)
            if await quiet_for(IDLE_SECONDS, self._wake) and self._is_resting():
                await self.tidy(IDLE)

    async def tidy(self, bounds: Bounds) -> int:
        """Compact the tables that are over their limits, if this engine writes them; return how many."""
        due: list[str] = []
        if not self._store.is_writer:
            return 0
        self._commits = 0
        old_tables = self._store.tables
        async with self._counting_failures():
            due = [name for name in self._store.tables.names if await self._is_due(name, bounds)]
            for name in due:
                await self._compact(name, bounds)
            if due:
                await self._store.tables.warm(old_tables)
        return len(due)

    async def prune(self) -> None:
        """Remove versions that were superseded a while ago.

        A bulk load of 10,000 turns leaves 3 GB of older versions for 0.1 GB of data.
        """
        if self._store.is_writer:
            old_tables = self._store.tables
            async with self._counting_failures():
                for name in self._store.tables.names:
                    await self._compact(name, IDLE, pause=READ_SECONDS)
                await self._store.tables.warm(old_tables)
                if self._store.shared is None:  # otherwise another engine may still search them; see `sweep`
                    await self._store.drop_other_generations()

    @asynccontextmanager
    async def _counting_failures(self) -> AsyncIterator[None]:
        self.working = True
        try:
            yield
        except (RuntimeError, ValueError, OSError) as error:  # errors of LanceDB; the data is unchanged
            self.failures += 1
            self._failed()
            level = logging.WARNING if self.failures >= 3 else logging.INFO
            log.log(level, "compaction failed %d times: %s", self.failures, error)
        finally:
            self.working = False

    async def _is_due(self, name: str, bounds: Bounds) -> bool:
        if name not in self._store.tables.names:  # a reindex ended meanwhile
            return False
        table = self._store.tables.of(name)
        stats: Any = await table.stats()
        slack = LARGE_TABLE_SLACK if stats["num_rows"] > LARGE else 1
        segments = await vector_segments(table) if name in _INDEXES else 0
        if stats["fragment_stats"]["num_fragments"] > bounds.fragments * slack + segments:
            return True
        if name not in _INDEXES:
            return False
        index = await table.index_stats("search_text_idx")
        if index is not None and index.num_unindexed_rows > bounds.unindexed:
            return True
        return segments >= bounds.segments * slack

    async def _compact(self, name: str, bounds: Bounds, *, pause: float = 0.0) -> None:
        """Compact a table, sync the result to the disk, and only then remove the versions that it replaces.

        `pause` gives a running query time to finish if its version is older than `KEEP_VERSIONS`. Writes
        may happen between the steps, because each step takes seconds for a table with many rows.
        """
        if not await self._optimize(name, self._retention(KEEP_ALL)):
            return
        # Segments are joined after the first compaction, when every index has every row. Otherwise missing
        # rows would stay separate, and the next compaction would rewrite all rows: for 30,000 passages in 4.4
        # to 5.2 s, not 2.8 to 3.3 s.
        if name in _INDEXES and await self._join_segments(name, bounds):
            await self._optimize(name, self._retention(KEEP_ALL))
        await self._store.checkpoint()
        await asyncio.sleep(pause)
        if not await self._optimize(name, self._retention(KEEP_VERSIONS), orphans=True):
            return
        async with self._store.lock:
            self.compactions += 1
            self._since_reopened += 1
            self.failures = 0
            if self._since_reopened >= REOPEN_AFTER:
                self._since_reopened = 0
                await self._store.reopen()
        give_memory_back()

    async def _optimize(self, name: str, keep: timedelta, *, orphans: bool = False) -> bool:
        """Compact a table and add new rows to its indexes; return False if the table was replaced."""
        async with self._store.lock:
            if name not in self._store.tables.names:
                return False
            await self._store.tables.of(name).optimize(
                cleanup_older_than=keep, delete_unverified=orphans and self._are_orphans_due()
            )
            return True

    async def _join_segments(self, name: str, bounds: Bounds) -> bool:
        """Build the vector index if it is due or has too many segments; return True if it was built."""
        async with self._store.lock:
            if name not in self._store.tables.names:
                return False
            table = self._store.tables.of(name)
            if await table.count_rows(conditions.present("space_id")) < VECTORS:
                return False
            slack = LARGE_TABLE_SLACK if await table.count_rows() > LARGE else 1
            return await index_vectors(table, segments=bounds.segments * slack)

    async def sweep(self) -> None:
        """Remove old versions, earlier generations, and finished beats and entries from a shared store."""
        if (shared := self._store.shared) is not None and not self._store.readers:
            async with self._store.lock:
                for name in self._store.tables.names:
                    await self._store.tables.of(name).optimize(cleanup_older_than=VERSION_LIFETIME)
            await self._store.drop_other_generations()
            await shared.tidy()

    def _retention(self, usual: timedelta) -> timedelta:
        if self._store.readers:
            return KEEP_READ
        return usual if self._store.shared is None else max(usual, VERSION_LIFETIME)

    def _are_orphans_due(self) -> bool:
        """Return True if files that failed writes left should be removed now, at most once a day.

        This is only safe with a single writer. With several, LanceDB removes the files after a week.
        """
        now = time.monotonic()
        if self._store.shared is not None or now - self._orphans_removed < ORPHANS_EVERY:
            return False
        self._orphans_removed = now
        return True
