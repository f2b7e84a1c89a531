"""Memories of version 5: read a memory, alone or with its versions, links and document; forget memories."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from fastapi import Query as InQuery
from pydantic import BeforeValidator, Field

from scrubjay.http_api.answers import ANSWERS_5, Answer
from scrubjay.http_api.routes import Routes
from scrubjay.http_api.supermemory import resources
from scrubjay.http_api.supermemory.fields import Body5, GivenId, type_of
from scrubjay.http_api.supermemory.v5.bodies import (
    MemoryId,
    NamespaceContext,
    ReadNamespace,
    WriteNamespace,
    split_names,
)
from scrubjay.models.fields import Flag
from scrubjay.models.filters import Filter, matches
from scrubjay.models.records import Document, Memory
from scrubjay.models.requests import Query
from scrubjay.models.results import Context, Linked
from scrubjay.records.memories import is_derived

NEAREST = 10  # default for the most entries in each list of links
STEPS = 3  # how many older and newer versions to show
MOST_IDS = 500  # the most ids in one request

route = Routes(ANSWERS_5)


class Exact(Body5):
    ids: Annotated[list[GivenId], Field(min_length=1, max_length=MOST_IDS)]


class Matching(Body5):
    query: Query = Field(description="What the memories to forget are about.")
    dry_run: Flag = Field(description="True: only list them.")


@route(
    "DELETE /ns/{namespace}/memories/semantic", "Forget the memories that a query is about", "ForgetResult"
)
async def forget_matching(ns: WriteNamespace, request: Matching) -> Answer:
    """Forget the facts that a query is about, at most 100; with `dryRun` only list them, best first."""
    hits = await resources.forget_matching(ns, ns.name, request.query, dry_run=request.dry_run)
    facts = [dict(id=hit.id, memory=hit.memory or "") for hit in hits]
    return dict(count=len(facts), errors=[], matches=facts)


@route("GET /ns/{namespace}/memories/{id}", "Read a memory", "MemoryDetails")
async def read_memory(
    ns: ReadNamespace,
    record_id: MemoryId,
    include: Annotated[
        list[Literal["related", "documents"]],
        BeforeValidator(split_names),
        InQuery(description="related: its other versions and links; documents: the document it is from."),
    ] = [],  # noqa: B006  FastAPI copies it
    related_limit: Annotated[
        int, InQuery(alias="relatedLimit", ge=1, le=100, description="Entries of each list.")
    ] = NEAREST,
) -> Answer:
    """One fact of the namespace, forgotten or not."""
    fact = await ns.memory(record_id)
    if not include:
        return as_memory(fact, ns.now)
    included = await read_included(
        ns, [fact], related="related" in include, documents="documents" in include, limit=related_limit
    )
    return {**as_memory(fact, ns.now), "included": included.of(fact.id)}


@route("DELETE /ns/{namespace}/memories", "Forget memories", "ForgetResult")
async def forget_memories(ns: WriteNamespace, request: Exact) -> Answer:
    """Hide these facts from every search and profile; unknown ids are reported, and twice is no error."""
    ids = list(dict.fromkeys(request.ids))
    # One look-up, because 500 of them take four seconds.
    rows = await ns.core.lists.get(Memory, ids)
    facts = [rows[name] for name in ids if name in rows and rows[name].scope == ns.name]
    if facts:
        await resources.forget(ns, [fact.id for fact in facts], ns.name)
    found = {fact.id for fact in facts}
    unknown = f"No memory of the namespace {ns.name!r} has this id."
    missing = [name for name in ids if name not in found]
    return dict(
        count=len(facts),
        errors=[dict(id=name, error=unknown) for name in missing],
        matches=[dict(id=fact.id, memory=fact.content) for fact in facts],
    )


def as_memory(fact: Memory, now: datetime) -> Answer:
    """Return a fact as an answer, without its links."""
    is_expired = fact.expires_at is not None and fact.expires_at <= now
    is_forgotten = fact.forgotten_at is not None or is_expired
    return ANSWERS_5.fill("Memory", fact, isInference=is_derived(fact), isForgotten=is_forgotten)


def as_source(document: Document) -> Answer:
    """Return a document as the source of a fact or chunk."""
    return ANSWERS_5.fill("SourceDocument", document, type=type_of(document.type))


@dataclass(frozen=True)
class Included:
    """The `included` fields of results by id: links, and the latest document that each fact cites."""

    related: Mapping[str, Answer]
    documents: Mapping[str, Answer]

    def of(self, record_id: str, document: Answer | None = None) -> Answer:
        """Return the `included` field of the result with this id; `document` is the source of a chunk."""
        values = dict(related=self.related.get(record_id), document=document or self.documents.get(record_id))
        return {name: value for name, value in values.items() if value}


async def read_included(
    ns: NamespaceContext,
    facts: Sequence[Memory],
    *,
    related: bool,
    documents: bool,
    limit: int = NEAREST,
    filters: Filter | None = None,
) -> Included:
    """Read the links and source documents of several facts at once.

    Forgotten records and those of other namespaces are left out, and so are links to facts that `filters`
    exclude, because a search with these filters does not return them.
    """
    contexts = await ns.core.lists.links(facts, ns.name) if related else {}
    links = [link for context in contexts.values() for link in (*context.parents, *context.children)]
    ids = dict.fromkeys(link.id for link in links if link.src == "memory")
    linked = await ns.core.lists.get(Memory, ids) if ids else {}
    if filters is not None:
        linked = {record_id: row for record_id, row in linked.items() if matches(filters, row.metadata)}
    sources = await _sources(ns, [*facts, *linked.values()]) if documents else {}
    related_answers = {
        fact_id: _related(context, linked, sources, limit) for fact_id, context in contexts.items()
    }
    return Included(related_answers, sources)


async def _sources(ns: NamespaceContext, facts: Collection[Memory]) -> dict[str, Answer]:
    ids = {document_id for fact in facts for document_id in fact.document_ids}
    rows = await ns.core.lists.cited_documents(ids)
    sources = {}
    for fact in facts:
        cited = [rows[document_id] for document_id in fact.document_ids if document_id in rows]
        if documents := [row for row in cited if row.scope == ns.name]:
            sources[fact.id] = as_source(max(documents, key=lambda row: row.updated_at))
    return sources


def _related(
    context: Context, linked: Mapping[str, Memory], sources: Mapping[str, Answer], limit: int
) -> Answer:
    def related(link: Linked) -> Answer:
        source = {"document": sources[link.id]} if link.id in sources else {}
        return ANSWERS_5.fill("RelatedMemory", linked[link.id], relation=link.relation, **source)

    def nearest(links: Iterable[Linked]) -> list[Answer]:
        ranked = sorted((link for link in links if link.id in linked), key=lambda link: abs(link.version))
        return [related(link) for link in ranked[:limit]]

    def versions(links: Iterable[Linked]) -> list[Answer]:
        return nearest(link for link in links if link.relation == "updates" and abs(link.version) <= STEPS)

    parents, children = versions(context.parents), versions(context.children)
    return dict(parents=parents, children=children, siblings=nearest(context.related))
