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


class Pipe:
    """A command that speaks in lines of JSON, and both ends of its standard streams."""

    def __init__(self, command: Sequence[str], stderr: int = subprocess.DEVNULL, **place: Any) -> None:
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": stderr}
        self.process = subprocess.Popen(command, **streams, **place)
        self._unread = b""

    def write(self, data: bytes) -> None:
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        """The next message."""
        end = time.monotonic() + PATIENCE
        while b"\n" not in self._unread:
            rest = max(end - time.monotonic(), 0)
            assert select.select([self.process.stdout], [], [], rest)[0], "the pipe says nothing"
            data = os.read(self.process.stdout.fileno(), 1 << 20)
            assert data, f"the pipe ended with {self.process.wait(PATIENCE)}"
            self._unread += data
        line, _, self._unread = self._unread.partition(b"\n")
        return json.loads(line)

    def leave(self) -> int:
        """Close the pipe's standard input, as a client does at its end; the exit code."""
        self.process.stdin.close()
        return self.process.wait(PATIENCE)

    def kill(self) -> None:
        """Kill the pipe with SIGKILL, and close its streams."""
        self.process.kill()
        self.process.wait()
        for stream in filter(None, (self.process.stdin, self.process.stdout, self.process.stderr)):
            with contextlib.suppress(BrokenPipeError):  # data that was buffered for a pipe that has exited
                stream.close()


class Assistant(Pipe):
    """One client, initialized."""

    def __init__(self, user: User, *, cwd: Path | None = None, command: Sequence[str] | None = None) -> None:
        super().__init__(command or console_command(), env=user.env, cwd=cwd or user.project)
        self._ids = 0
        about = {"capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        answer = self.ask("initialize", protocolVersion="2025-11-25", **about)
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
        assert super().leave() == 0

    def send(self, message: dict[str, Any]) -> None:
        """Send a message."""
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
