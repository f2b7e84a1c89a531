"""Keeps a store that another engine writes up with what it writes. Knows what this engine remembers of the tables; does not know what was
written.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable

from scrubjay.store.notes import INDEX, parse_note
from scrubjay.store.store import Store
from scrubjay.store.tables import EVERY_SECOND, TABLES

REOPEN_AFTER = 50  # versions of the passages; each leaves pages of a superseded index in the session


class Follower:
    """Of one store. `look` costs some requests, so it looks at most once a second unless it must."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._clock = store, clock
        self._looked = -math.inf
        self._versions: dict[str, int] = {}
        self._opened_at = 0  # the version of the passages then

    async def look(self, *, at_once: bool = False) -> bool:
        """See what is new; whether the note on the index changed. `at_once`: what is committed by now is read from here on.

        Raises:
            StoreError: a newer Scrubjay writes the store by now.
        """
        store, now = self._store, self._clock()
        if store.writes or (not at_once and now - self._looked < EVERY_SECOND.total_seconds()):
            return False
        self._looked = now
        text = await store.notes.read(INDEX)
        note = store.note if text is None else parse_note(text, store.path)
        changed, store.note, before = note != store.note, note, store.note
        if (
            note.generation != before.generation
            or self._versions.get("passages", 0) > self._opened_at + REOPEN_AFTER
        ):
            await store.reopen()
            self._opened_at = await store.tables.passages.version()
        tables = [store.tables.of(name) for name in TABLES]
        if at_once:
            await asyncio.gather(*(table.checkout_latest() for table in tables))
        versions = dict(
            zip(TABLES, await asyncio.gather(*(table.version() for table in tables)), strict=True)
        )
        if versions != self._versions:
            self._versions = versions
            self._opened_at = self._opened_at or versions["passages"]
            store.forget_cache()
        return changed
