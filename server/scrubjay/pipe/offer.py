"""Answers a client's first questions at once, without an engine: they are the same for all of one version.

`offer.json` holds what the engine's MCP server says; `python tests/offering.py` writes it. A request of an
unusual form gets no answer here: an engine judges it.
"""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without its import
if TYPE_CHECKING:
    from typing import Any

    from scrubjay.pipe.session import Message

OFFER_FILE = os.path.join(os.path.dirname(__file__), "offer.json")

_LONGEST = 64 * 1024  # bytes of a request that is parsed here
_VERSION = "io.modelcontextprotocol/protocolVersion"
_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
_CLIENT = "io.modelcontextprotocol/clientInfo"


class Offer:
    """The answers to one client, who speaks in one of two ways.

    `handshake`: the client sends `initialize` first; `modern`: each request carries its protocol version. An
    engine keeps to the way of the first request that it gets, and refuses the other.
    """

    def __init__(self, answers: dict[str, Any]) -> None:
        """Take {way: {"versions": [oldest, ...], "answers": {method: {"result" or "error": ...}}}}."""
        self._answers = answers
        self._way: str | None = None  # of the first request for an engine
        self._initialized = False

    def answer(self, message: Message) -> bytes | None:
        """Return the line that answers a request; None if only an engine can."""
        if not message.is_request:
            return None
        opening = message.seen.method == "initialize"
        way = "modern" if not opening and _VERSION.encode() in message.line else "handshake"
        answer = self._find(way, message) if self._way in (None, way) else None
        if opening or answer is None:
            self._way = self._way or way
        if answer is None:
            return None
        self._initialized = self._initialized or opening
        return json.dumps({"jsonrpc": "2.0", "id": message.seen.id, **answer}).encode() + b"\n"

    def _find(self, way: str, message: Message) -> dict[str, Any] | None:
        method, offered = message.seen.method, self._answers[way]
        answer: dict[str, Any] | None = offered["answers"].get(method)
        if answer is None or len(message.line) > _LONGEST:
            return None
        try:
            request = json.loads(message.line)
        except (ValueError, RecursionError):
            return None
        params = request.get("params", {})
        if request.get("jsonrpc") != "2.0" or not isinstance(params, dict):
            return None
        meta = params.pop("_meta", {})
        if not isinstance(meta, dict) or not isinstance(meta.get("progressToken", 0), (int, str)):
            return None
        if method == "initialize":
            return _initialized(answer, params, offered["versions"])
        if way == "modern":
            version, about = meta.get(_VERSION), meta.get(_CLIENT, _NOBODY)
            usual = version in offered["versions"] and _is_client(meta.get(_CAPABILITIES), about)
        else:
            usual = self._initialized
        return answer if usual and not params else None


_NOBODY = {"name": "", "version": ""}


def _initialized(
    answer: dict[str, Any], params: dict[str, Any], versions: list[str]
) -> dict[str, Any] | None:
    """Agree on the client's protocol version, or on the newest."""
    asked = params.get("protocolVersion")
    if not isinstance(asked, str) or not _is_client(params.get("capabilities"), params.get("clientInfo")):
        return None
    agreed = asked if asked in versions else versions[-1]
    return {"result": {**answer["result"], "protocolVersion": agreed}}


def _is_client(capabilities: object, about: object) -> bool:
    """Tell whether a client describes itself as the protocol asks."""
    return (
        isinstance(capabilities, dict)
        and all(isinstance(each, dict) for each in capabilities.values())
        and isinstance(about, dict)
        and all(isinstance(about.get(name), str) for name in ("name", "version"))
    )


def read_offer(path: str = OFFER_FILE) -> Offer:
    """Read the answers of this version."""
    with open(path, encoding="utf-8") as file:
        return Offer(json.load(file))
