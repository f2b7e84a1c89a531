"""Memories on the wire of `/v4/memories`: what clients send and parse. Knows their fields and ranges; does not know where a memory is."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from scrubjay.http_api.supermemory_v4.bodies import (
    Filters,
    Pagination,
    Part,
    Tag,
    Tagged,
    TemporalContext,
    Whole,
)
from scrubjay.models.fields import MAX_MEMORY, Flag, Instant, Metadata, Name, Real, Text
from scrubjay.models.records import Memory
from scrubjay.models.requests import Query, Reason
from scrubjay.records.reviewing import is_inference

Content = Annotated[Text, Field(max_length=MAX_MEMORY)]
Flat = dict[str, Any] | None
ForgetAfter = Annotated[
    Instant | None, Field(description="From then on it is forgotten (ISO 8601); null: never.")
]


class NewMemory(Part):
    content: Annotated[Content, Field(description="One fact, understandable on its own.")]
    is_static: Annotated[Flag, Field(description="A lasting trait rather than a passing state.")] = False
    metadata: Metadata = Field(default_factory=dict)
    forget_after: ForgetAfter = None
    forget_reason: Reason | None = None
    temporal_context: TemporalContext | None = None


class CreateMemories(Part):
    """Memories to keep as they are."""

    memories: Annotated[list[NewMemory], Field(min_length=1, max_length=100)]
    container_tag: Tag | None = None


class Created(Part):
    id: str
    memory: str
    is_static: bool
    created_at: datetime


class CreatedMemories(Part):
    """In the order of the request; a memory that was known already has the id it had."""

    document_id: Annotated[None, Field(description="Always null: such a memory is of no document.")] = None
    memories: list[Created]


class _Addressed(Part):
    id: Annotated[Name | None, Field(description="Of the memory; an older version's means the newest.")] = (
        None
    )
    content: Annotated[Content | None, Field(description="Its exact words, in place of the id.")] = None
    container_tag: Tag | None = None


class UpdateMemory(_Addressed):
    """A new version of a memory."""

    new_content: Content
    metadata: Annotated[Metadata | None, Field(description="Left out: as in the old version.")] = None
    forget_after: Annotated[ForgetAfter, Field(description="Left out: as in the old version.")] = None
    forget_reason: Reason | None = None
    temporal_context: Annotated[
        TemporalContext | None,
        Field(
            description="Kept in the metadata as documentDate and eventDate; left out: as in the old version."
        ),
    ] = None


class Updated(Part):
    """The newest version; the old one stays as its history."""

    id: str
    memory: str
    version: int
    parent_memory_id: str | None
    root_memory_id: str
    created_at: datetime
    metadata: Flat
    forget_after: datetime | None
    forget_reason: str | None


class ForgetMemory(_Addressed):
    """What to forget. The id may also be a document's, which goes with its memories, or a turn's."""

    reason: Annotated[Reason | None, Field(description="Why; kept beside it.")] = None


class Gone(Part):
    id: str
    forgotten: Literal[True]


class ForgetMany(Part):
    """Which memories to forget: those with these ids, or those that a query is about."""

    container_tag: Tag | None = None
    query: Query | None = None
    ids: Annotated[list[Name] | None, Field(min_length=1, max_length=500)] = None
    dry_run: Annotated[Flag, Field(description="True: only list them.")] = False
    threshold: Annotated[
        Real, Field(ge=0, le=1, description="Least similarity to the query of what is forgotten.")
    ] = 0.5
    max_forget: Annotated[
        Whole, Field(ge=1, le=500, description="At most so many, the most similar first.")
    ] = 100
    reason: Reason | None = None


class Matched(Part):
    id: str
    memory: str
    score: Annotated[
        float, Field(ge=0, le=1, description="Similarity to the query; 1 for what was named by its id.")
    ]


class ForgottenMany(Part):
    """`candidates` of a dry run, else `forgotten`. What has none of the ids is passed over and said in `summary`."""

    dry_run: bool
    count: int
    forget_batch_id: str | None
    summary: str
    candidates: list[Matched] = Field(default_factory=list)
    forgotten: list[Matched] = Field(default_factory=list)


class ListMemories(Tagged):
    """Which page of the memories."""

    page: Annotated[Whole, Field(ge=1, le=1_000_000)] = 1
    limit: Annotated[Whole, Field(ge=1, le=1_100)] = 10
    sort: Literal["createdAt", "updatedAt"] = "createdAt"
    order: Literal["asc", "desc"] = "desc"
    filters: Filters | None = None


class Version(Part):
    id: str
    memory: str
    version: int
    created_at: datetime
    updated_at: datetime


class MemoryEntry(Version):
    """A memory as it is now, with its older versions in `history`, the nearest first."""

    is_latest: bool
    is_forgotten: bool
    is_static: bool
    is_inference: Annotated[bool, Field(description="It was concluded from other memories.")]
    parent_memory_id: str | None
    root_memory_id: str
    source_count: int
    document_ids: list[str]
    container_tag: str
    metadata: Flat
    forget_after: datetime | None
    forget_reason: str | None
    history: list[Version] = Field(default_factory=list)


class MemoryEntries(Part):
    memory_entries: list[MemoryEntry]
    pagination: Pagination


def version_of(memory: Memory) -> dict[str, Any]:
    """One version of a memory."""
    return {
        "id": memory.id,
        "memory": memory.content,
        "version": memory.version,
        "created_at": memory.created_at,
        "updated_at": memory.updated_at,
    }


def entry(memory: Memory, history: list[Memory]) -> MemoryEntry:
    """A memory with its older versions."""
    return MemoryEntry.model_validate(
        {
            **version_of(memory),
            "is_latest": memory.is_latest,
            "is_forgotten": memory.forgotten_at is not None,
            "is_static": memory.is_static,
            "is_inference": is_inference(memory),
            "parent_memory_id": parent_of(memory),
            "root_memory_id": memory.root_id,
            "source_count": max(1, len(memory.document_ids)),
            "document_ids": list(memory.document_ids),
            "container_tag": memory.scope,
            "metadata": memory.metadata or None,
            "forget_after": memory.expires_at,
            "forget_reason": memory.forget_reason,
            "history": [version_of(row) for row in history],
        }
    )


def parent_of(memory: Memory) -> str | None:
    """The version before this one."""
    return memory.parent_ids[-1] if memory.relation == "updates" and memory.parent_ids else None
