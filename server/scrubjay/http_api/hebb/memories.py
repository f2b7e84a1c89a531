"""`/api/v1/memories`: read and write facts and turns as Hebb Mind's memories."""

from dataclasses import replace
from typing import Annotated, Any

from fastapi import Body, Path, Query

from scrubjay.errors import InputError
from scrubjay.http_api.answers import HEBB_ANSWERS, Answer, unknown_fields
from scrubjay.http_api.context import SOURCE
from scrubjay.http_api.hebb.bodies import MemoryCreate, MemoryUpdate, as_memories, as_memory
from scrubjay.http_api.hebb.context import HebbContext, HebbRequest
from scrubjay.http_api.hebb.partitions import require_partition
from scrubjay.http_api.routes import Routes
from scrubjay.models import records
from scrubjay.models.records import SUMMARY, Turn
from scrubjay.models.requests import AddMemory, Forget
from scrubjay.models.results import MemoryAdded

MOST_AT_ONCE = 1_000  # the most memories in one batch
_OTHER_NAMES = {"importance_score": "importance"}  # field of a request -> field of a fact

route = Routes(HEBB_ANSWERS)

MemoryId = Annotated[str, Path(min_length=1, max_length=200)]


@route("POST /api/v1/memories", "Keep one memory", "Memory", status=201)
async def create(request: HebbRequest, item: MemoryCreate) -> Answer:
    """Keep a memory; the same words again update the same memory."""
    scope = request.write_scope()
    await require_partition(request, item.partition_id)
    return await as_memory(request.core, await _store(request, item, scope)) | unknown_fields(item)


@route("POST /api/v1/memories/batch", "Keep many memories", "[Memory]", status=201)
async def create_batch(
    request: HebbRequest, items: Annotated[list[MemoryCreate], Body(max_length=MOST_AT_ONCE)]
) -> list[Answer]:
    """The body and the answer are lists in the same order. An unknown partition refuses all memories."""
    scope = request.write_scope()
    for partition_id in {item.partition_id for item in items}:
        await require_partition(request, partition_id)
    # Each memory gets its own time, so that lists keep the order of the batch.
    facts = [await _store(replace(request, now=request.core.clock()), item, scope) for item in items]
    memories = await as_memories(request.core, facts)
    return [memory | unknown_fields(item) for memory, item in zip(memories, items, strict=True)]


@route("GET /api/v1/memories", "List memories, newest first", "Page")
async def listed(
    request: HebbRequest,
    partition_id: Annotated[str | None, Query(max_length=100)] = None,
    tags: Annotated[
        str | None,
        Query(max_length=10_000, description="Tags with commas between them; memories carry all of them."),
    ] = None,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Answer:
    """Facts in their newest version, by the time of their addition, and turns, by the time of their words."""
    required_tags = [tag.strip() for tag in (tags or "").split(",") if tag.strip()]
    page = await request.core.lists.facts_and_turns(
        await request.read_scopes(), start=offset, size=limit, partition_id=partition_id, tags=required_tags
    )
    items = await as_memories(request.core, page.rows)
    return dict(items=items, total=page.total, offset=offset, limit=limit)


@route("GET /api/v1/memories/{memory_id}", "Read one memory", "Memory")
async def read(request: HebbRequest, memory_id: MemoryId) -> Answer:
    """A fact in its newest version, or a turn."""
    return await as_memory(request.core, await request.memory(memory_id))


@route("PATCH /api/v1/memories/{memory_id}", "Change one memory", "Memory")
async def update(request: HebbRequest, memory_id: MemoryId, item: MemoryUpdate) -> Answer:
    """The id does not change; the old words become an older version. The words of a turn cannot change."""
    record = await request.memory(memory_id)
    request.permissions.write_scope(record.scope)
    if isinstance(record, Turn):
        what = "a turn of a session, which keeps what was said"
        raise InputError(f"{record.id} is {what}. Add a memory, or delete this one.")
    if record.source == SUMMARY:
        what = "the summary of a session, which follows from its turns"
        raise InputError(f"{record.id} is {what}. Add a memory instead.")
    new = await _revise(request, record, item.field_values(exclude_none=True))
    return await as_memory(request.core, new) | unknown_fields(item)


@route("DELETE /api/v1/memories/{memory_id}", "Forget one memory", status=204)
async def delete(request: HebbRequest, memory_id: MemoryId) -> None:
    """Hide a memory from every search and list; `scrubjay restore` brings it back."""
    record = await request.memory(memory_id)
    scope = request.permissions.write_scope(record.scope)
    await request.core.removal.forget(Forget(id=record.id, reason="deleted over HTTP"), scope, SOURCE)


async def _store(request: HebbContext, item: MemoryCreate, scope: str) -> records.Memory:
    """Add a memory, or change the scope's memory with the same words to the request's values."""
    fact, is_known = await _add(request, item.field_values("source"), scope, item.source or SOURCE)
    changes = item.field_values("content", "source", exclude_unset=True) if is_known else {}
    return await _revise(request, fact, changes)


async def _revise(request: HebbContext, fact: records.Memory, changes: dict[str, Any]) -> records.Memory:
    """Add a new version of a memory with these changes, if any; the old version stays as history."""
    if not changes:
        return fact
    # A new version inherits everything but its content and its place in a session, so pass these again.
    values = {"content": fact.content, "metadata": fact.metadata, **changes, "updates": [fact.id]}
    new, _ = await _add(request, values, fact.scope, fact.source)
    request.core.access.move(fact.id, new.id)
    return new


async def _add(
    request: HebbContext, values: dict[str, Any], scope: str, source: str
) -> tuple[records.Memory, bool]:
    """Add a fact; return it, and True if it was known already."""
    fields = {_OTHER_NAMES.get(name, name): value for name, value in values.items()}
    added: MemoryAdded = await request.write("memory", AddMemory(**fields), scope=scope, source=source)
    return (await request.core.lists.get(records.Memory, [added.id]))[added.id], added.action == "known"
