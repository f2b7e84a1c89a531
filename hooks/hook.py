"""What a host runs at its events: `hook.py --host NAME [--event EVENT]`, the event as JSON on stdin.

The console script `scrubjay-hook` is the same; this file under `python -I -S` is quicker, because nobody
looks at site-packages. `bootstrap` knows how a hook ends, `entry` what it does.
"""

from __future__ import annotations

import os
import sys


def main():
    """Run as the console script `scrubjay-hook`; does not return."""
    from scrubjay.hooks import bootstrap

    bootstrap.start(*_named(sys.argv[1:]))


def _named(arguments):
    """The host and the event that the command line names; None for what it does not."""
    named = {"--host": None, "--event": None}
    for argument, following in zip(arguments, [*arguments[1:], None]):
        name, equals, value = argument.partition("=")
        if name in named:
            named[name] = value if equals else following
    return named["--host"], named["--event"]


if __name__ == "__main__":
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))
    import bootstrap  # the file beside this one, which makes the package importable

    bootstrap.start(*_named(sys.argv[1:]))
