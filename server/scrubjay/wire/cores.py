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

PATIENCE = 2.0  # seconds; a stopped engine keeps its core, and must not block the others
_PAUSE = 0.005  # seconds between two attempts


def core_count() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Cores:
    """`count` lock files in a folder, which limit the working threads of all engines to `count`."""

    def __init__(self, folder: str, count: int) -> None:
        self._next = os.path.join(folder, "core-next.lock")
        self._places = [os.path.join(folder, f"core-{number}.lock") for number in range(count)]

    @contextmanager
    def one(self) -> Iterator[None]:
        """Hold a core; after `PATIENCE`, or if the system has removed the folder, continue without one."""
        place = None
        with suppress(HomeError):
            place = self._next_free()
        try:
            yield
        finally:
            if place is not None:
                place.release()

    def _next_free(self) -> FileLock | None:
        """Wait for a core while holding `next`, so that a thread that gave one up cannot overtake us."""
        end = time.monotonic() + PATIENCE
        with FileLock(self._next) as turn:
            if turn.acquire(PATIENCE):
                while time.monotonic() < end:
                    for place in map(FileLock, self._places):
                        if place.acquire():
                            return place
                    time.sleep(_PAUSE)
        return None
