"""`scrubjay hooks`: shows, adds and removes the hooks by which Claude Code hands in every turn."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping

from scrubjay.cli import registration
from scrubjay.cli.command import Command, Place
from scrubjay.cli.installation import hook_entries


def hooks(place: Place, options: argparse.Namespace) -> int:
    """Show the snippet, or change a settings file."""
    if options.action == "show":
        print(json.dumps({"hooks": {event: [entry] for event, entry in hook_entries().items()}}, indent=2))
        return 0
    path = os.path.abspath(os.path.join(place.cwd, os.path.expanduser(options.settings or settings_file(place.env))))
    if options.action == "remove":
        done = registration.remove(place.home, path)
        print(f"The hooks are out of {path}." if done else f"There are no hooks of Scrubjay in {path}; it was not touched.")
        return 0
    if not registration.add(place.home, path):
        print(f"The hooks are in {path} already.")
        return 0
    print(f"The hooks are in {path}. Claude Code captures every turn from its next session on; `scrubjay hooks remove` undoes this.")
    if place.env.get("SCRUBJAY_HOME"):
        print(
            f'SCRUBJAY_HOME is set here. Let the host know it too, or its hooks write elsewhere: "env": {{"SCRUBJAY_HOME": '
            f"{json.dumps(place.home.root)}}} in the same file."
        )
    return 0


def config_folder(env: Mapping[str, str]) -> str:
    """Claude Code's folder: CLAUDE_CONFIG_DIR, else ~/.claude."""
    return env.get("CLAUDE_CONFIG_DIR") or os.path.join(os.path.expanduser("~"), ".claude")


def settings_file(env: Mapping[str, str]) -> str:
    """The settings file of the user, which every project follows."""
    return os.path.join(config_folder(env), "settings.json")


def _arguments(parser: argparse.ArgumentParser) -> None:
    actions = ["show", "add", "remove"]
    parser.add_argument("action", choices=actions, help="show: print the JSON for doing it by hand; add, remove: change the file")
    parser.add_argument("--settings", metavar="FILE", help="another file than settings.json in ~/.claude (or CLAUDE_CONFIG_DIR)")


COMMANDS = (Command("hooks", "Let Claude Code hand in every turn: add its hooks, show them, or remove them.", hooks, _arguments),)
