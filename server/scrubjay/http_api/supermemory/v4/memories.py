"""Memories of version 4: create, list, update and forget.

A request names a memory by its id, by its exact words, or by the id of its document. An id of another tag
counts as unknown.
"""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from scrubjay.errors import InputError, NotFound
from scrubjay.http_api.answers import ANSWERS_4, Answer
from scrubjay.http_api.context import Context, RequestContext
from scrubjay.http_api.routes import Routes, format_time
from scrubjay.http_api.supermemory import resources
from scrubjay.http_api.supermemory.fields import Body4
from scrubjay.http_api.supermemory.v4.bodies import Filters, Paging, Tag, Tagged, memory_values, parent_of
from scrubjay.models.fields import MAX_MEMORY, Count, Flag, Instant, Metadata, Name, Real, Text
from scrubjay.models.records import AnyRecord, Document, Memory, derived_id, is_current
from scrubjay.models.requests import FactText, Reason, about, parse
from scrubjay.models.requests import Query as QueryText
from scrubjay.models.results import Hit, MemoryAdded
from scrubjay.search.hits import as_hit

SOON_SECONDS = 0.5  # to wait for the vectors of new memories, which take about 8 ms each on an idle engine
_TEMPORAL = ("documentDate", "eventDate")  # in metadata

route = Routes(ANSWERS_4)

Content = Annotated[Text, Field(max_length=MAX_MEMORY)]


class TemporalContext(Body4):
    """When a fact was written down, and the dates of the events in it."""

    document_date: Instant | None = None
    event_date: Annotated[list[Instant] | None, Field(max_length=100)] = None

    def metadata(self) -> dict[str, Any]:
        """Return the dates as metadata, which is flat: under `documentDate` and `eventDate`."""
        dates = {} if self.document_date is None else {"documentDate": format_time(self.document_date)}
        return dates | ({"eventDate": list(map(format_time, self.event_date))} if self.event_date else {})


class NewMemory(Body4):
    content: Content = Field(description="One fact, understandable on its own.")
    is_static: Flag = about("A lasting trait rather than a passing state.", False)
    metadata: Metadata = Field(default_factory=dict)
    forget_after: Instant | None = about("It is forgotten from then on (ISO 8601); null: never.")
    forget_reason: Reason | None = None
    temporal_context: TemporalContext | None = None


class CreateMemories(Body4):
    memories: Annotated[list[NewMemory], Field(min_length=1, max_length=100)]
    container_tag: Tag | None = None


class _OneMemory(Body4):
    id: Name | None = about("Of the memory; the id of an older version stands for the newest.")
    content: Content | None = about("Its exact words, instead of the id.")
    container_tag: Tag | None = None


class UpdateMemory(_OneMemory):
    new_content: Content
    metadata: Metadata | None = about("Left out: as in the old version.")
    forget_after: Instant | None = about(
        "It is forgotten from then on (ISO 8601); null: never. Left out: as in the old version."
    )
    forget_reason: Reason | None = None
    temporal_context: TemporalContext | None = about(
        "Stored in the metadata as documentDate and eventDate; left out: as in the old version."
    )


class ForgetMemory(_OneMemory):
    """What to forget. The id may also be that of a document, with its memories, or of a turn."""

    reason: Reason | None = about("Why; stored with it.")


class ForgetMany(Body4):
    """Which memories to forget: those with these ids, or those that a query is about."""

    model_config = ConfigDict(extra="forbid")  # a misspelt limit would forget more

    container_tag: Tag | None = None
    query: QueryText | None = None
    ids: Annotated[list[Name] | None, Field(min_length=1, max_length=500)] = None
    dry_run: Flag = about("True: only list them.", False)
    threshold: Real = about("Least similarity to the query of a memory to forget.", 0.5, ge=0, le=1)
    max_forget: Count = about("Forget at most so many, the most similar first.", 100, ge=1, le=500)
    reason: Reason | None = None


class ListMemories(Tagged, Paging):
    filters: Filters | None = None


@route("POST /v4/memories", "Create memories", "CreatedMemories", status=201)
async def create(body: CreateMemories, context: Context) -> Answer:
    """Store up to 100 facts as they are, searchable at once. Repeating the call adds nothing."""
    scope = context.permissions.write_scope(body.container_tag)
    facts = await _add(context, scope, [_fact_text(memory) for memory in body.memories])
    memories = [ANSWERS_4.fill("CreatedMemory", fact) for fact in facts]
    return dict(documentId=None, memories=memories, **body.warnings(*body.memories))


@route("PATCH /v4/memories", "Update a memory", "UpdatedMemory")
async def update(body: UpdateMemory, context: Context) -> Answer:
    """Add a new version of a memory, if its content is new; fields left out are inherited."""
    old = await _fact(context, body)
    values: dict[str, Any] = {"content": body.new_content, "updates": [old.id]}
    if body.metadata is not None or body.temporal_context is not None:
        inherited_names = old.metadata if body.metadata is None else _TEMPORAL
        inherited = {key: value for key, value in old.metadata.items() if key in inherited_names}
        dates = body.temporal_context.metadata() if body.temporal_context else {}
        values["metadata"] = {**inherited, **(body.metadata or {}), **dates}
    if "forget_after" in body.model_fields_set:
        values["expires_at"] = body.forget_after
    if "forget_reason" in body.model_fields_set:
        values["forget_reason"] = body.forget_reason
    try:
        (new,) = await _add(context, old.scope, [parse(FactText, values)])
    except InputError:
        if (await _fact(context, body)).id == old.id:
            raise
        return await update(body, context)  # another update came first, and this one follows it
    return ANSWERS_4.fill("UpdatedMemory", new, parentMemoryId=parent_of(new), **body.warnings())


@route("POST /v4/memories/list", "List memories", "Memories")
async def list_memories(body: ListMemories, context: Context) -> Answer:
    """The newest version of every memory that is not forgotten, a page at a time, with its older versions."""
    lists, scopes = context.core.lists, await context.scopes(body.tags)
    page = await lists.memories(scopes, filters=body.filters, summaries=False, **body.window)
    entries = []
    for fact in page.rows:
        history = [ANSWERS_4.fill("Version", older) for older in await lists.older_versions(fact)]
        entries.append(ANSWERS_4.fill("ListedMemory", fact, **memory_values(fact), history=history))
    return dict(memoryEntries=entries, pagination=body.pagination(page.total), **body.warnings())


@route("DELETE /v4/memories", "Forget a memory", "ForgottenMemory")
async def forget(body: ForgetMemory, context: Context) -> Answer:
    """Hide a memory, a document with its memories, or a turn from every search; twice is no error."""
    record = await _record(context, body)
    await resources.forget(context, [record.id], record.scope, body.reason)
    return dict(id=record.id, forgotten=True)


@route("POST /v4/memories/forget-matching", "Forget the memories that a query is about", "Matches")
async def forget_matching(body: ForgetMany, context: Context) -> Answer:
    """Forget by ids, or the memories of a tag that are similar to a query; `dryRun` true only lists them.

    At most `maxForget` are forgotten at once. A query matches neither turns nor documents.
    """
    scope, unknown = context.permissions.write_scope(body.container_tag), 0
    if (body.query is None) == (body.ids is None):
        mistake = "; neither is given" if body.query is None else ", not both"
        raise InputError(f"Give either query or ids{mistake}.")
    if body.query is not None:
        options = body.model_dump(include={"threshold", "reason", "dry_run"})
        options["most"] = body.max_forget
        hits: Sequence[Hit] = await resources.forget_matching(context, scope, body.query, **options)
    else:
        hits, unknown = await _forget_ids(context, body, body.ids or (), scope)
    entries = [
        dict(id=hit.id, memory=hit.memory or hit.chunk or "", score=hit.relevance_score or 0.0)
        for hit in hits
    ]
    is_forgotten = entries and not body.dry_run
    return {
        "dryRun": body.dry_run,
        "count": len(entries),
        "forgetBatchId": derived_id("forget", *(hit.id for hit in hits)) if is_forgotten else None,
        "summary": _summary(len(entries), unknown, dry_run=body.dry_run),
        "candidates" if body.dry_run else "forgotten": entries,
    }


async def _record(context: RequestContext, body: _OneMemory) -> AnyRecord:
    """Return the record that a request names by id or exact words; for a memory, its newest version."""
    scope = context.permissions.write_scope(body.container_tag)
    if body.id is not None:
        record = await context.find(body.id, body.container_tag)
        if record is None:  # ids of other tags get the same error, so that they stay hidden
            raise NotFound(f"Nothing here has the id {body.id[:80]!r}.")
    elif body.content is not None:
        record = await context.core.lists.fact_with_text(body.content, scope)
    else:
        raise InputError("Neither id nor content is given. Name the memory by its id, or by its exact words.")
    return await context.core.lists.newest_version(record) if isinstance(record, Memory) else record


async def _fact(context: RequestContext, body: UpdateMemory) -> Memory:
    """Return the current memory that a request names, directly or by a document with one memory."""
    record = await _record(context, body)
    if isinstance(record, Document):
        facts = await context.core.lists.facts_of_documents([record.id])
        if len(facts) != 1:
            description = f"a document with {len(facts)} memories, and not one memory"
            raise InputError(f"{record.id} is {description}. Take the id of a memory.")
        record = facts[0]
    if not isinstance(record, Memory):
        description = "a turn of a conversation, and has no versions"
        raise InputError(f"{record.id} is {description}. Take the id of a memory.")
    if not is_current(record, context.now):
        raise NotFound(f"The memory {record.id!r} was forgotten. Create a new one.")
    return record


def _fact_text(memory: NewMemory) -> FactText:
    dates = memory.temporal_context.metadata() if memory.temporal_context else {}
    values: dict[str, Any] = {"content": memory.content, "is_static": memory.is_static}
    values["metadata"] = {**memory.metadata, **dates}
    if memory.forget_after is not None:
        values |= {"expires_at": memory.forget_after, "forget_reason": memory.forget_reason}
    return parse(FactText, values)


async def _add(context: RequestContext, scope: str, texts: Sequence[FactText]) -> list[Memory]:
    """Write facts, and wait up to SOON_SECONDS for their vectors.

    A search finds facts without vectors only by their words, and then few reach the default threshold.
    """
    ids = []
    for text in texts:
        added: MemoryAdded = await context.write("memory", text, scope=scope)
        ids.append(added.id)
    await context.core.await_vectors(ids, SOON_SECONDS)
    rows = await context.core.lists.get(Memory, ids)
    return [rows[memory_id] for memory_id in ids]


async def _forget_ids(
    context: RequestContext, body: ForgetMany, ids: Iterable[str], scope: str
) -> tuple[list[Hit], int]:
    """Forget the records with these ids; return their hits, and the number of ids that the scope lacks."""
    results = [await context.find(memory_id, scope) for memory_id in dict.fromkeys(ids)]
    records = [record for record in results if record is not None]
    unknown = len(results) - len(records)
    records = records[: body.max_forget]
    if records and not body.dry_run:
        await resources.forget(context, [record.id for record in records], scope, body.reason)
    return [as_hit(record).model_copy(update={"relevance_score": 1.0}) for record in records], unknown


def _summary(count: int, unknown: int, *, dry_run: bool) -> str:
    count_text = f"{count} {'memory' if count == 1 else 'memories'}"
    sentence = f"{count_text} would be forgotten." if dry_run else f"{count_text} forgotten."
    return f"{sentence} {unknown} of the ids name nothing under this tag." if unknown else sentence
