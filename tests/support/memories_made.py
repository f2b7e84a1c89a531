"""What hosts remember, made up: one file of each kind, with a single fact of its own."""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path
from typing import NamedTuple

MADE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
TOPIC, INDEX, CODEX, ROLLOUT, PATCH = (
    MADE["texts"][name] for name in ("topic", "index", "codex", "rollout", "patch")
)


class Kind(NamedTuple):
    """A kind of memory file: its host, its place in the user's home, its text, and whose facts it holds."""

    host: str
    path: str
    text: str
    is_users: bool = False

    @property
    def fact(self) -> str:
        """A fact that no other kind holds."""
        name = re.sub(r"[^a-z]+", " ", f"{self.host} {os.path.basename(self.path)} {self.is_users}".lower())
        return f"The service of {name}listens on port 5433."


CODE = ".config/Code/User"
KINDS = [Kind(**{**each, "text": MADE["texts"][each["text"]]}) for each in MADE["kinds"]]


def write(kind: Kind, home: Path, fact: str | None = None) -> Path:
    """Write a memory file of the project `sparrow` in a user's home; with `fact` "", without any fact."""
    project = home / "sparrow"
    slug = re.sub(r"[^A-Za-z0-9]", "-", str(project))
    path = home / kind.path.replace("{slug}", slug)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = kind.text if fact != "" else re.sub(r".*\{fact\}.*\n", "", kind.text)
    said = {"{project}": str(project), "{home}": str(home), "{fact}": fact or kind.fact}
    path.write_text(re.sub(r"\{\w+\}", lambda name: said[name[0]], text))
    if fact == "" and kind.text is TOPIC:
        path.unlink()
    return path


def write_all(home: Path) -> None:
    """Write a file of every kind, and what says whose the files are."""
    for kind in KINDS:
        write(kind, home)
    (home / ".claude/settings.json").write_text(json.dumps({"autoMemoryDirectory": "~/notes/of-claude"}))
    folder = {"folder": (home / "sparrow").as_uri()}
    (home / CODE / "workspaceStorage/abc/workspace.json").write_text(json.dumps(folder))
    (home / ".gemini/tmp/sparrow/.project_root").write_text(str(home / "sparrow"))
