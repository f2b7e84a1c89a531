"""Forgets, purges and restores records; a query forgets the records that its dry run listed."""

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
from scrubjay.models.records import AnyRecord, Document, Memory, is_current
from scrubjay.models.requests import Forget, ForgetMatching, ForgetRecords, Request, Restore, SearchMemories
from scrubjay.models.results import Forgotten, Restored, Result
from scrubjay.records.forgetting import records_to_forget, texts_of, with_history
from scrubjay.records.host_memories import purged_digest
from scrubjay.records.versions import latest
from scrubjay.search.hits import as_hit
from scrubjay.store.bucket.sharing import SWEEP_SECONDS, VERSION_LIFETIME

# minimum relevance for forgetting by query; a hit below it is probably about something else
LEAST_RELEVANCE = 0.5
MOST = 100  # records that a query forgets at most
DRY_RUNS = 32  # latest dry runs that are remembered


@dataclass(eq=False)
class Removal(Verb):
    """Forgets and restores records.

    A query forgets exactly what its dry run listed, even if more records were added in between.
    """

    _search: Search
    refuse_purge: Callable[[], None]
    _dry_runs: dict[tuple[str, str], list[str]] = field(default_factory=dict)  # (scope, query) -> ids

    async def forget(self, request: Forget, scope: str, source: str, *, noted: bool = True) -> Forgotten:
        """Forget by id, by the exact words of a fact, or everything that the query's dry run listed.

        With `noted`, the change can be undone.

        Raises:
            InputError: no record matches, the query had no dry run, or a running task would keep purged text.
        """
        if request.purge and not request.dry_run:
            self.refuse_purge()
        await self._writer.drain()
        target = request.scope or scope
        if request.query is not None and request.dry_run:
            # The candidates are facts and turns of one scope that are probably about the query.
            search = SearchMemories(query=request.query, scope=target, top_k=MOST, threshold=LEAST_RELEVANCE)
            hits = (await self._search.recall(search, target)).results
            dry_runs = {**self._dry_runs, (target, request.query): [hit.id for hit in hits]}
            self._dry_runs = dict(list(dry_runs.items())[-DRY_RUNS:])
            return Forgotten(ids=[], forgotten=0, candidates=hits)
        if request.query is not None:
            records = await self._records_of_dry_run(target, request.query)
        else:
            records = await records_to_forget(self._store, request, target)
        if request.purge:
            records = await with_history(self._store, records)
        if request.dry_run:
            return Forgotten(ids=[], forgotten=0, candidates=[as_hit(record) for record in records])
        if not records:
            return Forgotten(ids=[], forgotten=0)
        answer = await self._forget(records, request, source)
        forgotten_ids = [record.id for record in records if record.forgotten_at is None]
        if noted and forgotten_ids and not request.purge:
            await self.note(undo.Step("forget", forgotten_ids))
        return answer.model_copy(update={"newer": await self._newer(records)})

    async def _newer(self, records: Sequence[AnyRecord]) -> list[str]:
        """Return the current versions of the replaced facts among these records."""
        replaced = [each for each in records if isinstance(each, Memory) and not each.is_latest]
        newest = {fact.id: fact for fact in [await latest(self._store, each) for each in replaced]}
        return [fact.id for fact in newest.values() if is_current(fact, self._clock())]

    async def forget_matching(self, request: ForgetMatching, source: str) -> Forgotten:
        """Forget the facts that match a query; no earlier dry run is needed.

        The answer's `candidates` are these facts with their relevance. A dry run does not forget them.
        """
        facts = await self._search.facts_about(request)
        if request.dry_run or not facts:
            return Forgotten(ids=[], forgotten=0, candidates=facts)
        command = ForgetRecords.model_validate({"ids": [hit.id for hit in facts], "reason": request.reason})
        answer = cast(Forgotten, await self._write("forget", command, request.scope, source))
        await self.note(undo.Step("forget", command.ids))
        return answer.model_copy(update={"candidates": facts})

    async def purgeable(self, ids: Sequence[str]) -> list[AnyRecord]:
        """Return those of these records that exist, and all records that are purged with them."""
        await self._writer.drain()
        found = [await self._store.find(record_id) for record_id in ids]
        return await with_history(self._store, [record for record in found if record is not None])

    async def purge(self, records: Sequence[AnyRecord], source: str) -> Forgotten:
        """Purge one or more records; when this returns, their bytes are no longer on the disk."""
        return await self._forget(records, Forget(id=records[0].id, purge=True), source)

    async def restore(self, record_id: str, source: str, *, noted: bool = True) -> Restored:
        """Bring back a forgotten record. With `noted`, the change can be undone."""
        answer = cast(Restored, await self._write("restore", Restore(id=record_id), USER_SCOPE, source))
        if noted and answer.restored:
            await self.note(undo.Step("restore", [record_id]))
        return answer

    async def note(self, step: undo.Step) -> None:
        """Remember a change that can be undone; a full disk does not make the change itself fail."""
        with contextlib.suppress(OSError):
            await asyncio.to_thread(lambda: undo.write(self._home, [*undo.read(self._home), step]))

    async def _records_of_dry_run(self, scope: str, query: str) -> list[AnyRecord]:
        ids = self._dry_runs.pop((scope, query), None)
        if ids is None:
            raise InputError(
                "query needs a dry run first. Call forget with the same query and dry_run true, "
                "check the list, then repeat the call without dry_run, or forget single records by id."
            )
        return [record for each in ids if (record := await self._store.find(each)) is not None]

    async def _forget(self, records: Sequence[AnyRecord], request: Forget, source: str) -> Forgotten:
        if request.purge:
            texts = [text for record in records for text in texts_of(record)]
            await asyncio.to_thread(spool.erase, self._home, texts)
            await asyncio.to_thread(spool.sweep, self._home, self._clock().timestamp())
            digests = frozenset(purged_digest(each) for each in records if isinstance(each, Memory))
            await asyncio.to_thread(purged_facts.add, self._home, digests)
        fields = {"ids": [record.id for record in records], "reason": request.reason, "purge": request.purge}
        command = ForgetRecords.model_validate(fields)
        answer = cast(Forgotten, await self._write("forget", command, records[0].scope, source))
        if request.purge:
            await self._writer.settle()  # this removes the bytes from the disk
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
    """Return the files of documents that came from a folder, if they still exist."""
    paths = [record.path for record in records if isinstance(record, Document) and record.folder]
    return [path for path in paths if path and os.path.lexists(path)]
