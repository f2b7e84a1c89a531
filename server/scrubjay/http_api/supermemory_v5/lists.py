"""Pages of what a namespace holds: documents, chunks of documents, memories; and how many memories documents have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import Field

from scrubjay.errors import InputError
from scrubjay.http_api.supermemory_v5.bodies import Answer, Body, PageNumber, PageSize, Pagination, pagination
from scrubjay.http_api.supermemory_v5.context import Place, Reading
from scrubjay.http_api.supermemory_v5.documents import ListedChunk, ListedDocument, chunk_values, listed
from scrubjay.http_api.supermemory_v5.filter_expressions import FilterExpression
from scrubjay.http_api.supermemory_v5.memories import ShownMemory, shown
from scrubjay.models.fields import Flag
from scrubjay.models.records import Document, Memory, is_current
from scrubjay.records.extracted import facts_of_documents
from scrubjay.search.document_search import COLUMNS
from scrubjay.search.listing import chunk_page, page
from scrubjay.store import conditions

router = APIRouter()

Kind = Literal["documents", "chunks", "memories"]
Sort = Literal["createdAt", "updatedAt", "position"]


class ListInclude(Body):
    content: Annotated[Flag, Field(description="With each document its text.")] = False
    memory_count: Annotated[
        Flag, Field(description="With each document how many memories were learned of it.")
    ] = False
    forgotten: Annotated[Flag, Field(description="Also memories that were forgotten or have expired.")] = (
        False
    )


class Listing(Body):
    filter: Annotated[FilterExpression | None, Field(description="Only what has metadata that fits.")] = None
    include: ListInclude = ListInclude()


class Listed(Answer):
    """One page; of the three lists those that were not asked for are empty."""

    documents: list[ListedDocument]
    chunks: list[ListedChunk]
    memories: list[ShownMemory]
    pagination: Pagination


class Counting(Body):
    ids: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=255)]], Field(min_length=1, max_length=100)
    ]


class MemoryCount(Answer):
    id: str
    memory_count: Annotated[int, Field(ge=0)]


class MemoryCounts(Answer):
    """One entry for each document that is here."""

    counts: list[MemoryCount]


@router.post("/ns/{namespace}/list/documents/memory-counts", summary="Count the memories of documents")
async def memory_counts(place: Reading, asked: Counting) -> MemoryCounts:
    """How many memories were learned of each of these documents, by their ids; one that is not in the namespace is left out."""
    rows = await place.context.core.store.get(Document, asked.ids)
    here = [
        id
        for id in dict.fromkeys(asked.ids)
        if id in rows and rows[id].scope == place.namespace and rows[id].forgotten_at is None
    ]
    counts = await _memories_of(place, here)
    return MemoryCounts(counts=[MemoryCount(id=id, memory_count=counts[id]) for id in here])


@router.post(
    "/ns/{namespace}/list/{type}",
    summary="List documents, chunks or memories",
    response_model_exclude_unset=True,
)
async def list_page(
    place: Reading,
    type: Kind,
    asked: Listing | None = None,
    page: PageNumber = 1,
    limit: PageSize = 10,
    sort: Annotated[
        Sort, Query(description="position: of a chunk in its document, for chunks only.")
    ] = "createdAt",
    order: Literal["asc", "desc"] = "desc",
) -> Listed:
    """One page of what the namespace holds, newest first; a memory in its latest version."""
    if sort == "position" and type != "chunks":
        raise InputError(f"sort = 'position' is not possible for {type}; give createdAt or updatedAt.")
    await place.context.core.writer.drain()
    await place.context.core.store.flush()
    listing = asked or Listing()
    window: dict[str, Any] = {"start": (page - 1) * limit, "size": limit, "descending": order == "desc"}
    rows, total = await _READERS[type](place, listing, window, sort)
    lists: dict[str, Any] = {"documents": [], "chunks": [], "memories": [], type: rows}
    return Listed(**lists, pagination=pagination(page, limit, total))


async def _documents(
    place: Place, asked: Listing, window: dict[str, Any], sort: Sort
) -> tuple[Sequence[Answer], int]:
    where = conditions.both(conditions.equal("scope", place.namespace), conditions.NOT_FORGOTTEN)
    columns = [*COLUMNS, "content"] if asked.include.content else COLUMNS
    found = await page(
        place.context.core.store,
        Document,
        where,
        sort=_time(sort),
        filters=asked.filter,
        columns=columns,
        **window,
    )
    status = await place.context.core.documents.statuses(found.rows)
    counts = await _memories_of(place, [row.id for row in found.rows]) if asked.include.memory_count else None
    rows = [
        listed(
            row,
            status[row.id],
            content=asked.include.content,
            memories=None if counts is None else counts[row.id],
        )
        for row in found.rows
    ]
    return rows, found.total


async def _chunks(
    place: Place, asked: Listing, window: dict[str, Any], sort: Sort
) -> tuple[Sequence[Answer], int]:
    store = place.context.core.store
    found = await chunk_page(
        store, place.namespace, by_position=sort == "position", filters=asked.filter, **window
    )
    rows = {
        row.id: row
        for row in await store.select(
            Document, conditions.one_of("id", {each.record_id for each in found.rows}), columns=COLUMNS
        )
    }
    made = [
        ListedChunk(**chunk_values(rows[each.record_id], each), document_id=each.record_id)
        for each in found.rows
        if each.record_id in rows
    ]
    return made, found.total


async def _memories(
    place: Place, asked: Listing, window: dict[str, Any], sort: Sort
) -> tuple[Sequence[Answer], int]:
    here = (
        None
        if asked.include.forgotten
        else conditions.both(conditions.NOT_FORGOTTEN, conditions.unexpired(place.context.now))
    )
    where = conditions.both(conditions.equal("scope", place.namespace), conditions.LATEST, here)
    found = await page(
        place.context.core.store, Memory, where, sort=_time(sort), filters=asked.filter, **window
    )
    return [shown(fact, place.context.now) for fact in found.rows], found.total


_READERS = {"documents": _documents, "chunks": _chunks, "memories": _memories}


def _time(sort: Sort) -> Literal["created_at", "updated_at"]:
    return "updated_at" if sort == "updatedAt" else "created_at"


async def _memories_of(place: Place, ids: Sequence[str]) -> Counter[str]:
    """How many facts there are of each of these documents."""
    facts = [
        fact
        for fact in await facts_of_documents(place.context.core.store, ids)
        if is_current(fact, place.context.now)
    ]
    return Counter(id for fact in facts for id in fact.document_ids)
