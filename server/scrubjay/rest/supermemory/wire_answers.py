"""Documents as the clients of `/v3` parse them: what is answered to an add, a get, a list. Knows names and which of them may be missing;
does not know how anything is found.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from scrubjay.engine.filing import Status
from scrubjay.models.records import Document, Memory
from scrubjay.rest.supermemory.wire import Pagination, Part, iso
from scrubjay.rest.supermemory.wire_documents import Paged
from scrubjay.reviewing import is_inference

_TYPES = {"pdf": "pdf", "html": "webpage"}  # the clients know no other kind that we read


class Accepted(Part):
    """A document was taken; it is on disk, and found by words within a moment."""

    id: str
    status: Annotated[Status, Field(description="queued, or how far it is where nothing new was sent.")]


class BatchItem(Part):
    id: Annotated[str, Field(description="Of one that failed its custom id, or unknown.")]
    status: Literal["queued", "embedding", "done", "failed", "error"]
    error: str | None = None
    details: str | None = None


class BatchAnswer(Part):
    results: list[BatchItem]
    success: int
    failed: int


class DeleteError(Part):
    id: str
    error: str


class BulkAnswer(Part):
    success: bool
    deleted_count: int
    errors: list[DeleteError] | None = None
    container_tags: list[str] | None = None


class Listed(Part):
    """A document without its text, unless that was asked for."""

    id: str
    custom_id: str | None
    connection_id: None = None
    title: str | None
    type: Literal["text", "pdf", "webpage"]
    status: Status
    summary: str | None
    metadata: dict[str, Any] | None
    container_tags: list[str]
    filepath: str | None
    created_at: str
    updated_at: str
    error_message: Annotated[str | None, Field(description="Why it failed.")] = None
    content: str | None = None


class MemoryEntry(Part):
    """A memory that was learned from a document, or that cites it."""

    id: str
    memory: str
    version: int
    is_latest: bool
    is_forgotten: bool
    is_static: bool
    is_inference: bool
    parent_memory_id: str | None
    root_memory_id: str | None
    source_count: int
    metadata: dict[str, Any] | None
    created_at: str
    updated_at: str


class WholeDocument(Listed):
    """A document with its text."""

    dreaming_status: Literal["dreaming", "done"]
    source: str
    task_type: Literal["memory", "superrag"]
    url: str | None = None
    og_image: None = None
    raw: None = None
    latest_revision: int = 1
    active_content_update_id: None = None
    tombstoned_at: None = None
    memories: list[MemoryEntry] | None = None


class DocumentPage(Part):
    memories: Annotated[list[Listed], Field(description="The documents of this page.")]
    pagination: Pagination


class WithMemories(Listed):
    memory_entries: list[MemoryEntry]


class GraphPage(Part):
    documents: list[WithMemories]
    pagination: Pagination


class InHand(Listed):
    stuck: Annotated[bool, Field(description="Nothing happened to it for four hours.")]


class Processing(Part):
    documents: list[InHand]
    total_count: int
    pagination: Pagination | None = None


class ChunkOfDocument(Part):
    id: str
    document_id: str
    content: str
    position: int
    line_start: int | None
    line_end: int | None


class Chunks(Part):
    chunks: list[ChunkOfDocument]
    pagination: Pagination


def type_of(type: str) -> Any:
    """The type of a document in the clients' words."""
    return _TYPES.get(type, "text")


def listed(row: Document, status: Status, **more: Any) -> dict[str, Any]:
    """The values of a `Listed` or a kind of it; `content` is among them if it is in `more`."""
    return {
        "id": row.id,
        "custom_id": row.custom_id,
        "connection_id": None,
        "title": row.title,
        "type": type_of(row.type),
        "status": status,
        "summary": row.summary,
        "metadata": row.metadata or None,
        "container_tags": [row.scope],
        "filepath": row.filepath or row.path,
        "created_at": iso(row.created_at),
        "updated_at": iso(row.updated_at),
        **({"error_message": row.error} if row.error else {}),
        **more,
    }


def entry(fact: Memory) -> MemoryEntry:
    """A memory as documents list it."""
    return MemoryEntry(
        id=fact.id,
        memory=fact.content,
        version=fact.version,
        is_latest=fact.is_latest,
        is_forgotten=fact.forgotten_at is not None,
        is_static=fact.is_static,
        is_inference=is_inference(fact),
        parent_memory_id=fact.parent_ids[0] if fact.relation == "updates" and fact.parent_ids else None,
        root_memory_id=fact.root_id if fact.version > 1 else None,
        source_count=max(1, len(fact.document_ids)),
        metadata=fact.metadata or None,
        created_at=iso(fact.created_at),
        updated_at=iso(fact.updated_at),
    )


def pagination(asked: Paged, total: int) -> Pagination:
    return Pagination(current_page=asked.page, limit=asked.limit, total_items=total, total_pages=-(-total // asked.limit))
