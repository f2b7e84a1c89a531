"""One connection to a running engine: the socket and the exchange of hellos. It never starts an engine."""

from __future__ import annotations

import contextlib
import selectors
import socket
import time

from scrubjay.errors import EngineError
from scrubjay.home.files import read_regular
from scrubjay.wire.address import engine_facts
from scrubjay.wire.hello import HELLO_LIMIT, encode, fields_of
from scrubjay.wire.lines import BEAT, LineCutter
from scrubjay.wire.lock import identity

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without the import that every command would pay
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from scrubjay.home.paths import Home
    from scrubjay.wire.hello import Hello

CALL_SECONDS = 9.0  # within which a call is answered, if only with an error
STARTING_SECONDS = 25.0  # the same for the first calls, while the engine starts; hosts wait 60
STALL_SECONDS = 5.0  # without a sign of life
_CHUNK = 64 * 1024  # bytes per read


class Link:
    """An open connection after both hellos; `answer` is the engine's hello.

    `sent` is the number of lines that we have sent after the hellos.
    """

    def __init__(self, sock: socket.socket, answer: dict[str, Any], rest: bytes) -> None:
        self.answer = answer
        self.sent = 0
        self.heard_at = time.monotonic()  # when the engine last sent something
        self.asked_at: float | None = None  # when the silent engine was asked for a sign of life
        self._socket = sock
        self._rest = rest

    @property
    def refusal(self) -> str | None:
        """The engine's message if it refuses this client."""
        return self.answer.get("error")

    def set_timeout(self, seconds: float | None) -> None:
        """Set how long a read or a write may take before it raises OSError."""
        self._socket.settimeout(seconds)

    def send(self, line: bytes) -> int:
        """Send one line and return its number on this link, from 1.

        Raises OSError if the engine did not receive the whole line.
        """
        self._socket.sendall(line)
        self.sent += 1
        return self.sent

    def beat(self) -> None:
        """Ask the engine for a sign of life without waiting for it. Raises OSError if the engine is gone."""
        with contextlib.suppress(BlockingIOError):  # it has not read earlier lines yet
            self._socket.send(BEAT, getattr(socket, "MSG_DONTWAIT", 0))

    def has_stalled(self, seconds: float, *, ask: bool = True) -> bool:
        """Return True if the engine has shown no sign of life since it was asked `seconds` ago.

        If it has sent something since, ask again, unless `ask` is False: the engine is not reading then.
        Raises OSError if the engine is gone.
        """
        now = time.monotonic()
        if self.asked_at is not None and self.heard_at <= self.asked_at:
            return now - self.asked_at >= seconds
        self.asked_at = now
        if ask:
            self.beat()
        return False

    def lines(
        self, seconds: float | None = None, should_continue: Callable[[], bool] = lambda: True
    ) -> Iterator[bytes]:
        """Yield the engine's lines, each with its newline, until it closes or is gone; call this once.

        After each silence of `seconds`, `should_continue` decides whether to go on.
        """
        cutter = LineCutter()
        data = self._rest
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(self._socket, selectors.EVENT_READ)
                while True:
                    yield from (line for line in cutter.feed(data) if line != BEAT)
                    while seconds is not None and not selector.select(seconds):
                        if not should_continue():
                            return
                    data = self._socket.recv(_CHUNK)
                    self.heard_at = time.monotonic()
                    if not data:
                        return
        except (OSError, ValueError):
            return  # killed, closed or timed out: for the reader this is the end

    def half_close(self) -> None:
        """Tell the engine that no more lines will come; it may still send some."""
        self._shut(socket.SHUT_WR)

    def end(self) -> None:
        """End the conversation, which frees a thread that is blocked in `send` or `lines`.

        The socket stays open for the reading thread: `select` never reports a closed socket, so a thread that
        enters `select` at this moment would wait for ever.
        """
        self._shut(socket.SHUT_RDWR)

    def close(self) -> None:
        """End the conversation and close the socket; called by the reading thread, if there is one."""
        self._shut(socket.SHUT_RDWR)
        self._socket.close()

    def _shut(self, direction: int) -> None:
        with contextlib.suppress(OSError):  # the other side closed first
            self._socket.shutdown(direction)


def knock(home: Home, hello: Hello, seconds: float) -> Link | None:
    """Connect to the engine of `home`, which may refuse; return None if none answers within `seconds`."""
    facts = engine_facts(home)
    sock = None
    try:
        if "socket" in facts:
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            sock.settimeout(seconds)
            sock.connect(facts["socket"])
        else:
            hello = hello.copy(token=read_regular(facts["token_file"], HELLO_LIMIT).decode("ascii"))
            sock = socket.create_connection(tuple(facts["address"]), timeout=seconds)
        sock.sendall(encode(hello))
        line, rest = _first_line(sock)
        answer = fields_of(line)
        if answer.get("home") != identity(home.engine_lock):
            # engine.json was copied with its folder
            raise EngineError("The engine at this address serves another home.")
    except (OSError, EngineError, KeyError, TypeError, ValueError):
        # A stale address, a dying engine or another program on its port: no engine is running here.
        if sock is not None:
            sock.close()
        return None
    sock.settimeout(None)
    return Link(sock, answer, rest)


def _first_line(sock: socket.socket) -> tuple[bytes, bytes]:
    data = b""
    while b"\n" not in data:
        chunk = sock.recv(_CHUNK)
        if not chunk or len(data) > HELLO_LIMIT:
            raise EngineError("The engine closed before its hello.")
        data += chunk
    line, _, rest = data.partition(b"\n")
    return line, rest
