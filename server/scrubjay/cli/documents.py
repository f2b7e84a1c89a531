"""`scrubjay index` and `scrubjay documents`: make files and folders searchable, and show how far each is."""

import argparse
import glob
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from scrubjay.cli.command import (
    Command,
    Place,
    call_engine,
    chosen_scope,
    flag,
    given,
    json_flag,
    scope_arguments,
    value,
)
from scrubjay.cli.display import Progress, first_line, local, plural, print_json
from scrubjay.errors import InputError
from scrubjay.models.fields import MAX_FILE_DOCUMENT
from scrubjay.pipe.client import EngineClient

MOST_FAILED = 10  # files that could not be read and are named
LISTENS_MS = 500  # after which the first word comes, and how long Ctrl-C waits at most
QUIET_MS = 400  # after a burst's last change: editors write a file in steps, git hundreds at once


def index(place: Place, options: argparse.Namespace) -> int:
    """Bring the documents of files and folders up to date; 1 if a named file could not be read."""
    if options.paths == ["-"]:
        return _add_standard_input(place, options)
    paths = _absolute(place, options.paths)
    with call_engine(place, scope=options.scope) as engine:
        done = _index(engine, paths, options.again)
        _print_counts(done)
        if options.watch:
            for number, _ in enumerate(changes(paths)):
                _print_counts(_index(engine, paths, False), quiet=True)
                if number == 0:  # what changed before it listened is done now
                    print("Watching; Ctrl-C ends it.", flush=True)
    return 1 if any(failed["path"] in paths for failed in done.get("failed", ())) else 0


def _index(engine: EngineClient, paths: Sequence[str], again: bool) -> dict[str, Any]:
    with Progress("indexing") as progress:
        counts: dict[str, Any] = engine.call("index", {"paths": list(paths), "again": again}, progress.step)
    return counts


def _print_counts(done: dict[str, Any], *, quiet: bool = False) -> None:
    """Say what changed; with `quiet` only if something did."""
    counts = {name: done.get(name, 0) for name in ("added", "changed", "renamed", "removed")}
    failed = done.get("failed", [])
    if quiet and not any(counts.values()) and not failed:
        return
    words = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
    print(f"{words or 'Nothing new'}; {plural(done['unchanged'], 'document')} unchanged.", flush=True)
    for each in failed[:MOST_FAILED]:
        print(f"not read: {each['reason']}", file=sys.stderr)
    if len(failed) > MOST_FAILED:
        more = f"{len(failed) - MOST_FAILED:,} more could not be read"
        print(f"{more}; `scrubjay documents --failed` lists them.", file=sys.stderr)


def _add_standard_input(place: Place, options: argparse.Namespace) -> int:
    if options.watch:
        raise InputError("Standard input cannot be watched; give the path of a file or a folder.")
    data = sys.stdin.buffer.read(MAX_FILE_DOCUMENT + 1)
    if len(data) > MAX_FILE_DOCUMENT:
        raise InputError(f"Standard input has more than {MAX_FILE_DOCUMENT:,} bytes; split it.")
    from scrubjay.reading import read

    found = read(data, options.title or "standard input")
    title = options.title or found.title
    custom_id = f"stdin:{options.title}"[:200] if options.title else None  # the same title replaces it
    document = given(
        content=found.text, type=found.kind, title=title, metadata=found.metadata, custom_id=custom_id
    )
    with call_engine(place, scope=options.scope) as engine:
        added = engine.call("add_document", document)
    print(f"Document {added['id']}: {plural(added['chunks'], 'chunk')}.")
    return 0


def _absolute(place: Place, names: Sequence[str]) -> list[str]:
    """Paths as the engine takes them; a pattern that the shell did not resolve is resolved here.

    Raises:
        InputError: a pattern matches nothing, or `-` stands beside other paths.
    """
    found: list[str] = []
    for name in names:
        if name == "-":
            raise InputError("`-` (standard input) cannot be mixed with paths; index it by itself.")
        path = place.path(name)
        is_pattern = glob.has_magic(path) and not os.path.lexists(path)
        matches = sorted(glob.glob(path, recursive=True)) if is_pattern else [path]
        if not matches:
            raise InputError(f"{name!r} matches no file.")
        found += matches
    return list(dict.fromkeys(map(os.path.realpath, found)))


def changes(paths: Sequence[str]) -> Iterator[None]:
    """Yield when listening begins, then after every burst of changes below these paths, until interrupted."""
    from watchfiles import DefaultFilter, watch  # native code that only --watch needs

    folders = {path if os.path.isdir(path) else os.path.dirname(path) for path in paths}
    listens = False
    bursts = watch(
        *folders,
        watch_filter=DefaultFilter(),
        step=QUIET_MS,
        debounce=10 * QUIET_MS,
        rust_timeout=LISTENS_MS,
        yield_on_timeout=True,
    )
    for burst in bursts:
        if burst or not listens:
            listens = True
            yield


def documents(place: Place, options: argparse.Namespace) -> int:
    """One line per document, the latest first."""
    with call_engine(place) as engine:
        scope = chosen_scope(options) or engine.call("status", {})["scope"]
        last = 100_000 if options.failed else options.last
        rows = engine.call("documents", {"last": last, "scope": scope})
    if options.failed:
        rows = [row for row in rows if row["status"] == "failed"]
    if options.json:
        print_json(rows)
        return 0
    if not rows:
        none = "There are no documents here yet. `scrubjay index PATH` adds some."
        print("No document failed." if options.failed else none)
    for row in rows:
        when = f"{local(row['updated_at']):%Y-%m-%d %H:%M}" if "updated_at" in row else " " * 16
        name = first_line(row.get("path") or row.get("title") or "", 100)
        why = f"  {first_line(row['error'], 120)}" if row.get("error") else ""
        chunks = plural(row.get("chunks", 0), "chunk")
        print(f"{row['status']:<10}  {when}  {chunks:<12}  {name}  {row.get('id', '')}{why}".rstrip())
    return 0


def _index_arguments(parser: argparse.ArgumentParser) -> None:
    paths = "a file, a folder, a pattern such as 'docs/**/*.md', or - for standard input"
    value(parser, "paths", "PATH", paths, nargs="+")
    flag(parser, "--watch", "go on, and follow every change until Ctrl-C")
    flag(parser, "--again", "read every file anew, also those that did not change")
    value(
        parser, "--title", "TITLE", "the title of what comes from standard input; the same title replaces it"
    )
    value(parser, "--scope", "NAME", "add to this scope instead of this folder's project")


def _documents_arguments(parser: argparse.ArgumentParser) -> None:
    value(parser, "--last", "N", "how many (20)", type=int, default=20)
    flag(parser, "--failed", "only those that could not be read, with the reason")
    scope_arguments(parser)
    json_flag(parser)


_INDEX = "Make files, folders or standard input searchable, and keep them up to date."
COMMANDS = (
    Command("index", _INDEX, index, _index_arguments),
    Command("documents", "List documents and how far each is.", documents, _documents_arguments),
)
