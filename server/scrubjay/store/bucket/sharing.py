"""What the engines that share a bucket use to coordinate: notes, a lease and an inbox.

One engine, the maintainer, writes the tables of records and passages. Rewriting whole rows, numbering turns
and ordering versions rely on a single writer. The writes of the other engines wait in the inbox.
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

LEASE_SECONDS = 15.0  # time without a renewal after which another engine may take the lease
_NAME = "maintainer"
_NO_HOLDER = ""


class Lease:
    """The lease as one engine sees it; `holder` is a name that only this engine has."""

    def __init__(
        self,
        notes: TableNotes,
        holder: str,
        *,
        seconds: float = LEASE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._notes, self._my_name, self._seconds, self._clock = notes, holder, seconds, clock
        self._my_text: str | None = None  # the note's text while the lease is ours
        self._last_text: str | None = None  # the note's text at the last look
        self._last_change = self._read_at = self._renewed_at = -math.inf
        self._renewals = 0

    @property
    def is_valid(self) -> bool:
        """Return True if no other engine can hold the lease now."""
        return self._my_text is not None and self._clock() - self._renewed_at < self._seconds * 2 / 3

    @property
    def holder(self) -> str | None:
        """Return the engine that held the lease at the last look, or None."""
        text = self._last_text if self._my_text is None else self._my_text
        return text.partition(" ")[0] if text else None

    async def keep(self) -> bool:
        """Renew the lease if it is due, or take it from an engine that is gone; return True if it is ours."""
        now = self._clock()
        if now - max(self._read_at, self._renewed_at) < self._seconds / 3:
            return self.is_valid
        self._read_at = now
        if self._my_text is not None:
            if await self._write(self._my_text, now):
                return True
            self._my_text = None
        text = await self._notes.read(_NAME)
        if text is not None and text.startswith(f"{self._my_name} "):
            # our own renewal, whose response was lost
            self._my_text = text
            return await self._write(text, now)
        if text != self._last_text:
            self._last_text, self._last_change = text, now
        if not text or now - self._last_change >= self._seconds:
            return await self._write(text, now)
        return False

    async def release(self) -> None:
        """Give up the lease, so that another engine can take it at once."""
        if self._my_text is not None:
            await self._notes.swap(_NAME, self._my_text, _NO_HOLDER)
            self._my_text = None

    async def _write(self, before: str | None, now: float) -> bool:
        self._renewals += 1
        text = f"{self._my_name} {self._renewals}"
        if not await self._notes.swap(_NAME, before, text):
            return False
        self._my_text, self._renewed_at = text, now
        return True


_PREEMPTED = "Retryable commit conflict"  # LanceDB's words for a compaction that a write preempted
# How long an older version of a table stays, because another engine may be reading it.
VERSION_LIFETIME = timedelta(hours=1)
SWEEP_SECONDS = 600.0  # between the maintainer's checks for expired versions


class Shared:
    """One engine's part in a shared store. `leads` is set when the engine is ready to write."""

    def __init__(self, notes: TableNotes, inbox: Inbox, lease: Lease) -> None:
        self.notes, self.inbox, self.lease = notes, inbox, lease
        self.leads = False

    @property
    def is_maintainer(self) -> bool:
        """Return True if this engine writes the tables."""
        return self.leads and self.lease.is_valid

    async def tidy(self) -> None:
        """Compact the tables of the lease and the inbox; the maintainer calls this from time to time.

        A table that is written meanwhile waits for the next time: engines renew the lease every few seconds.
        """
        for table in (self.notes.table, self.inbox.table):
            try:
                await table.optimize(cleanup_older_than=VERSION_LIFETIME)
            except RuntimeError as error:  # LanceDB has no separate class for it
                if _PREEMPTED not in str(error):
                    raise


def require_maintainer(shared: Shared | None, what: str) -> None:
    """Raise InputError if another engine writes the tables: only that one can do `what`."""
    if shared is not None and not shared.is_maintainer:
        problem = f"{what} needs the engine that maintains this store: {shared.lease.holder}."
        raise InputError(f"{problem} Send the request to that engine, or stop it first.")


async def join(path: str, *, seconds: float = LEASE_SECONDS) -> Shared:
    """Join the shared store at `path`; create the tables with which its engines coordinate.

    Raises LanceDB's ValueError or RuntimeError if the bucket cannot be reached.
    """
    database = await connect(path, fresh=ALWAYS)
    notes = await open_notes(database)
    holder = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"
    return Shared(notes, await open_inbox(database), Lease(notes, holder, seconds=seconds))
