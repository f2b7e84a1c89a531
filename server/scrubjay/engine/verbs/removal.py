"""Forgets, purges and restores records; a query forgets what its dry run listed."""

import asyncio
import contextlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal, cast

from scrubjay.engine.verbs.search import Search
from scrubjay.engine.verbs.verb import Verb
from scrubjay.errors import InputError
from scrubjay.home import purged_facts, spool, undo
from scrubjay.home.scopes import USER_SCOPE
from scrubjay.models.envelopes import envelope
from scrubjay.models.records import AnyRecord, Document, Memory
from scrubjay.models.requests import Forget, ForgetMatching, ForgetRecords, Request, Restore, SearchMemories
from scrubjay.models.results import Forgotten, Restored, Result
from scrubjay.records.forgetting import records_to_forget, texts_of, with_history
from scrubjay.records.host_memories import purged_digest
from scrubjay.search.hits import as_hit
from scrubjay.store.bucket.sharing import SWEEP_SECONDS, VERSION_LIFETIME

# least relevance for forgetting by query; a hit below it is more likely about something else
LEAST_RELEVANCE = 0.5
MOST = 100  # records that one query forgets
DRY_RUNS = 32  # dry runs that are remembered


@dataclass(eq=False)
class Removal(Verb):
    """Forgets and restores.

    A query forgets exactly what its dry run listed, whatever was added in between.
    """

    _search: Search
    refuse_purge: Callable[[], None]
    _listed: dict[tuple[str, str], list[str]] = field(default_factory=dict)  # (scope, query) -> ids

    async def forget(self, request: Forget, scope: str, source: str, *, noted: bool = True) -> Forgotten:
        """Forget by id, by the exact words of a fact, or everything that the query's dry run listed.

        What is `noted` can be undone.

        Raises:
            InputError: no record matches, the query had no dry run, or a running task would keep purged text.
        """
        if request.purge and not request.dry_run:
            self.refuse_purge()
        await self._writer.drain()
        where = request.scope or scope
        if request.query is not None and request.dry_run:
            # Facts and turns of one scope that are likely about the query.
            search = SearchMemories(query=request.query, scope=where, top_k=MOST, threshold=LEAST_RELEVANCE)
            hits = (await self._search.recall(search, where)).results
            listed = {**self._listed, (where, request.query): [hit.id for hit in hits]}
            self._listed = dict(list(listed.items())[-DRY_RUNS:])
            return Forgotten(ids=[], forgotten=0, candidates=hits)
        if request.query is not None:
            records = await self._listed_before(where, request.query)
        else:
            records = await records_to_forget(self._store, request, where)
        if request.purge:
            records = await with_history(self._store, records)
        if request.dry_run:
            return Forgotten(ids=[], forgotten=0, candidates=[as_hit(record) for record in records])
        if not records:
            return Forgotten(ids=[], forgotten=0)
        answer = await self._forget(records, request, source)
        gone = [record.id for record in records if record.forgotten_at is None]
        if noted and gone and not request.purge:
            await self.note(undo.Step("forget", gone))
        return answer

    async def forget_matching(self, request: ForgetMatching, source: str) -> Forgotten:
        """Forget the facts that match a query, without a dry run.

        `candidates` are those facts with their relevance, forgotten or, in a dry run, not.
        """
        facts = await self._search.facts_about(request)
        if request.dry_run or not facts:
            return Forgotten(ids=[], forgotten=0, candidates=facts)
        log = ForgetRecords.model_validate({"ids": [hit.id for hit in facts], "reason": request.reason})
        answer = cast(Forgotten, await self._write("forget", log, request.scope, source))
        await self.note(undo.Step("forget", log.ids))
        return answer.model_copy(update={"candidates": facts})

    async def purge(self, records: Sequence[AnyRecord], source: str) -> Forgotten:
        """Purge these records, at least one; their bytes are off the disk when this returns."""
        return await self._forget(records, Forget(id=records[0].id, purge=True), source)

    async def restore(self, record_id: str, source: str, *, noted: bool = True) -> Restored:
        """Bring back a forgotten record. What is `noted` can be undone."""
        answer = cast(Restored, await self._write("restore", Restore(id=record_id), USER_SCOPE, source))
        if noted and answer.restored:
            await self.note(undo.Step("restore", [record_id]))
        return answer

    async def note(self, step: undo.Step) -> None:
        """Remember a change that can be undone; a full disk does not make the change itself fail."""
        with contextlib.suppress(OSError):
            await asyncio.to_thread(lambda: undo.write(self._home, [*undo.read(self._home), step]))

    async def _listed_before(self, scope: str, query: str) -> list[AnyRecord]:
        listed = self._listed.pop((scope, query), None)
        if listed is None:
            raise InputError(
                "query needs a dry run first. Call forget with the same query and dry_run true, "
                "check the list, then repeat the call without dry_run, or forget single records by id."
            )
        return [record for each in listed if (record := await self._store.find(each)) is not None]

    async def _forget(self, records: Sequence[AnyRecord], request: Forget, source: str) -> Forgotten:
        if request.purge:
            texts = [text for record in records for text in texts_of(record)]
            await asyncio.to_thread(spool.erase, self._home, texts)
            await asyncio.to_thread(spool.sweep, self._home, self._clock().timestamp())
            gone = frozenset(purged_digest(each) for each in records if isinstance(each, Memory))
            await asyncio.to_thread(purged_facts.add, self._home, gone)
        fields = {"ids": [record.id for record in records], "reason": request.reason, "purge": request.purge}
        log = ForgetRecords.model_validate(fields)
        answer = cast(Forgotten, await self._write("forget", log, records[0].scope, source))
        if request.purge:
            await self._writer.settle()  # this removes the bytes
            answer = answer.model_copy(update={"files": await asyncio.to_thread(_files_of, records)})
            if self._store.shared is not None:
                until = self._clock() + VERSION_LIFETIME + timedelta(seconds=SWEEP_SECONDS)
                answer = answer.model_copy(update={"kept_until": until})
        return answer

    async def _write(
        self, kind: Literal["forget", "restore"], request: Request, scope: str, source: str
    ) -> Result:
        return await self._writer.write(envelope(kind, request, scope=scope, source=source, at=self._clock()))


def _files_of(records: Sequence[AnyRecord]) -> list[str]:
    """Return the files that still exist, of documents that came from a folder."""
    paths = [record.path for record in records if isinstance(record, Document) and record.folder]
    return [path for path in paths if path and os.path.lexists(path)]
