"""`scrubjay export` and `scrubjay import`: everything recorded as lines of text, and back."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from scrubjay.cli.command import Command, Place, call_engine
from scrubjay.cli.display import Progress, plural, size
from scrubjay.errors import InputError

SHOWN = 5  # records that differ


def export(place: Place, options: argparse.Namespace) -> int:
    """Write every record into a file, or to standard output."""
    if options.file != "-":
        path = _absolute(place, options.file)
        _tell_exported(_export(place, path, options.scope), path)
        return 0
    with _private_file(place) as path:
        made = _export(place, path, options.scope)
        with open(path, "rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    _tell_exported(made, "standard output", file=sys.stderr)
    return 0


def _export(place: Place, path: str, scope: str | None) -> dict[str, Any]:
    asked = {"path": path} | ({"scope": scope} if scope else {})
    with call_engine(place) as engine, Progress("exporting") as progress:
        return engine.call("export", asked, lambda step: progress.show(step["done"], step["total"]))


def _tell_exported(made: dict[str, Any], where: str, file: Any = None) -> None:
    held = f"{plural(made['turns'], 'turn')}, {plural(made['memories'], 'fact')}, {plural(made['documents'], 'document')}"
    print(f"{held} written to {where} ({size(made['bytes'])}).", file=file or sys.stdout)


def import_(place: Place, options: argparse.Namespace) -> int:
    """Take in the records of an export; 1 if some are here already with other contents."""
    if options.file != "-":
        return _tell_imported(_import(place, _absolute(place, options.file)))
    with _private_file(place) as path:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        try:
            return _tell_imported(_import(place, path))
        except InputError as error:
            raise InputError(str(error).replace(path, "standard input")) from error


def _import(place: Place, path: str) -> dict[str, Any]:
    if not os.path.isfile(path):
        raise InputError(f"{path} is no file. Name an export, or `-` for standard input.")
    with call_engine(place) as engine, Progress("importing") as progress:
        return engine.call("import", {"path": path}, lambda step: progress.show(step["done"], step["total"]))


def _tell_imported(done: dict[str, Any]) -> int:
    print(f"{plural(done['added'], 'record')} imported, {done['same']:,} known already.")
    if done["redacted"]:
        print(
            f"{plural(done['redacted'], 'secret')} in them {'was' if done['redacted'] == 1 else 'were'} replaced before they were stored."
        )
    if not done["different"]:
        return 0
    print(
        f"{plural(done['different'], 'record')} not imported, because here they have other contents; what is here stays as it is:"
    )
    for each in done.get("differing", [])[:SHOWN]:
        print(f"  {each['id']}: {', '.join(each['fields'])}")
    if done["different"] > SHOWN:
        print(f"  and {done['different'] - SHOWN:,} more")
    return 1


@contextmanager
def _private_file(place: Place) -> Iterator[str]:
    """The path of a file in the home that does not exist yet and is gone afterwards; what a kill leaves is swept with other drafts."""
    path = os.path.join(place.home.spool_tmp, f"exchange-{uuid.uuid4().hex}")
    try:
        yield path
    finally:
        if os.path.exists(path):
            os.unlink(path)


def _absolute(place: Place, named: str) -> str:
    return os.path.normpath(os.path.join(place.cwd, os.path.expanduser(named)))


def _export_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", nargs="?", default="-", metavar="FILE", help="where to; - or nothing is standard output"
    )
    parser.add_argument(
        "--scope", metavar="NAME", help="only this scope instead of everything (`scrubjay scopes`)"
    )


def _import_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="what `scrubjay export` wrote; - is standard input")


COMMANDS = (
    Command(
        "export",
        "Write everything recorded as lines of JSON, for another machine or another tool.",
        export,
        _export_arguments,
    ),
    Command("import", "Take in an export; what is here already stays as it is.", import_, _import_arguments),
)
