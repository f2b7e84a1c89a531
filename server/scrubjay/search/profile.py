"""The profile of a scope: its lasting facts and its newest ones, in a few hundred tokens. Knows which facts are worth saying before
anything is asked; does not know how they are shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime

from scrubjay.models.filters import Filter, matches
from scrubjay.models.records import Memory
from scrubjay.models.results import Hit, Profile
from scrubjay.records import memories
from scrubjay.search.recall import search_scopes
from scrubjay.store import conditions
from scrubjay.store.store import Store

TOKENS = 400  # of all facts together, when nobody says
LASTING = 0.6  # their share at most; the newest facts get what is left
LONGEST = 300  # characters of one fact
PREFERENCES = "mem_preference"  # what somebody prefers lasts, whether or not it was said to be static


async def profile(
    store: Store,
    scope: str | tuple[str, ...],
    now: datetime,
    *,
    max_tokens: int = TOKENS,
    filters: Filter | None = None,
) -> Profile:
    """The facts of a project's scope and of the user; or of just these scopes. `static` by importance, `recent` by date.

    `filters` are on metadata. The caller has committed everything.
    """
    seen = search_scopes(None, scope) or ()
    where = conditions.both(
        conditions.one_of("scope", seen),
        conditions.LATEST,
        conditions.NOT_A_SUMMARY,
        conditions.NOT_FORGOTTEN,
        conditions.unexpired(now),
    )
    rows = sorted(await store.select(Memory, where), key=lambda row: row.created_at, reverse=True)
    if filters is not None:
        rows = [row for row in rows if matches(filters, row.metadata)]
    lasting = [row for row in rows if row.is_static or row.partition_id == PREFERENCES]
    static = _within(sorted(lasting, key=lambda row: -row.importance_score), math.floor(LASTING * max_tokens))
    spent = sum(map(_cost, static))
    said = {row.id for row in lasting}
    recent = _within((row for row in rows if row.id not in said), max_tokens - spent)
    spent += sum(map(_cost, recent))
    return Profile(scope=seen[0], static=static, recent=recent, total=len(rows), spent=spent)


def _within(rows: Iterable[Memory], room: int) -> list[Hit]:
    taken = []
    for row in rows:
        hit = memories.as_hit(row)
        if len(row.content) > LONGEST:
            short = row.content[: LONGEST - 2].rsplit(maxsplit=1)[0] + " …"
            hit = hit.model_copy(update={"memory": short, "truncated": True})
        room -= _cost(hit)
        if room < 0:
            break
        taken.append(hit)
    return taken


def _cost(hit: Hit) -> int:
    return math.ceil(len(hit.memory or "") / 4)
