"""The application: every router of the HTTP face, MCP, and how both refuse. Does not know sockets, nor who may in (`rest.door`)."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from typing import Any

import uvicorn
from fastapi import APIRouter, FastAPI
from mcp.server import Server
from starlette.routing import Route

from scrubjay import VERSION
from scrubjay.engine.engine import Engine
from scrubjay.http_api import hebb, supermemory_v5
from scrubjay.http_api.conditions import Conditions
from scrubjay.http_api.door import Door
from scrubjay.http_api.mcp import PATH, McpOverHttp
from scrubjay.http_api.openapi import describe
from scrubjay.http_api.refusals import refuse
from scrubjay.http_api.supermemory_v4 import (
    container_tags,
    conversations,
    documents,
    hosted,
    memories,
    profile,
    search,
)
from scrubjay.http_api.tokens import Tokens

# Paths that end in a word come before those of any id.
_SUPERMEMORY = (documents, search, container_tags, memories, profile, conversations, hosted)
ROUTERS: tuple[APIRouter, ...] = (
    *supermemory_v5.ROUTERS,
    *(family.router for family in _SUPERMEMORY),
    *hebb.ROUTERS,
)


def build_app(engine: Engine, mcp_server: Server[Any]) -> FastAPI:
    """The routes over this engine. Every request needs `request.state.permissions`, which the door sets; MCP answers within the lifespan."""
    mcp = McpOverHttp(mcp_server)

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


CLOSE_SECONDS = 5  # for requests in flight, once the engine is ending; what still streams then is cut off


class _Server(uvicorn.Server):
    def capture_signals(self) -> contextlib.AbstractContextManager[None]:  # type: ignore[override]
        return contextlib.nullcontext()  # the engine hears the signals, and ends us in its turn


@contextlib.asynccontextmanager
async def serving(
    engine: Engine, mcp_server: Server[Any], listening: socket.socket, conditions: Conditions
) -> AsyncIterator[None]:
    """Answer HTTP on this socket, on these conditions, until the block ends."""
    tokens = Tokens(engine.home, [conditions.token] if conditions.token else [])
    config = uvicorn.Config(
        Door(build_app(engine, mcp_server), conditions, tokens.now),
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        proxy_headers=False,  # who is behind a proxy is not known from what a client may write
        timeout_graceful_shutdown=CLOSE_SECONDS,
    )
    server = _Server(config)
    running = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        yield
    finally:
        server.should_exit = True
        await running
