"""The commands in `commands.txt`: what `scrubjay help` lists, and the module of each.

Only the module of the command that is run is imported.
"""

from __future__ import annotations

import os
import sys
from collections import namedtuple

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without the import that every command would pay
if TYPE_CHECKING:
    from scrubjay.cli.command import Command

# Each group has one line per command: its name, its module in this package, and its summary (its docstring).
with open(os.path.join(os.path.dirname(__file__), "commands.txt"), encoding="utf-8") as _file:
    _ROWS = _file.read().splitlines()

ABOUT = """\
Scrubjay is the memory of a coding assistant: it captures every turn by itself and gives back the few lines \
that matter.
Everything stays on this machine. Without a command, it is the server that an MCP client starts and talks to.

usage: scrubjay [COMMAND]        scrubjay help COMMAND explains one
"""
ALSO = """
Also: `scrubjay stdio` (the pipe, for MCP clients), `scrubjay hook NAME` (for hosts), `scrubjay --version`."""


class Listed(namedtuple("Listed", "name module summary")):
    """One command of the table."""

    def load(self) -> Command:
        """Return the command itself."""
        module = f"scrubjay.cli.{self.module}"
        __import__(module)
        members = vars(sys.modules[module]).values()
        command: Command = next(each for each in members if getattr(each, "name", None) == self.name)
        return command


LISTED = {row.split()[0]: Listed(*row.split(maxsplit=2)) for row in _ROWS if row[0] == " "}


def page() -> str:
    """Return the list of all commands."""
    lines = [ABOUT]
    for row in _ROWS:
        name = row.split()[0]
        lines.append(f"  {name:<14} {LISTED[name].summary}" if row[0] == " " else f"\n{row}:")
    return "\n".join([*lines, ALSO]).replace("\n\n\n", "\n\n")
