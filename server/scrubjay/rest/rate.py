"""How many requests one caller may make: a bucket of allowances that fills with time. Knows names and seconds; does not know requests."""

from __future__ import annotations

from collections.abc import Callable

PER_SECOND = 500.0  # what stops a loop that ran away and nobody who works: two cores answer fewer searches a second than that
BURST_SECONDS = 2.0  # of unused allowance that a caller may spend at once
_MOST_CALLERS = 10_000  # remembered; one whose bucket is full again is like one who never came


class Rate:
    """The allowance of each caller. `per_second` 0 allows everything; `time` is a monotonic clock in seconds."""

    def __init__(self, per_second: float, time: Callable[[], float]) -> None:
        self._per_second, self._time = per_second, time
        self._burst = max(1.0, per_second * BURST_SECONDS)
        self._left: dict[str, tuple[float, float]] = {}  # caller -> (allowance, when that was)

    def wait(self, caller: str) -> float:
        """Take one allowance: 0.0, or the seconds until there is one."""
        if not self._per_second:
            return 0.0
        now = self._time()
        left = self._allowance(self._left.get(caller, (self._burst, now)), now)
        if left < 1:
            return (1 - left) / self._per_second
        if caller not in self._left and len(self._left) >= _MOST_CALLERS:
            self._left = {name: held for name, held in self._left.items() if self._allowance(held, now) < self._burst}
        self._left[caller] = (left - 1, now)
        return 0.0

    def _allowance(self, held: tuple[float, float], now: float) -> float:
        left, then = held
        return min(self._burst, left + (now - then) * self._per_second)
