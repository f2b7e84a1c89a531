"""Chunks of documents, ranked one by one: prose and code in files have no turns around them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import numpy as np

from scrubjay.ranking import evidence, scale
from scrubjay.retrieval.pools import by_vector, by_words
from scrubjay.retrieval.query import Question
from scrubjay.retrieval.retrieve import Embed, coverage
from scrubjay.store.store import Store
from scrubjay.terms import query_terms, quotes

POOL = 100
DENSE, LEXICAL = 0.7, 0.3  # on code and prose in files meaning is hard to beat; words still find identifiers


@dataclass(frozen=True)
class ChunkScore:
    position: int
    score: float


async def rank_chunks(store: Store, question: Question, embed: Embed) -> dict[str, list[ChunkScore]]:
    """Document id -> its chunks, both best first. A chunk's score in [0, 1] is its own evidence; a quotation's at least 0.9."""
    await store.flush()
    where = question.where()
    lexical, dense = await asyncio.gather(
        by_words(store, query_terms(question.text), where, POOL, extra=("part",)),
        by_vector(store, embed(question.text), where, POOL, extra=("part",)),
    )
    rows = {row["id"]: row for row in (*lexical, *dense)}
    bm25 = {row["id"]: row["_score"] for row in lexical}
    cosine = {row["id"]: 1.0 - row["_distance"] for row in dense}
    if not rows:
        return {}
    found = list(rows.values())
    meaning = np.array([cosine.get(row["id"], np.nan) for row in found])
    wording = np.array([bm25.get(row["id"], np.nan) for row in found])
    covered = np.array([coverage(question.text, row["text"]) for row in found])
    proof = evidence(meaning, covered)
    proof = np.where([quotes(question.text, row["text"]) for row in found], np.maximum(proof, 0.9 + 0.1 * proof), np.minimum(proof, 0.9))
    total = DENSE * scale(meaning) + LEXICAL * scale(wording, floor=0.0)
    best: dict[str, list[ChunkScore]] = {}
    for at in np.lexsort((-total, -np.round(proof, 6))):
        best.setdefault(found[at]["record_id"], []).append(ChunkScore(found[at]["part"], float(proof[at])))
    return best
