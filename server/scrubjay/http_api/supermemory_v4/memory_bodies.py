"""Memories on the wire of `/v4/memories` and of the review queue: what clients send and parse."""

from typing import Annotated, Any, Literal

from pydantic import Field

from scrubjay.http_api.answers import Answer
from scrubjay.http_api.supermemory_v4.answers import ANSWERS
from scrubjay.http_api.supermemory_v4.bodies import (
    Filters,
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
from scrubjay.models.requests import Query, Reason, about

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
    content: Content = Field(description="One fact, understandable on its own.")
    is_static: Flag = about("A lasting trait rather than a passing state.", False)
    metadata: Metadata = Field(default_factory=dict)
    forget_after: ForgetAfter = None
    forget_reason: Reason | None = None
    temporal_context: TemporalContext | None = None


class CreateMemories(Part):
    memories: Annotated[list[NewMemory], Field(min_length=1, max_length=100)]
    container_tag: Tag | None = None


class _OneMemory(Part):
    id: Name | None = about("Of the memory; an older version's means the newest.")
    content: Content | None = about("Its exact words, in place of the id.")
    container_tag: Tag | None = None


class UpdateMemory(_OneMemory):
    new_content: Content
    metadata: Metadata | None = about("Left out: as in the old version.")
    forget_after: ForgetAfter = about("Left out: as in the old version.")
    forget_reason: Reason | None = None
    temporal_context: TemporalContext | None = about(
        "Kept in the metadata as documentDate and eventDate; left out: as in the old version."
    )


class ForgetMemory(_OneMemory):
    """What to forget. The id may also be a document's, which goes with its memories, or a turn's."""

    reason: Reason | None = about("Why; kept beside it.")


class ForgetMany(Part):
    """Which memories to forget: those with these ids, or those that a query is about."""

    container_tag: Tag | None = None
    query: Query | None = None
    ids: Annotated[list[Name] | None, Field(min_length=1, max_length=500)] = None
    dry_run: Flag = about("True: only list them.", False)
    threshold: Real = about("Least similarity to the query of what is forgotten.", 0.5, ge=0, le=1)
    max_forget: Whole = about("At most so many, the most similar first.", 100, ge=1, le=500)
    reason: Reason | None = None


class ListMemories(Tagged, Paging):
    filters: Filters | None = None


class Decision(Part):
    action: Literal["approve", "decline", "undo"] = Field(
        description="approve: it counts as said; decline: it is forgotten; undo: it waits again."
    )


def memory_entry(fact: Memory, history: list[Memory]) -> Answer:
    """Return a memory with its older versions."""
    return ANSWERS.fill(
        "ListedMemory",
        fact,
        **memory_values(fact),
        rootMemoryId=fact.root_id,
        containerTag=fact.scope,
        forgetAfter=fact.expires_at,
        history=[ANSWERS.fill("Version", older, memory=older.content) for older in history],
    )


def inferred(fact: Memory) -> Answer:
    """Return a memory as the review queue lists it."""
    return ANSWERS.fill(
        "Inferred",
        fact,
        memory=fact.content,
        isInference=True,
        parentCount=len(fact.parent_ids),
        metadata=fact.metadata or None,
        createdAt=iso(fact.created_at),
        updatedAt=iso(fact.updated_at),
    )
