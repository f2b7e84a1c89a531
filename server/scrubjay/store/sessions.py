"""The order of turns in their sessions: who is a neighbour of whom. A bounded cache over the turns table.

The engine is the only writer and tells every write, so a cached session stays right.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

CAPACITY = 4_000  # about 20 turns each: some 20 MB


@dataclass(frozen=True, slots=True)
class Place:
    """Where a turn stands: sessions are ordered by (`started_at`, `turn`), which is also how places compare."""

    started_at: int  # microseconds since 1970: a search reads hundreds, and makes no datetime of them
    turn: int
    id: str
    role: str | None
    forgotten_at: int | None = None

    @property
    def forgotten(self) -> bool:
        """Whether it is nobody's neighbour; it keeps its number."""
        return self.forgotten_at is not None


@dataclass(frozen=True)
class Session:
    """The turns of one session, in order."""

    places: tuple[Place, ...]

    @cached_property
    def positions(self) -> dict[str, int]:
        """Where each turn stands in `places`, by its id: a search looks up a few turns of a session that may have thousands."""
        return {place.id: position for position, place in enumerate(self.places)}

    @cached_property
    def whole(self) -> bool:
        """Whether no turn of it is forgotten."""
        return not any(place.forgotten for place in self.places)


Key = tuple[str, str]  # (scope, session_id)
COLUMNS = [
    "scope",
    "session_id",
    "started_at",
    "turn",
    "id",
    "role",
    "forgotten_at",
]  # of a turn, what its place is made of


class Sessions:
    """`fetch(keys)` reads the turns of those sessions from disk and from what is staged."""

    def __init__(self, fetch: Callable[[list[Key]], Awaitable[dict[Key, list[Place]]]]) -> None:
        self._fetch = fetch
        self._kept: OrderedDict[Key, Session] = OrderedDict()
        self._writes = 0

    async def of(self, keys: Iterable[Key]) -> dict[Key, Session]:
        """The sessions of these keys; one without turns is empty."""
        wanted = list(dict.fromkeys(keys))
        missing = [key for key in wanted if key not in self._kept]
        fresh: dict[Key, Session] = {}
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
        while len(self._kept) > CAPACITY:
            self._kept.popitem(last=False)
        return answer

    def changed(self, key: Key, place: Place) -> None:
        """A turn of this session was written."""
        self._writes += 1
        if key in self._kept:
            self._kept[key] = _ordered(
                [*(kept for kept in self._kept[key].places if kept.id != place.id), place]
            )


def _ordered(places: Iterable[Place]) -> Session:
    return Session(tuple(sorted(places, key=lambda place: (place.started_at, place.turn))))


def places_of(keys: Iterable[Key], turns: pa.Table) -> dict[Key, dict[str, Place]]:
    """The places of each session by id, out of rows of `COLUMNS`; turns of other sessions are passed over.

    Straight from Arrow: a search over new ground reads the places of thousands of turns, and a model of each took it 30 ms.
    """
    places: dict[Key, dict[str, Place]] = {key: {} for key in keys}
    for scope, session, started_at, turn, id, role, forgotten_at in zip(
        *(turns[name].to_pylist() for name in COLUMNS), strict=True
    ):
        if (found := places.get((scope, session))) is not None:
            found[id] = Place(started_at, turn, id, role, forgotten_at)
    return places
