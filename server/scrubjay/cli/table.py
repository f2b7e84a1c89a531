"""The commands in `commands.json`: what `scrubjay help` lists, the module of each, and its arguments.

An argument is an option if its names begin with a dash, and a flag if it has neither `metavar` nor `choices`;
its other fields are argparse's. Of the arguments in an inner list, only one may be used; a text names shared
arguments. Only the module of the command that is run is imported.
"""

from __future__ import annotations

import json
import os
import sys
from collections import namedtuple

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without the import that every command would pay
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from typing import Any

    from scrubjay.cli.command import Place

    Run = Callable[[Place, argparse.Namespace], int | None]  # returns the exit code, None for 0

with open(os.path.join(os.path.dirname(__file__), "commands.json"), encoding="utf-8") as _file:
    _TABLE = json.load(_file)

ABOUT = """\
Scrubjay is the memory of a coding assistant: it captures every turn by itself and gives back the few lines \
that matter.
Everything stays on this machine. Without a command, it is the server that an MCP client starts and talks to.

usage: scrubjay [COMMAND]        scrubjay help COMMAND explains one
"""
ALSO = """
Also: `scrubjay stdio` (the pipe, for MCP clients), `scrubjay hook NAME` (for hosts), `scrubjay --version`."""


class Command(namedtuple("Command", "name module summary arguments")):
    """One command of the table; `summary` is also the docstring of its function."""

    def load(self) -> Run:
        """Import and return the function; if its name would hide another, it ends with an underscore."""
        module = f"scrubjay.cli.{self.module}"
        __import__(module)
        members, name = vars(sys.modules[module]), self.name.replace("-", "_")
        run: Run = members[f"{name}_" if f"{name}_" in members else name]
        return run

    def alternatives(self) -> list[list[dict[str, Any]]]:
        """Return the arguments; of those in an inner list, only one may be used."""
        named = (_TABLE["shared"][each] if isinstance(each, str) else each for each in self.arguments)
        return [each if isinstance(each, list) else [each] for each in named]


SYNONYMS: dict[str, str] = _TABLE["synonyms"]  # what other programs call our commands and options
LISTED = {row["name"]: Command(**row) for rows in _TABLE["groups"].values() for row in rows}


def page() -> str:
    """Return the list of all commands."""
    lines = [ABOUT.rstrip("\n")]
    for group, rows in _TABLE["groups"].items():
        lines += [f"\n{group}:", *(f"  {row['name']:<14} {row['summary']}" for row in rows)]
    return "\n".join([*lines, ALSO])
