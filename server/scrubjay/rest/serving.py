"""The HTTP server in the engine's own event loop. Knows uvicorn; does not know what is answered."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import uvicorn

from scrubjay.engine.engine import Engine
from scrubjay.rest.app import build_app
from scrubjay.rest.conditions import Conditions
from scrubjay.rest.door import Door
from scrubjay.rest.tokens import Tokens

CLOSE_SECONDS = 5  # for requests in flight, once the engine is ending; what still streams then is cut off


class _Server(uvicorn.Server):
    def capture_signals(self) -> contextlib.AbstractContextManager[None]:  # type: ignore[override]
        return contextlib.nullcontext()  # the engine hears the signals, and ends us in its turn


@contextlib.asynccontextmanager
async def serving(engine: Engine, listening: socket.socket, conditions: Conditions) -> AsyncIterator[None]:
    """Answer HTTP on this socket, on these conditions, until the block ends."""
    tokens = Tokens(engine.home, [conditions.token] if conditions.token else [])
    config = uvicorn.Config(
        Door(build_app(engine), conditions, tokens.now),
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
