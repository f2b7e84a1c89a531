"""Defines commands and their arguments, and connects them to the engine."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable

from scrubjay.errors import InputError
from scrubjay.home.paths import Home, open_home
from scrubjay.home.scopes import EVERY_SCOPE, USER_SCOPE, display_name, find_scope, list_scopes, nearest

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without the import that every command would pay
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from scrubjay.home.settings import Settings
    from scrubjay.pipe.client import EngineClient


class Place:
    """The context of a command: environment, working directory, and the resulting home folder."""

    def __init__(self, env: Mapping[str, str], cwd: str, root: str, pid: int) -> None:
        self.env, self.cwd, self.root, self.pid = env, cwd, root, pid

    @property
    def home(self) -> Home:
        """The home, created if missing.

        Raises:
            HomeError: it cannot be used.
        """
        return open_home(self.root)

    @property
    def named_root(self) -> str | None:
        """The home's path if the environment names it; None for the default one."""
        return os.path.abspath(self.root) if self.env.get("SCRUBJAY_HOME") else None

    def path(self, named: str) -> str:
        """Return a typed path as absolute and without `~`."""
        return os.path.normpath(os.path.join(self.cwd, os.path.expanduser(named)))


class Argument:
    """An argument, or an option if its names begin with a dash, in argparse's terms."""

    def __init__(self, names: tuple[str, ...], options: Mapping[str, Any]) -> None:
        self.names, self.options = names, options


Arguments = tuple[Argument | tuple[Argument, ...], ...]  # of an inner tuple, only one may be given
Run = Callable[[Place, argparse.Namespace], int | None]  # the exit code, None for 0


class Command:
    """One command: its name, its sentence in the list, its function, and its arguments."""

    def __init__(self, name: str, says: str, run: Run, arguments: Arguments) -> None:
        self.name, self.says, self.run, self.arguments = name, says, run, arguments


def command(*arguments: Argument | tuple[Argument, ...]) -> Callable[[Run], Command]:
    """Make a command of the decorated function, with its name and docstring."""

    def make(run: Run) -> Command:
        return Command(run.__name__.rstrip("_").replace("_", "-"), run.__doc__ or "", run, arguments)

    return make


def flag(name: str, says: str, **more: Any) -> Argument:
    """Return an option without a value; its names have blanks between them."""
    return Argument(tuple(name.split()), {"action": "store_true", "help": says, **more})


def value(name: str, metavar: str, says: str, **more: Any) -> Argument:
    """Return an argument with a value; its names have blanks between them."""
    return Argument(tuple(name.split()), {"metavar": metavar, "help": says, **more})


def choice(name: str, choices: Sequence[str], says: str, **more: Any) -> Argument:
    """Return an argument with one of a few values."""
    return Argument((name,), {"choices": choices, "help": says, **more})


JSON = flag("--json", "print the engine's answer as JSON")
SCOPE = (
    value("-s --scope", "NAME", "use this scope instead of this folder's project (`scrubjay scopes`)"),
    flag("-a --all", "use every project"),
)


def given(**values: Any) -> dict[str, Any]:
    """Return the arguments that are not None."""
    return {name: each for name, each in values.items() if each is not None}


def call_engine(place: Place, *, scope: str | None = None) -> EngineClient:
    """Return a client of the engine, starting it if necessary.

    Raises:
        EngineError: it cannot be started or reached.
    """
    from scrubjay.pipe.client import open_client
    from scrubjay.wire.hello import hello_from

    if not is_engine_running(place.home):
        note("starting the engine ...")
    hello = hello_from("cli", place.env, place.cwd, place.pid, scope=scope)
    client = open_client(place.home, hello, place.env)
    for notice in client.engine.get("notices", []):
        print(f"scrubjay: {notice}", file=sys.stderr)
    return client


def visit_engine(place: Place) -> EngineClient | None:
    """Return a client of the running engine, or None; none is started.

    Raises:
        EngineError: an engine is running and cannot be reached.
    """
    from scrubjay.pipe.client import open_client
    from scrubjay.wire.hello import hello_from

    if not is_engine_running(place.home):
        return None
    return open_client(place.home, hello_from("cli", place.env, place.cwd, place.pid), place.env, start=False)


def is_engine_running(home: Home) -> bool:
    """Return True if an engine is running for this home."""
    from scrubjay.wire.lock import is_held

    return is_held(home.engine_lock)


def chosen_scope(options: argparse.Namespace) -> str | None:
    """Return the scope of the arguments SCOPE, None for that of the working directory."""
    return "*" if options.all else options.scope


def here(engine: EngineClient) -> str:
    """Return the scope of the working directory."""
    scope: str | None = engine.call("status", {"brief": True})["scope"]
    return scope or USER_SCOPE


def within(scope: str) -> str:
    """Return where a command looked, for a sentence."""
    return "anywhere" if scope == EVERY_SCOPE else f"in {display_name(scope)}"


def known_scope(place: Place, typed: str, *, may_be_new: bool) -> str:
    """Return the scope with this name, or the only one with this display name.

    Raises:
        InputError: it is unknown and not `may_be_new`, one has a similar name, or several match.
    """
    names = {entry["scope"] for entry in list_scopes(place.home)}
    if typed not in {*names, USER_SCOPE, EVERY_SCOPE}:
        with call_engine(place) as engine:  # it also knows scopes named by users
            names |= engine.call("scopes", {}).keys()
    return find_scope(typed, names, may_be_new=may_be_new)


def known_folder(place: Place, typed: str, *, may_be_gone: bool = False) -> str:
    """Return the absolute path of an existing folder.

    With `may_be_gone`, a missing folder is accepted by its absolute path, unless an existing one is similar.

    Raises:
        InputError: the folder does not exist.
    """
    folder = place.path(typed)
    if typed and os.path.isdir(folder):
        return folder
    above, name = os.path.split(folder)
    near = nearest(name, next(os.walk(above), (above, [], []))[1])
    if may_be_gone and os.path.isabs(typed) and not near:
        return folder
    raise InputError(f"There is no folder {typed!r}.{near} Give the path of an existing one.")


def switch_on(settings: Settings) -> str:
    """Return how to switch capture on; "" if it is on."""
    if settings.paused:
        return "`scrubjay resume` ends the pause."
    return "`scrubjay config capture all` turns capture on." if settings.capture == "off" else ""


def confirm(question: str, *, default: bool) -> bool:
    """Return the user's answer at the terminal."""
    try:
        said = input(f"{question} [{'Y/n' if default else 'y/N'}] ").strip().lower()
    except EOFError:
        return False
    return said in ("y", "yes") or (default and not said)


def note(text: str) -> None:
    """Show progress to a user at a terminal; not to a program that reads the output."""
    if sys.stderr.isatty():
        print(f"scrubjay: {text}", file=sys.stderr, flush=True)
