"""Starts and ends a hook that a host runs: finds the package, sets the deadline, answers, exits 0.

Whatever goes wrong inside, the host sees an answer that says nothing.
"""

from __future__ import annotations

import _thread
import io
import os
import sys
import time

READ_S = 2  # the payload is there at once, or its host never ends its input
# by kind of event; hosts wait 10 s, Claude Code 1.5 s for all that ends a session
DEADLINE_S = {"start": 3, "prompt": 2, "answer": 5, "end": 1}

_answering = (
    _thread.allocate_lock()
)  # held from the answer to the end: whoever comes second waits for the exit


class _Patience:
    """How long this process may take, in seconds since it began: first for reading, then for what it read."""

    def __init__(self, host):
        self.nothing = "" if host == "kiro" else "{}\n"  # Kiro shows its model whatever is printed
        self.began = time.monotonic()
        self.seconds = READ_S

    def at(self, kind):
        """An event of this kind was read."""
        self.seconds = DEADLINE_S.get(kind, READ_S)

    def give_up(self):
        """Wait for the deadline and end the process."""
        while (left := self.began + self.seconds - time.monotonic()) > 0:
            time.sleep(min(left, 0.2))  # it may move meanwhile
        journal, home = sys.modules.get("scrubjay.hooks.journal"), sys.modules.get("scrubjay.home.paths")
        try:
            if journal and home:  # an import here could wait for the one that hangs
                root = home.Home(home.default_root(os.environ))
                journal.note(root, "deadline", None, f"gave up after {self.seconds:g} s")
        finally:
            _answer(self.nothing)


def main():
    """Start as `scrubjay-hook` or as the file `hook.py`: by what the command line names. Does not return."""
    named = {"--host": None, "--event": None}
    arguments = sys.argv[1:]
    for argument, following in zip(arguments, [*arguments[1:], None]):
        name, equals, value = argument.partition("=")
        if name in named:
            named[name] = value if equals else following
    start(named["--host"], named["--event"])


def start(host, event):
    """Handle the event on stdin and end the process with exit code 0, whatever happens.

    `host` and `event` are what the registration names, or None.
    """
    patience = _Patience(host)
    # a thread, because a signal does not end a blocked fsync or exist everywhere
    _thread.start_new_thread(patience.give_up, ())
    output = io.StringIO()
    try:
        _find_package()
        os.umask(0o077)
        from scrubjay.hooks import entry

        entry.run(host, event, sys.stdin.buffer, output, os.environ, patience.at)
    except (
        BaseException
    ) as error:  # the outermost edge: a host must never see a traceback, not even of a broken installation
        output = io.StringIO()
        _note_failure(error)
    _answer(output.getvalue() or patience.nothing)


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


def _answer(text):
    with _answering:
        try:
            os.write(1, text.encode("utf-8"))
        finally:
            os._exit(0)  # also saves the 3 ms of tearing the interpreter down
