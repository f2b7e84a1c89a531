"""The outermost layer of the HTTP interface: checks headers, keys, sizes and rates before a request gets in.

It gives the application the permissions of the caller.
"""

import asyncio
import contextlib
import ipaddress
import math
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence

from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from scrubjay.errors import HomeError
from scrubjay.http_api.options import Address, Options
from scrubjay.http_api.permissions import READ_ONLY, Permissions
from scrubjay.http_api.refusals import refusal
from scrubjay.http_api.tokens import Token, match
from scrubjay.pipe import link, session
from scrubjay.wire.messages import (
    CALL_LIMIT,
    CALL_MARKS,
    LARGE,
    MOST_MARKS,
    NOT_UTF_8,
    crowded_error,
    is_crowded,
)

LONGEST_BODY = 55_000_000  # bytes: a file of 50 MB and the multipart form around it
LONGEST_JSON = CALL_LIMIT  # bytes: a document of ten million characters of three bytes each
BURST_SECONDS = 2.0  # a caller may send the requests of this time at once
CALL_SECONDS = link.CALL_SECONDS - 1.0  # one second less, because timers fire late while the engine loads
# Requests with many records may take longer: official clients wait 60 s, and send again what was refused.
MANY_SECONDS = 45.0
_MANY = re.compile(r"/(batch|bulk|ingest|merge)/?$")
AT_ONCE = session.AT_ONCE  # requests of one caller that are processed at once
WAITING = 256  # requests of one caller that wait for their turn
DROP_SECONDS = 5.0  # longest time for which the rest of a body that is too long is read and discarded
# The bytes of all queued bodies together; the first PIECE of each does not count.
MOST_HELD = 4 * LONGEST_BODY
PIECE = 65_536  # bytes of a body that the application gets at once
_LOCAL = Options(Address("127.0.0.1", 0))
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
# Response headers that pages of other origins may read too.
_EXPOSED = ("Retry-After", "WWW-Authenticate", "Mcp-Session-Id")
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
# These paths only read, but use POST because they need a body.
_READ_PATHS = re.compile(r"/(search|profile|profile/buckets|list|list/[a-z]+|documents/documents|mcp)/?$")
# A host as in RFC 9110, without a user: an IP address in brackets, a name, or a bare IPv6 address.
_HOST = re.compile(
    r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::[0-9]{1,5})?|([0-9a-f]*:[0-9a-f.]*+:[0-9a-f:.]*)"
)
# A web form can send these types to any address without a preflight, but it cannot add a header.
_FORMS = ("multipart/form-data", "application/x-www-form-urlencoded", "text/plain")


class Door:
    """Passes requests on to the application, with the permissions of their caller in `request.state`.

    `tokens` returns the current tokens. If there are no tokens and only this machine reaches the address,
    every key is accepted.
    """

    def __init__(
        self,
        app: ASGIApp,
        options: Options = _LOCAL,
        tokens: Callable[[], Sequence[Token]] = tuple,
        time: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app, self._tokens = app, tokens
        self._names = _LOOPBACK_NAMES | {options.address.host, *map(str.lower, options.names)}
        self._origins = frozenset(options.origins)
        self._is_loopback = options.address.is_loopback
        self._rate = Rate(options.per_second, time)
        self._turns = Turns()
        self._room = Room()
        self._large_json = asyncio.Lock()  # held while one large JSON body is being processed
        self._unanswered: set[asyncio.Future[None]] = set()  # work that continues after its deadline
        self._inner: ASGIApp = self._admit
        if options.origins:
            self._inner = CORSMiddleware(
                self._admit,
                allow_origins=options.origins,
                allow_methods=["*"],
                allow_headers=["*"],
                expose_headers=_EXPOSED,
            )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        elif scope["type"] != "http":
            await self._app(scope, receive, send)
        elif not self._is_own_name(host := Request(scope).headers.get("host", "")):
            # Check the host first: the CORS middleware answers a preflight by itself.
            advice = "Ask it by its address, or start it with `--allow-host NAME`."
            sentence = f"Host {host[:80]!r} is not this server. {advice}"
            await _refuse(Request(scope, receive), HTTPException(421, sentence), send)
        else:
            await self._inner(scope, receive, send)

    def _is_own_name(self, host: str) -> bool:
        """Return True if a `Host` header, with or without a port, names this server.

        If other machines can reach the server, any IP address is accepted too: an attacker can point a name
        at this server, but not an IP address.
        """
        name = _host_name(host)
        return name in self._names or (not self._is_loopback and _is_ip_address(name))

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        is_upload = _is_upload(request)
        body = _Body(receive, self._room, LONGEST_BODY if is_upload else LONGEST_JSON)
        try:
            self._check_origin(request)
            permissions = self._permissions(request)
            _check_headers(request, body.limit)
            if not await body.read():
                return
            if not is_upload:
                body.check(CALL_MARKS if request.url.path.rstrip("/").endswith("/mcp") else MOST_MARKS)
            answer = _Answer(send, _seconds(request))
            caller = f"{_key(request)} {request.client.host if request.client else ''}"
            async with asyncio.timeout(_seconds(request)):
                large_json_lock = await self._take_slot(caller, is_large_json=body.is_large and not is_upload)
        except BaseException as error:
            body.forget()
            if not isinstance(error, HTTPException | TimeoutError):
                raise
            http_error = error if isinstance(error, HTTPException) else _timeout_error(request)
            if http_error.status_code == 413:
                await body.drop_rest()
            await _refuse(request, http_error, send)
            return
        scope.setdefault("state", {})["permissions"] = permissions
        # The application answers HEAD as GET; uvicorn leaves the body out.
        inner = {**scope, "method": "GET"} if request.method == "HEAD" else scope
        work = asyncio.ensure_future(self._app(inner, body.receive, answer.send))
        work.add_done_callback(lambda _: body.forget())
        work.add_done_callback(lambda _: large_json_lock.close())
        # A client that reads its answer slowly does not hold a slot: the work is done by then.
        answer.started.add_done_callback(lambda _: self._turns.end(caller))
        if await answer.in_time(work):
            await work
        else:  # the work continues, so that a large document is stored before the client sends it again
            self._unanswered.add(work)
            work.add_done_callback(self._unanswered.discard)
            await _refuse(request, _timeout_error(request), send)

    async def _take_slot(self, caller: str, *, is_large_json: bool) -> contextlib.ExitStack:
        """Wait for a slot of the caller and, for a large JSON body, for the lock on such bodies.

        Closing the returned stack releases the lock; `Turns.end` frees the slot.
        """
        with contextlib.ExitStack() as stack:
            if is_large_json:
                await self._large_json.acquire()
                stack.callback(self._large_json.release)
            await self._turns.begin(caller)
            return stack.pop_all()

    def _check_origin(self, request: Request) -> None:
        origin, host = request.headers.get("origin"), request.headers.get("host", "")
        if origin is not None and origin not in self._origins and not _is_same_origin(origin, host):
            advice = "`--cors ORIGIN` allows one origin."
            raise HTTPException(403, f"Pages of {origin[:80]!r} may not ask this server. {advice}")
        if origin is None and request.method not in _SAFE_METHODS and _may_be_form(request):
            advice = "Send any key as `Authorization: Bearer KEY`, which no page can."
            raise HTTPException(
                403, f"This may be the form of a page: it names neither Origin nor key. {advice}"
            )

    def _permissions(self, request: Request) -> Permissions:
        """Return what this caller may do.

        Raises:
            HTTPException: 401 for a missing or wrong key, 403 for a write with a read-only key, 429 for too
                many requests, 503 if the keys cannot be read.
        """
        try:
            tokens = self._tokens()
        except HomeError as error:
            raise HTTPException(503, str(error)) from None
        needs_no_key = self._is_loopback and not tokens
        token = None if needs_no_key else match(_key(request), tokens)
        host = request.client.host if request.client else ""
        if wait := self._rate.wait(f"token {token.name}" if token else f"host {host}"):
            headers = {"Retry-After": str(math.ceil(wait))}
            raise HTTPException(429, "Too many requests from one caller.", headers)
        if needs_no_key:
            return Permissions()
        if token is None:
            sentence = "This key opens nothing here." if _key(request) else "This server needs a key."
            advice = "Send one that `scrubjay token add` made, as `Authorization: Bearer KEY`."
            raise HTTPException(401, f"{sentence} {advice}", {"WWW-Authenticate": 'Bearer realm="scrubjay"'})
        if token.read_only and not _is_read(request):
            raise HTTPException(403, READ_ONLY)
        return token.permissions


class Room:
    """Counts the bytes that are buffered for queued requests."""

    held = 0


class _Body:
    """The body of one request, read before it takes a slot: a slow sender does not block other requests."""

    def __init__(self, receive: Receive, room: Room, limit: int) -> None:
        self._receive, self._room, self.limit = receive, room, limit
        self._data = bytearray()
        self._delivered = 0  # bytes that the application has received
        self._is_forgotten = self._is_whole = False

    async def read(self) -> bool:
        """Read the whole body; return False if the client has disconnected.

        Raises:
            HTTPException: 413 if the body is too long, 503 if too many bytes of other requests are queued.
        """
        more = True
        while more:
            message = await self._receive()
            if message["type"] != "http.request":
                self.forget()
                return False
            self._add(message.get("body", b""))
            more = message.get("more_body", False)
        self._is_whole = True
        return True

    async def drop_rest(self) -> None:
        """Discard the rest of a body that is too long: clients send it all before they read the refusal."""
        remaining, more = LONGEST_BODY, not self._is_whole
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DROP_SECONDS):
                while more and remaining > 0:
                    message = await self._receive()
                    remaining -= len(message.get("body", b""))
                    more = message.get("more_body", False)

    def _add(self, data: bytes) -> None:
        queued_before = self._queued_bytes
        self._data += data
        self._room.held += self._queued_bytes - queued_before
        if len(self._data) > self.limit:
            raise _too_large(self.limit)
        if self._queued_bytes and self._room.held > MOST_HELD:
            headers = {"Retry-After": "1", "Connection": "close"}
            raise HTTPException(503, "Too much is sent here at once. Send it again in a moment.", headers)

    @property
    def _queued_bytes(self) -> int:
        return max(0, len(self._data) - PIECE)

    @property
    def is_large(self) -> bool:
        """Return True if only one body of this size may be processed at a time."""
        return len(self._data) > LARGE

    def check(self, max_marks: int) -> None:
        """Refuse a body that would keep the JSON parser busy for long.

        Raises:
            HTTPException: 413 for more than `max_marks` structural marks, 400 for JSON that is not UTF-8.
        """
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
        self._room.held -= self._queued_bytes
        self._data, self._is_forgotten = bytearray(), True


class _Answer:
    """Passes the application's answer to the client, unless the answer misses its deadline.

    `started` is done when the application has begun to send a body, or has ended.
    """

    def __init__(self, send: Send, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self._send, self._deadline = send, loop.time() + seconds
        self._has_begun = self._is_cut_off = False
        self.started: asyncio.Future[None] = loop.create_future()

    async def send(self, message: Message) -> None:
        """Send a part of the answer."""
        self._has_begun = True
        if self._is_cut_off:
            return
        if message.get("body"):
            self._mark_started()
        await self._send(message)

    def _mark_started(self) -> None:
        if not self.started.done():
            self.started.set_result(None)

    async def in_time(self, work: asyncio.Future[None]) -> bool:
        """Wait until the work is done; return False if it has not begun to answer by the deadline."""
        loop = asyncio.get_running_loop()
        work.add_done_callback(lambda _: self._mark_started())
        try:
            while not work.done() and (self._has_begun or loop.time() < self._deadline):
                timeout = None if self._has_begun else self._deadline - loop.time()
                await asyncio.wait({work}, timeout=timeout)
        except asyncio.CancelledError:
            work.cancel()
            await asyncio.wait({work})
            raise
        self._is_cut_off = not work.done()
        return not self._is_cut_off


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


class Turns:
    """Lets `AT_ONCE` requests of each caller work, and queues up to `WAITING` more, the oldest first.

    So a caller with 600 requests does not delay other callers.
    """

    def __init__(self) -> None:
        self._requests = Counter[str]()  # by caller, how many work or wait
        self._slots: dict[str, asyncio.Semaphore] = {}

    async def begin(self, caller: str) -> None:
        """Wait until a request of this caller may work; call `end` after it.

        Raises:
            HTTPException: 429 if too many requests of this caller are waiting.
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


def _is_same_origin(origin: str, host: str) -> bool:
    """Return True if an `Origin` header names this server itself."""
    return origin.lower() in (f"http://{host.lower()}", f"https://{host.lower()}")


def _is_upload(request: Request) -> bool:
    """Return True if the body contains files, which are parsed in a separate process."""
    return request.headers.get("content-type", "").lower().startswith("multipart/")


def _may_be_form(request: Request) -> bool:
    """Return True if a foreign page may have sent this as a form, in a browser too old to send Origin."""
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    is_cross_site = request.headers.get("sec-fetch-site", "none") not in ("same-origin", "none")
    return is_cross_site or (content_type in _FORMS and not _key(request))


def _host_name(host: str) -> str:
    """Return the name in a Host header without brackets and port, or "" if it is malformed."""
    parts = _HOST.fullmatch(host.strip().lower())
    return (parts[1] or parts[2] or parts[3]) if parts else ""


def _is_ip_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _key(request: Request) -> str:
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else ""


def _check_headers(request: Request, limit: int) -> None:
    """Refuse a body that is larger than `limit` or compressed."""
    if int(request.headers.get("content-length", 0)) > limit:  # uvicorn refuses a header that is not a number
        raise _too_large(limit)
    if request.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise HTTPException(415, "This body is compressed. Send it without Content-Encoding.")


async def _refuse(request: Request, error: HTTPException, send: Send) -> None:
    response = refusal(request, error.status_code, error.detail, error.headers)
    await response(request.scope, request.receive, send)


def _seconds(request: Request) -> float:
    """Return how long a request may take until its answer begins."""
    return MANY_SECONDS if _MANY.search(request.url.path) else CALL_SECONDS


def _timeout_error(request: Request) -> HTTPException:
    seconds = _seconds(request)
    sentence = f"The engine is starting or busy: this request has no answer after {seconds:g} seconds."
    outcome = "" if _is_read(request) else " Its write may or may not have been kept."
    return HTTPException(503, f"{sentence}{outcome} Repeating it is safe.", {"Retry-After": "1"})


def _is_read(request: Request) -> bool:
    if request.method == "POST":
        return _READ_PATHS.search(request.url.path) is not None
    return request.method in _SAFE_METHODS


def _too_large(limit: int) -> HTTPException:
    sentence = f"A request of this kind may have at most {limit:,} bytes. Split what you send."
    return HTTPException(413, sentence, {"Connection": "close"})
