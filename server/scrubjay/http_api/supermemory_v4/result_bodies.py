"""Results of `/v4/search` and `/v4/profile` as the clients parse them. Knows their fields, and that a key which was not asked for is absent
and never null; does not know how anything is found.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from scrubjay.http_api.matches import Match
from scrubjay.http_api.supermemory_v4.bodies import Part, iso
from scrubjay.http_api.supermemory_v4.chats import Citation, Sources, cited
from scrubjay.models.fields import Flag
from scrubjay.models.records import Document, Memory, Relation
from scrubjay.models.results import Context, Linked

Similarity = Annotated[float, Field(ge=0, le=1)]
Flat = dict[str, Any] | None


class Include(Part):
    """What each result brings beside itself; nothing of it unless it is asked for."""

    documents: Annotated[
        Flag, Field(description="The documents that a memory is from, or the one of a chunk.")
    ] = False
    summaries: Annotated[Flag, Field(description="With each of these documents its summary.")] = False
    related_memories: Annotated[
        Flag, Field(description="`context`: older and newer versions, and what it extends or derives from.")
    ] = False
    forgotten_memories: Annotated[
        Flag, Field(description="Also memories that were forgotten or have expired.")
    ] = False
    chunks: Annotated[
        Flag,
        Field(
            description="With each memory the chunks of its documents that answer too (deprecated: use hybrid)."
        ),
    ] = False


class Tie(Part):
    """A memory beside another one. `version` is the distance: -1 a parent, -2 its parent, 1 a child."""

    id: str
    memory: str
    relation: Relation
    version: int
    updated_at: datetime
    metadata: Flat


class Ties(Part):
    """`parents` and `children` hold all three relations; `related` those of them that are no versions, as the newest clients read it."""

    parents: list[Tie]
    children: list[Tie]
    related: list[Tie]


class ResultDocument(Part):
    id: str
    title: str | None
    type: str
    metadata: Flat
    created_at: datetime
    updated_at: datetime
    summary: str | None = None


class ResultChunk(Part):
    content: str
    document_id: str
    position: int


class _Result(Part):
    id: str
    similarity: Similarity
    metadata: Flat
    updated_at: datetime
    version: int
    root_memory_id: Annotated[
        str | None, Field(description="The first version of a memory; null for a chunk.")
    ]
    src: Annotated[Literal["doc"], Field(description="Only where turns could be among the results.")] = "doc"
    filepath: str = ""
    context: Ties = Ties(parents=[], children=[], related=[])
    documents: list[ResultDocument] = Field(default_factory=list)


class MemoryResult(_Result):
    """A memory: it has `memory`, and no `chunk`."""

    memory: str
    is_latest: bool = True
    is_forgotten: bool = False
    chunks: list[ResultChunk] = Field(default_factory=list)


class ChunkResult(_Result):
    """A piece of a document: it has `chunk`, and no `memory`."""

    chunk: str


class ChatResult(Citation):
    """What was said in a turn, with where: only where turns were asked for."""

    id: str
    memory: str
    similarity: Similarity
    metadata: Flat
    updated_at: datetime
    version: int
    root_memory_id: None


class Results(Part):
    """The results, most similar first. `timing` is in milliseconds, `total` the number of results."""

    results: list[MemoryResult | ChunkResult | ChatResult]
    timing: Annotated[float, Field(ge=0)]
    total: Annotated[int, Field(ge=0)]


def results(
    found: Sequence[Match], query: str, include: Include, sources: Sources, timing: float
) -> dict[str, Any]:
    """An answer as JSON values; what was not asked for is not in it."""
    made = [_result(match, query, include, sources) for match in found]
    return {"results": made, "timing": round(timing, 1), "total": len(made)}


def _result(match: Match, query: str, include: Include, sources: Sources) -> dict[str, Any]:
    record = match.record
    fact = isinstance(record, Memory) and not match.is_chat
    made: dict[str, Any] = {
        "id": match.hit.id,
        "memory" if match.hit.memory is not None else "chunk": match.text,
        "similarity": match.similarity,
        "metadata": record.metadata or None,
        "updatedAt": iso(record.updated_at),
        "version": record.version if isinstance(record, Memory) else 1,
        "rootMemoryId": record.root_id if isinstance(record, Memory) and fact else None,
    }
    if match.is_chat:
        return {**made, **cited(match, query)}
    if sources.told:
        made["src"] = "doc"
    if filepath := next((row.place for row in match.documents if row.place), None):
        made["filepath"] = filepath
    if include.related_memories:
        made["context"] = _context(match.hit.context)
    if include.documents or include.summaries:
        made["documents"] = [_document(row, summary=include.summaries) for row in match.documents]
    if include.forgotten_memories and isinstance(record, Memory):
        made |= {"isLatest": record.is_latest, "isForgotten": record.forgotten_at is not None}
    if include.chunks and fact:
        made["chunks"] = [
            {"content": chunk.hit.chunk or "", "documentId": chunk.document.id, "position": chunk.position}
            for chunk in match.chunks
        ]
    return made


def _context(context: Context | None) -> dict[str, Any]:
    found = context or Context()
    return {
        name: [_tie(link) for link in getattr(found, name)] for name in ("parents", "children", "related")
    }


def _tie(link: Linked) -> dict[str, Any]:
    return {
        "id": link.id,
        "memory": link.memory,
        "relation": link.relation,
        "version": link.version,
        "updatedAt": iso(link.updated_at),
        "metadata": link.metadata or None,
    }


def _document(document: Document, *, summary: bool) -> dict[str, Any]:
    made = {
        "id": document.id,
        "title": document.title,
        "type": document.type,
        "metadata": document.metadata or None,
        "createdAt": iso(document.created_at),
        "updatedAt": iso(document.updated_at),
    }
    return {**made, "summary": document.summary} if summary else made
