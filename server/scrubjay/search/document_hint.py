"""Finds the one passage of a document that may answer a question at least as well as the memories do."""

from dataclasses import replace

from scrubjay.encoders.token_codes import EncodedQuery
from scrubjay.models.records import Document
from scrubjay.models.requests import SearchMemories, SearchRecords
from scrubjay.models.results import DocumentPlace
from scrubjay.search.retrieval.chunks import rank_chunks
from scrubjay.search.retrieval.query import Question
from scrubjay.search.retrieval.relevance import QUOTATION
from scrubjay.search.retrieval.retrieve import Embed, Ranking
from scrubjay.store import conditions
from scrubjay.store.store import Store
from scrubjay.text.answers import may_answer
from scrubjay.text.summary import shorten

# Least score of a passage, and how far it may be behind the best memory. Of 30 questions that documents
# answer, 28 get the right one; of those that memories answer 2 in 100 get a line, of those without an answer
# 5. With 0 behind it would be 18 of the 30, with a least score of 0.6 21.
LEAST, BEHIND = 0.5, 0.15
LEAST_BUDGET = 200  # tokens of an answer with room for the line
TITLE_SHOWN, PATH_SHOWN = 80, 200  # characters
_COLUMNS = ("id", "title", "path", "filepath", "scope", "forgotten_at", "expires_at", "updated_at")


def may_name_one(request: SearchMemories) -> bool:
    """Return True if a search in memories without filters has room for a line about a document."""
    plain = request.search_mode == "memories" and not isinstance(request, SearchRecords)
    return plain and (request.max_tokens is None or request.max_tokens >= LEAST_BUDGET)


def embed_once(embed: Embed) -> Embed:
    """Encode only the first text and return the same result for all others: they are the same question."""
    made: list[EncodedQuery | None] = []

    async def first(text: str) -> EncodedQuery | None:
        if not made:
            made.append(await embed(text))
        return made[0]

    return first


async def document_hint(
    store: Store, question: Question, ranking: Ranking, embed: Embed
) -> DocumentPlace | None:
    """Find the passage of a document that answers about as well as the best memory, or better; else None."""
    needed = max(LEAST, _proof(ranking) - BEHIND)
    asked = replace(question, srcs=("chunk",), forgotten=False)
    ranked = await rank_chunks(store, asked, embed, documents=1)
    if not ranked or ranked[0].score < needed:
        return None
    best = ranked[0]
    rows = await store.get(Document, [best.document_id], columns=_COLUMNS)
    where = conditions.equal("id", best.id)
    lines = await store.passages(where, columns=["line_start", "line_end"])
    document = rows.get(best.document_id)
    if document is None or not asked.admits(document) or not lines:
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
    proof = ranking.grounds.verdict.get("proof", 0.0)
    if ranking.grounds.signals.quoted.any():
        return QUOTATION + (1.0 - QUOTATION) * proof
    return QUOTATION * proof
