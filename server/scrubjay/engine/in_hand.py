"""Remembers which envelope an engine is reading, so that one over which engines die is not read again."""

import os
from contextlib import suppress

from scrubjay.errors import InputError
from scrubjay.home.files import read_regular
from scrubjay.home.paths import Home

MOST_DEATHS = 2  # engines that may die over an envelope before it is moved away


class InHand:
    """Records which envelope the engine is reading, so that the next engine knows it after a crash.

    An envelope over which two engines hung or crashed is not read again. An engine that was killed does not
    count.
    """

    def __init__(self, home: Home) -> None:
        self._path = home.in_hand
        self._deaths = _size(home.deaths)  # grows with every engine that hangs or crashes
        self._suspect, self._died = "", 0  # the envelope that the last engine was reading; deaths over it
        with suppress(OSError, ValueError):
            name, deaths, died = read_regular(self._path, 1_000).decode().split()
            self._suspect, self._died = name, int(died) + (int(deaths) < self._deaths)

    def take(self, path: str) -> None:
        """Record that an envelope is being read.

        Raises:
            InputError: two engines died over it.
        """
        name = os.path.basename(path)
        died = self._died if name == self._suspect else 0
        if died >= MOST_DEATHS:
            raise InputError(f"{died} engines hung or crashed over it; log/deaths.log shows where.")
        self._write(f"{name} {self._deaths} {died}")

    def put_down(self) -> None:
        """Record that no envelope is being read."""
        self._write("")

    def _write(self, note: str) -> None:
        """Write without a sync: the file survives an engine's death, and a power cut is no evidence."""
        with suppress(OSError):  # a full disk, or something else at the path
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NONBLOCK", 0)
            descriptor = os.open(self._path, flags, 0o600)
            try:
                os.write(descriptor, note.encode())
            finally:
                os.close(descriptor)


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0
