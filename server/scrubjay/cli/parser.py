"""The parser of every command except the pipe and the hooks, in the order in which they are listed.

A command's exception becomes a sentence and an exit code. Commands import heavy modules late.
"""

import argparse
import io
import os
import sys
from collections.abc import Callable, Collection, Mapping

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
    sessions,
    setup,
    status,
    tokens,
    write,
)
from scrubjay.cli.command import Argument, Command, Place, choice, command, known_scope
from scrubjay.cli.display import has_colours
from scrubjay.errors import ScrubjayError
from scrubjay.home.paths import default_root
from scrubjay.home.scopes import nearest
from scrubjay.text.foreign import visible
from scrubjay.wire.hello import working_dir

# What a shell completes for an argument, by the name that the help gives it.
_COMPLETED = {"PATH": "FILE", "FILE": "FILE", "FOLDER": "DIRECTORY"}


@command(choice("shell", ("bash", "zsh", "fish"), "the shell"))
def completion(place: Place, options: argparse.Namespace) -> None:
    """Print the completion script of a shell; for bash: `source <(scrubjay completion bash)`."""
    import shtab

    def complete_paths(action: argparse.Action) -> None:
        if kind := _COMPLETED.get(str(action.metavar)):
            action.complete = getattr(shtab, kind)  # type: ignore[attr-defined]

    print(shtab.complete(build_parser(complete_paths), options.shell))


GROUPS: tuple[tuple[str, tuple[Command, ...]], ...] = (
    ("Begin", (demo.demo, setup.setup, hooks.hooks, doctor.doctor)),
    ("Look", (lookup.open_, status.status, lookup.search, lookup.list_, sessions.sessions, lookup.show)),
    ("Overview", (lookup.profile, sessions.tags, documents.documents, scopes.scopes)),
    ("Write", (write.add, write.edit, write.forget, write.restore, write.undo, documents.index)),
    ("Keep in hand", (*config.COMMANDS, *archive.COMMANDS)),
    ("Run", (engine.serve, engine.stop, engine.reindex, engine.pull, tokens.token, completion)),
)

# What other programs call it.
SYNONYMS = {
    "--limit": ("--top", "--last"),
    "--count": ("--top", "--last"),
    "--project": ("--scope",),
    "--global": ("--all",),
    "--after": ("--since",),
    "--before": ("--until",),
    "find": ("search",),
    "recall": ("search",),
    "query": ("search",),
    "remember": ("add",),
    "save": ("add",),
    "delete": ("forget",),
    "remove": ("forget",),
    "rm": ("forget",),
    "ls": ("list",),
    "log": ("sessions",),
    "history": ("sessions",),
    "install": ("setup",),
    "init": ("setup",),
    "ui": ("open",),
    "web": ("open",),
    "start": ("serve",),
}

ABOUT = """\
Scrubjay is the memory of a coding assistant: it captures every turn by itself and gives back the few lines \
that matter.
Everything stays on this machine. Without a command, it is the server that an MCP client starts and talks to.
"""


def run(arguments: list[str], env: Mapping[str, str]) -> int:
    """Run one command; exit code 0: done, 1: refused or with problems, 2: not understood."""
    names = [each.name for _, commands in GROUPS for each in commands]
    names += ["help", "--help", "--version"]
    for stream in ("stdout", "stderr"):
        if getattr(sys, stream) is None:  # `scrubjay list >&-`: no output is wanted
            setattr(sys, stream, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - until the end
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal or a pipe may only support ASCII
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:2], "--help"]
    if arguments and arguments[0] not in (*names, "-h"):
        near = near_name(arguments[0], names)
        unknown_name = f"there is no command {visible(arguments[0])[:80]!r}"
        print(f"scrubjay: {unknown_name}.{near} `scrubjay help` lists the commands.", file=sys.stderr)
        return 2
    options, unknown = build_parser().parse_known_args(arguments)
    if unknown:
        near = near_name(unknown[0].partition("=")[0], options.names)
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
        name = "\x1b[31mscrubjay:\x1b[0m" if has_colours(sys.stderr) else "scrubjay:"
        print(f"{name} {visible(str(error))}", file=sys.stderr)
        return 1
    except OSError as error:  # an output error, which has no file name
        if error.filename is not None:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # `scrubjay list | head`: the reader has stopped
            return 0
        print(f"scrubjay: The output cannot be written, so the command ended early: {error}", file=sys.stderr)
        return 1


def near_name(typed: str, names: Collection[str]) -> str:
    """Return a question that suggests a name with a similar meaning or spelling; "" without one."""
    meant = [name for name in SYNONYMS.get(typed, ()) if name in names]
    return f" Did you mean {meant[0]}?" if meant else nearest(typed, names)


def build_parser(see: Callable[[argparse.Action], object] = id) -> argparse.ArgumentParser:
    """Return the parser of the whole command line; a parsed line has its `command`.

    `see` is called with each argument of each command.
    """
    parser = _Parser(prog="scrubjay", add_help=False)
    parser.add_argument("-h", "--help", action="help")
    parser.add_argument("--version", action="version", version=f"scrubjay {VERSION}")
    listed = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=argparse.ArgumentParser)
    for _, commands in GROUPS:
        for each in commands:
            sub = listed.add_parser(each.name, description=each.says, help=each.says)
            names: list[str] = []
            for argument in each.arguments:
                several = (argument,) if isinstance(argument, Argument) else argument
                group = sub.add_mutually_exclusive_group() if len(several) > 1 else sub
                for one in several:
                    names += one.names
                    see(group.add_argument(*one.names, **one.options))
            sub.set_defaults(command=each, refuse=sub.error, names=names)
    return parser


class _Parser(argparse.ArgumentParser):
    """argparse with our grouped page in place of its long list of commands."""

    def format_help(self) -> str:
        lines = [ABOUT, "usage: scrubjay [COMMAND]        scrubjay help COMMAND explains one\n"]
        for title, commands in GROUPS:
            lines.append(f"{title}:")
            lines += [f"  {each.name:<14} {each.says}" for each in commands]
            lines.append("")
        others = "`scrubjay stdio` (the pipe, for MCP clients), `scrubjay hook NAME` (for hosts)"
        lines.append(f"Also: {others}, `scrubjay --version`.")
        return "\n".join(lines) + "\n"
