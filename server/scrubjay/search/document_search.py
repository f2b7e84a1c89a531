"""Search in documents: ranked chunks gathered to the documents they belong to, with the chunks around them, within an answer's bound."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from scrubjay.errors import NotFound
from scrubjay.models.records import Document, Passage
from scrubjay.models.requests import SearchDocuments
from scrubjay.models.results import Chunk, DocumentHit, DocumentHits, Hit
from scrubjay.search.choosing import MOST_TOKENS
from scrubjay.search.hits import chunk_as_hit
from scrubjay.search.recall import search_scopes
from scrubjay.search.retrieval.chunks import RankedChunk, rank_chunks
from scrubjay.search.retrieval.query import Question
from scrubjay.search.retrieval.retrieve import Embed
from scrubjay.store import conditions
from scrubjay.store.store import Store

CHUNKS_SHOWN = 3  # of a document, without those beside them
TOKENS = 4_000  # of an answer that names no budget: the best chunks of ten documents, and about as much around the best of these
CHARACTERS = MOST_TOKENS * 4 * 7 // 10  # of texts in one answer; the rest is names and scores
_SHOWN = [
    "id",
    "title",
    "type",
    "path",
    "filepath",
    "summary",
    "metadata",
    "created_at",
    "updated_at",
    "forgotten_at",
]  # all but the text
Place = tuple[str, int]  # of a chunk: its document's id, its position


async def search_documents(
    store: Store,
    request: SearchDocuments,
    *,
    scope: str | tuple[str, ...],
    now: datetime,
    embed: Embed,
    room: int | None = None,
) -> DocumentHits:
    """Documents by their best chunk, best first; a chunk is relevant from `chunk_threshold` on. `room` is for texts, in
    characters; left out, what `max_tokens` gives.

    Unless `only_matching_chunks`, the chunks just before and after a matching one come along with `is_relevant` false. Room goes to
    the best chunk of each document first, then to the other chunks and those beside them by score.
    """
    scopes = search_scopes(request.scope, scope)
    question = Question(
        text=request.query,
        scopes=scopes,
        srcs=("chunk",),
        now=now,
        record_id=None if request.doc_id is None else await _document_id(store, request.doc_id, scopes),
        path=request.path,
        filters=request.filters,
    )
    best = _by_document(await rank_chunks(store, question, embed, documents=request.limit), request)
    columns = [*_SHOWN, "content"] if request.include_full_docs else _SHOWN
    rows = {
        row.id: row for row in await store.select(Document, conditions.one_of("id", best), columns=columns)
    }
    found = [rows[id] for id in best if id in rows and rows[id].forgotten_at is None]
    places = await _read(
        store,
        [
            place
            for row in found
            for chunk in _shown(best[row.id], request)
            for place in _places(chunk, request)
        ],
    )
    return _Answer(request, places, _room(request) if room is None else room).made(found, best)


def _room(request: SearchDocuments) -> int:
    """Characters of texts in one answer."""
    if request.max_tokens is not None:
        return min(request.max_tokens * 4, CHARACTERS)
    return CHARACTERS if request.include_full_docs else TOKENS * 4


def _by_document(ranked: Sequence[RankedChunk], request: SearchDocuments) -> dict[str, list[RankedChunk]]:
    """Document id -> its chunks, both best first: as many documents as are asked for and good enough."""
    best: dict[str, list[RankedChunk]] = {}
    for chunk in ranked:
        best.setdefault(chunk.document_id, []).append(chunk)
    least = max(request.document_threshold, request.chunk_threshold if request.only_matching_chunks else 0.0)
    return {id: chunks for id, chunks in list(best.items())[: request.limit] if chunks[0].score >= least}


def _shown(chunks: Sequence[RankedChunk], request: SearchDocuments) -> list[RankedChunk]:
    """Those of one document's chunks to show."""
    return [
        chunk
        for chunk in chunks[:CHUNKS_SHOWN]
        if not request.only_matching_chunks or chunk.score >= request.chunk_threshold
    ]


def _places(chunk: RankedChunk, request: SearchDocuments) -> list[Place]:
    """Where a chunk stands and, unless only matching ones are wanted, those beside it."""
    steps = (0,) if request.only_matching_chunks else (0, -1, 1)
    return [(chunk.document_id, chunk.position + step) for step in steps]


async def _read(store: Store, places: Sequence[Place]) -> dict[Place, Passage]:
    if not places:
        return {}
    by_document: dict[str, set[int]] = {}
    for id, position in places:
        by_document.setdefault(id, set()).add(position)
    each = (
        conditions.both(conditions.equal("record_id", id), conditions.one_of("part", sorted(parts)))
        for id, parts in by_document.items()
    )
    rows = await store.passages(
        conditions.either(*each), columns=["record_id", "part", "text", "line_start", "line_end"]
    )
    return {(row.record_id, row.part): row for row in rows}


async def _document_id(store: Store, named: str, scopes: tuple[str, ...] | None) -> str:
    """The id of the document that has this id or custom_id.

    Raises:
        NotFound: these scopes hold none.
    """
    await store.flush()
    name = conditions.either(conditions.equal("id", named), conditions.equal("custom_id", named))
    where = conditions.both(
        name, conditions.NOT_FORGOTTEN, None if scopes is None else conditions.one_of("scope", scopes)
    )
    rows = await store.select(Document, where, limit=1, columns=["id"])
    if not rows:
        raise NotFound(
            f"No document here has the id or custom_id {named[:80]!r}. Take the document_id of a search result."
        )
    return rows[0].id


@dataclass
class _Answer:
    """Fills one answer until there is no room for the next text. Lives for one search."""

    request: SearchDocuments
    places: Mapping[Place, Passage]
    room: int

    def made(self, found: Sequence[Document], best: Mapping[str, Sequence[RankedChunk]]) -> DocumentHits:
        shown = {row.id: _shown(best[row.id], self.request) for row in found}
        documents = list(self._documents(found, shown))
        chunks = sorted(
            (chunk for row in documents for chunk in shown[row.id]), key=lambda chunk: -chunk.score
        )
        firsts = [(row.id, shown[row.id][0].position) for row in documents]
        wanted = dict.fromkeys(
            [
                *firsts,
                *(
                    place
                    for chunk in chunks
                    for place in _places(chunk, self.request)
                    if place in self.places
                ),
            ]
        )
        taken = {*firsts, *self._taken(list(wanted)[len(firsts) :])}
        return DocumentHits(
            results=[
                self._hit(row, best[row.id], sorted(part for id, part in taken if id == row.id))
                for row in documents
            ],
            total=len(documents),
            timing=0.0,
            left_out=(len(found) - len(documents)) or None,
            chunks_left_out=(len(wanted) - len(taken)) or None,
        )

    def _documents(
        self, found: Sequence[Document], shown: Mapping[str, Sequence[RankedChunk]]
    ) -> Iterator[Document]:
        """Those whose best chunk and summary there is room for; the first has room."""
        for rank, document in enumerate(found):
            first = self.places.get((document.id, shown[document.id][0].position))
            cost = len(first.text if first else "") + len(self._summary(document) or "")
            if rank and cost > self.room:
                return
            self.room -= cost
            yield document

    def _taken(self, wanted: Sequence[Place]) -> Iterator[Place]:
        for place in wanted:
            cost = len(self.places[place].text)
            if cost > self.room:
                return
            self.room -= cost
            yield place

    def _summary(self, document: Document) -> str | None:
        return document.summary if self.request.include_summary else None

    def _chunks(
        self, document: Document, ranked: Sequence[RankedChunk], parts: Sequence[int]
    ) -> Iterator[Chunk]:
        scores = {chunk.position: chunk.score for chunk in ranked}
        for part in parts:
            if (row := self.places.get((document.id, part))) is not None:
                score = scores.get(part, 0.0)
                yield Chunk(
                    content=row.text,
                    score=score,
                    is_relevant=part in scores and score >= self.request.chunk_threshold,
                    position=part,
                    lines=(row.line_start or 1, row.line_end or 1),
                )

    def _hit(self, document: Document, ranked: Sequence[RankedChunk], parts: Sequence[int]) -> DocumentHit:
        content = document.content[: max(self.room, 0)] if self.request.include_full_docs else None
        self.room -= len(content or "")
        return DocumentHit(
            document_id=document.id,
            title=document.title,
            type=document.type,
            path=document.place,
            score=ranked[0].score,
            chunks=list(self._chunks(document, ranked, parts)),
            metadata=document.metadata,
            created_at=document.created_at,
            updated_at=document.updated_at,
            content=content,
            truncated=True if content is not None and len(content) < len(document.content) else None,
            summary=self._summary(document),
        )


COLUMNS = [
    name for name in Document.model_fields if name not in ("content", "content_hash")
]  # of a document without its text


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
    question = Question(
        text=request.query,
        scopes=scopes,
        srcs=("chunk",),
        now=now,
        path=request.path,
        filters=request.filters,
    )
    ranked = [
        chunk
        for chunk in await rank_chunks(store, question, embed, documents=request.limit)
        if chunk.score >= request.chunk_threshold
    ]
    ids = {chunk.document_id for chunk in ranked}
    rows = (
        {row.id: row for row in await store.select(Document, conditions.one_of("id", ids), columns=COLUMNS)}
        if ids
        else {}
    )
    found = [(chunk, rows[chunk.document_id]) for chunk in ranked if chunk.document_id in rows]
    return [_found(chunk, row) for chunk, row in found if row.forgotten_at is None][: request.limit]


def _found(chunk: RankedChunk, document: Document) -> FoundChunk:
    hit = chunk_as_hit(document, chunk.text, hit_id=chunk.id)
    hit = hit.model_copy(update={"score": chunk.score, "relevance_score": chunk.score})
    return FoundChunk(hit, chunk.position, document)
