"""What the engines of one bucket have in common beside the records: notes, a lease and an inbox. Knows which of them this engine may use as
what; does not know what is written, or when.

One engine, the maintainer, writes the tables of records and passages. The rewriting of whole rows, the numbers of turns and the order of
versions all rest on that. What the others are given to write waits in the inbox.
"""

from __future__ import annotations

import os
import socket
from datetime import timedelta
from uuid import uuid4

from scrubjay.errors import InputError
from scrubjay.store.connection import ALWAYS, connect
from scrubjay.store.inbox import Inbox, open_inbox
from scrubjay.store.lease import SECONDS, Lease
from scrubjay.store.notes import TableNotes, open_notes

KEPT = timedelta(hours=1)  # how long an older version stays: another engine may read it, and nobody can know


class Shared:
    """One engine's part in a shared store. `leads` is set by whoever has made the engine ready to write."""

    def __init__(self, notes: TableNotes, inbox: Inbox, lease: Lease) -> None:
        self.notes, self.inbox, self.lease = notes, inbox, lease
        self.leads = False

    @property
    def maintains(self) -> bool:
        """Whether this engine is the one that writes the tables."""
        return self.leads and self.lease.valid

    async def tidy(self) -> None:
        """Fold what the lease's beats and the inbox's entries left behind; the maintainer does this now and then."""
        for table in (self.notes.table, self.inbox.table):
            await table.optimize(cleanup_older_than=KEPT)


def refuse_follower(shared: Shared | None, what: str) -> None:
    """Nothing, where this engine writes the tables.

    Raises:
        InputError: another one does, and only that one can do this.
    """
    if shared is not None and not shared.maintains:
        raise InputError(f"{what} is for the engine that maintains this store: {shared.lease.holder}. Ask that one, or stop it first.")


async def join(path: str, *, seconds: float = SECONDS) -> Shared:
    """Take part in the store at `path`, creating what its engines need to agree.

    Raises:
        ValueError, RuntimeError: as LanceDB says that the bucket cannot be reached.
    """
    database = await connect(path, fresh=ALWAYS)
    notes = await open_notes(database)
    me = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"
    return Shared(notes, await open_inbox(database), Lease(notes, me, seconds=seconds))
