"""`/api/v1/memories`: facts and turns one by one, as Hebb Mind's clients read and write them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Query

from scrubjay.listing import merged
from scrubjay.models.requests import Forget
from scrubjay.rest.hebb.keeping import changed, kept
from scrubjay.rest.hebb.partitions import require
from scrubjay.rest.hebb.record import as_memories, as_memory
from scrubjay.rest.hebb.scope import Staying
from scrubjay.rest.hebb.wire import Memory, MemoryCreate, MemoryUpdate, Page
from scrubjay.rest.visit import SOURCE
from scrubjay.store import sql
from scrubjay.store.tallies import KINDS, current

MOST_AT_ONCE = 1_000  # memories of one batch
MISSING: dict[int | str, dict[str, Any]] = {404: {"description": "There is no such memory, or no such partition."}}
MemoryId = Annotated[str, Path(min_length=1, max_length=200)]

router = APIRouter(prefix="/api/v1/memories")


@router.post("", status_code=201, response_model=Memory, responses=MISSING, summary="Keep one memory")
async def create(stay: Staying, item: MemoryCreate) -> Memory:
    scope = stay.writes()
    await require(stay, item.partition_id)
    return await as_memory(stay.visit.core, await kept(stay.visit, item, scope))


@router.post("/batch", status_code=201, response_model=list[Memory], responses=MISSING, summary="Keep many memories")
async def create_batch(stay: Staying, items: Annotated[list[MemoryCreate], Body(max_length=MOST_AT_ONCE)]) -> list[Memory]:
    """A bare list; the answer has one memory for each, in the same order. An unknown partition refuses all of them."""
    scope = stay.writes()
    for partition_id in {item.partition_id for item in items}:
        await require(stay, partition_id)
    return await as_memories(stay.visit.core, [await kept(stay.visit, item, scope) for item in items])


@router.get("", response_model=Page[Memory], summary="List memories, newest first")
async def listed(
    stay: Staying,
    partition_id: Annotated[str | None, Query(max_length=100)] = None,
    tags: Annotated[str | None, Query(max_length=10_000, description="Tags with commas between them; memories carry all of them.")] = None,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Page[Memory]:
    core = stay.visit.core
    await core.writer.drain()
    await core.store.flush()
    wanted = [tag.strip() for tag in (tags or "").split(",") if tag.strip()]
    conditions = [sql.equal("partition_id", partition_id)] if partition_id else []
    conditions += [sql.has_all("tags", wanted)] if wanted else []
    scopes = await stay.reads()
    page = await merged(core.store, {kind: current(kind, scopes, stay.visit.now, *conditions) for kind in KINDS}, start=offset, size=limit)
    return Page(items=await as_memories(core, page.rows), total=page.total, offset=offset, limit=limit)


@router.get("/{memory_id}", response_model=Memory, responses=MISSING, summary="Read one memory")
async def read(stay: Staying, memory_id: MemoryId) -> Memory:
    """Counts as an access, which the next answer shows."""
    record = await stay.memory(memory_id)
    made = await as_memory(stay.visit.core, record)
    stay.visit.core.access.note([record.id])
    return made


@router.patch("/{memory_id}", response_model=Memory, responses=MISSING, summary="Change one memory")
async def update(stay: Staying, memory_id: MemoryId, item: MemoryUpdate) -> Memory:
    """The id stays. What it said before is kept as an older version; a turn keeps what was said and is refused."""
    record = await stay.memory(memory_id)
    stay.visit.leave.writes_to(record.scope)
    return await as_memory(stay.visit.core, await changed(stay.visit, record, item))


@router.delete("/{memory_id}", status_code=204, responses=MISSING, summary="Forget one memory")
async def delete(stay: Staying, memory_id: MemoryId) -> None:
    """It leaves every search and list; `scrubjay restore` brings it back."""
    record = await stay.memory(memory_id)
    scope = stay.visit.leave.writes_to(record.scope)
    await stay.visit.core.forget(Forget(id=record.id, reason="deleted over HTTP"), scope, SOURCE)
