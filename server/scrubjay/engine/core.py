"""The opened engine: store, model and write path together. Importing this module imports LanceDB, so it is imported late."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar, cast

from scrubjay.encoders import EmbeddingWorker, Encoder, open_encoder
from scrubjay.engine.background.access import Access
from scrubjay.engine.background.completion import Completion
from scrubjay.engine.background.consolidation import QUIET_SECONDS, Consolidation
from scrubjay.engine.background.indexing import Indexer
from scrubjay.engine.background.reindex import reindex
from scrubjay.engine.background.sharing import Sharing
from scrubjay.engine.background.tasks import Background
from scrubjay.engine.background.upkeep import Upkeep
from scrubjay.engine.verbs.backup import Backup
from scrubjay.engine.verbs.conversations import Conversations
from scrubjay.engine.verbs.counts import Counts
from scrubjay.engine.verbs.documents import Documents
from scrubjay.engine.verbs.exchange import Exchange
from scrubjay.engine.verbs.ingest import Ingest
from scrubjay.engine.verbs.lists import Lists
from scrubjay.engine.verbs.removal import Removal
from scrubjay.engine.verbs.status import status
from scrubjay.engine.writing import Writer
from scrubjay.errors import EncoderError, InputError
from scrubjay.home import backups, capture
from scrubjay.home.partitions import PartitionBook
from scrubjay.home.paths import Home
from scrubjay.home.scope_settings import ScopeBook
from scrubjay.home.scopes import EVERY_SCOPE
from scrubjay.home.settings import Settings, capture_view
from scrubjay.models.envelopes import Envelope
from scrubjay.models.filters import Filter
from scrubjay.models.records import AnyRecord
from scrubjay.models.requests import Forget, SearchDocuments, SearchMemories
from scrubjay.models.results import (
    DocumentHits,
    Forgotten,
    Hit,
    MemoryAdded,
    MemoryHits,
    Profile,
    Result,
)
from scrubjay.search.buckets import contents
from scrubjay.search.details import Detail, detail
from scrubjay.search.document_search import FoundChunk, search_chunks, search_documents
from scrubjay.search.hits import as_hit
from scrubjay.search.injection import injection, opening, question, room
from scrubjay.search.profile import TOKENS, profile
from scrubjay.search.recall import search_memories
from scrubjay.search.similar import near, with_similar
from scrubjay.store.allocator import PeriodicRelease
from scrubjay.store.failures import reason
from scrubjay.store.opening import open_at
from scrubjay.store.store import Store

log = logging.getLogger("scrubjay.engine")

SEARCHES = 8  # after which memory is given back; 50 MB and more lie idle after 32
H = TypeVar("H", MemoryHits, DocumentHits)
OpenModel = Callable[..., Encoder]
Progress = Callable[[int, int], None]  # done, total


class Core:
    """Everything one engine does with its home. Open with `open_core`; lives until `close`."""

    def __init__(
        self,
        home: Home,
        store: Store,
        worker: EmbeddingWorker,
        settings: Settings,
        clock: Callable[[], datetime],
    ) -> None:
        self.home, self.store, self.clock, self.settings, self._worker = home, store, clock, settings, worker
        self.scope_settings = ScopeBook(home)
        self.partitions = PartitionBook(home)
        self.upkeep = Upkeep(store, lambda: self.indexer.idle)
        self.indexer = Indexer(store, worker, self._embedded, lambda: self.settings.late_interaction)
        self.writer = Writer(home, store, clock, self._recorded, self._staged)
        self.consolidation = Consolidation(store, self.writer, clock, self.indexer, self._resting)
        self.completion = Completion(home, self.writer, store, clock, self._policy)
        self.access = Access(store, clock, self.upkeep.wake)
        self.removal = Removal(home, store, self.writer, clock, self._found, self.indexer.embed_query)
        self.sharing = Sharing(store, self.writer, self.upkeep, self._begin)
        self._background = Background()
        self._working = 0
        self._searched = -math.inf  # when the last search ended
        self._release = PeriodicRelease(SEARCHES)
        self.lists = Lists(store, self.writer, clock)
        self.counts = Counts(store, self.writer, clock)
        self.ingest = Ingest(store, self.writer, clock)
        self.documents = Documents(store, self.writer, clock, lambda: not self.indexer.trouble)
        self.conversations = Conversations(store, self.writer, self.documents, clock, lambda: self.settings)
        self.exchange = Exchange(store, self.writer, self.access, clock)
        self.backup = Backup(home, store, self.writer, self.access, clock)

    def start(self) -> None:
        self._background.begin(
            self.writer.run(self._committed),
            self.indexer.run(),
            self.indexer.run_ahead(),
            self.upkeep.run(),
            self.completion.run(),
            self.consolidation.run(),
            self.access.run(),
            self.writer.watch(),
            *(self.sharing.hold(), self.sharing.run()),
        )
        self._begin()

    def _begin(self) -> None:
        """Do what an engine finds to do that writes its store, from the start or from now on."""
        self._committed()
        if not self.store.note.complete and self.store.writes:
            self._background.begin(self.reindex())

    # -- verbs -----------------------------------------------------------------------------------------------------

    async def write(self, envelope: Envelope, *, similar: bool = True) -> Result:
        """Take one write; it is durable when this returns. `similar` adds known facts like it to the answer to a fact."""
        if similar and envelope.kind == "memory":
            return await self._add_memory(envelope)
        return await self.writer.write(envelope)

    async def _add_memory(self, made: Envelope) -> MemoryAdded:
        looking = asyncio.create_task(near(self.store, made, self.indexer.embed_soon))
        try:
            added = cast(MemoryAdded, await self.writer.write(made))
            if added.action == "known":
                return added
            try:
                return await with_similar(self.store, added, made, await looking)
            except (
                OSError,
                RuntimeError,
            ) as error:  # the fact is durable, and a look-up that failed must not say otherwise
                log.warning("similar facts were not looked for: %s", reason(error))
                return added
        finally:
            looking.cancel()

    async def forget(self, request: Forget, scope: str, source: str) -> Forgotten:
        """Forget by id, by the exact words of a fact, or what a dry run of the same query listed."""
        if request.purge and not request.dry_run:
            self.refuse_purge()
        return await self.removal.forget(request, scope, source)

    def refuse_purge(self) -> None:
        """Nothing, unless what runs would keep what is to be deleted for good.

        Raises:
            InputError: it would; nothing was deleted.
        """
        if self._working:
            raise InputError(
                "The index is being built anew, which would keep what is deleted. Purge when `scrubjay reindex` is done."
            )
        if self.backup.working or self.exchange.working:
            raise InputError(
                "An export, import or backup runs, which would keep what is deleted. Purge when it is done."
            )

    async def profile(
        self, scope: str | tuple[str, ...], max_tokens: int = TOKENS, filters: Filter | None = None
    ) -> Profile:
        """What to know of the user and a scope, or of just these scopes, before anything is asked."""
        await self.writer.drain()
        await self.store.flush()
        return await profile(self.store, scope, self.clock(), max_tokens=max_tokens, filters=filters)

    async def search_memories(
        self,
        request: SearchMemories,
        scope: str | tuple[str, ...],
        *,
        tied: bool = True,
        apart: bool = False,
        least_score: float = 0.0,
    ) -> MemoryHits:
        """Recall; what it gives back counts as accessed. `scope` is the caller's project, or all that a caller without one may see.

        The rest is as for `scrubjay.search.recall.search_memories`.
        """
        hits = await self._found(request, scope, tied=tied, apart=apart, least_score=least_score)
        self.access.note([hit.id for hit in hits.results])
        return hits

    async def _found(
        self, request: SearchMemories, scope: str | tuple[str, ...], **manner: Any
    ) -> MemoryHits:
        return await self._timed(
            lambda: search_memories(
                self.store, request, scope=scope, now=self.clock(), embed=self.indexer.embed_query, **manner
            )
        )

    async def search_documents(
        self, request: SearchDocuments, scope: str | tuple[str, ...], *, room: int | None = None
    ) -> DocumentHits:
        """Passages of documents; `scope` as for `search_memories`, `room` as for `scrubjay.search.document_search`."""
        return await self._timed(
            lambda: search_documents(
                self.store, request, scope=scope, now=self.clock(), embed=self.indexer.embed_query, room=room
            )
        )

    async def search_chunks(self, request: SearchDocuments, scopes: tuple[str, ...]) -> list[FoundChunk]:
        """Return the best chunks of documents in these scopes; see `scrubjay.search.document_search`."""
        await self.writer.drain()
        embed = self.indexer.embed_query
        return await search_chunks(self.store, request, scopes=scopes, now=self.clock(), embed=embed)

    async def profile_buckets(
        self, scopes: tuple[str, ...], filters: Filter | None = None
    ) -> dict[str, list[Hit]]:
        """Return the facts of each bucket of these scopes, by its name; see `scrubjay.search.buckets`."""
        await self.writer.drain()
        buckets = {
            name: description
            for scope in scopes
            for name, description in self.scope_settings.buckets(scope).items()
        }
        embed = self.indexer.embed_query
        return await contents(
            self.store, buckets, scopes=scopes, now=self.clock(), embed=embed, filters=filters
        )

    async def await_vectors(self, ids: Sequence[str], seconds: float) -> None:
        """Commit what was written, and wait at most so long until these records are found by meaning too."""
        await self.writer.settle()
        self.indexer.wake()
        await self.indexer.found_by_meaning(ids, seconds)

    async def _timed(self, search: Callable[[], Coroutine[Any, Any, H]]) -> H:
        started = time.perf_counter()
        await self.writer.drain()
        hits = await search()
        took = round((time.perf_counter() - started) * 1000, 1)
        self._release.tick()
        self._searched = time.monotonic()
        return hits.model_copy(update={"timing": took, "degraded": self.indexer.trouble})

    async def find(self, id: str) -> AnyRecord | None:
        """The record of any kind that has this id, as of everything acknowledged."""
        await self.writer.drain()
        return await self.store.find(id)

    async def show(self, id: str) -> Detail:
        """Everything about one record of any kind; see `scrubjay.search.details`."""
        await self.writer.drain()
        return await detail(self.store, id, self.access.counted)

    async def latest(self, last: int, scope: str) -> list[Hit]:
        """What was recorded or added last in a scope ("*": everywhere), newest first, without scores."""
        await self.writer.drain()
        await self.store.flush()
        records = await self.store.latest(last, None if scope == EVERY_SCOPE else scope, self.clock())
        return [as_hit(record) for record in records]

    async def injection(self, event: Mapping[str, Any], scope: str) -> str:
        """What to put beside a prompt, "" for nothing; see `scrubjay.search.injection`."""
        asked = question(event) if self.settings.inject else None
        if asked is None:
            return ""
        hits = await self._found(asked, scope, tied=False)
        return injection(hits, session_id=event.get("session_id"), max_bytes=room(event))

    async def opening(self, event: Mapping[str, Any], scope: str) -> str:
        """What to put at the beginning of a session, "" for nothing; see `scrubjay.search.injection`."""
        return opening(await self.profile(scope), max_bytes=room(event)) if self.settings.inject else ""

    async def status(self) -> dict[str, Any]:
        """See `scrubjay.engine.verbs.status`."""
        return await status(self)

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
            or self.ingest.working
            or self.exchange.working
            or self.backup.working
            or self.writer.pending
            or self.upkeep.working
            or self.completion.waiting
            or not self.indexer.finished
        )

    async def close(self) -> None:
        """End the background work; what is acknowledged is committed, or waits in the spool."""
        await self._background.end()
        await self.writer.settle()
        await self.access.flush(everything=True)
        await self.store.checkpoint()
        await self.consolidation.close()
        await self.sharing.release()
        self._worker.close()

    def _policy(self) -> capture.Policy:
        return capture.policy(capture_view(self.settings))

    def _resting(self) -> bool:
        """Whether nobody waits for the machine: no work of ours, and no search for a while."""
        return not self._working and time.monotonic() - self._searched > QUIET_SECONDS

    def _staged(self, record: AnyRecord) -> None:
        self.indexer.expect(record)
        self.consolidation.consider(record)

    def _committed(self) -> None:
        self.indexer.wake()
        self._embedded()

    def _embedded(self) -> None:
        self.upkeep.wake()
        self.consolidation.wake()

    def _recorded(self, envelope: Envelope, answer: Result) -> None:
        self.completion.consider(envelope)


async def open_core(
    home: Home, settings: Settings, clock: Callable[[], datetime], open_model: OpenModel = open_encoder
) -> Core:
    """Open the store of a home and start the engine's background work.

    Raises:
        StoreError: the store cannot be opened.
    """

    def model() -> Encoder:
        verdicts = Path(home.models)
        return open_model(
            settings.model,
            query_prompt=settings.query_prompt,
            document_prompt=settings.document_prompt,
            verdicts=verdicts,
        )

    await asyncio.to_thread(backups.clear, home)
    worker = EmbeddingWorker(model)
    worker.start()
    try:
        dim = (await worker.ready()).space.dim
    except EncoderError:
        dim = None  # words answer until the model is there; the indexer says what is missing
    store = await open_at(settings.store or home.data, dim=dim)
    core = Core(home, store, worker, settings, clock)
    core.start()
    return core
