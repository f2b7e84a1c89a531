"""The opened engine: store, model and write path together. Importing this module imports LanceDB, so it is imported late."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from scrubjay import capture, spool
from scrubjay.document_search import search_documents
from scrubjay.encoders import EmbeddingWorker, Encoder, open_encoder
from scrubjay.engine.completion import Completion
from scrubjay.engine.indexing import Indexer
from scrubjay.engine.reindex import reindex
from scrubjay.engine.status import counts_by_scope, status
from scrubjay.engine.upkeep import Upkeep
from scrubjay.engine.writing import Writer
from scrubjay.errors import EncoderError, HomeError, StoreError
from scrubjay.home import Home
from scrubjay.injection import FLOOR, injection
from scrubjay.models.envelopes import Envelope
from scrubjay.models.fields import EVERY_SCOPE
from scrubjay.models.records import AnyRecord
from scrubjay.models.requests import SearchDocuments, SearchMemories
from scrubjay.models.results import DocumentHits, Hit, MemoryHits, Result
from scrubjay.recall import search_memories
from scrubjay.settings import Settings, capture_view
from scrubjay.shown import shown
from scrubjay.store.store import Store, open_store

log = logging.getLogger("scrubjay.engine")

DRAIN_SECONDS = 2.0  # how often the spool is looked at without being asked; hooks ask
H = TypeVar("H", MemoryHits, DocumentHits)
OpenModel = Callable[..., Encoder]
Progress = Callable[[int, int], None]  # done, total


class Core:
    """Everything one engine does with its home. Open with `open_core`; lives until `close`."""

    def __init__(self, home: Home, store: Store, worker: EmbeddingWorker, settings: Settings, clock: Callable[[], datetime]) -> None:
        self.home, self.store, self.clock, self.settings, self._worker = home, store, clock, settings, worker
        self.upkeep = Upkeep(store, lambda: self.indexer.idle)
        self.indexer = Indexer(store, worker, self.upkeep.wake)
        self.writer = Writer(home, store, clock, self._recorded)
        self.completion = Completion(home, self.writer, store, clock, self._policy)
        self._tasks: list[asyncio.Task[None]] = []
        self._working = 0

    def start(self) -> None:
        loops: list[Coroutine[Any, Any, None]] = [
            self.writer.run(self._committed),
            self.indexer.run(),
            self.upkeep.run(),
            self.completion.run(),
            self._watch_spool(),
        ]
        self._tasks = [asyncio.create_task(loop) for loop in loops]
        for task in self._tasks:
            task.add_done_callback(_note_end)
        self.upkeep.wake()
        if not self.store.note.complete:
            self._tasks.append(asyncio.create_task(self.reindex()))

    # -- verbs -----------------------------------------------------------------------------------------------------

    async def write(self, envelope: Envelope) -> Result:
        """Take one write; it is durable when this returns."""
        return await self.writer.write(envelope)

    async def search_memories(self, request: SearchMemories, scope: str) -> MemoryHits:
        return await self._timed(
            lambda: search_memories(self.store, request, scope=scope, now=self.clock(), embed=self.indexer.embed_query)
        )

    async def search_documents(self, request: SearchDocuments, scope: str) -> DocumentHits:
        return await self._timed(
            lambda: search_documents(self.store, request, scope=scope, now=self.clock(), embed=self.indexer.embed_query)
        )

    async def _timed(self, search: Callable[[], Coroutine[Any, Any, H]]) -> H:
        started = time.perf_counter()
        await self.writer.drain()
        hits = await search()
        took = round((time.perf_counter() - started) * 1000, 1)
        return hits.model_copy(update={"timing": took, "degraded": self.indexer.trouble})

    async def find(self, id: str) -> AnyRecord | None:
        """The record of any kind that has this id, as of everything acknowledged."""
        await self.writer.drain()
        return await self.store.find(id)

    async def latest(self, last: int, scope: str) -> list[Hit]:
        """What was recorded or added last in a scope ("*": everywhere), newest first, without scores."""
        await self.writer.drain()
        await self.store.flush()
        records = await self.store.latest(last, None if scope == EVERY_SCOPE else scope)
        return [shown(record, None) for record in records]

    async def injection(self, event: Mapping[str, Any], scope: str) -> str:
        """What to put beside a prompt, "" for nothing; see `scrubjay.injection`."""
        prompt, most = event.get("prompt"), event.get("max_bytes", 2048)
        if not self.settings.inject or not isinstance(prompt, str) or not prompt.strip() or not isinstance(most, int):
            return ""
        hits = await self.search_memories(SearchMemories(query=prompt[:2_000], top_k=10, threshold=FLOOR), scope)
        return injection(hits, session_id=event.get("session_id"), max_bytes=most)

    async def merge_scopes(self, old: str, new: str) -> int:
        """Move everything of one scope into another; how many records moved."""
        await self.writer.settle()
        return await self.store.rescope(old, new)

    async def status(self) -> dict[str, Any]:
        """See `scrubjay.engine.status`."""
        return await status(self)

    async def counts(self) -> dict[str, dict[str, int]]:
        """See `scrubjay.engine.status`."""
        await self.writer.drain()
        await self.store.flush()
        return await counts_by_scope(self.store)

    async def reindex(self, progress: Progress | None = None) -> int:
        """Build the passages anew from the records and embed them with the present model; how many passages."""
        self._working += 1
        try:
            return await reindex(self.store, self.indexer, self.writer, progress)
        finally:
            self._working -= 1

    # -- life ------------------------------------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        """Whether there is work that an idle exit would interrupt."""
        return bool(
            self._working
            or self.writer.pending
            or self.upkeep.working
            or self.completion.waiting
            or (not self.indexer.idle and not self.indexer.trouble)
        )

    async def close(self) -> None:
        """End the background work; what is acknowledged is committed, or waits in the spool."""
        running = set(self._tasks)
        while running:  # a cancellation that reaches LanceDB's own futures is now and then lost there, so it is repeated
            for task in running:
                task.cancel()
            _, running = await asyncio.wait(running, timeout=1.0)
        await self.writer.settle()
        self._worker.close()

    def _policy(self) -> capture.Policy:
        return capture.policy(capture_view(self.settings))

    def _committed(self) -> None:
        self.indexer.wake()
        self.upkeep.wake()

    def _recorded(self, envelope: Envelope, answer: Result) -> None:
        self.completion.consider(envelope)

    async def _watch_spool(self) -> None:
        """Take what hooks left without telling us; once a day clean up what crashed writers left."""
        swept: datetime | None = None
        while True:
            now = self.clock()
            try:
                await self.writer.drain()
                if swept is None or now - swept > timedelta(days=1):
                    spool.sweep(self.home, now.timestamp())
                    swept = now
            except (OSError, HomeError) as error:  # a full or vanished disk: the next look may succeed, and status shows the backlog
                log.error("the spool cannot be read: %s", error)
            await asyncio.sleep(DRAIN_SECONDS)


def _note_end(task: asyncio.Task[Any]) -> None:
    """A loop that ends by itself is a mistake of ours; without this nobody would hear of it."""
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("background work ended", exc_info=error)


async def open_core(home: Home, settings: Settings, clock: Callable[[], datetime], open_model: OpenModel = open_encoder) -> Core:
    """Open the store of a home and start the engine's background work.

    Raises:
        StoreError: the store cannot be opened.
    """

    def model() -> Encoder:
        verdicts = Path(home.models)
        return open_model(settings.model, query_prompt=settings.query_prompt, document_prompt=settings.document_prompt, verdicts=verdicts)

    worker = EmbeddingWorker(model)
    worker.start()
    try:
        dim = (await worker.ready()).space.dim
    except EncoderError:
        dim = None  # words answer until the model is there; the indexer says what is missing
    try:
        store = await open_store(home.data, dim=dim)
    except (OSError, RuntimeError) as error:  # what LanceDB raises for a full disk, missing rights or damage it does not know
        raise StoreError(f"The store in {home.data} cannot be opened: {error}. Make room or fix its rights; try again.") from error
    core = Core(home, store, worker, settings, clock)
    core.start()
    return core
