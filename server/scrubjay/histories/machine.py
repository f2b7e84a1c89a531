"""Where programs keep their files on a machine, computed, so that tests can ask for any.

What `setup` writes into and what `import` reads lie in the same folders, so each is spelled here, once.
"""

from __future__ import annotations

import ntpath
import os
import posixpath
import sys
from collections.abc import Mapping
from typing import NamedTuple

from scrubjay.errors import HomeError

# Editors that share the layout of VS Code's folders, Cursor aside.
CODES = ("Code", "Code - Insiders", "VSCodium")


class Machine(NamedTuple):
    """A user's machine: the environment, the home folder, the platform as `sys.platform` names it.

    `projects` are folders of projects, for programs that keep their past there.
    """

    env: Mapping[str, str]
    user_home: str
    platform: str
    projects: tuple[str, ...] = ()

    def join(self, *parts: str) -> str:
        """Parts of a path in the way of this platform."""
        return ntpath.join(*parts) if self.platform == "win32" else posixpath.join(*parts)

    def home(self, *parts: str) -> str:
        """A path below the user's home."""
        return self.join(self.user_home, *parts)

    def named(self, variable: str, *default: str) -> str:
        """The folder that a variable names, else one below the user's home."""
        return self.env.get(variable) or self.home(*default)

    def data(self, *parts: str) -> str:
        """A path below the folder of data as XDG has it, which many programs use on every platform."""
        return self.join(self.named("XDG_DATA_HOME", ".local", "share"), *parts)

    def settings(self, *parts: str) -> str:
        """A path below the folder where programs with windows keep what is theirs."""
        if self.platform == "win32":
            return self.join(self.named("APPDATA", "AppData", "Roaming"), *parts)
        if self.platform == "darwin":
            return self.home("Library", "Application Support", *parts)
        return self.join(self.named("XDG_CONFIG_HOME", ".config"), *parts)

    def editors(self, *names: str) -> list[str]:
        """The `User` folders of editors."""
        return [self.settings(name, "User") for name in names]

    def claude(self, *parts: str) -> str:
        """A path below the folder of Claude Code."""
        return self.join(self.named("CLAUDE_CONFIG_DIR", ".claude"), *parts)

    def claude_json(self) -> str:
        """The file next to that folder, which names the servers of all projects."""
        return self.join(self.env.get("CLAUDE_CONFIG_DIR") or self.user_home, ".claude.json")

    def codex(self, *parts: str) -> str:
        """A path below the folder of Codex."""
        return self.join(self.named("CODEX_HOME", ".codex"), *parts)

    def copilot(self, *parts: str) -> str:
        """A path below the folder of Copilot CLI."""
        return self.join(self.named("COPILOT_HOME", ".copilot"), *parts)

    def gemini(self, *parts: str) -> str:
        """A path below the folder that Gemini CLI and Antigravity share."""
        return self.join(self.env.get("GEMINI_CLI_HOME") or self.user_home, ".gemini", *parts)


def this_machine(env: Mapping[str, str]) -> Machine:
    """The machine that this process runs on.

    Raises:
        HomeError: the user has no home folder, where assistants keep their files.
    """
    user = os.path.expanduser("~")
    if not os.path.isabs(user):
        raise HomeError("This user has no home folder. Set HOME to the whole path of one.")
    return Machine(env, user, sys.platform)
