"""`scrubjay import --from`: imports the histories of assistants and other memories on this machine."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from datetime import datetime

from scrubjay.cli.command import Place, how_to_switch_on
from scrubjay.cli.display import Progress, plural, print_answer, redaction_notice
from scrubjay.cli.importer import Importer
from scrubjay.cli.tally import Tally
from scrubjay.errors import InputError
from scrubjay.histories.disk import Disk
from scrubjay.histories.memory_files import STORES, memory_files, memory_places
from scrubjay.histories.table import HISTORIES
from scrubjay.home import capture
from scrubjay.home.capture_policy import capture_view
from scrubjay.home.paths import Home
from scrubjay.home.scopes import is_scope, nearest, project_folders
from scrubjay.home.settings import load
from scrubjay.hosts.machine import this_machine
from scrubjay.models.fields import parse_when, resolve

EVERY = "all"
# Programs whose notes are read, but no sessions.
NOTES_ONLY = tuple(host for host in STORES if host not in {history.host for history in HISTORIES})
MAX_LISTED = 5  # unreadable files that are named
FOREIGN = (
    "Most of this is not in English, which the bundled model reads: "
    "`pip install 'scrubjay[multilingual]'`, then `scrubjay config model multilingual`."
)


def import_past(place: Place, options: argparse.Namespace) -> int:
    """Import the histories that `--from` names, newest first.

    Raises InputError if there is no such program, or if the user's settings forbid recording.
    """
    names = _choose(options.source, options.file)
    histories = [history for history in HISTORIES if history.host in names]
    if options.scope is not None and not is_scope(options.scope):
        allowed = "must be 1 to 100 letters (A to Z), digits or . _ : -."
        raise InputError(f"--scope = {options.scope[:80]!r}: {allowed}")
    importer = Importer(place, capture_policy(place.home), _since(options.since), options.scope)
    with Disk(place.home.spool_tmp) as disk:
        projects = (place.cwd, *project_folders(place.home))
        machine = this_machine(place.env)._replace(projects=tuple(dict.fromkeys(projects)))
        places = [_existing(place.path(options.file))] if options.file else None
        items = importer.find(histories, disk, machine, places)
        hosts = [] if options.file else [name for name in names if name in STORES]
        memories = [memory for host in hosts for memory in memory_files(host, machine)]
        patterns = [pattern for host in hosts for pattern, _ in memory_places(host, machine)]
        may_have_notes = bool(memories or (patterns and os.path.isdir(place.home.data)))
        needs_engine = not options.dry_run and (items or may_have_notes)
        with Progress("reading" if options.dry_run else "importing") as progress:
            engine = place.engine() if needs_engine else None
            with engine or nullcontext():
                importer.take(items, engine, progress.show)
                importer.take_memories(memories, patterns, engine, machine)
    tallies = importer.sorted_tallies()
    answer = {
        "dry_run": options.dry_run,
        "projects": [tally.as_json() for tally in tallies],
        "hidden": importer.hidden,
        "unreadable": importer.unreadable,
    }
    print_answer(answer, _report_lines(tallies, importer, place, options, names), as_json=options.json)
    return 0


def _choose(typed: str, path: str | None) -> list[str]:
    """Return the names of the programs that `--from` names."""
    known = [*(history.host for history in HISTORIES), *(() if path else NOTES_ONLY)]
    if typed == EVERY and not path:
        return known
    names = [each.strip() for each in typed.split(",")]
    for name in names:
        if name not in known:
            accepted = f"--from takes {', '.join(known if path else [EVERY, *known])}."
            raise InputError(f"Cannot import from {name[:80]!r}.{nearest(name, known)} {accepted}")
    if path and len(names) > 1:
        raise InputError("A file or folder belongs to one program: name it with --from.")
    return names


def _existing(path: str) -> str:
    if not os.path.exists(path):
        raise InputError(f"There is no file or folder {path!r}. Give the path of an existing one.")
    return path


def capture_policy(home: Home) -> capture.Policy:
    """Return the user's policy, which must allow capture."""
    settings = load(home.config)
    if advice := how_to_switch_on(settings):
        raise InputError(f"Capture is switched off, so nothing is imported. {advice}")
    return capture.policy(capture_view(settings))


def _since(typed: str | None) -> datetime | None:
    if typed is None:
        return None
    try:
        when = parse_when(typed)
    except ValueError as error:
        raise InputError(f"--since = {typed[:80]!r}: {error}.") from None
    return resolve("--since", when, datetime.now().astimezone(), end=False)


def _report_lines(
    tallies: Sequence[Tally],
    importer: Importer,
    place: Place,
    options: argparse.Namespace,
    names: Sequence[str],
) -> Iterator[str]:
    listed = [tally for tally in tallies if tally.has_contents]
    for tally in listed:
        summary = tally.describe(dry_run=options.dry_run)
        yield f"{tally.host:<12} {_shorten_home(tally.folder) or 'no project'}: {summary}"
    if not listed:
        places = f"the usual places of {', '.join(names)}"
        since = f" since {options.since}" if options.since else ""
        yield f"Nothing to import was found in {options.file or places}{since}."
        if not options.file:
            yield "`scrubjay import --from NAME PATH` searches another file or folder."
    elif len(taken := [tally for tally in listed if not tally.why]) > 1:
        total = Tally("all", None, None)
        for tally in taken:
            total.counts.update(tally.counts)
        yield f"{'together':<12} {total.describe(dry_run=options.dry_run)}"
    yield from redaction_notice(sum(tally.counts["redacted"] for tally in tallies))
    if importer.hidden:
        deleted = "it" if importer.hidden == 1 else "them"
        hidden = f"{plural(importer.hidden, 'fact')} hidden, because the host deleted {deleted}"
        yield f"{hidden}. `scrubjay restore ID` brings one back."
    if unreadable := importer.unreadable:
        yield f"{plural(len(unreadable), 'file')} could not be read:"
        for path, reason in list(unreadable.items())[:MAX_LISTED]:
            yield f"  {_shorten_home(path)}: {reason}"
        if len(unreadable) > MAX_LISTED:
            yield f"  and {len(unreadable) - MAX_LISTED:,} more"
    if importer.is_mostly_foreign and load(place.home.config).model == "bundled":
        yield FOREIGN


def _shorten_home(path: str | None) -> str:
    user = os.path.expanduser("~")
    return f"~{path[len(user) :]}" if path and path.startswith(user + os.sep) else path or ""
