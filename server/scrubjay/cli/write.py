"""`scrubjay add`, `forget` and `restore`: keep one fact, hide or delete records, bring one back."""

import argparse
import sys
from typing import Any

from scrubjay.cli.command import Command, Place, call_engine, flag, value
from scrubjay.cli.display import first_line, local, plural
from scrubjay.errors import InputError

SAID = {
    "stored": "Kept as {id}.",
    "known": "Known already as {id}; nothing was added.",
    "updated": "Kept as {id}, version {version}.",
}
LIKE = {
    "known": "In other words it is known already as",
    "update": "It may change (then add it again with --updates and the id)",
    "similar": "Similar is",
}


def add(place: Place, options: argparse.Namespace) -> int:
    """Keep a fact; a lone `-` reads it from standard input."""
    text = sys.stdin.read().strip() if options.text == ["-"] else " ".join(options.text)
    if not text.strip():
        raise InputError(
            "There is nothing to keep: the text is empty. Give some words, or `-` and the text on standard "
            "input."
        )
    asked = {"content": text} | ({"tags": options.tag} if options.tag else {})
    asked |= {} if options.importance is None else {"importance": options.importance}
    asked |= {name: ids for name in ("updates", "extends", "derives") if (ids := getattr(options, name))}
    if options.user:
        asked["scope"] = "user"
    with call_engine(place, scope=options.scope) as engine:
        done = engine.call("add", asked)
    print(SAID[done["action"]].format(**done))
    for like in done.get("similar", []):
        print(f"{LIKE[like['reason']]} {like['id']}: {first_line(like['memory'], 100)}")
    if done["redacted"]:
        print(
            f"{plural(done['redacted'], 'secret')} in it {'was' if done['redacted'] == 1 else 'were'} "
            "replaced before it was stored."
        )
    return 0


def forget(place: Place, options: argparse.Namespace) -> int:
    """Hide records from every search, or delete them for good."""
    targets: list[dict[str, Any]] = [{"id": each} for each in options.id]
    targets += [{name: getattr(options, name)} for name in ("content", "query") if getattr(options, name)]
    if not targets:
        raise InputError(
            "Nothing is named. Give an ID, --content with the exact words of a fact, or --query with what "
            "it is about."
        )
    rest = {"scope": options.scope, "reason": options.reason, "purge": options.purge or None}
    rest = {name: value for name, value in rest.items() if value is not None}
    with call_engine(place) as engine:
        for target in targets:
            asked = target | rest
            if "query" in target or options.dry_run or options.purge:
                found = engine.call("forget", asked | {"dry_run": True}).get("candidates", [])
                for hit in found:
                    print(
                        f"{hit['id']}  {local(hit['date']):%Y-%m-%d}  "
                        f"{first_line(hit.get('memory') or hit.get('chunk') or '', 100)}"
                    )
                if (
                    options.dry_run
                    or not found
                    or not (options.yes or _agreed(len(found), purge=options.purge))
                ):
                    print("Nothing was forgotten.")
                    continue
            _print_forgotten(engine.call("forget", asked), next(iter(target.values())))
    return 0


def _agreed(count: int, *, purge: bool) -> bool:
    """Whether the person says yes; a program that types nothing says no."""
    if not sys.stdin.isatty():
        raise InputError(
            "Nobody can be asked here. Look at what is listed, then repeat the command with --yes."
        )
    what = "Delete for good, with older versions" if purge else "Forget"
    return input(f"{what}: {plural(count, 'record')}? [y/N] ").strip().lower() in ("y", "yes")


def _print_forgotten(done: dict[str, Any], name: str) -> None:
    if done.get("purged"):
        print(f"{plural(done['purged'], 'record')} deleted from the disk for good.")
    elif done["forgotten"]:
        print(
            f"{', '.join(done['ids'])}: forgotten, no search finds it any more. `scrubjay restore` brings "
            "it back."
        )
    else:
        print(f"{name} was forgotten before.")


def restore(place: Place, options: argparse.Namespace) -> int:
    """Bring back a forgotten record."""
    with call_engine(place) as engine:
        done = engine.call("restore", {"id": options.id})
    print(
        f"{options.id} is back: searches find it again."
        if done["restored"]
        else f"{options.id} is not forgotten; nothing changed."
    )
    return 0


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    value(
        parser,
        "text",
        "TEXT",
        "the fact, in a sentence that stands by itself; - reads standard input",
        nargs="+",
    )
    value(parser, "--tag", "TAG", "a tag to find it by; may be repeated", action="append")
    value(parser, "--importance", "N", "0 to 10 (5)", type=float)
    link = parser.add_mutually_exclusive_group()
    value(link, "--updates", "ID", "the fact that this one takes the place of", action="append")
    value(link, "--extends", "ID", "a fact that this one adds to", action="append")
    value(
        link, "--derives", "ID", "a fact, turn or document that this one was concluded from", action="append"
    )
    where = parser.add_mutually_exclusive_group()
    flag(where, "--user", "true of you in every project, not only in this one")
    value(where, "--scope", "NAME", "keep it in this scope instead of this folder's project")


def _forget_arguments(parser: argparse.ArgumentParser) -> None:
    value(parser, "id", "ID", "an id that `scrubjay list` or `scrubjay search` shows", nargs="*")
    value(parser, "--content", "TEXT", "the exact words of a fact of this project, instead of its id")
    value(parser, "--query", "TEXT", "what the facts and turns are about; they are listed, and you are asked")
    value(parser, "--scope", "NAME", "where --content and --query look instead of this folder's project")
    flag(parser, "--purge", "delete from the disk, older versions too: nothing brings it back")
    flag(parser, "--dry-run", "only list what would be forgotten")
    flag(parser, "--yes", "do not ask")
    value(parser, "--reason", "TEXT", "why; kept beside it")


def _restore_arguments(parser: argparse.ArgumentParser) -> None:
    value(parser, "id", "ID", "the id of what was forgotten")


COMMANDS = (
    Command("add", "Keep one fact, for this project or for all of them.", add, _add_arguments),
    Command("forget", "Hide memories, turns or documents from every search.", forget, _forget_arguments),
    Command("restore", "Bring back what was forgotten.", restore, _restore_arguments),
)
