"""Choosing: down the weighed candidates until the count or the budget is full, with the window of each hit and what is tied to the first.

Knows what an answer may cost and in which order things are paid. Does not know how candidates were found or what they weigh.
"""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from scrubjay.models.records import AnyRecord, Document, Memory, Turn
from scrubjay.models.requests import SearchMemories
from scrubjay.models.results import Hit, MemoryHits, Tokens
from scrubjay.search import lineage
from scrubjay.search.hits import as_hit
from scrubjay.search.relating import FOLLOWED, related
from scrubjay.search.retrieval.candidates import Candidate
from scrubjay.search.retrieval.query import Question
from scrubjay.search.windows import Beside, beside
from scrubjay.store.store import Store

DEFAULT_BUDGET = 1_500  # tokens, when neither top_k nor a window is asked for
DEFAULT_TOP_K = 10
MOST_TOKENS = 10_000  # of any answer; Claude Code warns from there on
LEAST_ROOM = 40  # tokens: with less left nothing tied is looked for
HIT_OVERHEAD = 90  # tokens that a hit's id, date, scores and names take beside its text


class Scored(NamedTuple):
    """A candidate with its score and the parts of it, each in [0, 1]."""

    row: Candidate
    relevance: float
    importance: float
    recency: float
    score: float


@dataclass
class Choice:
    """Walks down the scored candidates until the count or the budget is full. Lives for one search; `tied` and `apart` as in `recall`."""

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
        """Whether turns around each hit are asked for."""
        return self.request.prev_turns + self.request.next_turns > 0

    @property
    def budget(self) -> int | None:
        """Tokens that hits and neighbours share; None for as many as an answer may have."""
        if self.request.max_tokens is not None:
            return self.request.max_tokens
        return DEFAULT_BUDGET if self.request.top_k is None and not self.windowed else None

    @property
    def most_hits(self) -> int:
        """How many hits at the most, whatever they cost."""
        if self.request.top_k is not None:
            return self.request.top_k
        return 100 if self.budget is not None and not self.windowed else DEFAULT_TOP_K

    async def made(self, scored: list[Scored]) -> MemoryHits:
        """The answer, of candidates that come best first."""
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
        ids = {
            src: [item.row.id for item in scored if item.row.src == src]
            for src in ("memory", "chunk", "turn")
        }
        get = self.store.get
        facts, documents, turns = await asyncio.gather(
            get(Memory, ids["memory"]),
            get(Document, ids["chunk"]),
            get(Turn, () if self.windowed else ids["turn"]),
        )
        near = Beside()
        if self.windowed:
            near = await self._beside(scored, facts.values())
            turns = await get(Turn, [*ids["turn"], *(id for each in near.turns.values() for id in each)])
        for item in scored:
            if len(self.hits) >= self.most_hits:
                return False
            record = turns.get(item.row.id) or facts.get(item.row.id) or documents.get(item.row.id)
            if (
                record is None
                or not self.question.admits(record)
                or (item.row.id in self.related and not self.apart)
            ):
                continue  # forgotten since the index saw it, or an earlier hit's window returns it already
            hit = as_hit(record, item.row.found).model_copy(
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
        return await beside(
            self.store, self.question, [item.row for item in scored], facts, before=before, after=after
        )

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
            neighbour = as_hit(record).model_copy(update={"reason": "window"})
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
    return (
        hit.session_id or "",
        hit.src,
        hit.date if hit.src == "turn" else datetime.min,
        hit.turn or 0,
        hit.date,
    )


def _cut(hit: Hit, tokens: int) -> Hit:
    text = hit.memory or hit.chunk or ""
    short = text[: tokens * 4 - 2].rsplit(maxsplit=1)[0] + " …"
    return hit.model_copy(
        update={"truncated": True, "memory" if hit.memory else "chunk": short[: tokens * 4]}
    )
