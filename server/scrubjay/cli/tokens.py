"""`scrubjay token`: makes the keys that open the HTTP face, lists and removes them.

A running engine follows at once.
"""

import argparse
import sys
from datetime import UTC, datetime

from scrubjay.cli.command import Command, Place, flag, value
from scrubjay.errors import InputError
from scrubjay.http_api import tokens


def token(place: Place, options: argparse.Namespace) -> int:
    """Add, list or remove."""
    if options.action != "add" and (options.tag or options.read_only or options.name):
        raise InputError("--name, --tag and --read-only belong to `scrubjay token add`.")
    if (options.action == "remove") != (options.which is not None):
        raise InputError("`scrubjay token remove NAME` takes the name of one token; the other two take none.")
    if options.action == "add":
        return _add(place, options)
    if options.action == "remove":
        tokens.remove(place.home, options.which)
        print(f"The key of {options.which} opens nothing any more.")
        if not tokens.load(place.home):
            print(
                "No token is left: on this machine every key opens again, and other addresses refuse to be "
                "served."
            )
        return 0
    return _list(place)


def _add(place: Place, options: argparse.Namespace) -> int:
    made, key = tokens.add(
        place.home, datetime.now(UTC), name=options.name, tag=options.tag, read_only=options.read_only
    )
    print(
        f"Token {made.name} {_may(made)}. Its key is shown this once; from now on HTTP needs one:",
        file=sys.stderr,
    )
    print(key)  # alone on stdout, for KEY=$(scrubjay token add)
    return 0


def _list(place: Place) -> int:
    known = tokens.load(place.home)
    for each in known:
        print(f"{each.name:<20} {each.created_at[:10]}  {_may(each)}")
    if not known:
        print(
            "There is no token: over HTTP every key opens on this machine, and other addresses refuse to be "
            "served."
        )
    return 0


def _may(each: tokens.Token) -> str:
    what = "reads" if each.read_only else "reads and writes"
    return f"{what} every tag" if each.tag is None else f"{what} the tag {each.tag} alone"


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        nargs="?",
        choices=["add", "list", "remove"],
        default="list",
        help="`list` if you say nothing",
    )
    value(parser, "which", "NAME", "the token to remove", nargs="?")
    parser.add_argument("--name", help="what to call the new token")
    parser.add_argument("--tag", help="let it reach this container tag (namespace, scope) alone")
    flag(parser, "--read-only", "let it change nothing")


TOKEN = Command("token", "Make, list or remove the keys that open the HTTP face.", token, _arguments)
