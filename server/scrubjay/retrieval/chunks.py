"""Chunks of documents, ranked one by one: prose and code in files have no turns around them.

Tuned on half of the questions of `tests/bench/ingest.py`, which asks for functions by their docstrings and for sections by their
headings; recall at 10 of the right chunk on the other half: code 75.1 (dense alone 73.2, BM25 66.1), Markdown 93.5 (86.9, 88.2).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import numpy as np

from scrubjay.definitions import asked_names, defines
from scrubjay.ranking import COSINE_SPAN, QUOTED, Floats, scale
from scrubjay.relevance import QUOTATION, coverage, evidence
from scrubjay.retrieval.pools import by_vector, by_words
from scrubjay.retrieval.query import Question
from scrubjay.retrieval.retrieve import Embed
from scrubjay.store.store import Store
from scrubjay.terms import query_terms, quotes

POOL = 200  # chunks a leg; with 100 two in a hundred answers were not in it
EACH = 10  # chunks a leg for every document that is asked for
DENSE, LEXICAL = 0.4, 0.6  # shares of the legs; 0.55 to 0.65 for words is a plateau, on code and Markdown alike
DEFINES = 1.0  # the chunk defines what the question names: then 93 of 100 definitions come first, else 58; from 0.5 on a plateau


@dataclass(frozen=True)
class RankedChunk:
    """One chunk that may answer: which it is of its document, what it says, and how well it answers, in [0, 1]."""

    id: str
    document_id: str
    position: int
    text: str
    score: float


async def rank_chunks(store: Store, question: Question, embed: Embed, *, documents: int = 10) -> list[RankedChunk]:
    """The chunks that may answer, best first, enough for so many documents; what the question quotes scores at least 0.9."""
    await store.flush()
    where, pool = question.where(), max(POOL, EACH * documents)
    lexical, dense = await asyncio.gather(
        by_words(store, query_terms(question.text), where, pool, extra=("part",)),
        by_vector(store, embed(question.text), where, pool, extra=("part",)),
    )
    found = list({row["id"]: row for row in (*lexical, *dense)}.values())
    if not found:
        return []
    bm25 = {row["id"]: row["_score"] for row in lexical}
    cosine = {row["id"]: 1.0 - row["_distance"] for row in dense}
    meaning = np.array([cosine.get(row["id"], np.nan) for row in found])
    wording = np.array([bm25.get(row["id"], np.nan) for row in found])
    texts, names = [row["text"] for row in found], asked_names(question.text)
    quoted = np.array([quotes(question.text, text) for text in texts])
    total = DENSE * scale(meaning, least_span=COSINE_SPAN) + LEXICAL * scale(wording, floor=0.0)
    total += QUOTED * quoted + DEFINES * np.array([defines(text, names) for text in texts])
    order = np.lexsort((-np.nan_to_num(meaning), -total))
    proof = evidence(meaning, coverage(question.text, texts))
    proof = np.where(quoted, QUOTATION + (1.0 - QUOTATION) * proof, QUOTATION * proof)
    scores = falling(proof[order])
    return [_ranked(found[at], float(score)) for at, score in zip(order, scores, strict=True)]


def _ranked(row: dict[str, Any], score: float) -> RankedChunk:
    return RankedChunk(row["id"], row["record_id"], row["part"], row["text"], score)


def falling(values: Floats) -> Floats:
    """The closest values that never rise from one to the next: neighbours that do are replaced by their mean (pool adjacent violators).

    So a score stays what a chunk proves by itself, and yet no chunk stands behind one with a lower score.

    >>> falling(np.array([0.9, 0.2, 0.4, 0.1])).round(2).tolist()
    [0.9, 0.3, 0.3, 0.1]
    """
    means: list[float] = []
    counts: list[int] = []
    for value in values:
        means.append(float(value))
        counts.append(1)
        while len(means) > 1 and means[-2] < means[-1]:
            last, length = means.pop(), counts.pop()
            means[-1] = (means[-1] * counts[-1] + last * length) / (counts[-1] + length)
            counts[-1] += length
    return np.repeat(means, counts)
