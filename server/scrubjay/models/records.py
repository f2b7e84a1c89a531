"""What is stored. Records (turns, memories, documents) are the truth; passages are the index and can be rebuilt from them.

Arrow schemas are computed from these classes (`scrubjay.store.schema`), so a field is added here and nowhere else.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


class Row(BaseModel):
    """A frozen row of one table."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Record(Row):
    """What every turn, memory and document has."""

    id: str
    scope: str
    partition_id: str
    tags: tuple[str, ...] = ()
    importance_score: float = 5.0  # 0-10
    source: str
    metadata: dict[str, Any] = {}
    created_at: datetime
    updated_at: datetime
    last_accessed_at: datetime
    access_count: int = 0
    expires_at: datetime | None = None
    forgotten_at: datetime | None = None
    forget_reason: str | None = None


class Turn(Record):
    """One user prompt and everything answered to it; or, with `role` and `text`, what another speaker said.

    Turns of a session are numbered from 0 and ordered by (`started_at`, `turn`).
    """

    session_id: str
    turn: int
    prompt_id: str | None = None
    user: str | None = None
    assistant: str | None = None
    role: str | None = None
    text: str | None = None
    summary: str | None = None
    tools: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    host: str | None = None
    capture: str | None = None  # summary_only: its summary alone is searchable
    started_at: datetime


class Memory(Record):
    """One fact, one version."""

    root_id: str
    version: int = 1
    is_latest: bool = True
    relation: Literal["updates", "extends", "derives"] | None = None
    parent_ids: tuple[str, ...] = ()
    content: str
    content_hash: str
    is_static: bool = False
    session_id: str | None = None
    turn: int | None = None
    document_ids: tuple[str, ...] = ()


class Document(Record):
    """One document as it was given."""

    custom_id: str | None = None
    title: str | None = None
    type: str = "text"
    path: str | None = None
    content: str
    content_hash: str
    summary: str | None = None
    status: str = "done"
    chunk_count: int = 0


Src = Literal["memory", "turn", "chunk"]


class Passage(Row):
    """One searchable piece of a record. `text` is what is returned, `search_text` what is indexed."""

    id: str
    src: Src
    record_id: str
    part: int  # 0-based within (record, role)
    role: str | None = None  # user | assistant | summary | a speaker's name; None for facts and chunks
    text: str
    search_text: str
    embed_text: str | None = None  # what the vector is made of, if not `text`: a speaker's name before it, headings before a chunk
    scope: str
    partition_id: str
    tags: tuple[str, ...] = ()
    importance_score: float = 5.0
    session_id: str | None = None
    turn: int | None = None
    dated_at: datetime  # a turn's started_at, else created_at
    expires_at: datetime | None = None
    hidden: bool = False  # forgotten, or replaced by a newer version
    title: str | None = None
    path: str | None = None
    line_start: int | None = None  # 1-based, of a chunk
    line_end: int | None = None
    space_id: str | None = None  # the vector space of `vector`; None until embedded


AnyRecord = Turn | Memory | Document
