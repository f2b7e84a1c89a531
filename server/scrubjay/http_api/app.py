"""The application: every router of the HTTP face, MCP, and how both refuse; and the server that runs it."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from typing import Any

import uvicorn
from fastapi import APIRouter, FastAPI
from mcp.server import Server
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from scrubjay import VERSION
from scrubjay.engine.engine import Engine
from scrubjay.http_api import hebb, supermemory_v4, supermemory_v5
from scrubjay.http_api.door import Door
from scrubjay.http_api.mcp import PATH, McpOverHttp
from scrubjay.http_api.openapi import describe
from scrubjay.http_api.options import Options
from scrubjay.http_api.refusals import refuse
from scrubjay.http_api.tokens import Tokens

ROUTERS: tuple[APIRouter, ...] = (*supermemory_v5.ROUTERS, *supermemory_v4.ROUTERS, *hebb.ROUTERS)
IDLE_SECONDS = 30.0  # without a byte of what a client owes: a request, or the rest of one
CLOSE_SECONDS = 5  # for requests in flight, once the engine is ending; what still streams then is cut off


def build_app(engine: Engine, mcp_server: Server[Any]) -> FastAPI:
    """Build the routes over this engine; MCP answers within the lifespan.

    Every request needs `request.state.permissions`, which the door sets.
    """
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
    describe(app, *(family.answers.ANSWERS for family in (supermemory_v4, supermemory_v5, hebb)))
    return app


@contextlib.asynccontextmanager
async def serving(
    engine: Engine, mcp_server: Server[Any], listening: socket.socket, options: Options
) -> AsyncIterator[None]:
    """Answer HTTP on this socket until the block ends."""
    tokens = Tokens(engine.home, [options.token] if options.token else [])
    config = uvicorn.Config(
        Door(build_app(engine, mcp_server), options, tokens.now),
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        http=_Connection,
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


class _Connection(H11Protocol):
    """A connection that is closed when its client has sent nothing for IDLE_SECONDS that it still owes.

    uvicorn closes one that rests after an answer, but waits for ever for a first request or the rest of one.
    """

    _heard = 0.0
    _look: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._heard = self.loop.time()
        self._look = self.loop.call_later(IDLE_SECONDS, self._end_if_idle)

    def data_received(self, data: bytes) -> None:
        self._heard = self.loop.time()
        super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._look is not None:
            self._look.cancel()
        super().connection_lost(exc)

    def _end_if_idle(self) -> None:
        left = self._heard + IDLE_SECONDS - self.loop.time()
        works = self.cycle is not None and not self.cycle.response_complete and not self.cycle.more_body
        if left <= 0 and not works:
            self.transport.close()
        else:
            self._look = self.loop.call_later(left if left > 0 else IDLE_SECONDS, self._end_if_idle)


class _Server(uvicorn.Server):
    def capture_signals(self) -> contextlib.AbstractContextManager[None]:  # type: ignore[override]
        return contextlib.nullcontext()  # the engine hears the signals, and ends the server in its turn
