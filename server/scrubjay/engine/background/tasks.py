"""Runs an engine's background work, and waits for pauses."""

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
        """Run these coroutines until they are done or `end` is called."""
        for work in works:
            task = asyncio.create_task(work)
            self._tasks.add(task)
            task.add_done_callback(self._done)

    async def end(self) -> None:
        """Cancel all tasks, and return when they have ended."""
        running = set(self._tasks)
        # LanceDB's own futures sometimes lose a cancellation, so it is repeated.
        while running:
            for task in running:
                task.cancel()
            _, running = await asyncio.wait(running, timeout=1.0)

    def _done(self, task: asyncio.Task[Any]) -> None:
        """Log a task that failed by itself: a bug that would otherwise stay silent."""
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("background work ended", exc_info=error)


@contextmanager
def failures_logged(log: logging.Logger, what: str) -> Iterator[None]:
    """Log `what` and the reason, and go on, if a full disk or LanceDB makes the block fail."""
    try:
        yield
    except (ScrubjayError, OSError, RuntimeError, ValueError, sqlite3.Error) as error:
        log.warning("%s: %s", what, reason(error))


async def quiet_for(seconds: float, event: asyncio.Event) -> bool:
    """Wait at most `seconds` for the event; return True if it did not come."""
    try:
        async with asyncio.timeout(seconds):  # Python 3.11's wait_for can swallow a cancellation
            await event.wait()
    except TimeoutError:
        return True
    return False
