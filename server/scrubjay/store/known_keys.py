"""A cache of the keys that rows of a table may have."""

import asyncio
from collections.abc import Iterable

from lancedb import AsyncTable

from scrubjay.store.cache import FIRST
from scrubjay.store.schema import read_table

_MAX_KEYS = 100_000  # a key takes some 70 bytes


class KnownKeys:
    """All keys that rows of a table may have, so that a new key needs no look-up on disk (3 ms).

    It stores Python's hashes of the keys. The key of a removed row stays, so that the cache can outlive a
    connection; a look-up of that row then finds nothing. Tables with more than `most` rows are not cached.
    """

    def __init__(self, column: str, most: int = _MAX_KEYS) -> None:
        self._column, self._most = column, most
        self._lock = asyncio.Lock()
        self._uses = 0
        self._hashes: set[int] | None = None  # None: not read yet
        self._complete, self._fits = False, True

    def add(self, keys: Iterable[str]) -> None:
        """Add the keys of rows just written."""
        if self._hashes is not None:
            self._hashes.update(map(hash, keys))
            if len(self._hashes) > 2 * self._most:
                self._hashes, self._complete, self._fits = None, False, False

    async def among(self, table: AsyncTable, keys: Iterable[str]) -> set[str]:
        """Return those of the keys that a row may have; all of them until the table has been read."""
        self._uses += 1
        if self._uses > FIRST and self._fits:
            async with self._lock:
                if not self._complete:
                    await self._read(table)
        hashes = self._hashes if self._complete else None
        return {each for each in keys if hashes is None or hash(each) in hashes}

    async def _read(self, table: AsyncTable) -> None:
        self._fits = await table.count_rows() <= self._most
        if self._fits:
            self._hashes = set()  # set before reading, so that `add` works meanwhile
            rows = await read_table(table.query().select([self._column]))
            self.add(rows[self._column].to_pylist())
            self._complete = self._hashes is not None
