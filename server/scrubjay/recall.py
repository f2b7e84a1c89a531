"""Recall: what `search_memories` does. Weighs ranked candidates, chooses hits within a count or a budget, and brings their window."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

import numpy as np

from scrubjay import lineage
from scrubjay.learned import said_twice
from scrubjay.models.fields import EVERY_SCOPE, USER_SCOPE
from scrubjay.models.records import AnyRecord, Document, Memory, PassageSrc, Turn
from scrubjay.models.requests import SearchMemories, SearchRecords
from scrubjay.models.results import Hit, MemoryHits, Tokens
from scrubjay.ranking import Floats, blend, order, recency
from scrubjay.relating import FOLLOWED, related
from scrubjay.retrieval.candidates import Candidate
from scrubjay.retrieval.explain import explained
from scrubjay.retrieval.query import Question
from scrubjay.retrieval.retrieve import Embed, Ranked, retrieve
from scrubjay.shown import shown
from scrubjay.store.schema import micros
from scrubjay.store.store import Store
from scrubjay.windows import Beside, beside

HALF_LIFE_DAYS = 30.0  # of recency: a turn since it started, a memory since its last access
DEFAULT_BUDGET = 1_500  # tokens, when neither top_k nor a window is asked for
DEFAULT_TOP_K = 10
MOST_TOKENS = 10_000  # of any answer; Claude Code warns from there on
LEAST_ROOM = 40  # tokens: with less left nothing tied is looked for
HIT_OVERHEAD = 90  # tokens that a hit's id, date, scores and names take beside its text
WEIGHED = 400  # candidates that are weighed; the pools hold at most 400 records
_DAY = 86_400_000_000  # microseconds
_SRCS: dict[str, tuple[PassageSrc, ...]] = {
    "memories": ("memory", "turn"),
    "hybrid": ("memory", "turn", "chunk"),
    "documents": ("chunk",),
}


class Scored(NamedTuple):
    row: Candidate
    relevance: float
    importance: float
    recency: float
    score: float


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
    scored = [item for item in await _weighed(store, ranked, weights, request.threshold, at) if item.score >= least_score]
    found = await _Choice(store, request, question, tied, apart).made(scored)
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
    return srcs if request.include_turns else tuple("summary" if src == "turn" else src for src in srcs)  # what stands for turns


async def _weighed(store: Store, ranked: Ranked, weights: tuple[float, float, float], threshold: float, now: datetime) -> list[Scored]:
    rows = ranked.rows[:WEIGHED]
    asked = weights[2] > 0 or any(row.src == "chunk" for row in rows)  # else nobody wants to know, and some 200 facts need not be read
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
    again = said_twice([item.row for item in found], {id: fact.document_ids for id, fact in facts.items()})
    return [item for item in found if item.row.id not in again]


@dataclass
class _Choice:
    """Walks down the scored candidates until the count or the budget is full. Lives for one search."""

    store: Store
    request: SearchMemories
    question: Question
    tied: bool
    apart: bool
    hits: list[Hit] = field(default_factory=list)
    related: dict[str, Hit] = field(default_factory=dict)
    records: dict[str, AnyRecord] = field(default_factory=dict)  # of the hits, in their order
    spent: int = 0
    left_out: int = 0

    @property
    def windowed(self) -> bool:
        return self.request.prev_turns + self.request.next_turns > 0

    @property
    def budget(self) -> int | None:
        if self.request.max_tokens is not None:
            return self.request.max_tokens
        return DEFAULT_BUDGET if self.request.top_k is None and not self.windowed else None

    @property
    def most_hits(self) -> int:
        if self.request.top_k is not None:
            return self.request.top_k
        return 100 if self.budget is not None and not self.windowed else DEFAULT_TOP_K

    async def made(self, scored: list[Scored]) -> MemoryHits:
        # A filled budget holds some 10 hits; what is fetched for nothing costs 70 microseconds a turn, and each hit may bring neighbours.
        batch = min(20, self.most_hits + 2) if self.windowed else 20
        for start in range(0, len(scored), batch):
            if not await self._take(scored[start : start + batch]):
                break
        await self._bring()
        for hit in self.hits:
            self.related.pop(hit.id, None)
        window = sorted(self.related.values(), key=_said_at)
        return MemoryHits(
            results=self.hits,
            related=[*window, *await self._tied()],
            total=len(self.hits),
            timing=0.0,
            tokens=Tokens(spent=self.spent, budget=self.budget),
            left_out=self.left_out or None,
        ).made_of(self.records)

    async def _take(self, scored: Sequence[Scored]) -> bool:
        """Take hits of one batch; False when there is no room for more."""
        facts = await self.store.get(Memory, [item.row.id for item in scored if item.row.src == "memory"])
        documents = await self.store.get(Document, [item.row.id for item in scored if item.row.src == "chunk"])
        near = await self._beside(scored, facts.values()) if self.windowed else Beside()
        found = [item.row.id for item in scored if item.row.src == "turn"]
        turns = await self.store.get(Turn, [*found, *(id for ids in near.turns.values() for id in ids)])
        for item in scored:
            if len(self.hits) >= self.most_hits:
                return False
            record = turns.get(item.row.id) or facts.get(item.row.id) or documents.get(item.row.id)
            if record is None or not self.question.admits(record) or (item.row.id in self.related and not self.apart):
                continue  # forgotten since the index saw it, or an earlier hit's window returns it already
            hit = shown(record, item.row.found).model_copy(
                update={
                    "score": item.score,
                    "relevance_score": item.relevance,
                    "importance_score_normalized": item.importance,
                    "recency_score": item.recency,
                }
            )
            beside = [turns[id] for id in near.turns.get(record.id, ()) if id in turns]
            if not self._afford(hit, [*beside, *near.facts.get(record.id, ())]):
                self.left_out += 1
                if self.left_out >= 10:
                    return False
            else:
                self.records[record.id] = record
        return True

    async def _bring(self) -> None:
        """Give the facts among the hits what was asked for beside them, as far as there is room."""
        include = self.request.include
        if not (include.related_memories or include.documents):
            return
        rows = await self.store.get(Memory, [hit.id for hit in self.hits if hit.src == "memory"])
        facts = list(rows.values())
        linked = await lineage.contexts(self.store, self.question, facts) if include.related_memories else {}
        cited = await lineage.sources(self.store, facts) if include.documents else {}
        for at, hit in enumerate(self.hits):
            brought: dict[str, object] = {"documents": cited[hit.id]} if hit.id in cited else {}
            if hit.id in linked:
                brought["context"], spent = lineage.within(linked[hit.id], self._room())
                self.spent += spent
            self.hits[at] = hit.model_copy(update=brought)

    async def _tied(self) -> list[Hit]:
        """Records tied to the first hits. They are paid last, and what has no room is left out without a word."""
        taken: list[Hit] = []
        if self.tied and self._room() >= LEAST_ROOM:
            seen = {hit.id for hit in self.hits} | self.related.keys()
            first = [(hit, self.records[hit.id]) for hit in self.hits[:FOLLOWED]]
            for hit in await related(self.store, self.question, first, besides=seen):
                if cost(hit) <= self._room() - HIT_OVERHEAD * len(taken):
                    self.spent += cost(hit)
                    taken.append(hit)
        return taken

    async def _beside(self, scored: Sequence[Scored], facts: Iterable[Memory]) -> Beside:
        before, after = self.request.prev_turns, self.request.next_turns
        return await beside(self.store, self.question, [item.row for item in scored], facts, before=before, after=after)

    def _afford(self, hit: Hit, neighbours: Sequence[Turn | Memory]) -> bool:
        room = self._room()
        if cost(hit) > room:
            if self.hits or room <= 0:
                return False
            hit = _cut(hit, room)  # the best hit is never left out, only shortened
        self.spent += cost(hit)
        self.hits.append(hit)
        for record in neighbours:
            if record.id in self.related or any(record.id == hit.id for hit in self.hits):
                continue
            if self.apart and record.partition_id != hit.partition_id:
                continue
            neighbour = shown(record, None).model_copy(update={"reason": "window"})
            if cost(neighbour) > self._room():
                self.left_out += 1
                continue
            self.spent += cost(neighbour)
            self.related[neighbour.id] = neighbour
        return True

    def _room(self) -> int:
        if self.apart:
            return sys.maxsize
        ceiling = MOST_TOKENS - HIT_OVERHEAD * (len(self.hits) + len(self.related) + 1)
        return min(ceiling, self.budget if self.budget is not None else ceiling) - self.spent


def cost(hit: Hit) -> int:
    """Estimated tokens of the returned text: ceil(characters / 4)."""
    return math.ceil(len(hit.memory or hit.chunk or "") / 4)


def _said_at(hit: Hit) -> tuple[object, ...]:
    """Sessions one by one, each in the order in which it was said: facts that stand for turns by their numbers, whenever written."""
    return (hit.session_id or "", hit.src, hit.date if hit.src == "turn" else datetime.min, hit.turn or 0, hit.date)


def _cut(hit: Hit, tokens: int) -> Hit:
    text = hit.memory or hit.chunk or ""
    short = text[: tokens * 4 - 2].rsplit(maxsplit=1)[0] + " …"
    return hit.model_copy(update={"truncated": True, "memory" if hit.memory else "chunk": short[: tokens * 4]})
