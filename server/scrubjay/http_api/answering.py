"""Runs uvicorn, the server behind every HTTP interface of an engine, in the engine's own event loop."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

IDLE_SECONDS = 30.0  # longest pause of a client while it sends a request
CLOSE_SECONDS = 5  # when the engine ends, requests in flight are cut off after this time


@contextlib.asynccontextmanager
async def answering(app: ASGIApp, listening: socket.socket) -> AsyncIterator[None]:
    """Answer HTTP on this socket until the block ends."""
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        http=_Connection,
        proxy_headers=False,  # a client could forge the headers that name who is behind a proxy
        timeout_graceful_shutdown=CLOSE_SECONDS,
    )
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        yield
    finally:
        server.should_exit = True
        await serving


class _Connection(H11Protocol):
    """A connection that closes if its client sends nothing for IDLE_SECONDS before its request is complete.

    uvicorn itself would wait forever: it only closes connections that are idle after an answer.
    """

    _last_received = 0.0
    _idle_check: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._last_received = self.loop.time()
        self._idle_check = self.loop.call_later(IDLE_SECONDS, self._end_if_idle)

    def data_received(self, data: bytes) -> None:
        self._last_received = self.loop.time()
        super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._idle_check is not None:
            self._idle_check.cancel()
        super().connection_lost(exc)

    def _end_if_idle(self) -> None:
        seconds_left = self._last_received + IDLE_SECONDS - self.loop.time()
        is_working = self.cycle is not None and not self.cycle.response_complete and not self.cycle.more_body
        if seconds_left <= 0 and not is_working:
            self.transport.close()
        else:
            seconds = seconds_left if seconds_left > 0 else IDLE_SECONDS
            self._idle_check = self.loop.call_later(seconds, self._end_if_idle)


class _Server(uvicorn.Server):
    def capture_signals(self) -> contextlib.AbstractContextManager[None]:  # type: ignore[override]
        return contextlib.nullcontext()  # the engine handles the signals, and ends the server itself
