"""Makes what LanceDB committed survive a power loss. Knows files, not their content.

LanceDB never calls fsync (measured with strace), so the newest files of a table may be empty after a crash of the machine. The
write-ahead log keeps every write until `Durable.sync` has put the files that hold it on disk.
"""

from __future__ import annotations

import os
from contextlib import suppress


class Durable:
    """Remembers which files below `root` were synced, so that each is synced once."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._known: set[str] = set()

    def sync(self) -> int:
        """Put every new file below the root on disk, then the folders that hold them; the number of files. Blocks; call in a thread."""
        fresh, folders, seen = [], set(), set()
        for folder, _, names in os.walk(self.root):
            for name in names:
                path = os.path.join(folder, name)
                seen.add(path)
                if path not in self._known:
                    fresh.append(path)
                    folders.add(folder)
        for path in fresh:
            _fsync(path)
        for folder in folders:
            _fsync(folder)
        self._known = seen
        return len(fresh)


def _fsync(path: str) -> None:
    # A file may be gone again: compaction and clean-up remove what newer versions replaced.
    with suppress(FileNotFoundError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
