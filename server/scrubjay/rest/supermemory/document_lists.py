"""Routes that list: documents page by page, those in hand, those with their memories, and the chunks of one. Knows pages; does not know how
documents come to be.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Query

from scrubjay.chunk_search import COLUMNS
from scrubjay.learned import facts_of
from scrubjay.listing import Page, page
from scrubjay.memories import visible
from scrubjay.models.filters import Filter
from scrubjay.models.records import Document
from scrubjay.rest.supermemory.addressed import Id, WithinTag, document, filed_at
from scrubjay.rest.supermemory.wire_answers import (
    ChunkOfDocument,
    Chunks,
    DocumentPage,
    GraphPage,
    InHand,
    Listed,
    Processing,
    WithMemories,
    entry,
    listed,
    pagination,
)
from scrubjay.rest.supermemory.wire_documents import MOST_PER_PAGE, PER_PAGE, Listing, Paged
from scrubjay.rest.visit import Visit, Visiting
from scrubjay.store import sql

STUCK = timedelta(hours=4)  # without a change; what is in hand for so long is called stuck
_SORTS: dict[str, Literal["created_at", "updated_at"]] = {"createdAt": "created_at", "updatedAt": "updated_at"}
_PageNumber = Annotated[int, Query(ge=1, le=1_000_000)]
_PageSize = Annotated[int, Query(ge=1, le=MOST_PER_PAGE)]

router = APIRouter()


@router.post("/v3/documents/list", response_model=DocumentPage, response_model_exclude_unset=True, summary="List documents")
async def list_documents(visit: Visiting, body: Annotated[Listing | None, Body()] = None) -> DocumentPage:
    """A page of documents, under `memories`; failed ones are among them, deleted ones are not."""
    asked = body or Listing()
    found = await _page(visit, asked, filter=asked.filters, filepath=asked.filepath, whole=asked.include_content)
    status = await visit.core.filing.statuses(found.rows)
    rows = [Listed(**listed(row, status[row.id], **({"content": row.content} if asked.include_content else {}))) for row in found.rows]
    return DocumentPage(memories=rows, pagination=pagination(asked, found.total))


@router.post(
    "/v3/documents/documents", response_model=GraphPage, response_model_exclude_unset=True, summary="List documents with their memories"
)
async def list_with_memories(visit: Visiting, body: Annotated[Paged | None, Body()] = None) -> GraphPage:
    """A page of documents, each with the memories that were learned from it or cite it."""
    asked = body or Paged()
    found = await _page(visit, asked)
    status = await visit.core.filing.statuses(found.rows)
    facts = [fact for fact in await facts_of(visit.core.store, [row.id for row in found.rows]) if visible(fact, visit.now)]
    rows = [
        WithMemories(**listed(row, status[row.id]), memory_entries=[entry(fact) for fact in facts if row.id in fact.document_ids])
        for row in found.rows
    ]
    return GraphPage(documents=rows, pagination=pagination(asked, found.total))


@router.get("/v3/documents/processing", response_model=Processing, response_model_exclude_unset=True, summary="List documents in hand")
async def list_processing(
    visit: Visiting,
    containerTags: Annotated[str | None, Query(description="Tags, with commas between them.")] = None,
    view: Annotated[
        Literal["active", "pending", "all"],
        Query(description="active: changed in the last four hours; pending: all that are not done; all: failed ones too, page by page."),
    ] = "active",
    page: _PageNumber = 1,
    limit: _PageSize = PER_PAGE,
) -> Processing:
    """Documents that meaning does not find yet. While no model can be loaded nothing is in hand: words find everything."""
    tags = [tag.strip() for tag in (containerTags or "").split(",") if tag.strip()]
    await _committed(visit)
    scopes = sql.one_of("scope", await visit.seen(tags))
    waiting = await visit.core.store.passages(sql.both(scopes, "src = 'chunk'", "space_id IS NULL"), columns=["record_id"])
    in_hand = sql.one_of("id", sorted({piece.record_id for piece in waiting}))
    where = sql.both(scopes, "forgotten_at IS NULL", sql.either(in_hand, "status = 'failed'") if view == "all" else in_hand)
    rows = sorted(await visit.core.store.select(Document, where, columns=COLUMNS), key=lambda row: (row.updated_at, row.id), reverse=True)
    status = await visit.core.filing.statuses(rows)
    found = [row for row in rows if status[row.id] != "done" and (view != "active" or visit.now - row.updated_at < STUCK)]
    total = len(found)
    asked = Paged(page=page, limit=limit)
    if view == "all":
        found = found[(page - 1) * limit : page * limit]
    made = [
        InHand(**listed(row, status[row.id]), stuck=status[row.id] != "failed" and visit.now - row.updated_at >= STUCK) for row in found
    ]
    more: dict[str, Any] = {"pagination": pagination(asked, total)} if view == "all" else {}
    return Processing(documents=made, total_count=total, **more)


@router.get(
    "/v3/documents/{id:path}/chunks",
    response_model=Chunks,
    summary="The chunks of a document",
    responses={404: {"description": "No document that the caller reaches has this id or customId."}},
)
async def chunks(visit: Visiting, id: Id, within: WithinTag = None, page: _PageNumber = 1, limit: _PageSize = MOST_PER_PAGE) -> Chunks:
    """The pieces that a document is searched by, in its order, without the headings that are searched with them."""
    row = await document(visit, id, within)
    await _committed(visit)
    columns = ["id", "part", "text", "line_start", "line_end"]
    where = sql.both(sql.equal("record_id", row.id), f"part >= {(page - 1) * limit}", f"part < {page * limit}")
    found = sorted(await visit.core.store.passages(where, columns=columns), key=lambda piece: piece.part)
    made = [
        ChunkOfDocument(
            id=piece.id,
            document_id=row.id,
            content=piece.text,
            position=piece.part,
            line_start=piece.line_start,
            line_end=piece.line_end,
        )
        for piece in found
    ]
    return Chunks(chunks=made, pagination=pagination(Paged(page=page, limit=limit), row.chunk_count))


async def _page(
    visit: Visit, asked: Paged, *, filter: Filter | None = None, filepath: str | None = None, whole: bool = False
) -> Page[Document]:
    await _committed(visit)
    where = sql.both(sql.one_of("scope", await visit.seen(asked.container_tags)), "forgotten_at IS NULL", filed_at(filepath))
    return await page(
        visit.core.store,
        Document,
        where,
        start=(asked.page - 1) * asked.limit,
        size=asked.limit,
        sort=_SORTS[asked.sort],
        descending=asked.order == "desc",
        filter=filter,
        columns=None if whole else COLUMNS,
    )


async def _committed(visit: Visit) -> None:
    await visit.core.writer.drain()
    await visit.core.store.flush()
