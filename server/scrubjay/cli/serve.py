"""`scrubjay serve`, the composition root: takes the home's lock before it imports anything heavy."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import importlib
import logging
import os
import shutil
import socket
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from functools import cache, partial
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from types import TracebackType
from typing import TYPE_CHECKING, Any

from scrubjay.home.files import open_log
from scrubjay.home.paths import Home, open_home
from scrubjay.wire.lock import FileLock, take

if TYPE_CHECKING:
    from mcp.server import Server

    from scrubjay.engine.engine import Engine
    from scrubjay.http_api.options import Options
    from scrubjay.page.serving import Page

SMALL_ENVIRONMENT = {
    "LANCEDB_LOG": "error",  # otherwise LanceDB logs a warning for each search of a query
    "LANCE_CPU_THREADS": "2",
    "LANCE_IO_THREADS": "4",
    # Arrow's own allocator keeps 20-45 MB in addition to the C library's.
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    # rows read at once; a compaction of 30,000 passages peaks 40-60 MB lower than with 8,192
    "LANCE_DEFAULT_BATCH_SIZE": "512",
    "OMP_NUM_THREADS": "1",  # sentences are embedded one at a time, so more threads only compete
    "OPENBLAS_NUM_THREADS": "1",
}
# Settings of glibc, each with its number in malloc.h and its value.
GLIBC = {
    # 20,000 chunks peak at 836 MB with an arena for each thread, at 579 MB with two arenas, and at 369 MB if
    # all of the above settings are added.
    "MALLOC_ARENA_MAX": (-8, 2),
    # A block of at least this size is mapped separately, and returned to the system when it is freed. By
    # default this limit grows to the size of the largest freed block. Then large blocks leave gaps in the
    # heap, and 10,000 turns peak 20 to 50 MB higher.
    "MALLOC_MMAP_THRESHOLD_": (-3, 4 << 20),
}


# Starts to carry a client's lines, and calls its argument when that client has left.
StartClient = Callable[[Callable[[], None]], object]
Listening = socket.socket | None


def serve(root: str, *, auto: bool, client: StartClient | None = None, http: Options | None = None) -> int:
    """Run the engine of a home until it is idle (auto), stopped, or replaced; return the exit code.

    `client` is this process's own client if the engine is in a pipe (`stdio --in-process`); the engine ends
    when that client leaves. `http` is the address and the rules of the HTTP interface, if any. Raises
    HomeError if the home cannot be used, EngineError if another engine serves this home, or another program
    listens at `http`, and InputError if other machines could connect without a token.
    """
    home = open_home(root)
    if http is not None:  # refuse an unsafe address before a running engine is asked to make room
        from scrubjay.http_api.tokens import load

        http.check(len(load(home)) + (http.token is not None))
    started_by_hand = not auto and client is None
    lock = _take_over(home) if started_by_hand else take(home.engine_lock)
    listening = None
    try:
        if http is not None:
            http, listening = http.bind()
        if started_by_hand:
            log = os.path.join(home.log, "engine.log")
            print(f"Scrubjay serves {home.root}; Ctrl-C ends it. The log is {log}.", file=sys.stderr)
        os.chdir(home.root)
        os.umask(0o077)
        stay_small()
        _log_to_file(home, to_terminal=started_by_hand)
        _use_own_scratch(home)
        import anyio

        anyio.run(_serve, home, lock, auto, client, http, listening)
    finally:
        if listening is not None:
            listening.close()
        lock.release()
    _leave_threads()
    return 0


def _leave_threads() -> None:
    """End the process now if a thread is still loading a model; everything is on disk.

    At exit, Python would stop such a thread in native code, which aborts the process (code -6).
    """
    if any(thread.daemon for thread in threading.enumerate()):
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def stay_small() -> None:
    """Limit this process's memory and threads; call it before heavy imports, which read these settings.

    The user's own settings take precedence.
    """
    for name, value in SMALL_ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:  # musl has neither mallopt nor arenas
        for name, (number, size) in GLIBC.items():
            if name not in os.environ:
                mallopt(number, size)


def _use_own_scratch(home: Home) -> None:
    """Keep LanceDB's temporary files in the home, because a client's temporary folder may vanish."""
    if not os.path.isdir(home.scratch) and os.path.lexists(home.scratch):
        os.unlink(home.scratch)
    os.makedirs(home.scratch, 0o700, exist_ok=True)  # the folder stays: a full disk may refuse a new one
    for entry in os.scandir(home.scratch):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            os.unlink(entry.path)
    for name in ("TMPDIR", "TEMP", "TMP"):  # the first is for POSIX systems, the others for Windows
        os.environ[name] = home.scratch
    tempfile.tempdir = None  # Python's cached result


def _take_over(home: Home) -> FileLock:
    """Take the lock for an engine started by hand; an engine that a client started makes room for it."""
    from scrubjay.pipe.reach import take_over
    from scrubjay.wire.hello import hello_from, working_dir

    return take_over(home, hello_from("cli", os.environ, working_dir(), os.getpid()))


async def _serve(
    home: Home, lock: FileLock, auto: bool, client: StartClient | None, http: Options | None, sock: Listening
) -> None:
    from scrubjay.engine import control
    from scrubjay.engine.engine import Engine
    from scrubjay.engine.process.lifetime import Lifetime
    from scrubjay.home.settings import idle_minutes
    from scrubjay.mcp_server.face import serve_pipe

    engine = Engine(home, store=None if auto or client is not None else os.environ.get("SCRUBJAY_STORE"))
    page = _LatePage(engine)
    life = Lifetime(
        home,
        lock,
        auto=auto,
        idle_seconds=idle_minutes(home.config) * 60,
        busy=lambda: engine.busy or page.is_watched,
        ready=lambda: engine.ready,
        http=None if http is None else http.address.url,
    )
    sdk_server = cache(partial(_sdk_server, engine))
    faces = {"pipe": partial(serve_pipe, engine, sdk_server), "hook": partial(control.serve_hook, engine)}
    faces["cli"] = partial(control.serve_cli, engine, life.finish, page.link)

    async def load() -> None:
        if http is not None:
            print(f"HTTP: {http.address.url}, MCP: {http.address.url}/mcp", file=sys.stderr, flush=True)
        if client is not None:
            client(lambda: life.finish("its own client left"))
        await engine.load()
        gc.freeze()  # garbage collection in 100,000 lasting objects took 100 ms of a search

    try:
        async with _http(engine, sdk_server, sock, http), page:
            await life.serve(faces, load)
    finally:
        await engine.close()


def _sdk_server(engine: Engine) -> Server[Any]:
    """Build the SDK's MCP server, imported late because it takes 0.4 s and 30 MB."""
    from scrubjay.mcp_server.server import build_server

    return build_server(engine)


def _http(
    engine: Engine, sdk_server: Callable[[], Server[Any]], listening: Listening, http: Options | None
) -> AbstractAsyncContextManager[None]:
    """Serve HTTP for as long as the engine lives; its libraries are imported late."""
    if listening is None or http is None:
        return nullcontext()
    from scrubjay.http_api.app import serving

    return serving(engine, sdk_server(), listening, http)


class _LatePage(AsyncExitStack):
    """The page of an engine, which is imported and served when a link to it is first requested."""

    def __init__(self, engine: Engine) -> None:
        super().__init__()
        self._engine, self._opening = engine, asyncio.Lock()
        self._page: Page | None = None
        self._origin = ""

    @property
    def is_watched(self) -> bool:
        """Return True if a browser has the page open."""
        return self._page is not None and self._page.is_watched

    async def link(self) -> str:
        """Return a link for one browser."""
        async with self._opening:
            if self._page is None:
                module = await asyncio.to_thread(importlib.import_module, "scrubjay.page.serving")
                serving = module.serving(self._engine, partial(_hosts, self._engine.home))
                self._page, self._origin = await self.enter_async_context(serving)
        return self._origin + self._page.invite()


def _hosts(home: Home) -> list[dict[str, Any]]:
    from scrubjay.cli.command import Place
    from scrubjay.cli.registered import described  # only the page needs it

    return described(Place(os.environ, home.root, home.root))


class _Discreet(logging.Formatter):
    """Formats an exception by its type and place; its message may quote a user's text."""

    def formatException(
        self, ei: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
    ) -> str:
        return "".join(traceback.format_tb(ei[2])) + (ei[0].__name__ if ei[0] else "")


class _LogFile(RotatingFileHandler):
    """A log that never blocks, whatever is at its path."""

    def _open(self) -> TextIOWrapper:
        return open(open_log(self.baseFilename), "a", encoding=self.encoding)


def _log_to_file(home: Home, *, to_terminal: bool) -> None:
    """Set up the log, three files of 5 MB: ids, timings and reasons, never content.

    With `to_terminal`, also show warnings at the terminal.
    """
    path = os.path.join(home.log, "engine.log")
    log_file = _LogFile(path, maxBytes=5_000_000, backupCount=2, encoding="utf-8")
    handlers: list[logging.Handler] = [log_file]
    if to_terminal:
        handlers.append(logging.StreamHandler())
        handlers[-1].setLevel(logging.WARNING)
    for handler in handlers:
        handler.setFormatter(_Discreet("%(asctime)s %(process)d %(levelname)s %(name)s %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=handlers)
    for name in ("mcp", "anyio", "asyncio"):
        logging.getLogger(name).setLevel(logging.ERROR)  # their warnings quote clients' text
    logging.captureWarnings(True)
    logging.raiseExceptions = False  # on a full disk, every log line would be a traceback on stderr
    log_stop = partial(logging.getLogger("scrubjay.engine").critical, "stopped")
    sys.excepthook = lambda *error: log_stop(exc_info=error)
