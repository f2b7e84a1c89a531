"""The outermost layer of the HTTP interface: checks headers, keys, sizes and rates before a request gets in.

It gives the application the permissions of the caller.
"""

import asyncio
import contextlib
import ipaddress
import math
import re
import time
from collections.abc import Callable, Sequence

from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Receive, Scope, Send

from scrubjay.errors import HomeError
from scrubjay.http_api.limits import LONGEST_BODY, Answer, Body, BufferedBytes, Rate, Slots
from scrubjay.http_api.options import Address, Options
from scrubjay.http_api.permissions import READ_ONLY, Permissions
from scrubjay.http_api.refusals import refusal
from scrubjay.http_api.tokens import Token, match
from scrubjay.pipe import link
from scrubjay.wire.messages import CALL_LIMIT, CALL_MARKS, MOST_MARKS

LONGEST_JSON = CALL_LIMIT  # bytes: a document of ten million characters of three bytes each
CALL_SECONDS = link.CALL_SECONDS - 1.0  # one second less, because timers fire late while the engine loads
# Requests with many records may take longer: official clients wait 60 s, and send again what was refused.
MANY_SECONDS = 45.0
_MANY = re.compile(
    r"/(batch|bulk|ingest|merge)/?$|^DELETE /(v3/container-tags|ns)/[^/]+(/document|/memories)?/?$"
)
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


class Gateway:
    """Passes requests on to the application, with the permissions of their caller in `request.state`.

    `tokens` returns the current tokens. If there are no tokens and only this machine reaches the address,
    every key is accepted. With `waits`, a request may take as long as it needs.
    """

    def __init__(
        self,
        app: ASGIApp,
        options: Options = _LOCAL,
        tokens: Callable[[], Sequence[Token]] = tuple,
        time: Callable[[], float] = time.monotonic,
        *,
        waits: bool = False,
    ) -> None:
        self._app, self._tokens, self._waits = app, tokens, waits
        self._names = _LOOPBACK_NAMES | {options.address.host, *map(str.lower, options.names)}
        self._origins = frozenset(options.origins)
        self._is_loopback = options.address.is_loopback
        self._rate = Rate(options.per_second, time)
        self._slots = Slots()
        self._buffered = BufferedBytes()
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
        body = Body(receive, self._buffered, LONGEST_BODY if _is_upload(request) else LONGEST_JSON)
        try:
            with contextlib.ExitStack() as on_refusal:
                on_refusal.callback(body.forget)
                self._check_origin(request)
                scope.setdefault("state", {})["permissions"] = self._permissions(request)
                await _read(request, body)
                # Large JSON has slots of its own, because it waits for other large JSON while it holds one.
                size = "large" if _is_large_json(request, body) else ""
                caller = f"{_key(request)} {request.client.host if request.client else ''} {size}"
                seconds = math.inf if self._waits else _seconds(request)
                deadline = asyncio.get_running_loop().time() + seconds
                await self._begin(request, caller, deadline)
                on_refusal.pop_all()
            await self._process(request, body, send, caller, deadline)
        except ClientDisconnect:
            return
        except HTTPException as error:
            if error.status_code == 413:
                await body.drop_rest()
            await _refuse(request, error, send)

    async def _begin(self, request: Request, caller: str, deadline: float) -> None:
        """Wait for a slot of the caller; raises 429 if too many wait already, 503 at the deadline."""
        try:
            async with asyncio.timeout_at(deadline):
                await self._slots.begin(caller)
        except TimeoutError:
            raise _timeout_error(request) from None

    async def _process(self, request: Request, body: Body, send: Send, caller: str, deadline: float) -> None:
        """Let the application answer; raises 503 if it has not begun by the deadline."""
        answer = Answer(send)
        work = asyncio.ensure_future(self._work(request, body, answer))
        work.add_done_callback(lambda _: body.forget())
        work.add_done_callback(lambda _: answer.end())
        # A client that reads its answer slowly does not hold a slot: the work is done by then.
        answer.returned.add_done_callback(lambda _: self._slots.end(caller))
        try:
            await asyncio.wait({answer.begun}, timeout=deadline - asyncio.get_running_loop().time())
        except asyncio.CancelledError:
            work.cancel()
            await asyncio.wait({work})
            raise
        if not answer.begun.done():
            # The work continues, so that a large document is stored before the client sends it again.
            answer.is_cut_off = True
            self._unanswered.add(work)
            work.add_done_callback(self._unanswered.discard)
            raise _timeout_error(request)
        await work

    async def _work(self, request: Request, body: Body, answer: Answer) -> None:
        is_large_json = _is_large_json(request, body)
        # The application answers HEAD as GET; uvicorn leaves the body out.
        scope = {**request.scope, "method": "GET"} if request.method == "HEAD" else request.scope
        async with self._large_json if is_large_json else contextlib.nullcontext():
            await self._app(scope, body.receive, answer.send)

    def _check_origin(self, request: Request) -> None:
        origin, host = request.headers.get("origin"), request.headers.get("host", "").lower()
        own = (f"http://{host}", f"https://{host}")
        if origin is not None and origin not in self._origins and origin.lower() not in own:
            advice = "`--cors ORIGIN` allows one origin."
            raise HTTPException(403, f"Pages of {origin[:80]!r} may not ask this server. {advice}")
        if origin is None and request.method not in _SAFE_METHODS and _may_be_form(request):
            advice = "Send any key as `Authorization: Bearer KEY`, which no page can."
            raise HTTPException(
                403, f"This may be the form of a page: it names neither Origin nor key. {advice}"
            )

    def _permissions(self, request: Request) -> Permissions:
        """Return what this caller may do.

        Raises 401 for a missing or wrong key, 403 for a write with a read-only key, 429 for too many
        requests, 503 if the keys cannot be read.
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


def _is_upload(request: Request) -> bool:
    """Return True if the body contains files, which are parsed in a separate process."""
    return request.headers.get("content-type", "").lower().startswith("multipart/")


def _is_large_json(request: Request, body: Body) -> bool:
    return body.is_large and not _is_upload(request)


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


async def _read(request: Request, body: Body) -> None:
    """Read the body; refuse one that is too large, compressed, or would keep the JSON parser busy."""
    if int(request.headers.get("content-length", 0)) > body.limit:  # uvicorn refuses one that is no number
        raise body.too_large()
    if request.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise HTTPException(415, "This body is compressed. Send it without Content-Encoding.")
    await body.read()
    if not _is_upload(request):
        body.check_json(CALL_MARKS if request.url.path.rstrip("/").endswith("/mcp") else MOST_MARKS)


async def _refuse(request: Request, error: HTTPException, send: Send) -> None:
    response = refusal(request, error.status_code, error.detail, error.headers)
    await response(request.scope, request.receive, send)


def _seconds(request: Request) -> float:
    """Return how long a request may take until its answer begins."""
    return MANY_SECONDS if _MANY.search(f"{request.method} {request.url.path}") else CALL_SECONDS


def _timeout_error(request: Request) -> HTTPException:
    seconds = _seconds(request)
    sentence = f"The engine is starting or busy: this request has no answer after {seconds:g} seconds."
    outcome = "" if _is_read(request) else " Its write may or may not have been kept."
    return HTTPException(503, f"{sentence}{outcome} Repeating it is safe.", {"Retry-After": "1"})


def _is_read(request: Request) -> bool:
    if request.method == "POST":
        return _READ_PATHS.search(request.url.path) is not None
    return request.method in _SAFE_METHODS
