"""The file locks that make a second engine impossible. Knows the operating system's locks; does not know who takes them for what.

A lock dies with its process, so nothing here ever goes stale and nothing is ever broken by force. Standard library only.
"""

from __future__ import annotations

import os
import sys
import time

from scrubjay.errors import EngineError, HomeError

if sys.platform == "win32":  # pragma: no cover
    import msvcrt
else:
    import fcntl

_WINDOWS_OFFSET = (
    1 << 30
)  # Windows locks are mandatory: lock a byte far beyond the text, so that others may read it
_STEP = 0.02  # seconds between two tries


class FileLock:
    """An exclusive lock on one file, held from `acquire` until `release` or the end of the process."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._fd: int | None = None

    def __enter__(self) -> FileLock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def acquire(self, wait_seconds: float = 0.0) -> bool:
        """Whether the lock is now held; tries for `wait_seconds` before it says no.

        Raises:
            HomeError: the file cannot be opened, or its filesystem has no locks.
        """
        end = time.monotonic() + wait_seconds
        while not self._try():
            if time.monotonic() >= end:
                return False
            time.sleep(_STEP)
        return True

    def release(self) -> None:
        """Give the lock up; nothing happens if it is not held."""
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)

    @property
    def held(self) -> bool:
        """Whether this object holds the lock and the file it locked is still the one at its path.

        A lock on a file that was deleted keeps nobody out, so who finds this false must stop writing.
        """
        if self._fd is None:
            return False
        try:
            return os.path.samestat(os.fstat(self._fd), os.stat(self.path))
        except OSError:
            return False

    def read(self) -> str:
        """What the holder has written into the locked file."""
        assert self._fd is not None, "read needs the lock"
        os.lseek(self._fd, 0, os.SEEK_SET)
        return os.read(self._fd, 4096).decode("ascii", "replace")

    def write(self, text: str) -> None:
        """Replace the text of the locked file."""
        assert self._fd is not None, "write needs the lock"
        os.lseek(self._fd, 0, os.SEEK_SET)
        os.ftruncate(self._fd, 0)
        os.write(self._fd, text.encode("ascii"))

    def _try(self) -> bool:
        if self._fd is not None:
            return True
        try:
            fd = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise HomeError(
                f"The lock file {self.path} cannot be opened: {error.strerror}. Give yourself read and write rights."
            ) from error
        if _lock(fd, self.path):
            self._fd = fd
            if self.held:
                return True
            self._fd = None  # somebody deleted the file between our open and our lock
        os.close(fd)
        return False


def _lock(fd: int, path: str) -> bool:
    """Whether the open file is now locked; another holder means False, a filesystem that cannot lock means HomeError."""
    try:
        if sys.platform == "win32":  # pragma: no cover
            os.lseek(fd, _WINDOWS_OFFSET, os.SEEK_SET)
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError as error:
        os.close(fd)
        raise HomeError(
            f"The home's filesystem cannot lock {path}: {error.strerror}. Set SCRUBJAY_HOME to a folder on a local disk."
        ) from error
    return True


def identity(path: str) -> list[int]:
    """What tells one home from another, whatever path leads to it: device and inode of its lock file; empty when there is none."""
    try:
        facts = os.stat(path)
    except OSError:
        return []
    return [facts.st_dev, facts.st_ino]


def is_held(path: str) -> bool:
    """Whether some process holds the lock at `path`, tried by taking it for a moment; a missing file is not held."""
    if not os.path.exists(path):
        return False
    with FileLock(path) as lock:
        return not lock.acquire()


def take(path: str, wait_seconds: float = 1.0) -> FileLock:
    """The engine's lock, held. Waits a moment, because a pipe that looks whether there is an engine takes it for an instant.

    Raises:
        EngineError: another process holds it.
        HomeError: the home's filesystem has no working locks or no hard links.
    """
    check_filesystem(os.path.dirname(path))
    lock = FileLock(path)
    if not lock.acquire(wait_seconds):
        raise EngineError(
            f"Another engine already serves this home: it holds {path}. `scrubjay status` shows it."
        )
    return lock


def check_filesystem(folder: str) -> None:
    """Refuse a folder on which two locks do not exclude each other or a file cannot have two names.

    Network and removable filesystems accept calls that do nothing, so both are tried, on a file of our own.

    Raises:
        HomeError: which of the two does not work here.
    """
    probe = os.path.join(folder, f".probe.{os.getpid()}")
    twin = probe + ".link"
    advice = "Set SCRUBJAY_HOME to a folder on a local disk."
    try:
        with FileLock(probe) as first, FileLock(probe) as second:
            if not first.acquire() or second.acquire():
                raise HomeError(
                    f"File locks have no effect in {folder}, so two engines could write at once. {advice}"
                )
            os.link(probe, twin)
    except OSError as error:
        raise HomeError(
            f"The filesystem of {folder} has no hard links, which the spool needs: {error.strerror}. {advice}"
        ) from error
    finally:
        for name in (twin, probe):
            if os.path.exists(name):
                os.unlink(name)
