"""Parses and runs every command except the pipe and the hooks; the table lists them.

A command's exception becomes a sentence and an exit code. Commands import heavy modules late.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from functools import partial

from scrubjay.cli.command import Place
from scrubjay.cli.display import has_colours
from scrubjay.cli.table import LISTED, SYNONYMS, Command, page
from scrubjay.errors import InputError, ScrubjayError
from scrubjay.home.paths import Home, default_root
from scrubjay.home.scopes import nearest, show_names_of
from scrubjay.text.foreign import visible
from scrubjay.wire.hello import working_dir

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without the import that every command would pay
if TYPE_CHECKING:
    from typing import Any

# What a shell completes, by the name of an argument in the help.
_COMPLETED = {"PATH": "FILE", "FILE": "FILE", "FOLDER": "DIRECTORY"}
NUMBERS = {"int": (int, "a whole number"), "float": (float, "a number")}
OnAction = Callable[[argparse.Action], object]


def run(arguments: list[str], env: Mapping[str, str]) -> int:
    """Run one command; return 0 if it is done, 1 if refused or with problems, 2 if not understood."""
    names = [*LISTED, "help", "--help", "--version"]
    for stream, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, stream) is None:  # the caller closed it, such as `scrubjay list >&-`
            setattr(sys, stream, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal or a pipe may only support ASCII
    if arguments[0] == "help":
        topic = [word for word in arguments[1:2] if word not in ("help", "-h", "--help", "--version")]
        arguments = [*topic, "--help"]
    if arguments[0] not in (*names, "-h"):
        suggestion = suggest_name(arguments[0], names)
        sentence = f"There is no command {visible(arguments[0])[:80]!r}"
        print(f"scrubjay: {sentence}.{suggestion} `scrubjay help` lists the commands.", file=sys.stderr)
        return 2
    try:
        if arguments[0] in ("-h", "--help"):
            print(_wrapped(page(), _columns()), flush=True)
            return 0
        options = _parse(*arguments)
        with closing(Place(env, working_dir(), default_root(dict(env)))) as place:
            show_names_of(Home(place.root))
            if getattr(options, "scope", None) is not None:
                writes = options.command.name in ("add", "index", "import")
                options.scope = place.scope(options.scope, may_be_new=writes)
            return _run(options, place)
    except ScrubjayError as error:
        name = "\x1b[31mscrubjay:\x1b[0m" if has_colours(sys.stderr) else "scrubjay:"
        print(f"{name} {visible(str(error))}", file=sys.stderr)
        return 1
    except OSError as error:  # an error of the output, which has no file name
        if error.filename is not None:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # `scrubjay list | head`: the reader has stopped
            return 0
        print(f"scrubjay: The output cannot be written, so the command ended early: {error}", file=sys.stderr)
        return 1


def _run(options: argparse.Namespace, place: Place) -> int:
    """Run a parsed command; in an error about an option's value, use the name that the user typed."""
    try:
        code: int = options.command.load()(place, options) or 0
    except InputError as error:
        field, equals, rest = str(error).partition(" = ")
        raise InputError(f"{options.typed.get(field.partition('[')[0], field)}{equals}{rest}") from error
    sys.stdout.flush()
    return code


def _parse(name: str, *words: str) -> argparse.Namespace:
    style = partial(argparse.HelpFormatter, width=_columns())
    parser = argparse.ArgumentParser(prog=f"scrubjay {name}", formatter_class=style)
    command_parser(LISTED[name], parser)
    options, unknown = parser.parse_known_args(words)
    if unknown:
        suggestion = suggest_name(unknown[0].partition("=")[0], options.names)
        options.refuse(f"{visible(unknown[0])[:80]!r} is not an argument of this command.{suggestion}")
    return options


def _columns() -> int:
    """Return the width of help texts; argparse would import shutil for it, 4 ms in every command."""
    try:
        return os.get_terminal_size().columns - 2
    except OSError:  # no terminal
        return 98


def _wrapped(text: str, width: int) -> str:
    """Return the list of commands for a narrow terminal, with sentences continued below their beginning."""
    if all(len(line) <= width + 2 for line in text.split("\n")):
        return text
    from textwrap import fill  # takes 2 ms, only needed here

    indents = ((line, " " * 17 * line.startswith("  ")) for line in text.split("\n"))
    return "\n".join(fill(line, width, subsequent_indent=indent) for line, indent in indents)


def suggest_name(typed: str, names: Collection[str]) -> str:
    """Return a question that suggests a name with a similar meaning or spelling, or ""."""
    synonyms = [ours for ours, others in SYNONYMS.items() if typed in others.split() and ours in names]
    return f" Did you mean {synonyms[0]}?" if synonyms else nearest(typed, names)


def build_parser(on_action: OnAction = id) -> argparse.ArgumentParser:
    """Return the parser of all commands; a parsed command line has the attribute `command`."""
    parser = argparse.ArgumentParser(prog="scrubjay")
    parser.add_argument("--version", action="store_true")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=argparse.ArgumentParser)
    help_parser = commands.add_parser("help", help="list the commands, or explain one")
    help_parser.add_argument("topic", metavar="COMMAND", choices=tuple(LISTED), nargs="?")
    for row in LISTED.values():
        command_parser(row, commands.add_parser(row.name, help=row.summary), on_action)
    return parser


def command_parser(
    command: Command, parser: argparse.ArgumentParser, on_action: OnAction = id
) -> argparse.ArgumentParser:
    """Add a command's arguments to this parser, call `on_action` with each, and return the parser."""
    parser.description, names, typed = command.summary, list[str](), dict[str, str]()
    for alternatives in command.alternatives():
        group = parser.add_mutually_exclusive_group() if len(alternatives) > 1 else parser
        for alternative in alternatives:
            argument_names, options = _argparse_terms(alternative)
            names += argument_names
            action = group.add_argument(*argument_names, **options)
            typed[action.dest] = argument_names[-1]
            on_action(action)
    parser.set_defaults(command=command, refuse=parser.error, names=names, typed=typed)
    return parser


def _argparse_terms(argument: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """Return the names and options of an argument of the table, as argparse takes them."""
    options = {name: each for name, each in argument.items() if name != "names"}
    if options["help"] is None:
        options["help"] = argparse.SUPPRESS
    if not options.keys() & {"metavar", "choices", "action"}:
        options["action"] = "store_true"
    if options.get("nargs") == "*":
        options["default"] = []  # else argparse calls it required
    if "type" in options:
        options["type"] = partial(_number, *NUMBERS[options["type"]])
    return argument["names"].split(), options


def _number(kind: type[int | float], name: str, typed: str) -> float:
    try:
        return kind(typed)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{visible(typed)[:80]!r} is not {name}") from None


def completion(place: Place, options: argparse.Namespace) -> None:
    """Print the completion script of a shell: `source <(scrubjay completion bash)`."""
    import shtab

    def complete_paths(action: argparse.Action) -> None:
        if kind := _COMPLETED.get(str(action.metavar)):
            action.complete = getattr(shtab, kind)  # type: ignore[attr-defined]

    print(shtab.complete(build_parser(complete_paths), options.shell))
