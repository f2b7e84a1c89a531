"""`scrubjay token`: makes, lists and removes the HTTP keys; a running engine applies changes at once."""

import argparse
import sys
from datetime import UTC, datetime

from scrubjay.cli.command import Place
from scrubjay.errors import InputError
from scrubjay.http_api import tokens


def token(place: Place, options: argparse.Namespace) -> None:
    """Make, list or remove HTTP keys."""
    if options.action != "add" and (options.tag or options.read_only or options.name):
        raise InputError("--name, --tag and --read-only belong to `scrubjay token add`.")
    if (options.action == "remove") != (options.which is not None):
        raise InputError("Only `scrubjay token remove NAME` takes the name of a token.")
    home, no_addresses = place.home, "and other addresses cannot be served."
    if options.action == "add":
        fields = {"name": options.name, "tag": options.tag, "read_only": options.read_only}
        new, key = tokens.add(home, datetime.now(UTC), **fields)
        notice = "Its key is shown only once; from now on HTTP needs a key:"
        print(f"Token {new.name} {_permissions(new)}. {notice}", file=sys.stderr)
        print(key)  # only this goes to stdout, for KEY=$(scrubjay token add)
    elif options.action == "remove":
        if not options.open and [entry.name for entry in tokens.load(home)] == [options.which]:
            advice = "Add another first, or repeat this with --open."
            raise InputError(f"{options.which} is the last token; without one, every key is valid. {advice}")
        tokens.remove(home, options.which)
        print(f"The key of {options.which} is no longer valid.")
        if not tokens.load(home):
            print(f"No token is left: on this machine every key is accepted again, {no_addresses}")
    else:
        for entry in (entries := tokens.load(home)):
            print(f"{entry.name:<20} {entry.created_at[:10]}  {_permissions(entry)}")
        if not entries:
            print(f"There is no token: on this machine every HTTP key is accepted, {no_addresses}")


def _permissions(entry: tokens.Token) -> str:
    access = "reads" if entry.read_only else "reads and writes"
    return f"{access} every tag" if entry.tag is None else f"{access} only the tag {entry.tag}"
