"""The profile of a scope: its lasting facts and its newest ones, in a few hundred tokens."""

import math
from collections.abc import Iterable
from datetime import datetime

from scrubjay.home.scopes import search_scopes
from scrubjay.models.filters import Filter, matches
from scrubjay.models.records import Memory
from scrubjay.models.results import Hit, Profile
from scrubjay.search.choosing import text_length
from scrubjay.search.hits import as_hit, cut
from scrubjay.store import conditions
from scrubjay.store.store import Store

TOKENS = 400  # default limit of all facts together
LASTING = 0.6  # lasting facts get at most this share of the tokens; the newest facts get the rest
LONGEST = 300  # most characters of one fact
PREFERENCES = "mem_preference"  # the partition of preferences, which count as lasting


async def profile(
    store: Store,
    scope: str | tuple[str, ...],
    now: datetime,
    *,
    max_tokens: int = TOKENS,
    filters: Filter | None = None,
) -> Profile:
    """Choose facts from a project's scope and the user's; if `scope` is a tuple, only from its scopes.

    `static` is ordered by importance, `recent` by date. `filters` apply to metadata. The caller has committed
    everything.
    """
    scopes = search_scopes(None, scope) or ()
    where = conditions.both(
        conditions.one_of("scope", scopes), conditions.current(Memory, now), conditions.NOT_A_SUMMARY
    )
    rows = sorted(await store.select(Memory, where), key=lambda row: row.created_at, reverse=True)
    if filters is not None:
        rows = [row for row in rows if matches(filters, row.metadata)]
    lasting = [row for row in rows if is_lasting(row)]
    others = [row for row in rows if not is_lasting(row)]
    static = _fit(sorted(lasting, key=lambda row: -row.importance_score), math.floor(LASTING * max_tokens))
    recent = _fit(others, max_tokens - sum(map(_tokens, static)))
    spent = sum(map(_tokens, (*static, *recent)))
    return Profile(scope=scopes[0], static=static, recent=recent, total=len(rows), spent=spent)


def is_lasting(fact: Memory) -> bool:
    """Return True if a fact is marked as static, or is a preference."""
    return fact.is_static or fact.partition_id == PREFERENCES


def _tokens(hit: Hit) -> int:
    return math.ceil(text_length(hit) / 4)


def _fit(rows: Iterable[Memory], room: int) -> list[Hit]:
    """Return facts, shortened to `LONGEST`, until the next one does not fit into `room` tokens."""
    hits = []
    for row in rows:
        hit = as_hit(row)
        if len(row.content) > LONGEST:
            hit = cut(hit, LONGEST)
        room -= _tokens(hit)
        if room < 0:
            break
        hits.append(hit)
    return hits
