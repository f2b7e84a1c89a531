"""Reads the few parts of a line's JSON that decide its route, and refuses lines with too many parts.

Standard library only.
"""

import itertools
import json
import math
import re
from typing import Any, NamedTuple

from scrubjay.wire.lines import EXCERPT, TooLong

RequestId = str | int | float

MOST_MARKS = 500_000  # strings, commas and brackets of JSON: 300 turns of an import have at most half as many
# Limits for a model's client: they fit 10 MB of text, nearly all of it escaped; no tool takes a thousand
# values. An engine took 8 s and 1.9 GB for 18 MB of short values, and 4 GB for a text of 60 MB.
CALL_LIMIT = 32 * 1024 * 1024
CALL_MARKS = 20_000
LARGE = 1024 * 1024  # bytes; longer lines are processed one at a time
# UTF-16 and UTF-32 contain NUL bytes; half a letter may look like a quote there, so marks cannot be counted.
NOT_UTF_8 = "This contains NUL bytes. Send JSON in UTF-8."
NOT_JSON = "This line is not JSON. Send one JSON object per line, in UTF-8."

_STRING = rb'"(?:[^"\\]++|\\.)*+"'  # possessive, so that a long string takes one pass and no memory
# An unclosed string is one piece: otherwise each quote in it would be tried as the start of a string.
_PIECE = re.compile(_STRING + rb"?|[{}\[\],]", re.DOTALL)
_ID = rb'"id"\s*:\s*(' + _STRING + rb"|-?\d+)\s*"
_FIRST_ID = re.compile(
    rb'\s*\{(?:\s*"(?:jsonrpc|method)"\s*:\s*' + _STRING + rb"\s*,)*\s*" + _ID + rb"[,}]", re.DOTALL
)
_LAST_ID = re.compile(
    rb"[,{]\s*" + _ID + rb'(?:,\s*"(?:jsonrpc|method)"\s*:\s*' + _STRING + rb"\s*)*\}\s*\Z", re.DOTALL
)
# The beginning of an engine's answer, which may have 64 MiB.
_ANSWER = re.compile(
    rb'\{(?:"jsonrpc":"2\.0",)?"id":(' + _STRING + rb'|-?\d+),"(?:result|error)":', re.DOTALL
)

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


class Glance(NamedTuple):
    """The parts of a message that decide its route; None for a missing part."""

    id: RequestId | None = None
    method: str | None = None
    name: str | None = None  # params.name: the tool to call
    uri: str | None = None  # params.uri: the resource of a subscription
    request_id: RequestId | None = None  # params.requestId: the request to cancel
    is_answer: bool = False  # it has a result or an error
    has_bad_id: bool = False  # the id is neither a string nor a number
    problem: str | None = None  # why it is not parsed: too many marks, or not JSON in UTF-8

    @property
    def key(self) -> tuple[str, object] | None:
        """The id with its type, because 1 and "1" are two different requests."""
        return None if self.id is None else key_of(self.id)


def key_of(request_id: object) -> tuple[str, object]:
    """Return a request id as a dictionary key."""
    return type(request_id).__name__, request_id


def glance(line: bytes, limit: int = CALL_MARKS) -> Glance:
    """Read the parts of a line that decide its route; if it has more than `limit` marks, only its id.

    >>> glance(b'{"method":"tools/call","params":{"name":"forget","arguments":{"id":5}},"id":"7"}')[:3]
    ('7', 'tools/call', 'forget')
    """
    if isinstance(line, TooLong):
        return Glance(id=_id_of_excerpt(line))
    if b"\x00" in line or is_crowded(line, limit):
        ends = line[:EXCERPT] + b"\n" + line[-EXCERPT:]
        return Glance(id=_id_of_excerpt(ends), problem=NOT_UTF_8 if b"\x00" in line else crowded_error(limit))
    try:
        fields = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return Glance(problem=NOT_JSON)
    if not isinstance(fields, dict):
        return Glance()
    params = fields.get("params")
    params = params if isinstance(params, dict) else {}
    request_id = _request_id(fields.get("id"))
    return Glance(
        id=request_id,
        method=_text(fields.get("method")),
        name=_text(params.get("name")),
        uri=_text(params.get("uri")),
        request_id=_request_id(params.get("requestId")),
        is_answer="result" in fields or "error" in fields,
        has_bad_id=request_id is None and "id" in fields,
    )


def answered_key(line: bytes) -> tuple[str, object] | None:
    """Return the key of the request that an engine's line answers; None if the line is not an answer.

    >>> answered_key(b'{"jsonrpc":"2.0","id":7,"result":{}}'), answered_key(b'{"method":"x"}')
    (('int', 7), None)
    """
    if match := _ANSWER.match(line):
        return key_of(json.loads(match[1]))
    parts = glance(line, MOST_MARKS)
    return parts.key if parts.is_answer else None


def is_crowded(data: bytes | bytearray, limit: int) -> bool:
    """Return True if a JSON text in UTF-8 has more than `limit` marks; stop counting there."""
    return len(data) > limit and next(itertools.islice(_PIECE.finditer(data), limit, None), None) is not None


def crowded_error(limit: int) -> str:
    """Return the error for a line or body with more than `limit` marks."""
    return f"At most {limit:,} strings, commas and brackets are accepted at once. Send this in parts."


def well_formed(line: bytes) -> bytes:
    r"""Replace each unpaired surrogate with the replacement character.

    Clients that cut a text inside an emoji send half of a pair, and strict readers refuse the whole line.

    >>> json.loads(well_formed(rb'{"a":"\ud83d\ude00 \ud83d!","b":"\\ud83d"}'))
    {'a': '😀 \ufffd!', 'b': '\\ud83d'}
    """
    if _SURROGATE.search(line) is None:
        return line
    try:
        text = json.dumps(json.loads(line.decode("utf-8", "replace")), ensure_ascii=False)
    except (ValueError, RecursionError):
        return line
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _id_of_excerpt(line: bytes) -> RequestId | None:
    """Read the id from the two ends of a line: clients write it first or last."""
    match = _FIRST_ID.match(line) or _LAST_ID.search(line)
    try:
        return json.loads(match[1]) if match else None
    except ValueError:  # a number of thousands of digits, or a text with a control character
        return None


def _request_id(value: Any) -> RequestId | None:
    is_id = isinstance(value, str | int | float) and not isinstance(value, bool)
    return value if is_id and (isinstance(value, str) or math.isfinite(value)) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
