"""The third path: records that name what the query names, whatever else they say. Looks entities up; knows no ranking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from scrubjay.store.legs import LEG_COLUMNS
from scrubjay.store.schema import micros
from scrubjay.store.store import Store
from scrubjay.ties import named

LOOKED_AT = 100  # passages; the word leg finds those that name what everything names


@dataclass(frozen=True)
class Named:
    """Rows of the look-up, and for each record how specific the most specific entity it shares is, and their spellings in the query."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    weights: Mapping[str, float] = field(default_factory=dict)
    spellings: Mapping[str, str] = field(default_factory=dict)


async def by_names(store: Store, query: str, where: str) -> Named:
    """The records that name an entity of the query. A query that names none, as prose does, costs nothing."""
    asked = {tie.word: tie for tie in named(query)}
    if not asked:
        return Named()
    found = await store.tied(asked, where, LOOKED_AT, LEG_COLUMNS)
    shared = {row.record_id: [asked[word] for word in (row.tied or "").split() if word in asked] for row in found}
    rows = [{name: getattr(row, name) for name in LEG_COLUMNS} | {"dated_at": micros(row.dated_at)} for row in found]
    weights = {id: max(tie.weight for tie in ties) for id, ties in shared.items()}
    return Named(rows, weights, {id: " ".join(tie.via for tie in ties) for id, ties in shared.items()})
