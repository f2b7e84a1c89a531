"""Lines carried between a client and whatever engine there is. Knows two threads and what each waits for; does not know how an
engine is found.

One thread reads the client, the other finds the engine and reads it. Windows cannot wait for standard input and a socket at once,
so this shape serves everywhere. Who sends to the engine holds `_sending`; who looks at the state holds `_changed`, and never
longer than that: a thread that waits for one side must not keep the other from moving.
"""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING

from scrubjay.errors import ScrubjayError
from scrubjay.pipe.session import Outgoing, Session
from scrubjay.wire.lines import LINE_LIMIT, LineCutter, TooLong, glance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrubjay.pipe.link import Link
    from scrubjay.pipe.terminal import Terminal

_DRAIN_SECONDS = 2.0  # for the answers that are still out when the client has said its last word
_REPLAY_SECONDS = 10.0  # for a new engine to answer what the old one was told
_ALIVE_SECONDS = 2.0  # between two looks whether the client still exists
_GOODBYE = b'{"scrubjay":"goodbye"'


class Relay:
    """One client served until it closes its standard input, by one engine after another."""

    def __init__(self, reach: Callable[[], Link], terminal: Terminal) -> None:
        self._reach = reach
        self._terminal = terminal
        self._session = Session()
        self._outbox: list[Outgoing] = []  # lines no engine has yet, oldest first
        self._link: Link | None = None
        self._wanted = (
            True  # an engine is needed; the first at once, so that it is there when the client speaks
        )
        self._over = False  # the client is gone
        self._changed = threading.Condition()
        self._sending = threading.Lock()

    def run(self) -> None:
        """Carry lines until the client is gone and its last answers are written."""
        engine_side = threading.Thread(target=self._serve_engines, name="engine", daemon=True)
        engine_side.start()
        self._serve_client()
        with self._changed:
            self._over = True
            link = self._link
            self._changed.notify_all()
        if link is not None:
            link.half_close()
            engine_side.join(_DRAIN_SECONDS)

    # The client's side.

    def _serve_client(self) -> None:
        cutter = LineCutter()
        while data := self._terminal.read(_ALIVE_SECONDS):
            for line in cutter.feed(data):
                self._forward(line)
        rest = cutter.rest()
        if rest and not self._terminal.closed:
            self._forward(rest + b"\n")

    def _forward(self, line: bytes) -> None:
        """Take one line of the client, and return when an engine has it or it was answered without one."""
        if isinstance(line, TooLong):
            self._terminal.write(too_long(glance(line).id, LINE_LIMIT))
            return
        if line.isspace():
            return
        out = Outgoing(line)
        with self._changed:
            self._session.heard(out)
            self._outbox.append(out)
            self._wanted = True
            self._changed.notify_all()
        self._flush()
        with self._changed:
            while self._outbox and not self._terminal.closed:
                self._changed.wait(_ALIVE_SECONDS)

    def _flush(self) -> None:
        """Send what is waiting, in order, as long as there is an engine."""
        with self._sending:
            while True:
                with self._changed:
                    if self._link is None or not self._outbox:
                        self._changed.notify_all()
                        return
                    link, out = self._link, self._outbox[0]
                try:
                    number = link.send(out.line)
                except OSError:
                    link.close()  # the other thread sees the end, finds an engine, and sends this line again
                    return
                with self._changed:
                    out.number = number
                    self._outbox.pop(0)

    # The engine's side.

    def _serve_engines(self) -> None:
        while self._engine_needed():
            try:
                link = self._reach()
            except ScrubjayError as error:
                self._refuse(str(error))
                continue
            self._mourn(link, self._converse(link))

    def _engine_needed(self) -> bool:
        """Wait until a line needs an engine; false when the client is gone. An engine nobody needs is not brought back."""
        with self._changed:
            while not self._wanted and not self._over:
                self._changed.wait()
            return not self._over

    def _converse(self, link: Link) -> int | None:
        """Bring the engine to the client's state, then carry lines until it ends; how many of ours it read, if it said so."""
        lines = link.lines()
        try:
            link.set_timeout(_REPLAY_SECONDS)
            for out in self._session.replay():
                out.number = link.send(out.line)
                if out.is_request and not self._swallow(lines, out):
                    return None
            link.set_timeout(None)
        except OSError:
            return None
        with self._changed:
            self._link = link
        self._flush()
        for line in lines:
            if line.startswith(_GOODBYE):
                return json.loads(line)["lines"]
            with self._changed:
                self._session.answered(glance(line))
            self._terminal.write(line)
        return None

    def _swallow(self, lines: Iterator[bytes], replayed: Outgoing) -> bool:
        """Keep back the answer to a replayed request, which the client has had already; false when the engine ended before it."""
        for line in lines:
            seen = glance(line)
            if seen.is_answer and seen.key == replayed.seen.key:
                return True
            self._terminal.write(line)
        return False

    def _mourn(self, link: Link, lines_read: int | None) -> None:
        """After the end of a link: line up what the next engine must hear, and answer what nobody can repeat."""
        link.close()  # before the lock: a thread that is stuck sending on this link holds it
        with self._sending, self._changed:
            self._link = None
            loss = self._session.lost(lines_read)
            for out in loss.again:
                out.number = None
            self._outbox[:0] = loss.again
            self._wanted = bool(self._outbox)
        for out in loss.unsure:
            self._terminal.write(refusal(out, UNSURE))
        for out in loss.deadly:
            self._terminal.write(refusal(out, DEADLY))

    def _refuse(self, sentence: str) -> None:
        """Answer everything that waits with the reason why there is no engine."""
        with self._sending, self._changed:
            given_up = self._session.refused()
            self._outbox.clear()
            self._wanted = False
        for out in given_up:
            self._terminal.write(refusal(out, sentence))
        with self._changed:
            self._changed.notify_all()


if TYPE_CHECKING:
    from scrubjay.pipe.session import Outgoing

_SERVER_ERROR = -32000
_INVALID_REQUEST = -32600

UNSURE = (
    "The engine stopped during this call, so what it was to write may or may not have been kept. "
    "Repeating the call is safe: the same content is stored once."
)
DEADLY = "The engine stopped twice during this request, so it was not tried again. `scrubjay doctor` says what happened."


def refusal(out: Outgoing, sentence: str) -> bytes:
    """The answer to a request that no engine will see."""
    if out.is_call:
        result = {"content": [{"type": "text", "text": sentence}], "isError": True, "resultType": "complete"}
        return _line({"jsonrpc": "2.0", "id": out.seen.id, "result": result})
    return _error(out.seen.id, _SERVER_ERROR, sentence)


def too_long(request_id: object, limit: int) -> bytes:
    """The answer to a line above the limit."""
    return _error(
        request_id,
        _INVALID_REQUEST,
        f"A line may have {limit} bytes, and this one has more. Send it in parts.",
    )


def _error(request_id: object, code: int, sentence: str) -> bytes:
    return _line({"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": sentence}})


def _line(message: dict) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"
