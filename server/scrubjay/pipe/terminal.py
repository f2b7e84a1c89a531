"""The client's two streams as bytes, and how to notice that the client is gone."""

import os
import select
import sys
import threading

_CHUNK = 64 * 1024  # bytes per read


class Terminal:
    """Standard input and output of a client, or any other two descriptors.

    `closed` turns true when the client no longer hears us: its end of the output is gone, or our parent has
    changed.
    """

    def __init__(self, read_fd: int = 0, write_fd: int = 1) -> None:
        self.closed = False
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._parent = os.getppid()
        self._writing = threading.Lock()
        if sys.platform == "win32":  # pragma: no cover - text mode would turn every newline into two bytes
            import msvcrt

            for fd in (read_fd, write_fd):
                msvcrt.setmode(fd, os.O_BINARY)

    def read(self, look_seconds: float) -> bytes:
        """Return the client's next bytes; empty at its end. Look every `look_seconds` whether it is gone."""
        while not self.closed:
            # Windows selects sockets only.
            if sys.platform == "win32" or select.select([self._read_fd], [], [], look_seconds)[0]:
                try:
                    return os.read(self._read_fd, _CHUNK)
                except BlockingIOError:
                    continue
            self.closed = self.closed or os.getppid() != self._parent
        return b""

    def write(self, data: bytes) -> None:
        """Write all of `data`, not mixed with another thread's."""
        rest = memoryview(data)
        with self._writing:
            while rest and not self.closed:
                try:
                    rest = rest[os.write(self._write_fd, rest) :]
                except BlockingIOError:  # the client gave us a descriptor that does not wait
                    select.select([], [self._write_fd], [])
                except OSError:
                    self.closed = True
