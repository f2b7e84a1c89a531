"""`scrubjay completion`: what a shell needs to complete commands, options and paths."""

import argparse

from scrubjay.cli.command import Place
from scrubjay.cli.parser import build_parser

# What a shell completes, by the name of an argument in the help.
_COMPLETED = {"PATH": "FILE", "FILE": "FILE", "FOLDER": "DIRECTORY"}


def completion(place: Place, options: argparse.Namespace) -> None:
    """Print the completion script of a shell: `source <(scrubjay completion bash)`."""
    import shtab

    def complete_paths(action: argparse.Action) -> None:
        if kind := _COMPLETED.get(str(action.metavar)):
            action.complete = getattr(shtab, kind)  # type: ignore[attr-defined]

    print(shtab.complete(build_parser(complete_paths), options.shell))
