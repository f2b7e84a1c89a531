"""Checks for damage when something fails, and rebuilds what can be rebuilt."""

import asyncio
import logging
import math
import time
from collections.abc import Callable
from typing import Any

from scrubjay.errors import StoreError
from scrubjay.records.passages import passages_of
from scrubjay.store.failures import reason
from scrubjay.store.mending import count_lacking, examine, mend
from scrubjay.store.store import Store

log = logging.getLogger("scrubjay.engine.background.mending")

PAUSE = 30.0  # seconds between two automatic checks, because a check reads every file


class Mending:
    """Examines one store. `emptied` is called when its index is empty and has to be filled."""

    def __init__(self, store: Store, emptied: Callable[[], None]) -> None:
        self._store, self._emptied = store, emptied
        self._lock = asyncio.Lock()
        self._examined_at = -math.inf
        self._wake = asyncio.Event()

    def wake(self) -> None:
        """Start a check after a failure that damage may explain."""
        self._wake.set()

    async def run(self) -> None:
        """Examine the store after each failure, forever."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            await self.look()
            await asyncio.sleep(PAUSE)

    async def look(self) -> None:
        """Examine the store, unless that was done a moment ago; wait for an examination that is running."""
        if time.monotonic() - self._examined_at < PAUSE:
            async with self._lock:
                return
        self._examined_at = time.monotonic()
        try:
            await self.report()
        except (OSError, RuntimeError, ValueError, StoreError) as error:
            log.error("the check for damage failed: %s", reason(error))

    async def report(self) -> dict[str, Any]:
        """Examine the store now; return the damage and the repairs so far, in sentences.

        `lacking` is the number of records that the index lacks while nothing fills it; if it lacks any,
        filling starts now.
        """
        store, lacking = self._store, 0
        async with self._lock:
            old_restarts, was_filling = store.restarts, store.filling
            await examine(store, deep=True)
            if store.is_writer and not (store.damage or was_filling or old_restarts != store.restarts):
                lacking = await count_lacking(store, passages_of)
            if lacking:
                await store.set_complete(False, old_restarts)
        if not store.note.complete or store.building is not None:
            self._emptied()
        return {"damage": list(store.damage), "repairs": list(store.repairs), "lacking": lacking}

    async def mend(self) -> dict[str, Any]:
        """Delete the records that cannot be read, and rebuild the index from the others.

        `deleted` is their number, `aside` the folder with the store's files as they were before.
        """
        async with self._lock:
            deleted, aside = await mend(self._store)
            async with self._store.lock:
                await self._store.restart_index()
        self._store.forget_cache()
        self._emptied()
        return {"deleted": deleted, "aside": aside}
