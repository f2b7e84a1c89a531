"""`/v4/memories`: facts kept word for word, their new versions, their list. Knows what the clients send; the verbs are `memories`'."""

from __future__ import annotations

from typing import Annotated, Any, cast
from uuid import uuid4

from fastapi import APIRouter
from fastapi import Query as InQuery

from scrubjay import versions
from scrubjay.listing import page
from scrubjay.models.facts import FactText
from scrubjay.models.records import SUMMARY, Memory
from scrubjay.models.requests import parse
from scrubjay.models.results import MemoryAdded
from scrubjay.rest.supermemory.targets import fact
from scrubjay.rest.supermemory.wire import Pagination, Tag
from scrubjay.rest.supermemory.wire_memories import (
    Created,
    CreatedMemories,
    CreateMemories,
    ListMemories,
    MemoryEntries,
    NewMemory,
    Updated,
    UpdateMemory,
    entry,
    parent_of,
)
from scrubjay.rest.visit import SOURCE, Visit, Visiting
from scrubjay.store import sql
from scrubjay.store.store import unexpired
from scrubjay.writes import envelope

UNKNOWN: dict[int | str, dict[str, Any]] = {404: {"description": "There is no such memory under this tag."}}
SOON_SECONDS = 0.5  # for the vectors of new memories: some 8 ms each, while nothing else is embedded
_TEMPORAL = ("documentDate", "eventDate")  # of metadata

router = APIRouter()


@router.post("/v4/memories", response_model=CreatedMemories, status_code=201, summary="Create memories")
async def create(asked: CreateMemories, visit: Visiting) -> Any:
    """Keep up to 100 facts as they are, searchable at once. Words that are known already add nothing, so the call may be repeated."""
    scope = visit.leave.writes_to(asked.container_tag)
    added = [await _added(visit, scope, _fact(memory)) for memory in asked.memories]
    await _searchable(visit, added)
    rows = await visit.core.store.get(Memory, added)
    return CreatedMemories(
        memories=[Created(id=id, memory=rows[id].content, is_static=rows[id].is_static, created_at=rows[id].created_at) for id in added]
    )


@router.patch("/v4/memories", response_model=Updated, summary="Update a memory", responses=UNKNOWN)
async def update(asked: UpdateMemory, visit: Visiting) -> Any:
    """Give a memory new content as a new version; what is not named is inherited. Nothing new makes no new version."""
    old = await fact(visit, asked.id, asked.content, asked.container_tag)
    given = asked.model_fields_set
    values: dict[str, Any] = {"content": asked.new_content, "updates": [old.id]}
    if asked.metadata is not None or asked.temporal_context is not None:
        kept = {key: value for key, value in old.metadata.items() if asked.metadata is None or key in _TEMPORAL}
        told = asked.temporal_context.metadata() if asked.temporal_context else {}
        values["metadata"] = {**kept, **(asked.metadata or {}), **told}
    if "forget_after" in given:
        values["expires_at"] = asked.forget_after
    if "forget_reason" in given:
        values["forget_reason"] = asked.forget_reason
    id = await _added(visit, old.scope, parse(FactText, values))
    await _searchable(visit, [id])
    new = (await visit.core.store.get(Memory, [id]))[id]
    return Updated(
        id=new.id,
        memory=new.content,
        version=new.version,
        parent_memory_id=parent_of(new),
        root_memory_id=new.root_id,
        created_at=new.created_at,
        metadata=new.metadata or None,
        forget_after=new.expires_at,
        forget_reason=new.forget_reason,
    )


@router.post("/v4/memories/list", response_model=MemoryEntries, summary="List memories")
async def listed(asked: ListMemories, visit: Visiting) -> Any:
    """The newest version of every memory that is not forgotten, a page at a time, with its older versions."""
    store, now = visit.core.store, visit.now
    await visit.core.writer.drain()
    await store.flush()
    where = sql.both(
        sql.one_of("scope", await visit.seen(asked.tags)),
        sql.equal("is_latest", True),
        "forgotten_at IS NULL",
        unexpired(now),
        f"NOT ({sql.equal('source', SUMMARY)})",
    )
    found = await page(
        store,
        Memory,
        where,
        start=(asked.page - 1) * asked.limit,
        size=asked.limit,
        sort="created_at" if asked.sort == "createdAt" else "updated_at",
        descending=asked.order == "desc",
        filter=asked.filters,
    )
    entries = [entry(row, await versions.history(store, row) if row.version > 1 else []) for row in found.rows]
    pages = Pagination(current_page=asked.page, limit=asked.limit, total_items=found.total, total_pages=-(-found.total // asked.limit))
    return MemoryEntries(memory_entries=entries, pagination=pages)


@router.get("/v4/memories", response_model=MemoryEntries, summary="List memories, by query parameters")
async def listed_by_query(
    visit: Visiting,
    container_tag: Annotated[Tag | None, InQuery(alias="containerTag")] = None,
    page: Annotated[int, InQuery(ge=1, le=1_000_000)] = 1,
    limit: Annotated[int, InQuery(ge=1, le=1_100)] = 10,
) -> Any:
    """As `POST /v4/memories/list`, of one tag or of all."""
    return await listed(ListMemories(container_tag=container_tag, page=page, limit=limit), visit)


async def _searchable(visit: Visit, ids: list[str]) -> None:
    """Wait a moment for vectors: whoever searches next would find these by their words alone, and `threshold` is high here."""
    await visit.core.writer.settle()
    visit.core.indexer.wake()
    await visit.core.indexer.found_by_meaning(ids, SOON_SECONDS)


def _fact(memory: NewMemory) -> FactText:
    told = memory.temporal_context.metadata() if memory.temporal_context else {}
    values: dict[str, Any] = {"content": memory.content, "is_static": memory.is_static, "metadata": {**memory.metadata, **told}}
    if memory.forget_after is not None:
        values |= {"expires_at": memory.forget_after, "forget_reason": memory.forget_reason}
    return parse(FactText, values)


async def _added(visit: Visit, scope: str, text: FactText) -> str:
    """Write one fact, without looking for others like it, which no client of this family is told of; its id."""
    made = envelope("memory", text, id=uuid4().hex, scope=scope, source=SOURCE, at=visit.now)
    return cast(MemoryAdded, await visit.core.writer.write(made)).id
