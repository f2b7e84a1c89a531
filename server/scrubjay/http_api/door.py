"""Who may in: the outermost layer of the HTTP face. Looks at the headers and the size of every request, whatever its route, and gives the
application the permissions of its caller. Does not know what is asked.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Sequence

from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from scrubjay.errors import HomeError
from scrubjay.http_api.conditions import Address, Conditions, Hosts, Rate, is_own
from scrubjay.http_api.permissions import Permissions
from scrubjay.http_api.refusals import refusal
from scrubjay.http_api.tokens import Token, match

LONGEST_BODY = 55_000_000  # bytes: a file of 50 MB and what a multipart form wraps it in
READ_ONLY = "This token may only read. Write with another one."
_HERE = Conditions(Address("127.0.0.1", 0))
_EXPOSED = (
    "Retry-After",
    "WWW-Authenticate",
)  # what a page of another origin may read beside the usual headers
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_READS = re.compile(
    r"/(search|profile|profile/buckets|list|list/[a-z]+|documents/documents|mcp)/?$"
)  # POST because of their bodies


class Door:
    """Lets requests through to the application with the permissions of their caller in `request.state.permissions`.

    `tokens` gives those in force now; where there are none, and the address is of this machine alone, every key opens.
    """

    def __init__(
        self,
        app: ASGIApp,
        conditions: Conditions = _HERE,
        tokens: Callable[[], Sequence[Token]] = tuple,
        time: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app, self._tokens = app, tokens
        self._hosts = Hosts(conditions.address, conditions.names)
        self._origins = frozenset(conditions.origins)
        self._open = conditions.address.is_loopback
        self._rate = Rate(conditions.per_second, time)
        self._inner: ASGIApp = self._let_in
        if conditions.origins:
            self._inner = CORSMiddleware(
                self._let_in,
                allow_origins=conditions.origins,
                allow_methods=["*"],
                allow_headers=["*"],
                expose_headers=_EXPOSED,
            )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        elif scope["type"] != "http":
            await self._app(scope, receive, send)
        elif not self._hosts.answers(host := Request(scope).headers.get("host", "")):
            sentence = f"Host {host[:80]!r} is not this server. Ask it by its address, or start it with `--allow-host NAME`."
            await refusal(Request(scope), 421, sentence)(scope, receive, send)
        else:
            await self._inner(
                scope, receive, send
            )  # the host before all: CORS would answer a preflight without asking us

    async def _let_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        try:
            self._origin(request)
            permissions = self._permissions(request)
            _size(request)
        except HTTPException as error:
            await refusal(request, error.status_code, error.detail, error.headers)(scope, receive, send)
            return
        scope.setdefault("state", {})["permissions"] = permissions
        await self._app(scope, _counted(receive), send)

    def _origin(self, request: Request) -> None:
        origin = request.headers.get("origin")
        if (
            origin is not None
            and origin not in self._origins
            and not is_own(origin, request.headers.get("host", ""))
        ):
            raise HTTPException(
                403,
                f"Pages of {origin[:80]!r} may not ask this server. `--cors ORIGIN` lets those of one origin in.",
            )

    def _permissions(self, request: Request) -> Permissions:
        """What this caller may do.

        Raises:
            HTTPException: 401 for no key or a wrong one, 403 for a change with a key that may only read, 429 for too many requests.
        """
        try:
            tokens = self._tokens()
        except HomeError as error:
            raise HTTPException(503, str(error)) from None
        free = self._open and not tokens
        token = None if free else match(_key(request), tokens)
        caller = request.client.host if request.client else ""
        if wait := self._rate.wait(f"token {token.name}" if token else f"host {caller}"):
            raise HTTPException(
                429, "Too many requests from one caller.", {"Retry-After": str(math.ceil(wait))}
            )
        if free:
            return Permissions()
        if token is None:
            sentence = "This key opens nothing here." if _key(request) else "This server needs a key."
            advice = "Send one that `scrubjay token add` made, as `Authorization: Bearer KEY`."
            raise HTTPException(401, f"{sentence} {advice}", {"WWW-Authenticate": 'Bearer realm="scrubjay"'})
        if (
            token.read_only
            and request.method not in _SAFE
            and not (request.method == "POST" and _READS.search(request.url.path))
        ):
            raise HTTPException(403, READ_ONLY)
        return token.permissions


def _key(request: Request) -> str:
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else ""


def _size(request: Request) -> None:
    length = request.headers.get("content-length", "0")
    if not (length.isascii() and length.isdigit()):
        raise HTTPException(400, f"Content-Length {length[:40]!r} is no number of bytes.")
    if len(length) > 20 or int(length) > LONGEST_BODY:
        raise _too_large()


def _counted(receive: Receive) -> Receive:
    """A body as it comes, until it is too long; one in chunks does not say its length before."""
    read = 0

    async def counted() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > LONGEST_BODY:
            raise _too_large()
        return message

    return counted


def _too_large() -> HTTPException:
    return HTTPException(
        413,
        f"A request may have at most {LONGEST_BODY:,} bytes. Split what you send.",
        {"Connection": "close"},
    )
