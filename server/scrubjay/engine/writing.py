"""The write path: plan, journal, stage, acknowledge; then commit in groups, and empty the journal.

A write is acknowledged when its envelope is fsynced. The envelope leaves the spool only after LanceDB's files
with its record were synced. After a crash, the remaining envelopes are replayed, which is idempotent. If
another engine writes the tables, this engine hands its envelopes over to that engine, and vice versa.
"""

import asyncio
import json
import logging
import os
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from pydantic import ValidationError

from scrubjay.engine.handover import Handover
from scrubjay.engine.in_hand import InHand
from scrubjay.errors import HomeError, InputError, NotFound, SpoolError, StoreError
from scrubjay.home import spool
from scrubjay.home.paths import Home
from scrubjay.models.envelopes import Envelope, Kind, envelope
from scrubjay.models.requests import Request
from scrubjay.models.results import Result
from scrubjay.records.planners import PLANNERS, Planner
from scrubjay.store.bucket.inbox import ENVELOPE, Entry
from scrubjay.store.changes import Change, Plan
from scrubjay.store.failures import not_read, not_written, reason
from scrubjay.store.purging import purge
from scrubjay.store.store import Store

log = logging.getLogger("scrubjay.engine.writing")

# How long a commit waits for more writes. No caller waits that long: reads by id see staged writes, and
# searches commit at once.
GROUP_SECONDS = 1.0
SHARED_GROUP_SECONDS = 0.15  # in a shared store, where another engine's search does wait for the commit
# How long a read waits for earlier writes. A compaction of 100,000 passages delays commits for seconds, and
# every call must be answered within ten seconds.
CATCH_UP_SECONDS = 4.0
BUSY = "The latest writes are not searchable yet, because the store is busy with many changes."
LONG_DOCUMENT = 100_000  # characters; a longer document is planned early, because a million take 0.6 s
DRAIN_SECONDS = 2.0  # between two checks of the spool, in addition to the checks that hooks request
Clock = Callable[[], datetime]


class Writer:
    """Owns the order of writes to one store.

    `recorded` gets every envelope of a hook's turn once it is staged, `staged` every change that an envelope
    made; `failed` is called after a failed commit. `take_event` runs in a thread, turns a hook's event into
    envelopes, and returns a function to call in the loop. `purged` removes data derived from purged records.
    """

    def __init__(
        self,
        home: Home,
        store: Store,
        clock: Clock,
        recorded: Callable[[Envelope], None],
        staged: Callable[[Change], None] = lambda change: None,
        failed: Callable[[], None] = lambda: None,
        take_event: Callable[[str], Callable[[], None]] = lambda path: lambda: None,
        purged: Callable[[Collection[str]], Awaitable[None]] | None = None,
    ) -> None:
        self._home, self._store, self._clock = home, store, clock
        self._recorded, self._staged, self._failed = recorded, staged, failed
        self._take_event, self._purged = take_event, purged
        self._staged_count = 0  # envelopes staged so far
        self._latest = 0  # time of the newest envelope, in nanoseconds since 1970
        self._changed_since: list[set[str]] = []  # for each write in progress, the ids changed since it began
        self._order = asyncio.Lock()
        self._draining = asyncio.Lock()
        # Documents have a separate lock, because redacting 10 MB takes seconds.
        self._redacting = {kind: asyncio.Lock() for kind in ("document", "other")}
        # Paths of envelopes whose records are not on disk yet, with the ids of those records. Borrowed
        # envelopes are in the inbox of a shared store instead of this spool.
        self._open: dict[str, tuple[str, ...]] = {}
        self._borrowed: dict[str, Entry] = {}
        self._role = 0  # counts how often this engine started or stopped being the writer
        self._handover = None if store.shared is None else Handover(home, store, store.shared)
        store.wait_for_writer = self._hand_over_and_wait
        self._wake = asyncio.Event()
        self._in_hand = InHand(home)
        self._to_purge: set[str] = set()  # ids of records whose bytes have to be removed from the disk
        self.set_aside = 0
        self._unfinished: set[asyncio.Task[str | None]] = set()  # work that reads stopped waiting for

    async def seal(
        self, kind: Kind, request: Request, *, scope: str, source: str, at: datetime, host: str | None = None
    ) -> Envelope:
        """Put a request into an envelope in a thread, because redacting a long turn takes seconds.

        Requests keep their order, which becomes the order of their writes. Documents are redacted separately,
        so that they delay no other request.
        """
        make_envelope = partial(envelope, kind, request, scope=scope, source=source, at=at, host=host)
        async with self._redacting["document" if kind == "document" else "other"]:
            return await asyncio.to_thread(make_envelope)

    async def write(self, envelope: Envelope, planner: Planner | None = None) -> Result:
        """Make one write; it is durable when this returns. `planner` replaces the usual planner of its kind.

        Raises:
            InputError: the write cannot be done as requested; nothing was written.
            OSError: the spool cannot be written; nothing was written.
        """
        await self.drain()  # earlier events of hooks come first
        if self._handover is not None:
            await self._handover.follower.look()
        planner, early_plan = planner or PLANNERS[envelope.kind], None
        role, changed_ids = self._role, set[str]()
        self._changed_since.append(changed_ids)
        try:
            if envelope.kind == "document" and len(envelope.args.get("content") or "") >= LONG_DOCUMENT:
                # This takes seconds, so other writes continue meanwhile.
                early_plan = await self._plan(planner, envelope)
            async with self._order:
                if early_plan and role == self._role and _is_unaffected(early_plan, changed_ids):
                    return await self._journal(envelope, early_plan)
                return await self._journal(envelope, await self._plan(planner, envelope))
        finally:
            self._changed_since = [ids for ids in self._changed_since if ids is not changed_ids]

    async def _journal(self, envelope: Envelope, plan: Plan[Result]) -> Result:
        if plan.changes or plan.purged:
            # If the clock was set back, a write must still come after earlier ones.
            self._latest = max(time.time_ns(), self._latest + 1)
            content = envelope.model_dump(mode="json")
            path = await asyncio.to_thread(spool.write, self._home, content, self._latest)
            self._stage(path, plan, fresh=True)
        return plan.answer

    async def _plan(self, planner: Planner, envelope: Envelope) -> Plan[Result]:
        try:
            return await planner(self._store, envelope, self._clock())
        except NotFound:
            if self._handover is None or self._store.is_writer:
                raise
        # The envelope may refer to a record that another engine wrote a moment ago.
        await self._handover.follower.look(at_once=True)
        return await planner(self._store, envelope, self._clock())

    async def drain(self) -> int:
        """Process what hooks and dead engines left in the spool, in time order; return how many envelopes."""
        async with self._draining:
            events = spool.events(self._home)
            for path in events:
                with self._moving_broken_files_away(path):
                    self._in_hand.take(path)
                    (await asyncio.to_thread(self._take_event, path))()
            open_paths = set(self._open)
            paths = [path for path in spool.pending(self._home) if path not in open_paths]
            for path in paths:
                async with self._order:
                    # Since the folder was listed, this engine may have written the file itself, or even
                    # settled the write and removed the file.
                    if path not in self._open and os.path.exists(path):
                        await self._replay(path)
            if events or paths:
                self._in_hand.put_down()
            return len(paths)

    async def catch_up(self, seconds: float = CATCH_UP_SECONDS) -> str | None:
        """Empty the spool and commit staged writes, so that a read sees every acknowledged write.

        If that fails or takes longer than `seconds`, return a sentence that says so, because committed
        records can still be read.
        """
        return await self._wait_at_most(self._drain_then(lambda: self._do_commit(self._store.flush)), seconds)

    async def try_settle(self) -> str | None:
        """Empty the spool and settle its writes, if the disk allows it; return the same as `catch_up`."""
        return await self._wait_at_most(self._drain_then(self.settle), CATCH_UP_SECONDS)

    async def _wait_at_most(self, work: Coroutine[Any, Any, str | None], seconds: float) -> str | None:
        """Wait at most `seconds` for the work; after that it continues in the background."""
        task = asyncio.create_task(work)
        self._unfinished.add(task)
        task.add_done_callback(self._unfinished.discard)
        done, _ = await asyncio.wait({task}, timeout=seconds)
        return task.result() if done else BUSY

    async def _drain_then(self, commit: Callable[[], Awaitable[object]]) -> str | None:
        try:
            await self.drain()
            await commit()
        except (StoreError, HomeError, OSError) as error:
            log.warning("a read misses the latest writes: %s", error)
            return f"The latest writes are not searchable yet. {error}"
        except (RuntimeError, ValueError) as error:  # LanceDB's errors for a damaged file
            self._failed()
            why = not_read(self._store.path, error, self._store.damage)
            return f"The latest writes are not searchable yet. {why}"
        return None

    async def take(self, entries: Iterable[Entry]) -> None:
        """Process entries that other engines handed over, in order."""
        for entry in entries:
            async with self._order:
                await self._borrow(entry)

    async def _borrow(self, entry: Entry) -> None:
        path = os.path.join(self._home.spool_new, f"{entry.id}.json")
        if path not in self._open:
            self._borrowed[path] = entry
            await self._replay(path, json.loads(entry.body))

    async def _replay(self, path: str, content: object = None) -> None:
        with self._moving_broken_files_away(path):
            self._in_hand.take(path)
            envelope = Envelope.model_validate(spool.read(path) if content is None else content)
            plan = await PLANNERS[envelope.kind](self._store, envelope, self._clock())
            self._stage(path, plan)
            # The transcript is only on the machine where the hook ran.
            if envelope.source.startswith("hook:") and path not in self._borrowed:
                self._recorded(envelope)

    @contextmanager
    def _moving_broken_files_away(self, path: str) -> Iterator[None]:
        """Move a file away if its content cannot be processed."""
        try:
            yield
        except (SpoolError, InputError) as error:
            self._move_away(path, str(error))
        except HomeError as error:
            if not isinstance(error.__cause__, (PermissionError, IsADirectoryError)):
                raise  # a later attempt may succeed
            self._move_away(path, str(error))
        except ValidationError as error:
            fields = ", ".join(sorted({".".join(map(str, problem["loc"])) for problem in error.errors()}))
            self._move_away(path, f"The envelope has an unknown form; wrong fields: {fields}.")

    def _move_away(self, path: str, reason: str) -> None:
        self.set_aside += 1
        if path in self._borrowed:
            spool.durable_write(self._home, path, self._borrowed[path].body.encode())
            self._open[path] = ()  # the next commit will remove it from the inbox
            self._wake.set()
        spool.move_to_broken(self._home, path, reason)

    def _stage(self, path: str, plan: Plan[Result], *, fresh: bool = False) -> None:
        for change in plan.changes:
            self._store.stage(change, fresh=fresh)
            self._staged(change)
        self._staged_count += 1
        self._latest = max(self._latest, spool.time_ns_of(path))
        for changed_ids in self._changed_since:
            changed_ids.update(plan.purged, (change.record.id for change in plan.changes))
        self._to_purge.update(plan.purged)
        self._open[path] = tuple(change.record.id for change in plan.changes)
        self._wake.set()

    async def derive(self, changes: Awaitable[Sequence[Change]]) -> bool:
        """Write records that are derived from stored ones, without an envelope: they can be derived again.

        Return False, without writing, if an envelope came in between.
        """
        count_before = self._staged_count
        derived = await changes
        if count_before != self._staged_count or self._to_purge or not self._store.is_writer:
            return False
        for change in derived:
            self._store.stage(change)
            self._wake.set()
        return True

    @property
    def pending(self) -> int:
        """The number of acknowledged envelopes whose records are not on disk yet."""
        return len(self._open)

    async def settle(self) -> None:
        """Commit everything staged, sync it to the disk, and remove its envelopes.

        If another engine writes the tables, hand the envelopes over to that engine instead.
        """
        if self._handover is not None and not self._store.is_writer:
            async with self._order:  # not while this engine is becoming the writer
                if not self._store.is_writer:
                    await self._hand_over(self._handover)
                    return
        paths, to_purge, role = list(self._open), set(self._to_purge), self._role
        await self._do_commit(self._store.commit)
        await self._store.checkpoint()
        if to_purge:
            await self._purge(to_purge)
        if role != self._role:
            return  # the envelopes have been planned again meanwhile
        paths = [path for path in paths if path in self._open]
        await asyncio.to_thread(spool.remove, paths)
        await self._give_back([path for path in paths if path in self._borrowed])
        for path in paths:
            self._open.pop(path, None)

    async def _do_commit(self, commit: Callable[[], Awaitable[object]]) -> None:
        """Commit; if a table refuses a value that passed every check, move its envelope away and continue."""
        try:
            await commit()
        except StoreError:
            unstorable = set(self._store.unstorable())
            paths = [path for path, ids in self._open.items() if unstorable.intersection(ids)]
            if not paths:
                raise
            why = "It contains a value that the store cannot hold, such as half of a character."
            for path in paths:
                self._store.unstage(self._open.pop(path))
                self._move_away(path, why)
            await commit()

    async def _give_back(self, paths: Sequence[str]) -> None:
        """Remove written entries from the inbox, which tells the engine that sent them that they are done."""
        if paths and self._store.shared is not None:
            try:
                await self._store.shared.inbox.remove([self._borrowed[path].id for path in paths])
            except RuntimeError as error:
                raise not_written(self._store.path, error) from error
            for path in paths:
                del self._borrowed[path]

    async def _hand_over(self, handover: Handover) -> None:
        envelopes = dict(self._open)
        await handover.send(envelopes)
        for path in envelopes:
            self._open.pop(path, None)
            self._borrowed.pop(path, None)
        if envelopes:
            await self._remove_derived(self._to_purge)
            self._to_purge.clear()
            self._role += 1
            assert self._store.shared is not None
            self._store.shared.leads = False  # until the handed-over envelopes are planned again

    async def _hand_over_and_wait(self) -> None:
        await self.settle()
        if self._handover is not None:
            await self._handover.wait_until_written()
            await self._handover.follower.look()

    async def follow(self) -> None:
        """Find out which of the handed-over envelopes have been written."""
        if self._handover is not None:
            await self._handover.look()

    async def lead(self) -> None:
        """Become the engine that writes, after planning again everything that is not written yet."""
        if self._handover is None or (shared := self._store.shared) is None:
            return
        async with self._order:
            entries = await shared.inbox.next_entries()
            async with self._store.lock:
                self._store.unstage()
            for collection in (self._open, self._borrowed, self._to_purge):
                collection.clear()
            self._handover.forget()
            self._role += 1
            for entry in entries:
                if entry.kind == ENVELOPE:
                    await self._borrow(entry)
            shared.leads = True
        await self.drain()

    async def _purge(self, ids: set[str]) -> None:
        """Remove the bytes of records from the disk; their envelopes stay until that is done.

        No write is planned meanwhile, because a plan that had read such a record could bring it back.
        """
        async with self._order:
            if ids & self._to_purge:
                await self._store.commit()
                await purge(self._store, ids, self._clock())
                await self._remove_derived(ids)
                self._to_purge -= ids

    async def _remove_derived(self, ids: Collection[str]) -> None:
        if self._purged is not None and ids:
            await self._purged(ids)

    async def run(self, committed: Callable[[], None]) -> None:
        """Commit in groups forever, and call `committed` after each; a failed commit is tried again."""
        usual_pause = pause = GROUP_SECONDS if self._handover is None else SHARED_GROUP_SECONDS
        while True:
            await self._wake.wait()
            await asyncio.sleep(pause)
            self._wake.clear()
            try:
                await self.settle()
            except (StoreError, OSError, RuntimeError, ValueError) as error:
                # The cause may pass, such as a full disk.
                self._failed()
                pause = min(max(1.0, pause * 2), 60.0)
                message = "commit failed; %d writes stay in the spool, next try in %.0f s. %s"
                log.error(message, self.pending, pause, error)
                self._wake.set()
            else:
                pause = usual_pause
                committed()

    async def watch(self) -> None:
        """Process what hooks put into the spool, forever; once a day remove files of crashed writers."""
        last_sweep: datetime | None = None
        while True:
            now = self._clock()
            try:
                await self.drain()
                if last_sweep is None or now - last_sweep > timedelta(days=1):
                    spool.sweep(self._home, now.timestamp())
                    last_sweep = now
            except (OSError, HomeError) as error:
                # The disk is full or missing: the next attempt may succeed, and the status shows the backlog.
                log.error("the spool cannot be read: %s", error)
            except (RuntimeError, ValueError) as error:
                log.error("the spool cannot be processed: %s", reason(error))
                self._failed()
            await asyncio.sleep(DRAIN_SECONDS)


def _is_unaffected(plan: Plan[Result], changed_ids: Collection[str]) -> bool:
    """Return True if a plan for one record is still right after these records changed."""
    return len(plan.changes) == 1 and plan.changes[0].record.id not in changed_ids
