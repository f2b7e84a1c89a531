"""Summarises sessions and links facts and turns that repeat each other, in the background.

What it writes is derived from the records, so it has no place in the write-ahead log. A note beside the
tables says up to when changes were consolidated; after a crash later ones are consolidated again, which
changes nothing that is right.
"""

import asyncio
import json
import logging
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from scrubjay.encoders.worker import Vectors
from scrubjay.engine.background.indexing import Indexer
from scrubjay.engine.background.tasks import passed
from scrubjay.engine.writing import Writer
from scrubjay.errors import EncoderError, ScrubjayError
from scrubjay.models.records import SUMMARY, AnyRecord, Memory, Turn, is_current
from scrubjay.records import session_summaries
from scrubjay.records.passages import passages_of
from scrubjay.search.similar import facts_repeated_by, turns_repeated_by
from scrubjay.store import conditions
from scrubjay.store.changes import Change
from scrubjay.store.failures import reason
from scrubjay.store.schema import micros
from scrubjay.store.store import Store

log = logging.getLogger("scrubjay.engine.background.consolidation")

QUIET_SECONDS = 3.0  # without a commit: then nobody waits for the machine
AT_ONCE = 50  # stretches, turns and facts whose changes are committed together
_NOTE = "consolidated"
SLACK = 3_600_000_000  # microseconds: a clock goes back, or a record is dated before it was taken


class Stretch(NamedTuple):
    """Twenty turns of a session."""

    scope: str
    session_id: str
    number: int


class Consolidation:
    """Works through the facts and the stretches of sessions that changed, oldest change first.

    `resting` says that nothing else works. It begins only when no passage waits for its vector: a backlog
    takes minutes, with pauses between its commits, and linking in those pauses would slow it down.
    """

    def __init__(
        self,
        store: Store,
        writer: Writer,
        clock: Callable[[], datetime],
        indexer: Indexer,
        resting: Callable[[], bool],
    ) -> None:
        self._store, self._writer, self._clock = store, writer, clock
        self._indexer, self._resting = indexer, resting
        self._changed: dict[Stretch | str, None] = {}  # a fact or turn by its id
        self._wake = asyncio.Event()
        self._working = asyncio.Lock()
        self._caught_up = False

    @property
    def waiting(self) -> int:
        """Stretches, turns and facts that were not yet looked at."""
        return len(self._changed)

    def consider(self, record: AnyRecord) -> None:
        """A record was written."""
        # What people said to each other is not summarised.
        if isinstance(record, Turn) and record.role is None:
            self._changed[
                Stretch(record.scope, record.session_id, record.turn // session_summaries.EVERY)
            ] = None
            self._changed[record.id] = None
        elif isinstance(record, Memory) and record.source != SUMMARY:
            self._changed[record.id] = None

    def wake(self) -> None:
        """Something was committed, or the model has nothing more to do."""
        self._wake.set()

    async def run(self) -> None:
        """Consolidate for ever, whenever nothing was written for a while.

        What fails is tried again after the next write.
        """
        while True:
            await self._wake.wait()
            self._wake.clear()
            if not await passed(QUIET_SECONDS, self._wake):
                continue
            if not self._indexer.finished:
                self._wake.set()  # to look again
            else:
                try:
                    await self.work()
                except (ScrubjayError, OSError, RuntimeError) as error:
                    # A full disk, or LanceDB's own failure: both may pass.
                    log.warning("sessions and facts were not consolidated: %s", reason(error))

    async def work(self) -> int:
        """Look at some of what changed, if nothing else works; how many records were written."""
        if not self._store.writes:  # whoever begins to write looks from the note on
            self._caught_up = False
            self._changed.clear()
            return 0
        async with self._working:
            return await self._some(self._resting)

    async def work_off(self) -> int:
        """Look at all that changed, because somebody asks for it; how much was looked at.

        What a write comes in between stays.
        """
        if not self._store.writes:  # another engine of this store consolidates
            return 0
        await self._writer.settle()
        looked = 0
        async with self._working:
            if not self._caught_up:
                await self._catch_up()
            before = self.waiting + 1
            while 0 < self.waiting < before:
                before = self.waiting
                await self._some(lambda: True)
                looked += before - self.waiting
        return looked

    async def _some(self, resting: Callable[[], bool]) -> int:
        if not self._caught_up:
            await self._catch_up()
        written = 0
        for changed in list(self._changed)[:AT_ONCE]:
            if self._writer.pending or not resting():
                break
            changes = self._links(changed) if isinstance(changed, str) else self._summaries(changed)
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
            await self._store.notes.write(_NOTE, json.dumps({"through": micros(self._clock())}))

    async def _summaries(self, stretch: Stretch) -> list[Change]:
        change = await session_summaries.plan_summary(
            self._store, (stretch.scope, stretch.session_id), stretch.number, self._clock()
        )
        return [change] if change else []

    async def _links(self, record_id: str) -> list[Change]:
        """The change that links a turn or fact with those that it repeats, if there are new ones."""
        record = await self._store.find(record_id)
        if isinstance(record, Turn) and record.forgotten_at is None:
            alike = await turns_repeated_by(self._store, record)
        elif isinstance(record, Memory) and is_current(record, self._clock()):
            repeated = await facts_repeated_by(self._store, record, self._vector)
            alike = tuple(dict.fromkeys((*record.alike, *repeated)))
        else:
            return []
        linked = record.model_copy(update={"alike": alike})
        return [] if linked == record else [Change(linked, passages_of(linked), rewritten=True)]

    async def _vector(self, text: str) -> Vectors | None:
        try:
            asked = await self._indexer.embed_query(text)
        except EncoderError:  # this text cannot be embedded; its words alone are compared
            return None
        return None if asked is None else asked.vector

    async def _catch_up(self) -> None:
        """Remember the facts and stretches that changed since an engine last looked at all of them."""
        through = _through(await self._store.notes.read(_NOTE))
        if through is None:
            # A home of an older Scrubjay: the last turn of each stretch stands for all, of a million perhaps.
            turns = conditions.every_nth("turn", session_summaries.EVERY)
            facts = conditions.EVERY_ROW
        else:
            turns = facts = conditions.number("updated_at", ">=", through - SLACK)
        for turn in await self._store.select(
            Turn,
            conditions.both(turns, conditions.missing("role")),
            columns=["id", "scope", "session_id", "turn"],
        ):
            self.consider(turn)
        for fact in await self._store.select(Memory, facts, columns=["id", "source"]):
            self.consider(fact)
        self._caught_up = True


def _through(note: str | None) -> int | None:
    """The time in a note, in microseconds since 1970; None where it says nothing."""
    try:
        through = json.loads(note or "")["through"]
    except (ValueError, TypeError, KeyError):
        return None
    return through if isinstance(through, int) else None
