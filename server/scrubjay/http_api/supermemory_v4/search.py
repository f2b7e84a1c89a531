"""The routes of search: `/v3/search` finds documents by their chunks, `/v4/search` memories and more."""

import asyncio
import sys
import time
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from scrubjay.errors import InputError
from scrubjay.http_api.answers import Answer
from scrubjay.http_api.context import Context, RequestContext
from scrubjay.http_api.matches import Match, MatchQuery, Mode, find_matches, rewrites, sessions_of
from scrubjay.http_api.routes import Routes
from scrubjay.http_api.supermemory_v4.answers import ANSWERS
from scrubjay.http_api.supermemory_v4.bodies import Filepath, Filters, Tagged, TagList, Whole, iso
from scrubjay.http_api.supermemory_v4.document_bodies import type_of
from scrubjay.http_api.supermemory_v4.results import (
    AsksForChats,
    ChatMessage,
    Include,
    citation,
    messages,
    results,
)
from scrubjay.models.fields import Count, Flag, Real, Text
from scrubjay.models.requests import Query, SearchDocuments, about
from scrubjay.models.results import DocumentHit

RELEVANT = 0.5  # from which score on a chunk is relevant where nobody says
THRESHOLD = 0.6  # least similarity of a memory where nobody says
_SAME = ("limit", "doc_id", "include_full_docs", "include_summary", "only_matching_chunks")
_Share = Annotated[Real, Field(ge=0, le=1)]

route = Routes(ANSWERS)


class Search(AsksForChats):
    q: Text = Field(description="What to find.", max_length=10_000)
    limit: Count = about("Documents returned.", 10, ge=1, le=100)
    chunk_threshold: _Share | None = about(
        "From which score on a chunk is relevant, and a document without such a chunk is "
        "left out. Left out, nothing is, and isRelevant is told from 0.5 on."
    )
    document_threshold: _Share = about("Least score of a document.", 0.0)
    container_tag: str | None = about("The tag to look in; left out, every one.")
    container_tags: TagList | None = about("Any of these tags.")
    doc_id: Annotated[Text, Field(max_length=255)] | None = about(
        "Only this document, by id or customId; an unknown one is 404."
    )
    filepath: Filepath | None = about("Exact, or a folder where it ends in /.")
    filters: Filters | None = None
    include_full_docs: Flag = about("With each document its text, under content.", False)
    include_summary: Flag = about("With each document its summary.", False)
    only_matching_chunks: Flag = about(
        "Without the chunks before and after, which have isRelevant false.", False
    )
    rerank: Flag = about("Taken without effect: no reranking stage is configured.", False)
    rewrite_query: Flag = about(
        "Asks again without the wording, part by part, and by what is named; deterministic, without a model.",
        False,
    )
    categories_filter: Annotated[Any, BeforeValidator(lambda value: None)] = about(
        "Passed over: documents have no categories.", deprecated=True
    )

    @property
    def relevant(self) -> float:
        """From which score on a chunk is relevant."""
        return RELEVANT if self.chunk_threshold is None else self.chunk_threshold

    @property
    def threshold(self) -> float:
        """The least score of a document."""
        return max(self.document_threshold, self.chunk_threshold or 0.0)

    def request(self, query: str) -> SearchDocuments:
        """Return it as the engine takes it, with another wording of the question."""
        return SearchDocuments(
            query=query,
            path=self.filepath,
            chunk_threshold=self.chunk_threshold or 0.0,
            document_threshold=self.threshold,
            **{name: getattr(self, name) for name in _SAME},
        ).model_copy(update={"filters": self.filters})


class MemorySearch(Tagged, AsksForChats):
    q: Query = Field(description="What to find, in plain words.", min_length=1)
    search_mode: Mode = about(
        "memories, documents (chunks), or hybrid: both, merged by similarity, each thing once.", "memories"
    )
    limit: Annotated[Whole, Field(ge=1, le=100)] = 10
    threshold: Real = about("Least similarity of a result; 0 lets everything through.", THRESHOLD, ge=0, le=1)
    filters: Filters | None = None
    filepath: Filepath | None = about(
        "Only what is from the document filed here; a folder where it ends in /."
    )
    include: Include = Include()
    rewrite_query: Flag = about(
        "Also search with the question's content words alone, with each of its parts, and "
        "with what it names; the best of all is kept, each thing once. By words, without a model, so "
        "that the same question is always rewritten alike.",
        False,
    )
    rerank: Flag = about("Accepted and without effect: no rerank stage is configured.", False)
    aggregate: Flag = about(
        "Accepted and without effect: nothing here writes new sentences. Not with rerank.", False
    )


@route("POST /v3/search", "Search documents", "ScoredDocuments", missing="No document has the docId.")
async def search_documents(context: Context, body: Search) -> Answer:
    """Documents by their best chunk, best first, with matching chunks and, unless left out, those around."""
    started = time.perf_counter()
    own = [body.container_tag] if body.container_tag else []
    scopes = await context.scopes([*own, *(body.container_tags or ())])
    entries: list[Answer] = []
    if body.sources.docs and scopes:
        entries = await _documents(context, body, scopes)
    if body.sources.chats:
        query = MatchQuery(
            body.q, limit=body.limit, threshold=body.threshold, filters=body.filters, docs=False, chats=True
        )
        matches = await find_matches(context, query, scopes)
        entries = await _without_conversations(context, entries, matches)
        entries += [_turn(match, each, body) for match in matches for each in messages(match, body.q)]
        entries = sorted(entries, key=lambda entry: -entry["score"])[: body.limit]
    milliseconds = round((time.perf_counter() - started) * 1000, 1)
    answer: Answer = dict(results=entries, total=len(entries), timing=milliseconds)
    if not entries and body.filters is not None:
        unused = await context.core.counts.unused_keys(body.filters, scopes)
        if unused:
            answer["warnings"] = [
                f"Nothing here has the metadata key {key[:80]!r}, so the filter on it matches nothing."
                for key in unused
            ]
    return answer


@route("POST /v4/search", "Search memories", "Results")
async def search_memories(body: MemorySearch, context: Context) -> Any:
    """Memories, most similar first; with `searchMode` hybrid or documents also the chunks of documents.

    A memory result has the key `memory`, a chunk the key `chunk`, never both. Turns of conversations are
    found with `includeChats` or `type` alone, one result for each message; every result then says where it
    is from in `src`, and a message cites its session, turn, role and time.
    """
    if body.rerank and body.aggregate:
        raise InputError("rerank and aggregate exclude each other. Ask for one of them.")
    started = time.perf_counter()
    sources, include = body.sources, body.include
    query = MatchQuery(
        body.q,
        mode=body.search_mode,
        limit=body.limit,
        threshold=body.threshold,
        filters=body.filters,
        filepath=body.filepath,
        docs=sources.docs,
        chats=sources.chats,
        rewrite=body.rewrite_query,
        related=include.related_memories,
        forgotten=include.forgotten_memories,
        chunks=include.chunks,
    )
    matches = await find_matches(context, query, await context.scopes(body.tags))
    return results(matches, body.q, include, sources, (time.perf_counter() - started) * 1000, body.limit)


async def _documents(context: RequestContext, body: Search, scopes: tuple[str, ...]) -> list[Answer]:
    wordings = rewrites(body.q) if body.rewrite_query else [body.q]
    search, best = context.core.search.documents, dict[str, DocumentHit]()
    for hits in await asyncio.gather(
        *(search(body.request(wording), scopes, room=sys.maxsize) for wording in wordings)
    ):
        for hit in hits.results:
            if hit.document_id not in best or hit.score > best[hit.document_id].score:
                best[hit.document_id] = hit
    ranked = sorted(best.values(), key=lambda hit: -hit.score)[: body.limit]
    return [_document(hit, body) for hit in ranked]


def _document(hit: DocumentHit, body: Search) -> Any:
    chunks = [
        ANSWERS.fill("ScoredChunk", chunk, isRelevant=chunk.is_relevant and chunk.score >= body.relevant)
        for chunk in hit.chunks
    ]
    return ANSWERS.fill(
        "ScoredDocument",
        hit,
        type=type_of(hit.type),
        chunks=chunks,
        metadata=hit.metadata or None,
        createdAt=iso(hit.created_at),
        updatedAt=iso(hit.updated_at),
        **({"filepath": hit.path} if hit.path else {}),
        **({"content": hit.content or ""} if body.include_full_docs else {}),
        **({"summary": hit.summary} if body.include_summary else {}),
        **({"src": "doc"} if body.sources.with_src else {}),
    )


async def _without_conversations(
    context: RequestContext, entries: Sequence[Answer], matches: Sequence[Match]
) -> list[Answer]:
    """Drop the documents of conversations whose turns are among the matches."""
    sessions = sessions_of(matches)
    ids = [entry["documentId"] for entry in entries] if sessions else []
    rows = (await context.core.lists.cited_documents(ids)).values()
    repeats = {row.id for row in rows if (row.scope, row.custom_id) in sessions}
    return [entry for entry in entries if entry["documentId"] not in repeats]


def _turn(match: Match, message: ChatMessage, body: Search) -> Any:
    """Return a message as a result: a document of type `chat` with one chunk, and its citation."""
    record, score = match.record, match.similarity
    is_relevant = score >= body.relevant
    return {
        "documentId": message.id,
        "title": match.hit.session_id,
        "type": "chat",
        "score": score,
        "chunks": [{"content": message.text, "score": score, "isRelevant": is_relevant, "position": 0}],
        "metadata": record.metadata or None,
        "createdAt": iso(record.created_at),
        "updatedAt": iso(record.updated_at),
        **citation(match, message),
    }
