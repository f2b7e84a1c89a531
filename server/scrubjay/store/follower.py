"""Keeps this engine's view of a shared store current while another engine writes it."""

import asyncio
import math
import time
from collections.abc import Callable
from typing import Any

from scrubjay.store.notes import INDEX, parse_note
from scrubjay.store.store import Store
from scrubjay.store.tables import EVERY_SECOND, TABLES

REOPEN_AFTER = 50  # versions of the passages; each leaves pages of an index in memory until a reopen


class Follower:
    """Follows one store. `look` costs a few requests, so it runs at most once a second unless forced."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._clock = store, clock
        self._looked_at = -math.inf
        self._versions: dict[str, int] = {}
        self._opened_at = 0  # the version of the passages when the tables were last opened

    async def look(self, *, at_once: bool = False) -> bool:
        """Look for new versions; return True if the note on the index changed.

        With `at_once`, everything committed before the call is visible afterwards. Raises StoreError if a
        newer Scrubjay now writes the store.
        """
        store, now = self._store, self._clock()
        if store.is_writer or (not at_once and now - self._looked_at < EVERY_SECOND.total_seconds()):
            return False
        self._looked_at = now
        text = await store.notes.read(INDEX)
        before, note = store.note, store.note if text is None else parse_note(text, store.path)
        store.note = note
        many_versions = self._versions.get("passages", 0) > self._opened_at + REOPEN_AFTER
        if many_versions or note.generation != before.generation:
            await store.reopen()
            self._opened_at = await store.tables.passages.version()
        tables: list[Any] = [store.tables.of(name) for name in TABLES]  # not every method is typed
        if at_once:
            await asyncio.gather(*(table.checkout_latest() for table in tables))
        numbers = await asyncio.gather(*(table.version() for table in tables))
        versions = dict(zip(TABLES, numbers, strict=True))
        if versions != self._versions:
            self._versions = versions
            self._opened_at = self._opened_at or versions["passages"]
            store.forget_cache()
        return note != before
