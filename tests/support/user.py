"""A user in tests: a folder, a project and a Scrubjay of their own, who types commands and whose prompts go
through the hooks.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from scrubjay.home.paths import Home
from scrubjay.hosts.installation import console_command, hook_command

PATIENCE = 30.0  # seconds; the bound of every command


class User(NamedTuple):
    """A user with a home folder, a project, and a Scrubjay of their own."""

    folder: Path
    project: Path
    home: Home

    @property
    def env(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "HOME": str(self.folder), "SCRUBJAY_HOME": self.home.root}

    def types(
        self, *words: str, stdin: str = "", cwd: Path | None = None, patience: float = PATIENCE
    ) -> subprocess.CompletedProcess[str]:
        """Run `scrubjay` with these words in the project."""
        return self._runs([*console_command(), *words], stdin, cwd or self.project, patience)

    def _runs(
        self, command: list[str], stdin: str, cwd: Path, patience: float = PATIENCE
    ) -> subprocess.CompletedProcess[str]:
        place = {"env": self.env, "cwd": cwd, "timeout": patience, "check": False}
        return subprocess.run(command, input=stdin, capture_output=True, text=True, **place)

    def gets(self, *words: str, stdin: str = "") -> str:
        """The output of a command that must succeed."""
        done = self.types(*words, stdin=stdin)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def adds(self, text: str, *options: str) -> str:
        """Add a fact and return its id."""
        return re.match(r"Saved as (\w+)", self.gets("add", text, *options))[1]

    def refused(self, *words: str) -> str:
        """The error message of a command that is refused."""
        done = self.types(*words)
        assert (done.returncode, done.stdout) == (1, "")
        assert re.fullmatch(r"scrubjay: [^\n]+\n", done.stderr)
        return done.stderr

    def says(self, prompt: str, answer: str | None, *, session: str, turn: int) -> None:
        """Have the hooks capture a turn; without an answer it is still in progress."""
        event = {"session_id": session, "prompt_id": f"{session}-{turn}", "cwd": str(self.project)}
        assert self._hook("UserPromptSubmit", {**event, "prompt": prompt}) == "{}\n"
        if answer is not None:
            assert self._hook("Stop", {**event, "last_assistant_message": answer}) == "{}\n"

    def waits_for_vectors(self) -> None:
        """Return when everything stored is searched by meaning; each look takes a tenth of a second."""
        for _ in range(100):
            if not json.loads(self.gets("status", "--json"))["engine"]["records"]["waiting_for_vector"]:
                return
        raise AssertionError("something stored is not embedded")

    def opens(self, session: str) -> str:
        """The opening of a session."""
        event = {"session_id": session, "source": "startup", "cwd": str(self.project)}
        answer = json.loads(self._hook("SessionStart", event))
        return answer["hookSpecificOutput"]["additionalContext"] if answer else ""

    def _hook(self, event: str, payload: dict[str, str]) -> str:
        told = json.dumps({**payload, "hook_event_name": event})
        done = self._runs(hook_command("claude-code"), told, self.project)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout


def make_project(folder: Path) -> Path:
    """A new folder that looks like a repository."""
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return folder


def make_user(folder: Path) -> User:
    return User(folder, make_project(folder / "sparrow"), Home(str(folder / "jay")))


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    """The user whose engine all tests of this module share."""
    person = make_user(tmp_path_factory.mktemp("u"))
    yield person
    person.types("stop")


@pytest.fixture
def newcomer(tmp_path: Path) -> User:
    """A user who never started an engine; tests with this user start none."""
    return make_user(tmp_path)
