"""Search results as the clients parse them: memories, chunks of documents, turns of chats with a citation.

A key that was not asked for is absent and never null.
"""

from collections.abc import Sequence
from typing import Annotated, NamedTuple

from pydantic import BeforeValidator, Field

from scrubjay.http_api.answers import Answer
from scrubjay.http_api.matches import Match
from scrubjay.http_api.supermemory_v4.answers import ANSWERS
from scrubjay.http_api.supermemory_v4.bodies import Part, Src, iso, to_millisecond
from scrubjay.http_api.supermemory_v4.document_bodies import type_of
from scrubjay.models.fields import Flag
from scrubjay.models.records import Document, Memory, Turn
from scrubjay.models.requests import about
from scrubjay.models.results import Context, Linked
from scrubjay.records.passages import TURN_PASSAGE, speeches
from scrubjay.search.retrieval.asked import coverage
from scrubjay.text.chunking import split


class Sources(NamedTuple):
    """Where results may be from.

    `with_src`: add `src` to each result; off unless the request mentions chats.
    """

    docs: bool = True
    chats: bool = False
    with_src: bool = False


class AsksForChats(Part):
    """The fields of a search that asks for turns. `type` has the last word where both are given."""

    include_chats: Flag | None = about(
        'True: also turns of conversations, and on every result `src`, "doc" or "chat".'
    )
    type: Annotated[
        Annotated[list[Src], Field(min_length=1, max_length=10)] | None,
        BeforeValidator(lambda value: [value] if isinstance(value, str) else value),
        Field(description='The same, chosen in full: ["doc", "chat"], ["doc"] or ["chat"].'),
    ] = None

    @property
    def sources(self) -> Sources:
        """Where the results are to be from."""
        if self.type is not None:
            return Sources("doc" in self.type, "chat" in self.type, with_src=True)
        return Sources(chats=bool(self.include_chats), with_src=bool(self.include_chats))


class Include(Part):
    """What each result brings beside itself; nothing of it unless it is asked for."""

    documents: Flag = about("The documents that a memory is from, or the one of a chunk.", False)
    summaries: Flag = about("With each of these documents its summary.", False)
    related_memories: Flag = about(
        "`context`: older and newer versions, and what it extends or derives from.", False
    )
    forgotten_memories: Flag = about("Also memories that were forgotten or have expired.", False)
    chunks: Flag = about(
        "With each memory the chunks of its documents that answer too (deprecated: use hybrid).", False
    )


def results(
    matches: Sequence[Match],
    query: str,
    include: Include,
    sources: Sources,
    milliseconds: float,
    limit: int | None = None,
) -> Answer:
    """Return `Results`, at most `limit`; what was not asked for is not in them."""
    entries: list[Answer] = []
    for match in matches:
        if match.is_chat:
            entries += [_message(match, message) for message in messages(match, query)]
        else:
            entries.append(_result(match, include, sources))
    entries = entries[:limit]
    return {"results": entries, "timing": round(milliseconds, 1), "total": len(entries)}


class ChatMessage(NamedTuple):
    """A message of a turn, or a summary of turns, under an id that means the turn wherever it is named."""

    id: str
    role: str
    text: str


def messages(match: Match, query: str) -> list[ChatMessage]:
    """Return the messages of a turn, first the one that holds most of the query's words.

    Of two that hold as many the later comes first. Of a long message the part that holds most is its text.
    """
    turn = match.record
    if not isinstance(turn, Turn) or (turn.capture == "summary_only" and turn.summary):
        return [ChatMessage(match.hit.id, match.hit.role or "summary", match.text)]
    ranked: list[tuple[float, ChatMessage]] = []
    for role, text in reversed(speeches(turn)):
        parts = [text[start:end] for start, end in split(text, TURN_PASSAGE)]
        shares: list[float] = coverage(query, parts).tolist()
        share, part = max(zip(shares, parts, strict=True), key=lambda each: each[0])
        ranked.append((share, ChatMessage(f"{turn.id}:{role}", role, part)))
    return [message for _, message in sorted(ranked, key=lambda each: -each[0])]


def citation(match: Match, message: ChatMessage) -> Answer:
    """Return the citation of a message as JSON values."""
    session, turn = match.hit.session_id or "", match.hit.turn or 0
    place = {"src": "chat", "threadId": session, "sessionId": session, "turn": turn}
    return {**place, "role": message.role, "ts": iso(match.hit.date)}


def _message(match: Match, message: ChatMessage) -> Answer:
    cited = citation(match, message) | {"ts": to_millisecond(match.hit.date)}
    return {**cited, "id": message.id, "memory": message.text, **_values(match)}


def _values(match: Match) -> Answer:
    record = match.record
    return {
        "similarity": match.similarity,
        "metadata": record.metadata or None,
        "updatedAt": to_millisecond(record.updated_at),
        "version": record.version if isinstance(record, Memory) else 1,
        "rootMemoryId": record.root_id if isinstance(record, Memory) and not match.is_chat else None,
    }


def _result(match: Match, include: Include, sources: Sources) -> Answer:
    fact = match.record if isinstance(match.record, Memory) else None
    values: Answer = {"id": match.hit.id, **_values(match)}
    if sources.with_src:
        values["src"] = "doc"
    if filepath := next((document.place for document in match.documents if document.place), None):
        values["filepath"] = filepath
    if include.related_memories:
        context = match.hit.context or Context()
        links = {"parents": context.parents, "children": context.children, "related": context.related}
        values["context"] = {name: [_tie(link) for link in each] for name, each in links.items()}
    if include.documents or include.summaries:
        values["documents"] = [_document(row, summary=include.summaries) for row in match.documents]
    values["memory" if match.hit.memory is not None else "chunk"] = match.text
    if include.forgotten_memories and fact:
        values |= {"isLatest": fact.is_latest, "isForgotten": fact.forgotten_at is not None}
    if include.chunks and fact:
        values["chunks"] = [
            {"content": chunk.hit.chunk or "", "documentId": chunk.document.id, "position": chunk.position}
            for chunk in match.chunks
        ]
    return values


def _tie(link: Linked) -> Answer:
    updated = to_millisecond(link.updated_at)
    return ANSWERS.fill("Tie", link, updatedAt=updated, metadata=link.metadata or None)


def _document(document: Document, *, summary: bool) -> Answer:
    return ANSWERS.fill(
        "ResultDocument",
        document,
        type=type_of(document.type),
        metadata=document.metadata or None,
        createdAt=to_millisecond(document.created_at),
        updatedAt=to_millisecond(document.updated_at),
        **({"summary": document.summary} if summary else {}),
    )
