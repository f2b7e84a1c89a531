"""The legs: passages by words, by meaning and by what they name, gathered to the records they belong to."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from scrubjay.encoders.token_codes import Asked
from scrubjay.models.records import Src
from scrubjay.search.retrieval.query import Question
from scrubjay.store.conditions import Where
from scrubjay.store.schema import micros
from scrubjay.store.store import LEG_COLUMNS, Store
from scrubjay.text.entities import query_ties
from scrubjay.text.terms import query_terms

QUOTABLE = (
    10  # a passage that the query quotes holds all of its words, so it stands at the top of the word leg
)
POOL = 200  # passages a leg; a bounded pool lost nothing against scoring every turn (94.7 against 94.6 on LoCoMo)


class Found(NamedTuple):  # hundreds are made for every search, and a frozen dataclass takes twice as long
    """A record that a leg brought up: its best passage, and its best value in each leg (None: not in that pool)."""

    id: str
    src: Src
    scope: str
    session_id: str | None
    dated_at: int  # microseconds since 1970
    importance_score: float
    role: str | None
    text: str
    cosine: float | None
    bm25: float | None
    embedded: bool  # False: too new to have a vector, so that the dense leg could not know it
    answer: str | None  # the best passage that the user did not say: a question is often found by its like
    named: float  # how specific the most specific entity is that it shares with the query; 0: none
    spelled: str  # those entities, as the query spells them


@dataclass(frozen=True)
class Pools:
    found: dict[str, Found]  # by record id
    quotable: tuple[tuple[str, str], ...]  # (record id, passage text) of the best passages by words


async def both_legs(store: Store, question: Question, asked: Awaitable[Asked | None]) -> Pools:
    """Search by words and, where a query vector comes, by meaning; words do not wait for the vector."""
    where, words = question.where(), query_terms(question.text)
    lexical, dense, named = await asyncio.gather(
        by_words(store, words, where, POOL),
        by_vector(store, asked, where, POOL),
        by_names(store, question.text, where),
    )
    bm25: dict[str, float] = {}
    cosine: dict[str, float] = {}
    answers: dict[str, str] = {}
    best: dict[str, dict[str, Any]] = {}
    # Rows come best first; where both legs know a record, the passage nearest in meaning is shown.
    for row in dense:
        cosine.setdefault(row["record_id"], 1.0 - row["_distance"])
        best.setdefault(row["record_id"], row)
    for row in lexical:
        bm25.setdefault(row["record_id"], row["_score"])
        best.setdefault(row["record_id"], row)
    for row in named.rows:
        best.setdefault(row["record_id"], row)
    for row in (*dense, *lexical, *named.rows):
        if row["role"] not in ("user", "summary"):
            answers.setdefault(row["record_id"], row["text"])
    found = {
        id: Found(
            id,
            "memory" if row["src"] == "summary" else row["src"],
            row["scope"],
            row["session_id"],
            row["dated_at"],
            row["importance_score"],
            row["role"],
            row["text"],
            cosine.get(id),
            bm25.get(id),
            id in cosine or row["space_id"] is not None,
            answers.get(id),
            named.weights.get(id, 0.0),
            named.spellings.get(id, ""),
        )
        for id, row in best.items()
    }
    return Pools(found, tuple((row["record_id"], row["text"]) for row in lexical[:QUOTABLE]))


async def by_words(
    store: Store, words: str, where: Where, limit: int, *, extra: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """The passages of the word leg, best first; no words find nothing."""
    return _rows(await store.by_words(words, where, limit, extra=extra)) if words.strip() else []


async def by_vector(
    store: Store, asked: Awaitable[Asked | None], where: Where, limit: int, *, extra: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """The passages of the dense leg, nearest first; no vector, or one of zeros, finds nothing."""
    made = await asked
    return (
        _rows(await store.by_vector(made.vector, where, limit, extra=extra))
        if made is not None and np.any(made.vector)
        else []
    )


def _rows(table: Any) -> list[dict[str, Any]]:
    """An Arrow table as dicts; by columns, which is several times faster than row by row."""
    names = table.column_names
    return [
        dict(zip(names, row, strict=True))
        for row in zip(*(column.to_pylist() for column in table.columns), strict=True)
    ]


LOOKED_AT = 100  # passages; the word leg finds those that name what everything names


@dataclass(frozen=True)
class Named:
    """Rows of the look-up, and for each record how specific the most specific entity it shares is, and their spellings in the query."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    weights: Mapping[str, float] = field(default_factory=dict)
    spellings: Mapping[str, str] = field(default_factory=dict)


async def by_names(store: Store, query: str, where: Where) -> Named:
    """The records that name an entity of the query. A query that names none, as prose does, costs nothing."""
    asked = {tie.word: tie for tie in query_ties(query)}
    if not asked:
        return Named()
    found = await store.by_ties(asked, where, LOOKED_AT, LEG_COLUMNS)
    shared = {
        row.record_id: [asked[word] for word in (row.tied or "").split() if word in asked] for row in found
    }
    rows = [
        {name: getattr(row, name) for name in LEG_COLUMNS} | {"dated_at": micros(row.dated_at)}
        for row in found
    ]
    weights = {id: max(tie.weight for tie in ties) for id, ties in shared.items()}
    return Named(rows, weights, {id: " ".join(tie.via for tie in ties) for id, ties in shared.items()})
