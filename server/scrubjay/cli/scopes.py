"""`scrubjay scopes`: lists the projects in the memory, and merges two names of one project."""

import argparse

from scrubjay.cli.command import Place, full_name
from scrubjay.cli.display import contents, plural
from scrubjay.errors import InputError
from scrubjay.home import scopes as book
from scrubjay.text.foreign import visible

NO_RECORDS = {"turns": 0, "memories": 0, "documents": 0}
USER_SCOPE = "facts about you for every project"


def scopes(place: Place, options: argparse.Namespace) -> None:
    """List the projects in the memory, or merge two of them."""
    if options.action is None:
        _list(place)
        return
    old, new = options.old, options.new
    if not (old and new):
        raise InputError("`scrubjay scopes merge OLD NEW` needs two names; `scrubjay scopes` lists them.")
    old, new = (place.scope(name, may_be_new=False) for name in (old, new))
    new = book.merge(place.home, old, new)
    moved = place.ask("merge_scopes", old=old, new=new)["moved"]
    notices = "Connected clients notice when they reconnect."
    print(f"{plural(moved, 'record')} moved; folders of {old} now belong to {new}. {notices}")
    print(f"Clients that name {old} explicitly, as HTTP clients do with a tag, still write to it.")


def _list(place: Place) -> None:
    counts = place.ask("scopes")
    folder_scope = place.ask("status", brief=True)["scope"]
    known_scopes = {entry["scope"]: entry for entry in book.list_scopes(place.home)}
    for name in sorted({*known_scopes, *counts, folder_scope or book.USER_SCOPE, book.USER_SCOPE}):
        entry = known_scopes.get(name, {"paths": [], "origins": [], "merged_into": None})
        print(f"{full_name(name)}{'   (this folder)' if name == folder_scope else ''}")
        if entry["merged_into"]:
            print(f"    merged into {entry['merged_into']}")
            continue
        print(f"    {contents(counts.get(name, NO_RECORDS))}")
        if name == book.USER_SCOPE:
            print(f"    {USER_SCOPE}")
        for source in (*entry["origins"], *entry["paths"]):
            print(f"    {visible(source)}")
