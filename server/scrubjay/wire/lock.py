"""The file locks that prevent a second engine. Standard library only.

A lock ends with its process, so no lock is ever stale or has to be broken.
"""

from __future__ import annotations

import os
import time

from scrubjay.errors import EngineError, HomeError
from scrubjay.home.files import move_aside_nonfile, open_lock, try_lock

_PAUSE = 0.02  # seconds between two tries


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
        """Try for `wait_seconds` to take the lock; return True if it is held now.

        Raises HomeError if the file cannot be opened, or its filesystem has no locks.
        """
        deadline = time.monotonic() + wait_seconds
        if self._fd is None:
            move_aside_nonfile(self.path)  # a lock is always on a regular file
        while not self._try():
            if time.monotonic() >= deadline:
                return False
            time.sleep(_PAUSE)
        return True

    def release(self) -> None:
        """Release the lock, if it is held."""
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)

    @property
    def is_held(self) -> bool:
        """Return True if this object holds the lock, and its file is still the one at its path.

        A lock on a deleted file excludes no process: a caller that sees False must stop writing.
        """
        if self._fd is None:
            return False
        try:
            return os.path.samestat(os.fstat(self._fd), os.stat(self.path))
        except OSError:
            return False

    def read(self) -> str:
        """Read the text of the locked file. Raises HomeError if the disk refused."""
        assert self._fd is not None, "read needs the lock"
        try:
            os.lseek(self._fd, 0, os.SEEK_SET)
            return os.read(self._fd, 4096).decode("ascii", "replace")
        except OSError as error:
            sentence = f"The lock file {self.path} cannot be read: {error.strerror}."
            raise HomeError(f"{sentence} Check the health of the disk.") from error

    def write(self, text: str) -> None:
        """Replace the text of the locked file. Raises HomeError if the disk is full, or refused."""
        assert self._fd is not None, "write needs the lock"
        try:
            os.lseek(self._fd, 0, os.SEEK_SET)
            os.ftruncate(self._fd, 0)
            os.write(self._fd, text.encode("ascii"))
        except OSError as error:
            sentence = f"The lock file {self.path} cannot be written: {error.strerror}."
            raise HomeError(f"{sentence} Free disk space, or check the health of the disk.") from error

    def _try(self) -> bool:
        if self._fd is not None:
            return True
        try:
            fd = open_lock(self.path)
        except OSError as error:
            sentence = f"The lock file {self.path} cannot be opened: {error.strerror}."
            raise HomeError(f"{sentence} Give yourself read and write permission.") from error
        if _lock(fd, self.path):
            self._fd = fd
            if self.is_held:
                return True
            self._fd = None  # the file was deleted between opening and locking it
        os.close(fd)
        return False


def _lock(fd: int, path: str) -> bool:
    """Try to lock an open file; return False if another process holds the lock.

    Raises:
        HomeError: the filesystem cannot lock; the file is closed.
    """
    try:
        return try_lock(fd)
    except OSError as error:
        os.close(fd)
        raise HomeError(
            f"The home's filesystem cannot lock {path}: {error.strerror}. "
            "Set SCRUBJAY_HOME to a folder on a local disk."
        ) from error


def identity(path: str) -> list[int]:
    """Return the device and inode of a home's lock file, which identify the home; [] without a file."""
    try:
        stat = os.stat(path)
    except OSError:
        return []
    return [stat.st_dev, stat.st_ino]


def is_held(path: str) -> bool:
    """Try to take the lock at `path`: return True if a process holds it, False if the file is missing."""
    if not os.path.exists(path):
        return False
    with FileLock(path) as lock:
        return not lock.acquire()


def take(path: str, wait_seconds: float = 1.0) -> FileLock:
    """Take the engine's lock; wait a little, because pipes take it briefly to see if an engine is running.

    Raises EngineError if another process holds it; HomeError if the home's filesystem has no working locks or
    no hard links.
    """
    check_filesystem(os.path.dirname(path))
    lock = FileLock(path)
    if not lock.acquire(wait_seconds):
        advice = "`scrubjay status` shows it, and `scrubjay stop` ends it."
        raise EngineError(f"Another engine already serves this home: it holds {path}. {advice}")
    return lock


def check_filesystem(folder: str) -> None:
    """Raise if locks have no effect in a folder, or files cannot have hard links.

    Network and removable filesystems may accept calls that do nothing, so try both on a probe file.

    Raises:
        HomeError: one of the two does not work; the message says which.
    """
    probe = os.path.join(folder, f".probe.{os.getpid()}")
    link_path = probe + ".link"
    advice = "Set SCRUBJAY_HOME to a folder on a local disk."
    try:
        with FileLock(probe) as one, FileLock(probe) as other:
            if not one.acquire() or other.acquire():
                sentence = f"File locks have no effect in {folder}, so two engines could write at once."
                raise HomeError(f"{sentence} {advice}")
            os.link(probe, link_path)
    except OSError as error:
        raise HomeError(
            f"The filesystem of {folder} has no hard links, which the spool needs: {error.strerror}. {advice}"
        ) from error
    finally:
        for name in (link_path, probe):
            if os.path.exists(name):
                os.unlink(name)
