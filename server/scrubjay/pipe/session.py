"""What one client has sent so far that a new engine would have to hear again. It moves no bytes."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING, NamedTuple

from scrubjay.wire.lines import glance, key_of

if TYPE_CHECKING:
    from scrubjay.wire.lines import Glance

WRITING_TOOLS = frozenset({"add_memory", "record_turn", "add_document", "forget"})
CALL_SECONDS = 9.0  # after which a call is answered, if only with a sentence
AT_ONCE = 8  # calls of one client that an engine works on; the others wait for these, and not for it
LATE = (
    f"The engine is starting or busy: this call has no answer after {CALL_SECONDS:g} seconds. "
    "Call again in a few seconds."
)
UNWRITTEN = (  # no engine has read the call
    f"The engine is starting or busy: this call has no answer after {CALL_SECONDS:g} seconds, and nothing "
    "of it was written. Call again in a few seconds."
)
UNCONFIRMED = (
    f"The engine is busy: this call has no answer after {CALL_SECONDS:g} seconds, so what it was to "
    "write may or may not have been kept. Repeating the call is safe: the same content is stored once."
)
_ENDLESS = frozenset({"subscriptions/listen"})  # its answer is the end of a stream
LONG_TOOLS = frozenset({"add_document"})  # a folder takes minutes, so an engine that lives may take its time

_OPENING = {"initialize", "notifications/initialized"}
_LAST_OF_EACH = {*_OPENING, "logging/setLevel"}


class Message:
    """One line of the client.

    `number` is its place on the current link, None until it is sent; `answered` tells whether the client has
    its answer already; `since` is when it began to wait for an engine, by the monotonic clock, None while it
    waits behind its client's other calls.
    """

    __slots__ = ("answered", "line", "number", "repeated", "seen", "sending", "since")

    def __init__(self, line: bytes) -> None:
        self.line = line
        self.seen = glance(line)
        self.number: int | None = None
        self.answered = False
        self.repeated = False  # it was in flight before, when an engine died
        self.sending = False  # an engine has it, or a part of it
        self.since: float | None = None

    @property
    def problem(self) -> str | None:
        """Why nobody could answer this line; None for a message."""
        if self.seen.problem is not None:
            return self.seen.problem
        if self.seen.has_bad_id and not self.seen.is_answer:
            return "The id of this request is neither text nor a number. Send another one."
        if self.seen.method is None and not self.seen.is_answer:
            return "This is no message of JSON-RPC. Send one object a line; batches are not taken."
        return None

    @property
    def is_request(self) -> bool:
        """Whether the client waits for an answer; a notification gets none."""
        return self.seen.method is not None and self.seen.key is not None

    @property
    def opens(self) -> bool:
        """Whether each engine has to hear it, though the client waits for no answer."""
        return self.seen.method in _OPENING and (self.answered or not self.is_request)

    @property
    def is_call(self) -> bool:
        """Whether its answer is a tool's result, which the model reads."""
        return self.seen.method == "tools/call"

    @property
    def writes(self) -> bool:
        """Whether the engine may have changed something because of it."""
        return self.is_call and self.seen.name in WRITING_TOOLS

    @property
    def due(self) -> float | None:
        """When the client is to have an answer at the latest, by the monotonic clock; None for no limit."""
        at_work = self.sending and self.is_call and self.seen.name in LONG_TOOLS
        return None if self.since is None or at_work else self.since + CALL_SECONDS


class Loss(NamedTuple):
    """What becomes of the lines on a link that ended."""

    resend: list[Message]  # the next engine gets them
    uncertain: list[Message]  # writes that may or may not have happened
    fatal: list[Message]  # reads during which two engines have died


class Session:
    """The memory of a pipe: requests in flight, and the lines that set up the client's state."""

    def __init__(self) -> None:
        self._in_flight: dict[tuple[str, object], Message] = {}
        self._answered: dict[tuple[str, object], Message] = {}  # an engine will answer these for nobody
        self._setup: dict[tuple[str, str | None], Message] = {}

    @property
    def expects(self) -> bool:
        """Whether the client waits for an answer."""
        return bool(self._in_flight)

    @property
    def owes(self) -> bool:
        """Whether the client waits for an answer that ends no stream."""
        return any(message.seen.method not in _ENDLESS for message in self._in_flight.values())

    @property
    def waits(self) -> bool:
        """Whether an engine has a request that it has not answered."""
        return any(message.number is not None for message in self._in_flight.values())

    @property
    def first_due(self) -> Message | None:
        """The request in flight that has to be answered next; None if none has a limit."""
        limited = [message for message in self._in_flight.values() if message.due is not None]
        return min(limited, key=lambda message: message.due or 0.0, default=None)

    @property
    def waits_since(self) -> float | None:
        """When the oldest request in flight began to wait, by the monotonic clock."""
        return min((each.since for each in self._in_flight.values() if each.since), default=None)

    def _begin(self) -> None:
        """Let the time of the first calls in flight begin, as many as an engine works on."""
        for message in itertools.islice(self._in_flight.values(), AT_ONCE):
            if message.since is None and message.seen.method not in _ENDLESS:
                message.since = time.monotonic()

    def note_message(self, message: Message) -> None:
        """Remember a line of the client."""
        seen = message.seen
        if message.is_request and seen.key is not None:
            (self._answered if message.answered else self._in_flight)[seen.key] = message
            self._begin()
        elif seen.method == "notifications/cancelled" and seen.request_id is not None:
            self._in_flight.pop(key_of(seen.request_id), None)
        if seen.method in _LAST_OF_EACH:
            self._setup[seen.method, None] = message
        elif seen.method == "resources/subscribe":
            self._setup[seen.method, seen.uri] = message
        elif seen.method == "resources/unsubscribe":
            self._setup.pop(("resources/subscribe", seen.uri), None)

    def note_answer(self, seen: Glance) -> bool:
        """Forget the request that a line of the engine answers; tell whether the client wants the line."""
        if not seen.is_answer or seen.key is None:
            return True
        if self._in_flight.pop(seen.key, None) is not None:
            self._begin()
        return self._answered.pop(seen.key, None) is None

    def replay(self) -> list[Message]:
        """Return the answered lines that bring a new engine to the client's state, in order."""
        return [
            message
            for message in self._setup.values()
            if message.number is not None and message.seen.key not in self._in_flight
        ]

    def sort_loss(self, lines_read: int | None) -> Loss:
        """Sort the requests in flight on a link that ended.

        Args:
            lines_read: how many lines the engine had read when it said goodbye; None if it died without a
                word.
        """
        unsent = {key: each for key, each in self._answered.items() if each.number is None}
        self._answered = {key: each for key, each in unsent.items() if each.answered}
        loss = Loss([], [], [])
        for key, message in list(self._in_flight.items()):
            if message.number is None:
                continue  # it waits to be sent for the first time
            if lines_read is not None and message.number > lines_read:
                loss.resend.append(message)  # the engine never saw it
            elif message.writes:
                loss.uncertain.append(message)
            elif message.repeated and lines_read is None:
                loss.fatal.append(message)
            else:
                message.repeated = message.repeated or lines_read is None
                loss.resend.append(message)
            if message not in loss.resend:
                del self._in_flight[key]
        return loss

    def give_up(self, one: Message | None = None) -> list[Message]:
        """Forget the requests in flight, or `one`, and return them: each gets the reason as its answer."""
        given_up = list(self._in_flight.values()) if one is None else [one]
        for message in given_up:
            key = message.seen.key
            assert key is not None
            del self._in_flight[key]
            if message.sending:
                self._answered[key] = message
        self._setup = {slot: message for slot, message in self._setup.items() if message not in given_up}
        self._begin()
        return given_up
