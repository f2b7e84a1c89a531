"""Which names of a filter no record has: why a search found nothing. Knows how a filter is walked; does not know what is searched."""

from __future__ import annotations

from collections.abc import Iterator

from scrubjay.models.filters import Condition, Filter, Group
from scrubjay.store import facets, sql
from scrubjay.store.store import Store

MOST = 20  # names that are looked up


async def unknown_keys(store: Store, filter: Filter, scopes: tuple[str, ...]) -> list[str]:
    """A sentence for each name that the filter asks for and that no record of these scopes has."""
    said = []
    for key in list(dict.fromkeys(_keys(filter)))[:MOST]:
        where = sql.both(sql.one_of("scope", scopes), facets.named(key))
        if not await store.passages(where, limit=1, columns=["id"]):
            said.append(f"Nothing here has the metadata key {key[:80]!r}, so the filter on it matches nothing.")
    return said


def _keys(filter: Filter) -> Iterator[str]:
    if isinstance(filter, Group):
        for part in filter.parts:
            yield from _keys(part)
    elif not (isinstance(filter, Condition) and filter.negate):
        yield filter.key
