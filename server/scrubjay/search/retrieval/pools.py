"""Searches passages by words, by meaning and by entities, and groups them into records."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from scrubjay.encoders.token_codes import EncodedQuery
from scrubjay.search.retrieval.asked import coverage, parse_question
from scrubjay.search.retrieval.query import Question
from scrubjay.store import conditions
from scrubjay.store.cache import PassageRow
from scrubjay.store.conditions import Dates, Where
from scrubjay.store.passages import RowScores
from scrubjay.store.store import Store
from scrubjay.text.entities import Tie, query_ties

POOL = 200  # passages per search; scoring every turn is no better (94.6 on LoCoMo, with this 94.7)
# Passages per entity search; few are enough, because the search by words finds frequent entities too.
NAMED_POOL = 100
# First results of the search by words that may be quotations: a passage that the query quotes has all of the
# query's words, so it is among the first.
QUOTABLE = 10

Search = Callable[[Where, Dates], Awaitable[RowScores]]
ScoredPassages = list[tuple[PassageRow, float]]  # passages with their scores or cosines, best first
_NOTHING = RowScores(np.empty(0, np.uint64), np.empty(0))


@dataclass(frozen=True)
class Pools:
    """The results of all searches, by record id."""

    # The record's passage nearest in meaning or, if the search by meaning found none, in words. A passage
    # without a vector takes its place if it has more of the query's words.
    best: dict[str, PassageRow]
    cosine: dict[str, float]
    bm25: dict[str, float]
    # The best passage that is not the user's, because questions often find similar questions of the user.
    answers: dict[str, str]
    entities: dict[str, list[Tie]]  # entities of the query that the record names
    quotable: ScoredPassages
    row_ids: dict[str, int] = field(default_factory=dict)  # by passage id


async def search_pools(store: Store, question: Question, vector: Awaitable[EncodedQuery | None]) -> Pools:
    """Search by words, by entities and by meaning; only the last waits for the query's vector."""
    ties = {tie.word: tie for tie in query_ties(question.text)}
    (lexical, dense, named), row_ids = await _search(
        store,
        question,
        by_words(store, question.text, POOL),
        by_vector(store, vector, POOL),
        by_ties(store, ties, NAMED_POOL),
    )
    pools = Pools({}, {}, {}, {}, {}, lexical[:QUOTABLE], row_ids)
    for passage, value in dense:
        pools.cosine.setdefault(passage.record_id, value)
    for passage, value in lexical:
        pools.bm25.setdefault(passage.record_id, value)
    for passage, _ in (*dense, *lexical, *named):
        pools.best.setdefault(passage.record_id, passage)
        if passage.role not in ("user", "summary"):
            pools.answers.setdefault(passage.record_id, passage.text)
    _prefer_unembedded(pools, lexical, question.text)
    for passage, _ in named:
        words = (passage.tied or "").split()
        pools.entities[passage.record_id] = [ties[word] for word in words if word in ties]
    return pools


def _prefer_unembedded(pools: Pools, lexical: ScoredPassages, query: str) -> None:
    """Let a passage without a vector represent its record if it has more words of the query.

    Otherwise new text of a record would be judged by the meaning of its older passages.
    """
    unembedded = [
        passage for passage, _ in lexical if passage.space_id is None and passage.record_id in pools.cosine
    ]
    texts = [each.text for passage in unembedded for each in (pools.best[passage.record_id], passage)]
    shares = coverage(query, texts).tolist()
    best_share: dict[str, float] = {}
    for passage, old_share, new_share in zip(unembedded, shares[::2], shares[1::2], strict=True):
        if new_share > best_share.setdefault(passage.record_id, old_share):
            pools.best[passage.record_id], best_share[passage.record_id] = passage, new_share


async def search(store: Store, question: Question, *searches: Search) -> list[ScoredPassages]:
    """Run searches concurrently, under the question's conditions, and read the passages that they find."""
    return (await _search(store, question, *searches))[0]


async def _search(
    store: Store, question: Question, *searches: Search
) -> tuple[list[ScoredPassages], dict[str, int]]:
    """Do the same as `search`, and also return the row ids of the passages by their ids.

    Expiry is checked afterwards, because few records expire, and as a condition it costs half as much as a
    search. If a passage is moved in the meantime, all searches are repeated, at most twice.
    """
    unexpired, tries_left = question.where(unexpired=False, dated=False), 3
    while True:
        tries_left -= 1
        results = await asyncio.gather(*(run(unexpired, question.dates) for run in searches))
        found_ids = [scores.row_ids.tolist() for scores in results]
        rows = await store.passages.read(row_id for row_ids in found_ids for row_id in row_ids)
        if any(map(question.is_expired, rows.values())):
            unexpired = question.where(dated=False)
        elif not tries_left or all(row_id in rows for row_ids in found_ids for row_id in row_ids):
            break
    passages = []
    for row_ids, scores in zip(found_ids, results, strict=True):
        scored = zip(row_ids, scores.values.tolist(), strict=True)
        passages.append([(rows[row_id], value) for row_id, value in scored if row_id in rows])
    return passages, {row.id: row_id for row_id, row in rows.items()}


def by_words(store: Store, text: str, limit: int) -> Search:
    """Return a search of passages by BM25; a text with only stop words finds nothing."""
    terms = parse_question(text).terms

    async def run(where: Where, dates: Dates) -> RowScores:
        if not terms.strip():
            return _NOTHING
        return await store.passages.by_words(terms, conditions.both(where, conditions.dated(dates)), limit)

    return run


def by_vector(store: Store, vector: Awaitable[EncodedQuery | None], limit: int) -> Search:
    """Return a search of passages by cosine; a missing or zero vector finds nothing."""
    encoding = asyncio.ensure_future(vector)

    async def run(where: Where, dates: Dates) -> RowScores:
        query = await encoding
        if query is None or not np.any(query.vector):
            return _NOTHING
        return await store.passages.by_vector(query.vector, where, limit, dates)

    return run


def by_ties(store: Store, ties: Mapping[str, Tie], limit: int) -> Search:
    """Return a search of passages by tied words, the rarest first; it costs nothing without ties."""

    async def run(where: Where, dates: Dates) -> RowScores:
        return await store.passages.by_ties(ties, where, limit, dates) if ties else _NOTHING

    return run
