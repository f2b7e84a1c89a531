"""Summarises sessions and links facts that repeat each other, in the background.

Its output is derived from the records, so it is not in the write-ahead log. A note next to the tables holds
the time up to which changes were consolidated; after a crash, later changes are consolidated again.
"""

import asyncio
import json
import logging
from collections.abc import Callable
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from scrubjay.engine.background.indexing import Indexer
from scrubjay.engine.background.tasks import failures_logged, quiet_for
from scrubjay.engine.writing import Writer
from scrubjay.models.records import SUMMARY, AnyRecord, Memory, Turn, is_current
from scrubjay.records import session_summaries
from scrubjay.records.passages import record_change
from scrubjay.search.similar import facts_repeated_by
from scrubjay.store import conditions
from scrubjay.store.changes import Change
from scrubjay.store.schema import micros, read_table
from scrubjay.store.sessions import Key
from scrubjay.store.store import Store

log = logging.getLogger("scrubjay.engine.background.consolidation")

QUIET_SECONDS = 3.0  # after a commit; until then a user may still be waiting for the machine
LOOK_SECONDS = 60.0  # between two checks for sessions that have ended
AT_ONCE = 50  # sessions and facts whose changes are committed together
NOTE = "consolidated"
SLACK = 3_600_000_000  # microseconds; a clock may be set back, or a record dated before it was written


class Consolidation:
    """Works through the facts and sessions that changed, oldest change first.

    `is_resting` returns True while nothing else works; `turns_per_summary` returns the number of new turns
    after which an ongoing session is summarised. Work begins only when no passage waits for its vector: a
    backlog takes minutes, and linking facts in its pauses would slow it down.
    """

    def __init__(
        self,
        store: Store,
        writer: Writer,
        clock: Callable[[], datetime],
        indexer: Indexer,
        is_resting: Callable[[], bool],
        turns_per_summary: Callable[[], int],
    ) -> None:
        self._store, self._writer, self._clock = store, writer, clock
        self._indexer, self._is_resting, self._turns_per_summary = indexer, is_resting, turns_per_summary
        self._changed: dict[Key | str, None] = {}  # an ordered set of sessions and of ids of facts
        self._ongoing: dict[Key | str, None] = {}  # processed sessions that may get more turns
        self._ended: set[Key] = set()  # sessions that their hosts ended
        self._wake = asyncio.Event()
        self._work_lock = asyncio.Lock()
        self._caught_up = False

    @property
    def waiting(self) -> int:
        """The number of queued sessions and facts."""
        return len(self._changed)

    def consider(self, record: AnyRecord) -> None:
        """Queue the session or the fact of a record that was written."""
        # Conversations between people are not summarised.
        if isinstance(record, Turn) and record.role is None:
            key = record.scope, record.session_id
            self._ended.discard(key)
            self._changed[key] = None
        elif isinstance(record, Memory) and record.source != SUMMARY:
            self._changed[record.id] = None

    def end(self, scope: str, session_id: str) -> None:
        """Note that the host ended a session; otherwise a session ends after `SILENCE`."""
        self._ended.add((scope, session_id))
        self._requeue_ongoing()

    def _requeue_ongoing(self) -> None:
        self._changed |= self._ongoing
        self._ongoing.clear()
        self._wake.set()

    def wake(self) -> None:
        """Start soon: something was committed, or the model has finished."""
        self._wake.set()

    async def run(self) -> None:
        """Consolidate forever, whenever nothing was written for a while; try failed work again later."""
        while True:
            if await quiet_for(LOOK_SECONDS, self._wake):
                self._requeue_ongoing()
            self._wake.clear()
            if not await quiet_for(QUIET_SECONDS, self._wake):
                continue
            if not self._indexer.finished:
                self._wake.set()  # check again
            else:
                with failures_logged(log, "sessions and facts were not consolidated"):
                    await self.process_while_resting()

    async def process_while_resting(self) -> None:
        """Process changes until nothing waits or something else works."""
        if not self._store.is_writer:  # the next writer continues from the note
            self._caught_up = False
            self._changed.clear()
            self._ongoing.clear()
            return
        async with self._work_lock:
            await self._catch_up()
            await self._process(self._is_resting)

    async def process_all(self) -> int:
        """Process all changes on request, unless a write interrupts them; return how many were processed."""
        if not self._store.is_writer:  # another engine of this store consolidates
            return 0
        await self._writer.settle()
        async with self._work_lock:
            await self._catch_up()
            # Ongoing sessions are summarised up to their last turn.
            self._ended |= {key for key in (*self._changed, *self._ongoing) if not isinstance(key, str)}
            self._requeue_ongoing()
            waiting = self.waiting
            await self._process(lambda: True)
            return waiting - self.waiting

    async def _process(self, is_resting: Callable[[], bool]) -> None:
        """Process batches until nothing waits, or a batch is interrupted.

        There is no pause between batches, because 400 pauses of 3 s would delay 20,000 imported facts by 20
        minutes.
        """
        before = self.waiting + 1
        while 0 < self.waiting < before:
            before = self.waiting
            await self._process_batch(is_resting)

    async def _process_batch(self, is_resting: Callable[[], bool]) -> None:
        batch = list(self._changed)[:AT_ONCE]
        vectors = await self._store.passages.vectors_of_facts(each for each in batch if isinstance(each, str))
        for key in batch:
            if self._writer.pending or not is_resting():
                break
            if isinstance(key, str):
                changes = self._link_changes(key, vectors.get(key))
            else:
                changes = self._summary(key)
            if not await self._writer.derive(changes):  # a write came in between, perhaps to this record
                break
            del self._changed[key]
        if self._changed:
            self._wake.set()

    async def close(self) -> None:
        """Note the time up to which everything was consolidated; the next engine finds what still waits."""
        if self._caught_up and not self._changed and not self._writer.pending:
            await self._store.notes.write(NOTE, json.dumps({"through": micros(self._clock())}))

    async def _summary(self, key: Key) -> list[Change]:
        now = self._clock()
        session = (await self._store.sessions.of([key]))[key]
        is_ongoing = key not in self._ended and session_summaries.may_continue(session, now)
        if is_ongoing:
            self._ongoing[key] = None
        return await session_summaries.plan_summary(
            self._store, key, self._turns_per_summary() if is_ongoing else 0, now
        )

    async def _link_changes(self, fact_id: str, vector: NDArray[np.float32] | None) -> list[Change]:
        """Return the change that links a fact with the facts that it repeats, if there are new links."""
        fact = (await self._store.get(Memory, [fact_id])).get(fact_id)
        if fact is None or vector is None or not is_current(fact, self._clock()):
            return []
        repeated = await facts_repeated_by(self._store, fact, vector)
        linked = fact.model_copy(update={"alike": tuple(dict.fromkeys((*fact.alike, *repeated)))})
        return [] if linked == fact else [record_change(linked)]

    async def _catch_up(self) -> None:
        """Queue the facts and sessions that changed since an engine last processed all of them."""
        if self._caught_up:
            return
        through = _time_in(await self._store.notes.read(NOTE))
        # Sessions that were ongoing at that time had a turn within the slack, so they are processed again.
        changed_since = None if through is None else conditions.number("updated_at", ">=", through - SLACK)
        for fact in await self._store.select(
            Memory, conditions.both(changed_since, conditions.NOT_A_SUMMARY), columns=["id"]
        ):
            self._changed[fact.id] = None
        where = conditions.both(changed_since, conditions.missing("role"))
        turns = self._store.tables.turns.query().where(where).select(["scope", "session_id"])
        sessions = (await read_table(turns)).group_by(["scope", "session_id"]).aggregate([])
        self._changed |= {(row["scope"], row["session_id"]): None for row in sessions.to_pylist()}
        self._caught_up = True


def _time_in(note: str | None) -> int | None:
    """Return the time in a note, in microseconds since 1970, or None."""
    try:
        through = json.loads(note or "")["through"]
    except (ValueError, TypeError, KeyError):
        return None
    return through if isinstance(through, int) else None
