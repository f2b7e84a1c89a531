"""The two legs: passages by words and by meaning, gathered to the records they belong to."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrubjay.models.records import Src
from scrubjay.retrieval.query import Question
from scrubjay.store.store import Store
from scrubjay.terms import query_terms

POOL = 200  # passages a leg; a bounded pool lost nothing against scoring every turn (94.7 against 94.6 on LoCoMo)


@dataclass(frozen=True, slots=True)
class Found:
    """A record that a leg brought up: its best passage, and its best value in each leg (None: not in that pool)."""

    id: str
    src: Src
    scope: str
    session_id: str | None
    dated_at: int  # microseconds since 1970
    importance_score: float
    role: str | None
    text: str
    cosine: float | None = None
    bm25: float | None = None
    answer: str | None = None  # the best passage that the user did not say: a question is often found by its like


@dataclass(frozen=True)
class Pools:
    found: dict[str, Found]  # by record id
    quotable: tuple[tuple[str, str], ...]  # (record id, passage text) of the best passages by words


async def both_legs(store: Store, question: Question, vector: NDArray[np.float32] | None) -> Pools:
    """Search by words and, where there is a query vector, by meaning."""
    where, words = question.where(), query_terms(question.text)
    by_words, by_vector = await asyncio.gather(
        store.by_words(words, where, POOL) if words.strip() else _nothing(),
        store.by_vector(vector, where, POOL) if vector is not None and np.any(vector) else _nothing(),
    )
    lexical = by_words.to_pylist() if by_words is not None else []
    dense = by_vector.to_pylist() if by_vector is not None else []
    found: dict[str, Found] = {}
    # The dense leg goes last: where both know a record, the passage nearest in meaning is shown.
    for row in lexical:
        if row["record_id"] not in found:  # rows come best first
            found[row["record_id"]] = replace(_found(row), bm25=row["_score"])
    for row in _best(dense):
        known = found.get(row["record_id"])
        found[row["record_id"]] = replace(_found(row), cosine=1.0 - row["_distance"], bm25=known.bm25 if known else None)
    for row in (*dense, *lexical):
        if row["role"] not in ("user", "summary") and found[row["record_id"]].answer is None:
            found[row["record_id"]] = replace(found[row["record_id"]], answer=row["text"])
    return Pools(found, tuple((row["record_id"], row["text"]) for row in lexical[:30]))


async def _nothing() -> None:
    return None


def _best(rows: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    seen: set[str] = set()
    for row in rows:
        if row["record_id"] not in seen:
            seen.add(row["record_id"])
            yield row


def _found(row: dict[str, Any]) -> Found:
    return Found(
        id=row["record_id"],
        src=row["src"],
        scope=row["scope"],
        session_id=row["session_id"],
        dated_at=row["dated_at"],
        importance_score=row["importance_score"],
        role=row["role"],
        text=row["text"],
    )
