"""Pages of facts as a user narrows them, and the new ones to look through."""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any, Literal, NamedTuple

from scrubjay.engine.verbs.verb import Verb
from scrubjay.home.scopes import USER_SCOPE
from scrubjay.models.envelopes import envelope
from scrubjay.models.records import Memory, is_current
from scrubjay.models.requests import Review
from scrubjay.records.distilled import CONTRADICTS
from scrubjay.search.similar import COMPARED
from scrubjay.store import conditions
from scrubjay.text.likeness import disagreements

NEW = timedelta(days=30)  # after which a fact that was never looked at is not offered any more
LATELY = timedelta(days=7)
OWN = ("page", "cli")  # sources of facts that the user wrote
MOST_COMPARED = 1_000  # facts of a project, the newest ones, that are compared with each other
Which = Literal["current", "new", "changed", "unrecalled", "contradicting", "forgotten"]
_LIGHT = (
    "id partition_id tags source created_at updated_at access_count last_accessed_at "
    "expires_at forgotten_at review"
).split()
_RIVAL = ["scope", "content", "metadata", "parent_ids"]


class Rival(NamedTuple):
    """A fact that another may contradict, or that gives a newer or older value."""

    id: str
    memory: str
    date: datetime
    reason: Literal["contradict", "newer", "older"]


class FactPage(NamedTuple):
    """One page of facts: how many there are, how many are new, and how many have each value."""

    results: list[Memory]
    total: int
    fresh: int  # listed or not
    values: dict[str, dict[str, int]]
    rivals: dict[str, Rival]  # of the contradicting ones, by id


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
        """Return facts with all of these words and the `chosen` `kind`, `tag` and `source`, last first.

        Of contradicting facts, which follow one another, one has to be as chosen.
        """
        await self._writer.caught_up()
        now = self._clock()
        where = conditions.both(
            conditions.one_of("scope", scopes),
            conditions.LATEST,
            conditions.NOT_A_SUMMARY,
            *(conditions.contains("lower(content)", word) for word in words.lower().split()),
        )
        columns = [*_LIGHT, *_RIVAL] if which == "contradicting" else _LIGHT
        rows = [self._access.counted(row) for row in await self._store.select(Memory, where, columns=columns)]
        fresh = sum(_is_new(row, now) for row in rows)
        rows = [row for row in rows if _WHICH[which](row, now)]
        # Each fact by itself, or next to those that it may contradict.
        groups: list[tuple[Memory, ...]] = [(row,) for row in rows]
        rivals: dict[str, Rival] = {}
        if which == "contradicting":
            groups, rivals = await asyncio.to_thread(_contradicting, rows)
        values = {name: dict(_tally(_members(groups), of).most_common()) for name, of in _VALUES.items()}
        wanted = [(_VALUES[name], value) for name, value in chosen.items() if value]
        groups = [
            rows for rows in groups if any(all(value in of(row) for of, value in wanted) for row in rows)
        ]
        groups.sort(key=lambda rows: max((getattr(row, sort), row.id) for row in rows), reverse=True)
        rows = _members(groups)
        whole = await self._store.get(Memory, [row.id for row in rows[start : start + size]])
        page = [self._access.counted(whole[row.id]) for row in rows[start : start + size] if row.id in whole]
        return FactPage(page, len(rows), fresh, values, rivals)

    async def keep(self, ids: Sequence[str], source: str) -> None:
        """Note that the user looked at these facts and keeps them."""
        for each in ids:
            request, at = Review(id=each, action="keep"), self._clock()
            await self._writer.write(envelope("review", request, scope=USER_SCOPE, source=source, at=at))


def _members(groups: Iterable[Sequence[Memory]]) -> list[Memory]:
    return list({row.id: row for rows in groups for row in rows}.values())


def _contradicting(facts: Sequence[Memory]) -> tuple[list[tuple[Memory, ...]], dict[str, Rival]]:
    """Return pairs of facts that cannot both hold, except where the user kept both, and their rivals."""
    known = {fact.id: fact for fact in facts}
    found = [
        (fact, known[other], "contradict")
        for fact in facts
        for other in fact.metadata.get(CONTRADICTS, "").split(", ")
        if other in known
    ]
    for scope in {fact.scope for fact in facts}:
        own = sorted(
            (fact for fact in facts if fact.scope == scope), key=attrgetter("created_at"), reverse=True
        )
        texts = [fact.content[:COMPARED] for fact in own[:MOST_COMPARED]]
        found += [(own[newer], own[older], says) for newer, older, says in disagreements(texts)]
    pairs = [
        (newer, older, says)
        for newer, older, says in found
        if (newer.review is None or older.review is None)
        and newer.id not in older.parent_ids
        and older.id not in newer.parent_ids
    ]
    rivals: dict[str, Rival] = {}
    for newer, older, says in pairs:
        is_update = says == "update"
        rivals.setdefault(newer.id, _rival(older, "older" if is_update else "contradict"))
        rivals.setdefault(older.id, _rival(newer, "newer" if is_update else "contradict"))
    return [pair[:2] for pair in pairs], rivals


def _rival(fact: Memory, reason: Literal["contradict", "newer", "older"]) -> Rival:
    return Rival(fact.id, fact.content, fact.created_at, reason)


def _tally(rows: Sequence[Memory], of: Callable[[Memory], Sequence[str]]) -> Counter[str]:
    return Counter(value for row in rows for value in of(row))


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
    "contradicting": is_current,
    "unrecalled": lambda row, now: is_current(row, now) and not row.access_count,
    "forgotten": lambda row, now: not is_current(row, now),
}
