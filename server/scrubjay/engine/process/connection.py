"""One client's connection: lines, limits, and unanswered requests.

A line of more than 32 MiB or 20,000 JSON marks is answered with an error (64 MiB or 500,000 for the command
line), and a client that lets 16 MiB of answers pile up loses its connection. Nothing here waits for a client
to read.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

from scrubjay.wire.hello import Hello, line_of
from scrubjay.wire.lines import BEAT, LINE_LIMIT, LineCutter, TooLong
from scrubjay.wire.messages import CALL_LIMIT, CALL_MARKS, MOST_MARKS, NOT_JSON, answered_key, glance, key_of

log = logging.getLogger("scrubjay.engine.process.connection")

OUTPUT_LIMIT = 16 * 1024 * 1024  # bytes waiting for one client
_INPUT_LIMIT = 4 * 1024 * 1024  # bytes of lines waiting to be processed; above it the client has to wait
_DRAIN_SECONDS = 2.0  # for writing the last answers to a client that has stopped sending
_ENDLESS = {"subscriptions/listen"}  # requests that are answered only by the end of a stream


class Connection(asyncio.Protocol):
    """One client, from its hello until either side closes.

    `hello` is set before a face sees the connection; `in_flight` maps the key of each unanswered request to
    its method. `read_line` and `write_line` update it.
    """

    hello: Hello

    def __init__(
        self,
        opened: Callable[[Connection], None],
        *,
        line_limit: int = LINE_LIMIT,
        output_limit: int = OUTPUT_LIMIT,
    ) -> None:
        self.in_flight: dict[tuple[str, object], str] = {}
        self.lines_read = 0  # lines since the hello
        self._opened = opened
        self._line_limit = line_limit
        self._output_limit = output_limit
        self._most_marks = CALL_MARKS
        self._cutter = LineCutter(line_limit)
        self._queue: collections.deque[bytes] = collections.deque()
        self._queued = 0  # bytes in `_queue`
        self._news = asyncio.Event()  # set by a line, the end, or an awaited answer
        self._ended = False  # the client will send no more
        self._draining: float | None = None  # the grace period in seconds, once the engine is finishing
        self._lost = asyncio.Event()
        self._transport: asyncio.Transport

    # What a face uses.

    async def read_line(self) -> bytes | None:
        """Return the client's next line without its newline, or None at the end.

        The end is reported only when every request is answered or a time limit has passed, because a face
        that sees the end stops working on its answers. A line above the limit is answered with an error here.
        """
        while True:
            if self._draining is None and self._queue:
                if (line := self._next()) is not None:
                    return line
            elif self._ended or self._draining is not None:
                seconds = _DRAIN_SECONDS if self._draining is None else self._draining
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await self._until(lambda: not self.in_flight or self._lost.is_set())
                return None
            else:
                self._news.clear()
                await self._news.wait()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (line := await self.read_line()) is not None:
            yield line

    async def write_line(self, line: bytes | str) -> None:
        """Send one line; a missing newline is added. It is no error if the client is gone."""
        data = line.encode() if isinstance(line, str) else bytes(line)
        if len(data) > self._line_limit + 1:
            what = f"The answer has {len(data)} bytes, and a line may have {self._line_limit}."
            data = _error(glance(data, MOST_MARKS).id, f"{what} Ask for less.")
        if key := answered_key(data):
            self.end(key)
        self._send(data if data.endswith(b"\n") else data + b"\n")

    def begin(self, key: tuple[str, object], method: str) -> None:
        """Count work without a request line as in flight; the engine waits for it before it finishes."""
        self.in_flight[key] = method

    def end(self, key: tuple[str, object]) -> None:
        """Count a piece of work as done."""
        self.in_flight.pop(key, None)
        self._news.set()

    async def ended(self) -> None:
        """Wait until the client stops sending. This is for a face that works without reading."""
        await self._until(lambda: self._ended)

    async def abandoned(self) -> None:
        """Wait until the engine is finishing and the client is gone, so that no answer is wanted."""
        await self._until(lambda: self._ended and self._draining is not None)

    def close(self) -> None:
        """Close after the waiting output has been written."""
        self._transport.close()

    # What the engine uses.

    def welcome(self, hello: Hello) -> None:
        """Store the client's hello; only the command line may send longer lines than a model's client."""
        self.hello = hello
        if hello.kind == "cli":
            self._most_marks = MOST_MARKS
        else:
            self._line_limit = self._cutter.limit = min(self._line_limit, CALL_LIMIT)

    def drain(self, seconds: float) -> None:
        """Stop reading; let the requests in flight end within `seconds`, then report the end to the face."""
        self._draining = seconds
        if not self._lost.is_set():
            self._transport.pause_reading()
        self._news.set()

    def say(self, fields: dict[str, Any]) -> None:
        """Send a line from the engine itself, not from a face."""
        self._send(line_of(fields))

    async def closed(self, seconds: float) -> None:
        """Close, wait until the output has been written, and cut the connection off after `seconds`."""
        self._transport.close()
        try:
            await asyncio.wait_for(self._lost.wait(), seconds)
        except TimeoutError:
            self._transport.abort()

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport, and report the new connection."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._opened(self)

    def data_received(self, data: bytes) -> None:
        """Queue the client's lines; pause reading while too many bytes wait."""
        for line in self._cutter.feed(data):
            if line == BEAT:  # not one of the client's lines; answer at once
                self._send(BEAT)
                continue
            self._queue.append(line)
            self._queued += len(line)
        if self._queued > _INPUT_LIMIT:
            self._transport.pause_reading()
        if self._queue:
            self._news.set()

    def eof_received(self) -> bool:
        """Note that the client has stopped sending."""
        self._ended = True
        self._news.set()
        return True  # keep our own direction open: answers may still be on their way

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that the client is gone."""
        self._ended = True
        self._lost.set()
        self._news.set()

    # Internals.

    def _next(self) -> bytes | None:
        """Return the first waiting line, or None if it is refused; count a request as in flight."""
        line = self._queue.popleft()
        self._queued -= len(line)
        if self._queued <= _INPUT_LIMIT // 2 and not self._ended:
            self._transport.resume_reading()
        self.lines_read += 1
        if isinstance(line, TooLong):
            what = f"This line is longer than {self._line_limit} bytes."
            self._send(_error(glance(line).id, f"{what} Send it in parts."))
            return None
        request = glance(line, self._most_marks)
        if request.problem and request.problem != NOT_JSON:  # the face itself refuses a line that is not JSON
            self._send(_error(request.id, request.problem))
            return None
        if request.key is not None and request.method is not None and request.method not in _ENDLESS:
            self.in_flight[request.key] = request.method
        elif request.method == "notifications/cancelled" and request.request_id is not None:
            self.end(key_of(request.request_id))
        return line.rstrip(b"\r\n")

    def _send(self, data: bytes) -> None:
        if self._lost.is_set() or self._transport.is_closing():
            return
        waiting = self._transport.get_write_buffer_size()
        if waiting > self._output_limit:
            log.warning("connection of pid %d closed: it left %d bytes unread", self.hello.pid, waiting)
            self._transport.abort()
            return
        self._transport.write(data)

    async def _until(self, holds: Callable[[], bool]) -> None:
        """Wait until this condition holds; it is checked after each event of the connection."""
        while not holds():
            self._news.clear()
            await self._news.wait()


def _error(request_id: object, sentence: str) -> bytes:
    return line_of({"jsonrpc": "2.0", "id": request_id, "error": {"code": -32600, "message": sentence}})
