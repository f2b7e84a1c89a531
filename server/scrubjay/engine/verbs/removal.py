"""The engine's side of forgetting: finds out what a request means, remembers what a dry run showed, and waits until purged bytes are gone.
Does not know what forgetting does to a record (`scrubjay.records.forgetting`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import cast

from scrubjay.engine.writing import Writer
from scrubjay.errors import InputError
from scrubjay.home import spool
from scrubjay.home.paths import Home
from scrubjay.home.scopes import USER_SCOPE
from scrubjay.models.envelopes import envelope
from scrubjay.models.records import AnyRecord
from scrubjay.models.requests import Forget, ForgetMatching, ForgetRecords, Restore, SearchMemories
from scrubjay.models.results import Forgotten, MemoryHits, Restored
from scrubjay.records.forgetting import records_to_forget, texts_of, with_history
from scrubjay.search.hits import as_hit
from scrubjay.search.recall import facts_about
from scrubjay.search.retrieval.retrieve import Embed
from scrubjay.store.store import Store

LEAST_RELEVANCE = (
    0.5  # of what a query means to forget; below it a hit is more likely to be about something else
)
MOST = 100  # records that one query forgets
DRY_RUNS = 32  # that are remembered, the last ones

Search = Callable[[SearchMemories, str], Awaitable[MemoryHits]]


class Removal:
    """Forgets and restores. What a dry run listed is what the same query forgets afterwards, whatever was added in between."""

    def __init__(
        self,
        home: Home,
        store: Store,
        writer: Writer,
        clock: Callable[[], datetime],
        search: Search,
        embed: Embed,
    ) -> None:
        self._home, self._store, self._writer, self._clock, self._search, self._embed = (
            home,
            store,
            writer,
            clock,
            search,
            embed,
        )
        self._listed: dict[tuple[str, str], list[str]] = {}  # (scope, query) -> ids

    async def forget(self, request: Forget, scope: str, source: str) -> Forgotten:
        """Forget by id, by the exact words of a fact, or what a dry run of the same query listed.

        Raises:
            InputError: nothing is meant by it, or its query had no dry run.
        """
        await self._writer.drain()
        where = request.scope or scope
        if request.query is not None and request.dry_run:
            hits = (await self._search(_search_for(request, where), where)).results
            listed = {**self._listed, (where, request.query): [hit.id for hit in hits]}
            self._listed = dict(list(listed.items())[-DRY_RUNS:])
            return Forgotten(ids=[], forgotten=0, candidates=hits)
        records = (
            await self._shown_before(request, where)
            if request.query is not None
            else await records_to_forget(self._store, request, where)
        )
        if request.purge:
            records = await with_history(self._store, records)
        if request.dry_run:
            return Forgotten(ids=[], forgotten=0, candidates=[as_hit(record) for record in records])
        return await self._forget(records, request, source) if records else Forgotten(ids=[], forgotten=0)

    async def matching(self, request: ForgetMatching, source: str) -> Forgotten:
        """Forget what a query is about without a dry run before; `candidates` are those facts with their relevance, forgotten or not."""
        await self._writer.drain()
        found = await facts_about(self._store, request, self._clock(), self._embed)
        if request.dry_run or not found:
            return Forgotten(ids=[], forgotten=0, candidates=found)
        log = ForgetRecords.model_validate({"ids": [hit.id for hit in found], "reason": request.reason})
        made = envelope("forget", log, scope=request.scope, source=source, at=self._clock())
        return cast(Forgotten, await self._writer.write(made)).model_copy(update={"candidates": found})

    async def purge(self, records: Sequence[AnyRecord], source: str) -> Forgotten:
        """Delete these records, at least one, for good; their bytes are off the disk when this returns."""
        return await self._forget(records, Forget(id=records[0].id, purge=True), source)

    async def restore(self, id: str, source: str) -> Restored:
        """Bring back a forgotten record."""
        made = envelope("restore", Restore(id=id), scope=USER_SCOPE, source=source, at=self._clock())
        return cast(Restored, await self._writer.write(made))

    async def _shown_before(self, request: Forget, where: str) -> list[AnyRecord]:
        listed = self._listed.pop((where, request.query or ""), None)
        if listed is None:
            raise InputError(
                "query forgets nothing without a dry run. Call forget with the same query and dry_run true, read what it lists, "
                "then repeat the call without dry_run, or forget one of them by its id."
            )
        found = [await self._store.find(id) for id in listed]
        return [record for record in found if record is not None]

    async def _forget(self, records: Sequence[AnyRecord], request: Forget, source: str) -> Forgotten:
        if request.purge:
            texts = [text for record in records for text in texts_of(record)]
            await asyncio.to_thread(spool.erase, self._home, texts)
        log = ForgetRecords.model_validate(
            {"ids": [record.id for record in records], "reason": request.reason, "purge": request.purge}
        )
        made = envelope("forget", log, scope=records[0].scope, source=source, at=self._clock())
        answer = cast(Forgotten, await self._writer.write(made))
        if request.purge:
            await self._writer.settle()  # the bytes go with it
        return answer


def _search_for(request: Forget, scope: str) -> SearchMemories:
    """The search that finds what a query means to forget: facts and turns of one scope that are likely about it."""
    return SearchMemories(query=request.query or "", scope=scope, top_k=MOST, threshold=LEAST_RELEVANCE)
