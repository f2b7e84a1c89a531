"""`scrubjay hooks`: shows, adds and removes the hooks by which Claude Code hands in every turn.

The part of `scrubjay setup` that touches one settings file, which may be any.
"""

import argparse
import json
import sys

from scrubjay.cli.command import Place, choice, command, value
from scrubjay.histories.machine import this_machine
from scrubjay.hosts.changes import Entry, connecting, disconnecting, write
from scrubjay.hosts.table import CLAUDE_HOOKS, CLAUDE_SETTINGS, Ours

ACTIONS = ("show", "add", "remove")


@command(
    choice("action", ACTIONS, "show: print the JSON for doing it by hand; add, remove: change the file"),
    value("--settings", "FILE", "another file than settings.json in ~/.claude (or CLAUDE_CONFIG_DIR)"),
)
def hooks(place: Place, options: argparse.Namespace) -> None:
    """Let Claude Code hand in every turn: add its hooks, show them, or remove them."""
    path = place.path(options.settings or CLAUDE_SETTINGS(this_machine(place.env)))
    changes = entries(place, path)
    if options.action == "show":
        print(json.dumps({"hooks": {entry.keys[1]: [entry.value] for entry in changes}}, indent=2))
    elif options.action == "remove":
        nothing = f"There are no hooks of Scrubjay in {path}; it was not touched."
        gone = write(place.home, disconnecting(place.home, changes))
        print(f"The hooks are out of {path}." if gone else nothing)
    elif not write(place.home, connecting(place.home, changes)):
        print(f"The hooks are in {path} already.")
    else:
        undo = "`scrubjay hooks remove` undoes this"
        print(f"The hooks are in {path}. Claude Code captures every turn from its next session on; {undo}.")
        if place.named_root and sys.platform == "win32":
            advice = "Set it for your whole account, or the hooks write elsewhere."
            print(f"SCRUBJAY_HOME is set here. {advice}")


def entries(place: Place, path: str) -> list[Entry]:
    """Our hooks for a settings file of Claude Code; they know a home that is not where it usually is."""
    us = Ours(this_machine(place.env), "claude-code", place.named_root)
    part = CLAUDE_HOOKS._replace(file=lambda _: path)
    return [change for change in part.changes(us) if isinstance(change, Entry)]
