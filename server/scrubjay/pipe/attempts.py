"""How often an engine of this home failed to start lately. Knows times, kept in the text of the starting lock; starts nothing.

All clients of a home share the count, so that twenty of them do not restart a broken engine sixty times a minute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrubjay.engine.lock import FileLock

MOST = 3  # failed starts
WITHIN = 60.0  # seconds


class Attempts:
    """The failed starts of the last minute, read and written by the holder of the starting lock."""

    def __init__(self, lock: FileLock) -> None:
        self._lock = lock

    def exhausted(self, now: float) -> str | None:
        """The reason of the last failure when no further start is allowed at `now` (seconds since 1970), else None."""
        times, reason = self._read(now)
        return reason if len(times) >= MOST else None

    def failed(self, now: float, reason: str) -> None:
        """Note a start that failed at `now`."""
        times, _ = self._read(now)
        text = " ".join(str(int(time)) for time in [*times, now])
        self._lock.write(f"{text}\n{reason.encode('ascii', 'replace').decode()[:1000]}")

    def succeeded(self) -> None:
        """Forget the failures."""
        if self._lock.read():
            self._lock.write("")

    def _read(self, now: float) -> tuple[list[float], str]:
        first, _, reason = self._lock.read().partition("\n")
        times = [float(word) for word in first.split() if word.isdigit()]
        return [time for time in times if 0 <= now - time < WITHIN], reason
