"""Pages of facts as a user narrows them, and the new ones to look through."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any, Literal, NamedTuple

from scrubjay.engine.verbs.verb import Verb
from scrubjay.home.scopes import USER_SCOPE
from scrubjay.models.envelopes import envelope
from scrubjay.models.records import Memory, is_current
from scrubjay.models.requests import Review
from scrubjay.store import conditions

NEW = timedelta(days=30)  # after which a fact that was never looked at is not offered any more
LATELY = timedelta(days=7)
OWN = ("page", "cli")  # sources of facts that the user wrote
Which = Literal["current", "new", "changed", "unrecalled", "forgotten"]
_LIGHT = (
    "id partition_id tags source created_at updated_at access_count last_accessed_at "
    "expires_at forgotten_at review"
).split()


class FactPage(NamedTuple):
    """One page of facts: how many there are, how many are new, and how many have each value."""

    results: list[Memory]
    total: int
    fresh: int  # listed or not
    values: dict[str, dict[str, int]]


class Facts(Verb):
    """Reads facts in their newest version, and keeps what the user approves of."""

    async def page(
        self,
        scopes: Collection[str],
        which: Which,
        *,
        words: str = "",
        sort: Literal["created_at", "updated_at"] = "updated_at",
        start: int,
        size: int,
        **chosen: str | None,
    ) -> FactPage:
        """Return facts with all of these words and the `chosen` `kind`, `tag` and `source`, last first."""
        await self._writer.caught_up()
        now = self._clock()
        where = conditions.both(
            conditions.one_of("scope", scopes),
            conditions.LATEST,
            conditions.NOT_A_SUMMARY,
            *(conditions.contains("lower(content)", word) for word in words.lower().split()),
        )
        rows = [self._access.counted(row) for row in await self._store.select(Memory, where, columns=_LIGHT)]
        fresh = sum(_is_new(row, now) for row in rows)
        rows = [row for row in rows if _WHICH[which](row, now)]
        tallies = {name: Counter(value for row in rows for value in of(row)) for name, of in _VALUES.items()}
        values = {name: dict(tally.most_common()) for name, tally in tallies.items()}
        for name, value in chosen.items():
            rows = [row for row in rows if not value or value in _VALUES[name](row)]
        rows.sort(key=attrgetter(sort, "id"), reverse=True)
        whole = await self._store.get(Memory, [row.id for row in rows[start : start + size]])
        page = [self._access.counted(whole[row.id]) for row in rows[start : start + size] if row.id in whole]
        return FactPage(page, len(rows), fresh, values)

    async def keep(self, ids: Sequence[str], source: str) -> None:
        """Note that the user looked at these facts and keeps them."""
        for each in ids:
            request, at = Review(id=each, action="keep"), self._clock()
            await self._writer.write(envelope("review", request, scope=USER_SCOPE, source=source, at=at))


def _is_new(row: Memory, now: datetime) -> bool:
    """Return True if the user neither wrote nor approved of a recent fact."""
    is_recent = row.created_at > now - NEW
    return is_current(row, now) and is_recent and row.review is None and row.source not in OWN


_VALUES: dict[str, Callable[[Memory], Sequence[str]]] = {
    "kind": lambda row: (row.partition_id,),
    "tag": attrgetter("tags"),
    "source": lambda row: (row.source,),
}
_WHICH: dict[Which, Callable[[Memory, datetime], Any]] = {
    "current": is_current,
    "new": _is_new,
    "changed": lambda row, now: is_current(row, now) and row.updated_at > now - LATELY,
    "unrecalled": lambda row, now: is_current(row, now) and not row.access_count,
    "forgotten": lambda row, now: not is_current(row, now),
}
