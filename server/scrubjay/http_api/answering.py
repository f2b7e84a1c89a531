"""The server behind every HTTP face of an engine: uvicorn in the engine's own event loop."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

IDLE_SECONDS = 30.0  # a client may send nothing of its request, or read nothing of its answer
CLOSE_SECONDS = 5  # for requests in flight when the engine ends; later ones are cut off


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
    running = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        yield
    finally:
        server.should_exit = True
        await running


class _Connection(H11Protocol):
    """A connection that is closed if its client sends nothing of an unfinished request for IDLE_SECONDS.

    The headers must arrive completely in that time. It is also closed if the client reads nothing of its
    answer, and when the engine ends before the request is complete. uvicorn closes connections that are idle
    after an answer, but waits for ever in these cases.
    """

    _heard = 0.0
    _in_head = False
    _unsent = 0  # bytes, at the last look
    _look: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._heard = self.loop.time()
        self._look = self.loop.call_later(IDLE_SECONDS, self._end_if_idle)

    def data_received(self, data: bytes) -> None:
        if not self._in_head:
            self._heard = self.loop.time()
        super().data_received(data)
        answered = self.cycle is None or self.cycle.response_complete
        self._in_head = answered and bool(self.conn.trailing_data[0])

    def connection_lost(self, exc: Exception | None) -> None:
        if self._look is not None:
            self._look.cancel()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        super().shutdown()
        if self.cycle is not None and self.cycle.more_body and not self.cycle.response_complete:
            self.transport.close()

    def _end_if_idle(self) -> None:
        unsent, before = self.transport.get_write_buffer_size(), self._unsent
        if unsent and unsent == before:
            self.transport.abort()
            return
        self._unsent = unsent
        left = self._heard + IDLE_SECONDS - self.loop.time()
        works = self.cycle is not None and not self.cycle.response_complete and not self.cycle.more_body
        if left <= 0 and not works:
            self.transport.close()
        else:
            self._look = self.loop.call_later(
                left if left > 0 and not unsent else IDLE_SECONDS, self._end_if_idle
            )


class _Server(uvicorn.Server):
    def capture_signals(self) -> contextlib.AbstractContextManager[None]:  # type: ignore[override]
        return contextlib.nullcontext()  # the engine handles the signals, and ends the server itself
