"""The command `scrubjay`. This module only chooses the way: what a client waits for (the pipe, a hook) imports next to nothing."""

from __future__ import annotations

import os
import sys


def main(argv: list[str] | None = None) -> int:
    """Run one command line; the exit code. No arguments mean `stdio`, which is what a client registers.

    A person who types the bare command at a terminal gets the list of commands instead of a server that waits for JSON.
    """
    arguments = sys.argv[1:] if argv is None else argv
    name = arguments[0] if arguments else "--help" if _typed() else "stdio"
    if name == "stdio" or name == "--in-process" or name.partition("=")[0] == "--scope":
        from scrubjay.cli.serve import stdio

        return stdio(arguments[1:] if name == "stdio" else arguments, os.environ)
    if name == "hook":
        from scrubjay.cli.hook import hook

        return hook(arguments[1:])
    from scrubjay.cli.commands import run

    return run(arguments or [name], os.environ)


def _typed() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout is not None and sys.stdout.isatty()
