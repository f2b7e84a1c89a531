"""Starts and ends a hook that a host runs as a file: finds the package, sets the deadline, answers, exits 0.

Whatever goes wrong inside, the host sees `{}`.
"""

from __future__ import annotations

import _thread
import io
import os
import sys
import time

_answering = (
    _thread.allocate_lock()
)  # held from the answer to the end: whoever comes second waits for the exit


def start(main, deadline_s):
    """Run `main(stdin, stdout, env)` and end the process with exit code 0, whatever happens."""
    # a thread, because a signal does not end a blocked fsync or exist everywhere
    _thread.start_new_thread(_give_up, (deadline_s,))
    output = io.StringIO()
    try:
        _find_package()
        os.umask(0o077)
        main(sys.stdin.buffer, output, os.environ)
    except (
        BaseException
    ) as error:  # the outermost edge: a host must never see a traceback, not even of a broken installation
        output = io.StringIO()
        _note_failure(error)
    _answer(output.getvalue() or "{}\n")


def _find_package():
    """Make `scrubjay` and `scrubjay.hooks` importable without site-packages, in a wheel and in a checkout."""
    hooks = os.path.dirname(os.path.abspath(__file__))
    parent = os.path.dirname(hooks)
    installed = os.path.exists(os.path.join(parent, "errors.py"))
    # last: nothing there hides the standard library
    sys.path.append(os.path.dirname(parent) if installed else os.path.join(parent, "server"))
    import scrubjay

    if not installed:
        scrubjay.__path__.append(parent)  # a checkout keeps hooks/ beside server/


def _note_failure(error):
    """Note what kept a hook from running at all, as far as the installation still can."""
    try:
        from scrubjay.home.paths import default_root, open_home
        from scrubjay.hooks import journal

        journal.note(open_home(default_root(os.environ)), "start", None, journal.place_of(error))
    except (
        BaseException
    ):  # nothing of the package can be imported, or the home is not ours: there is nobody left to tell
        return


def _give_up(deadline_s):
    time.sleep(deadline_s)
    journal, home = sys.modules.get("scrubjay.hooks.journal"), sys.modules.get("scrubjay.home.paths")
    try:
        if journal and home:  # an import here could wait for the one that hangs
            journal.note(
                home.Home(home.default_root(os.environ)), "deadline", None, f"gave up after {deadline_s:g} s"
            )
    finally:
        _answer("{}\n")


def _answer(text):
    with _answering:
        try:
            os.write(1, text.encode("utf-8"))
        finally:
            os._exit(0)  # also saves the 3 ms of tearing the interpreter down
