"""Which names of a filter no record has: why a search found nothing. Knows how a filter is walked; does not know what is searched."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BeforeValidator, Field

from scrubjay.errors import InputError
from scrubjay.http_api.context import Context, RequestContext
from scrubjay.http_api.matches import MatchQuery, Mode, find_matches, rewrites
from scrubjay.http_api.supermemory_v4.bodies import Filters, Part, Tagged, TagList, Whole, iso
from scrubjay.http_api.supermemory_v4.chats import AsksForChats, Src, chat_result, said
from scrubjay.http_api.supermemory_v4.document_bodies import type_of
from scrubjay.http_api.supermemory_v4.result_bodies import Include, Results, results
from scrubjay.models.fields import Count, Flag, Real, Text
from scrubjay.models.filters import Condition, Filter, Group
from scrubjay.models.requests import Query, SearchDocuments
from scrubjay.models.results import DocumentHit
from scrubjay.store import conditions, facets
from scrubjay.store.store import Store

MOST = 20  # names that are looked up


async def unknown_keys(store: Store, filter: Filter, scopes: tuple[str, ...]) -> list[str]:
    """A sentence for each name that the filter asks for and that no record of these scopes has."""
    said = []
    for key in list(dict.fromkeys(_keys(filter)))[:MOST]:
        where = conditions.both(conditions.one_of("scope", scopes), facets.has_key(key))
        if not await store.passages(where, limit=1, columns=["id"]):
            said.append(
                f"Nothing here has the metadata key {key[:80]!r}, so the filter on it matches nothing."
            )
    return said


def _keys(filter: Filter) -> Iterator[str]:
    if isinstance(filter, Group):
        for part in filter.parts:
            yield from _keys(part)
    elif not (isinstance(filter, Condition) and filter.negate):
        yield filter.key


RELEVANT = 0.5  # from which score on a chunk is relevant where nobody says
_Share = Annotated[Real, Field(ge=0, le=1)]

router = APIRouter()


class Search(AsksForChats):
    """A question to documents."""

    q: Annotated[Text, Field(max_length=10_000, description="What to find.")]
    limit: Annotated[Count, Field(ge=1, le=100, description="Documents returned.")] = 10
    chunk_threshold: Annotated[
        _Share | None,
        Field(
            description="From which score on a chunk is relevant, and a document without such a chunk is left out. "
            "Left out, nothing is, and isRelevant is told from 0.5 on."
        ),
    ] = None
    document_threshold: Annotated[_Share, Field(description="Least score of a document.")] = 0.0
    container_tag: Annotated[str | None, Field(description="The tag to look in; left out, every one.")] = None
    container_tags: Annotated[TagList | None, Field(description="Any of these tags.")] = None
    doc_id: Annotated[
        Annotated[Text, Field(max_length=255)] | None,
        Field(description="Only this document, by id or customId; an unknown one is 404."),
    ] = None
    filepath: Annotated[
        Annotated[Text, Field(max_length=4_096)] | None,
        Field(description="Exact, or a folder where it ends in /."),
    ] = None
    filters: Filters | None = None
    include_full_docs: Annotated[Flag, Field(description="With each document its text, under content.")] = (
        False
    )
    include_summary: Annotated[Flag, Field(description="With each document its summary.")] = False
    only_matching_chunks: Annotated[
        Flag, Field(description="Without the chunks before and after, which have isRelevant false.")
    ] = False
    rerank: Annotated[Flag, Field(description="Taken without effect: no reranking stage is configured.")] = (
        False
    )
    rewrite_query: Annotated[
        Flag,
        Field(
            description="Asks again without the wording, part by part, and by what is named; deterministic, without a model."
        ),
    ] = False
    categories_filter: Annotated[
        Any,
        BeforeValidator(lambda value: None),
        Field(deprecated=True, description="Passed over: documents have no categories."),
    ] = None


class FoundChunk(Part):
    content: str
    score: float
    is_relevant: bool
    position: Annotated[int, Field(description="Its place in the document, from 0.")]


class FoundDocument(Part):
    document_id: str
    title: str | None
    type: str
    score: float
    chunks: list[FoundChunk]
    metadata: dict[str, Any] | None
    created_at: str
    updated_at: str
    filepath: str | None = None
    content: str | None = None
    summary: str | None = None
    src: Src | None = None
    thread_id: str | None = None
    session_id: str | None = None
    turn: int | None = None
    role: str | None = None
    ts: str | None = None


class Found(Part):
    results: list[FoundDocument]
    total: Annotated[int, Field(description="How many results there are here.")]
    timing: Annotated[float, Field(description="Milliseconds.")]
    warnings: Annotated[
        list[str] | None, Field(description="Why nothing was found: a filter names what no record has.")
    ] = None


@router.post(
    "/v3/search",
    response_model=Found,
    response_model_exclude_unset=True,
    summary="Search documents",
    responses={404: {"description": "No document has the docId."}},
)
async def search_documents(context: Context, body: Search) -> Found:
    """Documents by their best chunk, best first, each with its matching chunks and, unless they are not wanted, those around them."""
    started = time.perf_counter()
    tags = [*([body.container_tag] if body.container_tag else []), *(body.container_tags or ())]
    scopes = await context.scopes(tags)
    found = await _documents(context, body, scopes) if body.sources.docs and scopes else []
    if body.sources.chats and scopes:
        turns = await said(
            context, body.q, scopes, limit=body.limit, threshold=_floor(body), filter=body.filters
        )
        found += [chat_result(turn, body.q, _relevant(body)) for turn in turns]
        found = sorted(found, key=lambda result: -result["score"])[: body.limit]
    more: dict[str, Any] = {}
    if (
        not found
        and body.filters is not None
        and (unknown := await unknown_keys(context.core.store, body.filters, scopes))
    ):
        more["warnings"] = unknown
    took = round((time.perf_counter() - started) * 1000, 1)
    return Found.model_validate({"results": found, "total": len(found), "timing": took, **more})


async def _documents(context: RequestContext, body: Search, scopes: tuple[str, ...]) -> list[dict[str, Any]]:
    ways = rewrites(body.q) if body.rewrite_query else [body.q]
    best: dict[str, DocumentHit] = {}
    for hits in await asyncio.gather(
        *(context.core.search.documents(_request(body, way), scopes, room=sys.maxsize) for way in ways)
    ):
        for hit in hits.results:
            if hit.document_id not in best or hit.score > best[hit.document_id].score:
                best[hit.document_id] = hit
    ranked = sorted(best.values(), key=lambda hit: -hit.score)[: body.limit]
    return [_result(hit, body) for hit in ranked]


def _request(body: Search, query: str) -> SearchDocuments:
    return SearchDocuments(
        query=query,
        limit=body.limit,
        chunk_threshold=body.chunk_threshold or 0.0,
        document_threshold=_floor(body),
        doc_id=body.doc_id,
        path=body.filepath,
        include_full_docs=body.include_full_docs,
        include_summary=body.include_summary,
        only_matching_chunks=body.only_matching_chunks,
    ).model_copy(update={"filters": body.filters})


def _floor(body: Search) -> float:
    return max(body.document_threshold, body.chunk_threshold or 0.0)


def _relevant(body: Search) -> float:
    return RELEVANT if body.chunk_threshold is None else body.chunk_threshold


def _result(hit: DocumentHit, body: Search) -> dict[str, Any]:
    chunks = [
        {
            "content": chunk.content,
            "score": chunk.score,
            "is_relevant": chunk.is_relevant and chunk.score >= _relevant(body),
            "position": chunk.position,
        }
        for chunk in hit.chunks
    ]
    return {
        "document_id": hit.document_id,
        "title": hit.title,
        "type": type_of(hit.type),
        "score": hit.score,
        "chunks": chunks,
        "metadata": hit.metadata or None,
        "created_at": iso(hit.created_at),
        "updated_at": iso(hit.updated_at),
        **({"filepath": hit.path} if hit.path else {}),
        **({"content": hit.content or ""} if body.include_full_docs else {}),
        **({"summary": hit.summary} if body.include_summary else {}),
        **({"src": "doc"} if body.sources.told else {}),
    }


THRESHOLD = 0.6


class MemorySearch(Tagged, AsksForChats):
    """What to find."""

    q: Annotated[Query, Field(min_length=1, description="What to find, in plain words.")]
    search_mode: Annotated[
        Mode,
        Field(
            description="memories, documents (chunks), or hybrid: both, merged by similarity, each thing once."
        ),
    ] = "memories"
    limit: Annotated[Whole, Field(ge=1, le=100)] = 10
    threshold: Annotated[
        Real, Field(ge=0, le=1, description="Least similarity of a result; 0 lets everything through.")
    ] = THRESHOLD
    filters: Filters | None = None
    filepath: Annotated[
        Annotated[Text, Field(max_length=4_096)] | None,
        Field(description="Only what is from the document filed here; a folder where it ends in /."),
    ] = None
    include: Include = Include()
    rewrite_query: Annotated[
        Flag,
        Field(
            description="Also search with the question's content words alone, with each of its parts, and with what it names; the best of "
            "all is kept, each thing once. By words, without a model, so that the same question is always rewritten alike."
        ),
    ] = False
    rerank: Annotated[
        Flag, Field(description="Accepted and without effect: no rerank stage is configured.")
    ] = False
    aggregate: Annotated[
        Flag,
        Field(description="Accepted and without effect: nothing here writes new sentences. Not with rerank."),
    ] = False


@router.post(
    "/v4/search", response_model=Results, response_model_exclude_unset=True, summary="Search memories"
)
async def search_memories(asked: MemorySearch, context: Context) -> Any:
    """Memories by similarity, most similar first; with `searchMode` hybrid or documents also the chunks of documents.

    A memory result has the key `memory`, a chunk the key `chunk`, never both. Turns of conversations are found with `includeChats` or
    `type` alone; every result then says where it is from in `src`, and a turn cites its session, number, role and time.
    """
    if asked.rerank and asked.aggregate:
        raise InputError("rerank and aggregate exclude each other. Ask for one of them.")
    started = time.perf_counter()
    sources, include = asked.sources, asked.include
    found = await find_matches(
        context,
        MatchQuery(
            asked.q,
            mode=asked.search_mode,
            limit=asked.limit,
            threshold=asked.threshold,
            filters=asked.filters,
            filepath=asked.filepath,
            docs=sources.docs,
            chats=sources.chats,
            rewrite=asked.rewrite_query,
            related=include.related_memories,
            forgotten=include.forgotten_memories,
            chunks=include.chunks,
        ),
        await context.scopes(asked.tags),
    )
    return results(found, asked.q, include, sources, (time.perf_counter() - started) * 1000)
