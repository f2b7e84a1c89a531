"""Selects hits in score order, up to top_k, a token budget, or the end of the evidence, and adds windows.

A budget limits what is shown: the interface's `measure` returns how many characters a hit takes there.
"""

import asyncio
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from scrubjay.models.records import AnyRecord, Document, Memory, Src, Turn
from scrubjay.models.requests import MOST_TOKENS, SearchMemories
from scrubjay.models.results import MOST_LEFT_OUT, Confidence, Hit, MemoryHits, Tokens
from scrubjay.search import lineage
from scrubjay.search.hits import as_hit, condensed, cut
from scrubjay.search.relating import FOLLOWED, related
from scrubjay.search.retrieval.candidates import Match
from scrubjay.search.retrieval.query import Question
from scrubjay.search.windows import Windows, windows
from scrubjay.store.store import Store
from scrubjay.text.likeness import verdict
from scrubjay.text.short_ids import short_id

DEFAULT_BUDGET = 1_500  # tokens, if the request has no budget or number of hits; few answers need all of it
WEAK_BUDGET, WEAK_HITS = 250, 3  # tokens and hits of a doubtful answer
# Characters of a hit that are shown if no size is requested: of the user's words, and of the rest. Of 100
# turns that answer a question of the projects, 98 still contain the answer when cut to these lengths; with 60
# and 240 characters, 78 do.
SHOWN = 200, 600
SHOWN_WEAK = 70, 180  # the same for a doubtful answer, all of whose hits must fit
DEFAULT_TOP_K = 10
FRAME = 40  # tokens of the fence and of the lines above it
LEAST_ROOM = 40  # tokens; if fewer are left, no related records are searched for
# If no size is requested, a hit is shown only if its chance to be right is at least this much per token.
# Chosen with `tests/bench/visible.py`, which measures the visible tokens and the answered questions.
LEAST_CHANCE_PER_TOKEN = 0.00007
MOST_SKIPPED = 3  # the selection ends after this many hits that are not worth their tokens

Measure = Callable[[Hit], int]  # returns the characters of a hit as it is shown


def text_length(hit: Hit) -> int:
    """Count the characters of a hit's text, for callers that show nothing else."""
    return len(hit.memory or hit.chunk or "")


class ScoredCandidate(NamedTuple):
    """A candidate, and the fields of its hit that explain its place in the order."""

    id: str
    src: Src
    match: Match | None
    fields: Mapping[str, object]
    right: float  # the chance that it answers the question; 0 for all but the first candidates


@dataclass
class Selector:
    """Selects the hits of one search; `with_related` and `programmatic` mean the same as in `recall`."""

    store: Store
    request: SearchMemories
    question: Question
    with_related: bool
    programmatic: bool
    confidence: Confidence
    measure: Measure
    hits: list[Hit] = field(default_factory=list)
    related: dict[str, Hit] = field(default_factory=dict)
    records: dict[str, AnyRecord] = field(default_factory=dict)  # of the hits, in order
    spent: int = 0  # characters
    left_out: int = 0
    skipped: int = 0  # hits not worth their tokens

    async def select(self, candidates: Iterable[ScoredCandidate]) -> MemoryHits:
        """Select hits among candidates that come best first."""
        # Most answers by evidence end within ten hits. For other answers, a second read costs as much as
        # reading 30 turns in vain, so 30 are read at once, unless each hit brings neighbours.
        size = 10 if self.is_by_evidence else 30
        size = min(20, self.most_hits + 2) if self.has_windows else size
        remaining = iter(candidates)
        while batch := list(islice(remaining, size)):
            if not await self._add_batch(batch):
                break
        await self._add_links()
        await self._name_amendments()
        for hit in self.hits:
            self.related.pop(hit.id, None)
        window = sorted(self.related.values(), key=_session_order)
        return MemoryHits(
            confidence=self.confidence,
            results=self.hits,
            related=[*window, *await self._tied_records()],
            total=len(self.hits),
            timing=0.0,
            tokens=Tokens(spent=math.ceil(self.spent / 4), budget=self.budget),
            left_out=self.left_out or None,
            records=self.records,
        )

    @property
    def has_windows(self) -> bool:
        """Return True if turns around each hit are requested."""
        return self.request.prev_turns + self.request.next_turns > 0

    @property
    def is_by_evidence(self) -> bool:
        """Return True if no size is requested, so that the answer ends where the evidence ends."""
        return self.request.top_k is None and self.request.max_tokens is None

    @property
    def is_doubtful(self) -> bool:
        """Return True if only a few hits are shown, marked as possibly related."""
        return self.is_by_evidence and self.confidence == "weak"

    @property
    def budget(self) -> int | None:
        """The tokens of the whole answer; None means the maximum for any answer."""
        if self.is_by_evidence:
            return WEAK_BUDGET if self.is_doubtful else DEFAULT_BUDGET
        return self.request.max_tokens

    @property
    def most_hits(self) -> int:
        """The greatest number of hits, whatever their length."""
        if self.request.top_k is not None:
            return self.request.top_k
        if self.is_doubtful:
            return WEAK_HITS
        return DEFAULT_TOP_K if self.has_windows else 100

    async def _add_batch(self, candidates: Sequence[ScoredCandidate]) -> bool:
        """Add the hits of one batch; return False when the budget is used up."""
        records = await self._read(candidates)
        around = await self._windows(records.values())
        for candidate in candidates:
            if len(self.hits) >= self.most_hits:
                return False
            record = records.get(candidate.id)
            if record is None or not self.question.admits(record):
                continue  # forgotten since it was indexed
            if record.id in self.related and not self.programmatic:
                continue  # already in the window of an earlier hit
            hit = as_hit(record, candidate.match).model_copy(update=candidate.fields)
            if self.is_by_evidence:
                question, answer = SHOWN_WEAK if self.is_doubtful else SHOWN
                hit = condensed(hit, self.question.text, question=question, answer=answer)
            if (
                self.is_by_evidence
                and not self.is_doubtful
                and self.hits
                and candidate.right < LEAST_CHANCE_PER_TOKEN * self.measure(hit) / 4
            ):
                self.skipped += 1
                if self.skipped >= MOST_SKIPPED:
                    return False
                continue
            if self._add_if_fitting(hit, around.get(record.id, ())):
                self.records[record.id] = record
            else:
                self.left_out += 1
                if self.left_out >= MOST_LEFT_OUT:
                    return False
        return True

    async def _read(self, candidates: Sequence[ScoredCandidate]) -> dict[str, AnyRecord]:
        """Read the records of candidates, by id."""
        facts, documents, turns = await asyncio.gather(
            self.store.get(Memory, [each.id for each in candidates if each.src == "memory"]),
            self.store.get(Document, [each.id for each in candidates if each.src == "chunk"]),
            self.store.get(Turn, [each.id for each in candidates if each.src == "turn"]),
        )
        return {**documents, **facts, **turns}

    async def _windows(self, records: Iterable[AnyRecord]) -> Windows:
        if not self.has_windows:
            return {}
        before, after = self.request.prev_turns, self.request.next_turns
        return await windows(self.store, self.question, records, before=before, after=after)

    def _add_if_fitting(self, hit: Hit, neighbours: Iterable[AnyRecord]) -> bool:
        """Add a hit and as many neighbours as fit; return False if the hit does not fit."""
        room = self._room()
        if self.measure(hit) > room:
            if self.hits or room <= 0:
                return False
            # The best hit is never left out, only shortened.
            hit = cut(hit, room - (self.measure(hit) - text_length(hit)))
        self.spent += self.measure(hit)
        self.hits.append(hit)
        for record in neighbours:
            if record.id in self.related or any(record.id == hit.id for hit in self.hits):
                continue
            if self.programmatic and record.partition_id != hit.partition_id:
                continue
            neighbour = as_hit(record).model_copy(update={"reason": "window"})
            if self.measure(neighbour) > self._room():
                self.left_out += 1
                continue
            self.spent += self.measure(neighbour)
            self.related[neighbour.id] = neighbour
        return True

    async def _name_amendments(self) -> None:
        """Name the later record that amends a hit; let each of two contradicting facts refer to the other."""
        later_ids = [hit.amended_by for hit in self.hits if hit.amended_by]
        turns = await self.store.get(Turn, later_ids) if later_ids else {}
        indexes = {hit.id: index for index, hit in enumerate(self.hits)}
        for index, hit in enumerate(self.hits):
            if hit.amended_by is None:
                continue
            turn = turns.get(hit.amended_by)
            place = (turn.session_id, turn.turn) if turn else (None, None)
            name = short_id("turn" if turn else "memory", hit.amended_by, *place)
            self.hits[index] = hit.model_copy(update={"amended_name": name})
            newer = indexes.get(hit.amended_by)
            if newer is None or hit.src != "memory":
                continue
            if verdict(self.hits[newer].memory or "", hit.memory or "", None) == "contradict":
                self.hits[index] = self.hits[index].model_copy(update={"contradicts": self.hits[newer].id})
                self.hits[newer] = self.hits[newer].model_copy(update={"contradicts": hit.id})

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
        for index, hit in enumerate(self.hits):
            links: dict[str, object] = {"documents": sources[hit.id]} if hit.id in sources else {}
            if hit.id in contexts:
                links["context"], spent = lineage.fit(contexts[hit.id], self._room() // 4)
                self.spent += spent * 4
            self.hits[index] = hit.model_copy(update=links)

    async def _tied_records(self) -> list[Hit]:
        """Find records related to the first hits, unless the answer ends where the evidence ends.

        Records that do not fit are not counted as left out.
        """
        hits: list[Hit] = []
        if self.with_related and not self.is_by_evidence and self._room() >= LEAST_ROOM * 4:
            shown = {hit.id for hit in self.hits} | self.related.keys()
            best = [(hit, self.records[hit.id]) for hit in self.hits[:FOLLOWED]]
            for hit in await related(self.store, self.question, best, excluded=shown):
                if self.measure(hit) <= self._room():
                    self.spent += self.measure(hit)
                    hits.append(hit)
        return hits

    def _room(self) -> int:
        """Return the number of characters that the budget leaves."""
        if self.programmatic:
            return sys.maxsize
        return (min(self.budget or MOST_TOKENS, MOST_TOKENS) - FRAME) * 4 - self.spent


def _session_order(hit: Hit) -> tuple[object, ...]:
    """Return a sort key: by session; in a session, facts by the number of their turn, then turns by time."""
    date = hit.date if hit.src == "turn" else datetime.min
    return (hit.session_id or "", hit.src, date, hit.turn or 0, hit.date)
