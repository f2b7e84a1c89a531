"""The base classes of an engine's operations."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from scrubjay.engine.background.access import Access
from scrubjay.engine.background.indexing import Indexer
from scrubjay.engine.writing import Clock, Writer
from scrubjay.home.paths import Home
from scrubjay.home.scope_settings import ScopeBook
from scrubjay.home.settings import Settings
from scrubjay.store.store import Store


@dataclass(eq=False)
class Verb:
    """An operation of an engine. `_settings` returns the current settings."""

    _home: Home
    _store: Store
    _writer: Writer
    _indexer: Indexer
    _access: Access
    _clock: Clock
    _settings: Callable[[], Settings]
    _scope_settings: ScopeBook


@dataclass(eq=False)
class LongVerb(Verb):
    """An operation that takes long; one call holds `_lock` at a time."""

    _lock: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    @property
    def is_running(self) -> bool:
        """Return True while a call is running."""
        return self._lock.locked()
