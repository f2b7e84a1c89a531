"""The outermost layer of the HTTP face, which decides from headers and sizes which requests are answered.

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
from scrubjay.wire.messages import CALL_LIMIT, CALL_MARKS, LARGE, MOST_MARKS, NOT_UTF_8, crowded, is_crowded

LONGEST_BODY = 55_000_000  # bytes: a file of 50 MB and the multipart form around it
LONGEST_JSON = CALL_LIMIT  # bytes: a document of ten million characters of three bytes each
BURST_SECONDS = 2.0  # in which a caller may spend its allowance at once
CALL_SECONDS = link.CALL_SECONDS - 1.0  # this process also loads the engine, so its timers fire late
AT_ONCE = session.AT_ONCE  # requests of one caller that work at once
WAITING = 256  # requests of one caller that wait for their turn
DROP_SECONDS = 5.0  # to read and discard the rest of a body that is too long
# Bytes of waiting bodies, without the first PIECE of each.
MOST_HELD = 4 * LONGEST_BODY
PIECE = 65_536  # bytes of a body that the application gets at once
_LOCAL = Options(Address("127.0.0.1", 0))
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
# Headers that pages of other origins may read too.
_EXPOSED = ("Retry-After", "WWW-Authenticate", "Mcp-Session-Id")
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
# Reads that are POST because of their bodies.
_READS = re.compile(r"/(search|profile|profile/buckets|list|list/[a-z]+|documents/documents|mcp)/?$")


# A host as in RFC 9110, without a user: an IP address in brackets, a name, or a bare IPv6 address.
_HOST = re.compile(
    r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::[0-9]{1,5})?|([0-9a-f]*:[0-9a-f.]*+:[0-9a-f:.]*)"
)
# A web form can send these to any address without a preflight, but cannot add a header.
_FORMS = ("multipart/form-data", "application/x-www-form-urlencoded", "text/plain")


class Door:
    """Passes requests on to the application, with the permissions of their caller in `request.state`.

    `tokens` returns the current tokens. Without tokens, and if only this machine reaches the address, every
    key is accepted.
    """

    def __init__(
        self,
        app: ASGIApp,
        options: Options = _LOCAL,
        tokens: Callable[[], Sequence[Token]] = tuple,
        time: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app, self._tokens = app, tokens
        own = options.address.host, *(name.lower() for name in options.names)
        self._names = _LOOPBACK_NAMES.union(own)
        self._origins = frozenset(options.origins)
        self._open = options.address.is_loopback
        self._rate = Rate(options.per_second, time)
        self._turns = Turns()
        self._room = Room()
        self._large = asyncio.Lock()  # held by the request whose large JSON is being processed
        self._unanswered: set[asyncio.Future[None]] = set()  # work that missed its deadline and goes on
        self._inner: ASGIApp = self._let_in
        if options.origins:
            self._inner = CORSMiddleware(
                self._let_in,
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

        If other machines reach it, any IP address does too: only names can be pointed elsewhere.
        """
        name = _host_name(host)
        return name in self._names or (not self._open and _is_number(name))

    async def _let_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        files = _is_upload(request)
        body = _Body(receive, self._room, LONGEST_BODY if files else LONGEST_JSON)
        try:
            self._check_origin(request)
            permissions = self._permissions(request)
            _check_size(request, body.limit)
            if not await body.read():
                return
            if not files:
                body.check(CALL_MARKS if request.url.path.rstrip("/").endswith("/mcp") else MOST_MARKS)
            answer = _Answer(send, CALL_SECONDS)
            caller = f"{_key(request)} {request.client.host if request.client else ''}"
            async with asyncio.timeout(CALL_SECONDS):
                held = await self._begin(caller, alone=body.is_large and not files)
        except BaseException as error:
            body.forget()
            if not isinstance(error, HTTPException | TimeoutError):
                raise
            refused = error if isinstance(error, HTTPException) else _late(request)
            if refused.status_code == 413:
                await body.drop_rest()
            await _refuse(request, refused, send)
            return
        scope.setdefault("state", {})["permissions"] = permissions
        work = asyncio.ensure_future(self._app(scope, body.receive, answer.send))
        work.add_done_callback(lambda _: body.forget())
        work.add_done_callback(lambda _: held.close())
        # A client that reads its answer slowly does not hold a slot: the work is done by then.
        answer.given.add_done_callback(lambda _: self._turns.end(caller))
        if await answer.in_time(work):
            await work
        else:  # the work continues, so that a large document is stored before it is sent again
            self._unanswered.add(work)
            work.add_done_callback(self._unanswered.discard)
            await _refuse(request, _late(request), send)

    async def _begin(self, caller: str, *, alone: bool) -> contextlib.ExitStack:
        """Wait for a slot of the caller and, with `alone`, until no other large JSON is being processed.

        The returned stack releases the latter; `Turns.end` ends the slot.
        """
        with contextlib.ExitStack() as stack:
            if alone:
                await self._large.acquire()
                stack.callback(self._large.release)
            await self._turns.begin(caller)
            return stack.pop_all()

    def _check_origin(self, request: Request) -> None:
        origin, host = request.headers.get("origin"), request.headers.get("host", "")
        if origin is not None and origin not in self._origins and not _is_own(origin, host):
            advice = "`--cors ORIGIN` allows one origin."
            raise HTTPException(403, f"Pages of {origin[:80]!r} may not ask this server. {advice}")
        if origin is None and request.method not in _SAFE and _may_be_a_form(request):
            advice = "Send any key as `Authorization: Bearer KEY`, which no page can."
            raise HTTPException(
                403, f"This may be the form of a page: it names neither Origin nor key. {advice}"
            )

    def _permissions(self, request: Request) -> Permissions:
        """Return what this caller may do.

        Raises:
            HTTPException: 401 for no key or a wrong one, 403 for a change with a key that may only read, 429
                for too many requests.
        """
        try:
            tokens = self._tokens()
        except HomeError as error:
            raise HTTPException(503, str(error)) from None
        needs_no_key = self._open and not tokens
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
        if token.read_only and not _reads(request):
            raise HTTPException(403, READ_ONLY)
        return token.permissions


class Room:
    """Bytes buffered for requests in the queue."""

    held = 0


class _Body:
    """The body of one request, read before it takes a slot: a slow sender does not block other requests."""

    def __init__(self, receive: Receive, room: Room, limit: int) -> None:
        self._receive, self._room, self.limit = receive, room, limit
        self._data = bytearray()
        self._given = 0  # bytes that the application has
        self._is_over = self._is_whole = False

    async def read(self) -> bool:
        """Read all of it; return False if the client has disconnected.

        Raises:
            HTTPException: 413 for one that is too long, 503 if too many bytes of other requests wait.
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
        """Read the rest of a body that is too long: clients read the refusal only after they have sent it."""
        left, more = LONGEST_BODY, not self._is_whole
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DROP_SECONDS):
                while more and left > 0:
                    message = await self._receive()
                    left -= len(message.get("body", b""))
                    more = message.get("more_body", False)

    def _add(self, data: bytes) -> None:
        before = self._counted
        self._data += data
        self._room.held += self._counted - before
        if len(self._data) > self.limit:
            raise _too_large(self.limit)
        if self._counted and self._room.held > MOST_HELD:
            headers = {"Retry-After": "1", "Connection": "close"}
            raise HTTPException(503, "Too much is sent here at once. Send it again in a moment.", headers)

    @property
    def _counted(self) -> int:
        return max(0, len(self._data) - PIECE)

    @property
    def is_large(self) -> bool:
        """Return True if only one body of this size may be processed at a time."""
        return len(self._data) > LARGE

    def check(self, most: int) -> None:
        """Refuse a body that would keep the JSON parser busy for long.

        Raises:
            HTTPException: 413 for more than `most` marks, 400 for JSON that is not UTF-8.
        """
        if b"\x00" in self._data:
            raise HTTPException(400, NOT_UTF_8)
        if is_crowded(self._data, most):
            raise HTTPException(413, crowded(most))  # a status that official clients do not retry

    async def receive(self) -> Message:
        """Return the next piece; after the last one, wait for the client to disconnect."""
        if self._is_over:
            return await self._receive()
        await asyncio.sleep(0)  # let other requests run between the pieces
        piece = bytes(self._data[self._given : self._given + PIECE])
        self._given += len(piece)
        if not (more := self._given < len(self._data)):
            self.forget()
        return {"type": "http.request", "body": piece, "more_body": more}

    def forget(self) -> None:
        """Free its memory."""
        self._room.held -= self._counted
        self._data, self._is_over = bytearray(), True


class _Answer:
    """The answer of the application to one request, unless it misses its deadline.

    `given` is done when the application has begun to send a body, or has ended.
    """

    def __init__(self, send: Send, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self._send, self._due = send, loop.time() + seconds
        self._begun = self._over = False
        self.given: asyncio.Future[None] = loop.create_future()

    async def send(self, message: Message) -> None:
        """Send a part of the answer."""
        self._begun = True
        if self._over:
            return
        if message.get("body"):
            self._give()
        await self._send(message)

    def _give(self) -> None:
        if not self.given.done():
            self.given.set_result(None)

    async def in_time(self, work: asyncio.Future[None]) -> bool:
        """Wait until the work is done; return False if it has not begun to answer by the deadline."""
        loop = asyncio.get_running_loop()
        work.add_done_callback(lambda _: self._give())
        try:
            while not work.done() and (self._begun or loop.time() < self._due):
                await asyncio.wait({work}, timeout=None if self._begun else self._due - loop.time())
        except asyncio.CancelledError:
            work.cancel()
            await asyncio.wait({work})
            raise
        self._over = not work.done()
        return not self._over


class Rate:
    """The rate limit of each caller; `per_second` 0 means no limit, `time` is a monotonic clock."""

    def __init__(self, per_second: float, time: Callable[[], float]) -> None:
        self._most, self._time = max(1.0, per_second * BURST_SECONDS) if per_second else math.inf, time
        self._seconds = self._most / per_second if per_second else math.inf
        self._since, self._requests = time(), Counter[str]()

    def wait(self, caller: str) -> float:
        """Count a request of the caller; return the seconds to wait first, or 0.0."""
        if self._most == math.inf:  # callers are not counted: anyone may invent a million keys
            return 0.0
        now = self._time()
        if now - self._since >= self._seconds:
            self._since = now
            self._requests.clear()
        self._requests[caller] += 1
        return self._since + self._seconds - now if self._requests[caller] > self._most else 0.0


class Turns:
    """Lets `AT_ONCE` requests of each caller work, while up to `WAITING` more wait, the oldest first.

    So a caller with 600 requests does not keep another one waiting.
    """

    def __init__(self) -> None:
        self._requests = Counter[str]()  # of each caller, that work or wait
        self._slots: dict[str, asyncio.Semaphore] = {}

    async def begin(self, caller: str) -> None:
        """Wait until a request of this caller may work; `end` must follow.

        Raises:
            HTTPException: 429 if too many requests of this caller wait already.
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


def _is_own(origin: str, host: str) -> bool:
    """Return True if an `Origin` header names a page of this server itself."""
    return origin.lower() in (f"http://{host.lower()}", f"https://{host.lower()}")


def _is_upload(request: Request) -> bool:
    """Return True if the body contains files, which are parsed in a process of their own."""
    return request.headers.get("content-type", "").lower().startswith("multipart/")


def _may_be_a_form(request: Request) -> bool:
    """Return True if an old browser, which sends no Origin, may have sent this for a foreign page."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    elsewhere = request.headers.get("sec-fetch-site", "none") not in ("same-origin", "none")
    return elsewhere or (kind in _FORMS and not _key(request))


def _host_name(host: str) -> str:
    """Return the name in a Host header without brackets and port; an empty one if it is malformed."""
    match = _HOST.fullmatch(host.strip().lower())
    return (match[1] or match[2] or match[3]) if match else ""


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _key(request: Request) -> str:
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else ""


def _check_size(request: Request, limit: int) -> None:
    if int(request.headers.get("content-length", 0)) > limit:  # uvicorn refuses one that is not a number
        raise _too_large(limit)


async def _refuse(request: Request, error: HTTPException, send: Send) -> None:
    answer = refusal(request, error.status_code, error.detail, error.headers)
    await answer(request.scope, request.receive, send)


def _late(request: Request) -> HTTPException:
    sentence = f"The engine is starting or busy: this request has no answer after {CALL_SECONDS:g} seconds."
    wrote = "" if _reads(request) else " Its write may or may not have been kept."
    return HTTPException(503, f"{sentence}{wrote} Repeating it is safe.", {"Retry-After": "1"})


def _reads(request: Request) -> bool:
    by_post = request.method == "POST" and _READS.search(request.url.path) is not None
    return request.method in _SAFE or by_post


def _too_large(limit: int) -> HTTPException:
    sentence = f"A request of this kind may have at most {limit:,} bytes. Split what you send."
    return HTTPException(413, sentence, {"Connection": "close"})
