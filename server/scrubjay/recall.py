"""Recall: what `search_memories` does. Weighs ranked candidates, chooses hits within a count or a budget, and brings their window."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

import numpy as np

from scrubjay.models.fields import EVERY_SCOPE, USER_SCOPE
from scrubjay.models.records import Document, Memory, Src, Turn
from scrubjay.models.requests import SearchMemories
from scrubjay.models.results import Hit, MemoryHits, Tokens
from scrubjay.ranking import Floats, blend, order, recency, window
from scrubjay.retrieval.candidates import Candidate
from scrubjay.retrieval.query import Question
from scrubjay.retrieval.retrieve import Embed, Ranked, retrieve
from scrubjay.shown import shown
from scrubjay.store.schema import micros
from scrubjay.store.sessions import Key, Place
from scrubjay.store.store import Store

HALF_LIFE_DAYS = 30.0  # of recency: a turn since it started, a memory since its last access
DEFAULT_BUDGET = 1_500  # tokens, when neither top_k nor a window is asked for
DEFAULT_TOP_K = 10
MOST_TOKENS = 10_000  # of any answer; Claude Code warns from there on
HIT_OVERHEAD = 90  # tokens that a hit's id, date, scores and names take beside its text
WEIGHED = 400  # candidates that are weighed; the pools hold at most 400 records
_DAY = 86_400_000_000  # microseconds
_SRCS: dict[str, tuple[Src, ...]] = {"memories": ("memory", "turn"), "hybrid": ("memory", "turn", "chunk"), "documents": ("chunk",)}


class Scored(NamedTuple):
    row: Candidate
    relevance: float
    importance: float
    recency: float
    score: float


async def search_memories(store: Store, request: SearchMemories, *, scope: str, now: datetime, embed: Embed) -> MemoryHits:
    """Recall facts and turns, best first; `scope` is the caller's project and `now` the present (both may be overridden).

    score = weighted mean of relevance, importance / 10 and recency, each in [0, 1]. `related` holds the window turns in time
    order. `timing` and `tokens.rendered` are the face's to fill in.
    """
    at = request.now or now
    ranked = await retrieve(store, _question(request, scope, at), embed)
    scored = await _weighed(store, ranked, request, at)
    return await _Choice(store, request).made(scored)


def scopes_seen(scope: str | None, own: str) -> tuple[str, ...] | None:
    """Where a search looks: the scope asked for, else the caller's project and what is true of the user everywhere; None is everywhere."""
    if scope == EVERY_SCOPE:
        return None
    return (scope,) if scope is not None else tuple(dict.fromkeys((own, USER_SCOPE)))


def _question(request: SearchMemories, scope: str, now: datetime) -> Question:
    srcs = _SRCS[request.search_mode]
    return Question(
        text=request.query,
        scopes=scopes_seen(request.scope, scope),
        srcs=srcs if request.include_turns else tuple(src for src in srcs if src != "turn"),
        now=now,
        partition_ids=None if request.partition_ids is None else tuple(request.partition_ids),
        tags=tuple(request.tags or ()),
        session_id=request.session_id,
        since=request.since,
        until=request.until,
    )


async def _weighed(store: Store, ranked: Ranked, request: SearchMemories, now: datetime) -> list[Scored]:
    rows = ranked.rows[:WEIGHED]
    facts = await store.get(Memory, [row.id for row in rows if row.src == "memory"])
    used = [micros(facts[row.id].last_accessed_at) if row.id in facts else row.dated_at for row in rows]
    relevance: Floats = ranked.relevance[: len(rows)]
    importance = np.array([row.importance_score for row in rows], dtype=float) / 10
    fresh = recency((micros(now) - np.array(used, dtype=float)) / _DAY, half_life_days=HALF_LIFE_DAYS)
    weights = (request.weight_relevance, request.weight_importance, request.weight_recency)
    score = blend(relevance, importance, fresh, weights)
    best = order(score, ties=(relevance, np.array([row.dated_at for row in rows], dtype=float)))
    best = best[relevance[best] >= request.threshold]
    parts = zip(*(part[best].tolist() for part in (relevance, importance, fresh, score)), strict=True)
    return [Scored(rows[at], *values) for at, values in zip(best.tolist(), parts, strict=True)]


@dataclass
class _Choice:
    """Walks down the scored candidates until the count or the budget is full. Lives for one search."""

    store: Store
    request: SearchMemories
    hits: list[Hit] = field(default_factory=list)
    related: dict[str, Hit] = field(default_factory=dict)
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
        batch = 20  # a filled budget holds some 10 hits; what is fetched for nothing costs 70 microseconds a turn
        for start in range(0, len(scored), batch):
            if not await self._take(scored[start : start + batch]):
                break
        return MemoryHits(
            results=self.hits,
            related=sorted(self.related.values(), key=lambda hit: (hit.session_id or "", hit.date, hit.turn or 0)),
            total=len(self.hits),
            timing=0.0,
            tokens=Tokens(spent=self.spent, budget=self.budget),
            left_out=self.left_out or None,
        )

    async def _take(self, scored: Sequence[Scored]) -> bool:
        """Take hits of one batch; False when there is no room for more."""
        turns = await self.store.get(Turn, [item.row.id for item in scored if item.row.src == "turn"])
        facts = await self.store.get(Memory, [item.row.id for item in scored if item.row.src == "memory"])
        documents = await self.store.get(Document, [item.row.id for item in scored if item.row.src == "chunk"])
        beside = await self._beside([*turns.values(), *facts.values()]) if self.windowed else {}
        for item in scored:
            if len(self.hits) >= self.most_hits:
                return False
            record = turns.get(item.row.id) or facts.get(item.row.id) or documents.get(item.row.id)
            if record is None or record.forgotten_at is not None or item.row.id in self.related:
                continue  # forgotten since the index saw it, or an earlier hit's window returns it already
            hit = shown(record, item.row.found).model_copy(
                update={
                    "score": item.score,
                    "relevance_score": item.relevance,
                    "importance_score_normalized": item.importance,
                    "recency_score": item.recency,
                }
            )
            if not self._afford(hit, beside.get(record.id, [])):
                self.left_out += 1
                if self.left_out >= 10:
                    return False
        return True

    def _afford(self, hit: Hit, neighbours: list[Hit]) -> bool:
        room = self._room()
        if cost(hit) > room:
            if self.hits or room <= 0:
                return False
            hit = _cut(hit, room)  # the best hit is never left out, only shortened
        self.spent += cost(hit)
        self.hits.append(hit)
        for neighbour in neighbours:
            if neighbour.id in self.related or any(neighbour.id == hit.id for hit in self.hits):
                continue
            if cost(neighbour) > self._room():
                self.left_out += 1
                continue
            self.spent += cost(neighbour)
            self.related[neighbour.id] = neighbour
        return True

    def _room(self) -> int:
        ceiling = MOST_TOKENS - HIT_OVERHEAD * (len(self.hits) + len(self.related) + 1)
        return min(ceiling, self.budget if self.budget is not None else ceiling) - self.spent

    async def _beside(self, records: Sequence[Turn | Memory]) -> dict[str, list[Hit]]:
        """The turns around each record, nearest first: around a turn, or around the turn that a fact was learned in."""
        keys = [(record.scope, record.session_id) for record in records if record.session_id is not None]
        places = {key: [place for place in found if not place.forgotten] for key, found in (await self.store.sessions.places(keys)).items()}
        ids = {record.id: self._around(record, places) for record in records}
        turns = await self.store.get(Turn, [id for near in ids.values() for id in near])
        neighbours = {id: shown(turn, None).model_copy(update={"reason": "window"}) for id, turn in turns.items()}
        return {id: [neighbours[other] for other in near if other in neighbours] for id, near in ids.items()}

    def _around(self, record: Turn | Memory, places: dict[Key, list[Place]]) -> list[str]:
        if record.session_id is None or record.turn is None:
            return []
        session = places[record.scope, record.session_id]
        at = next((n for n, place in enumerate(session) if place.id == record.id or _is(place, record)), None)
        if at is None:
            return []
        around = window(len(session), at, before=self.request.prev_turns, after=self.request.next_turns)
        return [session[n].id for n in sorted(around, key=lambda n: abs(n - at)) if n != at or session[n].id != record.id]


def _is(place: Place, record: Turn | Memory) -> bool:
    return isinstance(record, Memory) and place.turn == record.turn


def cost(hit: Hit) -> int:
    """Estimated tokens of the returned text: ceil(characters / 4)."""
    return math.ceil(len(hit.memory or hit.chunk or "") / 4)


def _cut(hit: Hit, tokens: int) -> Hit:
    text = hit.memory or hit.chunk or ""
    short = text[: tokens * 4 - 2].rsplit(maxsplit=1)[0] + " …"
    return hit.model_copy(update={"truncated": True, "memory" if hit.memory else "chunk": short[: tokens * 4]})
