"""The files of a project that instruct an assistant; its host reads them at the start of every session.

Standard library only and Python 3.9 syntax, like this whole package.
"""

from __future__ import annotations

import os

from scrubjay.home.files import read_whole
from scrubjay.home.paths import Home
from scrubjay.home.scopes import project_folders

FILES = ("CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", "AGENTS.md", "GEMINI.md", "QWEN.md")
MAX_BYTES = 200_000  # a longer file is skipped


def instructions(home: Home, scope: str) -> list[str]:
    """Return the lines of a project's files for assistants, skipping files that cannot be read."""
    lines = []
    for folder in project_folders(home, scope):
        for name in FILES:
            try:
                text = read_whole(os.path.join(folder, name), MAX_BYTES).decode("utf-8", "replace")
            except (OSError, ValueError):
                continue
            lines += [line for line in text.splitlines() if line.strip()]
    return lines
