"""The buckets of a profile: sorts facts by the descriptions that a user gave."""

import asyncio
from collections.abc import Mapping
from datetime import datetime

import numpy as np

from scrubjay.models.filters import Filter
from scrubjay.models.records import Memory
from scrubjay.models.results import Hit
from scrubjay.search.hits import as_hit
from scrubjay.search.retrieval.asked import coverage
from scrubjay.search.retrieval.pools import search_pools
from scrubjay.search.retrieval.query import Question
from scrubjay.search.retrieval.relevance import evidence
from scrubjay.search.retrieval.retrieve import Embed
from scrubjay.store.store import Store

# A fact belongs to a bucket only with at least this evidence. Of 15 hand-written facts, 11 got the right one
# of 7 buckets, and no fact got a wrong one.
LEAST = 0.15
MOST = 20  # facts per bucket


async def contents(
    store: Store,
    buckets: Mapping[str, str],
    *,
    scopes: tuple[str, ...],
    now: datetime,
    embed: Embed,
    filters: Filter | None = None,
) -> dict[str, list[Hit]]:
    """Sort facts into buckets (name -> description), each into the best one or no bucket; best first.

    No model judges, so the same facts and descriptions always give the same buckets. `filters` test the
    metadata of facts. The caller has committed everything.
    """
    questions = [
        Question(text=f"{name}: {description}", scopes=scopes, srcs=("memory",), now=now, filters=filters)
        for name, description in buckets.items()
    ]
    scores = await asyncio.gather(*(_evidence(store, question, embed) for question in questions))
    best: dict[str, tuple[float, str]] = {}
    for name, values in zip(buckets, scores, strict=True):
        for fact_id, value in values.items():
            if value >= LEAST and value > best.get(fact_id, (0.0, ""))[0]:
                best[fact_id] = (value, name)
    rows = await store.get(Memory, best)
    facts: dict[str, list[Hit]] = {name: [] for name in buckets}
    for fact_id, (value, name) in sorted(best.items(), key=lambda item: (-item[1][0], item[0])):
        if fact_id in rows and questions[0].admits(rows[fact_id]) and len(facts[name]) < MOST:
            facts[name].append(as_hit(rows[fact_id]).model_copy(update={"relevance_score": value}))
    return facts


async def _evidence(store: Store, question: Question, embed: Embed) -> dict[str, float]:
    """Estimate how well each record answers the question: record id -> evidence in [0, 1]."""
    embedding = asyncio.ensure_future(embed(question.text))
    pools = await search_pools(store, question, embedding)
    cosine = np.array([pools.cosine.get(record_id, np.nan) for record_id in pools.best], dtype=float)
    values = evidence(cosine, coverage(question.text, (row.text for row in pools.best.values())))
    return dict(zip(pools.best, values.tolist(), strict=True))
