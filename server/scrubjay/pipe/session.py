"""What one client has said so far that a new engine would have to hear again. Knows requests and their order; moves no bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from scrubjay.wire.lines import glance, key_of

if TYPE_CHECKING:
    from scrubjay.wire.lines import Glance

WRITING_TOOLS = frozenset({"add_memory", "record_turn", "add_document", "forget"})

_KEPT_ONCE = {"initialize", "notifications/initialized", "logging/setLevel"}


class Outgoing:
    """One line of the client and how far it got: `number` is its place on the current link, None while it is unsent."""

    __slots__ = ("again", "line", "number", "seen")

    def __init__(self, line: bytes) -> None:
        self.line = line
        self.seen = glance(line)
        self.number: int | None = None
        self.again = False  # it was in flight once before when an engine died

    @property
    def is_request(self) -> bool:
        """Whether the client waits for an answer to it."""
        return self.seen.method is not None and self.seen.key is not None

    @property
    def is_call(self) -> bool:
        """Whether its answer is a tool's result, which the model reads."""
        return self.seen.method == "tools/call"

    @property
    def writes(self) -> bool:
        """Whether the engine may have changed something because of it."""
        return self.is_call and self.seen.name in WRITING_TOOLS


class Loss(NamedTuple):
    """What the end of a link means for the lines on it."""

    again: list[Outgoing]  # to be sent to the next engine
    unsure: list[Outgoing]  # writes that may or may not have happened
    deadly: list[Outgoing]  # reads during which two engines have died


class Session:
    """The memory of a pipe: requests in flight, and the lines that set up the client's state."""

    def __init__(self) -> None:
        self._in_flight: dict[tuple[str, object], Outgoing] = {}
        self._kept: dict[tuple[str, str | None], Outgoing] = {}

    def heard(self, out: Outgoing) -> None:
        """Note a line of the client."""
        seen = out.seen
        if out.is_request and seen.key is not None:
            self._in_flight[seen.key] = out
        elif seen.method == "notifications/cancelled" and seen.request_id is not None:
            self._in_flight.pop(key_of(seen.request_id), None)
        if seen.method in _KEPT_ONCE:
            self._kept[seen.method, None] = out
        elif seen.method == "resources/subscribe":
            self._kept[seen.method, seen.uri] = out
        elif seen.method == "resources/unsubscribe":
            self._kept.pop(("resources/subscribe", seen.uri), None)

    def answered(self, seen: Glance) -> None:
        """Note a line of the engine."""
        if seen.is_answer and seen.key is not None:
            self._in_flight.pop(seen.key, None)

    def replay(self) -> list[Outgoing]:
        """The lines that bring a new engine to the client's state, in order; requests among them were answered once already."""
        return [
            out
            for out in self._kept.values()
            if out.number is not None and out.seen.key not in self._in_flight
        ]

    def lost(self, lines_read: int | None) -> Loss:
        """Sort what was in flight on a link that ended.

        Args:
            lines_read: how many lines of that link the engine had read when it said goodbye; None when it died without a word.
        """
        loss = Loss([], [], [])
        for key, out in list(self._in_flight.items()):
            if out.number is None:
                continue  # still waiting to be sent for the first time
            if lines_read is not None and out.number > lines_read:
                loss.again.append(out)  # the engine never saw it
            elif out.writes:
                loss.unsure.append(out)
            elif out.again and lines_read is None:
                loss.deadly.append(out)
            else:
                out.again = out.again or lines_read is None
                loss.again.append(out)
            if out not in loss.again:
                del self._in_flight[key]
        return loss

    def refused(self) -> list[Outgoing]:
        """Everything in flight, given up: the requests to answer with the reason."""
        given_up = list(self._in_flight.values())
        self._in_flight.clear()
        self._kept = {slot: out for slot, out in self._kept.items() if out not in given_up}
        return given_up
