"""Pages of the documents, chunks and memories of a namespace, and how many memories documents have."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from fastapi import Path, Query
from pydantic import Field

from scrubjay.errors import InputError
from scrubjay.http_api.answers import Answer
from scrubjay.http_api.routes import Routes
from scrubjay.http_api.supermemory_v5.answers import ANSWERS
from scrubjay.http_api.supermemory_v5.bodies import Body, GivenId, PageNumber, PageSize, pagination
from scrubjay.http_api.supermemory_v5.context import NamespaceContext, Reading
from scrubjay.http_api.supermemory_v5.documents import as_chunk, as_listed
from scrubjay.http_api.supermemory_v5.filter_expressions import FilterExpression
from scrubjay.http_api.supermemory_v5.memories import as_memory
from scrubjay.models.fields import Flag
from scrubjay.models.records import Document
from scrubjay.models.requests import about

route = Routes(ANSWERS)

Kind = Literal["documents", "chunks", "memories"]
Rows = tuple[Sequence[Mapping[str, Any]], int]  # of one page, and how many there are
Sort = Literal["createdAt", "updatedAt", "position"]


class ListInclude(Body):
    content: Flag = about("With each document its text.", False)
    memory_count: Flag = about("With each document how many memories were learned of it.", False)
    forgotten: Flag = about("Also memories that were forgotten or have expired.", False)


class Listing(Body):
    filter: FilterExpression | None = about("Only what has metadata that fits.")
    include: ListInclude = ListInclude()


class Counting(Body):
    ids: Annotated[list[GivenId], Field(min_length=1, max_length=100)]


@route("POST /ns/{namespace}/list/documents/memory-counts", "Count the memories of documents", "MemoryCounts")
async def memory_counts(ns: Reading, request: Counting) -> Answer:
    """How many memories were learned of each of these documents, by their ids.

    One that is not in the namespace is left out.
    """
    ids = dict.fromkeys(request.ids)
    rows = await ns.core.lists.cited_documents(ids)
    here = [row for document_id in ids if (row := rows.get(document_id)) and row.scope == ns.name]
    counts = await _count_memories(ns, here)
    return dict(counts=[dict(id=row.id, memoryCount=counts[row.id]) for row in here])


@route("POST /ns/{namespace}/list/{type}", "List documents, chunks or memories", "Listed")
async def list_page(
    ns: Reading,
    kind: Annotated[Kind, Path(alias="type")],
    listing: Listing | None = None,
    page: PageNumber = 1,
    limit: PageSize = 10,
    sort: Annotated[
        Sort, Query(description="position: of a chunk in its document, for chunks only.")
    ] = "createdAt",
    order: Literal["asc", "desc"] = "desc",
) -> Any:
    """One page of what the namespace holds, newest first; a memory in its latest version."""
    if sort == "position" and kind != "chunks":
        raise InputError(f"sort = 'position' is not possible for {kind}; give createdAt or updatedAt.")
    request = listing or Listing()
    window: dict[str, Any] = {"start": (page - 1) * limit, "size": limit}
    window |= {"descending": order == "desc", "filters": request.filter}
    if kind == "chunks":
        window["by_position"] = sort == "position"
    else:
        window["sort"] = "updated_at" if sort == "updatedAt" else "created_at"
    rows, total = await _READERS[kind](ns, request.include, window)
    lists: dict[str, Any] = {"documents": [], "chunks": [], "memories": [], kind: rows}
    return {**lists, "pagination": pagination(page, limit, total)}


async def _documents(ns: NamespaceContext, include: ListInclude, window: dict[str, Any]) -> Rows:
    page = await ns.core.lists.documents([ns.name], content=include.content, **window)
    status = await ns.core.documents.statuses(page.rows)
    counts = await _count_memories(ns, page.rows) if include.memory_count else None
    rows = [
        as_listed(row, status[row.id], include.content, None if counts is None else counts[row.id])
        for row in page.rows
    ]
    return rows, page.total


async def _chunks(ns: NamespaceContext, include: ListInclude, window: dict[str, Any]) -> Rows:
    page = await ns.core.lists.chunks(ns.name, **window)
    documents = await ns.core.lists.cited_documents({chunk.record_id for chunk in page.rows})
    pairs = [(documents[chunk.record_id], chunk) for chunk in page.rows if chunk.record_id in documents]
    return [{**as_chunk(row, chunk), "documentId": row.id} for row, chunk in pairs], page.total


async def _memories(ns: NamespaceContext, include: ListInclude, window: dict[str, Any]) -> Rows:
    page = await ns.core.lists.memories([ns.name], forgotten=include.forgotten, **window)
    return [as_memory(fact, ns.now) for fact in page.rows], page.total


_READERS = {"documents": _documents, "chunks": _chunks, "memories": _memories}


async def _count_memories(ns: NamespaceContext, documents: Sequence[Document]) -> Counter[str]:
    """Count the current facts of each of these documents, by the document's id."""
    facts = await ns.core.lists.facts_of_documents([row.id for row in documents])
    return Counter(document_id for fact in facts for document_id in fact.document_ids)
