"""`POST /api/v1/search`: recall with Hebb Mind's weights and windows. Translates a query and its hits; ranks nothing."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter

from scrubjay.engine.core import Core
from scrubjay.http_api.hebb.bodies import (
    Memory,
    MemoryQuery,
    RelatedMemory,
    SearchResponse,
    SearchResult,
    as_memories,
)
from scrubjay.http_api.hebb.context import Staying
from scrubjay.models import records
from scrubjay.models.requests import SearchMemories
from scrubjay.models.results import Hit
from scrubjay.search.injection import FLOOR

router = APIRouter(prefix="/api/v1")


@router.post("/search", response_model=SearchResponse, summary="Recall memories")
async def search(stay: Staying, query: MemoryQuery) -> SearchResponse:
    """The `top_k` best, whatever the window. A long turn is shown by its best part; read it by its id for all of it.

    Relevance is calibrated to [0, 1]; importance is importance_score / 10; recency is 0.5 ^ (days / 30) since the last access,
    for a turn since it was said.
    """
    floor = query.min_score if query.min_score is not None else query.filter_score
    asked = SearchMemories(
        query=query.query,
        top_k=query.top_k,
        partition_ids=query.partition_ids or None,
        tags=query.tags or None,
        threshold=FLOOR if query.strict_recall and floor is None else 0.0,
        weight_relevance=query.weight_relevance,
        weight_importance=query.weight_importance,
        weight_recency=query.weight_recency,
        prev_turns=query.prev_turns,
        next_turns=query.next_turns,
    )
    core = stay.context.core
    hits = await core.search.memories(asked, await stay.reads(), apart=True, least_score=floor or 0.0)
    found = await _memories(core, [*hits.results, *hits.related])
    return SearchResponse(
        results=[
            SearchResult(
                memory=found[hit.id],
                score=hit.score or 0.0,
                recency_score=hit.recency_score or 0.0,
                importance_score_normalized=hit.importance_score_normalized or 0.0,
                relevance_score=hit.relevance_score or 0.0,
            )
            for hit in hits.results
            if hit.id in found
        ],
        related=[
            RelatedMemory.model_validate({**found[hit.id].model_dump(), "reason": hit.reason, "via": hit.via})
            for hit in hits.related
            if hit.id in found
        ],
    )


async def _memories(core: Core, hits: Sequence[Hit]) -> dict[str, Memory]:
    """The full memory of each hit, by its id; a turn's content is what the hit shows of it."""
    turns = await core.store.get(records.Turn, [hit.id for hit in hits if hit.src == "turn"])
    facts = await core.store.get(records.Memory, [hit.id for hit in hits if hit.src == "memory"])
    rows: list[records.Memory | records.Turn] = [*turns.values(), *facts.values()]
    shown = {hit.id: hit.memory or "" for hit in hits}
    made = await as_memories(core, rows)
    return {
        row.id: memory.model_copy(update={"content": shown[row.id]})
        if isinstance(row, records.Turn)
        else memory
        for row, memory in zip(rows, made, strict=True)
    }
