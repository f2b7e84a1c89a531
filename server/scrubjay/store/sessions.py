"""The order of turns in their sessions: a bounded cache, correct because the engine reports every write."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from scrubjay.models.records import Turn
from scrubjay.store.schema import micros

CAPACITY = 4_000  # sessions, of about 20 turns each: about 20 MB
# The columns from which a turn's place is made.
COLUMNS = ("scope", "session_id", "started_at", "turn", "id", "role", "forgotten_at")

Key = tuple[str, str]  # (scope, session_id)


@dataclass(frozen=True, slots=True)
class Place:
    """A turn's place in its session. Places are ordered by (`started_at`, `turn`)."""

    started_at: int  # microseconds since 1970; a search reads hundreds, too many to convert to datetimes
    turn: int
    id: str
    role: str | None
    forgotten_at: int | None = None

    @property
    def forgotten(self) -> bool:
        """Return True if the turn is forgotten; it keeps its number, but is not a neighbour."""
        return self.forgotten_at is not None


@dataclass(frozen=True)
class Session:
    """The turns of one session, in order."""

    places: tuple[Place, ...]

    @cached_property
    def positions(self) -> dict[str, int]:
        """Return the index of each turn in `places`, by id."""
        return {place.id: position for position, place in enumerate(self.places)}

    @cached_property
    def whole(self) -> bool:
        """Return True if no turn of the session is forgotten."""
        return not any(place.forgotten for place in self.places)


class Sessions:
    """Sessions by key. `fetch(keys)` reads the turns of sessions from the disk and from the staged writes."""

    def __init__(self, fetch: Callable[[list[Key]], Awaitable[dict[Key, list[Place]]]]) -> None:
        self._fetch = fetch
        self._cache: dict[Key, Session] = {}  # in the order in which they were read; the oldest leaves first
        self._writes = 0

    async def of(self, keys: Iterable[Key]) -> dict[Key, Session]:
        """Return the sessions with these keys; a session without turns is empty."""
        keys = list(dict.fromkeys(keys))
        sessions = {key: self._cache[key] for key in keys if key in self._cache}
        if missing := [key for key in keys if key not in sessions]:
            writes = self._writes
            places = await self._fetch(missing)
            fetched = {key: _ordered(places.get(key, ())) for key in missing}
            sessions |= fetched
            if writes == self._writes:  # after a write during the read, the result is not cached
                self._cache.update(fetched)
            while len(self._cache) > CAPACITY:
                self._cache.pop(next(iter(self._cache)))
        return {key: sessions[key] for key in keys}

    def put(self, key: Key, place: Place) -> None:
        """Add a turn to this session, or replace it, after it was written."""
        self._writes += 1
        if session := self._cache.get(key):
            self._cache[key] = _ordered([*(other for other in session.places if other.id != place.id), place])


def place_of(turn: Turn) -> Place:
    """Return the place of a turn."""
    forgotten_at = None if turn.forgotten_at is None else micros(turn.forgotten_at)
    return Place(micros(turn.started_at), turn.turn, turn.id, turn.role, forgotten_at)


def places_of(keys: Iterable[Key], turns: pa.Table) -> dict[Key, dict[str, Place]]:
    """Return the places of each session by id, from rows of `COLUMNS`, without turns of other sessions.

    A search may read the places of thousands of turns, and making models of them took 30 ms.
    """
    sessions: dict[Key, dict[str, Place]] = {key: {} for key in keys}
    for scope, session_id, started_at, turn, turn_id, role, forgotten_at in zip(
        *(turns[name].to_pylist() for name in COLUMNS), strict=True
    ):
        if (places := sessions.get((scope, session_id))) is not None:
            places[turn_id] = Place(started_at, turn, turn_id, role, forgotten_at)
    return sessions


def _ordered(places: Iterable[Place]) -> Session:
    return Session(tuple(sorted(places, key=lambda place: (place.started_at, place.turn))))
