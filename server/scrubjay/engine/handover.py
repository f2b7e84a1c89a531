"""Hands this engine's envelopes over to the engine that maintains a shared store.

An envelope stays in this home's spool until the bucket has it. Until the other engine has written its
records, they are visible here as planned.
"""

import asyncio
import os
import time
from collections.abc import Mapping

from scrubjay.home import spool
from scrubjay.home.files import open_regular
from scrubjay.home.paths import Home
from scrubjay.store.bucket.inbox import ENVELOPE, Entry
from scrubjay.store.bucket.sharing import Shared
from scrubjay.store.failures import not_written
from scrubjay.store.follower import Follower
from scrubjay.store.store import Store

WAIT_SECONDS = 3.0  # a search waits at most this long for handed-over writes, then answers without them
LOOK_SECONDS = 0.15  # between two checks of the bucket


class Handover:
    """The envelopes that one engine hands over."""

    def __init__(self, home: Home, store: Store, shared: Shared) -> None:
        self._home, self._store, self._shared = home, store, shared
        self.follower = Follower(store)
        # The ids of the records that each entry changes, for entries that are not written yet.
        self._sent: dict[str, tuple[str, ...]] = {}
        self._lock = asyncio.Lock()

    async def send(self, envelopes: Mapping[str, tuple[str, ...]]) -> None:
        """Move envelopes from the spool into the bucket: their paths, with the ids of the changed records.

        Raises:
            StoreError: the bucket does not accept them; they stay in the spool.
        """
        async with self._lock:
            paths = [path for path in envelopes if os.path.exists(path)]
            if paths:
                entries = await asyncio.to_thread(lambda: [_entry(path) for path in paths])
                try:
                    await self._shared.inbox.put(entries)
                except (RuntimeError, OSError) as error:
                    raise not_written(self._store.path, error) from error
            self._sent.update((_name(path), ids) for path, ids in envelopes.items())
            await asyncio.to_thread(spool.remove, paths)

    async def look(self) -> None:
        """Forget the envelopes that have been written, and the plans for their records."""
        async with self._lock:
            if not self._sent:
                return
            waiting = await self._shared.inbox.waiting_ids(self._sent)
            if written := self._sent.keys() - waiting:
                await self.follower.look(at_once=True)
                ids = {record_id for name in written for record_id in self._sent.pop(name)}
                still_waiting = {record_id for entry_ids in self._sent.values() for record_id in entry_ids}
                self._store.unstage(ids - still_waiting)

    async def wait_until_written(self) -> None:
        """Wait until everything handed over so far is written, at most `WAIT_SECONDS`."""
        sent, deadline = set(self._sent), time.monotonic() + WAIT_SECONDS
        while True:
            await self.look()
            if not sent & self._sent.keys() or time.monotonic() > deadline:
                return
            await asyncio.sleep(LOOK_SECONDS)

    def forget(self) -> None:
        """Forget the handed-over envelopes: this engine is now the writer and plans them again."""
        self._sent.clear()


def _name(path: str) -> str:
    return os.path.basename(path).removesuffix(".json")


def _entry(path: str) -> Entry:
    with open_regular(path) as file:
        return Entry(_name(path), ENVELOPE, file.read().decode())
