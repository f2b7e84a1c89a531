"""The buckets of a profile: which facts belong under which of the descriptions that somebody gave. Knows how they are shared out; does not
know where descriptions are kept (`scope_settings`), or how a profile is shown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime

import numpy as np

from scrubjay.models.filters import Filter
from scrubjay.models.records import Memory
from scrubjay.models.results import Hit
from scrubjay.search.hits import as_hit
from scrubjay.search.retrieval.pools import search_legs
from scrubjay.search.retrieval.query import Question
from scrubjay.search.retrieval.relevance import coverage, evidence
from scrubjay.search.retrieval.retrieve import Embed
from scrubjay.store.store import Store

LEAST = 0.15  # evidence that a fact belongs to a description; of 15 hand-written facts and 7 buckets 11 found theirs and none another's
MOST = 20  # facts of one bucket


async def contents(
    store: Store,
    buckets: Mapping[str, str],
    *,
    scopes: tuple[str, ...],
    now: datetime,
    embed: Embed,
    filters: Filter | None = None,
) -> dict[str, list[Hit]]:
    """The facts of each bucket, best first: a fact is in the one bucket whose name and description it answers best, or in none.

    Without a model that judges, so the same facts and descriptions always give the same buckets.
    """
    await store.flush()
    asked = [
        Question(text=f"{name}: {says}", scopes=scopes, srcs=("memory",), now=now, filters=filters)
        for name, says in buckets.items()
    ]
    found = await asyncio.gather(*(proofs(store, question, embed) for question in asked))
    best: dict[str, tuple[float, str]] = {}
    for name, worth in zip(buckets, found, strict=True):
        for id, value in worth.items():
            if value >= LEAST and value > best.get(id, (0.0, ""))[0]:
                best[id] = (value, name)
    rows = await store.get(Memory, best)
    held: dict[str, list[Hit]] = {name: [] for name in buckets}
    for id, (value, name) in sorted(best.items(), key=lambda item: (-item[1][0], item[0])):
        if id in rows and asked[0].admits(rows[id]) and len(held[name]) < MOST:
            held[name].append(as_hit(rows[id]).model_copy(update={"relevance_score": value}))
    return held


async def proofs(store: Store, question: Question, embed: Embed) -> dict[str, float]:
    """Record id -> evidence in [0, 1] (`relevance.evidence`), of all that a leg finds. The caller has committed everything."""
    asking = asyncio.ensure_future(embed(question.text))
    found = list((await search_legs(store, question, asking)).matches.values())
    meaning = np.array([np.nan if row.cosine is None else row.cosine for row in found], dtype=float)
    worth = evidence(meaning, coverage(question.text, (row.text for row in found)))
    return dict(zip((row.id for row in found), worth.tolist(), strict=True))
