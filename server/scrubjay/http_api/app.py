"""Builds the HTTP application from the routes of all families and MCP, and serves it."""

import contextlib
import socket
from collections.abc import AsyncIterator
from typing import Any

from fastapi import FastAPI
from mcp.server import Server
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from scrubjay import VERSION
from scrubjay.engine.engine import Engine
from scrubjay.http_api import hebb, openapi
from scrubjay.http_api.answering import answering
from scrubjay.http_api.gateway import Gateway
from scrubjay.http_api.mcp import PATH, McpOverHttp
from scrubjay.http_api.options import Options
from scrubjay.http_api.refusals import add_error_handlers
from scrubjay.http_api.routes import absent_routes
from scrubjay.http_api.supermemory import v4, v5
from scrubjay.http_api.tokens import Tokens

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

    Every request needs `request.state.permissions`, which `Gateway` sets.
    """
    mcp = McpOverHttp(mcp_server)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with mcp.sessions.run():
            yield

    app = FastAPI(lifespan=lifespan, docs_url=None, redoc_url=None, **openapi.INFO)
    app.state.engine = engine
    app.router.routes += [Route(PATH, mcp), Route("/", _about)]
    # The absent routes are last, because their paths may also match routes of the families.
    app.router.routes += [*v5.ROUTES, *v4.ROUTES, *hebb.ROUTES, *absent_routes()]
    add_error_handlers(app)
    openapi.complete(app)
    return app


async def _about(request: Request) -> PlainTextResponse:
    return PlainTextResponse(ABOUT)


@contextlib.asynccontextmanager
async def serving(
    engine: Engine, mcp_server: Server[Any], listening: socket.socket, options: Options
) -> AsyncIterator[None]:
    """Answer HTTP on this socket until the block ends."""
    tokens = Tokens(engine.home, [options.token] if options.token else [])
    gateway = Gateway(build_app(engine, mcp_server), options, tokens.now)
    async with answering(gateway, listening):
        yield
