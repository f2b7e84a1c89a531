"""What a search over HTTP finds, whatever the family of clients: facts, chunks and turns together, most similar first, nothing twice.
Knows how the searches of the floors below are joined; does not know how a client spells a question or parses an answer.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from scrubjay.http_api.context import RequestContext
from scrubjay.models.filters import Filter
from scrubjay.models.records import SUMMARY, Document, Memory, PassageSrc, Turn
from scrubjay.models.requests import SearchDocuments, SearchRecords, parse
from scrubjay.models.results import Hit
from scrubjay.search.document_search import COLUMNS, FoundChunk, search_chunks
from scrubjay.store import conditions
from scrubjay.text.entities import entities
from scrubjay.text.terms import content_words, words

Mode = Literal["memories", "hybrid", "documents"]
MOST = 100  # records of one answer


@dataclass(frozen=True)
class Asked:
    """One question: what answers it (`mode`, and with `chats` also turns), how many and how similar they must be, what each brings."""

    query: str
    mode: Mode = "memories"
    limit: int = 10
    threshold: float = 0.0
    filter: Filter | None = None
    filepath: str | None = None  # of documents, their chunks and their facts; a folder where it ends in /
    docs: bool = True  # False: turns alone
    chats: bool = False
    rewrite: bool = False
    related: bool = False  # with each fact the versions around it and what it builds on
    forgotten: bool = False
    chunks: bool = False  # with each fact the chunks of its documents that answer too


@dataclass(frozen=True)
class Match:
    """One answer: the record (a document without its text), the hit that was made of it, and what belongs to it.

    `documents` are those that a fact cites, or the one of a chunk, without those that are forgotten.
    """

    record: Memory | Turn | Document
    hit: Hit
    position: int | None = None  # of a chunk in its document
    documents: tuple[Document, ...] = ()
    chunks: tuple[FoundChunk, ...] = field(default=())

    @property
    def similarity(self) -> float:
        return self.hit.relevance_score or 0.0

    @property
    def text(self) -> str:
        return self.hit.memory or self.hit.chunk or ""

    @property
    def is_chat(self) -> bool:
        """Whether it is what was said, or a summary of that."""
        return isinstance(self.record, Turn) or self.record.source == SUMMARY


async def matches(context: RequestContext, asked: Asked, scopes: tuple[str, ...]) -> list[Match]:
    """What answers in these scopes, at most `limit`, most similar first; with `rewrite` the best of every way to put the question."""
    if not scopes:
        return []
    ways = rewrites(asked.query) if asked.rewrite else [asked.query]
    best: dict[str, Match] = {}
    for found in await asyncio.gather(*(_found(context, replace(asked, query=way), scopes) for way in ways)):
        for match in found:
            if match.hit.id not in best or match.similarity > best[match.hit.id].similarity:
                best[match.hit.id] = match
    ranked = sorted(best.values(), key=lambda match: -match.similarity)
    return _once(ranked)[: asked.limit]


async def _found(context: RequestContext, asked: Asked, scopes: tuple[str, ...]) -> list[Match]:
    facts = asked.docs and asked.mode != "documents"
    whole = asked.docs and asked.mode != "memories"
    records = await _records(context, asked, scopes, facts=facts) if facts or asked.chats else []
    chunks = await _chunks(context, asked, scopes) if whole or (asked.chunks and facts) else []
    documents = await _documents(context, records)
    made = [_with_documents(match, documents, chunks if asked.chunks else ()) for match in records]
    if asked.filepath is not None:
        made = [
            match
            for match in made
            if match.is_chat or any(_at_or_below(row.place, asked.filepath) for row in match.documents)
        ]
    return [*made, *(Match(row.document, row.hit, row.position, (row.document,)) for row in chunks if whole)]


async def _records(
    context: RequestContext, asked: Asked, scopes: tuple[str, ...], *, facts: bool
) -> list[Match]:
    srcs: list[PassageSrc] = ["memory"] if facts else []
    if asked.chats:
        srcs += ["turn", "summary"] if context.core.settings.chat_capture == "summary_only" else ["turn"]
    request = parse(
        SearchRecords,
        {
            "query": asked.query,
            "srcs": tuple(srcs),
            "top_k": MOST if asked.filepath else asked.limit,
            "threshold": asked.threshold,
            "weight_importance": 0.0,
            "weight_recency": 0.0,
            "include": {"related_memories": asked.related, "forgotten": asked.forgotten},
        },
    ).model_copy(update={"filters": asked.filter})
    hits = await context.core.search_memories(request, scopes, tied=False, apart=True)
    return [Match(hits.records[hit.id], hit) for hit in hits.results]


async def _chunks(context: RequestContext, asked: Asked, scopes: tuple[str, ...]) -> list[FoundChunk]:
    await context.core.writer.drain()
    values = {
        "query": asked.query,
        "limit": asked.limit,
        "chunk_threshold": asked.threshold,
        "path": asked.filepath,
    }
    request = parse(SearchDocuments, values).model_copy(update={"filters": asked.filter})
    core = context.core
    return await search_chunks(
        core.store, request, scopes=scopes, now=context.now, embed=core.indexer.embed_query
    )


async def _documents(context: RequestContext, found: Iterable[Match]) -> dict[str, Document]:
    """The documents that facts cite, without their texts, by id."""
    ids = {id for match in found if isinstance(match.record, Memory) for id in match.record.document_ids}
    rows = (
        await context.core.store.select(Document, conditions.one_of("id", sorted(ids)), columns=COLUMNS)
        if ids
        else []
    )
    return {row.id: row for row in rows if row.forgotten_at is None}


def _with_documents(match: Match, documents: dict[str, Document], chunks: Sequence[FoundChunk]) -> Match:
    if not isinstance(match.record, Memory):
        return match
    cited = tuple(documents[id] for id in match.record.document_ids if id in documents)
    return replace(
        match,
        documents=cited,
        chunks=tuple(row for row in chunks if row.document.id in match.record.document_ids),
    )


def _once(ranked: Sequence[Match]) -> list[Match]:
    """Without the chunks that say no more than a fact of their document, or than the turns of the conversation that they are of."""
    said: dict[str, list[str]] = {}
    sessions = {
        (match.record.scope, match.record.session_id) for match in ranked if isinstance(match.record, Turn)
    }
    for match in ranked:
        for document in match.documents if isinstance(match.record, Memory) else ():
            said.setdefault(document.id, []).append(_words(match.text))
    kept = []
    for match in ranked:
        if isinstance(match.record, Document):
            told = (match.record.scope, match.record.custom_id) in sessions
            if told or any(_words(match.text) in text for text in said.get(match.record.id, ())):
                continue
        kept.append(match)
    return kept


def _words(text: str) -> str:
    return f" {' '.join(words(text))} "


def _at_or_below(path: str | None, wanted: str) -> bool:
    return path is not None and (path.startswith(wanted) if wanted.endswith("/") else path == wanted)


MOST_WAYS = 6  # ways together: each is a search of its own
_LEAST_WORDS = 2  # that say something, in one part of a question
_BETWEEN = re.compile(r"[?;\n]+|,?\s+(?:and|or|but)\s+|,\s+", re.IGNORECASE)


def rewrites(query: str) -> list[str]:
    """The question as it is, without its wording, part by part where it has several, and what it names; each once, at most `MOST`.

    >>> rewrites("When did we rename tick() and who asked for it?")
    ['When did we rename tick() and who asked for it?', 'rename tick asked', 'When did we rename tick()', 'tick()']
    """
    parts = [part.strip() for part in _BETWEEN.split(query) if part.strip()]
    telling = [part for part in parts if len(content_words(part)) >= _LEAST_WORDS] if len(parts) > 1 else []
    named = [entity.said for entity in entities(query)]
    ways = (query, " ".join(content_words(query)), *telling, *([" ".join(named)] if named else []))
    return list(dict.fromkeys(way for way in ways if way))[:MOST_WAYS]
