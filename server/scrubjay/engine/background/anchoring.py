"""Notes what records name of the code: those just written by the working tree, older ones by their dates.

No write and no hook waits for it. What a killed engine left out is done by the next one.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta

from scrubjay.code.anchors import Anchor, Said, anchors
from scrubjay.code.book import Book
from scrubjay.code.git import Tree, head_at
from scrubjay.code.trees import Trees
from scrubjay.engine.background.tasks import failures_logged, passed
from scrubjay.engine.writing import Clock
from scrubjay.home.repositories import WorkTree, head_of
from scrubjay.models.records import SUMMARY, Memory, Turn
from scrubjay.store import conditions
from scrubjay.store.changes import Change
from scrubjay.store.store import Store

log = logging.getLogger("scrubjay.engine.background.anchoring")

QUIET_SECONDS = 1.0  # after a commit; records written meanwhile share their questions to git
BATCH = 32  # records that are looked at together
PAUSE_SECONDS = 0.2  # between two batches of a backlog
# A record is about the working tree if it is noted this soon. A turn of a hook may have begun long before.
_FRESH, _LONGEST_TURN = timedelta(minutes=10), timedelta(hours=6)

Noted = Turn | Memory


class Anchoring:
    """Writes the anchors of a home's records into its book; `lock` is held while it works.

    `resting` says that no user waits for something else.
    """

    def __init__(
        self, store: Store, book: Book, trees: Trees, clock: Clock, resting: Callable[[], bool]
    ) -> None:
        self._store, self._book, self._trees, self._clock = store, book, trees, clock
        self._resting = resting
        self._due: dict[str, type[Noted]] = {}  # ids of records, the newest last
        self._wake = asyncio.Event()
        self.lock = asyncio.Lock()

    def consider(self, change: Change) -> None:
        """Note a record whose text was written."""
        record = change.record
        if isinstance(record, Turn | Memory) and change.passages and record.source != SUMMARY:
            self._due[record.id] = type(record)

    def wake(self) -> None:
        """Start, if a record waits."""
        if self._due:
            self._wake.set()

    async def remove(self, ids: Collection[str]) -> None:
        """Remove the anchors of purged records from the disk."""
        async with self.lock:
            await asyncio.to_thread(self._book.remove, list(ids))

    async def run(self) -> None:
        """Note all records that have no anchor yet, then new ones for ever."""
        await asyncio.sleep(QUIET_SECONDS)  # the first client goes ahead
        with failures_logged(log, "records without anchors were not looked for"):
            await self._find_missing()
        self.wake()
        while True:
            await self._wake.wait()
            self._wake.clear()
            if await passed(QUIET_SECONDS, self._wake):
                while self._due:
                    if self._resting():  # a search goes first
                        await self.work()
                    await asyncio.sleep(PAUSE_SECONDS)

    async def _find_missing(self) -> None:
        columns, now = ["id", "source"], self._clock()
        facts = await self._store.select(Memory, conditions.current(Memory, now), columns=columns)
        turns = await self._store.select(Turn, conditions.current(Turn, now), columns=columns)
        found: list[Noted] = [*facts, *turns]
        async with self.lock:  # so that no record is noted twice, perhaps on another branch
            known = await asyncio.to_thread(self._book.known)
            missing = (row for row in found if row.id not in known and row.source != SUMMARY)
            self._due = {**{row.id: type(row) for row in missing}, **self._due}

    async def work(self) -> None:
        """Note the newest records that wait."""
        async with self.lock:
            batch = [self._due.popitem() for _ in range(min(BATCH, len(self._due)))]
            # What fails is tried again by the next engine.
            with failures_logged(log, f"the code that {len(batch)} records name was not noted"):
                turns = await self._store.get(Turn, [each for each, kind in batch if kind is Turn])
                facts = await self._store.get(Memory, [each for each, kind in batch if kind is Memory])
                noted = await asyncio.to_thread(
                    self._anchors, [*turns.values(), *facts.values()], self._clock()
                )
                await asyncio.to_thread(self._book.put, noted)

    def _anchors(self, records: Sequence[Noted], now: datetime) -> dict[str, Anchor | None]:
        found: dict[str, Anchor | None] = {record.id: None for record in records if _is_whole(record)}
        groups: dict[tuple[WorkTree, str, str | None, bool], list[Noted]] = defaultdict(list)
        for record in filter(_is_whole, records):
            files = record.files if isinstance(record, Turn) else ()
            if (work := self._trees.of(record.scope, files)) is not None:
                is_fresh = _is_fresh(record, now)
                head = head_of(work) if is_fresh else head_at(work, _when(record).timestamp())
                if head is not None:
                    groups[(work, *head, is_fresh)].append(record)
        for (work, commit, branch, is_fresh), members in groups.items():
            tree = Tree(work, None if is_fresh else commit)
            made = anchors(tree, commit, branch, [_said(record) for record in members])
            found.update(zip((record.id for record in members), made, strict=True))
        return found


def _is_whole(record: Noted) -> bool:
    return not (isinstance(record, Turn) and record.purged_at is not None)


def _when(record: Noted) -> datetime:
    return record.started_at if isinstance(record, Turn) else record.created_at


def _is_fresh(record: Noted, now: datetime) -> bool:
    longest = _LONGEST_TURN if record.source.startswith("hook:") else _FRESH
    return now - record.created_at < _FRESH and record.created_at - _when(record) < longest


def _said(record: Noted) -> Said:
    if isinstance(record, Memory):
        return Said(record.content)
    texts = (record.user, record.assistant, record.text)
    return Said("\n".join(filter(None, texts)), record.files)
