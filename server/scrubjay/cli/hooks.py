"""`scrubjay hooks`: shows, adds and removes the hooks that make Claude Code send every turn.

This is the part of `scrubjay setup` for a single settings file of any path.
"""

import argparse
import json
import shlex

from scrubjay.cli.command import Place
from scrubjay.hosts.changes import connecting, disconnecting, write
from scrubjay.hosts.machine import this_machine
from scrubjay.hosts.table import Ours, claude_hooks


def hooks(place: Place, options: argparse.Namespace) -> None:
    """Add, show or remove the hooks that make Claude Code send every turn."""
    path = place.path(options.settings or this_machine(place.env).path("{claude}/settings.json"))
    changes = claude_hooks(Ours(this_machine(place.env), "claude-code", place.named_root), path)
    if options.action == "show":
        print(json.dumps({"hooks": {entry.keys[1]: [entry.value] for entry in changes}}, indent=2))
    elif options.action == "remove":
        unchanged = f"There are no Scrubjay hooks in {path}; it was not changed."
        was_removed = write(place.home, disconnecting(place.home, changes))
        print(f"The hooks were removed from {path}." if was_removed else unchanged)
    elif not write(place.home, connecting(place.home, changes)):
        print(f"The hooks are already in {path}.")
    else:
        undo = f"scrubjay hooks remove{f' --settings {shlex.quote(path)}' if options.settings else ''}"
        capture = "Claude Code captures every turn from its next session on"
        print(f"The hooks are in {path}. {capture}; `{undo}` undoes this.")
