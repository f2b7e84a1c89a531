"""Starts and ends a hook: finds the package, keeps the deadline, answers the host, and exits with code 0.

If anything fails, the host gets an empty answer.
"""

from __future__ import annotations

import _thread
import io
import os
import sys
import time

READ_S = 1.4  # time limit for reading the payload, which arrives at once or never ends
# Time limits by kind of event. Hosts wait 10 s, but at a session's end Claude Code waits 1.5 s for all hooks.
DEADLINE_S = {"start": 1.5, "prompt": 1.5, "answer": 1.5, "end": 1, "before": 1.5, "after": 1.5}
LATE_S = 60  # time limit of a worker, which continues in the background when a disk is slow
# Where no process can be forked, unfinished work is lost, so a disk gets more time.
ALONE_S = {"start": 3, "prompt": 2, "answer": 5, "end": 1}

_ENDS, _OTHER = b"e", b"."  # the worker's first byte, which tells if the event ends a session
_COMPLAINT = "\0"  # separates the answer (JSON or plain text) from the line for standard error
_answer_lock = _thread.allocate_lock()  # held after an answer, so that the second thread cannot answer too


class _Deadline:
    """The time limit of this process, in seconds since its start: first for reading, then for the event.

    `out` is the descriptor for the answer: standard output, or a pipe to the process that the host waits for.
    """

    def __init__(self, host):
        self.empty_answer = "" if host == "kiro" else "{}\n"  # Kiro shows its model all output
        self.began = time.monotonic()
        self.seconds = READ_S
        self.out = 1
        self.mark = b""  # in a worker _ENDS or _OTHER, until that byte is written

    def set_for(self, kind):
        """Set the time limit for handling an event of this kind, which has been read."""
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
        while (remaining := self.began + self.seconds - time.monotonic()) > 0:
            time.sleep(min(remaining, 0.2))  # the deadline may move meanwhile
        journal, home = sys.modules.get("scrubjay.hooks.journal"), sys.modules.get("scrubjay.home.paths")
        try:
            if journal and home:  # an import here could wait for one that hangs
                root = home.Home(home.default_root(os.environ))
                journal.note(root, "deadline", None, f"gave up after {self.seconds:g} s")
        finally:
            self.answer(self.empty_answer)

    def answer(self, text, complaint=None):
        """Write the answer, and the complaint to standard error; end the process."""
        if complaint and self.out != 1:
            text += _COMPLAINT + complaint
        with _answer_lock:
            try:
                os.write(self.out, self.mark + text.encode("utf-8"))
                if complaint and self.out == 1:
                    os.write(2, f"scrubjay: {complaint}\n".encode("utf-8", "replace"))
            finally:
                os._exit(0)  # also saves the 3 ms that the interpreter takes to shut down


def main():
    """Run `scrubjay-hook` or `hook.py` with the options of the command line. Does not return."""
    options = {"--host": None, "--event": None}
    arguments = sys.argv[1:]
    for argument, next_argument in zip(arguments, [*arguments[1:], None]):
        name, equals, value = argument.partition("=")
        if name in options:
            options[name] = value if equals else next_argument
    start(options["--host"], options["--event"])


def start(host, event):
    """Handle the event on stdin and end the process with exit code 0, whatever happens.

    `host` and `event` are the names in the registration, or None.
    """
    deadline = _Deadline(host)
    if hasattr(os, "fork"):
        _fork_worker(deadline)
    # a thread, because some platforms have no signals
    _thread.start_new_thread(deadline.give_up, ())
    output, complaint = io.StringIO(), None
    try:
        _find_package()
        os.umask(0o077)
        from scrubjay.hooks import entry

        complaint = entry.run(host, event, sys.stdin.buffer, output, os.environ, deadline.set_for)
    except BaseException as error:  # a host must never see a traceback, not even of a broken installation
        output = io.StringIO()
        _note_failure(error)
    deadline.answer(output.getvalue() or deadline.empty_answer, complaint)


def _fork_worker(deadline):
    """Fork a worker and return only in the worker; the parent, for which the host waits, ends in time.

    A write that a slow disk delays cannot be interrupted, and its process cannot end before the write does.
    So the work continues in a background process, and no turn is lost.
    """
    read_end, write_end = os.pipe()
    try:
        worker = os.fork()
    except OSError:  # no process can be added, so this one does the work
        os.close(read_end)
        os.close(write_end)
        return
    if worker:
        os.close(write_end)
        _forward_answer(deadline, worker, read_end)
    os.setsid()  # so that signals to the host's process group do not reach this process
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (1, 2):  # the host waits until these streams are closed
        os.dup2(null, stream)
    os.close(read_end)
    deadline.out, deadline.mark = write_end, _OTHER


def _forward_answer(deadline, worker, read_end):
    """Forward the worker's answer, or an empty answer if it comes too late, and end this process."""
    import select

    received, seconds = b"", max(DEADLINE_S.values())
    while (remaining := deadline.began + seconds - time.monotonic()) > 0:
        if not select.select([read_end], [], [], remaining)[0]:
            break
        if not (chunk := os.read(read_end, 65536)):
            os.waitpid(worker, 0)
            text, _, complaint = received[1:].decode("utf-8").partition(_COMPLAINT)
            deadline.answer(text or deadline.empty_answer, complaint)
        received += chunk
        if received[:1] == _ENDS:
            seconds = DEADLINE_S["end"]
    deadline.answer(deadline.empty_answer)


def _find_package():
    """Make `scrubjay` and `scrubjay.hooks` importable without site-packages, in a wheel and in a checkout."""
    hooks = os.path.dirname(os.path.abspath(__file__))
    parent = os.path.dirname(hooks)
    installed = os.path.exists(os.path.join(parent, "errors.py"))
    # appended, so that no file in this folder hides a module of the standard library
    sys.path.append(os.path.dirname(parent) if installed else os.path.join(parent, "server"))
    import scrubjay

    if not installed:
        scrubjay.__path__.append(parent)  # in a checkout hooks/ is next to server/


def _note_failure(error):
    """Note in the journal why a hook could not run at all, if the package can still be imported."""
    try:
        from scrubjay.home.paths import default_root, open_home
        from scrubjay.hooks import journal

        journal.note(open_home(default_root(os.environ)), "start", None, journal.place_of(error))
    except BaseException:  # no journal: the package cannot be imported, or the home is not ours
        return
