"""A stand-in for Claude Code and hosts that behave like it: runs the hook in processes of its own, and
answers like an engine.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

from hashing_encoder import HashingEncoder

from scrubjay.engine.background import pairing
from scrubjay.engine.core import open_core
from scrubjay.engine.engine import utc_now
from scrubjay.home import spool
from scrubjay.home.paths import Home
from scrubjay.home.scopes import scope_of
from scrubjay.home.settings import Settings
from scrubjay.models.envelopes import Envelope
from scrubjay.models.records import Turn
from scrubjay.models.requests import RecordTurn, parse

HOOKS = Path(__file__).parents[2] / "hooks"
HELLO = {"protocol": 1, "version": "0.1.0", "kind": "engine", "pid": 1}
EVENTS = {
    "user_prompt_submit": "UserPromptSubmit",
    "stop": "Stop",
    "session_start": "SessionStart",
    "session_end": "SessionEnd",
    "before_tool": "PreToolUse",
    "after_tool": "PostToolUseFailure",
}


class Host:
    """One session of a host, with a home of its own."""

    def __init__(self, root: Path, session_id: str = "5b1e4f0a-0000-4000-8000-00000000cafe") -> None:
        self.home = Home(str(root / "home"))
        self.project = root / "project"
        self.project.mkdir(exist_ok=True)
        self.scripts = HOOKS
        self.session_id = session_id
        self.name = "claude-code"
        self.env = {"SCRUBJAY_HOME": self.home.root, "HOME": str(root), "PATH": os.environ["PATH"]}

    @property
    def scope(self) -> str:
        """The scope of the project."""
        scope = scope_of(self.home, str(self.project), user_home=self.env["HOME"])
        assert scope is not None
        return scope

    def start(self, hook: str) -> subprocess.Popen[bytes]:
        event = ["--event", EVENTS.get(hook, hook)] if hook else []
        command = [sys.executable, "-I", "-S", str(self.scripts / "hook.py"), "--host", self.name, *event]
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.env,
            cwd=self.project,
        )

    def _run(self, data: bytes, hook: str) -> tuple[bytes, bytes]:
        with self.start(hook) as process:
            out, err = process.communicate(data, timeout=30)
        assert process.returncode == 0
        return out, err

    def raw_output(self, data: bytes, hook: str = "") -> bytes:
        """The output of a hook for these bytes; it must exit with 0 and print nothing on stderr."""
        out, err = self._run(data, hook)
        assert err == b""
        return out

    def complaint(self, hook: str, **fields: object) -> str:
        """The standard error of a hook; its answer must be empty."""
        out, err = self._run(self.payload(hook, **fields), hook)
        assert out == b"{}\n"
        return err.decode()

    def raw(self, hook: str, data: bytes) -> dict:
        """The answer of a hook to these bytes: one JSON object."""
        return json.loads(self.raw_output(data, hook))

    def payload(self, hook: str, **fields: object) -> bytes:
        common = {
            "session_id": self.session_id,
            "transcript_path": "/t/s.jsonl",
            "cwd": str(self.project),
            "hook_event_name": EVENTS[hook],
        }
        return json.dumps(
            {key: value for key, value in {**common, **fields}.items() if value is not ...}
        ).encode()

    def fire(self, hook: str, **fields: object) -> dict:
        return self.raw(hook, self.payload(hook, **fields))

    def prompt(self, text: str, **fields: object) -> dict:
        return self.fire("user_prompt_submit", prompt=text, **fields)

    def stop(self, answer: object, **fields: object) -> dict:
        return self.fire("stop", last_assistant_message=answer, **{"stop_hook_active": False, **fields})

    def exchange(self, text: str, answer: str, **fields: object) -> None:
        """Send a prompt and its answer."""
        self.prompt(text, **fields)
        self.stop(answer, **fields)

    def policy(self, **values: object) -> None:
        Path(self.home.root).mkdir(exist_ok=True)
        Path(self.home.capture).write_text(json.dumps(values))

    def take(self) -> None:
        """Read the events that hooks left, as an engine does."""
        for path in spool.events(self.home):
            pairing.take(self.home, path)

    def envelopes(self) -> list[Envelope]:
        """The envelopes that an engine makes of hook events, each checked against the models."""
        self.take()
        found = [Envelope.model_validate(spool.read(path)) for path in spool.pending(self.home)]
        for envelope in found:
            parse(RecordTurn, envelope.args)
        return found

    def turns(self) -> list[tuple]:
        """(prompt_id, user, assistant) of the turns that an engine makes of hook events."""
        return [
            tuple(envelope.args.get(name) for name in ("prompt_id", "user", "assistant"))
            for envelope in self.envelopes()
        ]

    def said(self) -> list[tuple]:
        """(user, assistant) of these turns."""
        return [turn[1:] for turn in self.turns()]

    def recorded(self) -> list[Turn]:
        """The turns that an engine records from hook events and their transcripts."""
        return asyncio.run(_recorded(self.home))

    def log(self) -> str:
        path = Path(self.home.log, "hooks.log")
        return path.read_text() if path.exists() else ""


async def _recorded(home: Home) -> list[Turn]:
    core = await open_core(home, Settings(), utc_now, lambda *_, **__: HashingEncoder())
    async with asyncio.timeout(30):
        await core.writer.drain()
        while core.completion.waiting:
            await asyncio.sleep(0.01)
    await core.writer.settle()
    turns = await core.store.select(Turn, "true")
    await core.close()
    return sorted(turns, key=lambda turn: turn.started_at)


class Engine:
    """A socket in the home that records what it receives and, after each event, sends the given lines."""

    def __init__(self, home: Home, *says: dict) -> None:
        os.makedirs(home.root, mode=0o700, exist_ok=True)
        self.heard: list[dict] = []
        self.hung_up = threading.Event()
        self._says = b"".join(json.dumps(line).encode() + b"\n" for line in says)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(home.socket)
        self._listener.listen(8)
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> Engine:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join(10)
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with (
                connection,
                connection.makefile("rb") as lines,
                contextlib.suppress(ConnectionError),
            ):  # a hook may exit at any time
                for line in lines:
                    self.heard.append(json.loads(line))
                    if "event" in self.heard[-1] and self._says:
                        connection.sendall(self._says)
            self.hung_up.set()
