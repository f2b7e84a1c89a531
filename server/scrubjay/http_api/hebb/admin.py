"""`/api/v1/admin`: consolidation, numbers and settings, as far as they can be answered honestly; the rest is `absent`."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from scrubjay import VERSION
from scrubjay.engine.core import Core
from scrubjay.http_api.context import Context
from scrubjay.http_api.hebb.bodies import Answer, MemoryQuery
from scrubjay.http_api.hebb.context import Staying
from scrubjay.http_api.hebb.graph import graph_of
from scrubjay.http_api.hebb.partitions import shelves
from scrubjay.search.injection import FLOOR
from scrubjay.search.recall import HALF_LIFE_DAYS

router = APIRouter(prefix="/api/v1/admin")


class Consolidated(Answer):
    """`processed` facts and parts of sessions were looked at, and got the link or summary that they needed; `waiting` ones were not."""

    processed: int
    succeeded: int
    failed: int
    errors: list[dict[str, str]]
    waiting: int


class PartitionCount(Answer):
    id: str
    name: str
    memory_count: int
    enabled: bool


class GraphSize(Answer):
    tag_count: int
    edge_count: int


class Stats(Answer):
    partitions: list[PartitionCount]
    total_memories: int
    graph: GraphSize
    scheduler: Jobs


@router.post("/consolidate", response_model=Consolidated, summary="Consolidate what was recorded, now")
async def consolidate(stay: Staying) -> Consolidated:
    """Sessions get their summaries and facts that say the same are linked. No memory is changed, moved or deleted by it."""
    stay.writes()
    core = stay.context.core
    done = await core.consolidation.work_off()
    return Consolidated(
        processed=done, succeeded=done, failed=0, errors=[], waiting=core.consolidation.waiting
    )


@router.get("/stats", response_model=Stats, summary="How much is stored")
async def stats(stay: Staying) -> Stats:
    held = (await shelves(stay)).values()
    graph = await graph_of(stay)
    return Stats(
        partitions=[
            PartitionCount(id=each.id, name=each.name, memory_count=each.memory_count, enabled=each.enabled)
            for each in held
        ],
        total_memories=sum(each.memory_count for each in held),
        graph=GraphSize(tag_count=len(graph.counts), edge_count=len(graph.edges)),
        scheduler=jobs(stay.context.core),
    )


@router.get("/config", response_model=dict[str, Any], summary="The settings that these clients know")
async def config(stay: Staying) -> dict[str, Any]:
    model = embedding(stay.context.core)
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


health_router = APIRouter()


class Health(Answer):
    status: str
    version: str


class Jobs(Answer):
    """What works in the background; `waiting` sessions and facts are not yet consolidated."""

    running: bool
    jobs: dict[str, dict[str, str | None]]
    waiting: int


class Embedding(Answer):
    enabled: bool
    provider: str
    model: str
    dimension: int
    available: bool


class Status(Answer):
    version: str
    scheduler: Jobs
    embedding: Embedding


@health_router.get("/health", response_model=Health, include_in_schema=False)
@health_router.get("/api/v1/health", response_model=Health, summary="Whether the engine is there")
async def health(request: Request) -> Health:
    """`starting` while it opens its store, `failed` where it could not; it answers at once."""
    engine = request.app.state.engine
    state = "failed" if engine.failure else "ok" if engine.ready else "starting"
    return Health(status=state, version=VERSION)


@health_router.get("/status", response_model=Status, include_in_schema=False)
@health_router.get(
    "/api/v1/status", response_model=Status, summary="Which model embeds, and what works in the background"
)
async def status(context: Context) -> Status:
    core = context.core
    return Status(version=VERSION, scheduler=jobs(core), embedding=Embedding(**embedding(core)))


def jobs(core: Core) -> Jobs:
    """Consolidation runs whenever nothing was written for a while, so it has no next time."""
    return Jobs(
        running=True, jobs={"consolidation": {"next_run_time": None}}, waiting=core.consolidation.waiting
    )


def embedding(core: Core) -> dict[str, Any]:
    """The model as Hebb Mind's settings spell it."""
    return {
        "enabled": True,
        "provider": "local",
        "model": core.settings.model,
        "dimension": core.store.note.dim,
        "available": core.indexer.trouble is None,
    }
