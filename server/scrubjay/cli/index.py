"""`scrubjay index` and `scrubjay documents`: files and folders made searchable, and how far each of them is."""

from __future__ import annotations

import argparse
import glob
import json
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from scrubjay.cli.command import Command, Place, call_engine, chosen_scope, scope_arguments
from scrubjay.cli.display import Progress, first_line, local, plural
from scrubjay.errors import InputError
from scrubjay.models.fields import MAX_FILE_DOCUMENT
from scrubjay.pipe.client import EngineClient

SHOWN = 10  # files that could not be read
_STATUS = 10  # characters of a status


def index(place: Place, options: argparse.Namespace) -> int:
    """Bring the documents of files and folders up to date; 1 when a file that was named could not be read."""
    if options.paths == ["-"]:
        return _from_standard_input(place, options)
    paths = _absolute(place, options.paths)
    with call_engine(place, scope=options.scope) as engine:
        done = _index(engine, paths, options.again)
        _tell(done)
        if options.watch:
            for number, _ in enumerate(changes(paths)):
                _tell(_index(engine, paths, False), quiet=True)
                if number == 0:  # what changed before it listened is done now
                    print("Watching; Ctrl-C ends it.", flush=True)
    return 1 if any(failed["path"] in paths for failed in done.get("failed", ())) else 0


def _index(engine: EngineClient, paths: Sequence[str], again: bool) -> dict[str, Any]:
    with Progress("indexing") as progress:
        return engine.call(
            "index", {"paths": list(paths), "again": again}, lambda at: progress.show(at["done"], at["total"])
        )


def _tell(done: dict[str, Any], *, quiet: bool = False) -> None:
    """Say what was done; `quiet`, only if something was."""
    counts = {name: done.get(name, 0) for name in ("added", "changed", "renamed", "removed")}
    failed = done.get("failed", [])
    if quiet and not any(counts.values()) and not failed:
        return
    said = [f"{count:,} {name}" for name, count in counts.items() if count]
    print(
        f"{', '.join(said) or 'Nothing new'}; {plural(done['unchanged'], 'document')} unchanged.", flush=True
    )
    for each in failed[:SHOWN]:
        print(f"not read: {each['reason']}", file=sys.stderr)
    if len(failed) > SHOWN:
        print(
            f"{len(failed) - SHOWN:,} more could not be read; `scrubjay documents --failed` lists them.",
            file=sys.stderr,
        )


def _from_standard_input(place: Place, options: argparse.Namespace) -> int:
    if options.watch:
        raise InputError("Standard input cannot be watched; give the path of a file or a folder.")
    data = sys.stdin.buffer.read(MAX_FILE_DOCUMENT + 1)
    if len(data) > MAX_FILE_DOCUMENT:
        raise InputError(f"Standard input has more than {MAX_FILE_DOCUMENT:,} bytes; split it.")
    from scrubjay.reading import read

    found = read(data, options.title or "standard input")
    text = {
        "content": found.text,
        "type": found.kind,
        "title": options.title or found.title,
        "metadata": found.metadata,
    }
    if options.title:
        text["custom_id"] = f"stdin:{options.title}"[:200]  # the same title again replaces it
    with call_engine(place, scope=options.scope) as engine:
        added = engine.call(
            "add_document", {name: value for name, value in text.items() if value is not None}
        )
    print(f"Document {added['id']}: {plural(added['chunks'], 'chunk')}.")
    return 0


def _absolute(place: Place, named: Sequence[str]) -> list[str]:
    """Paths as the engine takes them; a pattern that the shell did not resolve is resolved here.

    Raises:
        InputError: a pattern matches nothing, or `-` stands beside other paths.
    """
    found: list[str] = []
    for name in named:
        if name == "-":
            raise InputError("`-` (standard input) cannot be mixed with paths; index it by itself.")
        path = os.path.normpath(os.path.join(place.cwd, os.path.expanduser(name)))
        matches = (
            sorted(glob.glob(path, recursive=True))
            if glob.has_magic(path) and not os.path.lexists(path)
            else [path]
        )
        if not matches:
            raise InputError(f"{name!r} matches no file.")
        found += matches
    return list(dict.fromkeys(map(os.path.realpath, found)))


def documents(place: Place, options: argparse.Namespace) -> int:
    """One line per document, the latest first."""
    with call_engine(place) as engine:
        scope = chosen_scope(options) or engine.call("status", {})["scope"]
        listed = engine.call(
            "documents", {"last": 100_000 if options.failed else options.last, "scope": scope}
        )
    if options.failed:
        listed = [each for each in listed if each["status"] == "failed"]
    if options.json:
        print(json.dumps(listed, indent=1, ensure_ascii=False))
        return 0
    if not listed:
        print(
            "No document failed."
            if options.failed
            else "There are no documents here yet. `scrubjay index PATH` adds some."
        )
    for each in listed:
        print(_row(each))
    return 0


def _row(each: dict[str, Any]) -> str:
    when = f"{local(each['updated_at']):%Y-%m-%d %H:%M}" if "updated_at" in each else " " * 16
    what = first_line(each.get("path") or each.get("title") or "", 100)
    why = f"  {first_line(each['error'], 120)}" if each.get("error") else ""
    return f"{each['status']:<{_STATUS}}  {when}  {plural(each.get('chunks', 0), 'chunk'):<12}  {what}  {each.get('id', '')}{why}".rstrip()


def _index_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        nargs="+",
        metavar="PATH",
        help="a file, a folder, a pattern such as 'docs/**/*.md', or - for standard input",
    )
    parser.add_argument("--watch", action="store_true", help="go on, and follow every change until Ctrl-C")
    parser.add_argument(
        "--again", action="store_true", help="read every file anew, also those that did not change"
    )
    parser.add_argument(
        "--title",
        metavar="TITLE",
        help="the title of what comes from standard input; the same title replaces it",
    )
    parser.add_argument("--scope", metavar="NAME", help="add to this scope instead of this folder's project")


def _documents_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--last", type=int, default=20, metavar="N", help="how many (20)")
    parser.add_argument(
        "--failed", action="store_true", help="only those that could not be read, with the reason"
    )
    scope_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print what the engine answers, as JSON")


COMMANDS = (
    Command(
        "index",
        "Make files, folders or standard input searchable, and keep them up to date.",
        index,
        _index_arguments,
    ),
    Command("documents", "List documents and how far each is.", documents, _documents_arguments),
)


LISTENS_MS = 500  # after which the first word comes, and how long Ctrl-C waits at most
QUIET_MS = (
    400  # after the last change of a burst: an editor writes a file in several steps, git hundreds at once
)


def changes(paths: Sequence[str]) -> Iterator[None]:
    """Yield once as soon as changes are listened for, then after every burst of them below these files and folders, until interrupted."""
    from watchfiles import DefaultFilter, watch  # native code that only --watch needs

    folders = {path if os.path.isdir(path) else os.path.dirname(path) for path in paths}
    listens = False
    heard = watch(
        *folders,
        watch_filter=DefaultFilter(),
        step=QUIET_MS,
        debounce=10 * QUIET_MS,
        rust_timeout=LISTENS_MS,
        yield_on_timeout=True,
    )
    for changed in heard:
        if changed or not listens:
            listens = True
            yield
