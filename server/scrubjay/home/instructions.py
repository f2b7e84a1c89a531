"""What a project's own files say to an assistant, which its host reads into every session.

Standard library only and Python 3.9 syntax, as everything in this room.
"""

from __future__ import annotations

import os

from scrubjay.home.files import read_whole
from scrubjay.home.scopes import list_scopes

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without its import
if TYPE_CHECKING:
    from scrubjay.home.paths import Home

FILES = ("CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", "AGENTS.md", "GEMINI.md", "QWEN.md")
LONGEST = 200_000  # bytes; a longer file is passed over


def folders(home: Home, scope: str) -> list[str]:
    """Return the folders of a project that exist."""
    paths = (path for each in list_scopes(home) if each["scope"] == scope for path in each["paths"])
    places = (os.path.dirname(path) if os.path.basename(path) == ".git" else path for path in paths)
    return [place for place in places if os.path.isdir(place)]


def instructions(home: Home, scope: str) -> list[str]:
    """Return the lines of a project's files for assistants; files that cannot be read have none."""
    lines = []
    for folder in folders(home, scope):
        for name in FILES:
            try:
                text = read_whole(os.path.join(folder, name), LONGEST).decode("utf-8", "replace")
            except (OSError, ValueError):
                continue
            lines += [line for line in text.splitlines() if line.strip()]
    return lines
