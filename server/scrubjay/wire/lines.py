"""Cuts bytes into lines of limited length. Standard library only."""

from __future__ import annotations

# A pipe's question to a silent engine, which answers as long as its event loop runs.
BEAT = b'{"scrubjay":"beat"}\n'
# Bytes, in both directions: a document of ten million characters, nearly all escaped.
LINE_LIMIT = 64 * 1024 * 1024
EXCERPT = 4096  # bytes kept of each end of a line that is too long: enough to find the id of a request


class TooLong(bytes):
    """The first and last bytes of a line above the limit, with a newline between them."""


class LineCutter:
    """Cuts one stream into lines. A line above `limit` bytes becomes a `TooLong`."""

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        self.limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._head: bytes | None = None  # the start of a line that is too long

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that end in `data`, each with its newline."""
        lines = []
        start = 0
        while (end := data.find(b"\n", start) + 1) > 0:
            self._add(data[start:end] if start or end < len(data) else data)
            lines.append(self._take())
            start = end
        if start < len(data):
            self._add(data[start:])
        return lines

    def rest(self) -> bytes:
        """Return the bytes after the last newline, and empty the cutter."""
        return self._take() if self._parts else b""

    def _add(self, part: bytes) -> None:
        self._parts.append(part)
        self._size += len(part)
        if self._size > self.limit + 1:  # the newline does not count
            line = b"".join(self._parts)
            if self._head is None:
                self._head = line[:EXCERPT]
            self._parts = [line[-EXCERPT:]]

    def _take(self) -> bytes:
        line = b"".join(self._parts)
        if self._head is not None:
            line = TooLong(self._head + b"\n" + line)
        self._parts, self._size, self._head = [], 0, None
        return line
