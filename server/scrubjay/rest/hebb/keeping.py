"""Facts as Hebb Mind's clients write them: kept, and changed under one id. Knows what a request leaves out; the rest is another floor's."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from scrubjay.errors import InputError
from scrubjay.models.records import SUMMARY, Memory, Turn
from scrubjay.models.requests import AddMemory
from scrubjay.models.results import MemoryAdded
from scrubjay.rest.hebb.wire import MemoryCreate, MemoryUpdate
from scrubjay.rest.visit import SOURCE, Visit
from scrubjay.writes import envelope


async def kept(visit: Visit, item: MemoryCreate, scope: str) -> Memory:
    """The memory of these words in a scope; one that is known there becomes what the request says of it."""
    asked = {"partition_id": item.partition_id, "tags": item.tags, "importance": item.importance_score, "metadata": item.metadata}
    added = await _added(visit, {"content": item.content, **asked}, scope, item.source or SOURCE)
    record = await _fact(visit, added.id)
    if added.action != "known":
        return record
    named = {"importance" if name == "importance_score" else name for name in item.model_fields_set}
    said = {name: value for name, value in asked.items() if name in named}
    return await _version(visit, record, said) if said else record


async def changed(visit: Visit, record: Memory | Turn, update: MemoryUpdate) -> Memory:
    """A memory with what an update names; the version before it stays as its history.

    Raises:
        InputError: it is a turn, or the summary of a session.
    """
    if isinstance(record, Turn):
        raise InputError(f"{record.id} is a turn of a session, which keeps what was said. Add a memory, or delete this one.")
    if record.source == SUMMARY:
        raise InputError(f"{record.id} is the summary of a session, which follows from its turns. Add a memory instead.")
    asked = {"content": update.content, "importance": update.importance_score, "tags": update.tags, "metadata": update.metadata}
    said = {name: value for name, value in asked.items() if value is not None}
    return await _version(visit, record, said) if said else record


async def _version(visit: Visit, record: Memory, said: dict[str, Any]) -> Memory:
    # A new version inherits all but its words and its place in a session, so these are said again.
    arguments = {"content": record.content, "metadata": record.metadata, **said, "updates": [record.id]}
    return await _fact(visit, (await _added(visit, arguments, record.scope, record.source)).id)


async def _added(visit: Visit, arguments: dict[str, Any], scope: str, source: str) -> MemoryAdded:
    """One write without a look at what is similar, which these clients do not show and a batch would wait for."""
    made = envelope("memory", AddMemory(**arguments), id=uuid4().hex, scope=scope, source=source, at=visit.core.clock())
    added = await visit.core.writer.write(made)
    assert isinstance(added, MemoryAdded)
    return added


async def _fact(visit: Visit, id: str) -> Memory:
    return (await visit.core.store.get(Memory, [id]))[id]
