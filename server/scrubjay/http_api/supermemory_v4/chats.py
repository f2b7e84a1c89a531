"""Turns among the results of supermemory's searches (seed 004): how a caller asks for them, and how a result says where it is from. Knows
the words `includeChats`, `type` and `src`; does not know how anything is found.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, Field

from scrubjay.http_api.context import RequestContext
from scrubjay.http_api.matches import Match, MatchQuery, find_matches
from scrubjay.http_api.supermemory_v4.bodies import Part, iso
from scrubjay.models.fields import Flag
from scrubjay.models.filters import Filter
from scrubjay.models.records import Turn
from scrubjay.records.turns import speeches
from scrubjay.search.retrieval.relevance import coverage

Src = Literal["doc", "chat"]


class Sources(NamedTuple):
    """Where results may be from; `told` is whether each says so: without a word of chats an answer is as it always was."""

    docs: bool
    chats: bool
    told: bool


class AsksForChats(Part):
    """The fields of a search that asks for turns. `type` has the last word where both are given."""

    include_chats: Annotated[
        Flag | None,
        Field(description='True: also turns of conversations, and on every result `src`, "doc" or "chat".'),
    ] = None
    type: Annotated[
        Annotated[list[Src], Field(min_length=1, max_length=10)] | None,
        BeforeValidator(lambda value: [value] if isinstance(value, str) else value),
        Field(description='The same, chosen in full: ["doc", "chat"], ["doc"] or ["chat"].'),
    ] = None

    @property
    def sources(self) -> Sources:
        """What is asked for."""
        if self.type is not None:
            return Sources("doc" in self.type, "chat" in self.type, True)
        return Sources(True, bool(self.include_chats), bool(self.include_chats))


class Citation(Part):
    """Where a turn was said. `threadId` and `sessionId` are the same conversation."""

    src: Literal["chat"]
    thread_id: str
    session_id: str
    turn: int
    role: Annotated[
        str,
        Field(
            description="user, assistant, summary, or a speaker's name: who said what answers the question."
        ),
    ]
    ts: datetime


def cited(match: Match, query: str) -> dict[str, Any]:
    """The citation of a turn, or of a summary of turns, as JSON values."""
    session = match.hit.session_id or ""
    return {
        "src": "chat",
        "threadId": session,
        "sessionId": session,
        "turn": match.hit.turn or 0,
        "role": _role(match, query),
        "ts": iso(match.hit.date),
    }


async def said(
    context: RequestContext,
    query: str,
    scopes: tuple[str, ...],
    *,
    limit: int,
    threshold: float,
    filter: Filter | None,
) -> list[Match]:
    """The turns alone that answer, most similar first: for a search that finds documents another way."""
    return await find_matches(
        context,
        MatchQuery(query, limit=limit, threshold=threshold, filters=filter, docs=False, chats=True),
        scopes,
    )


def chat_result(match: Match, query: str, threshold: float) -> dict[str, Any]:
    """A turn as a result of `/v3/search`: a document of type `chat` with one chunk, and its citation."""
    record = match.record
    return {
        "documentId": record.id,
        "title": match.hit.session_id,
        "type": "chat",
        "score": match.similarity,
        "chunks": [
            {
                "content": match.text,
                "score": match.similarity,
                "isRelevant": match.similarity >= threshold,
                "position": 0,
            }
        ],
        "metadata": record.metadata or None,
        "createdAt": iso(record.created_at),
        "updatedAt": iso(record.updated_at),
        **cited(match, query),
    }


def _role(match: Match, query: str) -> str:
    """Who said what answers: the side that holds most of the question's words, the assistant where both do."""
    if match.hit.role is not None or not isinstance(match.record, Turn):
        return match.hit.role or "summary"
    said: Sequence[tuple[str, str]] = speeches(match.record)
    covered = coverage(query, (text for _, text in said)).tolist()
    return max(reversed([*zip(covered, said, strict=True)]), key=lambda side: side[0])[1][0]
