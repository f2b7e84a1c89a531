"""Repositories that tests make: commits of given files at given times."""

from __future__ import annotations

import os
import subprocess
from datetime import datetime
from pathlib import Path


class Repository:
    """A repository in a folder, on the branch `main`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str, at: datetime | None = None) -> str:
        who = ("-c", "user.name=Jay", "-c", "user.email=jay@example.org")
        dates = {} if at is None else {f"GIT_{who}_DATE": at.isoformat() for who in ("AUTHOR", "COMMITTER")}
        env = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"} | dates
        command = ["git", "-C", str(self.folder), *who, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, env=env).stdout.strip()

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(text, encoding="utf-8")

    def commit(self, files: dict[str, str], subject: str = "Change", at: datetime | None = None) -> str:
        self.write(files)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", subject, at=at)
        return self.git("rev-parse", "HEAD")
