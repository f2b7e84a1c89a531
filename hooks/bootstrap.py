"""Starts and ends a hook that a host runs: finds the package, sets the deadline, answers, exits 0.

If anything fails, the host gets an empty answer.
"""

from __future__ import annotations

import _thread
import io
import os
import sys
import time

READ_S = 1.4  # a payload arrives at once, or its host never ends its input
# by kind of event; hosts wait 10 s, Claude Code 1.5 s for everything that ends a session
DEADLINE_S = {"start": 1.5, "prompt": 1.5, "answer": 1.5, "end": 1, "before": 1.5, "after": 1.5}
LATE_S = 60  # for work that continues in the background, on a slow disk
# Where no process can be forked, unfinished work is lost, so a disk gets more time.
ALONE_S = {"start": 3, "prompt": 2, "answer": 5, "end": 1}

_ENDS, _OTHER = b"e", b"."  # the first byte of an answer to the host's process: whether the session ends
_COMPLAINT = "\0"  # between an answer, which is JSON or plain text, and the line for standard error
_answering = _thread.allocate_lock()  # held from the answer to the end: the second thread waits for the exit


class _Patience:
    """The time limit of this process, in seconds since it began: first for reading, then for the event.

    `out` is the descriptor for its answer: standard output, or a pipe to the process that the host waits for.
    """

    def __init__(self, host):
        self.nothing = "" if host == "kiro" else "{}\n"  # Kiro shows its model everything that is printed
        self.began = time.monotonic()
        self.seconds = READ_S
        self.out = 1
        self.mark = b""  # is written once, before the answer

    def at(self, kind):
        """Set the time limit for an event of this kind, which has been read."""
        if self.out == 1:
            self.seconds = ALONE_S.get(kind, READ_S)
            return
        self.seconds = LATE_S
        mark, self.mark = _ENDS if kind == "end" else self.mark, b""
        try:
            os.write(self.out, mark)
        except OSError:
            return  # the host's process has ended

    def give_up(self):
        """Wait for the deadline and end the process."""
        while (left := self.began + self.seconds - time.monotonic()) > 0:
            time.sleep(min(left, 0.2))  # the deadline may move meanwhile
        journal, home = sys.modules.get("scrubjay.hooks.journal"), sys.modules.get("scrubjay.home.paths")
        try:
            if journal and home:  # an import here could wait for one that hangs
                root = home.Home(home.default_root(os.environ))
                journal.note(root, "deadline", None, f"gave up after {self.seconds:g} s")
        finally:
            self.answer(self.nothing)

    def answer(self, text, complaint=None):
        """Write the answer, and a sentence for people to standard error; end the process."""
        if complaint and self.out != 1:
            text += _COMPLAINT + complaint
        with _answering:
            try:
                os.write(self.out, self.mark + text.encode("utf-8"))
                if complaint and self.out == 1:
                    os.write(2, f"scrubjay: {complaint}\n".encode("utf-8", "replace"))
            finally:
                os._exit(0)  # also saves the 3 ms that the interpreter takes to shut down


def main():
    """Start as `scrubjay-hook` or `hook.py`, by the options of the command line. Does not return."""
    named = {"--host": None, "--event": None}
    arguments = sys.argv[1:]
    for argument, following in zip(arguments, [*arguments[1:], None]):
        name, equals, value = argument.partition("=")
        if name in named:
            named[name] = value if equals else following
    start(named["--host"], named["--event"])


def start(host, event):
    """Handle the event on stdin and end the process with exit code 0, whatever happens.

    `host` and `event` are named by the registration, or None.
    """
    patience = _Patience(host)
    if hasattr(os, "fork"):
        _work_apart(patience)
    # a thread, because some platforms have no signals
    _thread.start_new_thread(patience.give_up, ())
    output, complaint = io.StringIO(), None
    try:
        _find_package()
        os.umask(0o077)
        from scrubjay.hooks import entry

        complaint = entry.run(host, event, sys.stdin.buffer, output, os.environ, patience.at)
    except (
        BaseException
    ) as error:  # the outermost edge: a host must never see a traceback, not even of a broken installation
        output = io.StringIO()
        _note_failure(error)
    patience.answer(output.getvalue() or patience.nothing, complaint)


def _work_apart(patience):
    """Fork a process for the work and return in it; the one that the host waits for ends here, in time.

    A write that a slow disk delays cannot be interrupted, and delays the end of its process too. So the work
    continues in a background process, and no turn is lost.
    """
    hears, tells = os.pipe()
    try:
        worker = os.fork()
    except OSError:  # no more processes: this one does the work
        os.close(hears)
        os.close(tells)
        return
    if worker:
        os.close(tells)
        _pass_on(patience, worker, hears)
    os.setsid()  # so that signals to the host's process group do not reach this process
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in (1, 2):  # otherwise the host would wait until they are closed
        os.dup2(silence, stream)
    os.close(hears)
    patience.out, patience.mark = tells, _OTHER


def _pass_on(patience, worker, hears):
    """Pass on the worker's answer, or an empty one if that comes too late; end this process."""
    import select

    said, seconds = b"", max(DEADLINE_S.values())
    while (left := patience.began + seconds - time.monotonic()) > 0:
        if not select.select([hears], [], [], left)[0]:
            break
        if not (piece := os.read(hears, 65536)):
            os.waitpid(worker, 0)
            text, _, complaint = said[1:].decode("utf-8").partition(_COMPLAINT)
            patience.answer(text or patience.nothing, complaint)
        said += piece
        if said[:1] == _ENDS:
            seconds = DEADLINE_S["end"]
    patience.answer(patience.nothing)


def _find_package():
    """Make `scrubjay` and `scrubjay.hooks` importable without site-packages, in a wheel and in a checkout."""
    hooks = os.path.dirname(os.path.abspath(__file__))
    parent = os.path.dirname(hooks)
    installed = os.path.exists(os.path.join(parent, "errors.py"))
    # last, so that nothing there hides the standard library
    sys.path.append(os.path.dirname(parent) if installed else os.path.join(parent, "server"))
    import scrubjay

    if not installed:
        scrubjay.__path__.append(parent)  # in a checkout hooks/ is next to server/


def _note_failure(error):
    """Note why a hook could not run at all, if the installation can still do that."""
    try:
        from scrubjay.home.paths import default_root, open_home
        from scrubjay.hooks import journal

        journal.note(open_home(default_root(os.environ)), "start", None, journal.place_of(error))
    except BaseException:  # the package cannot be imported, or the home is not ours: no log is left
        return
