"""Places sessions and facts by meaning, so that a person can look over all of them at once."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from scrubjay.engine.verbs.verb import Verb
from scrubjay.search.layout import layout
from scrubjay.store import conditions
from scrubjay.store.conditions import Where

MOST = 10_000  # points, the newest
_LABEL = 120  # characters of what a point says
_COLUMNS = ["id", "src", "record_id", "text", "scope", "session_id"]


@dataclass(eq=False)
class Map(Verb):
    """Lays out the facts and sessions of one store, again when there are others."""

    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _made_of: int = 0
    _places: dict[str, tuple[float, float]] = field(default_factory=dict)  # by the id of a passage

    async def points(self) -> list[dict[str, Any]]:
        """Return current facts, and sessions where their summaries lie; at most `MOST`, the newest first.

        Each has `kind` (fact or session), `id`, `scope`, `label`, and `x` and `y` from 0 to 1. What has no
        vector yet is not among them.
        """
        await self._writer.caught_up()
        where = _placed()
        async with self._turn:  # one layout at a time
            rows = await self._store.newest_passages(where, MOST, _COLUMNS)
            if (made_of := hash(tuple(row.id for row in rows))) != self._made_of:
                ids, vectors = await self._store.vectors(where, MOST)
                plane = (await asyncio.to_thread(layout, vectors)).round(4).tolist()
                self._places = {each: (x, y) for each, (x, y) in zip(ids, plane, strict=True)}
                self._made_of = made_of
            places = self._places
        points: dict[tuple[str, str], dict[str, Any]] = {}
        for row in rows:
            if (place := places.get(row.id)) is not None:
                is_fact = row.src == "memory"
                name = row.record_id if is_fact else row.session_id or ""
                points[row.scope, name] = {  # a long session has several summaries; the first one stays
                    "kind": "fact" if is_fact else "session",
                    "id": name,
                    "scope": row.scope,
                    "label": " ".join(row.text.split())[:_LABEL],
                    "x": place[0],
                    "y": place[1],
                }
        return list(points.values())


def _placed() -> Where:
    """The first passages of facts and of the summaries of sessions that have a vector."""
    first = conditions.matching(src=("memory", "summary"), part=0, hidden=False)
    return conditions.both(first, conditions.negation(conditions.NO_VECTOR))
