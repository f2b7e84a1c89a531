"""Bytes cut into lines, with an upper limit. Knows newlines; does not know JSON or sockets. Standard library only."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

LINE_LIMIT = 64 * 1024 * 1024  # bytes, both ways
_EXCERPT = 4096  # bytes kept of each end of a line that is too long: enough to find the id of a request


class TooLong(bytes):
    """What is kept of a line above the limit: its first and its last bytes, with a newline between."""


class LineCutter:
    """The lines of one stream. A line above `limit` bytes is dropped while it arrives and comes out as a `TooLong`."""

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._head: bytes | None = None  # of the line being dropped

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that end in `data`, each with its newline."""
        lines = []
        start = 0
        while (end := data.find(b"\n", start) + 1) > 0:
            self._add(data[start:end] if start or end < len(data) else data)
            lines.append(self._take())
            start = end
        if start < len(data):
            self._add(data[start:])
        return lines

    def rest(self) -> bytes:
        """What came after the last newline; the cutter is empty afterwards."""
        return self._take() if self._parts else b""

    def _add(self, part: bytes) -> None:
        self._parts.append(part)
        self._size += len(part)
        if self._size > self._limit + 1:  # the newline does not count
            whole = b"".join(self._parts)
            if self._head is None:
                self._head = whole[:_EXCERPT]
            self._parts = [whole[-_EXCERPT:]]

    def _take(self) -> bytes:
        line = b"".join(self._parts)
        if self._head is not None:
            line = TooLong(self._head + b"\n" + line)
        self._parts, self._size, self._head = [], 0, None
        return line


_STRING = rb'"(?:[^"\\]++|\\.)*+"'  # possessive, so that a long string costs one pass and no memory
_PIECE = re.compile(_STRING + rb"|[{}\[\]]", re.DOTALL)
_VALUE = re.compile(rb"\s*:\s*(" + _STRING + rb"|[^\s,{}\[\]\"]+)?", re.DOTALL)
_ID = rb'"id"\s*:\s*(' + _STRING + rb"|-?\d+)\s*"
_FIRST_ID = re.compile(
    rb'\s*\{(?:\s*"(?:jsonrpc|method)"\s*:\s*' + _STRING + rb"\s*,)*\s*" + _ID + rb"[,}]", re.DOTALL
)
_LAST_ID = re.compile(rb"[,{]\s*" + _ID + rb"\}\s*\Z", re.DOTALL)
_LONGEST_KEY = len(b'"requestId"')

_ANSWER = {b'"result"', b'"error"'}
_TOP = {b'"id"', b'"method"', b'"params"'} | _ANSWER
_PARAMS = {b'"name"', b'"uri"', b'"requestId"'}


class Glance(NamedTuple):
    """The parts of one message that decide where it goes; None where it has no such part."""

    id: str | int | float | None = None
    method: str | None = None
    name: str | None = None  # params.name: the tool of a call
    uri: str | None = None  # params.uri: the resource of a subscription
    request_id: str | int | float | None = None  # params.requestId: what a cancellation cancels
    is_answer: bool = False  # it carries a result or an error

    @property
    def key(self) -> tuple[str, object] | None:
        """The id with its type, because 1 and "1" are two requests."""
        return None if self.id is None else key_of(self.id)


def key_of(request_id: object) -> tuple[str, object]:
    """A request id as a key of a table."""
    return type(request_id).__name__, request_id


def glance(line: bytes) -> Glance:
    """The parts of a line; an empty Glance for what is not a JSON object.

    >>> glance(b'{"method":"tools/call","params":{"name":"forget","arguments":{"id":5}},"jsonrpc":"2.0","id":"7"}')
    Glance(id='7', method='tools/call', name='forget', uri=None, request_id=None, is_answer=False)
    """
    if isinstance(line, TooLong):
        return Glance(id=_id_of_excerpt(line))
    found: dict[bytes, bytes | None] = {}
    depth = 0
    section = b""
    for piece in _PIECE.finditer(line):
        start, end = piece.span()
        mark = line[start : start + 1]
        if mark in b"{[":
            depth += 1
        elif mark in b"}]":
            depth -= 1
        elif depth <= 2 and end - start <= _LONGEST_KEY:
            value = _VALUE.match(line, end)
            if value is None:
                continue  # a string, but not a key
            key = piece[0]
            if depth == 1:
                section = key
            if key in _TOP if depth == 1 else section == b'"params"' and key in _PARAMS:
                found[key] = value[1]
                if key in _ANSWER and b'"id"' in found:
                    break  # an answer needs no more, and what follows may be 64 MiB
        elif depth == 1 and _VALUE.match(line, end) is not None:
            section = b""
    return Glance(
        id=_value(found.get(b'"id"')),
        method=_text(found.get(b'"method"')),
        name=_text(found.get(b'"name"')),
        uri=_text(found.get(b'"uri"')),
        request_id=_value(found.get(b'"requestId"')),
        is_answer=not _ANSWER.isdisjoint(found),
    )


def _id_of_excerpt(line: bytes) -> str | int | float | None:
    """The id of a line of which only both ends are left: clients write it first or last."""
    found = _FIRST_ID.match(line) or _LAST_ID.search(line)
    return _value(found[1]) if found else None


def _value(raw: bytes | None) -> str | int | float | None:
    if raw is None:
        return None
    try:
        value = json.loads(raw)
    except ValueError:
        return None
    return value if isinstance(value, str | int | float) and not isinstance(value, bool) else None


def _text(raw: bytes | None) -> str | None:
    value = _value(raw)
    return value if isinstance(value, str) else None
