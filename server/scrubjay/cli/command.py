"""The context of a command, and what several commands share."""

from __future__ import annotations

import os
import sys

from scrubjay.errors import InputError
from scrubjay.home.paths import Home, open_home
from scrubjay.home.scopes import EVERY_SCOPE, USER_SCOPE, display_name, find_scope, list_scopes, nearest

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without the import that every command would pay
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from scrubjay.home.settings import Settings
    from scrubjay.pipe.client import EngineClient, OnProgress


class Place:
    """The context of a command: environment, working directory, home folder, and the engine of that home."""

    def __init__(self, env: Mapping[str, str], cwd: str, root: str) -> None:
        self.env, self.cwd, self.root = env, cwd, root
        self._client: EngineClient | None = None  # for `ask`, from its first call on

    @property
    def home(self) -> Home:
        """The home, created if missing. Raises HomeError if it cannot be used."""
        return open_home(self.root)

    @property
    def named_root(self) -> str | None:
        """The home's path if the environment names it, or None for the default home."""
        return os.path.abspath(self.root) if self.env.get("SCRUBJAY_HOME") else None

    def path(self, typed: str) -> str:
        """Return a typed path as absolute and without `~`."""
        return os.path.normpath(os.path.join(self.cwd, os.path.expanduser(typed)))

    def folder(self, typed: str, *, may_be_gone: bool = False) -> str:
        """Return the absolute path of an existing folder. Raises InputError if it does not exist.

        With `may_be_gone`, also accept the absolute path of a missing folder, unless a folder has a similar
        name.
        """
        folder = self.path(typed)
        if typed and os.path.isdir(folder):
            return folder
        parent, name = os.path.split(folder)
        suggestion = nearest(name, next(os.walk(parent), (parent, [], []))[1])
        if may_be_gone and os.path.isabs(typed) and not suggestion:
            return folder
        raise InputError(f"There is no folder {typed!r}.{suggestion} Give the path of an existing one.")

    @property
    def has_engine(self) -> bool:
        """Return True if an engine is running for the home."""
        from scrubjay.wire.lock import is_held

        return is_held(self.home.engine_lock)

    def engine(self, *, scope: str | None = None, start: bool = True) -> EngineClient:
        """Return a client of the engine, which `start` starts if needed. Raises EngineError if it cannot."""
        from scrubjay.pipe.client import open_client
        from scrubjay.wire.hello import hello_from

        if start and not self.has_engine:
            print_progress("starting the engine ...")
        hello = hello_from("cli", self.env, self.cwd, os.getpid(), scope=scope)
        client = open_client(self.home, hello, self.env, start=start)
        for notice in client.engine.get("notices", []) if start else ():
            print(f"scrubjay: {notice}", file=sys.stderr)
        return client

    def running_engine(self) -> EngineClient | None:
        """Return a client of the running engine, or None if no engine is running. Raises as `engine` does."""
        return self.engine(start=False) if self.has_engine else None

    def ask(self, method: str, report: OnProgress | None = None, **arguments: Any) -> Any:
        """Return the engine's answer to one call, starting it if necessary; leave out arguments of None."""
        self._client = self._client or self.engine()
        return self._client.call(method, drop_none(**arguments), report)

    def close(self) -> None:
        """Close the connection that `ask` opened."""
        if self._client is not None:
            self._client.close()

    def current_scope(self) -> str:
        """Return the scope of the working directory."""
        scope: str | None = self.ask("status", brief=True)["scope"]
        return scope or USER_SCOPE

    def scope(self, typed: str, *, may_be_new: bool) -> str:
        """Return the scope that the user typed, by its name or by a display name that no other scope has.

        Raises InputError if it is unknown and not `may_be_new`, if another has a similar name, or if several
        match.
        """
        names = {entry["scope"] for entry in list_scopes(self.home)}
        if typed not in {*names, USER_SCOPE, EVERY_SCOPE}:
            # Not with `ask`: its open connection would keep the engine alive during `index --watch`.
            with self.engine() as engine:
                names |= engine.call("scopes", {}).keys()  # it also knows scopes named by users
        return find_scope(typed, names, may_be_new=may_be_new)


def drop_none(**values: Any) -> dict[str, Any]:
    """Return the arguments that are not None."""
    return {name: each for name, each in values.items() if each is not None}


def refuse_below_one(name: str, number: int) -> None:
    """Raise InputError if an option's number is below 1."""
    if number < 1:
        raise InputError(f"{name} = {number}: must be a whole number of at least 1.")


def within(scope: str) -> str:
    """Return where a command looked, as part of a sentence."""
    return "anywhere" if scope == EVERY_SCOPE else f"in {display_name(scope)}"


def full_name(scope: str) -> str:
    """Return a scope's name, with its project's own name if the scope does not spell that."""
    name = display_name(scope)
    return scope if name in scope else f"{scope}, {name}"


def how_to_switch_on(settings: Settings) -> str:
    """Return how to switch capture on, or "" if it is on."""
    if settings.paused:
        return "`scrubjay resume` ends the pause."
    return "`scrubjay config capture all` turns capture on." if settings.capture == "off" else ""


def confirm(question: str, *, default: bool) -> bool:
    """Ask the user at the terminal, and return True for yes."""
    try:
        answer = input(f"{question} [{'Y/n' if default else 'y/N'}] ").strip().lower()
    except EOFError:
        return False
    return answer in ("y", "yes") or (default and not answer)


def print_progress(text: str) -> None:
    """Print a line for a user at a terminal, but not for a program that reads the output."""
    if sys.stderr.isatty():
        print(f"scrubjay: {text}", file=sys.stderr, flush=True)
