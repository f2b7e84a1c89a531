"""The order of turns in their sessions: who is a neighbour of whom. A bounded cache over the turns table.

The engine is the only writer and tells every write, so a cached session stays right.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

SESSIONS_KEPT = 4_000  # about 20 turns each: some 20 MB


@dataclass(frozen=True, slots=True)
class Place:
    """Where a turn stands: sessions are ordered by (`started_at`, `turn`), which is also how places compare."""

    started_at: int  # microseconds since 1970: a search reads hundreds, and makes no datetime of them
    turn: int
    id: str
    role: str | None
    forgotten: bool = False  # keeps its number, is nobody's neighbour


Key = tuple[str, str]  # (scope, session_id)


class Sessions:
    """`fetch(keys)` reads the turns of those sessions from disk and from what is staged."""

    def __init__(self, fetch: Callable[[list[Key]], Awaitable[dict[Key, list[Place]]]]) -> None:
        self._fetch = fetch
        self._kept: OrderedDict[Key, tuple[Place, ...]] = OrderedDict()
        self._writes = 0

    async def places(self, keys: Iterable[Key]) -> dict[Key, tuple[Place, ...]]:
        """The turns of each session in order; a session without turns gives an empty tuple."""
        wanted = list(dict.fromkeys(keys))
        missing = [key for key in wanted if key not in self._kept]
        fresh: dict[Key, tuple[Place, ...]] = {}
        if missing:
            writes = self._writes
            found = await self._fetch(missing)
            fresh = {key: _ordered(found.get(key, ())) for key in missing}
            if writes == self._writes:  # else a write came in between: use it once, do not keep it
                self._kept.update(fresh)
        answer = {}
        for key in wanted:
            answer[key] = fresh[key] if key in fresh else self._kept[key]
            if key in self._kept:
                self._kept.move_to_end(key)
        while len(self._kept) > SESSIONS_KEPT:
            self._kept.popitem(last=False)
        return answer

    def changed(self, key: Key, place: Place) -> None:
        """A turn of this session was written."""
        self._writes += 1
        if key in self._kept:
            self._kept[key] = _ordered([*(kept for kept in self._kept[key] if kept.id != place.id), place])


def _ordered(places: Iterable[Place]) -> tuple[Place, ...]:
    return tuple(sorted(places, key=lambda place: (place.started_at, place.turn)))
