"""What a command is, what it is given, its arguments, and its way to the engine."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from scrubjay.home.paths import Home, open_home

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

    def path(self, named: str) -> str:
        """A path that was typed here, absolute and without `~`."""
        return os.path.normpath(os.path.join(self.cwd, os.path.expanduser(named)))


def no_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of a command that takes none."""


class Command(NamedTuple):
    """One command: its name, its sentence in the list, its function (the exit code), and its arguments."""

    name: str
    says: str
    run: Callable[[Place, argparse.Namespace], int]
    arguments: Callable[[argparse.ArgumentParser], None] = no_arguments


def flag(parser: argparse._ActionsContainer, name: str, says: str, **more: Any) -> None:
    """An option without a value."""
    parser.add_argument(name, action="store_true", help=says, **more)


def value(parser: argparse._ActionsContainer, name: str, metavar: str, says: str, **more: Any) -> None:
    """An argument, or an option if its name begins with a dash, with a value."""
    parser.add_argument(name, metavar=metavar, help=says, **more)


def json_flag(parser: argparse.ArgumentParser) -> None:
    """The option that prints the engine's answer as it is."""
    flag(parser, "--json", "print what the engine answers, as JSON")


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

    home = place.home
    if not engine_runs(home):
        note("starting the engine ...")
    hello = hello_from("cli", place.env, place.cwd, place.pid, scope=scope)
    client = open_client(home, hello, place.env)
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

    home = place.home
    if not engine_runs(home):
        return None
    return open_client(home, hello_from("cli", place.env, place.cwd, place.pid), place.env, start=False)


def engine_runs(home: Home) -> bool:
    """Whether some process is the engine of this home."""
    from scrubjay.wire.lock import is_held

    return is_held(home.engine_lock)


def scope_arguments(parser: argparse.ArgumentParser) -> None:
    """The two ways to look elsewhere than in the project of the working directory."""
    where = parser.add_mutually_exclusive_group()
    value(where, "--scope", "NAME", "look in this scope instead of this folder's project (`scrubjay scopes`)")
    flag(where, "--all", "look in every project")


def chosen_scope(options: argparse.Namespace) -> str | None:
    """The scope that `scope_arguments` were given, None for that of the working directory."""
    return "*" if options.all else options.scope


def note(text: str) -> None:
    """Tell a person who waits what is going on; a program that reads us is not told."""
    if sys.stderr.isatty():
        print(f"scrubjay: {text}", file=sys.stderr, flush=True)
