"""A client as the pipe sees it, and the engines of its home, for the process stories.

The engine is `echo_engine.py`, which has no store; everything else is the product. Each wait is for an event
and has a bound.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from assistant import Pipe, engines, until

from scrubjay.home.paths import open_home
from scrubjay.pipe.client import EngineClient, open_client
from scrubjay.wire.hello import hello_from

ECHO_PIPE, ECHO_ENGINE = (str(Path(__file__).parent / name) for name in ("echo_pipe.py", "echo_engine.py"))
__all__ = ["engines", "until"]  # for the stories

ON_POSIX = pytest.mark.skipif(
    sys.platform == "win32", reason="the engine of these tests is stopped by POSIX signals"
)
INITIALIZE = {"method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}}}


class Client(Pipe):
    """A coding assistant, as far as a pipe can tell."""

    def __init__(
        self, root: str, *, version: str = "0.1.0", idle: float = 0.5, flags: tuple[str, ...] = (), **env: str
    ) -> None:
        command = [sys.executable, ECHO_PIPE, root, version, str(idle), *flags]
        super().__init__(command, subprocess.PIPE, env={**os.environ, **env})

    def say(self, id: int | str | None, method: str, **params: object) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params} | ({} if id is None else {"id": id})
        self.write(json.dumps(message).encode() + b"\n")

    def call(self, id: int | str, tool: str = "search_memories", **arguments: object) -> None:
        self.say(id, "tools/call", name=tool, arguments=arguments)

    def open(self) -> dict:
        """Initialize as clients do; return the engine's answer."""
        self.say(0, **INITIALIZE)
        answer = self.hear()
        self.say(None, "notifications/initialized")
        return answer

    def pid_of_engine(self) -> int:
        self.call("pid")
        return self.hear()["result"]["pid"]


@pytest.fixture
def root(tmp_path_factory) -> Iterator[str]:
    path = str(tmp_path_factory.mktemp("h") / "home")
    yield path
    for process in engines(path):
        process.kill()


@pytest.fixture
def start(root) -> Iterator[Callable[..., Client]]:
    clients: list[Client] = []

    def started(at: str = root, **options: object) -> Client:
        clients.append(Client(at, **options))
        return clients[-1]

    yield started
    for client in clients:
        client.kill()


def heard(root: str) -> list[tuple[int, str]]:
    """Which engine read which method, in order."""
    lines = Path(root, "heard").read_text().splitlines()
    return [(int(pid), method) for pid, method in (line.split() for line in lines)]


def by_hand(root: str, version: str) -> subprocess.Popen:
    """An engine started by its user, already listening."""
    command = [sys.executable, ECHO_ENGINE, "serve", version, "60"]
    engine = subprocess.Popen(command, env={**os.environ, "SCRUBJAY_HOME": root})
    until(lambda: os.path.exists(os.path.join(root, "engine.json")), "it listens")
    return engine


def command_line(root: str) -> EngineClient:
    return open_client(
        open_home(root), hello_from("cli", {}, "/", os.getpid(), version="0.1.0"), {}, start=False
    )
