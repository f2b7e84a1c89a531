"""How well each record answers a question by itself, whatever else answers: no ranking, no neighbours, no order."""

from __future__ import annotations

import asyncio

import numpy as np

from scrubjay.relevance import coverage, evidence
from scrubjay.retrieval.pools import both_legs
from scrubjay.retrieval.query import Question
from scrubjay.retrieval.retrieve import Embed
from scrubjay.store.store import Store


async def proofs(store: Store, question: Question, embed: Embed) -> dict[str, float]:
    """Record id -> evidence in [0, 1] (`relevance.evidence`), of all that a leg finds. The caller has committed everything."""
    asking = asyncio.ensure_future(embed(question.text))
    found = list((await both_legs(store, question, asking)).found.values())
    meaning = np.array([np.nan if row.cosine is None else row.cosine for row in found], dtype=float)
    worth = evidence(meaning, coverage(question.text, (row.text for row in found)))
    return dict(zip((row.id for row in found), worth.tolist(), strict=True))
