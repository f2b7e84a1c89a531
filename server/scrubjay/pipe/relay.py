"""Carries lines between a client and the current engine, and answers requests that need no engine.

One thread reads the client, a second finds the engine and reads it, because Windows cannot wait for standard
input and a socket at once. A third keeps time, so that each call is answered within `CALL_SECONDS`, however
long the engine takes to start, load, restart or work. A thread holds the lock `_sending` while it sends to
the engine, and holds `_changed` only briefly, to use the state: waiting for one side must not stop the other.
"""

from __future__ import annotations

import json
import threading
import time
from typing import TYPE_CHECKING

from scrubjay.errors import ScrubjayError
from scrubjay.pipe.link import CALL_SECONDS, STALL_SECONDS, STARTING_SECONDS
from scrubjay.pipe.session import LATE, UNCONFIRMED, UNWRITTEN, Message, Session
from scrubjay.wire.lines import LineCutter, TooLong
from scrubjay.wire.messages import CALL_LIMIT, NOT_JSON, answered_key, glance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from scrubjay.pipe.link import Link
    from scrubjay.pipe.offer import Offer
    from scrubjay.pipe.terminal import Terminal

UNCERTAIN = (
    "The engine stopped during this call, so its writes may or may not have been stored. "
    "Repeating the call is safe: the same content is stored once."
)
FATAL = (
    "The engine stopped twice during this request, so it was not tried again. "
    "`scrubjay doctor` shows what happened."
)

STALLED = (
    "The engine (pid {pid}) shows no sign of life, so this call was given up: the engine is stopped, or the "
    "machine is overloaded. Call again later; `scrubjay doctor` may say more."
)
STALLED_WRITE = (
    "The engine (pid {pid}) shows no sign of life, so this call was given up, and its writes may "
    "or may not have been stored. Repeating the call is safe: the same content is stored once."
)

_SILENCE_SECONDS = 2.0  # of silence during a request, after which the engine is asked for a sign of life
_DRAIN_SECONDS = 2.0  # for the last answers to be written, after the client has closed its input
_REPLAY_SECONDS = 10.0  # for a new engine to answer replayed requests
_ALIVE_SECONDS = 2.0  # between two checks that the client still exists
_TIME_SECONDS = 1.0  # between two checks for late calls
# Until an engine is found, at most this many lines are read, and none after a line with more bytes than this.
_LINES_AHEAD, _LONGEST_AHEAD = 64, 64 * 1024
_GOODBYE = b'{"scrubjay":"goodbye"'
_SERVER_ERROR = -32000
_INVALID_REQUEST = -32600
_PARSE_ERROR = -32700
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # some shells write it before their output


class Relay:
    """Serves one client until it closes its standard input, with one engine after another.

    `reach` finds an engine; its argument is the monotonic time at which a call began to wait for it.
    """

    def __init__(self, reach: Callable[[float], Link], terminal: Terminal, offer: Offer) -> None:
        self._reach = reach
        self._terminal = terminal
        self._offer = offer
        self._session = Session()
        self._outbox: list[Message] = []  # unsent lines, oldest first
        self._link: Link | None = None
        # True from the beginning, so that an engine is ready when the client sends its first line.
        self._needs_engine = True
        self._has_client_closed = False  # the client has closed its input
        self._is_over = False  # the client has also received its last answers
        self._has_stalled = False  # the engine gave no sign of life
        self._loads_until: float | None = None  # until then, calls to the first engine may wait longer
        self._changed = threading.Condition()
        self._sending = threading.Lock()

    def run(self) -> None:
        """Carry lines until the client is gone and its last answers are written."""
        engine_side = threading.Thread(target=self._serve_engines, name="engine", daemon=True)
        engine_side.start()
        threading.Thread(target=self._keep_time, name="time", daemon=True).start()
        self._serve_client()
        self._serve_last_calls()
        with self._changed:
            self._is_over = True
            link = self._link
            self._changed.notify_all()
        if link is not None:
            link.half_close()
            engine_side.join(_DRAIN_SECONDS)

    # The client's side.

    def _serve_client(self) -> None:
        cutter = LineCutter(CALL_LIMIT)
        while data := self._terminal.read(_ALIVE_SECONDS):
            for line in cutter.feed(data):
                self._forward(line)
        rest = cutter.rest()
        if rest and not self._terminal.closed:
            self._forward(rest + b"\n")

    def _serve_last_calls(self) -> None:
        """Wait for the answers to the client's last requests, for as long as a call may take."""
        end = time.monotonic() + CALL_SECONDS + _TIME_SECONDS
        with self._changed:
            self._has_client_closed = True
            while (
                self._session.has_pending_answer
                and not self._terminal.closed
                and (seconds_left := end - time.monotonic()) > 0
            ):
                self._changed.wait(min(seconds_left, _ALIVE_SECONDS))

    def _forward(self, line: bytes) -> None:
        """Answer one line of the client or put it into the outbox; wait while the outbox is full."""
        if isinstance(line, TooLong):
            sentence = f"This line is longer than {CALL_LIMIT} bytes. Send it in parts."
            self._terminal.write(_error(glance(line).id, _INVALID_REQUEST, sentence))
            return
        line = line.removeprefix(_BYTE_ORDER_MARK)
        if line.isspace():
            return
        message = Message(line)
        if (problem := message.problem) is not None:
            code = _PARSE_ERROR if problem == NOT_JSON else _INVALID_REQUEST
            self._terminal.write(_error(message.parts.id, code, problem))
            return
        answer = self._offer.answer(message)
        message.answered = answer is not None
        if answer is not None:
            self._terminal.write(answer)
            if not message.is_setup:
                return
        with self._changed:
            self._session.note_message(message)
            self._outbox.append(message)
            self._needs_engine = True
            self._changed.notify_all()
        self._flush()
        most_ahead = 0 if len(line) > _LONGEST_AHEAD else _LINES_AHEAD
        with self._changed:
            while self._needs_engine and message in self._outbox and len(self._outbox) > most_ahead:
                if self._terminal.closed:
                    break
                self._changed.wait(_ALIVE_SECONDS)

    def _flush(self) -> None:
        """Send the waiting lines in order, as long as there is an engine."""
        with self._sending:
            while True:
                with self._changed:
                    if self._link is None or not self._outbox:
                        self._changed.notify_all()
                        return
                    link, message = self._link, self._outbox[0]
                    message.sending = True
                    if time.monotonic() < (self._loads_until or 0.0):
                        message.seconds = STARTING_SECONDS
                try:
                    number = link.send(message.line)
                except OSError:
                    message.sending = False
                    link.end()  # the other thread notices, finds an engine, and sends this line again
                    return
                with self._changed:
                    message.number = number
                    if self._outbox and self._outbox[0] is message:  # else it was given up as late meanwhile
                        self._outbox.pop(0)

    # The engine's side.

    def _serve_engines(self) -> None:
        while self._wait_for_need():
            link, lines_read, reason, self._has_stalled = None, None, None, False
            try:
                with self._changed:
                    since = self._session.waits_since or time.monotonic()
                link = self._reach(since)
                lines_read = self._converse(link)
            except ScrubjayError as error:
                reason = str(error)
            except Exception as error:  # if this thread ended, the client would wait for ever
                reason = unforeseen(error)
            if link is not None:
                self._recover(link, lines_read)
                if self._has_stalled:
                    reason = STALLED.format(pid=link.answer.get("pid"))
            if reason is not None:
                self._refuse(reason)

    def _wait_for_need(self) -> bool:
        """Wait until an engine is needed; return False if the client is gone."""
        with self._changed:
            while not self._needs_engine and not self._is_over:
                self._changed.wait()
            return not self._is_over

    def _converse(self, link: Link) -> int | None:
        """Bring the engine to the client's state, then carry lines until it ends.

        Returns how many of our lines the engine read, or None if it ended without a goodbye.
        """
        lines = link.lines(
            _SILENCE_SECONDS if link.answer.get("beats") else None, lambda: self._should_listen(link)
        )
        try:
            link.set_timeout(_REPLAY_SECONDS)
            for message in self._session.replay():
                message.number = link.send(message.line)
                if message.is_request and not self._skip_answer(lines, message):
                    return None
            link.set_timeout(None)
        except OSError:
            return None
        with self._changed:
            if self._loads_until is None:
                load_seconds = 0.0 if link.answer.get("ready", True) else STARTING_SECONDS
                self._loads_until = time.monotonic() + load_seconds
            self._link = link
        self._flush()
        for line in lines:
            if line.startswith(_GOODBYE):
                lines_read: int = json.loads(line)["lines"]
                return lines_read
            with self._changed:
                is_wanted = self._session.note_answer(answered_key(line))
                if self._has_client_closed:
                    self._changed.notify_all()
            if is_wanted:
                self._terminal.write(line)
        return None

    def _should_listen(self, link: Link) -> bool:
        """Decide after a silence whether to keep listening: only to an engine that shows signs of life."""
        with self._changed:
            is_waiting = self._link is None or self._session.has_unanswered
        if not is_waiting:
            link.asked_at = None
            return True
        # If another thread is still sending, the engine is not reading.
        may_send = self._sending.acquire(blocking=False)
        try:
            self._has_stalled = link.has_stalled(STALL_SECONDS, ask=may_send)
        finally:
            if may_send:
                self._sending.release()
        return not self._has_stalled

    def _skip_answer(self, lines: Iterator[bytes], message: Message) -> bool:
        """Drop the answer to a replayed request; return False if the engine ends before it."""
        for line in lines:
            if answered_key(line) == message.parts.key:
                return True
            self._terminal.write(line)
        return False

    def _recover(self, link: Link, lines_read: int | None) -> None:
        """After a link has ended, queue lines for the next engine; refuse calls that cannot be repeated."""
        link.close()  # before taking the lock, which a thread that is stuck in sending on this link holds
        with self._sending, self._changed:
            self._link, self._loads_until = None, 0.0  # a later engine gets the usual time
            loss = self._session.sort_loss(lines_read)
            for message in loss.resend:
                message.number, message.sending = None, False
            self._outbox[:0] = loss.resend
            self._needs_engine = bool(self._outbox)
        sentence = STALLED_WRITE.format(pid=link.answer.get("pid")) if self._has_stalled else UNCERTAIN
        for message in loss.uncertain:
            self._terminal.write(refusal(message, sentence))
        for message in loss.fatal:
            self._terminal.write(refusal(message, FATAL))

    def _refuse(self, sentence: str) -> None:
        """Answer all waiting requests with the reason why there is no engine."""
        with self._sending, self._changed:
            requests = self._session.give_up()
            self._outbox = [message for message in self._outbox if message.is_setup]
            self._needs_engine = False
        for message in requests:
            self._terminal.write(refusal(message, sentence))
        with self._changed:
            self._changed.notify_all()

    # Deadlines.

    def _keep_time(self) -> None:
        """Answer each late call with an error, until the client is gone."""
        while (message := self._next_late()) is not None:
            write_sentence = UNCONFIRMED if message.sending else UNWRITTEN
            self._terminal.write(refusal(message, write_sentence if message.may_write else LATE))

    def _next_late(self) -> Message | None:
        """Wait for a late call and remove it from all queues; return None if the client is gone."""
        with self._changed:
            while not self._is_over:
                now, message = time.monotonic(), self._session.first_due
                if message is not None and message.due is not None and message.due <= now:
                    self._session.give_up(message)
                    self._outbox = [queued for queued in self._outbox if queued is not message]
                    self._changed.notify_all()
                    return message
                self._changed.wait(_TIME_SECONDS if self._session.has_pending else None)
            return None


def unforeseen(error: Exception) -> str:
    """Return the message for an unexpected failure; it quotes nothing that a user said."""
    reason = getattr(error, "strerror", None) or type(error).__name__
    sentence = f"The connection to the engine failed inside Scrubjay: {reason}."
    return f"{sentence} Call again; `scrubjay doctor` may say more."


def refusal(message: Message, sentence: str) -> bytes:
    """Return the answer to a request that reaches no engine."""
    if message.is_call:
        result = {"content": [{"type": "text", "text": sentence}], "isError": True, "resultType": "complete"}
        return _line({"jsonrpc": "2.0", "id": message.parts.id, "result": result})
    return _error(message.parts.id, _SERVER_ERROR, sentence)


def _error(request_id: object, code: int, sentence: str) -> bytes:
    return _line({"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": sentence}})


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"
