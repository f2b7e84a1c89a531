"""The application: every router of the HTTP face, MCP, and how both refuse. Does not know sockets, nor who may in (`rest.door`)."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from fastapi import APIRouter, FastAPI
from starlette.routing import Route

from scrubjay.engine.engine import Engine
from scrubjay.rest.hebb import routes as hebb
from scrubjay.rest.mcp import PATH, McpOverHttp
from scrubjay.rest.namespaces import routes as namespaces
from scrubjay.rest.openapi import describe
from scrubjay.rest.refusals import refuse
from scrubjay.rest.supermemory import (
    container_tags,
    conversations,
    document_lists,
    document_search,
    documents,
    files,
    hosted,
    inferred,
    memories,
    memories_forgotten,
    memory_search,
    profile,
)
from scrubjay.version import VERSION

# Paths that end in a word come before those of any id.
_DOCUMENTS = (files, document_lists, documents, document_search, container_tags, inferred)
_SUPERMEMORY = (*_DOCUMENTS, memory_search, memories, memories_forgotten, profile, conversations, hosted)
ROUTERS: tuple[APIRouter, ...] = (*namespaces.ROUTERS, *(family.router for family in _SUPERMEMORY), *hebb.ROUTERS)


def build_app(engine: Engine) -> FastAPI:
    """The routes over this engine. Every request needs `request.state.leave`, which the door sets; MCP answers within the lifespan."""
    mcp = McpOverHttp(engine)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with mcp.running():
            yield

    app = FastAPI(title="Scrubjay", version=VERSION, docs_url=None, redoc_url=None, lifespan=lifespan)
    app.state.engine = engine
    refuse(app, [route for router in ROUTERS for route in router.routes])
    for router in ROUTERS:
        app.include_router(router)
    app.router.routes.append(Route(PATH, mcp))
    describe(app)
    return app
