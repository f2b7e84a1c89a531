"""Finds the folders where programs keep their files, by platform, user's home and environment.

`hosts.json` names these folders. `setup` writes to them and `import` reads from them.
"""

from __future__ import annotations

import ntpath
import os
import posixpath
import sys
from collections.abc import Mapping
from typing import NamedTuple

from scrubjay.errors import HomeError
from scrubjay.hosts.facts import EDITORS, FOLDERS


class Machine(NamedTuple):
    """A user's machine: the environment, the home folder, and the platform (a value of `sys.platform`).

    `projects` are the folders of projects, for programs that keep their history there.
    """

    env: Mapping[str, str]
    user_home: str
    platform: str
    projects: tuple[str, ...] = ()

    def join(self, *parts: str) -> str:
        """Join the parts of a path by the rules of this platform."""
        return ntpath.join(*parts) if self.platform == "win32" else posixpath.join(*parts)

    def path(self, place: str) -> str:
        """Return the path of a place such as `{codex}/config.toml`, which may begin with a named folder."""
        first, *rest = place.split("/")
        if first == "{home}":
            return self.join(self.user_home, *rest)
        folders = FOLDERS[first[1:-1]]
        if isinstance(folders, dict):
            folders = folders.get(self.platform, folders[""])
        return self.join(next(filter(None, map(self._expanded, folders))), *rest)

    def _expanded(self, folder: str) -> str | None:
        """Return the path of `$VARIABLE/...` or `{folder}/...`, or None if the variable is not set."""
        if not folder.startswith("$"):
            return self.path(folder)
        variable, *rest = folder[1:].split("/")
        return self.join(self.env[variable], *rest) if self.env.get(variable) else None

    def paths(self, place: str) -> list[str]:
        """Return the paths of a place that may begin with a variable, `{projects}` or a group of editors."""
        first, _, rest = place.partition("/")
        if first.startswith("$"):
            return list(filter(None, [self._expanded(place)]))
        if first == "{projects}":
            return [self.join(folder, rest) for folder in self.projects]
        if first[1:-1] in EDITORS:
            return [self.path(f"{{settings}}/{name}/User/{rest}") for name in EDITORS[first[1:-1]]]
        return [self.path(place)]


def this_machine(env: Mapping[str, str]) -> Machine:
    """Return the machine that this process runs on. Raises HomeError if the user has no home folder."""
    user_home = os.path.expanduser("~")
    if not os.path.isabs(user_home):
        raise HomeError("This user has no home folder. Set HOME to the whole path of one.")
    return Machine(env, user_home, sys.platform)
