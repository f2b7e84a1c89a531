"""What might tell whether a store holds the answer to a question: the number that ships, and others it was
compared with. Knows the arrays that ranking left behind; judges nothing.
"""

from __future__ import annotations

import math

import numpy as np

from scrubjay.search.retrieval.ranking import Floats
from scrubjay.search.retrieval.relevance import EVIDENCE_DEPTH
from scrubjay.search.retrieval.retrieve import Ranking
from scrubjay.text.terms import content_words

_AMONG = 10  # hits whose presence in both legs counts as agreement


def signals(question: str, ranked: Ranking) -> dict[str, float]:
    """Name -> value, greater where an answer is likelier; all 0 without candidates."""
    if not ranked.rows:
        return dict.fromkeys(NAMES, 0.0)
    columns, total = ranked.grounds.signals, ranked.grounds.total[ranked.grounds.positions]
    cosine = np.nan_to_num(columns.cosine, nan=0.0)
    known = columns.cosine[~np.isnan(columns.cosine)]
    _, tokens, covered = (each[:EVIDENCE_DEPTH] for each in ranked.grounds.matched)
    texts = [f"{row.match.role or ''} {row.match.text}" if row.match else "" for row in ranked.rows]
    values = (
        float(ranked.relevance[0]),
        ranked.grounds.evidence,
        float(cosine.max()),
        float(cosine.max() - known.mean()) if len(known) else 0.0,
        float(np.nan_to_num(tokens, nan=0.0).max()),
        float(covered.max()),
        _by_rarity(question, texts),
        float(np.nan_to_num(columns.bm25, nan=0.0).max()),
        float(total[0]),
        float((total[0] - total.mean()) / (total.std() or 1.0)),
        float(total[0] - total[min(5, len(total) - 1)]),
        float(len(_top(columns.cosine) & _top(columns.bm25))),
    )
    return dict(zip(NAMES, values, strict=True))


NAMES = (
    "relevance of the first hit, as shipped",
    "evidence: cosine and coverage, best of 5",
    "best cosine",
    "best cosine above the pool's mean",
    "mean cosine of the question's tokens, best of 5",
    "coverage, best of 5",
    "coverage weighted by rarity in the pool, best of 5",
    "best BM25",
    "ranking sum of the first",
    "its z-score in the pool",
    "its distance to the sixth",
    "agreement of the legs' first 10",
)


def _by_rarity(question: str, texts: list[str]) -> float:
    """Coverage in which a word counts by how few texts of the pool hold it."""
    words, pool = set(content_words(question)), [set(content_words(text)) for text in texts]
    rarity = {word: math.log(1 + len(pool) / (1 + sum(word in text for text in pool))) for word in words}
    whole = sum(rarity.values())
    return (
        max(sum(rarity[word] for word in words & text) for text in pool[:EVIDENCE_DEPTH]) / whole
        if whole
        else 0.0
    )


def _top(values: Floats) -> set[int]:
    ranked = np.argsort(-np.nan_to_num(values, nan=-np.inf), kind="stable")[:_AMONG]
    return {int(at) for at in ranked if not np.isnan(values[at])}
