"""`POST /api/v1/search`: recall with Hebb Mind's weights and windows."""

from collections.abc import Sequence

from scrubjay.engine.core import Core
from scrubjay.http_api.hebb.bodies import (
    Memory,
    MemoryQuery,
    RelatedMemory,
    SearchResponse,
    SearchResult,
    as_memories,
)
from scrubjay.http_api.hebb.context import HebbRequest
from scrubjay.http_api.routes import Routes
from scrubjay.models import records
from scrubjay.models.requests import SearchMemories
from scrubjay.models.results import Hit
from scrubjay.search.injection import FLOOR

_SAME = {  # fields that a query and a search have in common
    "query",
    "top_k",
    "weight_relevance",
    "weight_importance",
    "weight_recency",
    "prev_turns",
    "next_turns",
}

route = Routes()


@route("POST /api/v1/search", "Recall memories")
async def search(request: HebbRequest, query: MemoryQuery) -> SearchResponse:
    """The `top_k` best, whatever the window.

    A long turn is shown by its best part; read it by its id for all of it. Relevance is calibrated to [0, 1],
    importance is importance_score / 10, and recency is 0.5 ^ (days / 30) since the last access, for a turn
    since it was said.
    """
    least = query.min_score if query.min_score is not None else query.filter_score
    question = SearchMemories(
        **query.model_dump(include=_SAME),
        partition_ids=query.partition_ids or None,
        tags=query.tags or None,
        threshold=FLOOR if query.strict_recall and least is None else 0.0,
    )
    scopes = await request.reads()
    hits = await request.core.search.memories(question, scopes, apart=True, least_score=least or 0.0)
    memories = await _memories(request.core, [*hits.results, *hits.related])
    return SearchResponse(
        results=[
            SearchResult(
                memory=memories[hit.id],
                score=hit.score or 0.0,
                recency_score=hit.recency_score or 0.0,
                importance_score_normalized=hit.importance_score_normalized or 0.0,
                relevance_score=hit.relevance_score or 0.0,
            )
            for hit in hits.results
            if hit.id in memories
        ],
        related=[
            RelatedMemory.model_validate({**dict(memories[hit.id]), "reason": hit.reason, "via": hit.via})
            for hit in hits.related
            if hit.id in memories
        ],
    )


async def _memories(core: Core, hits: Sequence[Hit]) -> dict[str, Memory]:
    """Return the full memory of each hit, by the hit's id; a turn's content is what the hit shows of it."""
    shown = {hit.id: hit.memory or "" for hit in hits}
    turns = await core.lists.get(records.Turn, [hit.id for hit in hits if hit.src == "turn"])
    facts = await core.lists.get(records.Memory, [hit.id for hit in hits if hit.src == "memory"])
    rows: list[records.Memory | records.Turn] = [*turns.values(), *facts.values()]
    memories = dict(zip((row.id for row in rows), await as_memories(core, rows), strict=True))
    for turn_id in turns:
        memories[turn_id] = memories[turn_id].model_copy(update={"content": shown[turn_id]})
    return memories
