"""`scrubjay token`: makes the keys that open the HTTP face, lists and removes them.

A running engine follows at once.
"""

import argparse
import sys
from datetime import UTC, datetime

from scrubjay.cli.command import Place, choice, command, flag, value
from scrubjay.errors import InputError
from scrubjay.http_api import tokens


@command(
    choice("action", ["add", "list", "remove"], "`list` if you say nothing", nargs="?", default="list"),
    value("which", "NAME", "the token to remove", nargs="?"),
    value("--name", "NAME", "what to call the new token"),
    value("--tag", "TAG", "let it reach this container tag (namespace, scope) alone"),
    flag("--read-only", "let it change nothing"),
    flag("--open", "remove the last token too, after which every key opens on this machine"),
)
def token(place: Place, options: argparse.Namespace) -> None:
    """Make, list or remove the keys that open the HTTP face."""
    if options.action != "add" and (options.tag or options.read_only or options.name):
        raise InputError("--name, --tag and --read-only belong to `scrubjay token add`.")
    if (options.action == "remove") != (options.which is not None):
        raise InputError("`scrubjay token remove NAME` takes the name of one token; the other two take none.")
    home, others = place.home, "and other addresses refuse to be served."
    if options.action == "add":
        wanted = {"name": options.name, "tag": options.tag, "read_only": options.read_only}
        new, key = tokens.add(home, datetime.now(UTC), **wanted)
        once = "Its key is shown this once; from now on HTTP needs one:"
        print(f"Token {new.name} {_may(new)}. {once}", file=sys.stderr)
        print(key)  # alone on stdout, for KEY=$(scrubjay token add)
    elif options.action == "remove":
        if not options.open and [each.name for each in tokens.load(home)] == [options.which]:
            advice = "Add another first, or repeat this with --open."
            raise InputError(f"{options.which} is the last token; without one every key opens here. {advice}")
        tokens.remove(home, options.which)
        print(f"The key of {options.which} opens nothing any more.")
        if not tokens.load(home):
            print(f"No token is left: on this machine every key opens again, {others}")
    else:
        for each in (listed := tokens.load(home)):
            print(f"{each.name:<20} {each.created_at[:10]}  {_may(each)}")
        if not listed:
            print(f"There is no token: over HTTP every key opens on this machine, {others}")


def _may(each: tokens.Token) -> str:
    what = "reads" if each.read_only else "reads and writes"
    return f"{what} every tag" if each.tag is None else f"{what} the tag {each.tag} alone"
