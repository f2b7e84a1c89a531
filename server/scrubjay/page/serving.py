"""Serves the page to browsers that opened a link: its files, the calls of `page.calls`, and news of changes.

It uses the `Gateway` of the HTTP interface, on its own port. A link works once: the key in its fragment,
which browsers do not send by themselves, is exchanged for a cookie. The content security policy ensures that
nothing comes from another origin, that there is no inline script or style, and that no text becomes markup.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from urllib.parse import quote
from uuid import uuid4

from pydantic import TypeAdapter
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.datastructures import UploadFile
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from scrubjay.engine.core import Core
from scrubjay.engine.engine import Engine
from scrubjay.engine.verbs.documents import document_in
from scrubjay.errors import InputError, ScrubjayError
from scrubjay.home.files import parse_json
from scrubjay.home.scopes import USER_SCOPE, is_scope, own_names
from scrubjay.http_api.answering import answering
from scrubjay.http_api.gateway import Gateway
from scrubjay.http_api.options import Address, Options
from scrubjay.http_api.refusals import status_of
from scrubjay.models.records import AnyRecord, derived_id
from scrubjay.models.requests import parse
from scrubjay.page.calls import CALLS, SOURCE, Call, Hosts

log = logging.getLogger("scrubjay.page")

LINK_SECONDS = 120.0  # how long a link is valid
BEAT_SECONDS = 2.0  # between two signs of life to an open page, and between two checks of the settings
MOST_NEWS = 1_000  # events queued for one page; more are dropped
NEWS = {"id", "scope", "session_id", "turn"}  # fields of a record in its event
COOKIE = "scrubjay"
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
# Browsers must not cache memories. They may cache the page itself, because each engine has its own path.
_NO_CACHE, _CACHED = {"cache-control": "no-store"}, {"cache-control": "private, max-age=604800, immutable"}
_STATIC = os.path.join(os.path.dirname(__file__), "static")
_MEDIA_TYPES = {".css": "text/css", ".html": "text/html", ".js": "text/javascript", ".svg": "image/svg+xml"}
_ANY_VALUE = TypeAdapter(object)
Answering = Callable[[Request], Awaitable[Response]]


class Browsers:
    """The browsers with access: those that opened a valid link. `time` is a monotonic clock.

    Keys and cookies have 256 random bits, and are forgotten when the engine ends. They are looked up by their
    hashes, so the time of a look-up does not show how much of a guess is right.
    """

    def __init__(self, time: Callable[[], float] = time.monotonic) -> None:
        self._time = time
        self._keys: dict[str, float] = {}  # key -> time when it expires
        self._cookies: set[str] = set()

    def invite(self) -> str:
        """Return the key of a new link."""
        key, now = secrets.token_urlsafe(32), self._time()
        valid = {old: expiry for old, expiry in self._keys.items() if expiry >= now}
        self._keys = {**valid, key: now + LINK_SECONDS}
        return key

    def admit(self, key: str) -> str | None:
        """Return a cookie for the browser that sends this key; None if the key was used or has expired."""
        if self._keys.pop(key, -1.0) < self._time():
            return None
        cookie = secrets.token_urlsafe(32)
        self._cookies.add(cookie)
        return cookie

    def is_known(self, cookie: str) -> bool:
        """Return True if a browser with this cookie opened a link."""
        return cookie in self._cookies


class Page:
    """The page of one engine; an ASGI application. `hosts` returns the state of the hosts on this machine."""

    def __init__(self, engine: Engine, hosts: Hosts) -> None:
        self._engine, self._hosts, self._browsers = engine, hosts, Browsers()
        # Cookies are shared between ports; the random path keeps them from other programs on this machine.
        self.path = f"/{secrets.token_urlsafe(12)}/"
        self._queues: set[asyncio.Queue[str]] = set()
        self._closing = False
        self._app: ASGIApp = Starlette(
            routes=[
                Route(self.path, self._file),
                Route(f"{self.path}enter", self._enter, methods=["POST"]),
                Route(f"{self.path}news", self._guarded(self._news)),
                Route(f"{self.path}export", self._guarded(self._export)),
                Route(f"{self.path}file", self._guarded(self._add_file), methods=["POST"]),
                Route(f"{self.path}call/{{name}}", self._guarded(self._call), methods=["POST"]),
                Route(f"{self.path}{{name}}", self._file),
            ]
        )

    @property
    def is_watched(self) -> bool:
        """Return True if a browser has the page open."""
        return bool(self._queues)

    def invite(self) -> str:
        """Return the path and fragment of a new link."""
        return f"{self.path}#key={self._browsers.invite()}"

    def close(self) -> None:
        """Tell every open page that the engine ends."""
        self._closing = True
        for queue in self._queues:
            if queue.full():  # a page that does not read its events
                queue.get_nowait()
            queue.put_nowait(": closing\n\n")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; every answer has `HEADERS` and a cache-control header."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                has_cache_control = any(name == b"cache-control" for name, _ in message["headers"])
                headers = HEADERS if has_cache_control else HEADERS | _NO_CACHE
                message["headers"] += [(name.encode(), value.encode()) for name, value in headers.items()]
            await send(message)

        with contextlib.suppress(ClientDisconnect):  # the page cancels a search when the user types more
            await self._app(scope, receive, with_headers)

    async def _file(self, request: Request) -> Response:
        name = request.path_params.get("name", "index.html")
        headers = _CACHED if "name" in request.path_params else None
        if name not in os.listdir(_STATIC):
            return _refusal(404, "Not found.")
        with open(os.path.join(_STATIC, name), "rb") as file:
            return Response(file.read(), headers=headers, media_type=_MEDIA_TYPES[os.path.splitext(name)[1]])

    async def _enter(self, request: Request) -> Response:
        """Exchange the key of a link for a cookie, and answer the call that comes with the key.

        If the call were a separate request, a browser would show the first sessions 30 ms later.
        """
        body = await _json_object(request)
        key, name, params = body.get("key"), body.get("call"), body.get("params")
        cookie = self._browsers.admit(key) if isinstance(key, str) else None
        if cookie is None:
            return _refusal(403, "This link was already used, or has expired. Run `scrubjay open` again.")
        answer = await self._answer(str(name), params if isinstance(params, dict) else {})
        answer.set_cookie(COOKIE, cookie, path=self.path, httponly=True, samesite="strict")
        return answer

    async def _call(self, request: Request) -> Response:
        return await self._answer(request.path_params["name"], await _json_object(request))

    async def _answer(self, name: str, params: dict[str, object]) -> Response:
        if name not in CALLS:
            return _refusal(404, f"This engine has no call {name[:80]!r}. It may be older than the page.")
        kind, work = CALLS[name]

        async def run(core: Core) -> object:
            return await work(
                Call(self._engine, core, self._report_progress, self._hosts), parse(kind, params)
            )

        return await self._run(name, run)

    async def _add_file(self, request: Request) -> Response:
        """Add a file that was dropped on the page as a document of a project or of the user's own scope."""
        name = request.query_params.get("name", "file")
        scope = request.query_params.get("scope") or USER_SCOPE
        # A file comes in a form, because the gateway checks every other body as JSON.
        async with request.form() as form:
            file = form.get("file")
            data = await file.read() if isinstance(file, UploadFile) else None

        async def add(core: Core) -> object:
            if not is_scope(scope):
                raise InputError(f"scope = {scope[:80]!r} is not a project.")
            if data is None:
                raise InputError("file is missing: send a form with a file.")
            # Dropping a file again replaces its document. Its paragraphs do not become facts.
            values = {"document_id": derived_id("doc", scope, "dropped", name), "task_type": None}
            text = await asyncio.to_thread(document_in, data, name, scope, values, may_fail=False)
            added = await core.documents.add(text, scope=scope, source=SOURCE)
            return {"id": added.id, "status": added.status, "changed": added.changed}

        return await self._run("A file", add)

    async def _export(self, request: Request) -> Response:
        core, scope = await self._engine.core(), request.query_params.get("scope")
        path = os.path.join(self._engine.home.scratch, f"export-{uuid4().hex}")
        os.makedirs(self._engine.home.scratch, 0o700, exist_ok=True)
        try:
            await core.exchange.export(path, scope or None, lambda done, total, what: None)
        except (ScrubjayError, OSError) as error:
            return _refusal(503, str(error))
        name = f"scrubjay-{self._engine.clock():%Y-%m-%d}.jsonl"
        delete = BackgroundTask(os.unlink, path)
        return FileResponse(path, media_type="application/jsonl", filename=name, background=delete)

    async def _news(self, request: Request) -> Response:
        core = await self._engine.core()
        return StreamingResponse(self._stream(core), media_type="text/event-stream")

    async def _stream(self, core: Core) -> AsyncIterator[str]:
        """Yield an event for each write and for new settings, until the page is closed or the engine ends."""
        settings = self._engine.settings
        queue: asyncio.Queue[str] = asyncio.Queue(MOST_NEWS)

        def report(record: AnyRecord) -> None:
            with contextlib.suppress(asyncio.QueueFull):
                kind, values = type(record).__name__.lower(), record.model_dump(include=NEWS)
                queue.put_nowait(_event("record", {"kind": kind, **values}))

        self._queues.add(queue)
        core.listeners.append(report)
        try:
            yield _event("hello", {"version": self._engine.facts()["version"]})
            while not self._closing:
                if settings != self._engine.settings:
                    settings = self._engine.settings
                    yield _event("settings", {})
                message = ": still here\n\n"
                with contextlib.suppress(TimeoutError):
                    message = await asyncio.wait_for(queue.get(), BEAT_SECONDS)
                yield message
            yield _event("end", {})
        finally:
            core.listeners.remove(report)
            self._queues.discard(queue)

    def _report_progress(self, done: int, total: int, what: str = "") -> None:
        for queue in self._queues:
            with contextlib.suppress(asyncio.QueueFull):
                queue.put_nowait(_event("progress", {"done": done, "total": total, "what": what}))

    def _guarded(self, answer: Answering) -> Answering:
        """Return a function that answers only browsers with an opened link, and no foreign pages."""

        async def guarded(request: Request) -> Response:
            if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
                return _refusal(403, "Requests from other pages are refused.")
            if not self._browsers.is_known(request.cookies.get(COOKIE, "")):
                return _refusal(401, "This browser has not opened a link. Run `scrubjay open`.")
            return await answer(request)

        return guarded

    async def _run(self, name: str, work: Callable[[Core], Awaitable[object]]) -> Response:
        try:
            core = await self._engine.core()
            core.note_request()
            answer = await work(core)
        except ScrubjayError as error:
            return _refusal(status_of(error), str(error))
        except OSError as error:
            return _refusal(503, str(error))
        except Exception as error:  # last resort: the user sees a sentence, and the page stays
            return _refusal(500, self._engine.report_bug(name, error))
        names = {"x-project-names": quote(json.dumps(own))} if (own := own_names()) else {}
        return Response(_ANY_VALUE.dump_json(answer), media_type="application/json", headers=names)


@contextlib.asynccontextmanager
async def serving(engine: Engine, hosts: Hosts = list) -> AsyncIterator[tuple[Page, str]]:
    """Serve the page of an engine on a free port until the block ends; yield the page and its origin."""
    page = Page(engine, hosts)
    options, listening = Options(Address("127.0.0.1", 0)).bind()
    with contextlib.closing(listening):
        # A browser waits: to build the index again or to export a large memory takes minutes.
        async with answering(Gateway(page, options, waits=True), listening):
            log.info("the page is served at port %d", options.address.port)
            try:
                yield page, options.address.url
            finally:
                page.close()


def _event(name: str, values: dict[str, object]) -> str:
    return f"event: {name}\ndata: {json.dumps(values)}\n\n"


async def _json_object(request: Request) -> dict[str, object]:
    try:
        value = parse_json(await request.body())
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {}


def _refusal(status: int, sentence: str) -> Response:
    return JSONResponse({"error": sentence}, status)
