"""Tracks the messages of one client that a new engine needs to see again. It moves no bytes."""

from __future__ import annotations

import itertools
import time
from typing import NamedTuple

from scrubjay.pipe.link import CALL_SECONDS
from scrubjay.wire.messages import glance, key_of

WRITING_TOOLS = frozenset({"add_memory", "record_turn", "add_document", "forget"})
AT_ONCE = 8  # calls of one client that an engine processes at once; the others wait for these
LATE = "The engine is starting or busy, and this call has no answer in time. Call again in a few seconds."
UNWRITTEN = (  # no engine has read the call
    "The engine is starting or busy: this call has no answer in time, and nothing was written. "
    "Call again in a few seconds."
)
UNCONFIRMED = (
    f"The engine is busy: this call has no answer after {CALL_SECONDS:g} seconds, so its "
    "writes may or may not have been stored. Repeating the call is safe: the same content is stored once."
)
_ENDLESS = frozenset({"subscriptions/listen"})  # its answer is the end of a stream
LONG_TOOLS = frozenset({"add_document"})  # a folder takes minutes, so a living engine has no deadline

_OPENING = {"initialize", "notifications/initialized"}
# A new engine needs the client's last line with each of these methods.
_STATE_METHODS = {*_OPENING, "logging/setLevel"}


class Message:
    """One line of the client.

    `number` is its place on the current link, None until it is sent. `answered` is True once the client has
    its answer. `since` is the monotonic time at which it began to wait for an engine, None while it waits
    behind other calls of its client; `seconds` is how long it may wait from then on.
    """

    __slots__ = ("answered", "line", "number", "parts", "repeated", "seconds", "sending", "since")

    def __init__(self, line: bytes) -> None:
        self.line = line
        self.parts = glance(line)
        self.number: int | None = None
        self.answered = False
        self.repeated = False  # it was in flight when an earlier engine died
        self.sending = False  # an engine has all or part of it
        self.since: float | None = None
        self.seconds: float | None = None  # None: CALL_SECONDS

    @property
    def problem(self) -> str | None:
        """Why this line cannot be answered; None for a valid message."""
        if self.parts.problem is not None:
            return self.parts.problem
        if self.parts.has_bad_id and not self.parts.is_answer:
            return "The id of this request is neither a string nor a number. Send another one."
        if self.parts.method is None and not self.parts.is_answer:
            return "This is not a JSON-RPC message. Send one object per line; batches are not supported."
        return None

    @property
    def is_request(self) -> bool:
        """Return True if the client waits for an answer; a notification gets none."""
        return self.parts.method is not None and self.parts.key is not None

    @property
    def is_setup(self) -> bool:
        """Return True if each new engine has to see this message, although it gets no answer."""
        return self.parts.method in _OPENING and (self.answered or not self.is_request)

    @property
    def is_call(self) -> bool:
        """Return True if the answer is a tool's result, which the model reads."""
        return self.parts.method == "tools/call"

    @property
    def may_write(self) -> bool:
        """Return True if this call may have changed what is stored."""
        return self.is_call and self.parts.name in WRITING_TOOLS

    @property
    def due(self) -> float | None:
        """The monotonic time by which the client must have an answer; None if there is no deadline."""
        is_working = self.sending and self.is_call and self.parts.name in LONG_TOOLS
        seconds = CALL_SECONDS if self.seconds is None else self.seconds
        return None if self.since is None or is_working else self.since + seconds


class Loss(NamedTuple):
    """What happens to the lines on a link that ended."""

    resend: list[Message]  # to be sent to the next engine
    uncertain: list[Message]  # writes that may or may not have happened
    fatal: list[Message]  # reads during which two engines have died


class Session:
    """The state of a pipe: requests in flight, and the lines that set up the client's state."""

    def __init__(self) -> None:
        self._in_flight: dict[tuple[str, object] | None, Message] = {}
        # The client already has an answer to these requests; the engine's answer is dropped.
        self._answered: dict[tuple[str, object] | None, Message] = {}
        self._setup: dict[tuple[str, str | None], Message] = {}

    @property
    def has_pending(self) -> bool:
        """Return True if the client waits for an answer."""
        return bool(self._in_flight)

    @property
    def has_pending_answer(self) -> bool:
        """Return True if the client waits for an answer other than the end of a stream."""
        return any(message.parts.method not in _ENDLESS for message in self._in_flight.values())

    @property
    def has_unanswered(self) -> bool:
        """Return True if an engine has an unanswered request."""
        return any(message.number is not None for message in self._in_flight.values())

    @property
    def first_due(self) -> Message | None:
        """The request in flight with the earliest deadline, or None."""
        limited = [message for message in self._in_flight.values() if message.due is not None]
        return min(limited, key=lambda message: message.due or 0.0, default=None)

    @property
    def waits_since(self) -> float | None:
        """The monotonic time at which the oldest request in flight began to wait; None if none waits."""
        return min((message.since for message in self._in_flight.values() if message.since), default=None)

    def _start_clocks(self) -> None:
        """Start the time limits of the first calls in flight: as many as an engine processes at once."""
        for message in itertools.islice(self._in_flight.values(), AT_ONCE):
            if message.since is None and message.parts.method not in _ENDLESS:
                message.since = time.monotonic()

    def note_message(self, message: Message) -> None:
        """Record a line of the client."""
        parts = message.parts
        if message.is_request and parts.key is not None:
            (self._answered if message.answered else self._in_flight)[parts.key] = message
            self._start_clocks()
        elif parts.method == "notifications/cancelled" and parts.request_id is not None:
            self._in_flight.pop(key_of(parts.request_id), None)
        if parts.method in _STATE_METHODS:
            self._setup[parts.method, None] = message
        elif parts.method == "resources/subscribe":
            self._setup[parts.method, parts.uri] = message
        elif parts.method == "resources/unsubscribe":
            self._setup.pop(("resources/subscribe", parts.uri), None)

    def note_answer(self, key: tuple[str, object] | None) -> bool:
        """Forget the request that an engine's line answers; return True if the client wants the line."""
        if self._in_flight.pop(key, None) is not None:
            self._start_clocks()
        return self._answered.pop(key, None) is None

    def replay(self) -> list[Message]:
        """Return the answered lines that give a new engine the client's state, in order."""
        return [
            message
            for message in self._setup.values()
            if message.number is not None and message.parts.key not in self._in_flight
        ]

    def sort_loss(self, lines_read: int | None) -> Loss:
        """Sort the requests in flight on a link that ended.

        Args:
            lines_read: how many lines the engine had read when it said goodbye; None if it died.
        """
        unsent = {key: message for key, message in self._answered.items() if message.number is None}
        self._answered = {key: message for key, message in unsent.items() if message.answered}
        loss = Loss([], [], [])
        for key, message in list(self._in_flight.items()):
            if message.number is None:
                continue  # not sent yet
            if lines_read is not None and message.number > lines_read:
                loss.resend.append(message)  # the engine never read it
            elif message.may_write:
                loss.uncertain.append(message)
            elif message.repeated and lines_read is None:
                loss.fatal.append(message)
            else:
                message.repeated = message.repeated or lines_read is None
                loss.resend.append(message)
            if message not in loss.resend:
                del self._in_flight[key]
        return loss

    def give_up(self, only: Message | None = None) -> list[Message]:
        """Remove all requests in flight, or `only` this one, and return them; the caller must answer them."""
        given_up = list(self._in_flight.values()) if only is None else [only]
        for message in given_up:
            key = message.parts.key
            assert key is not None
            del self._in_flight[key]
            if message.sending:
                self._answered[key] = message
        self._setup = {slot: message for slot, message in self._setup.items() if message not in given_up}
        self._start_clocks()
        return given_up
