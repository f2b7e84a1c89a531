"""Counts searchable records by scope and partition, including every acknowledged write."""

from collections import Counter
from collections.abc import Iterator, Sequence

from scrubjay.engine.verbs.verb import Verb
from scrubjay.models.filters import Condition, Filter, Group
from scrubjay.store import conditions, facets
from scrubjay.store.counts import ScopeCounts, count_by_partition, count_by_scope, count_tags

__all__ = ["Counts", "ScopeCounts"]

MOST_KEYS = 20  # keys of a filter that are checked
_NAMES = ("turns", "memories", "documents", "commits")


class Counts(Verb):
    """Counts records."""

    async def scopes(self) -> frozenset[str]:
        """Return every scope that has a record, or had one when the scopes were last counted."""
        return await self._store.names.scopes()

    async def by_scope(self, scope: str | None = None) -> dict[str, ScopeCounts]:
        """Return the counts of each scope, or of `scope` alone if it has records.

        A scope whose records are all forgotten, expired or replaced is listed with zeros.
        """
        await self._writer.catch_up()
        return await count_by_scope(self._store.tables, self._clock(), scope)

    async def summary(self) -> dict[str, dict[str, int]]:
        """Return {scope: {turns, memories, documents, commits}}, without empty scopes."""
        summary = {}
        for scope, counts in (await self.by_scope()).items():
            numbers = {name: getattr(counts, name) for name in _NAMES}
            if any(numbers.values()):
                summary[scope] = numbers
        return summary

    async def by_partition(self, scopes: Sequence[str]) -> Counter[str]:
        """Return how many facts and turns of these scopes each partition has."""
        await self._writer.catch_up()
        return await count_by_partition(self._store, scopes, self._clock())

    async def tags(self, scope: str | None) -> Counter[str]:
        """Return how many current records of a scope (None: of all) have each tag."""
        await self._writer.catch_up()
        return await count_tags(self._store.tables, self._clock(), scope)

    async def unused_keys(self, filters: Filter, scopes: Sequence[str]) -> list[str]:
        """Return the metadata keys of a filter that no record of these scopes has."""
        await self._writer.catch_up()
        unused = []
        for key in list(dict.fromkeys(_keys(filters)))[:MOST_KEYS]:
            where = conditions.both(conditions.one_of("scope", scopes), facets.has_key(key))
            if not await self._store.passages.select(where, limit=1, columns=["id"]):
                unused.append(key)
        return unused


def _keys(filters: Filter) -> Iterator[str]:
    if isinstance(filters, Group):
        for part in filters.parts:
            yield from _keys(part)
    elif not (isinstance(filters, Condition) and filters.negate):
        yield filters.key
