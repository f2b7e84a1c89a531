"""A coding assistant as far as a pipe can tell, and the engines that assistants leave behind: real processes
of the installed command.

Nothing here sleeps: each wait is for a line, an exit or a condition, and has a limit.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil
from user import User

from scrubjay.hosts.installation import console_command

PATIENCE = 30.0  # seconds; the bound of every wait


def until(true: Callable[[], object], what: str, patience: float = PATIENCE) -> None:
    """Poll until `true` or the time is up."""
    end = time.monotonic() + patience
    while not true():
        assert time.monotonic() < end, f"never: {what}"
        select.select([], [], [], 0.01)


def engines(root: str) -> list[psutil.Process]:
    """The running engines of one home, whatever their parent process."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        if "serve" in (process.info["cmdline"] or []) and process.info["status"] != psutil.STATUS_ZOMBIE:
            with contextlib.suppress(psutil.Error):  # it ended while we looked
                if process.environ().get("SCRUBJAY_HOME") == root:
                    found.append(process)
    return found


class Assistant:
    """One client, initialized: it owns both ends of its pipe's standard streams."""

    def __init__(self, user: User, *, cwd: Path | None = None, command: Sequence[str] | None = None) -> None:
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(
            command or console_command(), env=user.env, cwd=cwd or user.project, **streams
        )
        self._unread = b""
        self._ids = 0
        answer = self.ask(
            "initialize",
            protocolVersion="2025-11-25",
            capabilities={},
            clientInfo={"name": "t", "version": "1"},
        )
        assert "result" in answer, answer
        self.about = answer["result"]
        self.send({"method": "notifications/initialized"})

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The whole answer to a request."""
        self.say(method, **params)
        while (answer := self.hear()).get("id") != self._ids:
            pass
        return answer

    def say(self, method: str, **params: Any) -> None:
        """Send a request and do not wait for the answer."""
        self._ids += 1
        self.send({"id": self._ids, "method": method, "params": params})

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of a tool call, which may be an error."""
        return self.ask("tools/call", name=tool, arguments=arguments)["result"]

    def get(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured content of a call that succeeds; a search is asked for it."""
        if tool.startswith("search_"):
            arguments["include"] = {"structured": True, **arguments.get("include", {})}
        end = time.monotonic() + PATIENCE
        while "is still starting" in str(result := self.call(tool, **arguments)) and time.monotonic() < end:
            pass  # on a busy machine
        assert not result.get("isError"), result
        return result["structuredContent"]

    def recall(self, query: str, **arguments: Any) -> list[str]:
        """The texts of the hits."""
        return [
            hit.get("memory") or hit["chunk"]
            for hit in self.get("search_memories", query=query, **arguments)["results"]
        ]

    def leave(self) -> None:
        """Close the pipe's standard input, as a client does at its end, and wait for its exit."""
        self.process.stdin.close()
        assert self.process.wait(PATIENCE) == 0

    def kill(self) -> None:
        """Kill the pipe with SIGKILL, and close its streams."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(BrokenPipeError):  # data that was buffered for a pipe that has exited
                stream.close()

    def send(self, message: dict[str, Any]) -> None:
        """Send a message."""
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        """The next message."""
        end = time.monotonic() + PATIENCE
        while b"\n" not in self._unread:
            assert select.select([self.process.stdout], [], [], max(end - time.monotonic(), 0))[0], (
                "the pipe says nothing"
            )
            data = os.read(self.process.stdout.fileno(), 1 << 20)
            assert data, f"the pipe ended with {self.process.wait(PATIENCE)}"
            self._unread += data
        line, _, self._unread = self._unread.partition(b"\n")
        return json.loads(line)
