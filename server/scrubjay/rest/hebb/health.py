"""`/health` and `/status`: whether the engine answers, and with which model. Its clients ask at the root; `/api/v1` answers too."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from scrubjay.engine.core import Core
from scrubjay.rest.hebb.wire import Answer
from scrubjay.rest.visit import Visiting
from scrubjay.version import VERSION

router = APIRouter()


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


@router.get("/health", response_model=Health, include_in_schema=False)
@router.get("/api/v1/health", response_model=Health, summary="Whether the engine is there")
async def health(request: Request) -> Health:
    """`starting` while it opens its store, `failed` where it could not; it answers at once."""
    engine = request.app.state.engine
    state = "failed" if engine.failure else "ok" if engine.ready else "starting"
    return Health(status=state, version=VERSION)


@router.get("/status", response_model=Status, include_in_schema=False)
@router.get("/api/v1/status", response_model=Status, summary="Which model embeds, and what works in the background")
async def status(visit: Visiting) -> Status:
    core = visit.core
    return Status(version=VERSION, scheduler=jobs(core), embedding=Embedding(**embedding(core)))


def jobs(core: Core) -> Jobs:
    """Consolidation runs whenever nothing was written for a while, so it has no next time."""
    return Jobs(running=True, jobs={"consolidation": {"next_run_time": None}}, waiting=core.consolidation.waiting)


def embedding(core: Core) -> dict[str, Any]:
    """The model as Hebb Mind's settings spell it."""
    return {
        "enabled": True,
        "provider": "local",
        "model": core.settings.model,
        "dimension": core.store.note.dim,
        "available": core.indexer.trouble is None,
    }
