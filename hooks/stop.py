"""What Claude Code runs at Stop: the answer is there, so the turn is recorded.

Knows how it is started; `events` knows the rest.
"""

from __future__ import annotations

DEADLINE_S = 5  # the host's own timeout is 10 s


def main(stdin, stdout, env):
    """Read the event from `stdin` (bytes), write `{}` to `stdout` (text). Always 0."""
    from scrubjay.hooks import entry, events

    return entry.run(events.stopped, stdin, stdout, env)


if __name__ == "__main__":
    import os
    import sys

    sys.path.append(os.path.dirname(os.path.abspath(__file__)))
    import bootstrap  # the file beside this one, which makes the package importable

    bootstrap.start(main, DEADLINE_S)
