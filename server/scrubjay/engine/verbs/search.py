"""Searches: memories, documents, profiles, and the text that a hook puts into a session.

Each search sees every write acknowledged before it.
"""

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from scrubjay.engine.verbs.marking import Marking, Part
from scrubjay.engine.verbs.verb import Verb
from scrubjay.home.instructions import instructions
from scrubjay.home.scopes import search_scopes
from scrubjay.models.filters import Filter
from scrubjay.models.records import is_current
from scrubjay.models.requests import ForgetMatching, Request, SearchDocuments, SearchMemories
from scrubjay.models.results import DocumentHits, Hit, Mark, MemoryHits, Profile
from scrubjay.search import commands, hints, injection
from scrubjay.search.buckets import contents
from scrubjay.search.document_search import FoundChunk, search_chunks, search_documents
from scrubjay.search.hits import QUESTION, as_hit, condensed
from scrubjay.search.marking import Piece, marked
from scrubjay.search.opening import Opening, opening
from scrubjay.search.profile import TOKENS, profile
from scrubjay.search.recall import facts_about, search_memories
from scrubjay.store import conditions
from scrubjay.store.allocator import PeriodicRelease
from scrubjay.store.conditions import Where
from scrubjay.store.failures import SEE_DOCTOR, is_of_store, not_read
from scrubjay.text.dates import LocalZone

log = logging.getLogger("scrubjay.engine.verbs.search")

SEARCHES = 8  # searches after which unused memory is released; after 32, it would be 50 MB or more
# Request fields that exclude records or limit the answer.
NARROWING = "partition_ids tags session_id path filters threshold since until max_tokens".split()
Scope = str | tuple[str, ...]  # the caller's project, or all scopes that it may see
Hits = TypeVar("Hits", MemoryHits, DocumentHits)


@dataclass(eq=False)
class Search(Verb):
    """Searches one store."""

    _mend: Callable[[], Awaitable[None]]
    _marking: Marking
    _release: PeriodicRelease = field(default_factory=lambda: PeriodicRelease(SEARCHES))
    _ended: float = -math.inf  # when the last search ended

    @property
    def idle_seconds(self) -> float:
        """Return how long ago the last search ended."""
        return time.monotonic() - self._ended

    async def memories(
        self, request: SearchMemories, scope: Scope, folder: str | None = None, **options: Any
    ) -> MemoryHits:
        """Recall facts and turns, and count them as accessed; options as for `recall.search_memories`.

        Unless the hits are for a program, a turn whose commands answer the query comes first, and hits are
        marked against the working tree of `folder`.
        """
        hits = await self.recall(request, scope, **options)
        if request.as_of is None and not options.get("programmatic"):
            among = options.get("among")
            hits = await self._with_commands(hits, request, scope, is_narrow=among is not None)
            hits = await self._marking.marked(hits, folder)
        self._access.note([hit.id for hit in hits.results])
        return hits

    async def _with_commands(
        self, hits: MemoryHits, request: SearchMemories, scope: Scope, *, is_narrow: bool
    ) -> MemoryHits:
        """Put a turn first if its commands answer an error line in the query, or say how something is run.

        A search that is narrowed to some records or tokens gets no additional record.
        """
        if request.search_mode == "documents" or not request.include_turns:
            return hits
        scopes = search_scopes(request.scope, scope)
        match = await commands.find(self._store, request.query, scopes, self._clock())
        record = await self._store.find(match.id) if match else None
        if match is None or record is None:
            return hits
        existing = next((hit for hit in hits.results if hit.id == match.id), None)
        if existing is None and (is_narrow or any(getattr(request, name) for name in NARROWING)):
            return hits
        added = condensed(as_hit(record), request.query, question=QUESTION, answer=2 * QUESTION)
        first, other_hits = existing or added, [hit for hit in hits.results if hit is not existing]
        score = max((hit.score or 0.0 for hit in hits.results), default=1.0)  # results are ordered by score
        first = first.model_copy(update={"note": match.note, "score": score})
        other_hits = other_hits[: max(0, (request.top_k or len(hits.results) + 1) - 1)]
        confidence = "strong" if match.is_certain else hits.confidence if other_hits else "weak"
        results = [first, *other_hits]
        return hits.model_copy(update={"results": results, "total": len(results), "confidence": confidence})

    async def recall(self, request: SearchMemories, scope: Scope, **options: Any) -> MemoryHits:
        """Recall facts and turns without counting them as accessed."""
        return await self._timed(search_memories, request, scope, **options)

    async def documents(self, request: SearchDocuments, scope: Scope, **options: Any) -> DocumentHits:
        """Search passages of documents; options as for `document_search.search_documents`."""
        return await self._timed(search_documents, request, scope, **options)

    async def chunks(self, request: SearchDocuments, scopes: tuple[str, ...]) -> list[FoundChunk]:
        """Return the best chunks of documents in these scopes; see `scrubjay.search.document_search`."""
        embed = self._indexer.embed_query
        with self._indexer.foreground():
            await self._writer.catch_up()
            return await search_chunks(self._store, request, scopes=scopes, now=self._clock(), embed=embed)

    async def facts_about(self, request: ForgetMatching) -> list[Hit]:
        """Return the facts of one scope that match a query, with their relevance."""
        await self._writer.catch_up()
        return await facts_about(self._store, request, self._clock(), self._indexer.embed_query)

    async def profile(self, scope: Scope, max_tokens: int = TOKENS, filters: Filter | None = None) -> Profile:
        """Return what to know before any question: about the user and a project, or about several scopes."""
        await self._writer.catch_up()
        return await profile(self._store, scope, self._clock(), max_tokens=max_tokens, filters=filters)

    async def profile_buckets(
        self, scopes: tuple[str, ...], filters: Filter | None = None
    ) -> dict[str, list[Hit]]:
        """Return the facts of each profile bucket of these scopes, by name; see `scrubjay.search.buckets`."""
        await self._writer.catch_up()
        buckets: dict[str, str] = {}
        for scope in scopes:
            buckets.update(self._scope_settings.buckets(scope))
        now, embed = self._clock(), self._indexer.embed_query
        return await contents(self._store, buckets, scopes=scopes, now=now, embed=embed, filters=filters)

    async def marked(self, query: str, texts: Sequence[str]) -> list[list[Piece]]:
        """Mark the parts of each text that match a query by words or meaning; see `scrubjay.search.marking`.

        Raises:
            EncoderError: a text cannot be embedded.
        """
        with self._indexer.foreground():
            token_matches = await self._indexer.token_matches(query, texts)
        return [marked(query, text, tokens) for text, tokens in zip(texts, token_matches, strict=True)]

    async def injection(self, event: Mapping[str, Any], scope: str) -> str:
        """Return the text to add to a prompt, or ""; see `scrubjay.search.injection`."""
        request = injection.search_for(event) if self._settings().inject == "prompt" else None
        if request is None:
            return ""
        is_question = "?" in request.query  # "fix it today" names a time, but does not ask about it
        hits = await self.recall(request, scope, with_related=False, timed=is_question)
        room, given = injection.room(event), event.get("given")
        return injection.injection(hits, session_id=event.get("session_id"), max_bytes=room, given=given)

    async def opening(self, event: Mapping[str, Any], scope: str) -> Opening:
        """Return the text for the beginning of a session; see `scrubjay.search.opening`.

        `event` may hold `session_id`, `source`, `host` and `max_bytes`, as hooks send them.
        """
        if self._settings().inject == "off":
            return Opening()
        await self._writer.catch_up()
        return await opening(
            self._store,
            scope,
            self._clock(),
            session_id=event.get("session_id"),
            source=event.get("source"),
            max_bytes=injection.room(event),
            instructions=await asyncio.to_thread(instructions, self._home, scope),
            host=event.get("host"),
        )

    async def prepared(self, scope: str) -> Opening:
        """Return the opening of a project's next session, with hints for tools if the user wants them."""
        draft = await self.opening({}, scope)
        if self._settings().inject != "edit":
            return draft

        async def mark(project_hints: Sequence[hints.Hint]) -> list[Mark | None]:
            return await self._marking.of([Part(each.id, scope, each.sentence) for each in project_hints])

        now = self._clock()
        return replace(draft, hints=await hints.prepared(self._store, scope, now, draft.text, mark))

    async def _without_forgotten(self, hits: MemoryHits) -> MemoryHits:
        """Return the hits without those that uncommitted writes forgot or replaced."""
        now, dropped = self._clock(), set()
        for hit in (*hits.results, *hits.related):
            if self._store.is_staged(hit.id):
                record = await self._store.find(hit.id)
                if record is not None and not is_current(record, now):
                    dropped.add(hit.id)
        results = [hit for hit in hits.results if hit.id not in dropped]
        related = [hit for hit in hits.related if hit.id not in dropped]
        return hits.model_copy(update={"results": results, "related": related})

    async def _timed(
        self, search: Callable[..., Awaitable[Hits]], request: Request, scope: Scope, **options: Any
    ) -> Hits:
        started = time.perf_counter()
        with self._indexer.foreground():
            backlog = await self._writer.catch_up()
            now = self._clock().astimezone(LocalZone())  # "yesterday" means the user's local day
            options |= {"scope": scope, "now": now, "embed": self._indexer.embed_query}
            try:
                hits = await search(self._store, request, **options)
            # LanceDB raises these for a damaged index or damaged records.
            except (RuntimeError, ValueError) as error:
                if not is_of_store(error):
                    raise
                log.error("a search failed", exc_info=error)
                await self._mend()  # this rebuilds the indexes
                try:
                    hits = await search(self._store, request, **options)
                except (RuntimeError, ValueError) as second_error:
                    raise not_read(self._store.path, second_error, self._store.damage) from second_error
            warning = await self._indexer.search_warning(_covered_passages(request, scope))
            if unsearched := await self._store.passages.unsearched():
                new_passages = f"{unsearched:,} newly added passages are not searched by words yet."
                warning = f"{new_passages} {warning}" if warning else new_passages
        milliseconds = round((time.perf_counter() - started) * 1000, 1)
        self._release.tick()
        self._ended = time.monotonic()
        if backlog and isinstance(hits, MemoryHits):
            hits = await self._without_forgotten(hits)
        damaged = f"Some stored data is damaged. {SEE_DOCTOR}" if self._store.damage else None
        degraded = " ".join(each for each in (backlog, warning, damaged) if each) or None
        return hits.model_copy(update={"timing": milliseconds, "degraded": degraded})


def _covered_passages(request: Request, scope: Scope) -> Where:
    """Return the condition for the passages that a search covers, by scope and kind."""
    assert isinstance(request, SearchMemories | SearchDocuments)
    is_chunk = conditions.equal("src", "chunk")
    mode = "documents" if isinstance(request, SearchDocuments) else request.search_mode
    kinds = {"documents": is_chunk, "memories": conditions.negation(is_chunk)}.get(mode)
    in_scopes = conditions.matching(scope=search_scopes(request.scope, scope), hidden=False)
    return conditions.both(in_scopes, kinds)
