"""An MCP client in a few lines of the standard library: it starts a server as a host would and speaks JSON-RPC over its pipes."""

from __future__ import annotations

import itertools
import json
import subprocess
from collections.abc import Mapping
from typing import Any

from scrubjay.errors import EngineError

PROTOCOL = "2025-06-18"  # a revision that every host of today speaks


class StdioServer:
    """A running server; use it as a context manager, which ends it as a host does, by closing its standard input."""

    def __init__(self, command: list[str], env: Mapping[str, str], cwd: str) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(env), cwd=cwd)
        self._ids = itertools.count(1)

    def __enter__(self) -> StdioServer:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def initialize(self, name: str, version: str) -> dict[str, Any]:
        """Introduce the client `name`; what the server says of itself."""
        client = {"name": name, "version": version}
        answer = self.request("initialize", {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client})
        self._send({"method": "notifications/initialized"})
        return answer

    def call(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The structured result of one tool.

        Raises:
            EngineError: the tool refused, or the server ended.
        """
        result = self.request("tools/call", {"name": tool, "arguments": dict(arguments)})
        if result.get("isError"):
            raise EngineError(result["content"][0]["text"])
        return result["structuredContent"]

    def request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The result of one request; notifications that come before it are passed over.

        Raises:
            EngineError: the server answers with an error, or ends.
        """
        number = next(self._ids)
        self._send({"id": number, "method": method, "params": dict(params)})
        assert self._process.stdout
        for line in self._process.stdout:
            answer = json.loads(line)
            if answer.get("id") != number:
                continue
            if "error" in answer:
                raise EngineError(f"The server refused {method}: {answer['error'].get('message')}")
            return answer["result"]
        raise EngineError(f"The server ended before it answered {method}.")

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()
