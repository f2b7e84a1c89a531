"""`/api/v1/admin`, `/health` and `/status`: consolidation, numbers and settings."""

from typing import Any

from fastapi import Request

from scrubjay import VERSION
from scrubjay.engine.core import Core
from scrubjay.http_api.answers import Answer
from scrubjay.http_api.context import Context
from scrubjay.http_api.hebb.answers import ANSWERS
from scrubjay.http_api.hebb.bodies import MemoryQuery
from scrubjay.http_api.hebb.context import HebbRequest
from scrubjay.http_api.hebb.graph import graph_of
from scrubjay.http_api.hebb.partitions import partitions
from scrubjay.http_api.routes import Routes
from scrubjay.search.injection import FLOOR
from scrubjay.search.retrieval.ranking import HALF_LIFE_DAYS

_OF_MODEL = ("model", "dimension", "available")

route = Routes(ANSWERS)


@route("POST /api/v1/admin/consolidate", "Consolidate what was recorded, now", "Consolidated")
async def consolidate(request: HebbRequest) -> Answer:
    """Sessions get their summaries, and facts that say the same are linked.

    No memory is changed, moved or deleted by it.
    """
    request.writes()
    consolidation = request.core.consolidation
    count = await consolidation.work_off()
    return dict(processed=count, succeeded=count, failed=0, errors=[], waiting=consolidation.waiting)


@route("GET /api/v1/admin/stats", "How much is stored", "Stats")
async def stats(request: HebbRequest) -> Answer:
    """Memories by partition, tags and pairs of tags."""
    counts = [ANSWERS.fill("PartitionCount", None, **each) for each in (await partitions(request)).values()]
    graph = await graph_of(request)
    return dict(
        partitions=counts,
        total_memories=sum(each["memory_count"] for each in counts),
        graph=dict(tag_count=len(graph.counts), edge_count=len(graph.edges)),
        scheduler=_jobs(request.core),
    )


@route("GET /api/v1/admin/config", "The settings that these clients know", "object")
async def config(request: HebbRequest) -> dict[str, Any]:
    """The model, and the defaults of a search."""
    model = _embedding(request.core)
    fields = MemoryQuery.model_fields.items()
    weights = {name: field.default for name, field in fields if name.startswith("weight_")}
    return {
        "embedding_enabled": model["enabled"],
        "embedding_provider": model["provider"],
        "embedding_model": model["model"],
        "embedding_dim": model["dimension"],
        "rerank_enabled": False,
        "llm_enabled": False,
        "recall_min_score": FLOOR,
        "half_life_days": HALF_LIFE_DAYS,
        **weights,
    }


@route("GET /health", "Whether the engine is there", "Health", include_in_schema=False)
@route("GET /api/v1/health", "Whether the engine is there", "Health")
async def health(request: Request) -> Answer:
    """`starting` while it opens its store, `failed` where it could not; it answers at once."""
    engine = request.app.state.engine
    state = "failed" if engine.failure else "ok" if engine.ready else "starting"
    return dict(status=state, version=VERSION)


@route("GET /status", "Which model embeds", "Status", include_in_schema=False)
@route("GET /api/v1/status", "Which model embeds, and what works in the background", "Status")
async def status(context: Context) -> Answer:
    """The state of the server, whatever the scope."""
    core = context.core
    return dict(version=VERSION, scheduler=_jobs(core), embedding=_embedding(core))


def _jobs(core: Core) -> Answer:
    """Describe consolidation, which runs whenever nothing was written for a while and so has no next time."""
    jobs: dict[str, dict[str, str | None]] = {"consolidation": {"next_run_time": None}}
    return dict(running=True, jobs=jobs, waiting=core.consolidation.waiting)


def _embedding(core: Core) -> Answer:
    model = core.status.model()
    return dict(enabled=True, provider="local", **{name: model[name] for name in _OF_MODEL})
