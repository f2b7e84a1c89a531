"""Pages of facts that a user filters, and of new facts to review."""

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

NEW = timedelta(days=30)  # a fact that was never reviewed is offered up to this age
LATELY = timedelta(days=7)  # since the last update of a changed fact
OWN = ("page", "cli")  # sources of facts that were written by the user
MOST_COMPARED = 1_000  # newest facts of a project that are compared with each other
Which = Literal["current", "new", "changed", "unrecalled", "contradicting", "forgotten"]
_LIST_COLUMNS = (
    "id partition_id tags source created_at updated_at access_count last_accessed_at "
    "expires_at forgotten_at review"
).split()
_RIVAL_COLUMNS = ["scope", "content", "metadata", "parent_ids"]


class Rival(NamedTuple):
    """A fact that another fact may contradict, or that has a newer or older value."""

    id: str
    memory: str
    date: datetime
    reason: Literal["contradict", "newer", "older"]


class FactPage(NamedTuple):
    """One page of facts. `total` counts matching facts, `fresh` new facts, `values` facts with each value."""

    results: list[Memory]
    total: int
    fresh: int  # listed or not
    values: dict[str, dict[str, int]]
    rivals: dict[str, Rival]  # of contradicting facts, by the id of the fact


class Facts(Verb):
    """Reads facts in their newest version, and notes which ones the user approves."""

    async def page(
        self,
        scopes: Collection[str],
        which: Which,
        *,
        words: str = "",
        sort: Literal["created_at", "updated_at"] = "updated_at",
        start: int,
        size: int,
        **selection: str | None,
    ) -> FactPage:
        """Return facts with all of these words and the selected `kind`, `tag` and `source`, newest first.

        Facts that contradict each other follow one another, and one of them has to match the selection.
        """
        await self._writer.catch_up()
        now, rows = self._clock(), await self._rows(scopes, which, words)
        fresh = sum(_is_new(row, now) for row in rows)
        rows = [row for row in rows if _WHICH[which](row, now)]
        # A group is a single fact, or two facts that may contradict each other.
        groups: list[tuple[Memory, ...]] = [(row,) for row in rows]
        rivals: dict[str, Rival] = {}
        if which == "contradicting":
            groups, rivals = await asyncio.to_thread(_contradicting_pairs, rows)
        values = {
            name: dict(Counter(each for row in _unique_rows(groups) for each in values_of(row)).most_common())
            for name, values_of in _VALUES.items()
        }
        criteria = [(_VALUES[name], value) for name, value in selection.items() if value]
        groups = [
            group
            for group in groups
            if any(all(value in values_of(row) for values_of, value in criteria) for row in group)
        ]
        groups.sort(key=lambda group: max((getattr(row, sort), row.id) for row in group), reverse=True)
        rows = _unique_rows(groups)
        ids = [row.id for row in rows[start : start + size]]
        facts = await self._store.get(Memory, ids)
        page = [self._access.with_counts(facts[each]) for each in ids if each in facts]
        return FactPage(page, len(rows), fresh, values, rivals)

    async def _rows(self, scopes: Collection[str], which: Which, words: str) -> list[Memory]:
        """Return the newest versions of all facts of these scopes with all of these words, without texts.

        Only `contradicting` needs their texts.
        """
        where = conditions.both(
            conditions.one_of("scope", scopes),
            conditions.LATEST,
            conditions.NOT_A_SUMMARY,
            *(conditions.contains("lower(content)", word) for word in words.lower().split()),
        )
        columns = [*_LIST_COLUMNS, *_RIVAL_COLUMNS] if which == "contradicting" else _LIST_COLUMNS
        rows = await self._store.select(Memory, where, columns=columns)
        return [self._access.with_counts(row) for row in rows]

    async def keep(self, ids: Sequence[str], source: str) -> None:
        """Note that the user reviewed these facts and keeps them."""
        for fact_id in ids:
            request, at = Review(id=fact_id, action="keep"), self._clock()
            await self._writer.write(envelope("review", request, scope=USER_SCOPE, source=source, at=at))


def _unique_rows(groups: Iterable[Sequence[Memory]]) -> list[Memory]:
    return list({row.id: row for group in groups for row in group}.values())


def _contradicting_pairs(facts: Sequence[Memory]) -> tuple[list[tuple[Memory, ...]], dict[str, Rival]]:
    """Return pairs of facts that cannot both be true, except pairs that the user kept, and rivals by id."""
    facts_by_id = {fact.id: fact for fact in facts}
    candidates = [
        (fact, facts_by_id[other], "contradict")
        for fact in facts
        for other in fact.metadata.get(CONTRADICTS, "").split(", ")
        if other in facts_by_id
    ]
    for scope in {fact.scope for fact in facts}:
        newest = sorted(
            (fact for fact in facts if fact.scope == scope), key=attrgetter("created_at"), reverse=True
        )
        texts = [fact.content[:COMPARED] for fact in newest[:MOST_COMPARED]]
        candidates += [(newest[newer], newest[older], kind) for newer, older, kind in disagreements(texts)]
    pairs = [
        (newer, older, kind)
        for newer, older, kind in candidates
        if (newer.review is None or older.review is None)
        and newer.id not in older.parent_ids
        and older.id not in newer.parent_ids
    ]
    rivals: dict[str, Rival] = {}
    for newer, older, kind in pairs:
        is_update = kind == "update"
        rivals.setdefault(newer.id, _rival(older, "older" if is_update else "contradict"))
        rivals.setdefault(older.id, _rival(newer, "newer" if is_update else "contradict"))
    return [pair[:2] for pair in pairs], rivals


def _rival(fact: Memory, reason: Literal["contradict", "newer", "older"]) -> Rival:
    return Rival(fact.id, fact.content, fact.created_at, reason)


def _is_new(row: Memory, now: datetime) -> bool:
    """Return True if a fact is current and recent, and the user neither wrote nor reviewed it."""
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
