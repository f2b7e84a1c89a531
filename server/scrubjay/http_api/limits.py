"""Limits of one request and of each caller: bytes, requests per second, requests at once, and time."""

import asyncio
import contextlib
import math
from collections import Counter
from collections.abc import Callable

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Send

from scrubjay.pipe import session
from scrubjay.wire.messages import LARGE, NOT_UTF_8, crowded_error, is_crowded

LONGEST_BODY = 55_000_000  # bytes: a file of 50 MB and the multipart form around it
BURST_SECONDS = 2.0  # a caller may send the requests of this time at once
AT_ONCE = session.AT_ONCE  # requests of one caller that are processed at the same time
WAITING = 256  # requests of one caller that may wait for a slot
DROP_SECONDS = 5.0  # longest time for which the rest of a body that is too long is read and discarded
# The bytes of all queued bodies together; the first PIECE of each does not count.
MOST_HELD = 4 * LONGEST_BODY
PIECE = 65_536  # bytes of a body that the application gets at once


class BufferedBytes:
    """Counts the bytes that are buffered for queued requests."""

    count = 0


class Body:
    """The body of one request, read before it takes a slot: a slow sender does not block other requests."""

    def __init__(self, receive: Receive, buffered: BufferedBytes, limit: int) -> None:
        self._receive, self._buffered, self.limit = receive, buffered, limit
        self._data = bytearray()
        self._delivered = 0  # bytes that the application has received
        self._is_forgotten = self._is_whole = False

    async def read(self) -> None:
        """Read the whole body; raises 413 if it is too long, 503 if too many bytes are queued already."""
        while not self._is_whole:
            message = await self._receive()
            if message["type"] != "http.request":
                raise ClientDisconnect
            self._is_whole = not message.get("more_body", False)
            self._add(message.get("body", b""))

    def _add(self, data: bytes) -> None:
        queued_before = self._queued_bytes
        self._data += data
        self._buffered.count += self._queued_bytes - queued_before
        if len(self._data) > self.limit:
            raise self.too_large()
        if self._queued_bytes and self._buffered.count > MOST_HELD:
            headers = {"Retry-After": "1", "Connection": "close"}
            raise HTTPException(503, "Too much is sent here at once. Send it again in a moment.", headers)

    def too_large(self) -> HTTPException:
        """Return the refusal of a body with more bytes than its limit."""
        sentence = f"A request of this kind may have at most {self.limit:,} bytes. Split what you send."
        return HTTPException(413, sentence, {"Connection": "close"})

    async def drop_rest(self) -> None:
        """Discard the rest of a body that is too long: clients send it all before they read the refusal."""
        remaining = LONGEST_BODY
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DROP_SECONDS):
                while not self._is_whole and remaining > 0:
                    message = await self._receive()
                    remaining -= len(message.get("body", b""))
                    self._is_whole = not message.get("more_body", False)

    @property
    def _queued_bytes(self) -> int:
        return max(0, len(self._data) - PIECE)

    @property
    def is_large(self) -> bool:
        """Return True if only one JSON body of this size may be processed at a time."""
        return len(self._data) > LARGE

    def check_json(self, max_marks: int) -> None:
        """Raise 413 for JSON with more than `max_marks` structural marks, 400 for JSON that is not UTF-8."""
        if b"\x00" in self._data:
            raise HTTPException(400, NOT_UTF_8)
        if is_crowded(self._data, max_marks):
            raise HTTPException(413, crowded_error(max_marks))  # a status that official clients do not retry

    async def receive(self) -> Message:
        """Return the next piece of the body; after the last one, wait for the client to disconnect."""
        if self._is_forgotten:
            return await self._receive()
        await asyncio.sleep(0)  # let other requests run between the pieces
        piece = bytes(self._data[self._delivered : self._delivered + PIECE])
        self._delivered += len(piece)
        if not (more := self._delivered < len(self._data)):
            self.forget()
        return {"type": "http.request", "body": piece, "more_body": more}

    def forget(self) -> None:
        """Free the memory of the body."""
        self._buffered.count -= self._queued_bytes
        self._data, self._is_forgotten = bytearray(), True


class Answer:
    """Passes the application's answer to the client, until it is cut off.

    `begun` is done when the application has sent something, `returned` when it has sent a part of the body;
    both are done when it has ended.
    """

    def __init__(self, send: Send) -> None:
        self._send, self.is_cut_off = send, False
        self.begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.returned: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def send(self, message: Message) -> None:
        """Send a part of the answer."""
        if self.is_cut_off:
            return
        _finish(self.begun)
        if message.get("body"):
            _finish(self.returned)
        await self._send(message)

    def end(self) -> None:
        """Note that the application has ended."""
        _finish(self.begun)
        _finish(self.returned)


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class Rate:
    """Limits each caller's requests per second. `per_second` 0 is no limit; `time` is a monotonic clock."""

    def __init__(self, per_second: float, time: Callable[[], float]) -> None:
        self._limit, self._time = max(1.0, per_second * BURST_SECONDS) if per_second else math.inf, time
        self._window = self._limit / per_second if per_second else math.inf  # seconds
        self._window_start, self._requests = time(), Counter[str]()

    def wait(self, caller: str) -> float:
        """Count a request of the caller; return how many seconds it must wait, or 0.0."""
        if self._limit == math.inf:  # then count no callers, because a client can invent a million keys
            return 0.0
        now = self._time()
        if now - self._window_start >= self._window:
            self._window_start = now
            self._requests.clear()
        self._requests[caller] += 1
        return self._window_start + self._window - now if self._requests[caller] > self._limit else 0.0


class Slots:
    """Lets `AT_ONCE` requests of each caller work, and queues up to `WAITING` more, the oldest first.

    So a caller with 600 requests does not delay other callers.
    """

    def __init__(self) -> None:
        self._requests = Counter[str]()  # by caller, how many work or wait
        self._slots: dict[str, asyncio.Semaphore] = {}

    async def begin(self, caller: str) -> None:
        """Wait until a request of this caller may work; call `end` after it.

        Raises 429 if too many requests of this caller wait.
        """
        if self._requests[caller] >= AT_ONCE + WAITING:
            sentence = f"{WAITING} requests of yours wait already. Send fewer at once."
            raise HTTPException(429, sentence, {"Retry-After": "1"})
        self._requests[caller] += 1
        try:
            await self._slots.setdefault(caller, asyncio.Semaphore(AT_ONCE)).acquire()
        except asyncio.CancelledError:
            self._leave(caller)
            raise

    def end(self, caller: str) -> None:
        """Let the next request of this caller work."""
        self._slots[caller].release()
        self._leave(caller)

    def _leave(self, caller: str) -> None:
        self._requests[caller] -= 1
        if not self._requests[caller]:
            del self._requests[caller], self._slots[caller]
