"""Bytes cut into lines, with an upper limit. Knows newlines; does not know JSON or sockets. Standard library only."""

from __future__ import annotations

LINE_LIMIT = 64 * 1024 * 1024  # bytes, both ways
_EXCERPT = 4096  # bytes kept of each end of a line that is too long: enough to find the id of a request


class TooLong(bytes):
    """What is kept of a line above the limit: its first and its last bytes, with a newline between."""


class LineCutter:
    """The lines of one stream. A line above `limit` bytes is dropped while it arrives and comes out as a `TooLong`."""

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._head: bytes | None = None  # of the line being dropped

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that end in `data`, each with its newline."""
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
        """What came after the last newline; the cutter is empty afterwards."""
        return self._take() if self._parts else b""

    def _add(self, part: bytes) -> None:
        self._parts.append(part)
        self._size += len(part)
        if self._size > self._limit + 1:  # the newline does not count
            whole = b"".join(self._parts)
            if self._head is None:
                self._head = whole[:_EXCERPT]
            self._parts = [whole[-_EXCERPT:]]

    def _take(self) -> bytes:
        line = b"".join(self._parts)
        if self._head is not None:
            line = TooLong(self._head + b"\n" + line)
        self._parts, self._size, self._head = [], 0, None
        return line
