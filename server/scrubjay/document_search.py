"""Search in documents: ranked passages gathered to the documents they belong to, with the chunks around them."""

from __future__ import annotations

from datetime import datetime

from scrubjay.errors import NotFound
from scrubjay.models.records import Document, Passage
from scrubjay.models.requests import SearchDocuments
from scrubjay.models.results import Chunk, DocumentHit, DocumentHits
from scrubjay.recall import MOST_TOKENS, scopes_seen
from scrubjay.retrieval.chunks import ChunkScore, rank_chunks
from scrubjay.retrieval.query import Question
from scrubjay.retrieval.retrieve import Embed
from scrubjay.store import sql
from scrubjay.store.store import Store

CHUNKS_SHOWN = 3  # matching chunks a document
CHARACTERS = MOST_TOKENS * 4 * 7 // 10  # of chunk text in one answer; the rest is names and scores


async def search_documents(store: Store, request: SearchDocuments, *, scope: str, now: datetime, embed: Embed) -> DocumentHits:
    """Documents by their best chunk, best first; a chunk is relevant from `chunk_threshold` on.

    Unless `only_matching_chunks`, the chunks just before and after a matching one come along with `is_relevant` false.
    """
    question = Question(
        text=request.query,
        scopes=scopes_seen(request.scope, scope),
        srcs=("chunk",),
        now=now,
        record_id=None if request.doc_id is None else await _document_id(store, request.doc_id, scopes_seen(request.scope, scope)),
    )
    best = await rank_chunks(store, question, embed)
    results: list[DocumentHit] = []
    left = CHARACTERS
    documents = await store.get(Document, list(best)[: request.limit])
    for id, scores in list(best.items())[: request.limit]:
        document = documents.get(id)
        if document is None or document.forgotten_at is not None or scores[0].score < request.document_threshold:
            continue
        chunks = await _chunks(store, id, scores[:CHUNKS_SHOWN], request)
        left -= sum(len(chunk.content) for chunk in chunks) + (len(document.content) if request.include_full_docs else 0)
        if request.only_matching_chunks and not chunks:
            continue
        if left < 0 and results:
            break
        results.append(_hit(document, scores[0].score, chunks, request))
    return DocumentHits(results=results, total=len(results), timing=0.0, left_out=(min(len(best), request.limit) - len(results)) or None)


async def _document_id(store: Store, named: str, scopes: tuple[str, ...] | None) -> str:
    """The id of the document that has this id or custom_id.

    Raises:
        NotFound: these scopes hold none.
    """
    await store.flush()
    name = sql.either(sql.equal("id", named), sql.equal("custom_id", named))
    where = sql.both(name, "forgotten_at IS NULL", None if scopes is None else sql.one_of("scope", scopes))
    rows = await store.select(Document, where, limit=1, columns=["id"])
    if not rows:
        raise NotFound(f"No document here has the id or custom_id {named[:80]!r}. Take the document_id of a search result.")
    return rows[0].id


async def _chunks(store: Store, id: str, scores: list[ChunkScore], request: SearchDocuments) -> list[Chunk]:
    by_position = {score.position: score for score in scores}
    positions = {score.position for score in scores if not request.only_matching_chunks or score.score >= request.chunk_threshold}
    if not request.only_matching_chunks:
        positions |= {at + step for at in by_position for step in (-1, 1)}
    where = sql.both(sql.equal("record_id", id), f"part IN ({', '.join(map(str, sorted(positions)))})" if positions else "false")
    rows: list[Passage] = await store.passages(where, columns=["id", "part", "text", "line_start", "line_end"])
    return [
        Chunk(
            content=row.text,
            score=by_position[row.part].score if row.part in by_position else 0.0,
            is_relevant=row.part in by_position and by_position[row.part].score >= request.chunk_threshold,
            position=row.part,
            lines=(row.line_start or 1, row.line_end or 1),
        )
        for row in sorted(rows, key=lambda row: row.part)
    ]


def _hit(document: Document, score: float, chunks: list[Chunk], request: SearchDocuments) -> DocumentHit:
    return DocumentHit(
        document_id=document.id,
        title=document.title,
        type=document.type,
        score=score,
        chunks=chunks,
        metadata=document.metadata,
        created_at=document.created_at,
        updated_at=document.updated_at,
        content=document.content[:CHARACTERS] if request.include_full_docs else None,
        summary=document.summary if request.include_summary else None,
    )
