"""Routes of facts that were concluded and wait for review. Knows what each answers; what a decision does is known below (`reviewing`)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from pydantic import Field

from scrubjay.errors import NotFound
from scrubjay.models.records import Memory
from scrubjay.models.requests import Review
from scrubjay.models.results import Reviewed
from scrubjay.rest.supermemory.container_tags import Tag
from scrubjay.rest.supermemory.wire import Part, iso
from scrubjay.rest.visit import Visiting
from scrubjay.reviewing import waiting

router = APIRouter()


class Inferred(Part):
    """A memory that was concluded from others."""

    id: str
    memory: str
    is_inference: bool
    parent_count: Annotated[int, Field(description="How many records it was concluded from.")]
    parent_ids: list[str]
    metadata: dict[str, Any] | None
    created_at: str
    updated_at: str


class Queue(Part):
    memories: Annotated[list[Inferred], Field(description="At most 50, those that rest on most others first.")]
    total: int


class Decision(Part):
    """What is to become of it."""

    action: Annotated[
        Literal["approve", "decline", "undo"],
        Field(description="approve: it counts as said; decline: it is forgotten; undo: it waits again."),
    ]


class Decided(Part):
    id: str
    is_inference: bool
    is_forgotten: bool
    review_status: Literal["approved", "declined"] | None


@router.get("/v3/container-tags/{tag}/inferred", response_model=Queue, summary="Memories that wait for review")
async def inferred(visit: Visiting, tag: Tag) -> Queue:
    """What was concluded under a tag (`derives`) and nobody decided on."""
    await visit.core.writer.drain()
    await visit.core.store.flush()
    rows = await waiting(visit.core.store, str(visit.leave.own(tag)), visit.now)
    return Queue(memories=[_shown(row) for row in rows], total=len(rows))


@router.post(
    "/v3/container-tags/{tag}/inferred/{id}/review",
    response_model=Decided,
    summary="Review a memory that was concluded",
    responses={404: {"description": "The tag has no memory of this id."}},
)
async def review(visit: Visiting, tag: Tag, id: Annotated[str, Path(description="Of the memory.")], body: Decision) -> Decided:
    """Approves, declines, or takes back either."""
    scope = visit.leave.writes_to(tag)
    found = await visit.find(id)
    if not isinstance(found, Memory) or found.scope != scope:  # one sentence for all: what another tag has is nobody's business
        raise NotFound(f"No memory under {tag!r} has the id {id[:80]!r}.")
    made: Reviewed = await visit.write("review", Review(id=found.id, action=body.action), scope=scope)
    return Decided(id=made.id, is_inference=made.is_inference, is_forgotten=made.forgotten, review_status=made.review)


def _shown(fact: Memory) -> Inferred:
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
