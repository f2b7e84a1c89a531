"""Reads and writes a client's two streams as bytes, and detects when the client is gone."""

import os
import select
import sys
import threading

_CHUNK = 64 * 1024  # bytes per read


class Terminal:
    """Standard input and output of a client, or any other two descriptors.

    `closed` becomes True when the client no longer listens: it has closed its end of the output, or our
    parent process has changed.
    """

    def __init__(self, read_fd: int = 0, write_fd: int = 1) -> None:
        self.closed = False
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._parent = os.getppid()
        self._writing = threading.Lock()
        if sys.platform == "win32":  # pragma: no cover - text mode would make two bytes of every newline
            import msvcrt

            for fd in (read_fd, write_fd):
                msvcrt.setmode(fd, os.O_BINARY)

    def read(self, look_seconds: float) -> bytes:
        """Return the client's next bytes, or none at its end; check every `look_seconds` if it exists."""
        while not self.closed:
            # Windows can only select sockets.
            if sys.platform == "win32" or select.select([self._read_fd], [], [], look_seconds)[0]:
                try:
                    return os.read(self._read_fd, _CHUNK)
                except BlockingIOError:
                    continue
            self.closed = self.closed or os.getppid() != self._parent
        return b""

    def write(self, data: bytes) -> None:
        """Write all of `data` without mixing it with another thread's data."""
        rest = memoryview(data)
        with self._writing:
            while rest and not self.closed:
                try:
                    rest = rest[os.write(self._write_fd, rest) :]
                except BlockingIOError:  # the client gave us a non-blocking descriptor
                    select.select([], [self._write_fd], [])
                except OSError:
                    self.closed = True
