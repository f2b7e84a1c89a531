"""`/api/v1/admin`, `/health` and `/status`: consolidation, numbers and settings."""

from typing import Any

from fastapi import Request
from typing_extensions import TypedDict

from scrubjay import VERSION
from scrubjay.engine.core import Core
from scrubjay.http_api.context import Context
from scrubjay.http_api.hebb.bodies import MemoryQuery
from scrubjay.http_api.hebb.context import HebbRequest
from scrubjay.http_api.hebb.graph import graph_of
from scrubjay.http_api.hebb.partitions import partitions
from scrubjay.http_api.routes import Routes
from scrubjay.search.injection import FLOOR
from scrubjay.search.recall import HALF_LIFE_DAYS

route = Routes()


Consolidated = TypedDict(  # how many facts and parts of sessions were looked at, and how many wait for it
    "Consolidated",
    {"processed": int, "succeeded": int, "failed": int, "errors": list[dict[str, str]], "waiting": int},
)
PartitionCount = TypedDict("PartitionCount", {"id": str, "name": str, "memory_count": int, "enabled": bool})
GraphSize = TypedDict("GraphSize", {"tag_count": int, "edge_count": int})
Jobs = TypedDict(  # `waiting` sessions and facts are not yet consolidated
    "Jobs", {"running": bool, "jobs": dict[str, dict[str, str | None]], "waiting": int}
)
Stats = TypedDict(
    "Stats",
    {"partitions": list[PartitionCount], "total_memories": int, "graph": GraphSize, "scheduler": Jobs},
)
Health = TypedDict("Health", {"status": str, "version": str})
Embedding = TypedDict(  # `dimension` is how many numbers a vector has
    "Embedding", {"enabled": bool, "provider": str, "model": str, "dimension": int, "available": bool}
)
Status = TypedDict("Status", {"version": str, "scheduler": Jobs, "embedding": Embedding})


@route("POST /api/v1/admin/consolidate", "Consolidate what was recorded, now")
async def consolidate(request: HebbRequest) -> Consolidated:
    """Sessions get their summaries, and facts that say the same are linked.

    No memory is changed, moved or deleted by it.
    """
    request.writes()
    consolidation = request.core.consolidation
    count = await consolidation.work_off()
    return Consolidated(processed=count, succeeded=count, failed=0, errors=[], waiting=consolidation.waiting)


@route("GET /api/v1/admin/stats", "How much is stored")
async def stats(request: HebbRequest) -> Stats:
    """Memories by partition, tags and pairs of tags."""
    counts: list[PartitionCount] = [*(await partitions(request)).values()]  # FastAPI drops the other fields
    graph = await graph_of(request)
    return Stats(
        partitions=counts,
        total_memories=sum(each["memory_count"] for each in counts),
        graph=GraphSize(tag_count=len(graph.counts), edge_count=len(graph.edges)),
        scheduler=_jobs(request.core),
    )


@route("GET /api/v1/admin/config", "The settings that these clients know")
async def config(request: HebbRequest) -> dict[str, Any]:
    """The model, and the defaults of a search."""
    model = _embedding(request.core)
    weights = {
        name: field.default for name, field in MemoryQuery.model_fields.items() if name.startswith("weight_")
    }
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


@route("GET /health", "Whether the engine is there", include_in_schema=False)
@route("GET /api/v1/health", "Whether the engine is there")
async def health(request: Request) -> Health:
    """`starting` while it opens its store, `failed` where it could not; it answers at once."""
    engine = request.app.state.engine
    state = "failed" if engine.failure else "ok" if engine.ready else "starting"
    return Health(status=state, version=VERSION)


@route("GET /status", "Which model embeds, and what works in the background", include_in_schema=False)
@route("GET /api/v1/status", "Which model embeds, and what works in the background")
async def status(context: Context) -> Status:
    """The state of the server, whatever the scope."""
    core = context.core
    return Status(version=VERSION, scheduler=_jobs(core), embedding=_embedding(core))


def _jobs(core: Core) -> Jobs:
    """Describe consolidation, which runs whenever nothing was written for a while and so has no next time."""
    jobs: dict[str, dict[str, str | None]] = {"consolidation": {"next_run_time": None}}
    return Jobs(running=True, jobs=jobs, waiting=core.consolidation.waiting)


def _embedding(core: Core) -> Embedding:
    model = core.status.model()
    return Embedding(
        enabled=True,
        provider="local",
        model=model["model"],
        dimension=model["dimension"],
        available=model["available"],
    )
