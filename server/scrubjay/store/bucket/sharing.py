"""What the engines that share a bucket use to coordinate: notes, a lease and an inbox.

One engine, the maintainer, writes the tables of records and passages. Rewriting whole rows, numbering turns
and ordering versions all rely on that. Writes from the other engines wait in the inbox.
"""

import math
import os
import socket
import time
from collections.abc import Callable
from datetime import timedelta
from uuid import uuid4

from scrubjay.errors import InputError
from scrubjay.store.bucket.inbox import Inbox, open_inbox
from scrubjay.store.notes import TableNotes, open_notes
from scrubjay.store.tables import ALWAYS, connect

LEASE_SECONDS = 15.0  # without a renewal; then another engine may take it
_NAME = "maintainer"
_NO_HOLDER = ""


class Lease:
    """One engine's hold on the lease; `holder` is unique to that engine."""

    def __init__(
        self,
        notes: TableNotes,
        holder: str,
        *,
        seconds: float = LEASE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._notes, self._me, self._seconds, self._clock = notes, holder, seconds, clock
        self._mine: str | None = None  # the note's text while the lease is ours
        self._seen: str | None = None
        self._since = self._looked = self._renewed = -math.inf
        self._beat = 0

    @property
    def is_valid(self) -> bool:
        """Return True if no other engine can hold the lease now."""
        return self._mine is not None and self._clock() - self._renewed < self._seconds * 2 / 3

    @property
    def holder(self) -> str | None:
        """The engine that held the lease at the last look, or None."""
        text = self._seen if self._mine is None else self._mine
        return text.partition(" ")[0] if text else None

    async def keep(self) -> bool:
        """Renew the lease, or take it from an engine that is gone; return whether it is ours.

        The store is read only when a renewal is due.
        """
        now = self._clock()
        if now - max(self._looked, self._renewed) < self._seconds / 3:
            return self.is_valid
        self._looked = now
        if self._mine is not None:
            if await self._write(self._mine, now):
                return True
            self._mine = None
        seen = await self._notes.read(_NAME)
        if seen is not None and seen.startswith(f"{self._me} "):  # our own renewal, whose response was lost
            self._mine = seen
            return await self._write(seen, now)
        if seen != self._seen:
            self._seen, self._since = seen, now
        if not seen or now - self._since >= self._seconds:
            return await self._write(seen, now)
        return False

    async def release(self) -> None:
        """Give the lease up, so that the next engine has it at once."""
        if self._mine is not None:
            await self._notes.swap(_NAME, self._mine, _NO_HOLDER)
            self._mine = None

    async def _write(self, before: str | None, now: float) -> bool:
        self._beat += 1
        text = f"{self._me} {self._beat}"
        if not await self._notes.swap(_NAME, before, text):
            return False
        self._mine, self._renewed = text, now
        return True


_PREEMPTED = "Retryable commit conflict"  # of a compaction, by a write
# how long an older version stays: another engine may be reading it, and we cannot know
VERSION_LIFETIME = timedelta(hours=1)
SWEEP_SECONDS = 600.0  # between the maintainer's checks for expired versions


class Shared:
    """One engine's part in a shared store. The code that makes the engine ready to write sets `leads`."""

    def __init__(self, notes: TableNotes, inbox: Inbox, lease: Lease) -> None:
        self.notes, self.inbox, self.lease = notes, inbox, lease
        self.leads = False

    @property
    def is_maintainer(self) -> bool:
        """Return True if this engine writes the tables."""
        return self.leads and self.lease.is_valid

    async def tidy(self) -> None:
        """Compact the tables of the lease and the inbox; the maintainer calls this from time to time.

        A table that is written meanwhile is left to the next time: engines renew the lease every few seconds.
        """
        for table in (self.notes.table, self.inbox.table):
            try:
                await table.optimize(cleanup_older_than=VERSION_LIFETIME)
            except RuntimeError as error:  # LanceDB has no class of its own for it
                if _PREEMPTED not in str(error):
                    raise


def refuse_follower(shared: Shared | None, what: str) -> None:
    """Raise unless this engine writes the tables.

    Raises:
        InputError: another engine writes them, and only that one can do `what`.
    """
    if shared is not None and not shared.is_maintainer:
        problem = f"{what} needs the engine that maintains this store: {shared.lease.holder}."
        raise InputError(f"{problem} Send the request to that engine, or stop it first.")


async def join(path: str, *, seconds: float = LEASE_SECONDS) -> Shared:
    """Join the store at `path`, creating the tables through which its engines coordinate.

    Raises:
        ValueError, RuntimeError: the bucket cannot be reached; the error is LanceDB's.
    """
    database = await connect(path, fresh=ALWAYS)
    notes = await open_notes(database)
    me = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"
    return Shared(notes, await open_inbox(database), Lease(notes, me, seconds=seconds))
