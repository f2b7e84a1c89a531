"""Which memory a request of `/v4/memories` means: by its id, by its exact words, or by the id of its document. Knows that an id of another
tag is as good as none; does not know what is then done to it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from fastapi import APIRouter, Path
from fastapi import Query as InQuery
from pydantic import Field

from scrubjay.errors import InputError, NotFound
from scrubjay.http_api.context import SOURCE, Context, RequestContext
from scrubjay.http_api.supermemory_v4.bodies import Pagination, Part, Tag, iso
from scrubjay.http_api.supermemory_v4.container_tags import TagInPath
from scrubjay.http_api.supermemory_v4.memory_bodies import (
    Created,
    CreatedMemories,
    CreateMemories,
    ForgetMany,
    ForgetMemory,
    ForgottenMany,
    Gone,
    ListMemories,
    Matched,
    MemoryEntries,
    NewMemory,
    Updated,
    UpdateMemory,
    entry,
    parent_of,
)
from scrubjay.models.envelopes import envelope
from scrubjay.models.records import AnyRecord, Document, Memory, derived_id, is_current
from scrubjay.models.requests import FactText, Forget, ForgetMatching, ForgetRecords, Review, parse
from scrubjay.models.results import Hit, MemoryAdded, Reviewed
from scrubjay.records import versions
from scrubjay.records.extracted import facts_of_documents
from scrubjay.records.forgetting import records_to_forget
from scrubjay.records.reviewing import review_queue
from scrubjay.search.hits import as_hit
from scrubjay.search.listing import page
from scrubjay.store import conditions


async def named(context: RequestContext, id: str, tag: str | None) -> AnyRecord:
    """The record of any kind that has this id, in the scope of the tag if one is named.

    Raises:
        NotFound: there is none.
    """
    record = await context.find(id)
    if record is None or tag not in (
        None,
        record.scope,
    ):  # one sentence for both: what another tag has is nobody's business
        raise NotFound(f"Nothing here has the id {id[:80]!r}.")
    return record


async def target(context: RequestContext, id: str | None, content: str | None, tag: str | None) -> AnyRecord:
    """What a request means that names an id or the exact words of a memory: of a memory the newest version.

    Raises:
        InputError: neither is given.
        NotFound: there is no such memory.
    """
    scope = context.permissions.writes_to(tag)
    if id is not None:
        record = await named(context, id, tag)
    elif content is not None:
        await context.core.writer.drain()
        found = await records_to_forget(context.core.store, Forget(content=content, scope=scope), scope)
        record = max(
            found, key=lambda row: (isinstance(row, Memory) and is_current(row, context.now), row.created_at)
        )
    else:
        raise InputError("Neither id nor content is given. Name the memory by its id, or by its exact words.")
    return await versions.latest(context.core.store, record) if isinstance(record, Memory) else record


async def fact(context: RequestContext, id: str | None, content: str | None, tag: str | None) -> Memory:
    """As `target`, and always a memory that can be found: of a document its only one.

    Raises:
        InputError: a turn is meant, or a document that has another number of memories.
        NotFound: there is no such memory, or it was forgotten.
    """
    record = await target(context, id, content, tag)
    if isinstance(record, Document):
        facts = [
            row
            for row in await facts_of_documents(context.core.store, [record.id])
            if is_current(row, context.now)
        ]
        if len(facts) != 1:
            raise InputError(
                f"{record.id} is a document with {len(facts)} memories, and not one memory. Take the id of a memory."
            )
        record = facts[0]
    if not isinstance(record, Memory):
        raise InputError(
            f"{record.id} is a turn of a conversation, and has no versions. Take the id of a memory."
        )
    if not is_current(record, context.now):
        raise NotFound(f"The memory {record.id!r} was forgotten. Create a new one.")
    return record


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
    id: str
    is_inference: bool
    is_forgotten: bool
    review_status: Literal["approved", "declined"] | None


@router.get(
    "/v3/container-tags/{tag}/inferred", response_model=Queue, summary="Memories that wait for review"
)
async def inferred(context: Context, tag: TagInPath) -> Queue:
    """What was concluded under a tag (`derives`) and nobody decided on."""
    await context.core.writer.drain()
    await context.core.store.flush()
    rows = await review_queue(context.core.store, str(context.permissions.own(tag)), context.now)
    return Queue(memories=[_shown(row) for row in rows], total=len(rows))


@router.post(
    "/v3/container-tags/{tag}/inferred/{id}/review",
    response_model=Decided,
    summary="Review a memory that was concluded",
    responses={404: {"description": "The tag has no memory of this id."}},
)
async def review(
    context: Context, tag: TagInPath, id: Annotated[str, Path(description="Of the memory.")], body: Decision
) -> Decided:
    """Approves, declines, or takes back either."""
    scope = context.permissions.writes_to(tag)
    found = await context.find(id)
    if (
        not isinstance(found, Memory) or found.scope != scope
    ):  # one sentence for all: what another tag has is nobody's business
        raise NotFound(f"No memory under {tag!r} has the id {id[:80]!r}.")
    made: Reviewed = await context.write("review", Review(id=found.id, action=body.action), scope=scope)
    return Decided(
        id=made.id, is_inference=made.is_inference, is_forgotten=made.forgotten, review_status=made.review
    )


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


UNKNOWN: dict[int | str, dict[str, Any]] = {404: {"description": "There is no such memory under this tag."}}
SOON_SECONDS = 0.5  # for the vectors of new memories: some 8 ms each, while nothing else is embedded
_TEMPORAL = ("documentDate", "eventDate")  # of metadata


@router.post("/v4/memories", response_model=CreatedMemories, status_code=201, summary="Create memories")
async def create(asked: CreateMemories, context: Context) -> Any:
    """Keep up to 100 facts as they are, searchable at once. Words that are known already add nothing, so the call may be repeated."""
    scope = context.permissions.writes_to(asked.container_tag)
    added = [await _added(context, scope, _fact(memory)) for memory in asked.memories]
    await _searchable(context, added)
    rows = await context.core.store.get(Memory, added)
    return CreatedMemories(
        memories=[
            Created(
                id=id, memory=rows[id].content, is_static=rows[id].is_static, created_at=rows[id].created_at
            )
            for id in added
        ]
    )


@router.patch("/v4/memories", response_model=Updated, summary="Update a memory", responses=UNKNOWN)
async def update(asked: UpdateMemory, context: Context) -> Any:
    """Give a memory new content as a new version; what is not named is inherited. Nothing new makes no new version."""
    old = await fact(context, asked.id, asked.content, asked.container_tag)
    given = asked.model_fields_set
    values: dict[str, Any] = {"content": asked.new_content, "updates": [old.id]}
    if asked.metadata is not None or asked.temporal_context is not None:
        kept = {
            key: value for key, value in old.metadata.items() if asked.metadata is None or key in _TEMPORAL
        }
        told = asked.temporal_context.metadata() if asked.temporal_context else {}
        values["metadata"] = {**kept, **(asked.metadata or {}), **told}
    if "forget_after" in given:
        values["expires_at"] = asked.forget_after
    if "forget_reason" in given:
        values["forget_reason"] = asked.forget_reason
    id = await _added(context, old.scope, parse(FactText, values))
    await _searchable(context, [id])
    new = (await context.core.store.get(Memory, [id]))[id]
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
async def listed(asked: ListMemories, context: Context) -> Any:
    """The newest version of every memory that is not forgotten, a page at a time, with its older versions."""
    store, now = context.core.store, context.now
    await context.core.writer.drain()
    await store.flush()
    where = conditions.both(
        conditions.one_of("scope", await context.scopes(asked.tags)),
        conditions.LATEST,
        conditions.NOT_FORGOTTEN,
        conditions.unexpired(now),
        conditions.NOT_A_SUMMARY,
    )
    found = await page(
        store,
        Memory,
        where,
        start=(asked.page - 1) * asked.limit,
        size=asked.limit,
        sort="created_at" if asked.sort == "createdAt" else "updated_at",
        descending=asked.order == "desc",
        filters=asked.filters,
    )
    entries = [
        entry(row, await versions.history(store, row) if row.version > 1 else []) for row in found.rows
    ]
    pages = Pagination(
        current_page=asked.page,
        limit=asked.limit,
        total_items=found.total,
        total_pages=-(-found.total // asked.limit),
    )
    return MemoryEntries(memory_entries=entries, pagination=pages)


@router.get("/v4/memories", response_model=MemoryEntries, summary="List memories, by query parameters")
async def listed_by_query(
    context: Context,
    container_tag: Annotated[Tag | None, InQuery(alias="containerTag")] = None,
    page: Annotated[int, InQuery(ge=1, le=1_000_000)] = 1,
    limit: Annotated[int, InQuery(ge=1, le=1_100)] = 10,
) -> Any:
    """As `POST /v4/memories/list`, of one tag or of all."""
    return await listed(ListMemories(container_tag=container_tag, page=page, limit=limit), context)


async def _searchable(context: RequestContext, ids: list[str]) -> None:
    """Wait a moment for vectors: whoever searches next would find these by their words alone, and `threshold` is high here."""
    await context.core.writer.settle()
    context.core.indexer.wake()
    await context.core.indexer.found_by_meaning(ids, SOON_SECONDS)


def _fact(memory: NewMemory) -> FactText:
    told = memory.temporal_context.metadata() if memory.temporal_context else {}
    values: dict[str, Any] = {
        "content": memory.content,
        "is_static": memory.is_static,
        "metadata": {**memory.metadata, **told},
    }
    if memory.forget_after is not None:
        values |= {"expires_at": memory.forget_after, "forget_reason": memory.forget_reason}
    return parse(FactText, values)


async def _added(context: RequestContext, scope: str, text: FactText) -> str:
    """Write one fact, without looking for others like it, which no client of this family is told of; its id."""
    made = envelope("memory", text, scope=scope, source=SOURCE, at=context.now)
    return cast(MemoryAdded, await context.core.writer.write(made)).id


@router.delete("/v4/memories", response_model=Gone, summary="Forget a memory", responses=UNKNOWN)
async def forget(asked: ForgetMemory, context: Context) -> Any:
    """Hide a memory, a document with its memories, or a turn from every search. Forgetting twice is as forgetting once."""
    record = await target(context, asked.id, asked.content, asked.container_tag)
    values = {"ids": [record.id], "reason": asked.reason}
    await context.write("forget", parse(ForgetRecords, values), scope=record.scope)
    return Gone(id=record.id, forgotten=True)


@router.post(
    "/v4/memories/forget-matching",
    response_model=ForgottenMany,
    response_model_exclude_unset=True,
    summary="Forget the memories that a query is about",
)
async def forget_matching(asked: ForgetMany, context: Context) -> Any:
    """Forget by a query or by ids, at most `maxForget`, in one call; `dryRun` true first shows what it would take.

    A query takes memories of this one tag that are at least `threshold` similar to it, and neither turns nor documents.
    """
    if (asked.query is None) == (asked.ids is None):
        raise InputError(
            "Give either query or ids" + ("; neither is given." if asked.query is None else ", not both.")
        )
    scope = context.permissions.writes_to(asked.container_tag)
    found, unknown = await (_by_ids if asked.ids is not None else _by_query)(context, asked, scope)
    matched = [
        Matched(id=hit.id, memory=hit.memory or hit.chunk or "", score=hit.relevance_score or 0.0)
        for hit in found
    ]
    return ForgottenMany.model_validate(
        {
            "dry_run": asked.dry_run,
            "count": len(matched),
            "forget_batch_id": None
            if asked.dry_run or not matched
            else derived_id("forget", *(hit.id for hit in found)),
            "summary": _summary(len(matched), unknown, dry_run=asked.dry_run),
            "candidates" if asked.dry_run else "forgotten": matched,
        }
    )


async def _by_query(context: RequestContext, asked: ForgetMany, scope: str) -> tuple[list[Hit], int]:
    values = {
        "query": asked.query,
        "scope": scope,
        "threshold": asked.threshold,
        "most": asked.max_forget,
        "reason": asked.reason,
    }
    done = await context.core.removal.forget_matching(
        parse(ForgetMatching, {**values, "dry_run": asked.dry_run}), SOURCE
    )
    return done.candidates, 0


async def _by_ids(context: RequestContext, asked: ForgetMany, scope: str) -> tuple[list[Hit], int]:
    records = [await context.find(id) for id in dict.fromkeys(asked.ids or ())]
    known = [record for record in records if record is not None and record.scope == scope][: asked.max_forget]
    if known and not asked.dry_run:
        values = {"ids": [record.id for record in known], "reason": asked.reason}
        await context.write("forget", parse(ForgetRecords, values), scope=scope)
    unknown = sum(record is None or record.scope != scope for record in records)
    return [as_hit(record).model_copy(update={"relevance_score": 1.0}) for record in known], unknown


def _summary(count: int, unknown: int, *, dry_run: bool) -> str:
    what = f"{count} {'memory' if count == 1 else 'memories'}"
    said = f"{what} would be forgotten." if dry_run else f"{what} forgotten."
    return f"{said} {unknown} of the ids name nothing under this tag." if unknown else said
