"""Remembers which envelope an engine is reading, so that one that crashes engines is not read again."""

import os
from contextlib import suppress

from scrubjay.errors import InputError
from scrubjay.home.files import read_regular
from scrubjay.home.paths import Home

MOST_DEATHS = 2  # an envelope is moved away after this many engines hung or crashed while reading it


class InHand:
    """Records which envelope the engine is reading; an engine that was killed does not count."""

    def __init__(self, home: Home) -> None:
        self._path = home.in_hand
        self._death_log_size = 0  # grows with every engine that hangs or crashes
        with suppress(OSError):
            self._death_log_size = os.path.getsize(home.deaths)
        # The envelope that the last engine was reading, and how many engines died on it.
        self._suspect, self._suspect_deaths = "", 0
        with suppress(OSError, ValueError):
            name, log_size, deaths = read_regular(self._path, 1_000).decode().split()
            self._suspect, self._suspect_deaths = name, int(deaths) + (int(log_size) < self._death_log_size)

    def take(self, path: str) -> None:
        """Record that an envelope is being read.

        Raises:
            InputError: two engines died on it.
        """
        name = os.path.basename(path)
        deaths = self._suspect_deaths if name == self._suspect else 0
        if deaths >= MOST_DEATHS:
            raise InputError(f"{deaths} engines hung or crashed while reading it; see log/deaths.log.")
        self._write(f"{name} {self._death_log_size} {deaths}")

    def put_down(self) -> None:
        """Record that no envelope is being read."""
        self._write("")

    def _write(self, note: str) -> None:
        """Write without a sync: the file survives an engine's death, and a power cut proves nothing."""
        with suppress(OSError):  # a full disk, or something else at the path
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NONBLOCK", 0)
            with open(os.open(self._path, flags, 0o600), "wb") as file:
                file.write(note.encode())
