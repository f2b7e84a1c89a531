"""`/api/v1/memories`: facts and turns one by one, as Hebb Mind's clients read and write them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Query

from scrubjay.errors import InputError
from scrubjay.http_api.context import SOURCE, RequestContext
from scrubjay.http_api.hebb.bodies import Memory, MemoryCreate, MemoryUpdate, Page, as_memories, as_memory
from scrubjay.http_api.hebb.context import Staying
from scrubjay.http_api.hebb.partitions import require
from scrubjay.models import records
from scrubjay.models.envelopes import envelope
from scrubjay.models.records import SUMMARY, Turn
from scrubjay.models.requests import AddMemory, Forget
from scrubjay.models.results import MemoryAdded
from scrubjay.search.listing import facts_and_turns
from scrubjay.store import conditions
from scrubjay.store.counts import KINDS, current

MOST_AT_ONCE = 1_000  # memories of one batch
MISSING: dict[int | str, dict[str, Any]] = {
    404: {"description": "There is no such memory, or no such partition."}
}
MemoryId = Annotated[str, Path(min_length=1, max_length=200)]

router = APIRouter(prefix="/api/v1/memories")


@router.post("", status_code=201, response_model=Memory, responses=MISSING, summary="Keep one memory")
async def create(stay: Staying, item: MemoryCreate) -> Memory:
    scope = stay.writes()
    await require(stay, item.partition_id)
    return await as_memory(stay.context.core, await kept(stay.context, item, scope))


@router.post(
    "/batch", status_code=201, response_model=list[Memory], responses=MISSING, summary="Keep many memories"
)
async def create_batch(
    stay: Staying, items: Annotated[list[MemoryCreate], Body(max_length=MOST_AT_ONCE)]
) -> list[Memory]:
    """A bare list; the answer has one memory for each, in the same order. An unknown partition refuses all of them."""
    scope = stay.writes()
    for partition_id in {item.partition_id for item in items}:
        await require(stay, partition_id)
    return await as_memories(stay.context.core, [await kept(stay.context, item, scope) for item in items])


@router.get("", response_model=Page[Memory], summary="List memories, newest first")
async def listed(
    stay: Staying,
    partition_id: Annotated[str | None, Query(max_length=100)] = None,
    tags: Annotated[
        str | None,
        Query(max_length=10_000, description="Tags with commas between them; memories carry all of them."),
    ] = None,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Page[Memory]:
    core = stay.context.core
    await core.writer.drain()
    await core.store.flush()
    wanted = [tag.strip() for tag in (tags or "").split(",") if tag.strip()]
    where = conditions.both(
        conditions.equal("partition_id", partition_id) if partition_id else None,
        conditions.has_all("tags", wanted) if wanted else None,
    )
    scopes = await stay.reads()
    page = await facts_and_turns(
        core.store,
        {kind: current(kind, scopes, stay.context.now, where) for kind in KINDS},
        start=offset,
        size=limit,
    )
    return Page(items=await as_memories(core, page.rows), total=page.total, offset=offset, limit=limit)


@router.get("/{memory_id}", response_model=Memory, responses=MISSING, summary="Read one memory")
async def read(stay: Staying, memory_id: MemoryId) -> Memory:
    """Counts as an access, which the next answer shows."""
    record = await stay.memory(memory_id)
    made = await as_memory(stay.context.core, record)
    stay.context.core.access.note([record.id])
    return made


@router.patch("/{memory_id}", response_model=Memory, responses=MISSING, summary="Change one memory")
async def update(stay: Staying, memory_id: MemoryId, item: MemoryUpdate) -> Memory:
    """The id stays. What it said before is kept as an older version; a turn keeps what was said and is refused."""
    record = await stay.memory(memory_id)
    stay.context.permissions.writes_to(record.scope)
    return await as_memory(stay.context.core, await changed(stay.context, record, item))


@router.delete("/{memory_id}", status_code=204, responses=MISSING, summary="Forget one memory")
async def delete(stay: Staying, memory_id: MemoryId) -> None:
    """It leaves every search and list; `scrubjay restore` brings it back."""
    record = await stay.memory(memory_id)
    scope = stay.context.permissions.writes_to(record.scope)
    await stay.context.core.removal.forget(Forget(id=record.id, reason="deleted over HTTP"), scope, SOURCE)


async def kept(context: RequestContext, item: MemoryCreate, scope: str) -> records.Memory:
    """The memory of these words in a scope; one that is known there becomes what the request says of it."""
    asked = {
        "partition_id": item.partition_id,
        "tags": item.tags,
        "importance": item.importance_score,
        "metadata": item.metadata,
    }
    added = await _added(context, {"content": item.content, **asked}, scope, item.source or SOURCE)
    record = await _fact(context, added.id)
    if added.action != "known":
        return record
    named = {"importance" if name == "importance_score" else name for name in item.model_fields_set}
    said = {name: value for name, value in asked.items() if name in named}
    return await _version(context, record, said) if said else record


async def changed(
    context: RequestContext, record: records.Memory | Turn, update: MemoryUpdate
) -> records.Memory:
    """A memory with what an update names; the version before it stays as its history.

    Raises:
        InputError: it is a turn, or the summary of a session.
    """
    if isinstance(record, Turn):
        raise InputError(
            f"{record.id} is a turn of a session, which keeps what was said. Add a memory, or delete this one."
        )
    if record.source == SUMMARY:
        raise InputError(
            f"{record.id} is the summary of a session, which follows from its turns. Add a memory instead."
        )
    asked = {
        "content": update.content,
        "importance": update.importance_score,
        "tags": update.tags,
        "metadata": update.metadata,
    }
    said = {name: value for name, value in asked.items() if value is not None}
    return await _version(context, record, said) if said else record


async def _version(context: RequestContext, record: records.Memory, said: dict[str, Any]) -> records.Memory:
    # A new version inherits all but its words and its place in a session, so these are said again.
    arguments = {"content": record.content, "metadata": record.metadata, **said, "updates": [record.id]}
    return await _fact(context, (await _added(context, arguments, record.scope, record.source)).id)


async def _added(context: RequestContext, arguments: dict[str, Any], scope: str, source: str) -> MemoryAdded:
    """One write without a look at what is similar, which these clients do not show and a batch would wait for."""
    made = envelope("memory", AddMemory(**arguments), scope=scope, source=source, at=context.core.clock())
    added = await context.core.writer.write(made)
    assert isinstance(added, MemoryAdded)
    return added


async def _fact(context: RequestContext, id: str) -> records.Memory:
    return (await context.core.store.get(records.Memory, [id]))[id]
