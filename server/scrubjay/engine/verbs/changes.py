"""Edits facts, and undoes the last forget, restore or edit."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import cast

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

_LASTING = {"partition_id", "tags", "metadata", "is_static", "expires_at"}  # fields that a new version keeps


@dataclass(eq=False)
class Changes(Verb):
    """Edits facts, and undoes changes; `_write` makes one write."""

    _removal: Removal
    _write: Callable[[Envelope], Awaitable[Result]]

    async def edit(self, record_id: str, content: str, source: str) -> MemoryAdded:
        """Write a fact's next version with new words, and the tags and dates of the current version.

        Raises:
            NotFound: no fact has the id.
        """
        added = await self._edit(record_id, content, source)
        if added.action != "known":
            await self._removal.note(Step("edit", [added.id, record_id]))
        return added

    async def _edit(self, record_id: str, content: str, source: str) -> MemoryAdded:
        fact = await self._fact(record_id)
        unchanged = fact.model_dump(include=_LASTING, mode="json", exclude_none=True)
        fields = {**unchanged, "content": content, "importance": fact.importance_score, "updates": [fact.id]}
        request, at = parse(AddMemory, fields), self._clock()
        envelope = await self._writer.seal("memory", request, scope=fact.scope, source=source, at=at)
        return cast(MemoryAdded, await self._write(envelope))

    async def undo(self, source: str) -> Undone:
        """Undo the last forget, restore or edit of any interface; the change before it then becomes the last.

        Raises:
            InputError: no change is left to undo.
        """
        steps = await asyncio.to_thread(undo.read, self._home)
        if not steps:
            raise InputError("There is nothing to undo: no forget, restore or edit is remembered.")
        *earlier, step = steps
        done, refused = [], []
        for record_id in step.ids[:1] if step.did == "edit" else step.ids:
            try:
                done.append(await self._undo_one(step, record_id, source))
            except NotFound:
                refused.append(f"{record_id} was deleted with --purge, which cannot be undone.")
            except InputError as error:
                refused.append(str(error))
        await asyncio.to_thread(undo.write, self._home, earlier)
        return Undone(did=step.did, ids=done, refused=refused)

    async def _undo_one(self, step: Step, record_id: str, source: str) -> str:
        """Undo a change of one record, and return the id of the record that is current now."""
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
