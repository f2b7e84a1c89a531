"""The lease on a shared store: which of its engines maintains it. Knows who holds it, and when a holder counts as gone; does not know what
a maintainer does.

No clock is compared with another machine's: whoever waits measures, with its own, how long the holder's beat has not changed. A holder
stops a third of that time earlier, counted from before its last beat was sent, so that two never hold it at once.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from scrubjay.store.notes import TableNotes

SECONDS = 15.0  # without a beat, after which another engine takes it
_NAME = "maintainer"
_NOBODY = ""


class Lease:
    """One engine's hold on the lease; `holder` names that engine and nobody else."""

    def __init__(self, notes: TableNotes, holder: str, *, seconds: float = SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        self._notes, self._me, self._seconds, self._clock = notes, holder, seconds, clock
        self._mine: str | None = None  # what stands in the note while it is ours
        self._seen: str | None = None
        self._since = self._looked = self._renewed = -math.inf
        self._beat = 0

    @property
    def valid(self) -> bool:
        """Whether nobody else can hold it now."""
        return self._mine is not None and self._clock() - self._renewed < self._seconds * 2 / 3

    @property
    def holder(self) -> str | None:
        """Who held it when it was last looked at; None for nobody."""
        text = self._seen if self._mine is None else self._mine
        return text.partition(" ")[0] if text else None

    async def keep(self) -> bool:
        """Renew it, or take it from one who is gone; whether it is ours. Asks the store only when it is time for that."""
        now = self._clock()
        if now - max(self._looked, self._renewed) < self._seconds / 3:
            return self.valid
        self._looked = now
        if self._mine is not None:
            if await self._write(self._mine, now):
                return True
            self._mine = None
        seen = await self._notes.read(_NAME)
        if seen is not None and seen.startswith(f"{self._me} "):  # a beat of ours whose answer was lost
            self._mine = seen
            return await self._write(seen, now)
        if seen != self._seen:
            self._seen, self._since = seen, now
        if not seen or now - self._since >= self._seconds:
            return await self._write(seen, now)
        return False

    async def release(self) -> None:
        """Let the next engine have it at once."""
        if self._mine is not None:
            await self._notes.swap(_NAME, self._mine, _NOBODY)
            self._mine = None

    async def _write(self, before: str | None, now: float) -> bool:
        self._beat += 1
        text = f"{self._me} {self._beat}"
        if not await self._notes.swap(_NAME, before, text):
            return False
        self._mine, self._renewed = text, now
        return True
