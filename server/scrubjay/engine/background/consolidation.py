"""Summarises sessions and links facts that repeat each other, in the background.

Its output is derived from the records, so it is not in the write-ahead log. A note next to the tables holds
the time up to which changes were consolidated; after a crash later changes are consolidated again, with the
same result.
"""

import asyncio
import json
import logging
from collections.abc import Callable
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from scrubjay.engine.background.indexing import Indexer
from scrubjay.engine.background.tasks import failures_logged, passed
from scrubjay.engine.writing import Writer
from scrubjay.models.records import SUMMARY, AnyRecord, Memory, Turn, is_current
from scrubjay.records import session_summaries
from scrubjay.records.passages import written
from scrubjay.search.similar import facts_repeated_by
from scrubjay.store import conditions
from scrubjay.store.changes import Change
from scrubjay.store.schema import micros, read_table
from scrubjay.store.sessions import Key
from scrubjay.store.store import Store

log = logging.getLogger("scrubjay.engine.background.consolidation")

QUIET_SECONDS = 3.0  # without a commit: then no user waits for the machine
LOOK_SECONDS = 60.0  # how often it is looked whether a session has ended
AT_ONCE = 50  # sessions and facts whose changes are committed together
NOTE = "consolidated"
SLACK = 3_600_000_000  # microseconds: a clock goes back, or a record is dated before it was taken


class Consolidation:
    """Works through the facts and the sessions that changed, oldest change first.

    `resting` says that nothing else works, `every` after how many new turns a session that goes on is
    summarised. It begins only when no passage waits for its vector: a backlog takes minutes, with pauses
    between its commits, and linking in those pauses would slow it down.
    """

    def __init__(
        self,
        store: Store,
        writer: Writer,
        clock: Callable[[], datetime],
        indexer: Indexer,
        resting: Callable[[], bool],
        every: Callable[[], int],
    ) -> None:
        self._store, self._writer, self._clock = store, writer, clock
        self._indexer, self._resting, self._every = indexer, resting, every
        self._changed: dict[Key | str, None] = {}  # a session, or a fact by its id
        self._going_on: dict[Key | str, None] = {}  # looked at, but more turns may come
        self._ended: set[Key] = set()  # sessions that their hosts ended
        self._wake = asyncio.Event()
        self._working = asyncio.Lock()
        self._caught_up = False

    @property
    def waiting(self) -> int:
        """The number of queued sessions and facts."""
        return len(self._changed)

    def consider(self, record: AnyRecord) -> None:
        """A record was written."""
        # What people said to each other is not summarised.
        if isinstance(record, Turn) and record.role is None:
            key = record.scope, record.session_id
            self._ended.discard(key)
            self._changed[key] = None
        elif isinstance(record, Memory) and record.source != SUMMARY:
            self._changed[record.id] = None

    def end(self, scope: str, session_id: str) -> None:
        """Note that the host ended a session; without that, a session ends after `SILENCE`."""
        self._ended.add((scope, session_id))
        self._look_again()

    def _look_again(self) -> None:
        self._changed |= self._going_on
        self._going_on.clear()
        self._wake.set()

    def wake(self) -> None:
        """Something was committed, or the model has nothing more to do."""
        self._wake.set()

    async def run(self) -> None:
        """Consolidate for ever, whenever nothing was written for a while.

        What fails is tried again after the next write.
        """
        while True:
            if await passed(LOOK_SECONDS, self._wake):
                self._look_again()
            self._wake.clear()
            if not await passed(QUIET_SECONDS, self._wake):
                continue
            if not self._indexer.finished:
                self._wake.set()  # to look again
            else:
                with failures_logged(log, "sessions and facts were not consolidated"):
                    await self.work_on()

    async def work_on(self) -> None:
        """Work until nothing waits or something else works, without a pause after each few.

        20,000 imported facts had 400 pauses of at least 3 s: 20 minutes.
        """
        before = None
        while before is None or 0 < self.waiting < before:
            before = self.waiting
            await self.work()

    async def work(self) -> int:
        """Look at some of what changed, if nothing else works; how many records were written."""
        if not self._store.is_writer:  # the next writer continues from the note
            self._caught_up = False
            self._changed.clear()
            self._going_on.clear()
            return 0
        async with self._working:
            return await self._some(self._resting)

    async def work_off(self) -> int:
        """Process all changes on request; return how many.

        Sessions that go on are summarised as far as they came. What a write comes in between stays.
        """
        if not self._store.is_writer:  # another engine of this store consolidates
            return 0
        await self._writer.settle()
        looked = 0
        async with self._working:
            await self._catch_up()
            self._ended |= {key for key in (*self._changed, *self._going_on) if not isinstance(key, str)}
            self._look_again()
            before = self.waiting + 1
            while 0 < self.waiting < before:
                before = self.waiting
                await self._some(lambda: True)
                looked += before - self.waiting
        return looked

    async def _some(self, resting: Callable[[], bool]) -> int:
        await self._catch_up()
        written, some = 0, list(self._changed)[:AT_ONCE]
        vectors = await self._store.passages.vectors_of_facts(each for each in some if isinstance(each, str))
        for changed in some:
            if self._writer.pending or not resting():
                break
            if isinstance(changed, str):
                changes = self._links(changed, vectors.get(changed))
            else:
                changes = self._summary(changed)
            count = await self._writer.derive(changes)
            if count is None:  # a write came in between, perhaps to this very one
                break
            del self._changed[changed]
            written += count
        if self._changed:
            self._wake.set()
        return written

    async def close(self) -> None:
        """Note up to when all was looked at; what still waits is found again by the next engine."""
        if self._caught_up and not self._changed and not self._writer.pending:
            await self._store.notes.write(NOTE, json.dumps({"through": micros(self._clock())}))

    async def _summary(self, key: Key) -> list[Change]:
        now = self._clock()
        session = (await self._store.sessions.of([key]))[key]
        goes_on = key not in self._ended and session_summaries.goes_on(session, now)
        if goes_on:
            self._going_on[key] = None
        return await session_summaries.plan_summary(self._store, key, self._every() if goes_on else 0, now)

    async def _links(self, fact_id: str, vector: NDArray[np.float32] | None) -> list[Change]:
        """The change that links a fact with the facts that it repeats, if there are new ones."""
        fact = (await self._store.get(Memory, [fact_id])).get(fact_id)
        if fact is None or vector is None or not is_current(fact, self._clock()):
            return []
        repeated = await facts_repeated_by(self._store, fact, vector)
        linked = fact.model_copy(update={"alike": tuple(dict.fromkeys((*fact.alike, *repeated)))})
        return [] if linked == fact else [written(linked)]

    async def _catch_up(self) -> None:
        """Remember the facts and sessions that changed since an engine last looked at all of them."""
        if self._caught_up:
            return
        through, size = _read(await self._store.notes.read(NOTE))
        # Sessions that went on at that time had a turn within the slack, so they are looked at again.
        changed = None if through is None else conditions.number("updated_at", ">=", through - SLACK)
        for fact in await self._store.select(
            Memory, conditions.both(changed, conditions.NOT_A_SUMMARY), columns=["id"]
        ):
            self._changed[fact.id] = None
        await self._look_at("turns", conditions.both(changed, conditions.missing("role")))
        if size:
            summaries = conditions.negation(conditions.NOT_A_SUMMARY)
            await self._look_at("memories", conditions.both(summaries, conditions.number("turn", ">=", size)))
        self._caught_up = True

    async def _look_at(self, table: str, where: conditions.Where) -> None:
        """Remember the sessions of these rows; there may be a million rows."""
        rows = self._store.tables.of(table).query().where(where).select(["scope", "session_id"])
        sessions = (await read_table(rows)).group_by(["scope", "session_id"]).aggregate([])
        self._changed |= {(row["scope"], row["session_id"]): None for row in sessions.to_pylist()}


def _read(note: str | None) -> tuple[int | None, int]:
    """The time in a note, in microseconds since 1970; None for nothing.

    Before 0.2.0, every so many turns of a session had a summary; the second number is how many, else 0.
    """
    try:
        said = json.loads(note or "")
        through, size = said["through"], said.get("every", 0)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None, 0
    is_sound = isinstance(through, int) and isinstance(size, int)
    return (through, size) if is_sound else (None, 0)
