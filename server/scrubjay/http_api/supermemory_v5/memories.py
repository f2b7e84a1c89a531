"""A fact as version 5 shows it: by itself, with the versions around it, with what it extends or was concluded from, with its document.
Does not know how a fact was found.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import Field

from scrubjay.errors import NotFound
from scrubjay.http_api.context import SOURCE
from scrubjay.http_api.supermemory_v5.bodies import Answer, Body, Changed, Times, included
from scrubjay.http_api.supermemory_v5.context import Id, Place, Reading, Writing
from scrubjay.models.fields import Flag
from scrubjay.models.filters import Filter, matches
from scrubjay.models.records import Document, Memory
from scrubjay.models.requests import ForgetMatching, ForgetRecords, parse
from scrubjay.models.requests import Query as QueryText
from scrubjay.models.results import Context, Linked
from scrubjay.records.reviewing import is_inference
from scrubjay.search import lineage
from scrubjay.search.document_search import COLUMNS
from scrubjay.search.retrieval.query import Question

NEAREST = 10  # links of a list, when nobody says
STEPS = 3  # versions that are followed in each direction

ShownMetadata = Annotated[
    dict[str, Any], Field(description="Names and values that came with it; empty for none.")
]


class SourceDocument(Answer):
    """The document that a fact is from, without its text."""

    id: str
    title: str | None
    type: str | None
    metadata: ShownMetadata
    summary: str | None
    system: Times


class RelatedMemory(Answer):
    """A fact that another is linked to. `relation` is that of the younger of the two to the older."""

    id: str
    relation: Literal["updates", "extends", "derives"]
    version: int
    memory: str
    metadata: ShownMetadata
    system: Changed
    document: SourceDocument | None = None


class Related(Answer):
    """Older versions of a fact, newer ones, and the facts that it extends, that extend it, or that were concluded one from the other."""

    parents: list[RelatedMemory]
    children: list[RelatedMemory]
    siblings: list[RelatedMemory]


class Included(Answer):
    """What was asked for beside it."""

    related: Related | None = None
    document: SourceDocument | None = None


class ShownMemory(Answer):
    """A fact: one version of it."""

    id: str
    memory: str
    metadata: ShownMetadata
    is_static: bool
    is_inference: Annotated[bool, Field(description="It was concluded from others.")]
    is_latest: bool
    is_forgotten: Annotated[bool, Field(description="It was forgotten or has expired.")]
    version: Annotated[int, Field(ge=1)]
    system: Times


class MemoryDetails(ShownMemory):
    included: Included | None = None


def shown(fact: Memory, now: datetime) -> ShownMemory:
    """A fact by itself."""
    return ShownMemory(
        id=fact.id,
        memory=fact.content,
        metadata=fact.metadata,
        is_static=fact.is_static,
        is_inference=is_inference(fact),
        is_latest=fact.is_latest,
        is_forgotten=fact.forgotten_at is not None
        or (fact.expires_at is not None and fact.expires_at <= now),
        version=fact.version,
        system=Times(created_at=fact.created_at, updated_at=fact.updated_at),
    )


def document_of(document: Document) -> SourceDocument:
    """A document as the source of a fact or of a chunk."""
    return SourceDocument(
        id=document.id,
        title=document.title,
        type=document.type,
        metadata=document.metadata,
        summary=document.summary,
        system=Times(created_at=document.created_at, updated_at=document.updated_at),
    )


@dataclass(frozen=True)
class Surroundings:
    """What facts bring beside themselves, by their ids, read all at once."""

    related: Mapping[str, Related] = field(default_factory=dict)
    documents: Mapping[str, SourceDocument] = field(default_factory=dict)  # the latest that each cites

    def of(self, id: str, document: SourceDocument | None = None) -> Included:
        """What belongs to the fact or chunk with this id; `document` is that of a chunk."""
        values = {"related": self.related.get(id), "document": document or self.documents.get(id)}
        return Included.model_validate({name: value for name, value in values.items() if value is not None})


async def surroundings(
    place: Place,
    facts: Sequence[Memory],
    *,
    related: bool,
    documents: bool,
    limit: int = NEAREST,
    filter: Filter | None = None,
) -> Surroundings:
    """The links of facts and the documents that they are from.

    What is forgotten or of another namespace is left out, and so is a link that `filter` (on metadata) does not let through: nothing
    comes in beside a fact that a search with that filter could not have found.
    """
    store = place.context.core.store
    contexts: Mapping[str, Context] = {}
    linked: dict[str, Memory] = {}
    if related:
        contexts = await lineage.contexts(
            store, Question("", (place.namespace,), ("memory",), place.context.now), facts
        )
        linked = await store.get(Memory, _ids(contexts.values()))
        linked = {id: row for id, row in linked.items() if filter is None or matches(filter, row.metadata)}
    sources = await _sources(place, [*facts, *linked.values()]) if documents else {}
    made = {id: _related(context, linked, sources, limit) for id, context in contexts.items()}
    return Surroundings(made, sources)


def _ids(contexts: Iterable[Context]) -> list[str]:
    return [
        link.id
        for context in contexts
        for link in (*context.parents, *context.children)
        if link.src == "memory"
    ]


async def _sources(place: Place, facts: Collection[Memory]) -> dict[str, SourceDocument]:
    ids = {id for fact in facts for id in fact.document_ids}
    found = await place.context.core.store.get(
        Document, ids, columns=COLUMNS
    )  # those that are not committed yet among them
    rows = {id: row for id, row in found.items() if row.scope == place.namespace and row.forgotten_at is None}
    cited = {fact.id: [rows[id] for id in fact.document_ids if id in rows] for fact in facts}
    return {
        id: document_of(max(sources, key=lambda row: row.updated_at))
        for id, sources in cited.items()
        if sources
    }


def _related(
    context: Context, linked: Mapping[str, Memory], sources: Mapping[str, SourceDocument], limit: int
) -> Related:
    def some(links: Iterable[Linked]) -> list[RelatedMemory]:
        near = sorted((link for link in links if link.id in linked), key=lambda link: abs(link.version))
        return [_link(link, linked[link.id], sources.get(link.id)) for link in near[:limit]]

    return Related(
        parents=some(link for link in context.parents if _is_version(link)),
        children=some(link for link in context.children if _is_version(link)),
        siblings=some(context.related),
    )


def _is_version(link: Linked) -> bool:
    return link.relation == "updates" and abs(link.version) <= STEPS


def _link(link: Linked, fact: Memory, document: SourceDocument | None) -> RelatedMemory:
    values: dict[str, Any] = {} if document is None else {"document": document}
    return RelatedMemory(
        id=fact.id,
        relation=link.relation,
        version=fact.version,
        memory=fact.content,
        metadata=fact.metadata,
        system=Changed(updated_at=fact.updated_at),
        **values,
    )


router = APIRouter()

MOST_IDS = 500
_UNKNOWN: dict[int | str, dict[str, Any]] = {404: {"description": "No memory of this namespace has that id."}}

GivenId = Annotated[str, Field(min_length=1, max_length=255)]


class Exact(Body):
    ids: Annotated[list[GivenId], Field(min_length=1, max_length=MOST_IDS)]


class Matching(Body):
    query: Annotated[QueryText, Field(description="What the memories to forget are about.")]
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


@router.delete("/ns/{namespace}/memories/semantic", summary="Forget what is about something")
async def forget_matching(place: Writing, asked: Matching) -> ForgetResult:
    """Forget the facts that a query is about, at most 100; with `dryRun` only list them, best first."""
    request = parse(
        ForgetMatching, {"query": asked.query, "scope": place.namespace, "dry_run": asked.dry_run}
    )
    about = (await place.context.core.removal.forget_matching(request, SOURCE)).candidates
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
        list[str],
        Query(
            description="related: its other versions and what it is linked to; documents: the document it is from."
        ),
    ] = [],  # noqa: B006  FastAPI copies it
    related_limit: Annotated[
        int, Query(alias="relatedLimit", ge=1, le=100, description="Entries of each list.")
    ] = NEAREST,
) -> MemoryDetails:
    """One fact of the namespace, forgotten or not, with what is asked for beside it."""
    wanted = included(include, ("related", "documents"))
    fact = await place.memory(id)
    details = MemoryDetails(**dict(shown(fact, place.context.now)))
    if not wanted:
        return details
    beside = await surroundings(
        place, [fact], related="related" in wanted, documents="documents" in wanted, limit=related_limit
    )
    return details.model_copy(update={"included": beside.of(fact.id)})


@router.delete("/ns/{namespace}/memories", summary="Forget memories")
async def forget_memories(place: Writing, asked: Exact) -> ForgetResult:
    """Forget these facts: they leave every search and profile, and stay as history. Each id stands for itself; twice is no error."""
    found, errors = await _each(place, list(dict.fromkeys(asked.ids)))
    if found:
        await place.context.write("forget", parse(ForgetRecords, {"ids": list(found)}), scope=place.namespace)
    matches = [ForgetMatch(id=fact.id, memory=fact.content) for fact in found.values()]
    return ForgetResult(count=len(matches), errors=errors, matches=matches)


async def _each(place: Place, ids: list[str]) -> tuple[dict[str, Memory], list[ForgetError]]:
    """The facts that these ids name, and what is wrong with the other ids."""
    await place.context.core.writer.drain()
    rows = await place.context.core.store.get(Memory, ids)
    found = {id: rows[id] for id in ids if id in rows and rows[id].scope == place.namespace}
    wrong = NotFound(f"No memory of the namespace {place.namespace!r} has this id.")
    return found, [ForgetError(id=id, error=str(wrong)) for id in ids if id not in found]
