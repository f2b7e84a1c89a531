"""The routes of memories: create, list, update, forget, and review what was concluded.

A request names a memory by its id, by its exact words, or by the id of its document. An id of another tag
names nothing.
"""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Path, Query

from scrubjay.errors import InputError, NotFound
from scrubjay.http_api.answers import Answer
from scrubjay.http_api.context import SOURCE, Context, RequestContext
from scrubjay.http_api.routes import Routes
from scrubjay.http_api.supermemory_v4 import memory_bodies as bodies
from scrubjay.http_api.supermemory_v4.answers import ANSWERS
from scrubjay.http_api.supermemory_v4.bodies import MOST_PER_PAGE, PER_PAGE, Tag, parent_of
from scrubjay.http_api.supermemory_v4.container_tags import TagInPath
from scrubjay.models.records import AnyRecord, Document, Memory, derived_id, is_current
from scrubjay.models.requests import FactText, ForgetMatching, ForgetRecords, Review, parse
from scrubjay.models.results import Hit, MemoryAdded, Reviewed
from scrubjay.search.hits import as_hit

SOON_SECONDS = 0.5  # for the vectors of new memories: some 8 ms each, while nothing else is embedded
_TEMPORAL = ("documentDate", "eventDate")  # of metadata
_UNKNOWN = "There is no such memory under this tag."

route = Routes(ANSWERS)


@route("GET /v3/container-tags/{tag}/inferred", "Memories that wait for review", "Queue")
async def review_queue(context: Context, tag: TagInPath) -> Answer:
    """What was concluded under a tag (`derives`) and nobody decided on."""
    facts = await context.core.lists.inferred(str(context.permissions.own(tag)))
    return dict(memories=[bodies.inferred(fact) for fact in facts], total=len(facts))


@route(
    "POST /v3/container-tags/{tag}/inferred/{id}/review",
    "Review a memory that was concluded",
    "Decided",
    missing="The tag has no memory of this id.",
)
async def review(
    context: Context,
    tag: TagInPath,
    memory_id: Annotated[str, Path(alias="id", description="Of the memory.")],
    body: bodies.Decision,
) -> Answer:
    """Approves, declines, or takes back either."""
    scope = context.permissions.writes_to(tag)
    fact = await context.find(memory_id, scope)
    if not isinstance(fact, Memory):
        raise NotFound(f"No memory under {tag!r} has the id {memory_id[:80]!r}.")
    result: Reviewed = await context.write("review", Review(id=fact.id, action=body.action), scope=scope)
    return ANSWERS.fill("Decided", result, isForgotten=result.forgotten, reviewStatus=result.review)


@route("POST /v4/memories", "Create memories", "CreatedMemories", status=201)
async def create(body: bodies.CreateMemories, context: Context) -> Answer:
    """Keep up to 100 facts as they are, searchable at once; known ones add nothing, so calls may repeat."""
    scope = context.permissions.writes_to(body.container_tag)
    facts = await _add(context, scope, [_fact_text(memory) for memory in body.memories])
    memories = [ANSWERS.fill("CreatedMemory", fact, memory=fact.content) for fact in facts]
    return dict(documentId=None, memories=memories)


@route("PATCH /v4/memories", "Update a memory", "UpdatedMemory", missing=_UNKNOWN)
async def update(body: bodies.UpdateMemory, context: Context) -> Answer:
    """Give a memory new content as a new version, if it is new; what is not named is inherited."""
    old = await _fact(context, body)
    values: dict[str, Any] = {"content": body.new_content, "updates": [old.id]}
    if body.metadata is not None or body.temporal_context is not None:
        names = old.metadata if body.metadata is None else _TEMPORAL
        inherited = {key: value for key, value in old.metadata.items() if key in names}
        dates = body.temporal_context.metadata() if body.temporal_context else {}
        values["metadata"] = {**inherited, **(body.metadata or {}), **dates}
    if "forget_after" in body.model_fields_set:
        values["expires_at"] = body.forget_after
    if "forget_reason" in body.model_fields_set:
        values["forget_reason"] = body.forget_reason
    (new,) = await _add(context, old.scope, [parse(FactText, values)])
    return ANSWERS.fill(
        "UpdatedMemory",
        new,
        memory=new.content,
        parentMemoryId=parent_of(new),
        rootMemoryId=new.root_id,
        metadata=new.metadata or None,
        forgetAfter=new.expires_at,
    )


@route("POST /v4/memories/list", "List memories", "Memories")
async def list_memories(body: bodies.ListMemories, context: Context) -> Answer:
    """The newest version of every memory that is not forgotten, a page at a time, with its older versions."""
    lists, scopes = context.core.lists, await context.scopes(body.tags)
    page = await lists.memories(scopes, filters=body.filters, summaries=False, **body.window)
    entries = [bodies.memory_entry(fact, await lists.older_versions(fact)) for fact in page.rows]
    return dict(memoryEntries=entries, pagination=body.pagination(page.total))


@route("GET /v4/memories", "List memories, by query parameters", "Memories")
async def list_by_query(
    context: Context,
    tag: Annotated[Tag | None, Query(alias="containerTag")] = None,
    page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
    limit: Annotated[int, Query(ge=1, le=MOST_PER_PAGE)] = PER_PAGE,
) -> Answer:
    """As `POST /v4/memories/list`, of one tag or of all."""
    return await list_memories(bodies.ListMemories(container_tag=tag, page=page, limit=limit), context)


@route("DELETE /v4/memories", "Forget a memory", "ForgottenMemory", missing=_UNKNOWN)
async def forget(body: bodies.ForgetMemory, context: Context) -> Answer:
    """Hide a memory, a document with its memories, or a turn from every search. Twice is as once."""
    record = await _record(context, body)
    await _forget(context, [record.id], body.reason, record.scope)
    return dict(id=record.id, forgotten=True)


@route("POST /v4/memories/forget-matching", "Forget the memories that a query is about", "Matches")
async def forget_matching(body: bodies.ForgetMany, context: Context) -> Answer:
    """Forget by a query or by ids, at most `maxForget` at once; `dryRun` true first shows what it would take.

    A query takes memories of this one tag that are at least `threshold` similar to it, neither turns nor
    documents.
    """
    if (body.query is None) == (body.ids is None):
        mistake = "; neither is given" if body.query is None else ", not both"
        raise InputError(f"Give either query or ids{mistake}.")
    scope = context.permissions.writes_to(body.container_tag)
    hits, unknown = await (_by_ids if body.ids is not None else _by_query)(context, body, scope)
    matched = [
        dict(id=hit.id, memory=hit.memory or hit.chunk or "", score=hit.relevance_score or 0.0)
        for hit in hits
    ]
    is_done = matched and not body.dry_run
    batch_id = derived_id("forget", *(hit.id for hit in hits)) if is_done else None
    summary = _summary(len(matched), unknown, dry_run=body.dry_run)
    answer: Answer = dict(dryRun=body.dry_run, count=len(matched), forgetBatchId=batch_id, summary=summary)
    return {**answer, "candidates" if body.dry_run else "forgotten": matched}


async def _record(context: RequestContext, body: bodies.UpdateMemory | bodies.ForgetMemory) -> AnyRecord:
    """Return the record with the id or the exact words of a request: of a memory the newest version.

    Raises:
        InputError: neither is given.
        NotFound: there is no such memory.
    """
    scope = context.permissions.writes_to(body.container_tag)
    record: AnyRecord | None
    if body.id is not None:
        record = await context.find(body.id, body.container_tag)
        if record is None:  # one sentence for both: what another tag has is nobody's business
            raise NotFound(f"Nothing here has the id {body.id[:80]!r}.")
    elif body.content is not None:
        record = await context.core.lists.fact_saying(body.content, scope)
    else:
        raise InputError("Neither id nor content is given. Name the memory by its id, or by its exact words.")
    return await context.core.lists.newest_version(record) if isinstance(record, Memory) else record


async def _fact(context: RequestContext, body: bodies.UpdateMemory) -> Memory:
    """Return what a request means as a current memory: of a document its only one.

    Raises:
        InputError: a turn is meant, or a document that has another number of memories.
        NotFound: there is no such memory, or it was forgotten.
    """
    record = await _record(context, body)
    if isinstance(record, Document):
        facts = await context.core.lists.facts_of_documents([record.id])
        if len(facts) != 1:
            what = f"a document with {len(facts)} memories, and not one memory"
            raise InputError(f"{record.id} is {what}. Take the id of a memory.")
        record = facts[0]
    if not isinstance(record, Memory):
        what = "a turn of a conversation, and has no versions"
        raise InputError(f"{record.id} is {what}. Take the id of a memory.")
    if not is_current(record, context.now):
        raise NotFound(f"The memory {record.id!r} was forgotten. Create a new one.")
    return record


def _fact_text(memory: bodies.NewMemory) -> FactText:
    dates = memory.temporal_context.metadata() if memory.temporal_context else {}
    values: dict[str, Any] = {"content": memory.content, "is_static": memory.is_static}
    values["metadata"] = {**memory.metadata, **dates}
    if memory.forget_after is not None:
        values |= {"expires_at": memory.forget_after, "forget_reason": memory.forget_reason}
    return parse(FactText, values)


async def _add(context: RequestContext, scope: str, texts: Sequence[FactText]) -> list[Memory]:
    """Write facts, and wait a moment for their vectors.

    Whoever searches next would find them by their words alone, and the usual `threshold` is high here.
    """
    ids = []
    for text in texts:
        added: MemoryAdded = await context.write("memory", text, scope=scope)
        ids.append(added.id)
    await context.core.await_vectors(ids, SOON_SECONDS)
    rows = await context.core.lists.get(Memory, ids)
    return [rows[memory_id] for memory_id in ids]


async def _forget(context: RequestContext, ids: Sequence[str], reason: str | None, scope: str) -> None:
    await context.write("forget", parse(ForgetRecords, {"ids": list(ids), "reason": reason}), scope=scope)


async def _by_query(context: RequestContext, body: bodies.ForgetMany, scope: str) -> tuple[list[Hit], int]:
    values = body.model_dump(include={"query", "threshold", "reason", "dry_run"})
    values |= {"scope": scope, "most": body.max_forget}
    result = await context.core.removal.forget_matching(parse(ForgetMatching, values), SOURCE)
    return result.candidates, 0


async def _by_ids(context: RequestContext, body: bodies.ForgetMany, scope: str) -> tuple[list[Hit], int]:
    """Return the records as hits, and how many ids name nothing in this scope."""
    records = [await context.find(memory_id, scope) for memory_id in dict.fromkeys(body.ids or ())]
    known = [record for record in records if record is not None]
    unknown = len(records) - len(known)
    known = known[: body.max_forget]
    if known and not body.dry_run:
        await _forget(context, [record.id for record in known], body.reason, scope)
    return [as_hit(record).model_copy(update={"relevance_score": 1.0}) for record in known], unknown


def _summary(count: int, unknown: int, *, dry_run: bool) -> str:
    what = f"{count} {'memory' if count == 1 else 'memories'}"
    sentence = f"{what} would be forgotten." if dry_run else f"{what} forgotten."
    return f"{sentence} {unknown} of the ids name nothing under this tag." if unknown else sentence
