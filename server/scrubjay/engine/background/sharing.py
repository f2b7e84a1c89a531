"""Lets several engines share one store: the holder of the lease maintains it, the others follow."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from scrubjay.engine.background.upkeep import Upkeep
from scrubjay.engine.writing import Writer
from scrubjay.errors import ScrubjayError
from scrubjay.store.bucket.inbox import ENVELOPE, parse_access_entry
from scrubjay.store.bucket.sharing import SWEEP_SECONDS, Shared
from scrubjay.store.failures import reason
from scrubjay.store.notes import INDEX, parse_note
from scrubjay.store.opening import open_to_write
from scrubjay.store.store import Store

log = logging.getLogger("scrubjay.engine.background.sharing")

LOOK_SECONDS = 0.5  # between two checks of the inbox; each check is a request


class Sharing:
    """One engine's part in a shared store. `began` is called when this engine begins to maintain it."""

    def __init__(self, store: Store, writer: Writer, upkeep: Upkeep, began: Callable[[], None]) -> None:
        self._store, self._writer, self._upkeep, self._began = store, writer, upkeep, began
        self._swept = time.monotonic()

    async def run(self) -> None:
        """Maintain or follow the store forever; return at once if the store is not shared."""
        if (shared := self._store.shared) is not None:
            await _repeat_forever(lambda: self._work(shared))

    async def hold(self) -> None:
        """Keep the lease, or wait for it, forever.

        This runs separately from `run`, because no amount of work may delay the renewal.
        """
        if (shared := self._store.shared) is not None:
            await _repeat_forever(shared.lease.keep)

    async def _work(self, shared: Shared) -> None:
        if not shared.lease.is_valid:
            if shared.leads:
                message = "this engine no longer maintains the store; the lease was held by %s"
                log.warning(message, shared.lease.holder)
            shared.leads = False
            await self._writer.follow()
        elif not shared.leads:
            await self._begin()
        else:
            await self._take(shared)
            if time.monotonic() - self._swept > SWEEP_SECONDS:
                self._swept = time.monotonic()
                await self._upkeep.sweep()

    async def release(self) -> None:
        """Release the lease at the end."""
        if (shared := self._store.shared) is not None:
            shared.leads = False
            try:
                await shared.lease.release()
            except (OSError, RuntimeError, ValueError) as error:  # the lease expires by itself
                log.warning("the lease could not be released: %s", reason(error))

    async def _begin(self) -> None:
        store = self._store
        if (text := await store.notes.read(INDEX)) is not None:
            store.note = parse_note(text, store.path)
        store.note, store.tables = await open_to_write(store.path, store.notes, store.note)
        await store.resume_generation()
        await self._writer.lead()
        log.info("this engine maintains the store now")
        self._began()

    async def _take(self, shared: Shared) -> None:
        entries = await shared.inbox.next_entries()
        for entry in entries:
            if entry.kind != ENVELOPE:
                await self._store.count_access(parse_access_entry(entry))
                await shared.inbox.remove([entry.id])
        await self._writer.take([entry for entry in entries if entry.kind == ENVELOPE])


async def _repeat_forever(step: Callable[[], Awaitable[object]]) -> None:
    is_failing = False
    while True:
        try:
            await step()
            is_failing = False
        except (ScrubjayError, OSError, RuntimeError, ValueError) as error:
            # LanceDB's own failures do not end this either, because the network may come back.
            level = logging.INFO if is_failing else logging.ERROR
            log.log(level, "the shared store did not answer: %s", reason(error))
            is_failing = True
        await asyncio.sleep(LOOK_SECONDS)
