"""Selects hits in score order until top_k or the token budget is reached; adds windows and ties."""

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
from scrubjay.search.hits import as_hit, shorten
from scrubjay.search.relating import FOLLOWED, related
from scrubjay.search.retrieval.candidates import Candidate, Candidates
from scrubjay.search.retrieval.query import Question
from scrubjay.search.retrieval.ranking import Floats, Ints
from scrubjay.search.windows import Windows, windows
from scrubjay.store.store import Store

DEFAULT_BUDGET = 1_500  # tokens, when neither top_k nor a window is asked for
DEFAULT_TOP_K = 10
MOST_TOKENS = 10_000  # of any answer; Claude Code warns from there on
LEAST_ROOM = 40  # tokens: with less left, no tied records are looked for
HIT_OVERHEAD = 90  # tokens that a hit's id, date, scores and names take beside its text
MOST_LEFT_OUT = 10  # hits without room, after which no further ones are tried


class ScoredCandidate(NamedTuple):
    """A candidate with its score and the parts of it, each in [0, 1]."""

    row: Candidate
    relevance: float
    importance: float
    recency: float
    score: float


@dataclass(frozen=True)
class ScoredCandidates:
    """Candidates best first: their positions among `candidates`, their scores and the parts of these."""

    candidates: Candidates
    positions: Ints
    relevance: Floats
    importance: Floats
    recency: Floats
    score: Floats

    def __len__(self) -> int:
        return len(self.positions)

    def some(self, start: int, count: int) -> list[ScoredCandidate]:
        """Return so many of them, as objects."""
        end = start + count
        columns = (self.relevance, self.importance, self.recency, self.score)
        values = zip(*(column[start:end].tolist() for column in columns), strict=True)
        rows = map(self.candidates.at, self.positions[start:end].tolist())
        return [ScoredCandidate(row, *each) for row, each in zip(rows, values, strict=True)]


@dataclass
class Selector:
    """Selects the hits of one search; `tied` and `apart` as in `recall`."""

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

    async def select(self, candidates: ScoredCandidates) -> MemoryHits:
        """Select hits among candidates that come best first."""
        # A second look costs as much as 30 turns read in vain, unless each may bring neighbours.
        batch = min(20, self.most_hits + 2) if self.windowed else 30
        for start in range(0, len(candidates), batch):
            if not await self._take(candidates.some(start, batch)):
                break
        await self._add_links()
        for hit in self.hits:
            self.related.pop(hit.id, None)
        window = sorted(self.related.values(), key=_session_order)
        return MemoryHits(
            results=self.hits,
            related=[*window, *await self._tied_records()],
            total=len(self.hits),
            timing=0.0,
            tokens=Tokens(spent=self.spent, budget=self.budget),
            left_out=self.left_out or None,
            records=self.records,
        )

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

    async def _take(self, candidates: Sequence[ScoredCandidate]) -> bool:
        """Take hits of one batch; False when there is no room for more."""
        records, near = await self._read(candidates)
        for each in candidates:
            if len(self.hits) >= self.most_hits:
                return False
            record = records.get(each.row.id)
            if record is None or not self.question.admits(record):
                continue  # forgotten since the index saw it
            if record.id in self.related and not self.apart:
                continue  # the window of an earlier hit has it already
            scores = {
                "score": each.score,
                "relevance_score": each.relevance,
                "importance_score_normalized": each.importance,
                "recency_score": each.recency,
            }
            hit = as_hit(record, each.row.match).model_copy(update=scores)
            neighbours = [records[turn_id] for turn_id in near.turns.get(record.id, ()) if turn_id in records]
            if self._afford(hit, [*neighbours, *near.facts.get(record.id, ())]):
                self.records[record.id] = record
            else:
                self.left_out += 1
                if self.left_out >= MOST_LEFT_OUT:
                    return False
        return True

    async def _read(self, candidates: Sequence[ScoredCandidate]) -> tuple[dict[str, AnyRecord], Windows]:
        """Read the records of some candidates and of the turns in their windows, by id, and these windows."""
        get = self.store.get
        ids = {
            src: [each.row.id for each in candidates if each.row.src == src]
            for src in ("memory", "chunk", "turn")
        }
        facts, documents, turns = await asyncio.gather(
            get(Memory, ids["memory"]),
            get(Document, ids["chunk"]),
            get(Turn, () if self.windowed else ids["turn"]),
        )
        near = Windows()
        if self.windowed:
            rows = [each.row for each in candidates]
            before, after = self.request.prev_turns, self.request.next_turns
            near = await windows(self.store, self.question, rows, facts.values(), before=before, after=after)
            turns = await get(Turn, [*ids["turn"], *(each for ids in near.turns.values() for each in ids)])
        return {**documents, **facts, **turns}, near

    def _afford(self, hit: Hit, neighbours: Iterable[AnyRecord]) -> bool:
        """Take a hit and as many neighbours as fit; False if there is no room for the hit."""
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

    async def _add_links(self) -> None:
        include = self.request.include
        if not (include.related_memories or include.documents):
            return
        rows = await self.store.get(Memory, [hit.id for hit in self.hits if hit.src == "memory"])
        facts = list(rows.values())
        contexts = (
            await lineage.contexts(self.store, self.question, facts) if include.related_memories else {}
        )
        sources = await lineage.sources(self.store, facts) if include.documents else {}
        for at, hit in enumerate(self.hits):
            links: dict[str, object] = {"documents": sources[hit.id]} if hit.id in sources else {}
            if hit.id in contexts:
                links["context"], spent = lineage.fit(contexts[hit.id], self._room())
                self.spent += spent
            self.hits[at] = hit.model_copy(update=links)

    async def _tied_records(self) -> list[Hit]:
        """Find records tied to the first hits; those without room do not count as left out."""
        taken: list[Hit] = []
        if self.tied and self._room() >= LEAST_ROOM:
            seen = {hit.id for hit in self.hits} | self.related.keys()
            first = [(hit, self.records[hit.id]) for hit in self.hits[:FOLLOWED]]
            for hit in await related(self.store, self.question, first, besides=seen):
                if cost(hit) <= self._room() - HIT_OVERHEAD * len(taken):
                    self.spent += cost(hit)
                    taken.append(hit)
        return taken

    def _room(self) -> int:
        if self.apart:
            return sys.maxsize
        ceiling = MOST_TOKENS - HIT_OVERHEAD * (len(self.hits) + len(self.related) + 1)
        return min(ceiling, self.budget if self.budget is not None else ceiling) - self.spent


def cost(hit: Hit) -> int:
    """Estimate the tokens of a hit's text: ceil(characters / 4)."""
    return math.ceil(len(hit.memory or hit.chunk or "") / 4)


def _cut(hit: Hit, tokens: int) -> Hit:
    short = shorten(hit.memory or hit.chunk or "", tokens * 4)[: tokens * 4]
    return hit.model_copy(update={"truncated": True, "memory" if hit.memory else "chunk": short})


def _session_order(hit: Hit) -> tuple[object, ...]:
    """Sort by session, then turns by time and facts that stand for turns by their turn's number."""
    date = hit.date if hit.src == "turn" else datetime.min
    return (hit.session_id or "", hit.src, date, hit.turn or 0, hit.date)
