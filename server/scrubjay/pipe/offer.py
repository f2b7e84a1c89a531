"""Answers a client's first requests without an engine, because the answers only depend on the version.

`offer.json` holds the answers of the engine's MCP server; `python tests/support/offering.py` writes it. A
request in an unusual form is left to an engine.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, NamedTuple

from scrubjay.wire.hello import line_of

if TYPE_CHECKING:
    from typing import Any

    from scrubjay.pipe.session import Message

OFFER_FILE = os.path.join(os.path.dirname(__file__), "offer.json")

# The answer to a client that asks for the one version that requires batches of JSON-RPC; see DECISIONS.
INSTEAD = {"2025-03-26": "2024-11-05"}

_VERSION = "io.modelcontextprotocol/protocolVersion"
_VERSION_KEY = _VERSION.encode()
_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
_CLIENT = "io.modelcontextprotocol/clientInfo"


class Offer:
    """The answers for one client, which uses one of two protocol styles.

    `handshake`: the client sends `initialize` first; `modern`: each request carries its protocol version. An
    engine keeps to the style of its first request, and refuses the other.
    """

    def __init__(self, answers: dict[str, Any]) -> None:
        """Take {way: {"versions": [oldest, ...], "answers": {method: {"result" or "error": ...}}}}."""
        self._offered = answers
        self._way: str | None = None  # the style of the first request for an engine
        self._initialized = False

    def answer(self, message: Message) -> bytes | None:
        """Return the line that answers a request, or None if it takes an engine."""
        if not message.is_request:
            return None
        method, way = message.seen.method, _way(message)
        answer: dict[str, Any] | None = self._offered[way]["answers"].get(method)
        usual = self.usual(message) if answer is not None else None
        if usual is None or answer is None or (usual.params and method != "initialize"):
            self._way = self._way or way
            return None
        if method == "initialize":
            self._way, self._initialized = way, True
            versions = self._offered[way]["versions"]
            asked = INSTEAD.get(usual.params["protocolVersion"], usual.params["protocolVersion"])
            agreed = asked if asked in versions else versions[-1]
            answer = {"result": {**answer["result"], "protocolVersion": agreed}}
        return line_of({"jsonrpc": "2.0", "id": message.seen.id, **answer})

    def usual(self, message: Message) -> Usual | None:
        """Parse a request in the usual form that fits this point of the conversation."""
        way = _way(message)
        if self._way not in (None, way):
            return None
        try:
            request = json.loads(message.line)
        except (ValueError, RecursionError):
            return None
        params = request.get("params", {})
        if request.get("jsonrpc") != "2.0" or not isinstance(params, dict):
            return None
        meta = params.pop("_meta", {})
        if not isinstance(meta, dict) or type(meta.get("progressToken", 0)) not in (int, str):
            return None
        if message.seen.method == "initialize":
            about, capabilities = params.get("clientInfo"), params.get("capabilities")
            right = isinstance(params.get("protocolVersion"), str) and _is_client(capabilities, about)
        elif way == "modern":
            about, capabilities = meta.get(_CLIENT, {"name": "", "version": ""}), meta.get(_CAPABILITIES)
            right = meta.get(_VERSION) in self._offered[way]["versions"] and _is_client(capabilities, about)
        else:
            right = self._initialized
        return Usual(params, meta.get("progressToken"), way == "modern") if right else None


class Usual(NamedTuple):
    """A request in the usual form."""

    params: dict[str, Any]  # without `_meta`
    token: int | str | None  # for progress reports
    modern: bool


def _way(message: Message) -> str:
    return "modern" if message.seen.method != "initialize" and _VERSION_KEY in message.line else "handshake"


def _is_client(capabilities: object, about: object) -> bool:
    """Return True if a client describes itself as the protocol requires."""
    return (
        isinstance(capabilities, dict)
        and all(isinstance(each, dict) for each in capabilities.values())
        and isinstance(about, dict)
        and all(isinstance(about.get(name), str) for name in ("name", "version"))
    )


def read_offer(path: str = OFFER_FILE) -> Offer:
    """Read this version's answers."""
    with open(path, encoding="utf-8") as file:
        return Offer(json.load(file))
