"""Chunks of documents, ranked one by one: prose and code in files have no turns around them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import numpy as np

from scrubjay.ranking import evidence, scale
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
    vector, words, where = await embed(question.text), query_terms(question.text), question.where()
    lexical, dense = await asyncio.gather(
        store.by_words(words, where, POOL, extra=("part",)) if words.strip() else _none(),
        store.by_vector(vector, where, POOL, extra=("part",)) if vector is not None and np.any(vector) else _none(),
    )
    rows = {row["id"]: row for row in (*(lexical.to_pylist() if lexical else ()), *(dense.to_pylist() if dense else ()))}
    bm25 = {row["id"]: row["_score"] for row in (lexical.to_pylist() if lexical else ())}
    cosine = {row["id"]: 1.0 - row["_distance"] for row in (dense.to_pylist() if dense else ())}
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


async def _none() -> None:
    return None
