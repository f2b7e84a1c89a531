"""An MCP client over a subprocess: JSON-RPC lines with a clock. Knows the protocol's outline; does not know
what tools do.
"""

from __future__ import annotations

import json
import select
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

ANSWER_SECONDS = 60.0
_CHUNK = 1 << 16


class Client:
    """One spawned command and the conversation with it; a context manager that ends both."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], cwd: str) -> None:
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(env),
            cwd=cwd,
            bufsize=0,
        )
        self._received = b""
        self._lines: list[bytes] = []
        self._id = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def age(self) -> float:
        """Seconds since just before the spawn."""
        return time.perf_counter() - self.started

    def initialize(self) -> dict[str, Any]:
        """Shake hands and list the tools, as every client does first; the answer to `tools/list`."""
        about = {"capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        self.request("initialize", {"protocolVersion": "2025-11-25", **about})
        self._send({"method": "notifications/initialized"})
        return self.request("tools/list", {})

    def call(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The structured answer of a tool.

        Raises:
            RuntimeError: the tool says it failed.
        """
        return self.timed(tool, arguments)[1]

    def timed(self, tool: str, arguments: Mapping[str, Any]) -> tuple[float, dict[str, Any]]:
        """Seconds from sending a call to having read its line, and the answer."""
        arguments = _structured(tool, arguments)
        start = time.perf_counter()
        number = self._ask("tools/call", {"name": tool, "arguments": arguments})
        line = self._line(ANSWER_SECONDS)
        took = time.perf_counter() - start
        return took, _content(_result(json.loads(line), number))

    def pipelined(self, tool: str, each: Iterable[Mapping[str, Any]], window: int = 64) -> int:
        """Call a tool many times with up to `window` calls unanswered; how many calls. Raises as
        `call` does.
        """
        waiting: set[int] = set()
        count = 0
        for arguments in each:
            waiting.add(self._ask("tools/call", {"name": tool, "arguments": arguments}))
            count += 1
            while len(waiting) >= window:
                waiting.remove(self._take())
        while waiting:
            waiting.remove(self._take())
        return count

    def request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The result of one request."""
        number = self._ask(method, params)
        return _result(json.loads(self._line(ANSWER_SECONDS)), number)

    def close(self) -> None:
        """Disconnect as a client does: close the input, wait for the pipe to end."""
        for stream in (self.process.stdin, self.process.stdout):
            if stream and not stream.closed:
                stream.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _ask(self, method: str, params: Mapping[str, Any]) -> int:
        self._id += 1
        self._send({"id": self._id, "method": method, "params": params})
        return self._id

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        rest = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        while rest:
            rest = rest[self.process.stdin.write(rest) :]

    def _take(self) -> int:
        answer = json.loads(self._line(ANSWER_SECONDS))
        _content(_result(answer, answer.get("id")))
        return answer["id"]

    def _line(self, seconds: float) -> bytes:
        assert self.process.stdout is not None
        while not self._lines:
            if not select.select([self.process.stdout], [], [], seconds)[0]:
                raise TimeoutError(f"No answer within {seconds:g} s from {self.process.args}.")
            more = self.process.stdout.read(_CHUNK)
            if not more:
                raise EOFError(
                    f"{self.process.args} ended with code {self.process.wait(5)} before it answered."
                )
            *self._lines, self._received = (self._received + more).split(b"\n")
        return self._lines.pop(0)


def _structured(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Ask a search for its structure as well."""
    if not tool.startswith("search_"):
        return dict(arguments)
    return {**arguments, "include": {"structured": True, **arguments.get("include", {})}}


def _result(answer: dict[str, Any], number: int | None) -> dict[str, Any]:
    if answer.get("id") != number or "result" not in answer:
        raise RuntimeError(f"Not the answer to request {number}: {json.dumps(answer)[:500]}")
    return answer["result"]


def _content(result: dict[str, Any]) -> dict[str, Any]:
    if result.get("isError"):
        raise RuntimeError(f"The tool failed: {json.dumps(result)[:500]}")
    return result["structuredContent"]
