"""Runs an engine's background work, and waits for pauses in it."""

import asyncio
import logging
import sqlite3
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from scrubjay.errors import ScrubjayError
from scrubjay.store.failures import reason

log = logging.getLogger("scrubjay.engine")


class Background:
    """The background tasks of one event loop."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def begin(self, *works: Coroutine[Any, Any, Any]) -> None:
        """Run these until they are done, or until `end`."""
        for work in works:
            task = asyncio.create_task(work)
            self._tasks.add(task)
            task.add_done_callback(self._done)

    async def end(self) -> None:
        """Cancel everything, and return when it has ended."""
        running = set(self._tasks)
        # A cancellation that reaches LanceDB's own futures is now and then lost there, so it is repeated.
        while running:
            for task in running:
                task.cancel()
            _, running = await asyncio.wait(running, timeout=1.0)

    def _done(self, task: asyncio.Task[Any]) -> None:
        """Log a loop that ended by itself, which is a bug that would otherwise stay silent."""
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("background work ended", exc_info=error)


@contextmanager
def failures_logged(log: logging.Logger, what: str) -> Iterator[None]:
    """Log that `what`, and why, if a full disk or LanceDB makes this work fail; it may succeed next time."""
    try:
        yield
    except (ScrubjayError, OSError, RuntimeError, ValueError, sqlite3.Error) as error:
        log.warning("%s: %s", what, reason(error))


async def passed(seconds: float, event: asyncio.Event) -> bool:
    """Wait for the event; return True if so many seconds went by without it."""
    try:
        async with asyncio.timeout(seconds):  # Python 3.11's wait_for can swallow a cancellation
            await event.wait()
    except TimeoutError:
        return True
    return False
