"""A user's engine that answers HTTP, as the user starts it: in a process of its own, on a free port."""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
from collections.abc import Iterator
from typing import IO

from assistant import until
from user import PATIENCE, User

from scrubjay.hosts.installation import console_command


@contextlib.contextmanager
def answering(user: User, *options: str, at: str = "127.0.0.1:0", loaded: bool = True) -> Iterator[str]:
    """`scrubjay serve --http` until the block ends; the URL that it prints.

    The block begins when the engine has `loaded`, because a busy machine may take longer for that than an
    engine lets a request wait.
    """
    command = [*console_command(), "serve", "--http", at, *options]
    with subprocess.Popen(
        command, env=user.env, cwd=user.project, stderr=subprocess.PIPE, text=True
    ) as engine:
        assert engine.stderr is not None
        try:
            url = _url(engine.stderr)
            if loaded:
                until(lambda: _state(user) != "loading", "the engine has loaded")
            yield url
        finally:
            engine.terminate()
            # so that it never blocks on a full pipe
            drained = threading.Thread(target=engine.stderr.read)
            drained.start()
            engine.wait(PATIENCE)
            drained.join()


def _url(lines: IO[str]) -> str:
    said = []
    for line in lines:
        said.append(line)
        if line.startswith("HTTP: "):
            return line.split()[1].rstrip(",")
    raise AssertionError("".join(said))


def _state(user: User) -> str:
    return str(json.loads(user.gets("status", "--json"))["engine"]["state"])
