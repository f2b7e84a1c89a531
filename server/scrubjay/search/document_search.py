"""Searches documents: ranked chunks, grouped by document with the chunks around them, or one by one."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from scrubjay.errors import NotFound
from scrubjay.home.scopes import search_scopes
from scrubjay.models.records import Document, Passage, fields_of
from scrubjay.models.requests import SearchDocuments
from scrubjay.models.results import Chunk, Confidence, DocumentHit, DocumentHits, Hit, Tokens
from scrubjay.search.hits import chunk_as_hit
from scrubjay.search.retrieval.asked import coverage
from scrubjay.search.retrieval.chunks import RankedChunk, defines, identifiers, rank_chunks
from scrubjay.search.retrieval.excerpts import excerpt
from scrubjay.search.retrieval.query import Question
from scrubjay.search.retrieval.relevance import BY_WORDS, DEPTH, QUOTATION
from scrubjay.search.retrieval.retrieve import Embed
from scrubjay.store import conditions
from scrubjay.store.conditions import Where
from scrubjay.store.store import Store
from scrubjay.text.sentences import shorten
from scrubjay.text.terms import is_small_talk

CHUNKS_SHOWN = 3  # chunks of a document, without their neighbours
MOST_CHUNKS = 20  # of an answer by evidence; more never fit
# An answer is doubtful if its best chunk scores less than STRONG, and empty if it scores less than WEAK. Of
# the answers to 270 questions of `tests/bench/ingest.py answers`, 12 % are doubtful and one is empty; if
# the folder cannot answer, 82 % are doubtful or empty.
STRONG, WEAK = 0.6, 0.4
# The most tokens of a doubtful answer, its most chunks, and the most characters of each chunk.
WEAK_BUDGET, WEAK_CHUNKS, WEAK_LENGTH = 250, 3, 200
# An answer without a requested size has at most DEFAULT_BUDGET tokens, and no chunk whose score is more than
# DROP below the best. It has the right chunk for 80 % of these questions, in 640 tokens;
# the ten best chunks would have it for 88 %, in 1,370.
DEFAULT_BUDGET, DROP = 1_000, 0.15
TOKENS, FULL_TOKENS = 4_000, 7_000  # if a number of documents, or their whole texts, are requested
FRAME = 60  # tokens of the fence and of the lines around it
# All columns but the text.
COLUMNS = [name for name in Document.model_fields if name not in ("content", "content_hash")]

Place = tuple[str, int]  # the id of a chunk's document, and the position of the chunk in it
Measure = Callable[[DocumentHit], int]  # returns the characters of a document and its chunks as shown


def text_length(hit: DocumentHit) -> int:
    """Count the characters of a document's texts, for callers that show nothing else."""
    return sum(len(chunk.content) for chunk in hit.chunks) + len(hit.summary or "") + len(hit.content or "")


async def search_documents(
    store: Store,
    request: SearchDocuments,
    *,
    scope: str | tuple[str, ...],
    now: datetime,
    embed: Embed,
    room: int | None = None,
    measure: Measure = text_length,
) -> DocumentHits:
    """Search documents by their best chunk, best first; a chunk is relevant from `chunk_threshold` on.

    If `only_matching_chunks` is false, the chunks around a matching one are included, with `is_relevant`
    false. The answer fits into `max_tokens`, by `measure`; without a requested size, it ends where the
    evidence ends. With `room`, for programs, all texts together have at most that many characters, doubtful
    chunks are included, and the chunks of a document are in document order.
    """
    scopes = search_scopes(request.scope, scope)
    question = Question(
        text=request.query,
        scopes=scopes,
        srcs=("chunk",),
        now=now,
        record_id=None if request.doc_id is None else await _document_id(store, request.doc_id, scopes),
        path=request.path,
        exact_path=room is not None,
        filters=request.filters,
    )
    ranked = await rank_chunks(store, question, embed, documents=request.limit)
    if not ranked and request.path is not None and room is None:
        await _check_path(store, request.path, scopes)
    size = _size(request, None if room is not None else await _confidence(store, ranked, request))
    best = _by_document(ranked, request) if size.confidence != "none" else {}
    columns = [*COLUMNS, "content"] if request.include_full_docs else COLUMNS
    rows = await _documents(store, best, columns)
    best = {document_id: chunks for document_id, chunks in best.items() if document_id in rows}
    chosen = _chosen(best, request, size)
    chunks = await _read_chunks(store, [place for chunk in chosen for place in _places(chunk, request)])
    answer = _Answer(request, size, chunks, rows, best, measure, size.room if room is None else room)
    return answer.fill(chosen, in_order=room is not None)


class _Size(NamedTuple):
    """The size of an answer; `budget` is in tokens. `is_by_evidence` means that no size was requested."""

    confidence: Confidence
    budget: int
    is_by_evidence: bool

    @property
    def is_doubtful(self) -> bool:
        """Return True if only a few chunks are shown, marked as possibly related."""
        return self.is_by_evidence and self.confidence == "weak"

    @property
    def room(self) -> int:
        """The characters of the documents in the answer."""
        return (self.budget - FRAME) * 4


def _size(request: SearchDocuments, confidence: Confidence | None) -> _Size:
    """Return the size of an answer; a confidence of None means that a program wants everything."""
    if request.max_tokens is not None:
        return _Size(confidence or "strong", request.max_tokens, False)
    if request.include_full_docs or "limit" in request.model_fields_set or confidence is None:
        budget = FULL_TOKENS if request.include_full_docs else TOKENS
        return _Size(confidence or "strong", budget, False)
    return _Size(confidence, WEAK_BUDGET if confidence == "weak" else DEFAULT_BUDGET, True)


async def _confidence(store: Store, ranked: Sequence[RankedChunk], request: SearchDocuments) -> Confidence:
    """Return how reliable these chunks are; with a requested document or filter it is never "none"."""
    if not ranked or is_small_talk(request.query):
        return "none"
    best = ranked[0]
    if best.score >= STRONG or defines(best.text, identifiers(request.query)):
        return "strong"
    # Headings, path and metadata are searched with a chunk, and may contain what a question names.
    ids = [chunk.id for chunk in ranked[:DEPTH]]
    rows = await store.passages.select(conditions.one_of("id", ids), columns=["search_text"])
    covered = coverage(request.query, [row.search_text for row in rows]).max(initial=0.0)
    score = max(best.score, QUOTATION * BY_WORDS * float(covered))
    is_narrow = request.doc_id is not None or request.filters is not None
    return "strong" if score >= STRONG else "weak" if score >= WEAK or is_narrow else "none"


@dataclass(frozen=True)
class FoundChunk:
    """A chunk as a hit under its own id, its position in its document, and the document without its text."""

    hit: Hit
    position: int
    document: Document


async def search_chunks(
    store: Store, request: SearchDocuments, *, scopes: tuple[str, ...], now: datetime, embed: Embed
) -> list[FoundChunk]:
    """Search chunks, best first: at most `limit` of them, none below `chunk_threshold`."""
    filters = fields_of(request, "path", "filters")
    question = Question(
        text=request.query, scopes=scopes, srcs=("chunk",), now=now, exact_path=True, **filters
    )
    ranked = await rank_chunks(store, question, embed, documents=request.limit)
    best = [chunk for chunk in ranked if chunk.score >= request.chunk_threshold]
    documents = await _documents(store, {chunk.document_id for chunk in best}, COLUMNS)
    pairs = [(chunk, documents[chunk.document_id]) for chunk in best if chunk.document_id in documents]
    return [
        FoundChunk(
            chunk_as_hit(document, chunk.text, hit_id=chunk.id).model_copy(
                update={"score": chunk.score, "relevance_score": chunk.score}
            ),
            chunk.position,
            document,
        )
        for chunk, document in pairs[: request.limit]
    ]


async def _documents(store: Store, ids: Collection[str], columns: Sequence[str]) -> dict[str, Document]:
    """Return these documents by id, except forgotten ones."""
    rows = await store.get(Document, ids, columns=columns)
    return {row.id: row for row in rows.values() if row.forgotten_at is None}


async def _check_path(store: Store, path: str, scopes: tuple[str, ...] | None) -> None:
    """Raise NotFound unless there is a document at this path or in this folder."""
    at_path = conditions.either(*(conditions.within(column, path) for column in ("path", "filepath")))
    problem = f"No document here is at or below {path[:200]!r}."
    await _first_id(store, at_path, scopes, f"{problem} Leave path out, or index that folder first.")


async def _document_id(store: Store, name: str, scopes: tuple[str, ...] | None) -> str:
    """Return the id of the document with this id or custom_id; raise NotFound if it does not exist."""
    named = conditions.either(conditions.equal("id", name), conditions.equal("custom_id", name))
    problem = f"There is no document with the id or custom_id {name[:80]!r}."
    return await _first_id(store, named, scopes, f"{problem} Use the document_id of a search result.")


async def _first_id(store: Store, condition: Where, scopes: tuple[str, ...] | None, problem: str) -> str:
    where = conditions.both(condition, conditions.NOT_FORGOTTEN, conditions.matching(scope=scopes))
    rows = await store.select(Document, where, limit=1, columns=["id"])
    if not rows:
        raise NotFound(problem)
    return rows[0].id


def _by_document(ranked: Sequence[RankedChunk], request: SearchDocuments) -> dict[str, list[RankedChunk]]:
    """Group chunks by document id, best first; keep at most `limit` documents, and only good ones."""
    best: dict[str, list[RankedChunk]] = {}
    for chunk in ranked:
        best.setdefault(chunk.document_id, []).append(chunk)
    least = max(request.document_threshold, request.chunk_threshold if request.only_matching_chunks else 0.0)
    first = list(best.items())[: request.limit]
    return {document_id: chunks for document_id, chunks in first if chunks[0].score >= least}


def _chosen(
    best: Mapping[str, Sequence[RankedChunk]], request: SearchDocuments, size: _Size
) -> list[RankedChunk]:
    """Choose chunks, in the order in which they are added.

    Without a requested size, they are in order of score, up to a clear drop. With one, the best chunk of each
    document comes first, then the other chunks in order of score.
    """
    least = request.chunk_threshold if request.only_matching_chunks else 0.0
    if size.is_by_evidence and best:
        ranked = sorted((chunk for chunks in best.values() for chunk in chunks), key=lambda each: -each.score)
        least = max(least, ranked[0].score - DROP)
        limit = WEAK_CHUNKS if size.is_doubtful else MOST_CHUNKS
        return [chunk for chunk in ranked[:limit] if chunk.score >= least]
    shown = [[chunk for chunk in chunks[:CHUNKS_SHOWN] if chunk.score >= least] for chunks in best.values()]
    others = sorted((chunk for chunks in shown for chunk in chunks[1:]), key=lambda each: -each.score)
    return [*(chunks[0] for chunks in shown), *others]


def _places(chunk: RankedChunk, request: SearchDocuments) -> list[Place]:
    """Return the place of a chunk and, if requested, the places next to it."""
    steps = (0, -1, 1) if request.only_matching_chunks is False else (0,)
    return [(chunk.document_id, chunk.position + step) for step in steps]


async def _read_chunks(store: Store, places: Sequence[Place]) -> dict[Place, Passage]:
    if not places:
        return {}
    record_ids, positions = (sorted(set(column)) for column in zip(*places, strict=True))
    where = conditions.matching(record_id=record_ids, part=positions)
    columns = ["record_id", "part", "text", "line_start", "line_end"]
    rows = await store.passages.select(where, columns=columns)
    return {(row.record_id, row.part): row for row in rows}


@dataclass
class _Answer:
    """Fills one answer with up to `room` characters; chunks that do not fit are skipped and counted."""

    request: SearchDocuments
    size: _Size
    chunks: Mapping[Place, Passage]
    documents: Mapping[str, Document]
    best: Mapping[str, Sequence[RankedChunk]]
    measure: Measure
    room: int
    hits: dict[str, DocumentHit] = field(default_factory=dict)  # by id, in the order of their best chunks
    spent: int = 0

    def fill(self, chosen: Sequence[RankedChunk], *, in_order: bool) -> DocumentHits:
        """Add chunks in this order; `in_order` then sorts the chunks of a document by position."""
        first = [] if self.size.is_by_evidence else [chunks[0] for chunks in self.best.values()]
        best_places = [(chunk.document_id, chunk.position) for chunk in first]
        wanted = [*best_places, *(place for chunk in chosen for place in _places(chunk, self.request))]
        places = [place for place in dict.fromkeys(wanted) if place in self.chunks]
        passed_over: list[Place] = []
        for place in places:
            # With a requested size, no later chunk may take the room that was too small for an earlier one.
            is_full = bool(passed_over) and not self.size.is_by_evidence
            if is_full or not self._add(place):
                passed_over.append(place)
        results = list(self.hits.values())
        if self.request.include_full_docs:
            results = [self._whole(hit, self.documents[hit.document_id]) for hit in results]
        if in_order:
            by_position = [sorted(hit.chunks, key=lambda chunk: chunk.position) for hit in results]
            results = [
                hit.model_copy(update={"chunks": chunks})
                for hit, chunks in zip(results, by_position, strict=True)
            ]
        left_out = {document_id for document_id, _ in passed_over} - self.hits.keys()
        return DocumentHits(
            confidence=self.size.confidence if results else "none",
            results=results,
            total=len(results),
            timing=0.0,
            tokens=Tokens(spent=math.ceil(self.spent / 4), budget=self.size.budget),
            left_out=len(left_out) or None,
            chunks_left_out=sum(document_id in self.hits for document_id, _ in passed_over) or None,
        )

    def _add(self, place: Place) -> bool:
        """Add the chunk at a place; return False if it does not fit. The first chunk is cut instead."""
        document_id, _ = place
        hit = self.hits.get(document_id)
        old_length = 0 if hit is None else self.measure(hit)
        previous = hit or self._without_chunks(self.documents[document_id])
        hit = previous.model_copy(update={"chunks": [*previous.chunks, self._chunk(place)]})
        cost = self.measure(hit) - old_length
        if cost > self.room - self.spent:
            if self.hits:
                return False
            hit = self._cut(hit.model_copy(update={"metadata": {}}))
            cost = self.measure(hit)
        self.spent += cost
        self.hits[document_id] = hit
        return True

    def _cut(self, hit: DocumentHit) -> DocumentHit:
        """Cut a document's only chunk until both fit, or nothing is left."""
        (chunk,) = hit.chunks
        while (excess := self.measure(hit) - self.room) > 0 and chunk.content:
            text = shorten(chunk.content, max(0, len(chunk.content) - excess))
            chunk = chunk.model_copy(update={"content": text})
            hit = hit.model_copy(update={"chunks": [chunk]})
        return hit

    def _whole(self, hit: DocumentHit, document: Document) -> DocumentHit:
        """Add as much of a document's text as fits."""
        old_length, content = self.measure(hit), document.content[: max(self.room - self.spent, 0)]
        while True:
            truncated = True if len(content) < len(document.content) else None
            longer = hit.model_copy(update={"content": content, "truncated": truncated})
            excess = self.measure(longer) - old_length - (self.room - self.spent)
            if excess <= 0 or not content:
                break
            content = content[: max(0, len(content) - excess)]
        self.spent += self.measure(longer) - old_length
        return longer

    def _without_chunks(self, document: Document) -> DocumentHit:
        shared_fields = fields_of(document, "scope", "title", "type", "metadata", "created_at", "updated_at")
        return DocumentHit(
            document_id=document.id,
            path=document.place,
            score=self.best[document.id][0].score,
            chunks=[],
            **shared_fields,
            summary=document.summary if self.request.include_summary else None,
        )

    def _chunk(self, place: Place) -> Chunk:
        document_id, position = place
        row = self.chunks[place]
        scores = {chunk.position: chunk.score for chunk in self.best[document_id]}
        score, text = scores.get(position, 0.0), row.text
        if self.size.is_doubtful:
            text = " ".join(excerpt(text, self.request.query, WEAK_LENGTH).split())
        return Chunk(
            content=text,
            score=score,
            is_relevant=position in scores and score >= self.request.chunk_threshold,
            position=position,
            lines=(row.line_start or 1, row.line_end or 1),
        )
