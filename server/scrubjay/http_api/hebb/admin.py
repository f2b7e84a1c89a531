"""`/api/v1/admin/consolidate`, `/health` and `/status`, which Hebb Mind's programs call."""

from fastapi import Request

from scrubjay import VERSION
from scrubjay.http_api.answers import HEBB_ANSWERS, Answer
from scrubjay.http_api.context import Context
from scrubjay.http_api.hebb.context import HebbRequest
from scrubjay.http_api.routes import Routes

_MODEL_FIELDS = ("model", "dimension", "available")

route = Routes(HEBB_ANSWERS)


@route("POST /api/v1/admin/consolidate", "Consolidate recorded turns and facts now", "Consolidated")
async def consolidate(request: HebbRequest) -> Answer:
    """Summarise sessions and link facts that say the same; no memory is changed, moved or deleted."""
    request.write_scope()
    consolidation = request.core.consolidation
    count = await consolidation.process_all()
    return dict(processed=count, succeeded=count, failed=0, errors=[], waiting=consolidation.waiting)


@route("GET /health", "Read whether the engine is ready", "Health", include_in_schema=False)
@route("GET /api/v1/health", "Read whether the engine is ready", "Health")
async def health(request: Request) -> Answer:
    """The status is `starting` while the engine opens its store, `failed` if it could not, else `ok`."""
    engine = request.app.state.engine
    state = "failed" if engine.failure else "ok" if engine.ready else "starting"
    return dict(status=state, version=VERSION)


@route("GET /status", "Read the model", "Status", include_in_schema=False)
@route("GET /api/v1/status", "Read the model and the background work", "Status")
async def status(context: Context) -> Answer:
    """The state of the server, whatever the scope."""
    core, model = context.core, context.core.status.model()
    # Consolidation runs after a pause in writing, so its next run has no fixed time.
    jobs: dict[str, dict[str, str | None]] = {"consolidation": {"next_run_time": None}}
    scheduler = dict(running=True, jobs=jobs, waiting=core.consolidation.waiting)
    embedding = dict(enabled=True, provider="local", **{name: model[name] for name in _MODEL_FIELDS})
    return dict(version=VERSION, scheduler=scheduler, embedding=embedding)
