"""Memories on the wire of `/v4/memories` and of the review queue: what clients send and parse."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from scrubjay.http_api.supermemory_v4.bodies import (
    Filters,
    Flat,
    MemoryFields,
    Pagination,
    Paging,
    Part,
    Tag,
    Tagged,
    Whole,
    iso,
    memory_values,
)
from scrubjay.models.fields import MAX_MEMORY, Flag, Instant, Metadata, Name, Real, Text
from scrubjay.models.records import Memory
from scrubjay.models.requests import Query, Reason

Content = Annotated[Text, Field(max_length=MAX_MEMORY)]
ForgetAfter = Annotated[
    Instant | None, Field(description="From then on it is forgotten (ISO 8601); null: never.")
]


class TemporalContext(Part):
    """When a fact was written down, and the dates of what it tells of."""

    document_date: Instant | None = None
    event_date: Annotated[list[Instant] | None, Field(max_length=100)] = None

    def metadata(self) -> dict[str, Any]:
        """Return it as metadata, which is flat: under `documentDate` and `eventDate`."""
        values: dict[str, Any] = {}
        if self.document_date is not None:
            values["documentDate"] = iso(self.document_date)
        if self.event_date:
            values["eventDate"] = [iso(date) for date in self.event_date]
        return values


class NewMemory(Part):
    """One memory to keep."""

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
    """A memory as it is kept."""

    id: str
    memory: str
    is_static: bool
    created_at: datetime


class CreatedMemories(Part):
    """In the order of the request; a memory that was known already has the id it had."""

    document_id: Annotated[None, Field(description="Always null: such a memory is of no document.")] = None
    memories: list[Created]


class _OneMemory(Part):
    id: Annotated[Name | None, Field(description="Of the memory; an older version's means the newest.")] = (
        None
    )
    content: Annotated[Content | None, Field(description="Its exact words, in place of the id.")] = None
    container_tag: Tag | None = None


class UpdateMemory(_OneMemory):
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


class ForgetMemory(_OneMemory):
    """What to forget. The id may also be a document's, which goes with its memories, or a turn's."""

    reason: Annotated[Reason | None, Field(description="Why; kept beside it.")] = None


class Gone(Part):
    """What was forgotten."""

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
    """A memory that was forgotten, or would be."""

    id: str
    memory: str
    score: Annotated[
        float, Field(ge=0, le=1, description="Similarity to the query; 1 for what was named by its id.")
    ]


class ForgottenMany(Part):
    """`candidates` of a dry run, else `forgotten`. `summary` says how many ids name nothing."""

    dry_run: bool
    count: int
    forget_batch_id: str | None
    summary: str
    candidates: list[Matched] = Field(default_factory=list)
    forgotten: list[Matched] = Field(default_factory=list)


class ListMemories(Tagged, Paging):
    """Which page of the memories."""

    filters: Filters | None = None


class Version(Part):
    """One version of a memory."""

    id: str
    memory: str
    version: int
    created_at: datetime
    updated_at: datetime


class MemoryEntry(MemoryFields):
    """A memory as it is now, with its older versions in `history`, the nearest first."""

    created_at: datetime
    updated_at: datetime
    root_memory_id: str
    document_ids: list[str]
    container_tag: str
    forget_after: datetime | None
    forget_reason: str | None
    history: list[Version] = Field(default_factory=list)


class MemoryEntries(Part):
    """A page of memories."""

    memory_entries: list[MemoryEntry]
    pagination: Pagination


class Inferred(Part):
    """A memory that was concluded from others."""

    id: str
    memory: str
    is_inference: bool
    parent_count: Annotated[int, Field(description="How many records it was concluded from.")]
    parent_ids: list[str]
    metadata: Flat
    created_at: str
    updated_at: str


class Queue(Part):
    """The memories that wait for review."""

    memories: Annotated[
        list[Inferred], Field(description="At most 50, those that rest on most others first.")
    ]
    total: int


class Decision(Part):
    """What is to become of it."""

    action: Annotated[
        Literal["approve", "decline", "undo"],
        Field(description="approve: it counts as said; decline: it is forgotten; undo: it waits again."),
    ]


class Decided(Part):
    """What became of it."""

    id: str
    is_inference: bool
    is_forgotten: bool
    review_status: Literal["approved", "declined"] | None


def memory_entry(fact: Memory, history: list[Memory]) -> MemoryEntry:
    """Return a memory with its older versions."""
    return MemoryEntry(
        **memory_values(fact),
        created_at=fact.created_at,
        updated_at=fact.updated_at,
        root_memory_id=fact.root_id,
        document_ids=list(fact.document_ids),
        container_tag=fact.scope,
        forget_after=fact.expires_at,
        forget_reason=fact.forget_reason,
        history=[_version(older) for older in history],
    )


def _version(fact: Memory) -> Version:
    return Version(
        id=fact.id,
        memory=fact.content,
        version=fact.version,
        created_at=fact.created_at,
        updated_at=fact.updated_at,
    )


def inferred(fact: Memory) -> Inferred:
    """Return a memory as the review queue lists it."""
    return Inferred(
        id=fact.id,
        memory=fact.content,
        is_inference=True,
        parent_count=len(fact.parent_ids),
        parent_ids=list(fact.parent_ids),
        metadata=fact.metadata or None,
        created_at=iso(fact.created_at),
        updated_at=iso(fact.updated_at),
    )
