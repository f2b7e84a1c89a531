"""`scrubjay export`, `import`, `backup` and `restore-backup`."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from typing import Any

from scrubjay.cli.command import Place
from scrubjay.cli.display import Progress, contents, local, plural, print_answer, redaction_notice, size
from scrubjay.errors import InputError
from scrubjay.home.paths import Home

MAX_LISTED = 5  # ids that are listed of records that were not imported


def export(place: Place, options: argparse.Namespace) -> None:
    """Write all records as lines of JSON, or as notes in Markdown."""
    destination, out = "standard output", sys.stderr
    scope = options.scope or None
    if options.markdown:
        _export_notes(place, options.file, scope)
        return
    if options.file != "-":
        destination, out = place.path(options.file), sys.stdout
        place.folder(os.path.dirname(destination))
        counts = _export(place, destination, scope)
    else:
        with _private_file(place) as path:
            counts = _export(place, path, scope)
            with open(path, "rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
            sys.stdout.buffer.flush()
    print(f"{contents(counts)} written to {destination} ({size(counts['bytes'])}).", file=out)


def _export_notes(place: Place, folder: str, scope: str | None) -> None:
    from scrubjay.cli.notes import write_notes

    if folder == "-":
        raise InputError("Notes need a folder: `scrubjay export --markdown FOLDER`.")
    folder = place.path(folder)
    with _private_file(place) as path:
        _export(place, path, scope)
        with open(path, "rb") as lines:
            count = write_notes(folder, lines, datetime.now(UTC))
    print(f"{plural(count, 'note')} written to {folder}.")


def _export(place: Place, path: str, scope: str | None) -> dict[str, Any]:
    with Progress("exporting") as progress:
        counts: dict[str, Any] = place.ask("export", progress.step, path=path, scope=scope)
    return counts


def import_(place: Place, options: argparse.Namespace) -> int:
    """Import an export, or the history of other assistants; nothing stored changes."""
    if options.source is not None:
        from scrubjay.cli.past import import_past

        return import_past(place, options)
    if options.file is None:
        raise InputError(
            "Give the path of an export, or import other histories: `scrubjay import --from all`."
        )
    for name in ("since", "scope", "dry_run"):
        if getattr(options, name):
            advice = "An export is imported whole, and keeps its scopes; repeat without it."
            raise InputError(f"--{name.replace('_', '-')} needs --from. {advice}")
    if options.file != "-":
        return _import(place, place.path(options.file), as_json=options.json)
    with _private_file(place) as path:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        try:
            return _import(place, path, as_json=options.json)
        except InputError as error:
            raise InputError(str(error).replace(path, "standard input")) from error


def _import(place: Place, path: str, *, as_json: bool) -> int:
    if not os.path.isfile(path):
        raise InputError(f"{path} is not a file. Give the path of an export, or `-` for standard input.")
    with Progress("importing") as progress:
        counts = place.ask("import", progress.step, path=path)
    print_answer(counts, _imported_lines(counts), as_json=as_json)
    return 1 if counts["different"] else 0


def _imported_lines(counts: dict[str, Any]) -> Iterator[str]:
    yield f"{plural(counts['added'], 'record')} imported, {counts['same']:,} already known."
    yield from redaction_notice(counts["redacted"])
    if different_count := counts["different"]:
        reason = "because the existing ones have other contents; those do not change"
        yield f"{plural(different_count, 'record')} not imported, {reason}:"
        more = ", ..." if different_count > MAX_LISTED else ""
        yield f"  {', '.join(counts['differing'][:MAX_LISTED])}{more}"


@contextmanager
def _private_file(place: Place) -> Iterator[str]:
    """Yield a path in the home for a new file, which is deleted afterwards.

    If the process is killed, the file remains among the spool's drafts, which are swept later.
    """
    path = os.path.join(place.home.spool_tmp, f"{os.getpid()}-{uuid.uuid4().hex}")
    try:
        yield path
    finally:
        if os.path.exists(path):
            os.unlink(path)


def backup(place: Place, options: argparse.Namespace) -> None:
    """Copy the whole home into a folder while it is in use."""
    folder = place.path(options.folder)
    with Progress("copying") as progress:
        counts = place.ask("backup", progress.step, path=folder)
    copy = f"{plural(counts['files'], 'file')}, {size(counts['bytes'])}"
    print(f"{contents(counts)} and their index are copied to {folder} ({copy}) and checked.")


def restore_backup(place: Place, options: argparse.Namespace) -> None:
    """Restore the home from a backup."""
    from scrubjay.home import backups
    from scrubjay.wire.lock import take

    folder = place.path(options.folder)
    facts = backups.read_manifest(folder)
    home = Home(os.path.realpath(place.home.root))
    with ExitStack() as stack:
        stack.enter_context(take(home.engine_lock))
        was_used = backups.has_content(home)
        if was_used and not options.replace:
            advice = "--replace replaces it with the backup and keeps the current home next to it."
            raise InputError(f"{home.root} has records or settings. {advice}")
        backups.clear(home)
        stack.callback(backups.clear, home)
        with Progress("copying") as progress:
            backups.copy_backup(folder, backups.restoring(home), progress.show)
        kept_tokens = backups.keep_tokens(home)
        previous = f"{home.root}.before-{datetime.now(UTC):%Y%m%d-%H%M%S}"
        backups.replace_home(home, previous)
    if not was_used:
        shutil.rmtree(previous)
    when = f"{local(facts['made_at']):%Y-%m-%d %H:%M}"
    print(f"{home.root} is now the backup of {when}: {contents(facts['counts'])}.")
    if kept_tokens:
        print("The current HTTP keys stay valid, not those of the backup.")
    if was_used:
        print(f"The previous home is in {previous}; delete it when you no longer need it.")
