"""Places sessions and facts on a map by meaning, so that a user can see all of them at once."""

import asyncio
from dataclasses import dataclass, field
from typing import NamedTuple

from scrubjay.engine.verbs.verb import Verb
from scrubjay.search.layout import Place, places
from scrubjay.store import conditions
from scrubjay.store.allocator import give_memory_back
from scrubjay.store.conditions import Where

MOST = 10_000  # points, the newest
_SENT_SECONDS = 2.0  # until the points are sent; then the 15 MB used to make them are given back
_LABEL = 120  # characters of a point's label
_COLUMNS = ["id", "src", "record_id", "scope", "session_id"]


class Point(NamedTuple):
    """A fact, or a session; `x` and `y` are from 0 to 1."""

    is_fact: bool
    scope: str
    x: float
    y: float
    id: str
    label: str


@dataclass(eq=False)
class Map(Verb):
    """Lays out the facts and sessions of a store; recomputed when there are new ones."""

    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _made_of: int = 0
    _places: dict[str, Place] = field(default_factory=dict)  # by the id of a passage

    async def points(self) -> list[Point]:
        """Return current facts, and sessions at the place of their summaries; at most `MOST`, newest first.

        Records without a vector are left out.
        """
        await self._writer.caught_up()
        where = _placed()
        async with self._turn:  # one layout at a time
            rows = await self._store.newest_passages(where, MOST, _COLUMNS, text=2 * _LABEL)
            ids = [row[0] for row in rows]
            if (made_of := hash(tuple(ids))) != self._made_of:
                self._places = await places(self._store, where, ids)
                self._made_of = made_of
        loop = asyncio.get_running_loop()
        loop.call_later(_SENT_SECONDS, loop.run_in_executor, None, give_memory_back)
        points: dict[tuple[str, str], Point] = {}
        for passage_id, src, record_id, scope, session_id, text in rows:
            if (place := self._places.get(passage_id)) is not None:
                name = record_id if src == "memory" else session_id or ""
                label = " ".join(text.split())[:_LABEL]
                # a long session has several summaries; use the first
                points[scope, name] = Point(src == "memory", scope, *place, name, label)
        return list(points.values())


def _placed() -> Where:
    """Return the condition for the first passages of facts and session summaries that have a vector."""
    first = conditions.matching(src=("memory", "summary"), part=0, hidden=False)
    return conditions.both(first, conditions.present("space_id"))
