"""`scrubjay stdio`: the pipe that a client registers. Reads its two options by hand, because argparse costs more than the pipe."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from scrubjay.errors import ScrubjayError
from scrubjay.hello import hello_from, is_scope
from scrubjay.home import default_root
from scrubjay.pipe import stdio as pipe

USAGE = "usage: scrubjay [stdio] [--scope NAME] [--in-process]"


def stdio(arguments: list[str], env: Mapping[str, str]) -> int:
    """Be the pipe of the client on standard input and output; with --in-process also the engine, where no other process may be started."""
    scope, in_process = None, False
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--in-process":
            in_process = True
        elif word == "--scope" and rest:
            scope = rest.pop(0)
        elif word.startswith("--scope="):
            scope = word.partition("=")[2]
        else:
            print(f"scrubjay: {word!r} is not understood here\n{USAGE}", file=sys.stderr)
            return 2
    root = default_root(dict(env))
    hello = hello_from("pipe", env, os.getcwd(), os.getpid())
    if scope:
        hello = hello.but(scope=scope)
    if hello.scope and not is_scope(hello.scope):
        print(f"scrubjay: scope = {hello.scope[:80]!r}: must be 1 to 100 letters, digits or . _ : -", file=sys.stderr)
        return 2
    try:
        verdict = pipe.main(root, hello, env, in_process=in_process)
        if verdict == pipe.MUST_SERVE:
            from scrubjay.cli.serve import serve

            return serve(root, auto=True, client=lambda leave: pipe.attach(root, hello, env, leave))
        return verdict
    except ScrubjayError as error:
        print(f"scrubjay: {error}", file=sys.stderr)
        return 1
