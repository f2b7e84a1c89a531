"""What a command is, what it is given, its arguments, and its way to the engine."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from scrubjay.errors import InputError
from scrubjay.home.paths import Home, open_home
from scrubjay.home.scopes import EVERY_SCOPE, USER_SCOPE, display_name, find_scope, list_scopes, nearest

if TYPE_CHECKING:
    from scrubjay.pipe.client import EngineClient


class Place(NamedTuple):
    """Where a command was typed: environment, working directory, and the home folder that follows."""

    env: Mapping[str, str]
    cwd: str
    root: str
    pid: int

    @property
    def home(self) -> Home:
        """The home, made if it is not there.

        Raises:
            HomeError: it cannot be used.
        """
        return open_home(self.root)

    @property
    def named_root(self) -> str | None:
        """The home's path if the environment names it; None where everybody finds it."""
        return os.path.abspath(self.root) if self.env.get("SCRUBJAY_HOME") else None

    def path(self, named: str) -> str:
        """A path that was typed here, absolute and without `~`."""
        return os.path.normpath(os.path.join(self.cwd, os.path.expanduser(named)))


class Argument(NamedTuple):
    """An argument, or an option if its name begins with a dash, as argparse takes it."""

    name: str
    options: Mapping[str, Any]


Arguments = tuple[Argument | tuple[Argument, ...], ...]  # of an inner tuple only one may be given
Run = Callable[[Place, argparse.Namespace], int | None]  # the exit code, None for 0


class Command(NamedTuple):
    """One command: its name, its sentence in the list, its function, and its arguments."""

    name: str
    says: str
    run: Run
    arguments: Arguments


def command(*arguments: Argument | tuple[Argument, ...]) -> Callable[[Run], Command]:
    """Make a command of the function below; its name and docstring are those of the command."""

    def make(run: Run) -> Command:
        return Command(run.__name__.rstrip("_").replace("_", "-"), run.__doc__ or "", run, arguments)

    return make


def flag(name: str, says: str, **more: Any) -> Argument:
    """An option without a value."""
    return Argument(name, {"action": "store_true", "help": says, **more})


def value(name: str, metavar: str, says: str, **more: Any) -> Argument:
    """An argument with a value."""
    return Argument(name, {"metavar": metavar, "help": says, **more})


def choice(name: str, choices: Sequence[str], says: str, **more: Any) -> Argument:
    """An argument with one of a few values."""
    return Argument(name, {"choices": choices, "help": says, **more})


JSON = flag("--json", "print what the engine answers, as JSON")
SCOPE = (
    value("--scope", "NAME", "look in this scope instead of this folder's project (`scrubjay scopes`)"),
    flag("--all", "look in every project"),
)


def given(**values: Any) -> dict[str, Any]:
    """The arguments that were named: those that are not None."""
    return {name: each for name, each in values.items() if each is not None}


def call_engine(place: Place, *, scope: str | None = None) -> EngineClient:
    """A client of the engine, which is started if there is none.

    Raises:
        EngineError: it cannot be started or reached.
    """
    from scrubjay.pipe.client import open_client
    from scrubjay.wire.hello import hello_from

    if not engine_runs(place.home):
        note("starting the engine ...")
    hello = hello_from("cli", place.env, place.cwd, place.pid, scope=scope)
    client = open_client(place.home, hello, place.env)
    for notice in client.engine.get("notices", []):
        print(f"scrubjay: {notice}", file=sys.stderr)
    return client


def visit_engine(place: Place) -> EngineClient | None:
    """A client of the engine if one runs; none is started.

    Raises:
        EngineError: one runs and cannot be reached.
    """
    from scrubjay.pipe.client import open_client
    from scrubjay.wire.hello import hello_from

    if not engine_runs(place.home):
        return None
    return open_client(place.home, hello_from("cli", place.env, place.cwd, place.pid), place.env, start=False)


def engine_runs(home: Home) -> bool:
    """Whether some process is the engine of this home."""
    from scrubjay.wire.lock import is_held

    return is_held(home.engine_lock)


def chosen_scope(options: argparse.Namespace) -> str | None:
    """The scope that the arguments SCOPE were given, None for that of the working directory."""
    return "*" if options.all else options.scope


def known_scope(place: Place, said: str, *, may_be_new: bool) -> str:
    """The scope that is find_scope: by its name, or as it is displayed if one scope alone is displayed so.

    Raises:
        InputError: there is none and none `may_be_new`, one is nearly called so, or several are find_scope.
    """
    names = {entry["scope"] for entry in list_scopes(place.home)}
    if said not in {*names, USER_SCOPE, EVERY_SCOPE}:
        with call_engine(place) as engine:  # it knows those as well that were named by hand
            names |= engine.call("scopes", {}).keys()
    return find_scope(said, names, may_be_new=may_be_new)


def known_folder(place: Place, said: str, *, may_be_gone: bool = False) -> str:
    """The absolute path of a folder that is there, named by its path or by its project as it is displayed.

    One that `may_be_gone` is taken by its whole path, unless another one is nearly called so.

    Raises:
        InputError: there is none.
    """
    if not said:
        raise InputError("The name of the folder is empty. Give its path.")
    folder = place.path(said)
    if os.path.isdir(folder):
        return folder
    paths = [
        each
        for entry in list_scopes(place.home)
        if said in (entry["scope"], display_name(entry["scope"]))
        for each in entry["paths"]
    ]
    projects: list[str] = [
        os.path.dirname(each) if os.path.basename(each) == ".git" else each for each in paths
    ]
    if len(projects) == 1 and os.path.isdir(projects[0]):
        return projects[0]
    above, name = os.path.split(folder)
    beside = next(os.walk(above), (above, [], []))[1]
    near = nearest(name, beside)
    if may_be_gone and os.path.isabs(said) and not near:
        return folder
    raise InputError(f"There is no folder {folder}.{near} Give the path of one that is there.")


def note(text: str) -> None:
    """Tell a person who waits what is going on; a program that reads us is not told."""
    if sys.stderr.isatty():
        print(f"scrubjay: {text}", file=sys.stderr, flush=True)
