"""Every command but the pipe and the hooks: its arguments, its help, and which function does it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping

from scrubjay.errors import ScrubjayError
from scrubjay.home import default_root


def run(arguments: list[str], env: Mapping[str, str]) -> int:
    parser = argparse.ArgumentParser(prog="scrubjay")
    sub = parser.add_subparsers(dest="command", required=True)
    serve = sub.add_parser("serve", help="run the engine of this home")
    serve.add_argument("--auto", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    try:
        if options.command == "serve":
            from scrubjay.cli.serve import serve as run_engine

            return run_engine(default_root(dict(env)), auto=options.auto)
    except ScrubjayError as error:
        print(f"scrubjay: {error}", file=sys.stderr)
        return 1
    return 0
