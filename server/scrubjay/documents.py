"""Documents: plain text and Markdown, cut by structure. How one is added, replaced, and made searchable."""

from __future__ import annotations

import asyncio
import os
from datetime import datetime

from scrubjay.chunking import Section, sections
from scrubjay.ids import content_hash, derived_id
from scrubjay.models.envelopes import Envelope
from scrubjay.models.records import Document, Passage
from scrubjay.models.requests import DocumentText, parse
from scrubjay.models.results import DocumentAdded
from scrubjay.plans import Plan
from scrubjay.store.changes import Change
from scrubjay.store.store import Store
from scrubjay.summary import summarise
from scrubjay.terms import expand

PARTITION = "mem_semantic"


async def plan_add(store: Store, envelope: Envelope, now: datetime) -> Plan[DocumentAdded]:
    """What adding this document does: a new one, a new text under a known custom_id or path, or nothing if it is unchanged."""
    request = parse(DocumentText, envelope.args)
    digest = content_hash(request.content)
    id = derived_id("doc", envelope.scope, *_identity(request, digest))
    known = (await store.get(Document, [id])).get(id)
    unchanged = known is not None and known.content == request.content and known.forgotten_at is None
    if known is not None and unchanged and known.metadata == request.metadata and request.title in (None, known.title):
        return Plan(None, DocumentAdded(id=id, status=known.status, chunks=known.chunk_count, redacted=envelope.redacted))
    # In a thread, because 10 MB take six seconds, in which others want their answers.
    document = await asyncio.to_thread(_document, request, envelope, id, known, now)
    pieces = await asyncio.to_thread(passages, document)
    answer = DocumentAdded(id=id, status=document.status, chunks=document.chunk_count, redacted=envelope.redacted)
    return Plan(Change(document, pieces, rewritten=known is not None), answer)


def _document(request: DocumentText, envelope: Envelope, id: str, known: Document | None, now: datetime) -> Document:
    found = sections(request.content)
    return Document(
        id=id,
        scope=envelope.scope,
        partition_id=PARTITION,
        source=envelope.source,
        metadata=request.metadata,
        created_at=known.created_at if known else envelope.at,
        updated_at=now,
        last_accessed_at=now,
        custom_id=request.custom_id,
        title=request.title or _title(found, request.path),
        type="markdown" if any(section.headings for section in found) else "text",
        path=request.path,
        content=request.content,
        content_hash=content_hash(request.content),
        summary=summarise(None, request.content) or None,
        chunk_count=len(found),
    )


def passages(document: Document) -> tuple[Passage, ...]:
    """The chunks of a document; title and headings are searched with each chunk but not returned."""
    made = [_passage(document, position, section) for position, section in enumerate(sections(document.content))]
    return tuple({piece.id: piece for piece in made}.values())


def _passage(document: Document, position: int, section: Section) -> Passage:
    text = document.content[section.start : section.end]
    trail = " > ".join(dict.fromkeys(filter(None, (document.title, *section.headings))))
    values = " ".join(str(value) for value in document.metadata.values() if isinstance(value, str))
    return Passage(
        id=derived_id("p", document.id, str(position), trail, text),
        src="chunk",
        record_id=document.id,
        part=position,
        text=text,
        search_text=expand("\n".join(filter(None, (trail, text, values)))),
        embed_text=f"{trail}\n{text}" if trail else None,
        scope=document.scope,
        partition_id=document.partition_id,
        tags=document.tags,
        importance_score=document.importance_score,
        dated_at=document.updated_at,
        expires_at=document.expires_at,
        title=document.title,
        path=document.path,
        line_start=section.line_start,
        line_end=section.line_end,
        hidden=document.forgotten_at is not None,
    )


def _identity(request: DocumentText, digest: str) -> tuple[str, str]:
    if request.custom_id:
        return "custom", request.custom_id
    return ("path", request.path) if request.path else ("content", digest)


def _title(found: list[Section], path: str | None) -> str | None:
    heading = next((section.headings[0] for section in found if section.headings), None)
    return heading or (os.path.basename(path) if path else None)
