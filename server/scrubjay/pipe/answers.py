"""The answers a pipe gives when no engine can. Knows JSON-RPC; the sentences come from elsewhere, but for those about lost calls.

A JSON-RPC error never reaches the model, so a tool call is answered with a result that says it is an error.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

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
    return _error(request_id, _INVALID_REQUEST, f"A line may have {limit} bytes, and this one has more. Send it in parts.")


def _error(request_id: object, code: int, sentence: str) -> bytes:
    return _line({"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": sentence}})


def _line(message: dict) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"
