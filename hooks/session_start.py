"""What Claude Code runs when a session starts: turns that were missed are asked for, and it gets its opening.

Knows how it is started; `events` knows the rest.
"""

from __future__ import annotations

DEADLINE_S = 3  # the host's own timeout is 10 s


def main(stdin, stdout, env):
    """Read the event from `stdin` (bytes), write `{}` or the opening to `stdout` (text). Always 0."""
    from scrubjay.hooks import entry, events

    return entry.run(events.session_started, stdin, stdout, env)


if __name__ == "__main__":
    import os
    import sys

    sys.path.append(os.path.dirname(os.path.abspath(__file__)))
    import bootstrap  # the file beside this one, which makes the package importable

    bootstrap.start(main, DEADLINE_S)
