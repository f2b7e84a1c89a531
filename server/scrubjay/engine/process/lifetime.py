"""The lifetime of an engine: from opening its socket until the last answer is written.

The faces are passed in. The caller of `serve` holds the engine's lock, and releases it when its process ends.
"""

import asyncio
import contextlib
import faulthandler
import logging
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from scrubjay import VERSION
from scrubjay.engine.process.connection import OUTPUT_LIMIT, Connection
from scrubjay.engine.process.greeting import Identity, greet
from scrubjay.engine.process.listener import Listener, listen
from scrubjay.errors import EngineError
from scrubjay.home.files import open_log
from scrubjay.home.paths import Home
from scrubjay.wire.address import HAS_UNIX_SOCKETS, write_facts
from scrubjay.wire.hello import HELLO_LIMIT, decode
from scrubjay.wire.lines import LINE_LIMIT
from scrubjay.wire.lock import FileLock, identity

log = logging.getLogger("scrubjay.engine.process.lifetime")

Face = Callable[[Connection], Awaitable[None]]
StartWork = Callable[[], Awaitable[None]]

_HELLO_SECONDS = 10.0  # for a client to send its hello
_CLOSE_SECONDS = 2.0  # for a client to read its last lines
# How long the event loop may stand still before the engine ends itself. Pipes report a stuck engine after
# seven seconds, and busy machines were seen to stand still for eighteen.
HANG_SECONDS = 60.0
_TICK_SECONDS = 5.0  # between two checks for an idle engine or a removed home


@dataclass(eq=False, kw_only=True)
class Lifetime:
    """One engine of one home. Give `finish` to the code that may end it, then call `serve`, once."""

    home: Home = field(kw_only=False)
    # The lock is held. If its file disappears, the home was deleted, and the engine ends.
    lock: FileLock = field(kw_only=False)
    auto: bool  # started by a pipe: ends when idle, and makes room for a newer version
    idle_seconds: float  # time without a client or work after which an automatic engine ends
    busy: Callable[[], bool] = lambda: False  # returns True during work that no client waits for
    # Returns True when loading is over; every client is told in the hello.
    ready: Callable[[], bool] = lambda: True
    grace_seconds: float = 30.0  # for requests in flight once the engine is finishing
    hang_seconds: float = HANG_SECONDS
    http: str | None = None  # the address of the HTTP interface, for `engine.json`
    version: str = VERSION
    env: Mapping[str, str] = field(default_factory=lambda: os.environ)  # SCRUBJAY_*, XDG_RUNTIME_DIR
    loopback: bool = not HAS_UNIX_SOCKETS  # use a port with a token, as on Windows, instead of a Unix socket
    line_limit: int = LINE_LIMIT  # bytes; for this limit and the next, see `Connection`
    output_limit: int = OUTPUT_LIMIT

    def __post_init__(self) -> None:
        self.me = Identity(self.version, os.getpid(), self.auto, identity(self.lock.path))
        self.started_at = datetime.now(UTC)
        self.connections: set[Connection] = set()  # those that have sent a hello
        self._tasks: dict[asyncio.Task[None], Connection] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._finishing = asyncio.Event()
        self._reason = ""

    def finish(self, reason: str) -> None:
        """Ask the engine to end: no new clients, requests in flight are answered, then `serve` returns.

        Safe from any thread.
        """
        if self._loop is None:
            self._end(reason)
        else:
            with contextlib.suppress(RuntimeError):  # the loop is closed, so the engine has ended already
                self._loop.call_soon_threadsafe(self._end, reason)

    async def serve(self, faces: Mapping[str, Face], background: StartWork | None = None) -> str:
        """Listen until the engine is finished, and return the reason.

        `faces` has for each kind of hello the function that serves the client until the connection ends.
        `background` starts as soon as the engine listens; if it raises, the engine finishes and the error is
        raised here.
        """
        self._loop = asyncio.get_running_loop()
        async with ended_if_it_hangs(self.home.deaths, self.hang_seconds):
            return await self._serve(faces, background)

    async def _serve(self, faces: Mapping[str, Face], background: StartWork | None) -> str:
        listener = listen(self.home, dict(self.env), loopback=self.loopback)
        work: asyncio.Future[None] | None = None
        try:
            server = await self._accept(listener, faces)
            self._announce(listener, finishing=False)
            with finishing_on_signals(self.finish):
                if background is not None:
                    work = asyncio.ensure_future(background())
                    work.add_done_callback(self._background_ended)
                await self._watch()
                self._announce(listener, finishing=True)
                server.close()
        finally:
            # If the home was removed, these files may already belong to another engine.
            is_ours = self.lock.is_held
            listener.close(remove_files=is_ours)
        await self._answer_and_disconnect()
        if is_ours:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.home.engine_json)
        if work is not None:
            work.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await work
        return self._reason

    async def _accept(self, listener: Listener, faces: Mapping[str, Face]) -> asyncio.Server:
        def opened(connection: Connection) -> None:
            task = asyncio.ensure_future(self._attend(connection, faces, listener.token))
            self._tasks[task] = connection
            task.add_done_callback(self._tasks.pop)

        loop = asyncio.get_running_loop()
        create = loop.create_server if self.loopback else loop.create_unix_server
        limits = {"line_limit": self.line_limit, "output_limit": self.output_limit}
        return await create(lambda: Connection(opened, **limits), sock=listener.socket)

    async def _attend(self, connection: Connection, faces: Mapping[str, Face], token: str | None) -> None:
        try:
            if await self._welcome(connection, faces, token):
                self.connections.add(connection)
                await faces[connection.hello.kind](connection)
        except Exception:  # no failure of one client may affect the others
            log.exception("a connection ended with an error")
        finally:
            if connection in self.connections and self._finishing.is_set():
                goodbye = {"scrubjay": "goodbye", "lines": connection.lines_read, "reason": self._reason}
                connection.say(goodbye)
            self.connections.discard(connection)
            await connection.closed(_CLOSE_SECONDS)

    async def _welcome(self, connection: Connection, faces: Mapping[str, Face], token: str | None) -> bool:
        """Exchange hellos; return True if the client may stay."""
        try:
            line = await asyncio.wait_for(connection.read_line(), _HELLO_SECONDS)
        except TimeoutError:
            return False
        if line is None:
            return False  # the client only checked for an engine, or we are finishing
        connection.lines_read = 0
        try:
            if len(line) > HELLO_LIMIT:
                what = f"it has {len(line)} bytes, and a hello at most {HELLO_LIMIT}."
                raise EngineError(f"The first line is not a hello: {what}")
            hello = decode(line)
            if hello.kind not in faces:
                raise EngineError(f"This engine has no face for a client of kind {hello.kind!r}.")
        except EngineError as error:
            connection.say({**self.me.fields(ready=self.ready()), "error": str(error), "retry": False})
            return False
        connection.welcome(hello)
        greeting = greet(hello, self.me, ready=self.ready(), token=token, env=self.env)
        connection.say(greeting.fields)
        if greeting.make_room:
            self._end(f"client {hello.version} of pid {hello.pid} takes over")
        return greeting.accepted

    async def _answer_and_disconnect(self) -> None:
        """Wait until every client has its answers, then cancel the faces that are still running."""
        for connection in self._tasks.values():
            connection.drain(self.grace_seconds)
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=self.grace_seconds + _CLOSE_SECONDS)
            for task in late:
                task.cancel()
            if late:
                log.warning("%d connections did not end within %g seconds", len(late), self.grace_seconds)
                await asyncio.wait(late, timeout=2 * _CLOSE_SECONDS)

    async def _watch(self) -> None:
        """Return when the engine must finish: on request, after a long idle time, or without its home."""
        loop = asyncio.get_running_loop()
        tick = min(_TICK_SECONDS, max(self.idle_seconds / 10, 0.02))
        last_active = loop.time()
        while not self._finishing.is_set():
            if not self.lock.is_held:
                self._end("its home was removed")
            elif not self.me.auto or self.connections or self.busy():
                last_active = loop.time()
            elif loop.time() - last_active >= self.idle_seconds:
                self._end("idle")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._finishing.wait(), tick)

    def _background_ended(self, work: asyncio.Future[None]) -> None:
        if not work.cancelled() and work.exception() is not None:
            self._end("the background work failed")

    def _end(self, reason: str) -> None:
        if not self._finishing.is_set():
            log.info("finishing: %s", reason)
            self._reason = reason
            self._finishing.set()

    def _announce(self, listener: Listener, *, finishing: bool) -> None:
        if not self.lock.is_held:
            return
        facts = {name: getattr(self.me, name) for name in ("version", "protocol", "pid", "auto")}
        facts |= {"started_at": self.started_at.strftime("%Y-%m-%dT%H:%M:%SZ"), "http": self.http}
        facts |= {**listener.facts, "finishing": finishing}
        try:
            write_facts(self.home, facts)
        except FileNotFoundError:  # the home may be removed at any moment
            return
        except OSError as error:
            # Without the file, clients look for the socket in the home, so the engine can be reached even on
            # a full disk.
            if not finishing and listener.facts != {"socket": self.home.socket}:
                raise
            log.error("%s cannot be written: %s", self.home.engine_json, error.strerror)


@contextlib.contextmanager
def finishing_on_signals(finish: Callable[[str], None]) -> Iterator[None]:
    """Call `finish` with the signal's name when the system or the user asks this process to end.

    Only the main thread receives signals; in other threads this does nothing. `finish` must be safe to call
    from anywhere.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    signals = [signal.SIGINT, signal.SIGTERM]
    if sys.platform == "win32":
        signals.append(signal.SIGBREAK)

    def handle(number: int, _: object) -> None:
        finish(signal.Signals(number).name)

    # asyncio has no handlers on Windows.
    previous = {number: signal.signal(number, handle) for number in signals}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextlib.asynccontextmanager
async def ended_if_it_hangs(path: str, seconds: float) -> AsyncIterator[None]:
    """End this process if its event loop stands still for `seconds`; stack traces go to the file at `path`.

    A text may occupy the interpreter for hours and block every client, so this is done by Python's own
    watchdog, which works without the interpreter. Crashes in native code write their stack to that file too.
    """

    async def keep_alive() -> None:
        while True:
            faulthandler.dump_traceback_later(seconds, exit=True, file=file)
            await asyncio.sleep(seconds / 6)

    try:
        file = open_log(path)
    except OSError:  # a full disk must not stop an engine
        file = os.open(os.devnull, os.O_WRONLY)
    faulthandler.enable(file)
    task = asyncio.create_task(keep_alive())
    try:
        yield
    finally:
        task.cancel()
        faulthandler.cancel_dump_traceback_later()
        faulthandler.disable()
        os.close(file)
