"""Where programs keep their files on each platform, by the user's home and the environment.

What `setup` writes and what `import` reads are in the same folders, which `hosts.json` names.
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
    """A user's machine: the environment, the home folder, the platform as `sys.platform` names it.

    `projects` are folders of projects, for programs that keep their past there.
    """

    env: Mapping[str, str]
    user_home: str
    platform: str
    projects: tuple[str, ...] = ()

    def join(self, *parts: str) -> str:
        """Join parts of a path in the way of this platform."""
        return ntpath.join(*parts) if self.platform == "win32" else posixpath.join(*parts)

    def path(self, place: str) -> str:
        """Return the path of a place such as `{codex}/config.toml`, which may begin with a named folder."""
        first, *rest = place.split("/")
        if first == "{home}":
            return self.join(self.user_home, *rest)
        ways = FOLDERS[first[1:-1]]
        if isinstance(ways, dict):
            ways = ways.get(self.platform, ways[""])
        return self.join(next(filter(None, map(self._start, ways))), *rest)

    def _start(self, way: str) -> str | None:
        """Return the folder to which `$VARIABLE/...` or `{folder}/...` leads; None for an unset variable."""
        if not way.startswith("$"):
            return self.path(way)
        variable, *rest = way[1:].split("/")
        return self.join(self.env[variable], *rest) if self.env.get(variable) else None

    def paths(self, place: str) -> list[str]:
        """Return the paths of a place that may begin with a variable, `{projects}` or a group of editors."""
        first, _, rest = place.partition("/")
        if first.startswith("$"):
            return list(filter(None, [self._start(place)]))
        if first == "{projects}":
            return [self.join(folder, rest) for folder in self.projects]
        if first[1:-1] in EDITORS:
            return [self.path(f"{{settings}}/{name}/User/{rest}") for name in EDITORS[first[1:-1]]]
        return [self.path(place)]


def this_machine(env: Mapping[str, str]) -> Machine:
    """Return the machine that this process runs on.

    Raises:
        HomeError: the user has no home folder, where assistants keep their files.
    """
    user = os.path.expanduser("~")
    if not os.path.isabs(user):
        raise HomeError("This user has no home folder. Set HOME to the whole path of one.")
    return Machine(env, user, sys.platform)
