"""Bytes cut into lines with an upper limit, and the few parts of a line's JSON that decide where it goes.

Standard library only. A long line is never parsed whole: it may have 32 MiB, and a pipe must not hold it
twice.
"""

import itertools
import json
import math
import re
from collections.abc import Iterator
from typing import NamedTuple

RequestId = str | int | float

# What a pipe asks an engine that is silent, and what it answers as long as its event loop turns.
BEAT = b'{"scrubjay":"beat"}\n'
LINE_LIMIT = 64 * 1024 * 1024  # bytes, both ways: a document of ten million characters, nearly all escaped
MOST_MARKS = 500_000  # texts, commas and brackets of JSON: 300 turns of an import have at most half as many
# What a model's client may send: 10 MB of text, nearly all of it escaped; no tool takes a thousand values. An
# engine took 8 s and 1.9 GB for 18 MB of short ones, and 4 GB for 60 MB of one text.
CALL_LIMIT = 32 * 1024 * 1024
CALL_MARKS = 20_000
LARGE = 1024 * 1024  # bytes; of longer ones one at a time is worked on
# UTF-16 and 32 have them, in which half a letter may look like a quote, so that no mark can be counted.
NOT_UTF_8 = "This contains NUL bytes. Send JSON in UTF-8."
_EXCERPT = 4096  # bytes kept of each end of a line that is too long: enough to find the id of a request

_STRING = rb'"(?:[^"\\]++|\\.)*+"'  # possessive, so that a long string costs one pass and no memory
# A string that is never closed is one piece: else each of its quotes would be looked at as the first of one.
_PIECE = re.compile(_STRING + rb"?|[{}\[\],]", re.DOTALL)
_VALUE = re.compile(rb"\s*:\s*(" + _STRING + rb"|[^\s,{}\[\]\"]+)?", re.DOTALL)
_ID = rb'"id"\s*:\s*(' + _STRING + rb"|-?\d+)\s*"
_FIRST_ID = re.compile(
    rb'\s*\{(?:\s*"(?:jsonrpc|method)"\s*:\s*' + _STRING + rb"\s*,)*\s*" + _ID + rb"[,}]", re.DOTALL
)
_LAST_ID = re.compile(
    rb"[,{]\s*" + _ID + rb'(?:,\s*"(?:jsonrpc|method)"\s*:\s*' + _STRING + rb"\s*)*\}\s*\Z", re.DOTALL
)
_LONGEST_KEY = len(b'"requestId"')

_SPACE = re.compile(r"\s*")
_JSON = json.JSONDecoder(parse_int=float)  # digits without end cost a square as an int

_ANSWER = {b'"result"', b'"error"'}
_TOP = {b'"id"', b'"method"', b'"params"'} | _ANSWER
_PARAMS = {b'"name"', b'"uri"', b'"requestId"'}

_HIGH, _LOW = rb"\\u[dD][89abAB][0-9a-fA-F]{2}", rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
# Whole pairs, or a half. A backslash behind an odd number of them is a character of the text.
_HALVES = re.compile(rb"(?<!\\)(?:\\\\)*+(?:(?:" + _HIGH + _LOW + rb")++|(" + _HIGH + rb"|" + _LOW + rb"))")
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
_REPLACEMENT = rb"\ufffd"  # the character that says that another was there; as long as what it replaces


class TooLong(bytes):
    """The first and the last bytes of a line above the limit, with a newline between."""


class LineCutter:
    """Cuts one stream into lines. Of a line above `limit` bytes only a `TooLong` comes out."""

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        self.limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._head: bytes | None = None  # of the line that is being dropped

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that end in `data`, each with its newline."""
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
        """Return what came after the last newline, and empty the cutter."""
        return self._take() if self._parts else b""

    def _add(self, part: bytes) -> None:
        self._parts.append(part)
        self._size += len(part)
        if self._size > self.limit + 1:  # the newline does not count
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


class Glance(NamedTuple):
    """The parts of one message that decide where it goes; None if it has no such part."""

    id: RequestId | None = None
    method: str | None = None
    name: str | None = None  # params.name: the tool of a call
    uri: str | None = None  # params.uri: the resource of a subscription
    request_id: RequestId | None = None  # params.requestId: what a cancellation cancels
    is_answer: bool = False  # it has a result or an error
    has_bad_id: bool = False  # one that is neither text nor a number, such as null
    problem: str | None = None  # why nobody parses it: it has too many marks, or is no JSON in UTF-8

    @property
    def key(self) -> tuple[str, object] | None:
        """The id with its type, because 1 and "1" are two requests."""
        return None if self.id is None else key_of(self.id)


def key_of(request_id: object) -> tuple[str, object]:
    """Make a request id a key of a table."""
    return type(request_id).__name__, request_id


def glance(line: bytes, most: int = CALL_MARKS) -> Glance:
    """Read the parts of a line, of at most so many marks; an empty Glance if it is not a JSON object.

    >>> glance(b'{"method":"tools/call","params":{"name":"forget","arguments":{"id":5}},"id":"7"}')[:3]
    ('7', 'tools/call', 'forget')
    """
    if isinstance(line, TooLong):
        return Glance(id=_id_of_excerpt(line))
    parts: dict[bytes, bytes | None] = {}
    depth = 0
    section = b""
    problem = None
    for number, piece in enumerate(_PIECE.finditer(line)):
        start, end = piece.span()
        mark = line[start : start + 1]
        if number >= most:
            problem = crowded(most)
            break
        if mark == b",":
            continue
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
                parts[key] = value[1]
                if key in _ANSWER and b'"id"' in parts:
                    break  # an answer needs no more, and what follows may be 64 MiB
        elif depth == 1 and _VALUE.match(line, end) is not None:
            section = b""
    request_id = _value(parts.get(b'"id"'))
    if b"\x00" in line:
        problem = NOT_UTF_8
    if problem and request_id is None:
        request_id = _id_of_excerpt(line[-_EXCERPT:])
    return Glance(
        id=request_id,
        method=_text(parts.get(b'"method"')),
        name=_text(parts.get(b'"name"')),
        uri=_text(parts.get(b'"uri"')),
        request_id=_value(parts.get(b'"requestId"')),
        is_answer=not _ANSWER.isdisjoint(parts),
        has_bad_id=request_id is None and b'"id"' in parts,
        problem=problem,
    )


def messages(line: bytes) -> Iterator[bytes | None]:
    """Yield each JSON value of a line as a line of its own, and None for a rest that is no JSON.

    A line that is long, or that an engine has to judge, stays whole.

    >>> list(messages(b'{"id":1} {"id":2}{'))
    [b'{"id":1}\\n', b'{"id":2}\\n', None]
    """
    if len(line) > LARGE or b"\x00" in line:
        yield line
        return
    text = line.decode("utf-8", "surrogateescape").removeprefix("\ufeff").rstrip()
    start = 0
    while start < len(text):
        try:
            start = _SPACE.match(text, start).end()  # type: ignore[union-attr]  # it matches anything
            _, end = _JSON.raw_decode(text, start)
        except RecursionError:
            end = len(text)
        except ValueError:
            yield None
            return
        yield text[start:end].encode("utf-8", "surrogateescape") + b"\n"
        start = end


def is_crowded(data: bytes | bytearray, most: int) -> bool:
    """Tell whether a JSON text in UTF-8 has more marks than that; it is read no further."""
    return len(data) > most and next(itertools.islice(_PIECE.finditer(data), most, None), None) is not None


def crowded(most: int) -> str:
    """Return the answer to a line or a body of more marks."""
    return f"At most {most:,} texts, commas and brackets are taken at once; this has more. Send it in parts."


def well_formed(line: bytes) -> bytes:
    r"""Put the replacement character in the place of each half of a surrogate pair, which is no text.

    Clients that cut a text amid an emoji send such halves, and strict readers refuse the whole line.

    >>> well_formed(rb'{"a":"\ud83d\ude00 \ud83d!","b":"\\ud83d"}')
    b'{"a":"\\ud83d\\ude00 \\ufffd!","b":"\\\\ud83d"}'
    """
    if _HALF.search(line) is None:
        return line
    whole = bytearray(line)  # changed in place: a list of what stands between took 45 times the line
    for found in _HALVES.finditer(line):
        if found[1]:
            whole[found.start(1) : found.end(1)] = _REPLACEMENT
    return bytes(whole)


def _id_of_excerpt(line: bytes) -> RequestId | None:
    """Read the id of a line of which only both ends are left: clients write it first or last."""
    match = _FIRST_ID.match(line) or _LAST_ID.search(line)
    return _value(match[1]) if match else None


def _value(raw: bytes | None) -> RequestId | None:
    if raw is None:
        return None
    try:
        value = json.loads(raw)
    except ValueError:
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float) and not isinstance(value, bool) else None


def _text(raw: bytes | None) -> str | None:
    value = _value(raw)
    return value if isinstance(value, str) else None
