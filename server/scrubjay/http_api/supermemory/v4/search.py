"""Searches of version 4: `/v3/search` finds documents by their chunks, `/v4/search` memories and more."""

import sys
import time
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from scrubjay.errors import InputError
from scrubjay.http_api.answers import ANSWERS_4, Answer
from scrubjay.http_api.context import Context, RequestContext
from scrubjay.http_api.routes import Routes
from scrubjay.http_api.supermemory.fields import type_of
from scrubjay.http_api.supermemory.matches import Match, MatchQuery, Mode, best_of, find_matches, sessions_of
from scrubjay.http_api.supermemory.v4.bodies import Filepath, Filters, Tagged
from scrubjay.http_api.supermemory.v4.results import (
    THRESHOLD,
    ChatMessage,
    Include,
    citation,
    messages,
    results,
    timed,
)
from scrubjay.models.fields import Count, Flag, Text
from scrubjay.models.filters import Filter
from scrubjay.models.requests import Query, SearchDocuments, Share, about
from scrubjay.models.results import DocumentHit

RELEVANT = 0.5  # by default, a chunk with at least this score is relevant
_SHARED_FIELDS = ("limit", "doc_id", "include_full_docs", "include_summary", "only_matching_chunks")

route = Routes(ANSWERS_4)


class _Search(Tagged):
    """What both searches ask. `type` takes precedence over `includeChats`."""

    limit: Count = about("Results returned.", 10, ge=1, le=100)
    filters: Filters | None = None
    filepath: Filepath | None = about("Only documents with this path; a folder if it ends in /.")
    rewrite_query: Flag = about(
        "Also search for the question's content words, for each of its parts, and for the names in it; the "
        "best results of all are returned, each once. By rules, without a model.",
        False,
    )
    rerank: Flag = about("Accepted and without effect: no rerank stage is configured.", False)
    include_chats: Flag | None = about(
        'True: also turns of conversations, and on every result `src`, "doc" or "chat".'
    )
    type: Annotated[
        Annotated[list[Literal["doc", "chat"]], Field(min_length=1, max_length=10)] | None,
        BeforeValidator(lambda value: [value] if isinstance(value, str) else value),
        Field(description='The same, chosen in full: ["doc", "chat"], ["doc"] or ["chat"].'),
    ] = None

    @property
    def sources(self) -> frozenset[str]:
        """Return where the results come from: doc, chat or both."""
        return frozenset(self.type or (("doc", "chat") if self.include_chats else ("doc",)))

    @property
    def with_src(self) -> bool:
        """Return True if each result has `src`, because the request mentions chats."""
        return self.type is not None or bool(self.include_chats)


class DocumentSearch(_Search):
    q: Text = Field(description="What to find.", max_length=10_000)
    chunk_threshold: Share | None = about(
        "The score from which a chunk is relevant; a document without a relevant chunk is left out. Left "
        "out, no document is, and isRelevant means 0.5 or more."
    )
    document_threshold: Share = about("Least score of a document.", 0.0)
    doc_id: Annotated[Text, Field(max_length=255)] | None = about(
        "Only this document, by id or customId; an unknown one is 404."
    )
    include_full_docs: Flag = about("With each document its text, under content.", False)
    include_summary: Flag = about("With each document its summary.", False)
    only_matching_chunks: Flag = about(
        "Without the chunks before and after, which have isRelevant false.", False
    )

    @property
    def relevant(self) -> float:
        """Return the score from which a chunk is relevant."""
        return RELEVANT if self.chunk_threshold is None else self.chunk_threshold

    @property
    def threshold(self) -> float:
        """Return the least score of a document."""
        return max(self.document_threshold, self.chunk_threshold or 0.0)

    def request(self, query: str) -> SearchDocuments:
        """Return the engine's request, with this wording of the query."""
        return SearchDocuments(
            query=query,
            path=self.filepath,
            chunk_threshold=self.chunk_threshold or 0.0,
            document_threshold=self.threshold,
            **{name: getattr(self, name) for name in _SHARED_FIELDS},
        ).model_copy(update={"filters": self.filters})


class MemorySearch(_Search):
    q: Query = Field(description="What to find, in plain words.", min_length=1)
    search_mode: Mode = about(
        "memories, documents (chunks), or hybrid: both, merged by similarity, each thing once.", "memories"
    )
    threshold: Share = about("Least similarity of a result; 0 lets everything through.", THRESHOLD)
    include: Include = Include()
    aggregate: Flag = about(
        "Accepted and without effect: nothing here writes new sentences. Not with rerank.", False
    )


@route("POST /v3/search", "Search documents", "ScoredDocuments")
async def search_documents(context: Context, body: DocumentSearch) -> Answer:
    """Documents, the one with the best chunk first, with matching chunks and by default those around."""
    started = time.perf_counter()
    scopes = await context.scopes(body.tags)
    entries: list[Answer] = []
    if "doc" in body.sources and scopes:
        entries = await _documents(context, body, scopes)
    if "chat" in body.sources:
        query = MatchQuery(
            body.q, limit=body.limit, threshold=body.threshold, filters=body.filters, docs=False, chats=True
        )
        matches = await find_matches(context, query, scopes)
        entries = await _without_conversations(context, entries, matches)
        entries += [
            _message(match, message, body) for match in matches for message in messages(match, body.q)
        ]
        entries = sorted(entries, key=lambda entry: -entry["score"])[: body.limit]
    return timed(entries, started) | body.warnings(
        more=[] if entries else await _unused_keys(context, body.filters, scopes)
    )


@route("POST /v4/search", "Search memories", "Results")
async def search_memories(body: MemorySearch, context: Context) -> Any:
    """Memories (key `memory`) or chunks of documents (key `chunk`), most similar first.

    With `includeChats` or `type` also messages of conversations; every result then has `src`.
    """
    if body.rerank and body.aggregate:
        raise InputError("rerank and aggregate exclude each other. Ask for one of them.")
    started = time.perf_counter()
    include = body.include
    query = MatchQuery(
        body.q,
        mode=body.search_mode,
        limit=body.limit,
        threshold=body.threshold,
        filters=body.filters,
        filepath=body.filepath,
        docs="doc" in body.sources,
        chats="chat" in body.sources,
        rewrite=body.rewrite_query,
        related=include.related_memories,
        forgotten=include.forgotten_memories,
        chunks=include.chunks,
    )
    scopes = await context.scopes(body.tags)
    matches = await find_matches(context, query, scopes)
    entries = results(matches, body.q, include, with_src=body.with_src)[: body.limit]
    unused = [] if matches else await _unused_keys(context, body.filters, scopes)
    return timed(entries, started) | body.warnings(include, more=unused)


async def _unused_keys(context: RequestContext, filters: Filter | None, scopes: Sequence[str]) -> list[str]:
    """Return a sentence for each metadata key of a filter that no record has."""
    keys = [] if filters is None else await context.core.counts.unused_keys(filters, scopes)
    return [
        f"Nothing here has the metadata key {key[:80]!r}, so the filter on it matches nothing."
        for key in keys
    ]


async def _documents(context: RequestContext, body: DocumentSearch, scopes: tuple[str, ...]) -> list[Answer]:
    async def search(wording: str) -> list[DocumentHit]:
        return (await context.core.search.documents(body.request(wording), scopes, room=sys.maxsize)).results

    hits = await best_of(body.q, search, lambda hit: (hit.document_id, hit.score), rewrite=body.rewrite_query)
    return [_document(hit, body) for hit in hits[: body.limit]]


def _document(hit: DocumentHit, body: DocumentSearch) -> Any:
    chunks = [
        ANSWERS_4.fill("ScoredChunk", chunk, isRelevant=chunk.is_relevant and chunk.score >= body.relevant)
        for chunk in hit.chunks
    ]
    return ANSWERS_4.fill(
        "ScoredDocument",
        hit,
        type=type_of(hit.type),
        chunks=chunks,
        **({"filepath": hit.path} if hit.path else {}),
        **({"content": hit.content or ""} if body.include_full_docs else {}),
        **({"summary": hit.summary} if body.include_summary else {}),
        **({"src": "doc"} if body.with_src else {}),
    )


async def _without_conversations(
    context: RequestContext, entries: Sequence[Answer], matches: Sequence[Match]
) -> list[Answer]:
    """Drop documents that are conversations with a turn among the matches."""
    sessions = sessions_of(matches)
    ids = [entry["documentId"] for entry in entries] if sessions else []
    rows = (await context.core.lists.cited_documents(ids)).values()
    repeats = {row.id for row in rows if (row.scope, row.custom_id) in sessions}
    return [entry for entry in entries if entry["documentId"] not in repeats]


def _message(match: Match, message: ChatMessage, body: DocumentSearch) -> Answer:
    """Return a message as a result: a document of type `chat` with one chunk and a citation."""
    score = match.similarity
    chunk = dict(content=message.text, score=score, isRelevant=score >= body.relevant, position=0)
    return ANSWERS_4.fill(
        "ScoredDocument",
        match.record,
        documentId=message.id,
        title=match.hit.session_id,
        type="chat",
        score=score,
        chunks=[chunk],
        **citation(match, message),
    )
