"""What is answered: the wire shapes of the six tools. Empty fields are left out when they are sent."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from scrubjay.models.records import Src

Score = Annotated[float, Field(ge=0, le=1)]


class Result(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    def wire(self) -> dict[str, Any]:
        """As JSON values, without the fields that hold nothing."""
        return _slim(self.model_dump(mode="json"))


def _slim(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _slim(item) for key, item in value.items() if item is not None and item != {} and (item != [] or key in _KEPT_EMPTY)}
    return [_slim(item) for item in value] if isinstance(value, list) else value


_KEPT_EMPTY = frozenset({"results", "related", "chunks", "ids"})


class Hit(Result):
    """One thing recalled: a fact or a turn under `memory`, a document's passage under `chunk`; never both."""

    id: str
    src: Src
    memory: str | None = None
    chunk: str | None = None
    session_id: str | None = None
    turn: int | None = None
    role: str | None = None
    title: str | None = None
    date: datetime
    scope: str
    partition_id: str
    tags: tuple[str, ...] = ()
    source: str
    metadata: dict[str, Any] = {}
    version: int | None = None
    truncated: bool | None = None  # true: `memory` is a part; the resource scrubjay://turn/{id} has it all
    score: Score | None = None
    relevance_score: Score | None = None
    importance_score_normalized: Score | None = None
    recency_score: Score | None = None
    reason: Literal["window", "relation", "tag", "entity"] | None = None  # of a related record


class Tokens(Result):
    """Estimated tokens, ceil(characters / 4): `spent` on returned texts, `rendered` for the whole answer."""

    spent: int
    rendered: int | None = None
    budget: int | None = None


class MemoryHits(Result):
    results: list[Hit]
    related: list[Hit] = []
    total: int
    timing: float  # ms
    tokens: Tokens
    left_out: int | None = None  # hits that the budget had no room for
    degraded: str | None = None  # why meaning was not searched, and what repairs it


class Chunk(Result):
    content: str
    score: Score
    is_relevant: bool
    position: int
    lines: tuple[int, int]


class DocumentHit(Result):
    document_id: str
    title: str | None = None
    type: str
    score: Score
    chunks: list[Chunk]
    metadata: dict[str, Any] = {}
    created_at: datetime
    updated_at: datetime
    content: str | None = None
    summary: str | None = None


class DocumentHits(Result):
    results: list[DocumentHit]
    total: int
    timing: float
    left_out: int | None = None
    degraded: str | None = None


class TurnRecorded(Result):
    id: str
    session_id: str
    turn: int
    stored: bool
    updated: bool
    indexed: bool  # its vector is present
    redacted: int


class MemoryAdded(Result):
    id: str
    action: Literal["stored", "known", "updated"]
    version: int
    root_id: str
    similar: list[Hit] = []
    redacted: int


class DocumentAdded(Result):
    id: str
    status: str
    chunks: int
    redacted: int


class Forgotten(Result):
    ids: list[str]
    forgotten: int
    purged: int = 0
