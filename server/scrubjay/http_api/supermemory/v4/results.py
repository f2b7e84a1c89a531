"""Builds search results of version 4: memories, chunks of documents, and messages of chats with a citation.

A field that the request did not ask for is absent, not null.
"""

import time
from collections.abc import Sequence
from typing import NamedTuple

from scrubjay.http_api.answers import ANSWERS_4, Answer
from scrubjay.http_api.supermemory.fields import Body4, type_of
from scrubjay.http_api.supermemory.matches import Match
from scrubjay.models.fields import Flag
from scrubjay.models.records import Document, Memory, Turn
from scrubjay.models.requests import about
from scrubjay.models.results import Context
from scrubjay.records.passages import TURN_PASSAGE, speeches
from scrubjay.search.retrieval.asked import coverage
from scrubjay.text.chunking import split

THRESHOLD = 0.6  # default for the least similarity of a memory


class Include(Body4):
    """What else each result contains; nothing unless it is asked for."""

    documents: Flag = about("The documents that a memory or a chunk comes from.", False)
    summaries: Flag = about("With each of these documents its summary.", False)
    related_memories: Flag = about(
        "`context`: older and newer versions, and what it extends or derives from.", False
    )
    forgotten_memories: Flag = about("Also memories that were forgotten or have expired.", False)
    chunks: Flag = about(
        "With each memory the chunks of its documents that answer too (deprecated: use hybrid).", False
    )


def results(
    matches: Sequence[Match], query: str, include: Include, *, with_src: bool = False
) -> list[Answer]:
    """Return the results of a search for memories; a turn becomes one result for each of its messages."""
    entries: list[Answer] = []
    for match in matches:
        if match.is_chat:
            shared = _shared_values(match)
            entries += [
                {**citation(match, message), "id": message.id, "memory": message.text, **shared}
                for message in messages(match, query)
            ]
        else:
            entries.append({**_result(match, include), **({"src": "doc"} if with_src else {})})
    return entries


def timed(entries: list[Answer], started: float) -> Answer:
    """Return the answer with these results of a search; `started` is a time of `perf_counter`."""
    milliseconds = round((time.perf_counter() - started) * 1000, 1)
    return {"results": entries, "timing": milliseconds, "total": len(entries)}


class ChatMessage(NamedTuple):
    """A message of a turn, or a summary of turns. Every request accepts its id in place of the turn's."""

    id: str
    role: str
    text: str


def messages(match: Match, query: str) -> list[ChatMessage]:
    """Return a turn's messages, first the message with more of the query's words, in a tie the later one.

    A long message is cut to the part with most of these words.
    """
    turn = match.record
    if not isinstance(turn, Turn) or (turn.capture == "summary_only" and turn.summary):
        return [ChatMessage(match.hit.id, match.hit.role or "summary", match.text)]
    ranked: list[tuple[float, ChatMessage]] = []
    for role, text in reversed(speeches(turn)):
        parts = [text[start:end] for start, end in split(text, TURN_PASSAGE)]
        shares: list[float] = coverage(query, parts).tolist()
        share, part = max(zip(shares, parts, strict=True), key=lambda pair: pair[0])
        ranked.append((share, ChatMessage(f"{turn.id}:{role}", role, part)))
    return [message for _, message in sorted(ranked, key=lambda pair: -pair[0])]


def citation(match: Match, message: ChatMessage) -> Answer:
    """Return the citation of a message."""
    session, turn = match.hit.session_id or "", match.hit.turn or 0
    place = {"src": "chat", "threadId": session, "sessionId": session, "turn": turn}
    return {**place, "role": message.role, "ts": match.hit.date}


def _shared_values(match: Match) -> Answer:
    record = match.record
    return {
        "similarity": match.similarity,
        "metadata": record.metadata or None,
        "updatedAt": record.updated_at,
        "version": record.version if isinstance(record, Memory) else 1,
        "rootMemoryId": record.root_id if isinstance(record, Memory) and not match.is_chat else None,
    }


def _result(match: Match, include: Include) -> Answer:
    fact = match.record if isinstance(match.record, Memory) else None
    values: Answer = {"id": match.hit.id, **_shared_values(match)}
    if filepath := next((document.place for document in match.documents if document.place), None):
        values["filepath"] = filepath
    if include.related_memories:
        context = match.hit.context or Context()
        links = {"parents": context.parents, "children": context.children, "related": context.related}
        values["context"] = {
            name: [ANSWERS_4.fill("Tie", link) for link in group] for name, group in links.items()
        }
    if include.documents or include.summaries:
        values["documents"] = [_document(row, include.summaries) for row in match.documents]
    values["memory" if match.hit.memory is not None else "chunk"] = match.text
    if include.forgotten_memories and fact:
        values |= {"isLatest": fact.is_latest, "isForgotten": fact.forgotten_at is not None}
    if include.chunks and fact:
        values["chunks"] = [
            {"content": chunk.hit.chunk or "", "documentId": chunk.document.id, "position": chunk.position}
            for chunk in match.chunks
        ]
    return values


def _document(document: Document, with_summary: bool) -> Answer:
    summary = {"summary": document.summary} if with_summary else {}
    return ANSWERS_4.fill("ResultDocument", document, type=type_of(document.type), **summary)
