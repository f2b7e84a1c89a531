"""Facts of a namespace: reading one with what it is linked to, forgetting them by id or by what they are about; and, which version 5 of the
original has no route for, adding them directly and giving one a new version.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field

from scrubjay.errors import NotFound
from scrubjay.models.fields import MAX_MEMORY, Flag, Instant, Metadata, Text
from scrubjay.models.forgetting import ForgetMatching, ForgetRecords
from scrubjay.models.records import Memory
from scrubjay.models.requests import AddMemory, parse
from scrubjay.models.requests import Query as Question
from scrubjay.models.results import MemoryAdded
from scrubjay.rest.namespaces.memory import NEAREST, MemoryDetails, ShownMemory, shown, surroundings
from scrubjay.rest.namespaces.place import Id, Place, Reading, Writing
from scrubjay.rest.namespaces.wire import Answer, Body, included
from scrubjay.rest.visit import SOURCE

router = APIRouter()

MOST_IDS = 500
MOST_ADDED = 100
_UNKNOWN: dict[int | str, dict[str, Any]] = {404: {"description": "No memory of this namespace has that id."}}

GivenId = Annotated[str, Field(min_length=1, max_length=255)]
Content = Annotated[Annotated[Text, Field(max_length=MAX_MEMORY)], Field(description="One fact, understandable on its own.")]
Expiry = Annotated[Instant | None, Field(description="It is forgotten from then on; null: never.")]


class Exact(Body):
    ids: Annotated[list[GivenId], Field(min_length=1, max_length=MOST_IDS)]


class Matching(Body):
    query: Annotated[Question, Field(description="What the memories to forget are about.")]
    dry_run: Annotated[Flag, Field(description="True: only list them.")]


class ForgetMatch(Answer):
    id: str
    memory: str


class ForgetError(Answer):
    id: str
    error: str


class ForgetResult(Answer):
    """What is forgotten now, or would be."""

    count: Annotated[int, Field(ge=0)]
    errors: list[ForgetError]
    matches: list[ForgetMatch]


class NewMemory(Body):
    content: Content
    is_static: Annotated[Flag, Field(description="A lasting trait rather than a passing state.")] = False
    metadata: Annotated[Metadata, Field(default_factory=dict)]
    forget_after: Expiry = None


class NewMemories(Body):
    memories: Annotated[list[NewMemory], Field(min_length=1, max_length=MOST_ADDED)]


class AddedMemories(Answer):
    """The facts as they are kept, in the order in which they were sent; one that was known already is that one."""

    memories: list[ShownMemory]


class NewVersion(Body):
    """What is left out stays as it was."""

    content: Content | None = None
    is_static: Flag | None = None
    metadata: Metadata | None = None
    forget_after: Expiry = None


@router.delete("/ns/{namespace}/memories/semantic", summary="Forget what is about something")
async def forget_matching(place: Writing, asked: Matching) -> ForgetResult:
    """Forget the facts that a query is about, at most 100; with `dryRun` only list them, best first."""
    request = parse(ForgetMatching, {"query": asked.query, "scope": place.namespace, "dry_run": asked.dry_run})
    about = (await place.visit.core.forgetting.matching(request, SOURCE)).candidates
    matches = [ForgetMatch(id=hit.id, memory=hit.memory or "") for hit in about]
    return ForgetResult(count=len(matches), errors=[], matches=matches)


@router.get(
    "/ns/{namespace}/memories/{id}",
    summary="Read a memory",
    response_model=MemoryDetails,
    response_model_exclude_unset=True,
    responses=_UNKNOWN,
)
async def read_memory(
    place: Reading,
    id: Id,
    include: Annotated[
        list[str], Query(description="related: its other versions and what it is linked to; documents: the document it is from.")
    ] = [],  # noqa: B006  FastAPI copies it
    related_limit: Annotated[int, Query(alias="relatedLimit", ge=1, le=100, description="Entries of each list.")] = NEAREST,
) -> MemoryDetails:
    """One fact of the namespace, forgotten or not, with what is asked for beside it."""
    wanted = included(include, ("related", "documents"))
    fact = await place.memory(id)
    details = MemoryDetails(**dict(shown(fact, place.visit.now)))
    if not wanted:
        return details
    beside = await surroundings(place, [fact], related="related" in wanted, documents="documents" in wanted, limit=related_limit)
    return details.model_copy(update={"included": beside.of(fact.id)})


@router.delete("/ns/{namespace}/memories", summary="Forget memories")
async def forget_memories(place: Writing, asked: Exact) -> ForgetResult:
    """Forget these facts: they leave every search and profile, and stay as history. Each id stands for itself; twice is no error."""
    found, errors = await _each(place, list(dict.fromkeys(asked.ids)))
    if found:
        await place.visit.write("forget", parse(ForgetRecords, {"ids": list(found)}), scope=place.namespace)
    matches = [ForgetMatch(id=fact.id, memory=fact.content) for fact in found.values()]
    return ForgetResult(count=len(matches), errors=errors, matches=matches)


@router.post("/ns/{namespace}/memories", status_code=201, summary="Add memories")
async def add_memories(place: Writing, asked: NewMemories) -> AddedMemories:
    """Keep facts as they are, without a document; they are found at once. An extension: version 5 of the original has no such route."""
    facts = []
    for memory in asked.memories:
        args = {"content": memory.content, "is_static": memory.is_static, "metadata": memory.metadata, "expires_at": memory.forget_after}
        facts.append(await _added(place, {name: value for name, value in args.items() if value is not None}))
    return AddedMemories(memories=[shown(fact, place.visit.now) for fact in facts])


@router.patch("/ns/{namespace}/memories/{id}", summary="Give a memory a new version", responses=_UNKNOWN)
async def change_memory(place: Writing, id: Id, change: NewVersion) -> ShownMemory:
    """Replace a fact by a new version of it, which has an id of its own; the old one stays as its history. An extension, as adding is."""
    fact = await place.memory(id)
    args: dict[str, Any] = {"updates": [fact.id], "content": change.content or fact.content}
    args |= {name: value for name in ("is_static", "metadata") if (value := getattr(change, name)) is not None}
    if "forget_after" in change.model_fields_set:
        args["expires_at"] = change.forget_after
    return shown(await _added(place, args), place.visit.now)


async def _added(place: Place, args: dict[str, Any]) -> Memory:
    added: MemoryAdded = await place.visit.write("memory", parse(AddMemory, args), scope=place.namespace)
    return await place.memory(added.id)


async def _each(place: Place, ids: list[str]) -> tuple[dict[str, Memory], list[ForgetError]]:
    """The facts that these ids name, and what is wrong with the other ids."""
    await place.visit.core.writer.drain()
    rows = await place.visit.core.store.get(Memory, ids)
    found = {id: rows[id] for id in ids if id in rows and rows[id].scope == place.namespace}
    wrong = NotFound(f"No memory of the namespace {place.namespace!r} has this id.")
    return found, [ForgetError(id=id, error=str(wrong)) for id in ids if id not in found]
