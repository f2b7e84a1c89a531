"""Recall: what `search_memories` does. Ranks what may answer, weighs it, and has hits chosen within a count or a budget."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

import numpy as np

from scrubjay.home.scopes import EVERY_SCOPE, USER_SCOPE
from scrubjay.models.records import Memory, PassageSrc
from scrubjay.models.requests import ForgetMatching, SearchMemories, SearchRecords
from scrubjay.models.results import Explanation, Hit, Leg, MemoryHits, Weighed
from scrubjay.records.memories import as_hit
from scrubjay.search.choosing import Choice, Scored
from scrubjay.search.retrieval.candidates import Candidate
from scrubjay.search.retrieval.query import Question
from scrubjay.search.retrieval.ranking import Floats, blend, order, recency
from scrubjay.search.retrieval.relevance import FALL, behind, bounds
from scrubjay.search.retrieval.retrieve import Embed, Ranked, retrieve
from scrubjay.store.schema import micros
from scrubjay.store.store import Store

HALF_LIFE_DAYS = 30.0  # of recency: a turn since it started, a memory since its last access
WEIGHED = 400  # candidates that are weighed; the pools hold at most 400 records
_DAY = 86_400_000_000  # microseconds
_SRCS: dict[str, tuple[PassageSrc, ...]] = {
    "memories": ("memory", "turn"),
    "hybrid": ("memory", "turn", "chunk"),
    "documents": ("chunk",),
}


async def search_memories(
    store: Store,
    request: SearchMemories,
    *,
    scope: str | tuple[str, ...],
    now: datetime,
    embed: Embed,
    tied: bool = True,
    apart: bool = False,
    least_score: float = 0.0,
) -> MemoryHits:
    """Recall facts and turns, best first; `scope` is the caller's project and `now` the present (both may be overridden).

    A caller without a project says in which scopes it looks, and sees no other.

    score = weighted mean of relevance, importance / 10 and recency, each in [0, 1]. `related` holds the window turns in time
    order, then, if `tied`, records tied to the first hits. `timing` and `tokens.rendered` are the face's to fill in.
    `apart` is for programs: hits are chosen as if no window were asked for, a window stays in the partition of its hit, and no
    tokens are counted. `least_score` is that of a hit.
    """
    at = request.now or request.as_of or now
    question = _question(request, scope, at)
    ranked = await retrieve(store, question, embed)
    weights = _weights(request, ranked)
    scored = [
        item
        for item in await _weighed(store, ranked, weights, request.threshold, at)
        if item.score >= least_score
    ]
    found = await Choice(store, request, question, tied, apart).made(scored)
    if request.include.explain:
        return found.model_copy(update={"results": explained(found.results, ranked, weights)})
    return found


def _weights(request: SearchMemories, ranked: Ranked) -> tuple[float, float, float]:
    """The weights asked for; but what answers a question that names its time is not the better for being new, unless the caller says so."""
    relevance, importance, _ = request.weights
    timed = "weight_recency" not in request.model_fields_set and bool(ranked.grounds.signals.date.any())
    return (relevance, importance, 0.0) if timed and relevance + importance > 0 else request.weights


def scopes_seen(scope: str | None, own: str | tuple[str, ...]) -> tuple[str, ...] | None:
    """Where a search looks: the scope asked for, else the caller's project and what is true of the user everywhere; None is everywhere."""
    if isinstance(own, tuple):
        return own
    if scope == EVERY_SCOPE:
        return None
    return (scope,) if scope is not None else tuple(dict.fromkeys((own, USER_SCOPE)))


def _question(request: SearchMemories, scope: str | tuple[str, ...], now: datetime) -> Question:
    return Question(
        text=request.query,
        scopes=scopes_seen(request.scope, scope),
        srcs=_srcs(request),
        now=now,
        partition_ids=None if request.partition_ids is None else tuple(request.partition_ids),
        tags=tuple(request.tags or ()),
        session_id=request.session_id,
        filters=request.filters,
        since=request.since,
        until=request.until,
        as_of=request.as_of,
        forgotten=request.include.forgotten,
    )


def _srcs(request: SearchMemories) -> tuple[PassageSrc, ...]:
    if isinstance(request, SearchRecords):
        return request.srcs
    srcs = _SRCS[request.search_mode]
    return (
        srcs if request.include_turns else tuple("summary" if src == "turn" else src for src in srcs)
    )  # what stands for turns


async def _weighed(
    store: Store, ranked: Ranked, weights: tuple[float, float, float], threshold: float, now: datetime
) -> list[Scored]:
    rows = ranked.rows[:WEIGHED]
    asked = weights[2] > 0 or any(
        row.src == "chunk" for row in rows
    )  # else nobody wants to know, and some 200 facts need not be read
    ids = [row.id for row in rows if asked and row.src == "memory"]
    facts = await store.get(Memory, ids, columns=["id", "last_accessed_at", "document_ids"])
    used = [micros(facts[row.id].last_accessed_at) if row.id in facts else row.dated_at for row in rows]
    relevance: Floats = ranked.relevance[: len(rows)]
    importance = np.array([row.importance_score for row in rows], dtype=float) / 10
    fresh = recency((micros(now) - np.array(used, dtype=float)) / _DAY, half_life_days=HALF_LIFE_DAYS)
    score = blend(relevance, importance, fresh, weights)
    best = order(score, ties=(relevance, np.array([row.dated_at for row in rows], dtype=float)))
    best = best[relevance[best] >= threshold]
    parts = zip(*(part[best].tolist() for part in (relevance, importance, fresh, score)), strict=True)
    found = [Scored(rows[at], *values) for at, values in zip(best.tolist(), parts, strict=True)]
    again = _repeats([item.row for item in found], {id: fact.document_ids for id, fact in facts.items()})
    return [item for item in found if item.row.id not in again]


def explained(hits: Sequence[Hit], ranked: Ranked, weights: tuple[float, float, float]) -> list[Hit]:
    """The hits, each with its `explain`; `weights` are those of relevance, importance and recency in its score."""
    grounds = ranked.grounds
    column = dict(zip((row.id for row in ranked.rows), grounds.positions.tolist(), strict=True))
    distance = behind(grounds.total, quoted=grounds.signals.quoted)
    low, high = bounds(grounds.signals.quoted)

    def explanation(hit: Hit) -> Explanation:
        at = column[hit.id]
        scores = (hit.relevance_score, hit.importance_score_normalized, hit.recency_score)
        return Explanation(
            dense=_leg(grounds.signals.cosine, at),
            lexical=_leg(grounds.signals.bm25, at),
            parts={name: float(part[at]) for name, part in grounds.parts.items()},
            ranking_sum=float(grounds.total[at]),
            evidence=grounds.evidence,
            chance=grounds.chance,
            behind=float(distance[at]),
            fall=FALL,
            bounds=(float(low[at]), float(high[at])),
            score_parts={
                name: Weighed(value=score or 0.0, weight=weight)
                for name, score, weight in zip(
                    ("relevance", "importance", "recency"), scores, weights, strict=True
                )
            },
        )

    return [hit.model_copy(update={"explain": explanation(hit)}) for hit in hits]


def _leg(values: Floats, at: int) -> Leg | None:
    """Rank and value of one candidate in a leg; None where the leg did not find it."""
    return (
        None
        if np.isnan(values[at])
        else Leg(rank=1 + int((values > values[at]).sum()), value=float(values[at]))
    )


def _repeats(rows: Sequence[Candidate], documents: Mapping[str, Collection[str]]) -> set[str]:
    """Of what was found, best first, the ids of what says a document's words again: its facts and its chunk, whichever comes later.

    A chunk that holds nothing beside a fact goes even where it comes first. `documents` are those of each fact, by id.
    """
    facts: dict[str, list[tuple[int, Candidate]]] = {}
    for place, row in enumerate(rows):
        for id in documents.get(row.id, ()):
            facts.setdefault(id, []).append((place, row))
    again: set[str] = set()
    for at, chunk in enumerate(rows):
        if chunk.src != "chunk" or chunk.id not in facts:
            continue
        there = _found_text(chunk)
        for place, fact in facts[chunk.id]:
            said, below = _found_text(fact), _found_text(fact, headed=True)
            within = said in there or (bool(below) and below in there)
            if fact.id not in again and (there in said or (within and place < at)):
                again.add(chunk.id)
                break
            if within:
                again.add(fact.id)
    return again


def _found_text(row: Candidate, *, headed: bool = False) -> str:
    """What was found of a record, on one line; without its first line if that is made of headings."""
    text = row.found.text if row.found else ""
    return " ".join((text.partition("\n")[2] if headed else text).split())


async def facts_about(store: Store, request: ForgetMatching, now: datetime, embed: Embed) -> list[Hit]:
    """The facts that a query to forget is about, best first, with their relevance; no answer's length bounds them."""
    question = Question(text=request.query, scopes=(request.scope,), srcs=("memory",), now=now)
    ranked = await retrieve(store, question, embed)
    likely = {
        row.id: value
        for row, value in zip(ranked.rows, ranked.relevance.tolist(), strict=True)
        if value >= request.threshold
    }
    facts = await store.get(Memory, likely)
    found = [facts[id] for id in likely if id in facts and question.admits(facts[id])]
    return [
        as_hit(fact).model_copy(update={"score": likely[fact.id], "relevance_score": likely[fact.id]})
        for fact in found[: request.most]
    ]
