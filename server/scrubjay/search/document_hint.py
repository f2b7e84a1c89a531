"""Finds the passage of a document and the commits that may answer a question as well as memories do."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from scrubjay.encoders.token_codes import EncodedQuery
from scrubjay.models.records import COMMIT, Document
from scrubjay.models.requests import SearchMemories, SearchRecords
from scrubjay.models.results import DocumentPlace, Hit
from scrubjay.search.hits import chunk_as_hit
from scrubjay.search.retrieval.chunks import RankedChunk, body_of, rank_chunks
from scrubjay.search.retrieval.excerpts import excerpt
from scrubjay.search.retrieval.query import Question
from scrubjay.search.retrieval.relevance import QUOTATION
from scrubjay.search.retrieval.retrieve import Ranking
from scrubjay.store import conditions
from scrubjay.store.store import Store
from scrubjay.text.answers import may_answer
from scrubjay.text.sentences import shorten

# A passage is named if its score is at least LEAST, and at most BEHIND less than that of the best memory. Of
# 30 questions that documents answer, 28 get the right document; 18 with BEHIND = 0, and 21 with LEAST = 0.6.
# The price: a passage is also named for 2 in 100 questions that memories answer, and for 5 in 100 without an
# answer.
LEAST, BEHIND = 0.5, 0.15
LEAST_BUDGET = 200  # tokens; an answer with a smaller budget has no room for the line
TITLE_SHOWN, PATH_SHOWN = 80, 200  # characters
# An answer names at most MOST_COMMITS commits, whose scores are at most DROP less than the best. It shows
# BODY_SHOWN characters of the first commit's message.
MOST_COMMITS, DROP, BODY_SHOWN = 5, 0.2, 200
_COLUMNS = ("id", "title", "path", "filepath", "scope", "forgotten_at", "expires_at", "updated_at")


def may_name_one(request: SearchMemories) -> bool:
    """Return True if a search in memories without filters has room for a line about a document."""
    is_plain = request.search_mode == "memories" and not isinstance(request, SearchRecords)
    return is_plain and (request.max_tokens is None or request.max_tokens >= LEAST_BUDGET)


class Hints(NamedTuple):
    """What else may answer: a passage of a document, and commits, best first."""

    document: DocumentPlace | None = None
    commits: tuple[Hit, ...] = ()


async def document_hints(store: Store, question: Question, ranking: Ranking) -> Hints:
    """Find the passage and the commits that answer about as well as the best memory, or better."""

    async def embed(_: str) -> EncodedQuery | None:
        return ranking.query

    narrowed, proof = replace(question, srcs=("chunk",), forgotten=False), _proof(ranking)
    ranked = await rank_chunks(store, narrowed, embed, documents=1)
    files = [chunk for chunk in ranked if chunk.role != COMMIT and chunk.score >= max(LEAST, proof - BEHIND)]
    commits = [chunk for chunk in ranked if chunk.role == COMMIT and chunk.score >= max(LEAST, proof)]
    commits = [chunk for chunk in commits if chunk.score >= commits[0].score - DROP]
    place = await _place(store, narrowed, files[0]) if files else None
    return Hints(place, await _commits(store, narrowed, commits))


async def _commits(store: Store, question: Question, ranked: Sequence[RankedChunk]) -> tuple[Hit, ...]:
    ids = list(dict.fromkeys(chunk.document_id for chunk in ranked))[:MOST_COMMITS]
    rows = await store.get(Document, ids)
    return tuple(
        commit_as_hit(rows[document_id], question.text, is_first=document_id == ids[0])
        for document_id in ids
        if document_id in rows and question.admits(rows[document_id])
    )


def commit_as_hit(document: Document, query: str, *, is_first: bool) -> Hit:
    """Return a commit as a line: its subject and, for the first one, what its body says about the query."""
    subject, body = document.content.partition("\n")[0], " ".join(body_of(document.content).split())
    line = f"{subject}: {excerpt(body, query, BODY_SHOWN)}" if body and is_first else subject
    return chunk_as_hit(document, shorten(line, BODY_SHOWN + TITLE_SHOWN), hit_id=document.id)


async def _place(store: Store, question: Question, best: RankedChunk) -> DocumentPlace | None:
    document = (await store.get(Document, [best.document_id], columns=_COLUMNS)).get(best.document_id)
    where = conditions.equal("id", best.id)
    lines = await store.passages.select(where, columns=["line_start", "line_end"])
    if document is None or not question.admits(document) or not lines:
        return None
    return DocumentPlace(
        id=document.id,
        path=document.place,
        title=None if document.place else shorten(document.title or "", TITLE_SHOWN) or None,
        scope=document.scope,
        lines=(lines[0].line_start or 1, lines[0].line_end or 1),
    )


def length(place: DocumentPlace | None) -> int:
    """Return the greatest length of the line about a document, in characters with its line break."""
    if place is None:
        return 0
    name = (place.path or place.title or place.id)[-PATH_SHOWN:]
    return len(may_answer(name, place.lines, f" in {place.scope}", "search_documents")) + 4


def _proof(ranking: Ranking) -> float:
    """Return how well the best memory answers by itself, on the scale of the chunks' scores."""
    proof = ranking.verdict.get("proof", 0.0)
    return QUOTATION + (1.0 - QUOTATION) * proof if ranking.has_quotation else QUOTATION * proof
