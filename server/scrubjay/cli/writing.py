"""`scrubjay add` and `scrubjay forget`: keep one fact, hide one record."""

from __future__ import annotations

import argparse
import sys

from scrubjay.cli.command import Command, Place, call_engine
from scrubjay.cli.display import plural
from scrubjay.errors import InputError

SAID = {
    "stored": "Kept as {id}.",
    "known": "Known already as {id}; nothing was added.",
    "updated": "Kept as {id}, version {version}.",
}


def add(place: Place, options: argparse.Namespace) -> int:
    """Keep a fact; a lone `-` reads it from standard input."""
    text = sys.stdin.read().strip() if options.text == ["-"] else " ".join(options.text)
    if not text.strip():
        raise InputError("There is nothing to keep: the text is empty. Give some words, or `-` and the text on standard input.")
    asked = {"content": text, "tags": options.tag or [], "importance": options.importance}
    if options.user:
        asked["scope"] = "user"
    with call_engine(place, scope=options.scope) as engine:
        done = engine.call("add", asked)
    print(SAID[done["action"]].format(**done))
    if done["redacted"]:
        print(f"{plural(done['redacted'], 'secret')} in it {'was' if done['redacted'] == 1 else 'were'} replaced before it was stored.")
    return 0


def forget(place: Place, options: argparse.Namespace) -> int:
    """Hide a record from every search."""
    asked = {"id": options.id} | ({"reason": options.reason} if options.reason else {})
    with call_engine(place) as engine:
        done = engine.call("forget", asked)
    print(f"{options.id} is forgotten: no search finds it any more." if done["forgotten"] else f"{options.id} was forgotten before.")
    return 0


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", nargs="+", metavar="TEXT", help="the fact, in a sentence that stands by itself; - reads standard input")
    parser.add_argument("--tag", action="append", metavar="TAG", help="a tag to find it by; may be repeated")
    parser.add_argument("--importance", type=float, default=5.0, metavar="N", help="0 to 10 (5)")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--user", action="store_true", help="true of you in every project, not only in this one")
    where.add_argument("--scope", metavar="NAME", help="keep it in this scope instead of this folder's project")


def _forget_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the id that `scrubjay list` or `scrubjay search` shows")
    parser.add_argument("--reason", metavar="TEXT", help="why; kept beside it")


COMMANDS = (
    Command("add", "Keep one fact, for this project or for all of them.", add, _add_arguments),
    Command("forget", "Hide one memory, turn or document from every search.", forget, _forget_arguments),
)
