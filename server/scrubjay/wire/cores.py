"""The cores of this machine as places for background work, which all engines of a user share.

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

PATIENCE = 2.0  # seconds; an engine that was stopped keeps its place, and must not stop the others
_PAUSE = 0.005  # seconds between two looks for a free place


def core_count() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Cores:
    """Lock files in a folder, `count` of them: as many threads of all engines work at once."""

    def __init__(self, folder: str, count: int) -> None:
        self._next = os.path.join(folder, "core-next.lock")
        self._places = [os.path.join(folder, f"core-{number}.lock") for number in range(count)]

    @contextmanager
    def one(self) -> Iterator[None]:
        """Hold a core; after `PATIENCE`, or where the system has removed the folder, go on without one."""
        place = None
        with suppress(HomeError):
            place = self._next_free()
        try:
            yield
        finally:
            if place is not None:
                place.release()

    def _next_free(self) -> FileLock | None:
        """Wait for a core with `next` held, so that nobody who gave one up takes it again before us."""
        end = time.monotonic() + PATIENCE
        with FileLock(self._next) as turn:
            if turn.acquire(PATIENCE):
                while time.monotonic() < end:
                    for place in map(FileLock, self._places):
                        if place.acquire():
                            return place
                    time.sleep(_PAUSE)
        return None
