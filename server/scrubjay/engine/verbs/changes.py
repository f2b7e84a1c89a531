"""Edits facts, and takes back the last forget, restore or edit."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from scrubjay.engine.verbs.removal import Removal
from scrubjay.engine.verbs.verb import Verb
from scrubjay.errors import InputError, NotFound
from scrubjay.home import undo
from scrubjay.home.scopes import USER_SCOPE
from scrubjay.home.undo import Step
from scrubjay.models.envelopes import Envelope
from scrubjay.models.records import Memory
from scrubjay.models.requests import AddMemory, Forget, parse
from scrubjay.models.results import MemoryAdded, Result, Undone
from scrubjay.records import versions

_LASTING = {"partition_id", "tags", "metadata", "is_static", "expires_at"}  # what a new version keeps


@dataclass(eq=False)
class Changes(Verb):
    """Changes facts, and takes changes back; `_write` makes one write."""

    _removal: Removal
    _write: Callable[[Envelope], Awaitable[Result]]

    async def edit(self, record_id: str, content: str, source: str) -> MemoryAdded:
        """Write new words for a fact: its next version, with the tags and dates of this one.

        Raises:
            NotFound: no fact has the id.
        """
        added = await self._edit(record_id, content, source)
        if added.action != "known":
            await self._removal.note(Step("edit", [added.id, record_id]))
        return added

    async def _edit(self, record_id: str, content: str, source: str) -> MemoryAdded:
        fact = await self._fact(record_id)
        same = fact.model_dump(include=_LASTING, mode="json", exclude_none=True)
        fields = {**same, "content": content, "importance": fact.importance_score, "updates": [fact.id]}
        request, at = parse(AddMemory, fields), self._clock()
        made = await self._writer.sealed("memory", request, scope=fact.scope, source=source, at=at)
        added = await self._write(made)
        assert isinstance(added, MemoryAdded)
        return added

    async def undo(self, source: str) -> Undone:
        """Take back the last forget, restore or edit of any interface; the one before it is then the last.

        Raises:
            InputError: no change is left to take back.
        """
        steps = await asyncio.to_thread(undo.read, self._home)
        if not steps:
            raise InputError("There is nothing to undo: no forget, restore or edit is remembered.")
        *before, step = steps
        done, refused = [], []
        for record_id in step.ids[:1] if step.did == "edit" else step.ids:
            try:
                done.append(await self._take_back(step, record_id, source))
            except (InputError, NotFound) as error:
                refused.append(str(error))
        await asyncio.to_thread(undo.write, self._home, before)
        return Undone(did=step.did, ids=done, refused=refused)

    async def _take_back(self, step: Step, record_id: str, source: str) -> str:
        """Take back one record's part of a change, and return the id of the record that is current now."""
        if step.did == "forget":
            return (await self._removal.restore(record_id, source, noted=False)).id
        if step.did == "restore":
            await self._removal.forget(Forget(id=record_id), USER_SCOPE, source, noted=False)
            return record_id
        newest = await versions.latest(self._store, await self._fact(record_id))
        return (await self._edit(newest.id, (await self._fact(step.ids[1])).content, source)).id

    async def _fact(self, record_id: str) -> Memory:
        await self._writer.drain()
        record = await self._store.find(record_id)
        if not isinstance(record, Memory):
            raise NotFound(f"No fact has the id {record_id[:80]!r}. Only facts can be edited.")
        return record
