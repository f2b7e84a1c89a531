"""Reads files that somebody else names or may have put there, and puts folders on the disk.

Only regular files are read, and only so much of them: a device never ends, and a FIFO waits for its writer.
Hooks read so too: standard library only and Python 3.9 syntax.
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

LONGEST_LINE = 8 * 1024 * 1024  # bytes; a longer one is passed over
BEGINNING = 64 * 1024  # bytes of a longer line
LONGEST_FILE = 64 * 1024 * 1024  # bytes, of a home's own files: 300,000 scopes
_FAR = 1 << 30  # Windows locks are mandatory: a byte far beyond the text leaves the text readable


def open_regular(path: str, *, own: bool = True) -> BinaryIO:
    """Open a regular file for reading, without waiting; with `own` it must belong to this user.

    Raises:
        OSError: as the disk says, or the file is of another kind or another user's.
    """
    _check(os.stat(path), own)  # before a device is even opened
    flags = (getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY"))
    descriptor = os.open(path, os.O_RDONLY | sum(flags))
    try:
        _check(os.fstat(descriptor), own)
    except OSError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def read_regular(path: str, limit: int, *, own: bool = True) -> bytes:
    """Read at most `limit` bytes of the beginning of a file. Raises as `open_regular` does."""
    with open_regular(path, own=own) as file:
        return file.read(limit)


def read_whole(path: str, limit: int = LONGEST_FILE, *, own: bool = False) -> bytes:
    """Read a file that has at most `limit` bytes. Raises as `open_regular` does.

    Raises:
        ValueError: it has more, as no file does that was written here.
    """
    with open_regular(path, own=own) as file:
        if os.fstat(file.fileno()).st_size > limit:
            raise ValueError(f"it has more than {limit:,} bytes")
        return file.read(limit)


def open_log(path: str) -> int:
    """Open a file of ours for appending, made if it is not there, without waiting; return its descriptor.

    What stands there and is no file is moved aside.

    Raises:
        OSError: as the disk says.
    """
    move_aside_nonfile(path)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags, 0o600)
    try:
        _check(os.fstat(descriptor), own=False)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def parsed(data: bytes) -> Any:
    """Parse JSON that somebody else may have written.

    Raises:
        ValueError: it is no JSON, or nested too deep to be read.
    """
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def last_lines(path: str, limit: int, longest: int = LONGEST_LINE) -> Iterator[bytes]:
    """Read the whole lines among the last `limit` bytes of a file of this user, one after another.

    Of a line of more than `longest` bytes comes its beginning, `BEGINNING` bytes. Raises as `open_regular`
    does.
    """
    with open_regular(path) as file:
        left = os.fstat(file.fileno()).st_size
        is_whole = left <= limit
        if not is_whole:
            file.seek(left - limit)
            left = limit
        while left > 0:
            line = file.readline(min(longest, left))
            left -= len(line)
            if not line:
                return
            if is_whole and (line.endswith(b"\n") or left <= 0):
                yield line
            elif is_whole:
                yield line[:BEGINNING] + b"\n"
            is_whole = line.endswith(b"\n")


def hold(path: str, seconds: float) -> int:
    """Lock a file, made if it is not there, and return its descriptor, whose closing ends the lock.

    Raises:
        OSError: as the disk says, or somebody else held it for so many seconds.
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
    return descriptor


def open_lock(path: str) -> int:
    """Open a file to be locked, made if it is not there, and return its descriptor."""
    return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NONBLOCK", 0), 0o600)


def try_lock(descriptor: int) -> bool:
    """Lock an open file until it is closed; False if another process, or another opening, holds it.

    Raises:
        OSError: the filesystem has no locks.
    """
    try:
        if sys.platform == "win32":  # pragma: no cover
            import msvcrt

            os.lseek(descriptor, _FAR, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def sync_folder(folder: str) -> None:
    """Put what was made, renamed or removed in a folder on the disk."""
    if os.name != "nt":  # Windows cannot open a folder, and journals by itself
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def move_aside_nonfile(path: str) -> bool:
    """Rename what stands where a file of ours belongs and is none; tell whether there was such a thing.

    Raises:
        OSError: as the disk says.
    """
    try:
        if stat.S_ISREG(os.stat(path).st_mode):
            return False
    except OSError as error:  # nothing there, or a link to nothing
        if error.errno != ELOOP:
            return False
        os.unlink(path)  # a link that leads to itself holds nothing, and beside the store it stops LanceDB
        return True
    number = 1
    while os.path.lexists(aside := f"{path}.aside{number}"):
        number += 1
    os.rename(path, aside)
    return True


def _check(about: os.stat_result, own: bool) -> None:
    if not stat.S_ISREG(about.st_mode):
        raise OSError(EINVAL, "it is no regular file")
    if own and hasattr(os, "geteuid") and about.st_uid != os.geteuid():
        raise PermissionError(EPERM, "it belongs to another user")


def is_file(entry: os.DirEntry[str]) -> bool:
    """Tell whether an entry of a folder is a file or leads to one; a link that leads to itself does not."""
    try:
        return entry.is_file()
    except OSError:
        return False


def runs(pid: int) -> bool:
    """Tell whether a process runs, as far as this system says; a zombie does not."""
    if os.name == "nt":  # where signal 0 would end it
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
