"""Search for single chunks of documents: each stands for itself, however many of one document answer. Knows which chunks those are; does
not gather them to documents (`document_search`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from scrubjay import shown
from scrubjay.models.records import Document
from scrubjay.models.requests import SearchDocuments
from scrubjay.models.results import Hit
from scrubjay.retrieval.chunks import RankedChunk, rank_chunks
from scrubjay.retrieval.query import Question
from scrubjay.retrieval.retrieve import Embed
from scrubjay.store import sql
from scrubjay.store.store import Store

COLUMNS = [name for name in Document.model_fields if name not in ("content", "content_hash")]  # of a document without its text


@dataclass(frozen=True)
class FoundChunk:
    """One chunk as a hit under its own id, its place in its document from 0, and the document without its text."""

    hit: Hit
    position: int
    document: Document


async def search_chunks(
    store: Store, request: SearchDocuments, *, scopes: tuple[str, ...], now: datetime, embed: Embed
) -> list[FoundChunk]:
    """The best chunks in these scopes, at most `limit` of them, none below `chunk_threshold`; scored as `search_documents` scores them."""
    question = Question(text=request.query, scopes=scopes, srcs=("chunk",), now=now, path=request.path, filters=request.filters)
    ranked = [
        chunk for chunk in await rank_chunks(store, question, embed, documents=request.limit) if chunk.score >= request.chunk_threshold
    ]
    ids = {chunk.document_id for chunk in ranked}
    rows = {row.id: row for row in await store.select(Document, sql.one_of("id", ids), columns=COLUMNS)} if ids else {}
    found = [(chunk, rows[chunk.document_id]) for chunk in ranked if chunk.document_id in rows]
    return [_found(chunk, row) for chunk, row in found if row.forgotten_at is None][: request.limit]


def _found(chunk: RankedChunk, document: Document) -> FoundChunk:
    hit = shown.chunk(document, chunk.text, id=chunk.id)
    hit = hit.model_copy(update={"score": chunk.score, "relevance_score": chunk.score})
    return FoundChunk(hit, chunk.position, document)
