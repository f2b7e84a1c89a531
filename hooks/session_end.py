"""What Claude Code runs when a session ends: it has 1.5 s for all hooks together, so a word is enough.

Knows how it is started; `events` knows the rest.
"""

from __future__ import annotations

DEADLINE_S = 1  # the host waits 1.5 s


def main(stdin, stdout, env):
    """Read the event from `stdin` (bytes), write `{}` to `stdout` (text). Always 0."""
    from scrubjay.hooks import entry, events

    return entry.run(events.session_ended, stdin, stdout, env)


if __name__ == "__main__":
    import os
    import sys

    sys.path.append(os.path.dirname(os.path.abspath(__file__)))
    import bootstrap  # the file beside this one, which makes the package importable

    bootstrap.start(main, DEADLINE_S)
