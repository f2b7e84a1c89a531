"""Searches documents: ranked chunks, gathered by document with the chunks around them, or one by one."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from scrubjay.errors import NotFound
from scrubjay.home.scopes import search_scopes
from scrubjay.models.records import Document, Passage, fields_of
from scrubjay.models.requests import MOST_TOKENS, SearchDocuments
from scrubjay.models.results import Chunk, DocumentHit, DocumentHits, Hit
from scrubjay.search.hits import chunk_as_hit
from scrubjay.search.retrieval.chunks import RankedChunk, rank_chunks
from scrubjay.search.retrieval.query import Question
from scrubjay.search.retrieval.retrieve import Embed
from scrubjay.store import conditions
from scrubjay.store.store import Store

CHUNKS_SHOWN = 3  # of a document, without those beside them
# Of an answer that names no budget: the best chunks of ten documents, and about as much text around the best
# of these.
TOKENS = 4_000
CHARACTERS = MOST_TOKENS * 4 * 7 // 10  # of texts in one answer; the rest is names and scores
# All but the text.
COLUMNS = [name for name in Document.model_fields if name not in ("content", "content_hash")]

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
    """Search documents by their best chunk, best first; a chunk is relevant from `chunk_threshold` on.

    Unless `only_matching_chunks`, the chunks just before and after a matching one come along, with
    `is_relevant` false. Texts have `room` characters together, by default what `max_tokens` gives. It goes to
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
    columns = [*COLUMNS, "content"] if request.include_full_docs else COLUMNS
    rows = await _documents(store, best, columns)
    documents = [rows[document_id] for document_id in best if document_id in rows]
    places = [
        place
        for row in documents
        for chunk in _chosen(best[row.id], request)
        for place in _places(chunk, request)
    ]
    chunks = await _read_chunks(store, places)
    return _Answer(request, chunks, _room(request) if room is None else room).fill(documents, best)


@dataclass(frozen=True)
class FoundChunk:
    """A chunk as a hit under its own id, its position in its document, and that document without its text."""

    hit: Hit
    position: int
    document: Document


async def search_chunks(
    store: Store, request: SearchDocuments, *, scopes: tuple[str, ...], now: datetime, embed: Embed
) -> list[FoundChunk]:
    """Search chunks, best first: at most `limit` of them, none below `chunk_threshold`."""
    same = fields_of(request, "path", "filters")
    question = Question(text=request.query, scopes=scopes, srcs=("chunk",), now=now, **same)
    ranked = await rank_chunks(store, question, embed, documents=request.limit)
    best = [chunk for chunk in ranked if chunk.score >= request.chunk_threshold]
    documents = await _documents(store, {chunk.document_id for chunk in best}, COLUMNS)
    found = [(chunk, documents[chunk.document_id]) for chunk in best if chunk.document_id in documents]
    return [
        FoundChunk(
            chunk_as_hit(document, chunk.text, hit_id=chunk.id).model_copy(
                update={"score": chunk.score, "relevance_score": chunk.score}
            ),
            chunk.position,
            document,
        )
        for chunk, document in found[: request.limit]
    ]


async def _documents(store: Store, ids: Collection[str], columns: Sequence[str]) -> dict[str, Document]:
    """Read those of these documents that are not forgotten, by id."""
    rows = await store.select(Document, conditions.one_of("id", ids), columns=columns) if ids else []
    return {row.id: row for row in rows if row.forgotten_at is None}


async def _document_id(store: Store, name: str, scopes: tuple[str, ...] | None) -> str:
    """Find the id of the document that has this id or custom_id.

    Raises:
        NotFound: these scopes hold none.
    """
    named = conditions.either(conditions.equal("id", name), conditions.equal("custom_id", name))
    where = conditions.both(named, conditions.NOT_FORGOTTEN, conditions.matching(scope=scopes))
    rows = await store.select(Document, where, limit=1, columns=["id"])
    if not rows:
        problem = f"No document here has the id or custom_id {name[:80]!r}."
        raise NotFound(f"{problem} Take the document_id of a search result.")
    return rows[0].id


def _by_document(ranked: Sequence[RankedChunk], request: SearchDocuments) -> dict[str, list[RankedChunk]]:
    """Group chunks by document id, both best first: as many documents as are asked for and good enough."""
    best: dict[str, list[RankedChunk]] = {}
    for chunk in ranked:
        best.setdefault(chunk.document_id, []).append(chunk)
    least = max(request.document_threshold, request.chunk_threshold if request.only_matching_chunks else 0.0)
    first = list(best.items())[: request.limit]
    return {document_id: chunks for document_id, chunks in first if chunks[0].score >= least}


def _chosen(chunks: Sequence[RankedChunk], request: SearchDocuments) -> list[RankedChunk]:
    least = request.chunk_threshold if request.only_matching_chunks else 0.0
    return [chunk for chunk in chunks[:CHUNKS_SHOWN] if chunk.score >= least]


def _places(chunk: RankedChunk, request: SearchDocuments) -> list[Place]:
    """Give the place of a chunk and, unless only matching ones are wanted, those beside it."""
    steps = (0,) if request.only_matching_chunks else (0, -1, 1)
    return [(chunk.document_id, chunk.position + step) for step in steps]


async def _read_chunks(store: Store, places: Sequence[Place]) -> dict[Place, Passage]:
    if not places:
        return {}
    by_document: dict[str, set[int]] = {}
    for document_id, position in places:
        by_document.setdefault(document_id, set()).add(position)
    each = (conditions.matching(record_id=row, part=sorted(parts)) for row, parts in by_document.items())
    columns = ["record_id", "part", "text", "line_start", "line_end"]
    rows = await store.passages(conditions.either(*each), columns=columns)
    return {(row.record_id, row.part): row for row in rows}


def _room(request: SearchDocuments) -> int:
    """Compute the characters of texts in one answer."""
    if request.max_tokens is not None:
        return min(request.max_tokens * 4, CHARACTERS)
    return CHARACTERS if request.include_full_docs else TOKENS * 4


@dataclass
class _Answer:
    """Fills one answer until there is no room, in characters, for the next text."""

    request: SearchDocuments
    chunks: Mapping[Place, Passage]
    room: int

    def fill(self, documents: Sequence[Document], best: Mapping[str, Sequence[RankedChunk]]) -> DocumentHits:
        chosen = {row.id: _chosen(best[row.id], self.request) for row in documents}
        taken = list(self._take_documents(documents, chosen))
        firsts = [(row.id, chosen[row.id][0].position) for row in taken]
        ranked = sorted((chunk for row in taken for chunk in chosen[row.id]), key=lambda chunk: -chunk.score)
        others = [place for chunk in ranked for place in _places(chunk, self.request) if place in self.chunks]
        places = list(dict.fromkeys([*firsts, *others]))
        shown = {*firsts, *self._take_chunks(places[len(firsts) :])}
        return DocumentHits(
            results=[
                self._hit(
                    row, best[row.id], sorted(part for document_id, part in shown if document_id == row.id)
                )
                for row in taken
            ],
            total=len(taken),
            timing=0.0,
            left_out=(len(documents) - len(taken)) or None,
            chunks_left_out=(len(places) - len(shown)) or None,
        )

    def _take_documents(
        self, documents: Sequence[Document], chosen: Mapping[str, Sequence[RankedChunk]]
    ) -> Iterator[Document]:
        """Take documents while there is room for best chunk and summary; the first one is always taken."""
        for rank, document in enumerate(documents):
            first = self.chunks.get((document.id, chosen[document.id][0].position))
            cost = len(first.text if first else "") + len(self._summary(document) or "")
            if rank and cost > self.room:
                return
            self.room -= cost
            yield document

    def _take_chunks(self, places: Sequence[Place]) -> Iterator[Place]:
        for place in places:
            cost = len(self.chunks[place].text)
            if cost > self.room:
                return
            self.room -= cost
            yield place

    def _summary(self, document: Document) -> str | None:
        return document.summary if self.request.include_summary else None

    def _hit(self, document: Document, ranked: Sequence[RankedChunk], parts: Sequence[int]) -> DocumentHit:
        content = document.content[: max(self.room, 0)] if self.request.include_full_docs else None
        self.room -= len(content or "")
        return DocumentHit(
            document_id=document.id,
            path=document.place,
            score=ranked[0].score,
            chunks=list(self._chunks(document, ranked, parts)),
            **fields_of(document, "title", "type", "metadata", "created_at", "updated_at"),
            content=content,
            truncated=True if content is not None and len(content) < len(document.content) else None,
            summary=self._summary(document),
        )

    def _chunks(
        self, document: Document, ranked: Sequence[RankedChunk], parts: Sequence[int]
    ) -> Iterator[Chunk]:
        scores = {chunk.position: chunk.score for chunk in ranked}
        for part in parts:
            if (row := self.chunks.get((document.id, part))) is not None:
                score = scores.get(part, 0.0)
                yield Chunk(
                    content=row.text,
                    score=score,
                    is_relevant=part in scores and score >= self.request.chunk_threshold,
                    position=part,
                    lines=(row.line_start or 1, row.line_end or 1),
                )
