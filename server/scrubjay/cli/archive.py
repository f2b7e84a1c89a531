"""`scrubjay export`, `import`, `backup` and `restore-backup`: all records as lines or as a copy, and back."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, BinaryIO

from scrubjay.cli.command import JSON, Place, call_engine, command, flag, given, value
from scrubjay.cli.display import Progress, contents, local, plural, size
from scrubjay.errors import EngineError, InputError
from scrubjay.home.paths import Home

if TYPE_CHECKING:
    from scrubjay.wire.lock import FileLock

MOST_DIFFERENT = 5  # records with other contents that are named
# an export as records.exchange reads it, which takes a second to import (a test compares)
FORMAT, LONGEST_HEADER, LONGEST_LINE = "scrubjay-export", 100_000, 400_000_000


@command(
    value("file", "FILE", "where to; - or nothing is standard output", nargs="?", default="-"),
    value("--scope", "NAME", "only this scope instead of everything (`scrubjay scopes`)"),
)
def export(place: Place, options: argparse.Namespace) -> None:
    """Write everything recorded as lines of JSON, for another machine or another tool."""
    where, out = "standard output", sys.stderr
    scope = options.scope or None
    if options.file != "-":
        where, out = place.path(options.file), sys.stdout
        counts = _work(place, "export", "exporting", path=where, scope=scope)
    else:
        with _private_file(place) as path:
            counts = _work(place, "export", "exporting", path=path, scope=scope)
            with open(path, "rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
            sys.stdout.buffer.flush()
    print(f"{contents(counts)} written to {where} ({size(counts['bytes'])}).", file=out)


def _work(place: Place, method: str, label: str, **arguments: Any) -> dict[str, Any]:
    with call_engine(place) as engine, Progress(label) as progress:
        answer: dict[str, Any] = engine.call(method, given(**arguments), progress.step)
    return answer


@command(
    value("file", "FILE", "an export (- is standard input), or with --from where to look", nargs="?"),
    value("--from", "NAME", "the past of an assistant or another memory: its name, or all", dest="source"),
    value("--since", "WHEN", "with --from: only from then on, as 2026-03-01 or 3 weeks ago"),
    value("--scope", "NAME", "with --from: into this scope instead of each project's own"),
    flag("--dry-run", "with --from: say what there is, and import nothing"),
    JSON,
)
def import_(place: Place, options: argparse.Namespace) -> int:
    """Take in an export, or the past of other assistants; what is here already stays as it is."""
    if options.source is not None:
        from scrubjay.cli.past import import_past

        return import_past(place, options)
    if options.file is None:
        raise InputError("Name an export, or whose past to take in: `scrubjay import --from all`.")
    if options.file != "-":
        return _print_imported(_import(place, place.path(options.file)))
    with _private_file(place) as path:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            _copy_export(sys.stdin.buffer, file)
        try:
            return _print_imported(_import(place, path))
        except InputError as error:
            raise InputError(str(error).replace(path, "standard input")) from error


def _copy_export(source: BinaryIO, target: BinaryIO) -> None:
    """Copy standard input as far as it may be an export: a device has a line that never ends.

    Raises:
        InputError: it is none.
    """
    header = source.readline(LONGEST_HEADER)
    if FORMAT.encode() not in header:
        why = f"This is no export of Scrubjay: its first line does not say {FORMAT}"
        raise InputError(f"standard input: {why}. Nothing was imported.")
    target.write(header)
    number, length = 2, 0
    while part := source.readline(1 << 20):
        length += len(part)
        if length > LONGEST_LINE:
            why = f"Line {number:,} has more than {LONGEST_LINE:,} bytes, so it holds no record"
            raise InputError(f"standard input: {why}. Nothing was imported.")
        target.write(part)
        if part.endswith(b"\n"):
            number, length = number + 1, 0


def _import(place: Place, path: str) -> dict[str, Any]:
    if not os.path.isfile(path):
        raise InputError(f"{path} is no file. Name an export, or `-` for standard input.")
    return _work(place, "import", "importing", path=path)


def _print_imported(counts: dict[str, Any]) -> int:
    print(f"{plural(counts['added'], 'record')} imported, {counts['same']:,} known already.")
    if counts["redacted"]:
        were = "was" if counts["redacted"] == 1 else "were"
        print(f"{plural(counts['redacted'], 'secret')} in them {were} replaced before they were stored.")
    different = counts["different"]
    if not different:
        return 0
    why = "because here they have other contents; what is here stays as it is"
    print(f"{plural(different, 'record')} not imported, {why}:")
    for each in counts.get("differing", [])[:MOST_DIFFERENT]:
        print(f"  {each['id']}: {', '.join(each['fields'])}")
    if different > MOST_DIFFERENT:
        print(f"  and {different - MOST_DIFFERENT:,} more")
    return 1


@contextmanager
def _private_file(place: Place) -> Iterator[str]:
    """The path of a file in the home that does not exist yet and is gone afterwards.

    A kill leaves it among the drafts of the spool, which are swept.
    """
    path = os.path.join(place.home.spool_tmp, f"{os.getpid()}-{uuid.uuid4().hex}")
    try:
        yield path
    finally:
        if os.path.exists(path):
            os.unlink(path)


@command(value("folder", "FOLDER", "a new folder, best on another disk"))
def backup(place: Place, options: argparse.Namespace) -> None:
    """Copy the whole home into a folder, while it is in use."""
    folder = place.path(options.folder)
    counts = _work(place, "backup", "copying", path=folder)
    copy = f"{plural(counts['files'], 'file')}, {size(counts['bytes'])}"
    print(f"{contents(counts)} and their index are in {folder} ({copy}), copied and checked.")


@command(
    value("folder", "FOLDER", "what `scrubjay backup` made"),
    flag("--replace", "although the home holds something; that is kept beside it"),
)
def restore_backup(place: Place, options: argparse.Namespace) -> None:
    """Make a backup the home again."""
    from scrubjay.home import backups

    folder = place.path(options.folder)
    facts = backups.read_manifest(folder)
    home = Home(os.path.realpath(place.home.root))
    with ExitStack() as stack:
        stack.enter_context(_alone(home))
        full = backups.holds_something(home)
        if full and not options.replace:
            advice = "With --replace the backup takes its place; what is there is kept beside it."
            raise InputError(f"{home.root} holds records or settings. {advice}")
        backups.clear(home)
        stack.callback(backups.clear, home)
        with Progress("copying") as progress:
            backups.copy_backup(folder, backups.restoring(home), progress.show)
        kept = backups.keep_tokens(home)
        aside = f"{home.root}.before-{datetime.now(UTC):%Y%m%d-%H%M%S}"
        backups.take_place(home, aside)
    if not full:
        shutil.rmtree(aside)
    when = f"{local(facts['made_at']):%Y-%m-%d %H:%M}"
    print(f"{home.root} is the backup of {when} now: {contents(facts['counts'])}.")
    if kept:
        print("Over HTTP the keys of now stay in force, not those of the backup.")
    if full:
        print(f"What was there is in {aside}; delete it when you do not need it.")


def _alone(home: Home) -> FileLock:
    """The engine's lock on the home.

    Raises:
        EngineError: an engine has it.
    """
    from scrubjay.wire.lock import take

    try:
        return take(home.engine_lock)
    except EngineError as error:
        advice = "Close the clients, end it with `scrubjay stop`, and repeat this."
        raise EngineError(f"An engine serves {home.root}. {advice}") from error


COMMANDS = (export, import_, backup, restore_backup)
