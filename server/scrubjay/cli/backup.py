"""`scrubjay backup` and `scrubjay restore-backup`: a copy of the whole home, and a home out of a copy."""

from __future__ import annotations

import argparse
import os
import shutil
import uuid
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from scrubjay.cli.command import Command, Place, call_engine
from scrubjay.cli.display import Progress, local, plural, size
from scrubjay.errors import EngineError, InputError
from scrubjay.home.paths import Home

if TYPE_CHECKING:
    from scrubjay.wire.lock import FileLock


def backup(place: Place, options: argparse.Namespace) -> int:
    """Have the engine copy its home into a new folder."""
    folder = _absolute(place, options.folder)
    with call_engine(place) as engine, Progress("copying") as progress:
        made = engine.call(
            "backup", {"path": folder}, lambda step: progress.show(step["done"], step["total"])
        )
    held = f"{plural(made['turns'], 'turn')}, {plural(made['memories'], 'fact')}, {plural(made['documents'], 'document')}"
    print(
        f"{held} and their index are in {folder} ({plural(made['files'], 'file')}, {size(made['bytes'])}), copied and checked."
    )
    return 0


def restore(place: Place, options: argparse.Namespace) -> int:
    """Make a backup the home. No engine may run: this replaces what one works on."""
    from scrubjay.home import backups
    from scrubjay.store.notes import SCHEMA_VERSION

    folder = _absolute(place, options.folder)
    facts = backups.read_manifest(folder)
    if facts["schema_version"] > SCHEMA_VERSION:
        raise InputError(
            f"{folder} was made by a newer Scrubjay ({facts['scrubjay']}). Upgrade Scrubjay; nothing was changed."
        )
    home = Home(os.path.realpath(place.home.root))
    with ExitStack() as stack:
        stack.enter_context(_alone(home))
        full = backups.holds_something(home)
        if full and not options.replace:
            raise InputError(
                f"{home.root} holds records or settings. With --replace the backup takes its place; what is there is kept beside it."
            )
        draft = f"{home.root}.{uuid.uuid4().hex[:8]}.part"
        stack.callback(shutil.rmtree, draft, ignore_errors=True)
        with Progress("copying") as progress:
            backups.copy_backup(folder, draft, progress.show)
        aside = f"{home.root}.before-{datetime.now(UTC):%Y%m%d-%H%M%S}"
        backups.take_place(draft, home.root, aside)
    if not full:
        shutil.rmtree(aside)
    held = facts["counts"]
    what = f"{plural(held['turns'], 'turn')}, {plural(held['memories'], 'fact')}, {plural(held['documents'], 'document')}"
    print(f"{home.root} is the backup of {local(facts['made_at']):%Y-%m-%d %H:%M} now: {what}.")
    if full:
        print(f"What was there is in {aside}; delete it when you do not need it.")
    return 0


def _alone(home: Home) -> FileLock:
    """The engine's lock on the home.

    Raises:
        EngineError: an engine has it.
    """
    from scrubjay.wire.lock import take

    try:
        return take(home.engine_lock)
    except EngineError as error:
        raise EngineError(
            f"An engine serves {home.root}. Close the clients, end it with `scrubjay stop`, and repeat this."
        ) from error


def _absolute(place: Place, named: str) -> str:
    return os.path.normpath(os.path.join(place.cwd, os.path.expanduser(named)))


def _backup_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", help="a new folder, best on another disk")


def _restore_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", help="what `scrubjay backup` made")
    parser.add_argument(
        "--replace", action="store_true", help="although the home holds something; that is kept beside it"
    )


COMMANDS = (
    Command("backup", "Copy the whole home into a folder, while it is in use.", backup, _backup_arguments),
    Command("restore-backup", "Make a backup the home again.", restore, _restore_arguments),
)
