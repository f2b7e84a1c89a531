"""The answers of the engine's MCP server, for `pipe/offer.json`; as a script, it writes that file.

python tests/support/offering.py
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import anyio
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from scrubjay.engine.engine import Engine
from scrubjay.home.paths import Home
from scrubjay.mcp_server.server import build_server
from scrubjay.pipe.offer import OFFER_FILE

META = "io.modelcontextprotocol/"
CLIENT = {"name": "a client", "version": "1"}
LISTS = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")


def request(method: str, params: object = None, number: object = 1) -> dict[str, Any]:
    given = {} if params is None else {"params": params}
    return {"jsonrpc": "2.0", "id": number, "method": method, **given}


def hello(version: object, **more: object) -> dict[str, Any]:
    about = {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT}
    return request("initialize", about | more, 0)


def envelope(version: object, **more: object) -> dict[str, Any]:
    return {
        "_meta": {
            f"{META}protocolVersion": version,
            f"{META}clientCapabilities": {},
            f"{META}clientInfo": CLIENT,
        }
        | more
    }


async def engine_answers(
    requests: Iterable[dict[str, Any]], server: Server[Any] | None = None
) -> dict[Any, dict[str, Any]]:
    """The answers of the SDK's server to one connection's requests, by their ids."""
    server = server or build_server(Engine(Home("/nowhere")))
    sent, answers = list(requests), {}
    done = anyio.Event()

    async def lines() -> AsyncIterator[str]:
        for each in sent:
            yield json.dumps(each)
        await done.wait()

    class Output:
        async def write(self, line: str) -> None:
            answer = json.loads(line)
            answers[answer.pop("id")] = answer
            if len(answers) == sum("id" in each for each in sent):
                done.set()

        async def flush(self) -> None:
            pass

    async with stdio_server(stdin=lines(), stdout=Output()) as (read, write):
        await server.run(read, write, server.create_initialization_options())
    return answers


async def everything() -> dict[str, Any]:
    """The contents of `offer.json`."""
    legacy, modern = HANDSHAKE_PROTOCOL_VERSIONS[-1], MODERN_PROTOCOL_VERSIONS[-1]
    initialize = ("initialize", hello(legacy)["params"])
    handshake = [initialize, *((method, None) for method in ("ping", *LISTS))]
    enveloped = [(method, envelope(modern)) for method in ("server/discover", *LISTS)]
    ways = {
        "handshake": (HANDSHAKE_PROTOCOL_VERSIONS, handshake),
        "modern": (MODERN_PROTOCOL_VERSIONS, enveloped),
    }
    written = {}
    for way, (versions, asked) in ways.items():
        answers = await engine_answers(request(method, params, method) for method, params in asked)
        for answer in answers.values():
            del answer["jsonrpc"]
        written[way] = {"versions": list(versions), "answers": answers}
    return written


if __name__ == "__main__":
    text = json.dumps(anyio.run(everything), separators=(",", ":"), ensure_ascii=False)
    Path(OFFER_FILE).write_text(text.replace('},"', '},\n"') + "\n", encoding="utf-8")
    sys.stdout.write(f"{OFFER_FILE}: {len(text):,} characters\n")
