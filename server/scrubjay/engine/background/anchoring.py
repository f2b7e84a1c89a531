"""Notes the code that each record names: in the working tree, or for an older record in a commit of its time.

No write and no hook waits for this. If an engine is killed, the next engine does the rest.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta

from scrubjay.code.anchors import Anchor, RecordText, anchors
from scrubjay.code.book import Book
from scrubjay.code.git import Tree, head_at
from scrubjay.code.trees import Trees
from scrubjay.engine.background.tasks import failures_logged, quiet_for
from scrubjay.engine.writing import Clock
from scrubjay.home.repositories import WorkTree, head_of
from scrubjay.models.records import SUMMARY, Memory, Turn
from scrubjay.store import conditions
from scrubjay.store.changes import Change
from scrubjay.store.store import Store

log = logging.getLogger("scrubjay.engine.background.anchoring")

QUIET_SECONDS = 1.0  # between a commit and the work, so that records written meanwhile share calls of git
BATCH = 32  # records that are processed together
PAUSE_SECONDS = 0.2  # between two batches of a backlog
# A record is about the working tree if it was written less than `_FRESH` ago, and its turn began less than
# `_FRESH` before that, or `_LONGEST_TURN` if a hook wrote it.
_FRESH, _LONGEST_TURN = timedelta(minutes=10), timedelta(hours=6)

AnchoredRecord = Turn | Memory


class Anchoring:
    """Writes the anchors of a home's records into its book; `lock` is held while it works.

    `is_resting` returns True while no user waits for other work.
    """

    def __init__(
        self, store: Store, book: Book, trees: Trees, clock: Clock, is_resting: Callable[[], bool]
    ) -> None:
        self._store, self._book, self._trees, self._clock = store, book, trees, clock
        self._is_resting = is_resting
        self._due: dict[str, None] = {}  # ids of records, the newest last
        self._wake = asyncio.Event()
        self.lock = asyncio.Lock()

    def consider(self, change: Change) -> None:
        """Queue a record whose text was written."""
        record = change.record
        if isinstance(record, Turn | Memory) and change.passages and record.source != SUMMARY:
            self._due[record.id] = None

    def wake(self) -> None:
        """Start working if a record waits."""
        if self._due:
            self._wake.set()

    async def remove(self, ids: Collection[str]) -> None:
        """Remove the anchors of purged records from the disk."""
        async with self.lock:
            await asyncio.to_thread(self._book.remove, list(ids))

    async def run(self) -> None:
        """Anchor all records that have no anchor yet, and then new ones, forever."""
        await asyncio.sleep(QUIET_SECONDS)  # so that the first client is served first
        with failures_logged(log, "the search for records without anchors failed"):
            await self._find_missing()
        self.wake()
        while True:
            await self._wake.wait()
            self._wake.clear()
            if await quiet_for(QUIET_SECONDS, self._wake):
                while self._due:
                    if self._is_resting():  # searches take precedence
                        await self.work()
                    await asyncio.sleep(PAUSE_SECONDS)

    async def _find_missing(self) -> None:
        columns, now = ["id", "source"], self._clock()
        facts = await self._store.select(Memory, conditions.current(Memory, now), columns=columns)
        turns = await self._store.select(Turn, conditions.current(Turn, now), columns=columns)
        records: list[AnchoredRecord] = [*facts, *turns]
        async with self.lock:  # so that no record is noted twice, perhaps on another branch
            known_ids = await asyncio.to_thread(self._book.recorded_ids)
            missing = [row.id for row in records if row.id not in known_ids and row.source != SUMMARY]
            self._due = {**dict.fromkeys(missing), **self._due}

    async def work(self) -> None:
        """Anchor the newest records that wait."""
        async with self.lock:
            ids = [self._due.popitem()[0] for _ in range(min(BATCH, len(self._due)))]
            # If this fails, the next engine tries again.
            with failures_logged(log, f"the code that {len(ids)} records name was not noted"):
                turns, facts = await self._store.get(Turn, ids), await self._store.get(Memory, ids)
                readable = (turn for turn in turns.values() if turn.purged_at is None)
                records: list[AnchoredRecord] = [*readable, *facts.values()]
                await asyncio.to_thread(self._note, records, self._clock())

    def _note(self, records: Sequence[AnchoredRecord], now: datetime) -> None:
        anchors_by_id: dict[str, Anchor | None] = {record.id: None for record in records}
        groups: dict[tuple[WorkTree, str, str | None, bool], list[AnchoredRecord]] = defaultdict(list)
        for record in records:
            files = record.files if isinstance(record, Turn) else ()
            if (work_tree := self._trees.of(record.scope, files)) is not None:
                is_fresh = _is_fresh(record, now)
                head = head_of(work_tree) if is_fresh else head_at(work_tree, _time_of(record).timestamp())
                if head is not None:
                    groups[(work_tree, *head, is_fresh)].append(record)
        for (work_tree, commit, branch, is_fresh), members in groups.items():
            tree = Tree(work_tree, None if is_fresh else commit)
            group_anchors = anchors(tree, commit, branch, [_text_of(record) for record in members])
            anchors_by_id.update(zip((record.id for record in members), group_anchors, strict=True))
        self._book.put(anchors_by_id)


def _time_of(record: AnchoredRecord) -> datetime:
    return record.started_at if isinstance(record, Turn) else record.created_at


def _is_fresh(record: AnchoredRecord, now: datetime) -> bool:
    longest_turn = _LONGEST_TURN if record.source.startswith("hook:") else _FRESH
    return now - record.created_at < _FRESH and record.created_at - _time_of(record) < longest_turn


def _text_of(record: AnchoredRecord) -> RecordText:
    if isinstance(record, Memory):
        return RecordText(record.content)
    texts = filter(None, (record.user, record.assistant, record.text))
    return RecordText("\n".join(texts), record.files)
