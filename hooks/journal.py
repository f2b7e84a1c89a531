"""The journal of the hooks, `<home>/log/hooks.log`: when, which event, which session, and why it failed.

It never contains what was said. If no home can be opened, the reason goes to standard error instead.
"""

from __future__ import annotations

import os
import time

MAX_BYTES = 512 * 1024  # of hooks.log, and of hooks.log.1


def note(home, name, session_id, reason):
    """Add a line; without a home (None), write nothing."""
    if home is None:
        return
    path = os.path.join(home.log, "hooks.log")
    who = "".join(letter for letter in session_id or "-" if letter.isalnum() or letter in "-_")[:80]
    line = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {name} {who} {' '.join(reason.split())}\n"
    try:
        if os.path.exists(path) and os.path.getsize(path) > MAX_BYTES:
            os.replace(path, path + ".1")
        # without O_NONBLOCK a FIFO would wait for a reader, even when the deadline is noted
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NONBLOCK", 0)
        descriptor = os.open(path, flags, 0o600)
        try:
            os.write(descriptor, line.encode("utf-8", "replace"))
        finally:
            os.close(descriptor)
    except OSError:
        return


def place_of(error):
    """Return the type and place of an unexpected error; its message might quote what a user said."""
    trace = error.__traceback__
    while trace.tb_next:
        trace = trace.tb_next
    return (
        f"{type(error).__name__} in {os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"
    )
