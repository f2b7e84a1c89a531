"""The engine of a home as its interfaces see it: available at once, loading in the background.

Importing this module imports neither LanceDB nor numpy nor a model, so that `initialize` is answered before
they are loaded.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from scrubjay import VERSION
from scrubjay.engine.background.tasks import quiet_for
from scrubjay.engine.caller import caller
from scrubjay.errors import EngineError, HomeError, InputError, ScrubjayError
from scrubjay.home import kept, scopes
from scrubjay.home.capture_policy import capture_view, write_capture
from scrubjay.home.paths import Home
from scrubjay.home.scopes import is_scope
from scrubjay.home.settings import Settings, load, with_store
from scrubjay.store.failures import is_of_store, not_read, reason
from scrubjay.wire.hello import Hello

if TYPE_CHECKING:
    from scrubjay.engine.core import Core, OpenModel

log = logging.getLogger("scrubjay.engine")

RETRY_SECONDS = 2.0  # between a failure to load and the next attempt
# How long a model's call waits for the engine to load before it is refused. Loading normally takes one or
# two seconds. Hosts wait for 60 s, and the pipe for 25.
LOAD_SECONDS = 24.0
# Settings that are read once, at the start.
_READ_ONCE = ("store", "model", "query_prompt", "document_prompt", "idle_minutes")


def utc_now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


class Engine:
    """The engine of a home. `load` runs in the background; `core` waits for it.

    `open_model` opens the model that the settings name; None means `scrubjay.encoders.open_encoder`,
    imported late. `store` is the folder or bucket of records and passages, if it differs from the settings.
    """

    def __init__(
        self,
        home: Home,
        *,
        clock: Callable[[], datetime] = utc_now,
        open_model: OpenModel | None = None,
        store: str | None = None,
        load_seconds: float = LOAD_SECONDS,
    ) -> None:
        self.home, self.clock, self._open_model, self._store = home, clock, open_model, store
        self._load_seconds = load_seconds
        scopes.show_names_of(home)
        self.settings = self._started_with = Settings()
        self.started_at = clock()
        # Held while processing a line of more than a megabyte: eight such lines at once took 2 GB.
        self.large = asyncio.Lock()
        self._loaded = asyncio.Event()
        self._core: Core | None = None
        self.failure: ScrubjayError | None = (
            None  # why it could not load; None while loading or after success
        )
        self._failed_at = 0.0  # by the event loop's clock
        self._retry: asyncio.Task[None] | None = None

    async def load(self) -> None:
        """Read the settings, open the store, start the model.

        A failure is logged and reported to later calls; a call after `RETRY_SECONDS` tries again.
        """
        try:
            self.settings = self._started_with = with_store(load(self.home.config), self._store)
            write_capture(self.home, self.settings, self.clock())
            try:
                kept.refresh(self.home)
            except OSError as error:  # a full disk, which must not stop an engine
                log.warning("the settings and scopes cannot be copied: %s", error.strerror)
            module = await asyncio.to_thread(importlib.import_module, "scrubjay.engine.core")
            self._core = await module.open_core(self.home, self.settings, self.clock, self._open_model)
            self.failure = None
        except ScrubjayError as error:
            self._fail(error)
        except OSError as error:
            what = f"The home {self.home.root} cannot be used: {error.strerror or error}."
            self._fail(HomeError(f"{what} Free disk space, or check the permissions and health of the disk."))
        finally:
            self._loaded.set()

    def _fail(self, error: ScrubjayError) -> None:
        log.error("cannot load: %s", error)
        self.failure, self._failed_at = error, asyncio.get_running_loop().time()

    @property
    def ready(self) -> bool:
        """Return True if loading is over, successful or not."""
        return self._loaded.is_set()

    @property
    def busy(self) -> bool:
        """Return True if there is work that an idle exit would interrupt."""
        return not self.ready or (self._core is not None and self._core.busy)

    async def loaded(self) -> None:
        """Wait until loading is over, successful or not."""
        await self._loaded.wait()

    async def core_soon(self, seconds: float = float("inf")) -> Core:
        """Return the opened engine, for a call that must be answered within `seconds`.

        Raises:
            EngineError: it is still loading, because the machine is busy.
            ScrubjayError: it could not be opened.
        """
        seconds = max(0.0, min(self._load_seconds, seconds) - caller().waited)
        if not self.ready and await quiet_for(seconds, self._loaded):
            sentence = f"The engine is still starting after {seconds:.2g} s: the machine is busy."
            raise EngineError(f"{sentence} Nothing was written; call again in a few seconds.")
        return await self.core()

    async def core(self) -> Core:
        """Return the opened engine. A failed opening is retried, because the disk may have space by now.

        Raises:
            ScrubjayError: it could not be opened.
        """
        await self._loaded.wait()
        if self.failure is not None:
            waited = asyncio.get_running_loop().time() - self._failed_at
            if waited >= RETRY_SECONDS and (self._retry is None or self._retry.done()):
                self._retry = asyncio.create_task(self.load())
            if self._retry is not None:
                await asyncio.shield(self._retry)  # shielded: other callers wait for it too
        if self._core is None:
            raise self.failure or EngineError("The engine was stopped while it was loading. Try again.")
        return self._core

    async def close(self) -> None:
        """Close everything that was opened."""
        if self._retry is not None:
            await asyncio.wait({self._retry})
        if self._core is not None:
            await self._core.close()

    def reload(self) -> list[str]:
        """Read the settings again; return the names of changed settings that only a new engine will use."""
        self.settings = with_store(load(self.home.config), self._store)
        write_capture(self.home, self.settings, self.clock())
        if self._core is not None:
            self._core.settings = self.settings
            self._core.indexer.wake()  # token codes may have been switched on
        return [
            name for name in _READ_ONCE if getattr(self._started_with, name) != getattr(self.settings, name)
        ]

    def facts(self) -> dict[str, Any]:
        """Return the facts about the engine that need no store."""
        return {
            "version": VERSION,
            "pid": os.getpid(),
            "home": self.home.root,
            "started_at": self.started_at.isoformat(timespec="seconds"),
            "state": "failed" if self.failure else "ready" if self.ready else "loading",
            "failure": str(self.failure) if self.failure else None,
            "model": self._started_with.model,
            "capture": {**capture_view(self.settings)},
        }

    def report_bug(self, what: str, error: Exception) -> str:
        """Log where Scrubjay or LanceDB has a bug, without content; return the message for the user."""
        log.error("%s failed", what, exc_info=error)
        if self._core is not None and is_of_store(error):
            self._core.mending.wake()  # most likely a damaged file
            return f"{what} failed. {not_read(self._core.store.path, error, self._core.store.damage)}"
        where = os.path.join(self.home.log, "engine.log")
        sentence = f"{what} failed inside Scrubjay: {reason(error)}."
        return f"{sentence} Trying again is safe; if it fails again, {where} shows where."

    def scope_of(self, hello: Hello) -> str | None:
        """Return the scope that a client names, or else the scope of its folder; None outside a project.

        Raises:
            InputError: it names a scope that is not valid.
        """
        if hello.scope:
            if not is_scope(hello.scope):
                allowed = "must be 1 to 100 letters (A to Z), digits or . _ : - (--scope, SCRUBJAY_SCOPE)."
                raise InputError(f"scope = {hello.scope[:80]!r}: {allowed}")
            return str(hello.scope)
        folder = hello.project_dir or hello.cwd
        return scopes.scope_of(self.home, folder) if folder and os.path.isabs(folder) else None
