"""Documents, cut by structure: how one is added, replaced, and made searchable. Does not know files: its text was read before."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple

from scrubjay.models.envelopes import Envelope
from scrubjay.models.records import Document, Memory, Passage, content_hash, derived_id
from scrubjay.models.requests import DocumentText, parse
from scrubjay.models.results import DocumentAdded
from scrubjay.reading.kinds import kind_of
from scrubjay.records.extracted import plan_facts
from scrubjay.records.plans import Plan
from scrubjay.store import conditions
from scrubjay.store.changes import Change
from scrubjay.store.facets import facets
from scrubjay.store.store import Store
from scrubjay.text.chunking import Chunk, chunks
from scrubjay.text.summary import ABSTRACT_LIMIT, abstract
from scrubjay.text.terms import expand

PARTITION = "mem_semantic"


class Lookup(NamedTuple):
    """The document that a text belongs to, None for a new one, its id, and for hashes of words the fact that says them, None for none."""

    known: Document | None
    id: str
    facts: Mapping[str, Memory | None] = MappingProxyType({})


_PROSE = frozenset({"text", "markdown", "html", "pdf", "docx", "pptx", "notebook", "email"})
_TITLED = frozenset({"text", "markdown", "html", "docx", "notebook"})  # whose first heading is their title


async def plan_add(
    store: Store, envelope: Envelope, now: datetime, *, lookup: Lookup | None = None
) -> Plan[DocumentAdded]:
    """What adding this document does: a new one, a new text under a known custom_id or path, or nothing if it is unchanged.

    What the caller has looked up a moment ago (`lookup`) is not looked up again.
    """
    request = parse(DocumentText, envelope.args)
    known, id = (lookup.known, lookup.id) if lookup else await find_document(store, request, envelope)
    request = _with_what_was_said(request, known)
    if known is not None and _unchanged(known, request):
        same = known.model_copy(update=_state(request, known))
        answer = DocumentAdded(
            id=id, status=known.status, chunks=known.chunk_count, redacted=envelope.redacted
        )
        return Plan(None if same == known else Change(same), answer)
    # In a thread, because 10 MB take six seconds, in which others want their answers.
    document, pieces = await asyncio.to_thread(_made, request, envelope, id, known, now)
    answer = DocumentAdded(
        id=id, status=document.status, chunks=document.chunk_count, redacted=envelope.redacted
    )
    facts = await plan_facts(
        store, document, envelope.at, request.group, new=known is None, facts=lookup.facts if lookup else {}
    )
    return Plan(Change(document, pieces, rewritten=known is not None), answer, facts)


def _with_what_was_said(request: DocumentText, known: Document | None) -> DocumentText:
    """The request with what an earlier one said of the same document, and this one does not."""
    if known is None:
        return request
    earlier = {"filepath": known.filepath, "task_type": known.task_type, "date": known.dated_at}
    return request.model_copy(
        update={name: value for name, value in earlier.items() if name not in request.model_fields_set}
    )


def _unchanged(known: Document, request: DocumentText) -> bool:
    return (
        known.content == request.content
        and known.status == "done"
        and known.path == request.path
        and known.forgotten_at is None
        and known.metadata == request.metadata
        and request.title in (None, known.title)
        and request.type in (None, known.type)
        and (request.custom_id, request.filepath, request.task_type)
        == (known.custom_id, known.filepath, known.task_type)
        and request.date == known.dated_at
    )


def _made(
    request: DocumentText, envelope: Envelope, id: str, known: Document | None, now: datetime
) -> tuple[Document, tuple[Passage, ...]]:
    type, content = request.type or "markdown", request.content or ""
    found = _chunks(content, type, request.path, request.metadata)
    if request.type is None and not any(chunk.headings for chunk in found):
        type = "text"
    document = Document(
        id=id,
        scope=envelope.scope,
        partition_id=PARTITION,
        source=envelope.source,
        metadata=request.metadata,
        created_at=known.created_at if known else envelope.at,
        updated_at=now,
        last_accessed_at=now,
        custom_id=request.custom_id,
        title=request.title or _title(found, type, request.path),
        type=type,
        path=request.path,
        content=content,
        content_hash=content_hash(content),
        summary=_summary(content, type, found) or None,
        status="done" if request.error is None else "failed",
        error=request.error,
        chunk_count=len(found),
        filepath=request.filepath,
        task_type=request.task_type,
        dated_at=request.date,
        **_state(request, known),
    )
    return document, _passages(document, found)


def passages(document: Document) -> tuple[Passage, ...]:
    """The chunks of a document; title, headings and a table's header are searched with each chunk but not returned.

    A passage is known by its words and not by its place, so that one line more leaves all other passages
    their vectors.
    """
    return _passages(document, _chunks(document.content, document.type, document.path, document.metadata))


def _chunks(content: str, type: str, path: str | None, metadata: Mapping[str, Any]) -> list[Chunk]:
    """The language of a source file is what its name says, else what its first line said when it was read."""
    language = (
        (kind_of(path or "").language or str(metadata.get("language") or "text"))
        if type in ("code", "json")
        else None
    )
    return chunks(content, type, language)


def _passages(document: Document, found: list[Chunk]) -> tuple[Passage, ...]:
    seen: Counter[str] = Counter()
    made = []
    for position, chunk in enumerate(found):
        trail = " > ".join(dict.fromkeys(filter(None, (document.title, *chunk.headings))))
        above = "\n".join(filter(None, (trail, chunk.repeat)))
        text = document.content[chunk.start : chunk.end]
        key = derived_id("p", document.id, above, text)
        seen[key] += 1
        id = key if seen[key] == 1 else derived_id("p", document.id, above, text, str(seen[key]))
        made.append(_passage(document, id, position, chunk, text, above))
    return tuple(made)


def _passage(document: Document, id: str, position: int, chunk: Chunk, text: str, above: str) -> Passage:
    values = " ".join(str(value) for value in document.metadata.values() if isinstance(value, str))
    return Passage(
        id=id,
        src="chunk",
        record_id=document.id,
        part=position,
        text=text,
        search_text=expand("\n".join(filter(None, (above, text, _place(document.place), values)))),
        embed_text=f"{above}\n{text}" if above else None,
        scope=document.scope,
        partition_id=document.partition_id,
        tags=document.tags,
        importance_score=document.importance_score,
        dated_at=document.dated_at or document.updated_at,
        expires_at=document.expires_at,
        facets=facets(document.metadata),
        title=document.title,
        path=document.place,
        line_start=chunk.line_start,
        line_end=chunk.line_end,
        hidden=document.forgotten_at is not None,
        hidden_at=document.forgotten_at,
    )


def _state(request: DocumentText, known: Document | None) -> dict[str, Any]:
    """What is remembered of the file; a file that was named once stays when its folder is indexed without it."""
    if request.file is None:
        return {}
    named = (
        known is not None
        and known.forgotten_at is None
        and known.file_size is not None
        and known.folder is None
    )
    folder = None if named else request.file.folder
    return {
        "file_size": request.file.size,
        "file_mtime": request.file.mtime,
        "file_digest": request.file.digest,
        "folder": folder,
    }


def _title(found: list[Chunk], type: str, path: str | None) -> str | None:
    heading = (
        next((chunk.headings[0] for chunk in found if chunk.headings), None) if type in _TITLED else None
    )
    return heading or (os.path.basename(path) if path else None)


def _place(path: str | None) -> str:
    """The end of a path, which people search for: the file and the two folders it is in."""
    return "/".join((path or "").replace("\\", "/").split("/")[-3:])


def _summary(content: str, type: str, found: list[Chunk]) -> str:
    headings = [chunk.headings[0] for chunk in found if chunk.headings]
    if type == "code":
        return abstract(content, names=headings, code=True)
    return (
        abstract(content, heading=headings[0] if headings else None) if type in _PROSE else _contents(found)
    )


def _contents(found: list[Chunk]) -> str:
    """What a file of code or rows holds: the outermost names in it, each once."""
    names = list(dict.fromkeys(chunk.headings[0] for chunk in found if chunk.headings))
    return f"Contains: {', '.join(names)}"[:ABSTRACT_LIMIT] if names else ""


async def find_document(
    store: Store, request: DocumentText, envelope: Envelope
) -> tuple[Document | None, str]:
    """The document as it is stored, None for a new one, and its id; a replay recognises what the first run made."""
    if request.document_id is not None:
        return await _get(store, request.document_id), request.document_id
    by_path = request.custom_id is None and request.path is not None
    if by_path and (there := await _at(store, envelope.scope, str(request.path))) is not None:
        return there, there.id
    id = derived_id("doc", envelope.scope, *_identity(request))
    known = await _get(store, id)
    if by_path and known is not None and known.path != request.path:  # that document moved away
        return None, derived_id("doc", envelope.scope, *_identity(request), envelope.id)
    return known, id


async def _get(store: Store, id: str) -> Document | None:
    return (await store.get(Document, [id])).get(id)


async def _at(store: Store, scope: str, path: str) -> Document | None:
    """The document of a file that is not forgotten."""
    where = conditions.both(
        conditions.equal("scope", scope),
        conditions.equal("path", path),
        conditions.missing("custom_id"),
        conditions.NOT_FORGOTTEN,
    )
    rows = await store.select(Document, where, columns=["id"])
    staged = [
        row.id
        for row in store.staged(Document)
        if row.scope == scope and row.path == path and row.custom_id is None
    ]
    found = await store.get(
        Document, [*staged, *(row.id for row in rows)]
    )  # what is staged may have moved or been forgotten since
    return next((row for row in found.values() if row.path == path and row.forgotten_at is None), None)


def id_of_path(scope: str, path: str, *more: str) -> str:
    """The id of the first document at a path; of a later one `more` tells it apart."""
    return derived_id("doc", scope, "path", path, *more)


def _identity(request: DocumentText) -> tuple[str, str]:
    if request.custom_id:
        return "custom", request.custom_id
    return ("path", request.path) if request.path else ("content", content_hash(request.content or ""))
