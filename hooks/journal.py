"""Writes the journal of the hooks, `<home>/log/hooks.log`: time, event, session and reason of each failure.

It never contains words of a conversation. If no home can be opened, the reason goes to standard error.
"""

from __future__ import annotations

import os
import time

from scrubjay.home.files import add_line

MAX_BYTES = 512 * 1024  # of hooks.log, and of hooks.log.1


def note(home, name, session_id, reason):
    """Add a line; without a home (None), write nothing."""
    if home is None:
        return
    path = os.path.join(home.log, "hooks.log")
    session = "".join(letter for letter in session_id or "-" if letter.isalnum() or letter in "-_")[:80]
    line = (
        f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {name} {session} {' '.join(reason.split())}\n"
    )
    add_line(path, line, MAX_BYTES)


def place_of(error):
    """Return the type and place of an unexpected error; its message might quote what a user said."""
    trace = error.__traceback__
    while trace.tb_next:
        trace = trace.tb_next
    return (
        f"{type(error).__name__} in {os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"
    )
