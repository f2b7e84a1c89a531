"""Searches passages by words, by meaning and by the entities they name, and gathers them into records."""

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from scrubjay.encoders.token_codes import EncodedQuery
from scrubjay.models.records import Src
from scrubjay.search.retrieval.query import Question
from scrubjay.store.conditions import Where
from scrubjay.store.schema import micros
from scrubjay.store.store import LEG_COLUMNS, Store
from scrubjay.text.entities import Tie, query_ties
from scrubjay.text.terms import query_terms

POOL = 200  # passages a leg; loses nothing against scoring every turn (94.7 against 94.6 on LoCoMo)
# passages that share an entity; the word leg also finds those that name what everything names
NAMED_POOL = 100
# A passage that the query quotes holds all of its words, so it is among the first of the word leg.
QUOTABLE = 10

Rows = list[dict[str, Any]]  # passages, one dict each


class Match(NamedTuple):  # a search makes hundreds, and a frozen dataclass takes twice as long
    """A record that a leg found: its best passage, and its best value in each leg (None: not found there)."""

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
    embedded: bool  # False: too new to have a vector, so that the dense leg could not find it
    answer: str | None  # the best passage that the user did not say: a question is often found by its like
    entity_weight: float  # how specific the most specific entity is that it shares with the query; 0: none
    entity_names: str  # those entities, as the query spells them


@dataclass(frozen=True)
class Pools:
    """What the legs found."""

    matches: dict[str, Match]  # by record id
    quotable: tuple[tuple[str, str], ...]  # (record id, passage text) of the best passages by words


async def search_legs(store: Store, question: Question, vector: Awaitable[EncodedQuery | None]) -> Pools:
    """Search by words, by entities and by meaning; only the last waits for the query's vector."""
    where, words = question.where(), query_terms(question.text)
    lexical, dense, (named, ties) = await asyncio.gather(
        by_words(store, words, where, POOL),
        by_vector(store, vector, where, POOL),
        by_entities(store, question.text, where),
    )
    bm25: dict[str, float] = {}
    cosine: dict[str, float] = {}
    answers: dict[str, str] = {}
    best: dict[str, dict[str, Any]] = {}
    # Rows come best first; of a record that both legs found, the passage nearest in meaning counts.
    for row in dense:
        cosine.setdefault(row["record_id"], 1.0 - row["_distance"])
    for row in lexical:
        bm25.setdefault(row["record_id"], row["_score"])
    for row in (*dense, *lexical, *named):
        best.setdefault(row["record_id"], row)
        if row["role"] not in ("user", "summary"):
            answers.setdefault(row["record_id"], row["text"])
    matches = {
        record_id: Match(
            record_id,
            "memory" if row["src"] == "summary" else row["src"],
            row["scope"],
            row["session_id"],
            row["dated_at"],
            row["importance_score"],
            row["role"],
            row["text"],
            cosine.get(record_id),
            bm25.get(record_id),
            record_id in cosine or row["space_id"] is not None,
            answers.get(record_id),
            max((tie.weight for tie in ties.get(record_id, ())), default=0.0),
            " ".join(tie.via for tie in ties.get(record_id, ())),
        )
        for record_id, row in best.items()
    }
    return Pools(matches, tuple((row["record_id"], row["text"]) for row in lexical[:QUOTABLE]))


async def by_words(store: Store, words: str, where: Where, limit: int, *, extra: Sequence[str] = ()) -> Rows:
    """Search passages by BM25, best first; no words find nothing."""
    return _rows(await store.by_words(words, where, limit, extra=extra)) if words.strip() else []


async def by_vector(
    store: Store,
    vector: Awaitable[EncodedQuery | None],
    where: Where,
    limit: int,
    *,
    extra: Sequence[str] = (),
) -> Rows:
    """Search passages by cosine, nearest first; no vector, or one of zeros, finds nothing."""
    query = await vector
    if query is None or not np.any(query.vector):
        return []
    return _rows(await store.by_vector(query.vector, where, limit, extra=extra))


async def by_entities(store: Store, query: str, where: Where) -> tuple[Rows, dict[str, list[Tie]]]:
    """Search passages that name an entity of the query.

    Returns the passages, and by record id the entities of the query that it names. A query that names none,
    as prose does, costs nothing.
    """
    entities = {tie.word: tie for tie in query_ties(query)}
    if not entities:
        return [], {}
    passages = await store.by_ties(entities, where, NAMED_POOL, LEG_COLUMNS)
    rows = [
        {name: getattr(row, name) for name in LEG_COLUMNS} | {"dated_at": micros(row.dated_at)}
        for row in passages
    ]
    ties = {
        row.record_id: [entities[word] for word in (row.tied or "").split() if word in entities]
        for row in passages
    }
    return rows, ties


def _rows(table: Any) -> Rows:
    """Turn an Arrow table into dicts; by columns, which is several times faster than row by row."""
    columns = (column.to_pylist() for column in table.columns)
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]
