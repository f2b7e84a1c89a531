"""How a hook starts and ends when a host runs its file: finds the package, sets the deadline, answers, exits 0. Knows nothing of
events; whatever goes wrong inside, the host sees `{}`.
"""

from __future__ import annotations

import _thread
import io
import os
import sys
import time

_answering = _thread.allocate_lock()  # held from the answer to the end: whoever comes second waits for the exit


def start(main, deadline_s):
    """Run `main(stdin, stdout, env)` and leave the process; it never returns, and the exit code is 0 whatever happens."""
    _thread.start_new_thread(_give_up, (deadline_s,))  # a thread, because a signal does not end a blocked fsync or exist everywhere
    output = io.StringIO()
    try:
        _find_package()
        os.umask(0o077)
        main(sys.stdin.buffer, output, os.environ)
    except BaseException:  # the outermost edge: a host must never see a traceback, not even of a broken installation
        output = io.StringIO()
    _answer(output.getvalue() or "{}\n")


def _find_package():
    """Make `scrubjay` and `scrubjay.hooks` importable without site-packages, in a wheel and in a checkout alike."""
    hooks = os.path.dirname(os.path.abspath(__file__))
    parent = os.path.dirname(hooks)
    installed = os.path.exists(os.path.join(parent, "errors.py"))
    sys.path.append(
        os.path.dirname(parent) if installed else os.path.join(parent, "server")
    )  # last: nothing there hides the standard library
    import scrubjay

    if not installed:
        scrubjay.__path__.append(parent)  # a checkout keeps hooks/ beside server/


def _give_up(deadline_s):
    time.sleep(deadline_s)
    entry = sys.modules.get("scrubjay.hooks.entry")
    try:
        if entry:
            entry.log_deadline(os.environ, deadline_s)
    finally:
        _answer("{}\n")


def _answer(text):
    with _answering:
        try:
            os.write(1, text.encode("utf-8"))
        finally:
            os._exit(0)  # also saves the 3 ms of tearing the interpreter down
