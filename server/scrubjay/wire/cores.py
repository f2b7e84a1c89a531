"""Limits background work to the cores of this machine, across all engines of a user.

Standard library only.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from scrubjay.errors import HomeError
from scrubjay.wire.lock import FileLock

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE = 2.0  # seconds; an engine that is stopped keeps its core, and must not block the others
_PAUSE = 0.005  # seconds between two attempts


def core_count() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Cores:
    """`count` lock files in a folder, which limit the working threads of all engines to `count`."""

    def __init__(self, folder: str, count: int) -> None:
        self._queue_path = os.path.join(folder, "core-next.lock")
        self._core_paths = [os.path.join(folder, f"core-{number}.lock") for number in range(count)]

    @contextmanager
    def one(self) -> Iterator[None]:
        """Hold a core. Continue without one after `PATIENCE`, or if the system has removed the folder."""
        lock = None
        with suppress(HomeError):
            lock = self._next_free()
        try:
            yield
        finally:
            if lock is not None:
                lock.release()

    def _next_free(self) -> FileLock | None:
        """Wait for a core with the queue locked, so that a thread that just released one must queue."""
        deadline = time.monotonic() + PATIENCE
        with FileLock(self._queue_path) as queue:
            if queue.acquire(PATIENCE):
                while time.monotonic() < deadline:
                    for lock in map(FileLock, self._core_paths):
                        if lock.acquire():
                            return lock
                    time.sleep(_PAUSE)
        return None
