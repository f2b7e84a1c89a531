"""Builds the HTTP application from all routers and MCP, and serves it."""

import contextlib
import socket
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter, FastAPI
from mcp.server import Server
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from scrubjay import VERSION
from scrubjay.engine.engine import Engine
from scrubjay.http_api import hebb
from scrubjay.http_api.answering import answering
from scrubjay.http_api.door import Door
from scrubjay.http_api.mcp import PATH, McpOverHttp
from scrubjay.http_api.openapi import describe
from scrubjay.http_api.options import Options
from scrubjay.http_api.refusals import add_error_handlers
from scrubjay.http_api.supermemory import v4, v5
from scrubjay.http_api.tokens import Tokens

ROUTERS: tuple[APIRouter, ...] = (*v5.ROUTERS, *v4.ROUTERS, *hebb.ROUTERS)

ABOUT = f"""\
Scrubjay {VERSION}, the memory of a coding assistant, on this machine.

/mcp            MCP over HTTP
/v3, /v4, /ns   the routes of supermemory's clients
/api/v1         the routes of Hebb Mind's clients
/openapi.json   describes every route
/health         says whether the engine is ready

`scrubjay open` shows the memory in a browser.
"""


def build_app(engine: Engine, mcp_server: Server[Any]) -> FastAPI:
    """Build the application of this engine; MCP answers while its lifespan runs.

    Every request needs `request.state.permissions`, which `Door` sets.
    """
    mcp = McpOverHttp(mcp_server)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with mcp.running():
            yield

    app = FastAPI(title="Scrubjay", version=VERSION, docs_url=None, redoc_url=None, lifespan=lifespan)
    app.state.engine = engine
    app.router.routes += [Route(PATH, mcp), Route("/", _about)]
    add_error_handlers(app, [*app.routes, *(route for router in ROUTERS for route in router.routes)])
    for router in ROUTERS:
        app.include_router(router)
    describe(app, *(family.answers.ANSWERS for family in (v4, v5, hebb)))
    return app


async def _about(request: Request) -> PlainTextResponse:
    return PlainTextResponse(ABOUT)


@contextlib.asynccontextmanager
async def serving(
    engine: Engine, mcp_server: Server[Any], listening: socket.socket, options: Options
) -> AsyncIterator[None]:
    """Answer HTTP on this socket until the block ends."""
    tokens = Tokens(engine.home, [options.token] if options.token else [])
    door = Door(build_app(engine, mcp_server), options, tokens.now)
    async with answering(door, listening):
        yield
