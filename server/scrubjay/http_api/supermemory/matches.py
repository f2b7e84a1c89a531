"""Finds facts, chunks and turns for the searches of both versions, most similar first, without repeats."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from scrubjay.http_api.context import RequestContext
from scrubjay.models.filters import Filter
from scrubjay.models.records import SUMMARY, Document, Memory, PassageSrc, Turn
from scrubjay.models.requests import SearchDocuments, SearchRecords, parse
from scrubjay.models.results import Hit
from scrubjay.search.document_search import FoundChunk
from scrubjay.text.entities import entities
from scrubjay.text.terms import content_words, words

T = TypeVar("T")
Mode = Literal["memories", "hybrid", "documents"]
MOST = 100  # the most records in one answer
MOST_WORDINGS = 6  # the most wordings of one query; each wording costs a separate search
_LEAST_WORDS = 2  # content words; a part of a question with fewer is not searched for
_PART_BREAK = re.compile(r"[?;\n]+|,?\s{1,9}(?:and|or|but)\s+|,\s+", re.IGNORECASE)


@dataclass(frozen=True)
class MatchQuery:
    """What to find, how much of it, how similar, and what to add; `mode` and `chats` select the kinds."""

    query: str
    mode: Mode = "memories"
    limit: int = 10
    threshold: float = 0.0
    filters: Filter | None = None
    filepath: str | None = None  # limits documents, their chunks and facts; a folder if it ends in /
    docs: bool = True  # False: only turns
    chats: bool = False  # True: also turns
    rewrite: bool = False  # search with other wordings too
    related: bool = False  # add to each fact its other versions and links
    forgotten: bool = False
    chunks: bool = False  # add to each fact the chunks of its documents that match too


@dataclass(frozen=True)
class Match:
    """One result: the record (a document without its text) and its hit.

    `documents` has the documents that a fact cites, or the document of a chunk, but no forgotten ones.
    """

    record: Memory | Turn | Document
    hit: Hit
    position: int | None = None  # of a chunk in its document
    documents: tuple[Document, ...] = ()
    chunks: tuple[FoundChunk, ...] = ()

    @property
    def similarity(self) -> float:
        """Return the relevance, in [0, 1]."""
        return self.hit.relevance_score or 0.0

    @property
    def text(self) -> str:
        """Return the text of the hit."""
        return self.hit.memory or self.hit.chunk or ""

    @property
    def is_chat(self) -> bool:
        """Return True if the record is a turn, or a summary of turns."""
        return isinstance(self.record, Turn) or self.record.source == SUMMARY


async def find_matches(context: RequestContext, query: MatchQuery, scopes: tuple[str, ...]) -> list[Match]:
    """Return at most `limit` matches in these scopes, most similar first."""
    if not scopes:
        return []

    async def search(wording: str) -> list[Match]:
        return await _matches(context, replace(query, query=wording), scopes)

    ranked = await best_of(
        query.query, search, lambda match: (match.hit.id, match.similarity), rewrite=query.rewrite
    )
    return _without_repeats(ranked)[: query.limit]


async def best_of(
    query: str,
    search: Callable[[str], Awaitable[Iterable[T]]],
    id_and_score: Callable[[T], tuple[str, float]],
    *,
    rewrite: bool,
) -> list[T]:
    """Search for a query, with `rewrite` also in other wordings; return each result once, best first."""
    best: dict[str, T] = {}
    for results in await asyncio.gather(*map(search, rewrites(query) if rewrite else [query])):
        for result in results:
            result_id, score = id_and_score(result)
            if result_id not in best or score > id_and_score(best[result_id])[1]:
                best[result_id] = result
    return sorted(best.values(), key=lambda result: -id_and_score(result)[1])


def sessions_of(matches: Iterable[Match]) -> set[tuple[str, str | None]]:
    """Return the scope and the session of each chat among these matches.

    The session is also the custom id of the chat's document.
    """
    return {(match.record.scope, match.hit.session_id) for match in matches if match.is_chat}


def rewrites(query: str) -> list[str]:
    """Return wordings of a query: the query, its content words, each of its parts, and the names in it.

    >>> for wording in rewrites("When did we rename tick() and who asked for it?"):
    ...     print(wording)
    When did we rename tick() and who asked for it?
    rename tick asked
    When did we rename tick()
    tick()
    """
    parts = [part.strip() for part in _PART_BREAK.split(query) if part.strip()]
    parts = [part for part in parts if len(parts) > 1 and len(content_words(part)) >= _LEAST_WORDS]
    names = " ".join(entity.spelling for entity in entities(query))
    wordings = dict.fromkeys([query, " ".join(content_words(query)), *parts, names])
    return [wording for wording in wordings if wording][:MOST_WORDINGS]


async def _matches(context: RequestContext, query: MatchQuery, scopes: tuple[str, ...]) -> list[Match]:
    wants_facts = query.docs and query.mode != "documents"
    wants_chunks = query.docs and query.mode != "memories"
    matches = (
        await _record_matches(context, query, scopes, wants_facts=wants_facts)
        if wants_facts or query.chats
        else []
    )
    chunks = await _chunks(context, query, scopes) if wants_chunks or (query.chunks and wants_facts) else []
    facts = [match.record for match in matches if isinstance(match.record, Memory)]
    ids = {document_id for fact in facts for document_id in fact.document_ids}
    documents = await context.core.lists.cited_documents(ids) if ids else {}
    matches = [_with_documents(match, documents, chunks if query.chunks else ()) for match in matches]
    if (path := query.filepath) is not None:
        matches = [
            match
            for match in matches
            if match.is_chat or any(_at_or_below(document.place, path) for document in match.documents)
        ]
    found = (Match(chunk.document, chunk.hit, chunk.position, (chunk.document,)) for chunk in chunks)
    return [*matches, *found] if wants_chunks else matches


async def _record_matches(
    context: RequestContext, query: MatchQuery, scopes: tuple[str, ...], *, wants_facts: bool
) -> list[Match]:
    srcs: list[PassageSrc] = ["memory"] if wants_facts else []
    if query.chats:
        srcs += ["turn", "summary"] if context.core.settings.chat_capture == "summary_only" else ["turn"]
    values = {
        "query": query.query,
        "srcs": tuple(srcs),
        "top_k": MOST if query.filepath else query.limit,
        "threshold": query.threshold,
        "weight_importance": 0.0,
        "weight_recency": 0.0,
        "include": {"related_memories": query.related, "forgotten": query.forgotten},
    }
    request = parse(SearchRecords, values).model_copy(update={"filters": query.filters})
    hits = await context.core.search.memories(request, scopes, with_related=False, programmatic=True)
    return [Match(hits.records[hit.id], hit) for hit in hits.results]


async def _chunks(
    context: RequestContext, query: MatchQuery, scopes: tuple[str, ...]
) -> Sequence[FoundChunk]:
    values: dict[str, object] = {"query": query.query, "path": query.filepath, "limit": query.limit}
    values["chunk_threshold"] = query.threshold
    request = parse(SearchDocuments, values).model_copy(update={"filters": query.filters})
    return await context.core.search.chunks(request, scopes)


def _with_documents(match: Match, documents: dict[str, Document], chunks: Iterable[FoundChunk]) -> Match:
    if not isinstance(match.record, Memory):
        return match
    ids = match.record.document_ids
    cited = tuple(documents[document_id] for document_id in ids if document_id in documents)
    return replace(
        match, documents=cited, chunks=tuple(chunk for chunk in chunks if chunk.document.id in ids)
    )


def _without_repeats(ranked: Sequence[Match]) -> list[Match]:
    """Drop chunks that only repeat the facts of their document or the turns of their conversation."""
    fact_texts: dict[str, list[str]] = {}  # by document id
    for match in ranked:
        for document in match.documents if isinstance(match.record, Memory) else ():
            fact_texts.setdefault(document.id, []).append(_padded_words(match.text))
    sessions = sessions_of(ranked)

    def is_repeat(match: Match) -> bool:
        document = match.record
        if not isinstance(document, Document):
            return False
        if (document.scope, document.custom_id) in sessions:
            return True
        lines = [_padded_words(line) for line in match.text.splitlines() if line.strip()]
        return all(any(line in text for text in fact_texts.get(document.id, ())) for line in lines)

    return [match for match in ranked if not is_repeat(match)]


def _padded_words(text: str) -> str:
    return f" {' '.join(words(text))} "


def _at_or_below(path: str | None, target: str) -> bool:
    return path is not None and (path.startswith(target) if target.endswith("/") else path == target)
