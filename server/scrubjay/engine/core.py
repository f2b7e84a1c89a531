"""The opened engine: store, model and write path together.

Importing this module imports LanceDB, so it is imported late.
"""

import asyncio
import logging
import math
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import cast

from scrubjay.code.book import Book
from scrubjay.code.trees import Trees
from scrubjay.encoders import EmbeddingWorker, Encoder, open_encoder
from scrubjay.engine.background import pairing
from scrubjay.engine.background.access import Access
from scrubjay.engine.background.anchoring import Anchoring
from scrubjay.engine.background.completion import Completion
from scrubjay.engine.background.consolidation import QUIET_SECONDS, Consolidation
from scrubjay.engine.background.host_memories import HostMemories
from scrubjay.engine.background.indexing import Indexer
from scrubjay.engine.background.mending import Mending
from scrubjay.engine.background.openings import Openings
from scrubjay.engine.background.sharing import Sharing
from scrubjay.engine.background.tasks import Background, failures_logged
from scrubjay.engine.background.upkeep import LOOK_EVERY, Upkeep
from scrubjay.engine.verbs.backup import Backup
from scrubjay.engine.verbs.changes import Changes
from scrubjay.engine.verbs.conversations import Conversations
from scrubjay.engine.verbs.counts import Counts
from scrubjay.engine.verbs.distilling import Distilling
from scrubjay.engine.verbs.documents import Documents
from scrubjay.engine.verbs.effect import Effects
from scrubjay.engine.verbs.exchange import Exchange
from scrubjay.engine.verbs.facts import Facts
from scrubjay.engine.verbs.ids import Ids
from scrubjay.engine.verbs.ingest import Ingest
from scrubjay.engine.verbs.lists import Lists
from scrubjay.engine.verbs.marking import Marking
from scrubjay.engine.verbs.past import Past
from scrubjay.engine.verbs.reindex import Reindex
from scrubjay.engine.verbs.removal import Removal
from scrubjay.engine.verbs.scopes import Scopes
from scrubjay.engine.verbs.search import Search
from scrubjay.engine.verbs.sessions import Sessions
from scrubjay.engine.verbs.status import Status
from scrubjay.engine.verbs.why import Why
from scrubjay.engine.writing import Clock, Writer
from scrubjay.errors import EncoderError, HomeError, InputError
from scrubjay.home import backups, capture, spool
from scrubjay.home.capture_policy import capture_view
from scrubjay.home.partitions import PartitionBook
from scrubjay.home.paths import Home
from scrubjay.home.scope_settings import ScopeBook
from scrubjay.home.settings import Settings
from scrubjay.models.envelopes import Envelope
from scrubjay.models.records import AnyRecord
from scrubjay.models.results import MemoryAdded, Result
from scrubjay.search.opening import Opening
from scrubjay.search.similar import nearest_facts, with_similar
from scrubjay.store.changes import Change
from scrubjay.store.opening import has_vectors, open_at
from scrubjay.store.store import Store
from scrubjay.text.developer_words import IN_USE, read_own
from scrubjay.wire.address import make_private_folder, runtime_folder
from scrubjay.wire.cores import Cores, core_count

log = logging.getLogger("scrubjay.engine")

OpenModel = Callable[..., Encoder]


class Core:
    """Everything that an engine does with its home. Open it with `open_core`; it lives until `close`."""

    def __init__(
        self, home: Home, store: Store, worker: EmbeddingWorker, settings: Settings, clock: Clock
    ) -> None:
        self.home, self.store, self.clock, self.settings, self._worker = home, store, clock, settings, worker
        self.scope_settings = ScopeBook(home)
        self.partitions = PartitionBook(home)
        self.mending = Mending(store, self._fill)
        self.upkeep = Upkeep(store, lambda: self.indexer.idle, failed=self.mending.wake)
        self.indexer = Indexer(store, worker, self._embedded, lambda: self.settings.late_interaction)
        self.openings = Openings(home, self._opening)
        self.trees, self.book = Trees(home), Book(home.anchors)
        self.anchoring = Anchoring(store, self.book, self.trees, clock, self._is_resting)
        callbacks = (self._recorded, self._staged, self.mending.wake, self._take_event, self.anchoring.remove)
        self.writer = Writer(home, store, clock, *callbacks)
        self.consolidation = Consolidation(
            store, self.writer, clock, self.indexer, self._is_resting, lambda: self.settings.summary_every
        )
        self.completion = Completion(home, self.writer, store, clock, self._policy)
        self.access = Access(store, clock, self.upkeep.wake)
        self.sharing = Sharing(store, self.writer, self.upkeep, self._begin)
        self.listeners: list[Callable[[AnyRecord], None]] = []  # called with each written record
        self._last_request_at = -math.inf  # by a monotonic clock
        self._background = Background()
        self._add_verbs()

    def _add_verbs(self) -> None:
        engine = (self.home, self.store, self.writer, self.indexer, self.access, self.clock)
        parts = (*engine, lambda: self.settings, self.scope_settings)
        self.marking = Marking(self.book, self.trees)
        self.search = Search(*parts, self.mending.look, self.marking)
        self.lists = Lists(*parts)
        self.facts = Facts(*parts)
        self.ids = Ids(*parts)
        self.sessions = Sessions(*parts)
        self.counts = Counts(*parts)
        self.reindex = Reindex(*parts)
        self.status = Status(*parts, self.upkeep, self.reindex)
        self.exchange = Exchange(*parts)
        self.past = Past(*parts)
        self.host_memories = HostMemories(self.home, os.environ, self._policy, self.past.memories)
        self.backup = Backup(*parts, self.anchoring.lock)
        self.why = Why(*parts, self.book, self.trees, self.marking)
        self.removal = Removal(*parts, self.search, self._refuse_purge)
        self.distilling = Distilling(*parts, self.removal)
        self.effects = Effects(*parts)
        self.changes = Changes(*parts, self.removal, self.write)
        self.scopes = Scopes(*parts, self.counts, self.removal)
        self.ingest = Ingest(*parts)
        self.documents = Documents(*parts)
        self.conversations = Conversations(*parts, self.documents)

    def start(self) -> None:
        """Start the background work."""
        self._background.begin(
            self.writer.run(self._committed),
            self.indexer.run(),
            self.indexer.run_ahead(),
            self.upkeep.run(),
            self.completion.run(),
            self.consolidation.run(),
            self.openings.run(),
            self.anchoring.run(),
            self.access.run(),
            self.mending.run(),
            self.host_memories.run(),
            self.writer.watch(),
            self.sharing.hold(),
            self.sharing.run(),
        )
        self._begin()

    def _begin(self) -> None:
        self._committed()
        self._fill()
        self._background.begin(self._renew())

    def _fill(self) -> None:
        is_incomplete = not self.store.note.complete or self.store.building is not None
        if is_incomplete and self.store.is_writer and not self.reindex.is_running:
            self._background.begin(self.reindex.run())

    async def _renew(self) -> None:
        """Rebuild an index that was made with other developers' words, or by an earlier bundled model."""
        # The status shows an EncoderError; an InputError means a lost lease. The next start tries again.
        with suppress(EncoderError, InputError):
            while await self.reindex.is_needed():
                await self.indexer.check_space()
                if self.indexer.trouble and self.store.building is None:
                    return  # it was made by a different model, so the user decides
                # This waits for a running reindex, which may only fill the current index, so look again.
                await self.reindex.run()

    async def write(self, envelope: Envelope, *, similar: bool = True) -> Result:
        """Make one write, durable when this returns; `similar` adds similar facts to the result of a fact."""
        if not similar or envelope.kind != "memory":
            return await self.writer.write(envelope)
        nearest = asyncio.create_task(nearest_facts(self.store, envelope, self.indexer.embed_soon))
        try:
            added = cast(MemoryAdded, await self.writer.write(envelope))
            # The fact is durable; raising here would suggest that it is not.
            with failures_logged(log, "similar facts were not searched for"):
                if added.action != "known" and not added.note:  # a note already says what is needed
                    return await with_similar(self.store, added, envelope, await nearest)
            return added
        finally:
            nearest.cancel()

    def note_request(self) -> None:
        """Note a user request; background work yields to it."""
        self._last_request_at = time.monotonic()

    async def await_vectors(self, ids: Sequence[str], seconds: float) -> None:
        """Wait at most `seconds` until these records have vectors; the next search commits them."""
        if not self.store.is_writer:
            await self.writer.settle()  # the engine that writes the tables makes the vectors
        await self.indexer.wait_for_vectors(ids, seconds)

    @property
    def busy(self) -> bool:
        """Return True if there is work that an idle exit would interrupt."""
        long_verbs = (self.reindex, self.ingest, self.exchange, self.past, self.backup)
        return bool(
            any(verb.is_running for verb in long_verbs)
            or self.writer.pending
            or self.upkeep.working
            or self.completion.waiting
            or not self.indexer.finished
        )

    async def close(self) -> None:
        """End the background work; acknowledged writes are committed, or wait in the spool."""
        await self._background.end()
        await self.openings.work()
        await self.writer.settle()
        await self.anchoring.work()
        await self.access.flush()
        await self.store.checkpoint()
        await self.consolidation.close()
        await self.sharing.release()
        self._worker.close()

    def _refuse_purge(self) -> None:
        """Raise if a running task would keep what a purge deletes.

        Raises:
            InputError: a reindex, export, import or backup is running.
        """
        if self.reindex.is_running:
            why = "The index is being rebuilt, which would keep deleted text."
            raise InputError(f"{why} Purge when `scrubjay reindex` is done.")
        if self.backup.is_running or self.exchange.is_running or self.past.is_running:
            why = "An export, import or backup is running, which would keep deleted text."
            raise InputError(f"{why} Purge when it is done.")

    def _policy(self) -> capture.Policy:
        return capture.policy(capture_view(self.settings))

    def _is_resting(self) -> bool:
        """Return True if no reindex is running and no user request came for a while."""
        idle_seconds = min(self.search.idle_seconds, time.monotonic() - self._last_request_at)
        return not self.reindex.is_running and idle_seconds > QUIET_SECONDS

    def _staged(self, change: Change) -> None:
        self.indexer.expect(change)
        self.consolidation.consider(change.record)
        self.openings.consider(change.record)
        self.anchoring.consider(change)
        for notify in self.listeners:
            notify(change.record)

    async def _opening(self, scope: str) -> Opening | None:
        is_wanted = self.settings.inject != "off" and self.store.shared is None
        return await self.search.prepared(scope) if is_wanted else None

    def _committed(self) -> None:
        self.indexer.wake()
        self.upkeep.wake()
        self.consolidation.wake()
        self.openings.wake()
        self.anchoring.wake()

    def _embedded(self) -> None:
        self.upkeep.wake(LOOK_EVERY)
        self.consolidation.wake()

    def _recorded(self, envelope: Envelope) -> None:
        self.completion.consider(envelope)

    def _take_event(self, path: str) -> Callable[[], None]:
        return partial(self._finish_event, pairing.take(self.home, path))

    def _finish_event(self, processed: pairing.ProcessedEvent) -> None:
        event = processed.event
        if processed.request is not None:
            self.completion.reconcile(processed.request)
        if event.kind == "start" and event.scope is not None and self.settings.inject == "edit":
            self.openings.refresh(event.scope)  # the code may have changed since the last turn
        if event.kind == "end" and event.scope is not None:
            self.consolidation.end(event.scope, event.session_id)


async def open_core(
    home: Home, settings: Settings, clock: Clock, open_model: OpenModel | None = None
) -> Core:
    """Open the store of a home and start the engine's background work.

    Raises:
        StoreError: the store cannot be opened.
    """
    prompts = {"query_prompt": settings.query_prompt, "document_prompt": settings.document_prompt}
    opener = open_model or partial(open_encoder, models=Path(home.models))
    open_settings_model = partial(opener, settings.model, **prompts)
    await asyncio.to_thread(backups.clear, home)
    await asyncio.to_thread(spool.sweep, home, clock().timestamp(), own=True)
    await asyncio.to_thread(use_words, home)
    worker = EmbeddingWorker(open_settings_model, _cores())
    worker.start()
    dim, path = None, settings.store or home.data
    try:
        if not await has_vectors(path):
            # Search by words works without a model, and the indexer reports the error.
            with suppress(EncoderError):
                dim = (await worker.ready()).space.dim
        store = await open_at(path, dim=dim)
    except BaseException:
        worker.close()
        raise
    core = Core(home, store, worker, settings, clock)
    core.start()
    return core


def use_words(home: Home) -> None:
    """Add the home's developers' words to the bundled ones; a damaged file is logged and ignored."""
    try:
        IN_USE.extend(*read_own(home))
    except InputError as error:
        log.warning("%s is not used, %s", home.words, error)
        IN_USE.leave_out()


def _cores() -> Cores | None:
    """Return the cores that this user's engines share, or None if their locks have no usable folder."""
    folder = runtime_folder(os.environ)
    try:
        make_private_folder(folder)
    except HomeError as error:
        log.warning("engines cannot share the cores of this machine: %s", error)
        return None
    return Cores(folder, core_count())
