"""`scrubjay scopes`: the names of the remembered projects, and the merge of two names of one project."""

import argparse

from scrubjay.cli.command import Command, Place, call_engine, value
from scrubjay.cli.display import plural
from scrubjay.errors import InputError
from scrubjay.home import scopes as book

NOTHING = {"turns": 0, "memories": 0, "documents": 0}


def scopes(place: Place, options: argparse.Namespace) -> int:
    """List scopes, or merge two."""
    if options.action == "merge":
        if not (options.old and options.new):
            raise InputError("`scrubjay scopes merge OLD NEW` needs two names; `scrubjay scopes` lists them.")
        return _merge(place, options.old, options.new)
    return _list(place)


def _list(place: Place) -> int:
    with call_engine(place) as engine:
        counts = engine.call("scopes", {})
        here = engine.call("status", {})["scope"]
    known = {entry["scope"]: entry for entry in book.list_scopes(place.home)}
    for name in sorted({*known, *counts, here, book.USER_SCOPE}):
        entry = known.get(name, {"paths": [], "origins": [], "merged_into": None})
        print(f"{name}{'   (this folder)' if name == here else ''}")
        if entry["merged_into"]:
            print(f"    merged into {entry['merged_into']}")
            continue
        held = counts.get(name, NOTHING)
        print(
            f"    {plural(held['turns'], 'turn')}, {plural(held['memories'], 'fact')}, "
            f"{plural(held['documents'], 'document')}"
        )
        if name == book.USER_SCOPE:
            print(
                "    what is true of you in every project; also what was said outside of any git repository"
            )
        for where in (*entry["origins"], *entry["paths"]):
            print(f"    {where}")
    return 0


def _merge(place: Place, old: str, new: str) -> int:
    book.merge(place.home, old, new)
    with call_engine(place) as engine:
        moved = engine.call("merge_scopes", {"old": old, "new": new})["moved"]
    print(
        f"{plural(moved, 'record')} moved; {old} is {new} from now on. A client that is connected notices "
        "when it connects anew."
    )
    return 0


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        nargs="?",
        choices=["merge"],
        help="let the name OLD mean the scope NEW, and move its records there",
    )
    value(parser, "old", "OLD", "the scope that goes", nargs="?")
    value(parser, "new", "NEW", "the scope that stays", nargs="?")


SCOPES = Command("scopes", "List the projects that are remembered, or merge two of them.", scopes, _arguments)
