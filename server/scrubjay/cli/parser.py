"""The parser of every command except the pipe and the hooks, in the order in which they are listed.

A command's exception becomes a sentence and an exit code. Commands import heavy modules late.
"""

import argparse
import io
import os
import sys
from collections.abc import Mapping

from scrubjay import VERSION
from scrubjay.cli import (
    archive,
    config,
    demo,
    doctor,
    documents,
    engine,
    hooks,
    lookup,
    scopes,
    setup,
    status,
    tokens,
    write,
)
from scrubjay.cli.command import Argument, Command, Place, known_scope
from scrubjay.errors import ScrubjayError
from scrubjay.home.paths import default_root
from scrubjay.home.scopes import nearest
from scrubjay.text.foreign import visible
from scrubjay.wire.hello import working_dir

GROUPS: tuple[tuple[str, tuple[Command, ...]], ...] = (
    ("Begin", (demo.demo, setup.setup, hooks.hooks, doctor.doctor)),
    (
        "Look",
        (lookup.open_, status.status, lookup.search, lookup.why, lookup.list_, lookup.show, lookup.profile),
    ),
    ("Write", (write.add, write.forget, write.restore, documents.index, documents.documents)),
    ("Keep in hand", (*config.COMMANDS, scopes.scopes, *archive.COMMANDS)),
    ("Run", (engine.serve, engine.stop, engine.reindex, engine.pull, tokens.token)),
)

ABOUT = """\
Scrubjay is the memory of a coding assistant: it captures every turn by itself and gives back the few lines \
that matter.
Everything stays on this machine. Without a command, it is the server that an MCP client starts and talks to.
"""


def run(arguments: list[str], env: Mapping[str, str]) -> int:
    """Run one command; exit code 0: done, 1: refused or with problems, 2: not understood."""
    names = [command.name for _, commands in GROUPS for command in commands]
    names += ["--help", "--version"]
    for stream in ("stdout", "stderr"):
        if getattr(sys, stream) is None:  # `scrubjay list >&-`: no output is wanted
            setattr(sys, stream, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - until the end
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal or a pipe may only support ASCII
    if arguments and arguments[0] not in (*names, "-h"):
        near = nearest(arguments[0], names) or f" The commands are: {', '.join(names)}."
        print(f"scrubjay: there is no command {visible(arguments[0])[:80]!r}.{near}", file=sys.stderr)
        return 2
    options, unknown = build_parser().parse_known_args(arguments)
    if unknown:
        near = nearest(unknown[0].partition("=")[0], options.names)
        options.refuse(f"{visible(unknown[0])[:80]!r} is not an argument of this command.{near}")
    try:
        place = Place(env, working_dir(), default_root(dict(env)), os.getpid())
        if getattr(options, "scope", None) is not None:
            writes = options.command.name in ("add", "index", "import")
            options.scope = known_scope(place, options.scope, may_be_new=writes)
        code: int = options.command.run(place, options) or 0
        sys.stdout.flush()
        return code
    except ScrubjayError as error:
        print(f"scrubjay: {visible(str(error))}", file=sys.stderr)
        return 1
    except OSError as error:  # an output error, which has no file name
        if error.filename is not None:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # `scrubjay list | head`: the reader has stopped
            return 0
        print(f"scrubjay: The output cannot be written, so the command ended early: {error}", file=sys.stderr)
        return 1


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line; a parsed line has its `command`."""
    parser = _Parser(prog="scrubjay", add_help=False)
    parser.add_argument("-h", "--help", action="help")
    parser.add_argument("--version", action="version", version=f"scrubjay {VERSION}")
    listed = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=argparse.ArgumentParser)
    for _, commands in GROUPS:
        for command in commands:
            sub = listed.add_parser(command.name, description=command.says, help=command.says)
            names: list[str] = []
            for argument in command.arguments:
                several = (argument,) if isinstance(argument, Argument) else argument
                group = sub.add_mutually_exclusive_group() if len(several) > 1 else sub
                for one in several:
                    names.append(one.name)
                    group.add_argument(one.name, **one.options)
            sub.set_defaults(command=command, refuse=sub.error, names=names)
    return parser


class _Parser(argparse.ArgumentParser):
    """argparse with our grouped page in place of its long list of commands."""

    def format_help(self) -> str:
        lines = [ABOUT, "usage: scrubjay [COMMAND]        scrubjay COMMAND --help explains one\n"]
        for title, commands in GROUPS:
            lines.append(f"{title}:")
            lines += [f"  {command.name:<14} {command.says}" for command in commands]
            lines.append("")
        others = "`scrubjay stdio` (the pipe, for MCP clients), `scrubjay hook NAME` (for hosts)"
        lines.append(f"Also: {others}, `scrubjay --version`.")
        return "\n".join(lines) + "\n"
