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

# Requested version -> offered version. The requested version requires batches of JSON-RPC; see DECISIONS.
VERSION_SUBSTITUTES = {"2025-03-26": "2024-11-05"}

_VERSION = "io.modelcontextprotocol/protocolVersion"
_VERSION_KEY = _VERSION.encode()
_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
_CLIENT = "io.modelcontextprotocol/clientInfo"


class Offer:
    """The answers for one client, which uses one of two protocol styles.

    `handshake`: the client sends `initialize` first; `modern`: each request carries its protocol version. An
    engine keeps to the style of its first request, and refuses requests in the other style.
    """

    def __init__(self, answers: dict[str, Any]) -> None:
        """Take {style: {"versions": [oldest, ...], "answers": {method: {"result" or "error": ...}}}}."""
        self._offer = answers
        self._style: str | None = None  # the style of the first request for an engine
        self._initialized = False

    def answer(self, message: Message) -> bytes | None:
        """Return the line that answers a request, or None if only an engine can answer it."""
        if not message.is_request:
            return None
        method, style = message.parts.method, _style(message)
        answer: dict[str, Any] | None = self._offer[style]["answers"].get(method)
        request = self.parse(message) if answer is not None else None
        if request is None or answer is None or (request.params and method != "initialize"):
            self._style = self._style or style
            return None
        if method == "initialize":
            self._style, self._initialized = style, True
            versions = self._offer[style]["versions"]
            requested = request.params["protocolVersion"]
            requested = VERSION_SUBSTITUTES.get(requested, requested)
            agreed = requested if requested in versions else versions[-1]
            answer = {"result": {**answer["result"], "protocolVersion": agreed}}
        return line_of({"jsonrpc": "2.0", "id": message.parts.id, **answer})

    def parse(self, message: Message) -> PlainRequest | None:
        """Parse a request; return None if its form is unusual, or if it does not fit at this point."""
        style = _style(message)
        if self._style not in (None, style):
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
        if message.parts.method == "initialize":
            client, capabilities = params.get("clientInfo"), params.get("capabilities")
            is_plain = isinstance(params.get("protocolVersion"), str) and _is_client(capabilities, client)
        elif style == "modern":
            client, capabilities = meta.get(_CLIENT, {"name": "", "version": ""}), meta.get(_CAPABILITIES)
            versions = self._offer[style]["versions"]
            is_plain = meta.get(_VERSION) in versions and _is_client(capabilities, client)
        else:
            is_plain = self._initialized
        return PlainRequest(params, meta.get("progressToken"), style == "modern") if is_plain else None


class PlainRequest(NamedTuple):
    """A request in the usual form, parsed."""

    params: dict[str, Any]  # without `_meta`
    token: int | str | None  # for progress reports
    modern: bool


def _style(message: Message) -> str:
    return "modern" if message.parts.method != "initialize" and _VERSION_KEY in message.line else "handshake"


def _is_client(capabilities: object, client: object) -> bool:
    """Return True if a client describes itself as the protocol requires."""
    return (
        isinstance(capabilities, dict)
        and all(isinstance(capability, dict) for capability in capabilities.values())
        and isinstance(client, dict)
        and all(isinstance(client.get(name), str) for name in ("name", "version"))
    )


def read_offer(path: str = OFFER_FILE) -> Offer:
    """Read this version's answers."""
    with open(path, encoding="utf-8") as file:
        return Offer(json.load(file))
