"""Progress of what takes longer than a second, on standard error: a bar for a terminal, a plain line now and then for anything else."""

from __future__ import annotations

import sys
import time
from typing import TextIO

WIDTH = 30  # characters of the bar
PLAIN_SECONDS = 5.0  # between two plain lines


class Progress:
    """How far one piece of work is; use it as a context manager, so that the bar's line is closed."""

    def __init__(self, label: str, stream: TextIO | None = None) -> None:
        self._label, self._stream = label, stream or sys.stderr
        self._bar = self._stream.isatty()
        self._last = time.monotonic()
        self._shown = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown and self._bar:
            self._stream.write("\n")

    def show(self, done: int, total: int) -> None:
        """Say that `done` of `total` are done."""
        if self._bar:
            filled = WIDTH * done // max(total, 1)
            self._stream.write(f"\r{self._label} [{'#' * filled}{'.' * (WIDTH - filled)}] {done:,} of {total:,}")
        elif time.monotonic() - self._last >= PLAIN_SECONDS:
            self._last = time.monotonic()
            self._stream.write(f"{self._label}: {done:,} of {total:,}\n")
        self._stream.flush()
        self._shown = True
