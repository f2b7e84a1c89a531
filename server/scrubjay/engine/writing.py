"""The write path: plan, journal, stage, acknowledge; then commit in groups and, once on disk, let the journal go.

A write is acknowledged when its envelope is fsynced. LanceDB gets writes in groups; an envelope leaves the spool only after the
files that hold its record were synced, so that a crash at any point replays it, and replaying is idempotent.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from datetime import datetime

from pydantic import ValidationError

from scrubjay import spool
from scrubjay.documents import plan_add as plan_document
from scrubjay.errors import HomeError, InputError, SpoolError, StoreError
from scrubjay.forgetting import plan_forget
from scrubjay.home import Home
from scrubjay.memories import plan_add as plan_memory
from scrubjay.models.envelopes import Envelope
from scrubjay.models.results import Result
from scrubjay.plans import Plan
from scrubjay.store.store import Store
from scrubjay.turns import plan_record

log = logging.getLogger("scrubjay.engine.writing")

GROUP_SECONDS = 0.15  # how long a commit waits for company
_PLANS: dict[str, Callable[[Store, Envelope, datetime], Awaitable[Plan[Result]]]] = {
    "turn": plan_record,  # type: ignore[dict-item]
    "memory": plan_memory,  # type: ignore[dict-item]
    "document": plan_document,  # type: ignore[dict-item]
    "forget": plan_forget,  # type: ignore[dict-item]
}


class Writer:
    """Owns the order of writes to one store. `recorded` hears of every envelope that a hook left, after it was taken."""

    def __init__(self, home: Home, store: Store, clock: Callable[[], datetime], recorded: Callable[[Envelope, Result], None]) -> None:
        self._home, self._store, self._clock, self._recorded = home, store, clock, recorded
        self._order = asyncio.Lock()
        self._draining = asyncio.Lock()
        self._open: list[str] = []  # envelopes on disk whose records are not yet
        self._wake = asyncio.Event()
        self.set_aside = 0

    async def write(self, envelope: Envelope) -> Result:
        """Take one write; returns when it is durable.

        Raises:
            InputError: it cannot be done as asked; nothing was written.
            OSError: the spool cannot be written; nothing was written.
        """
        await self.drain()  # what hooks left before has its place before
        async with self._order:
            plan = await _PLANS[envelope.kind](self._store, envelope, self._clock())
            if plan.change is not None:
                path = await asyncio.to_thread(spool.write, self._home, envelope.model_dump(mode="json"))
                self._stage(path, plan)
            return plan.answer

    async def drain(self) -> int:
        """Take what hooks and earlier engines left in the spool, in time order; the number of envelopes taken."""
        async with self._draining:
            known = set(self._open)
            paths = [path for path in spool.pending(self._home) if path not in known]
            for path in paths:
                async with self._order:
                    # Since the folder was listed, a write of ours may have been journalled there, or even settled and removed.
                    if path not in self._open and os.path.exists(path):
                        await self._replay(path)
            return len(paths)

    async def _replay(self, path: str) -> None:
        try:
            envelope = Envelope.model_validate(spool.read(path))
            plan = await _PLANS[envelope.kind](self._store, envelope, self._clock())
        except (SpoolError, InputError) as error:
            self._put_aside(path, str(error))
        except HomeError as error:
            if not isinstance(error.__cause__, (PermissionError, IsADirectoryError)):
                raise  # the next look may succeed
            self._put_aside(path, str(error))
        except ValidationError as error:
            fields = ", ".join(sorted({".".join(map(str, problem["loc"])) for problem in error.errors()}))
            self._put_aside(path, f"The envelope is not of a known shape; wrong fields: {fields}.")
        else:
            self._stage(path, plan)
            if envelope.source.startswith("hook:"):
                self._recorded(envelope, plan.answer)

    def _put_aside(self, path: str, reason: str) -> None:
        self.set_aside += 1
        spool.set_aside(self._home, path, reason)

    def _stage(self, path: str, plan: Plan[Result]) -> None:
        if plan.change is not None:
            self._store.stage(plan.change)
        self._open.append(path)
        self._wake.set()

    @property
    def pending(self) -> int:
        """Envelopes that are acknowledged but not yet on disk as records."""
        return len(self._open)

    async def settle(self) -> None:
        """Commit everything staged, put it on disk, and remove its envelopes."""
        paths = list(self._open)
        await self._store.flush()
        await self._store.checkpoint()
        await asyncio.to_thread(spool.remove, paths)
        gone = set(paths)
        self._open = [path for path in self._open if path not in gone]

    async def run(self, committed: Callable[[], None]) -> None:
        """Commit in groups for ever; `committed` is told after each. A failed commit is tried again, nothing is dropped."""
        pause = GROUP_SECONDS
        while True:
            await self._wake.wait()
            await asyncio.sleep(pause)
            self._wake.clear()
            try:
                await self.settle()
            except (StoreError, OSError) as error:  # a full disk, which may pass
                pause = min(max(1.0, pause * 2), 60.0)
                log.error("commit failed; %d writes stay in the spool, next try in %.0f s. %s", self.pending, pause, error)
                self._wake.set()
                continue
            pause = GROUP_SECONDS
            committed()
