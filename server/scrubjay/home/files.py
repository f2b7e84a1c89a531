"""Reads files that others may have named or created, and writes and syncs our own files.

Only regular files are read, and only up to a limit, because a device never ends and a FIFO waits for its
writer. Hooks use it: standard library only and Python 3.9 syntax.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import time
from errno import EINVAL, ELOOP, EPERM, ETIMEDOUT

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without the import that every hook would pay
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, BinaryIO

LONGEST_LINE = 8 * 1024 * 1024  # bytes; a longer line is cut
BEGINNING = 64 * 1024  # bytes at the start of a longer line that remain
LONGEST_FILE = 64 * 1024 * 1024  # bytes of a file in a home, enough for 300,000 scopes
_LOCKED_BYTE = 1 << 30  # a lock on Windows prevents reading, so this byte is far beyond the text


def open_regular(path: str, *, own: bool = True) -> BinaryIO:
    """Open a regular file for reading without blocking; with `own`, it must belong to this user.

    Raises OSError if the disk refuses, or if the file is another user's or not a regular one.
    """
    _check(os.stat(path), own)  # before opening, which may affect a device
    flags = (getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY"))
    return os.fdopen(_checked(os.open(path, os.O_RDONLY | sum(flags)), own), "rb")


def read_regular(path: str, limit: int, *, own: bool = True) -> bytes:
    """Read at most `limit` bytes from the start of a file. Raises as `open_regular` does."""
    with open_regular(path, own=own) as file:
        return file.read(limit)


def read_whole(path: str, limit: int = LONGEST_FILE, *, own: bool = False) -> bytes:
    """Read a file; raise as `open_regular` does, or ValueError if it has more than `limit` bytes."""
    with open_regular(path, own=own) as file:
        if os.fstat(file.fileno()).st_size > limit:
            raise ValueError(f"it has more than {limit:,} bytes")
        return file.read(limit)


def write_whole(path: str, content: bytes, draft: str = "") -> None:
    """Write a file completely or not at all, readable by its owner only, and sync it to the disk.

    It is first written at `draft`; without a draft's path, only the caller may write the file. Raises OSError
    if the disk refused; no draft remains.
    """
    draft = draft or f"{path}.draft"
    move_aside_nonfile(path)
    move_aside_nonfile(draft)
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except OSError:
        if os.path.exists(draft):
            os.unlink(draft)
        raise
    sync_folder(os.path.dirname(path))


def open_log(path: str) -> int:
    """Open one of our files to append, creating it, and return its descriptor.

    Anything at its path that is not a regular file is moved aside. Raises OSError if the disk refuses.
    """
    move_aside_nonfile(path)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0)
    return _checked(os.open(path, flags, 0o600), own=False)


def add_line(path: str, line: str, most: int) -> None:
    """Add a line to a log that several processes write; a log of over `most` bytes is first renamed to `.1`.

    If the disk refuses, the line is lost, because a log must not stop the work that it records.
    """
    try:
        if os.path.exists(path) and os.path.getsize(path) > most:
            os.replace(path, path + ".1")
        with open(open_log(path), "a", encoding="utf-8", errors="replace") as log:
            log.write(line)
    except OSError:
        return


def parse_json(data: bytes) -> Any:
    """Parse JSON of unknown origin. Raises ValueError if it is not JSON, or is nested too deeply."""
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def last_lines(path: str, limit: int, longest: int = LONGEST_LINE) -> Iterator[bytes]:
    """Yield the whole lines in the last `limit` bytes of a file of this user.

    A line of more than `longest` bytes is cut to its first `BEGINNING` bytes. Raises as `open_regular` does.
    """
    with open_regular(path) as file:
        remaining = os.fstat(file.fileno()).st_size
        is_whole = remaining <= limit
        if not is_whole:
            file.seek(remaining - limit)
            remaining = limit
        while remaining > 0:
            line = file.readline(min(longest, remaining))
            remaining -= len(line)
            if not line:
                return
            if is_whole and (line.endswith(b"\n") or remaining <= 0):
                yield line
            elif is_whole:
                yield line[:BEGINNING] + b"\n"
            is_whole = line.endswith(b"\n")


def hold(path: str, seconds: float) -> BinaryIO:
    """Open a file, creating it, and lock it until it is closed.

    Raises OSError if the disk refuses, or if another process holds the lock for `seconds`.
    """
    descriptor = open_lock(path)
    deadline = time.monotonic() + seconds
    try:
        while not try_lock(descriptor):
            if time.monotonic() > deadline:
                raise TimeoutError(ETIMEDOUT, "another process holds the lock", path)
            time.sleep(0.005)
    except OSError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def open_lock(path: str) -> int:
    """Open a file to be locked, creating it, and return its descriptor."""
    return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NONBLOCK", 0), 0o600)


def try_lock(descriptor: int) -> bool:
    """Lock an open file until it is closed; return False if another process or descriptor holds it.

    Raises OSError if the filesystem has no locks.
    """
    try:
        if sys.platform == "win32":  # pragma: no cover
            import msvcrt

            os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def sync_folder(folder: str) -> None:
    """Sync a folder, so that created, renamed or removed entries are on the disk."""
    if os.name != "nt":  # Windows cannot open a folder, and journals changes itself
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def move_aside_nonfile(path: str) -> bool:
    """Move aside anything at `path` that is not a regular file; return True if something was moved.

    A missing file and a broken link stay; a link to itself is removed. Raises OSError if the disk refuses.
    """
    try:
        if stat.S_ISREG(os.stat(path).st_mode):
            return False
    except OSError as error:  # missing, or a broken link
        if error.errno != ELOOP:
            return False
        os.unlink(path)  # a link to itself has no content, and would stop LanceDB
        return True
    number = 1
    while os.path.lexists(aside := f"{path}.aside{number}"):
        number += 1
    os.rename(path, aside)
    return True


def _checked(descriptor: int, own: bool) -> int:
    """Return the descriptor of a file that `_check` accepts; close it otherwise."""
    try:
        _check(os.fstat(descriptor), own)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _check(status: os.stat_result, own: bool) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError(EINVAL, "it is not a regular file")
    if own and hasattr(os, "geteuid") and status.st_uid != os.geteuid():
        raise PermissionError(EPERM, "it belongs to another user")


def is_running(pid: int) -> bool:
    """Return True if a process is running, or if that is unknown; a zombie is not running."""
    if os.name == "nt":  # there, signal 0 would end the process
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return b") Z " not in file.read()
    except OSError:
        return True  # no /proc on this system
