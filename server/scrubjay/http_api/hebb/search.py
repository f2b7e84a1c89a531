"""`POST /api/v1/search`: recall with Hebb Mind's weights and windows."""

from scrubjay.engine.core import Core
from scrubjay.http_api.answers import HEBB_ANSWERS, Answer
from scrubjay.http_api.hebb.bodies import MemoryQuery, as_memories
from scrubjay.http_api.hebb.context import HebbRequest
from scrubjay.http_api.hebb.partitions import require_partition
from scrubjay.http_api.routes import Routes
from scrubjay.models import records
from scrubjay.models.requests import SearchMemories
from scrubjay.models.results import MemoryHits

_WEIGHTS = {"weight_relevance", "weight_importance", "weight_recency"}
# Hebb Mind's hook sends this query at the start of every session. No memory is specifically about it, so
# strict recall would find nothing.
_SESSION_START = "recent context and user preferences"
STRICT = 0.6  # the least relevance in strict recall; every clear answer has at least this relevance
# Fields that a query and a search share.
_SHARED_FIELDS = {"query", "top_k", "prev_turns", "next_turns", *_WEIGHTS}
_SCORES = ("score", "recency_score", "importance_score_normalized", "relevance_score")

route = Routes(HEBB_ANSWERS)


@route("POST /api/v1/search", "Recall memories", "SearchResponse")
async def search(request: HebbRequest, query: MemoryQuery) -> Answer:
    """The `top_k` best memories; a window does not change them.

    A long turn is shown by its best part; read it by its id for all of it. Relevance is calibrated to [0, 1],
    importance is importance_score / 10, and recency is 0.5 ^ (days / 30) since the last access, for a turn
    since it was said.
    """
    for partition_id in query.partition_ids or ():
        await require_partition(request, partition_id)
    min_score = query.min_score if query.min_score is not None else query.filter_score
    is_strict = query.strict_recall and min_score is None and query.query != _SESSION_START
    question = SearchMemories(
        **query.model_dump(include=_SHARED_FIELDS),
        partition_ids=query.partition_ids or None,
        tags=query.tags or None,
        threshold=STRICT if is_strict else 0.0,
    )
    scopes = await request.read_scopes()
    hits = await request.core.search.recall(question, scopes, programmatic=True, least_score=min_score or 0.0)
    memories = await _memories(request.core, hits)
    request.core.access.note([hit.id for hit in hits.results])  # only the next answers include this access
    results = [hit for hit in hits.results if hit.id in memories]
    related = [hit for hit in hits.related if hit.id in memories]
    return dict(
        results=[
            {"memory": memories[hit.id], **{name: getattr(hit, name) or 0.0 for name in _SCORES}}
            for hit in results
        ],
        related=[{**memories[hit.id], "reason": hit.reason, "via": hit.via} for hit in related],
    )


async def _memories(core: Core, hits: MemoryHits) -> dict[str, Answer]:
    """Return the memory of each hit by the hit's id; the content of a turn is the part that the hit shows."""
    rows: dict[str, records.AnyRecord] = dict(hits.records)
    rows |= await core.lists.get(records.Turn, [hit.id for hit in hits.related if hit.src == "turn"])
    rows |= await core.lists.get(records.Memory, [hit.id for hit in hits.related if hit.src == "memory"])
    facts_and_turns = [row for row in rows.values() if isinstance(row, records.Memory | records.Turn)]
    answers = await as_memories(core, facts_and_turns)
    memories = dict(zip((row.id for row in facts_and_turns), answers, strict=True))
    for hit in (*hits.results, *hits.related):
        if isinstance(rows.get(hit.id), records.Turn):
            memories[hit.id] = {**memories[hit.id], "content": hit.memory or ""}
    return memories
