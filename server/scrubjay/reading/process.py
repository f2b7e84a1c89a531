"""Runs the processes that read files: both ends of their pipes, and their limits.

Converters are other people's code, partly native, and a small file can make them take all memory, run for
hours, or abort. A disk may answer late or never. In a separate process, this affects only one file.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from threading import Condition, Timer
from typing import IO, Any

from scrubjay.reading.result import FileText, Unreadable

MOST_MEMORY = 512 << 20  # bytes of address space; valid DOCX and PDF files of 45 MB took 0.2 of it
_MOST = 2  # processes at a time; further callers wait for a free one
_IDLE = 20.0  # seconds that a process waits for another file
_PATIENCE = 2.0  # seconds that the system adds to a time limit, because the parent normally ends the process
_LARGEST_FRAME = 64 << 20  # bytes; a file has at most 50 MB, and the longest text 40 MB as UTF-8
_LENGTHS = struct.Struct("!II")  # the lengths in bytes of the JSON and of the data after it

Head = dict[str, Any]  # the JSON that precedes the data
Read = Callable[[bytes, str, int], FileText]  # bytes, name, most characters of text
ReadAt = Callable[[str], FileText]  # path


class ReadingProcesses:
    """At most two processes that read files, started on demand. Safe in threads.

    Linux limits the memory of each process to 512 MB, and its processor time. macOS limits only the processor
    time, and Windows limits neither. On all three, a process is killed when its time is over.
    """

    def __init__(self) -> None:
        self._free = Condition()
        self._idle: list[_Process] = []
        self._busy = 0

    def read(self, data: bytes, name: str, max_text: int, seconds: float) -> FileText:
        """Let a process read these bytes within `seconds`, including the wait for a process.

        Raises:
            Unreadable: for the reason that the process reports, or because it reached a limit.
        """
        return self._ask({"name": name, "max_text": max_text, "seconds": seconds}, data)

    def read_at(self, path: str, seconds: float) -> FileText:
        """Like `read`, but let the process open the file at `path`."""
        return self._ask({"path": path, "seconds": seconds}, b"")

    def _ask(self, request: Head, data: bytes) -> FileText:
        end = time.monotonic() + request["seconds"]
        process = self._acquire(end)
        try:
            fields, text = process.ask(request, data, end)
        except BaseException:
            process.end()
            raise
        finally:
            self._release(process)
        if "unreadable" in fields:
            raise Unreadable(fields["unreadable"])
        return FileText(text=text.decode(), **fields)

    def end(self) -> None:
        """End the processes that wait for a file."""
        with self._free:
            idle, self._idle = self._idle, []
        for process in idle:
            process.end()

    def _acquire(self, end: float) -> _Process:
        with self._free:
            if not self._free.wait_for(lambda: self._busy < _MOST, end - time.monotonic()):
                raise Unreadable("had to wait too long for other files to be read; try it again")
            self._busy += 1
            process = self._idle.pop() if self._idle else None
        try:
            return process.stop_waiting() if process and process.is_running else _Process()
        except OSError as error:
            self._release(None)
            reason = f"cannot be read now: no process can be started ({error.strerror}); try it again"
            raise Unreadable(reason) from None

    def _release(self, process: _Process | None) -> None:
        with self._free:
            self._busy -= 1
            if process is not None and process.is_running:
                self._idle.append(process)
                process.wait_idle(lambda: self._end_idle(process))
            self._free.notify()

    def _end_idle(self, process: _Process) -> None:
        with self._free:
            if process not in self._idle:
                return
            self._idle.remove(process)
        process.end()


class _Process:
    """One process, as its parent sees it."""

    def __init__(self) -> None:
        # Its stderr is discarded: warnings, prints, and messages of native libraries.
        command = [sys.executable, "-P", "-m", "scrubjay.reading"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=os.sep
        )
        self._idle_timer: Timer | None = None

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def stop_waiting(self) -> _Process:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        return self

    def wait_idle(self, then: Callable[[], None]) -> None:
        self._idle_timer = _start_timer(_IDLE, then)

    def ask(self, request: Head, data: bytes, end: float) -> tuple[Head, bytes]:
        """Send a file and receive the result; kill the process at the time `end`."""
        assert self._process.stdin is not None and self._process.stdout is not None
        timer = _start_timer(max(0.0, end - time.monotonic()), self._process.kill)
        try:
            _send(self._process.stdin, request, data)
            answer = _receive(self._process.stdout)
        except (OSError, EOFError):  # the process has ended
            answer = None
        finally:
            timer.cancel()
        if answer is None or answer[0].pop("is_last", False) or time.monotonic() >= end:
            self.end()
        if answer is not None:
            return answer
        if time.monotonic() >= end or self._process.returncode == -getattr(signal, "SIGXCPU", 0):
            raise Unreadable(f"takes longer than {request['seconds']:g} s to read; split it")
        limit = f"needs more than {MOST_MEMORY >> 20} MB of memory"
        raise Unreadable(f"is damaged, or {limit}: it ended the process that read it")

    def end(self) -> None:
        self._process.kill()
        with suppress(subprocess.TimeoutExpired):  # a process that waits for a disk cannot be killed
            self._process.wait(_PATIENCE)
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with suppress(OSError):  # the process never read the rest
                pipe.close()


def _start_timer(seconds: float, then: Callable[[], None]) -> Timer:
    timer = Timer(seconds, then)
    timer.daemon = True
    timer.start()
    return timer


def serve(read: Read, read_at: ReadAt) -> None:
    """Run as the process: read one file after another from standard input until it ends."""
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # keep the output of libraries out of the answers
    _limit_memory()
    while True:
        try:
            request, data = _receive(requests)
        except EOFError:  # the engine ended
            return
        _limit_time(float(request["seconds"]))
        try:
            if "path" in request:
                text = read_at(request["path"])
            else:
                text = read(data, request["name"], request["max_text"])
        except Unreadable as error:
            _send(answers, {"unreadable": str(error)}, b"")
        except MemoryError:
            reason = f"needs more than {MOST_MEMORY >> 20} MB of memory to be read; split it"
            _send(answers, {"unreadable": reason, "is_last": True}, b"")
            return  # the remaining memory may be fragmented
        else:
            fields = asdict(text)
            _send(answers, fields, fields.pop("text").encode())


def _limit_memory() -> None:
    if sys.platform == "win32":
        return
    import resource

    for kind, limit in (("RLIMIT_AS", MOST_MEMORY), ("RLIMIT_FSIZE", 0), ("RLIMIT_CORE", 0)):
        with suppress(OSError, ValueError):  # macOS refuses some of them
            resource.setrlimit(getattr(resource, kind), (limit, limit))


def _limit_time(seconds: float) -> None:
    """Have the system end this process after the time limit if its parent has exited."""
    if sys.platform == "win32":
        return
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(used.ru_utime + used.ru_stime + seconds + _PATIENCE)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def _send(pipe: IO[bytes], fields: Head, data: bytes) -> None:
    head = json.dumps(fields).encode()
    pipe.write(_LENGTHS.pack(len(head), len(data)) + head)
    pipe.write(data)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> tuple[Head, bytes]:
    """Receive JSON and data. Raises EOFError if the pipe ends early, or the message is too long."""
    head, data = _LENGTHS.unpack(_read_exactly(pipe, _LENGTHS.size))
    if head + data > _LARGEST_FRAME:
        raise EOFError
    fields: Head = json.loads(_read_exactly(pipe, head))
    return fields, _read_exactly(pipe, data)


def _read_exactly(pipe: IO[bytes], size: int) -> bytes:
    data = pipe.read(size)
    if len(data) < size:
        raise EOFError
    return data


PROCESSES = ReadingProcesses()
atexit.register(PROCESSES.end)
