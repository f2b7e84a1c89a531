"""Documents: how a text is added, recognised as a known document, and replaced. The text was read before."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from scrubjay.models.envelopes import Envelope
from scrubjay.models.records import COMMIT, Document, Passage, content_hash, derived_id, fields_of
from scrubjay.models.requests import DocumentText, parse
from scrubjay.models.results import DocumentAdded
from scrubjay.reading import FileText
from scrubjay.records.extracted import plan_facts
from scrubjay.records.passages import cut_document, document_passages
from scrubjay.store import conditions
from scrubjay.store.changes import Change, Plan
from scrubjay.store.store import Store
from scrubjay.text.chunking import Chunk
from scrubjay.text.chunking.markdown import first_title
from scrubjay.text.front_matter import front_title
from scrubjay.text.summary import ABSTRACT_LIMIT, abstract
from scrubjay.text.titles import opening

PARTITION = "mem_semantic"
LONGEST_TITLE = 500  # characters
# Kinds whose first heading is their title, and kinds of prose.
_TITLED = frozenset("text markdown html docx odt doc rtf notebook".split())
_PROSE = frozenset("text markdown html pdf docx doc odt rtf epub pptx ppt odp notebook email".split())


def fields_read(content: FileText) -> dict[str, Any]:
    """Return the fields of a document that come from its file."""
    language = {"language": content.language} if content.language and content.kind == "code" else {}
    metadata = {**language, **content.metadata}
    return {"content": content.text, "type": content.kind, "title": content.title, "metadata": metadata}


async def plan_add(
    store: Store,
    envelope: Envelope,
    now: datetime,
    *,
    lookup: tuple[Document | None, str] | None = None,
) -> Plan[DocumentAdded]:
    """Plan the addition of a document: a new one, a new text under a known custom_id or path, or nothing.

    `lookup` is what `find_document` returned, if the caller has just called it or knows better.
    """
    request = parse(DocumentText, envelope.args)
    known, document_id = lookup or await find_document(store, request, envelope)
    if known is not None:
        request = _with_earlier_fields(request, known)
    if known is not None and _is_unchanged(known, request):
        document = known.model_copy(update=_file_fields(request, known))
        return Plan(_answer(document, envelope), [] if document == known else [Change(document)])
    # In a thread, because 10 MB take six seconds, in which others want their answers.
    document, passages = await asyncio.to_thread(new_document, request, envelope, document_id, known, now)
    facts_too = await plan_facts(store, document, envelope.at, request.group, new=known is None)
    change = Change(document, passages, rewritten=known is not None)
    return Plan(_answer(document, envelope), [change, *facts_too])


def _answer(document: Document, envelope: Envelope) -> DocumentAdded:
    return DocumentAdded(
        id=document.id, status=document.status, chunks=document.chunk_count, redacted=envelope.redacted
    )


def _with_earlier_fields(request: DocumentText, known: Document) -> DocumentText:
    """Return the request with the fields that an earlier one set, and this one does not name."""
    earlier = {"filepath": known.filepath, "task_type": known.task_type, "date": known.dated_at}
    given = request.model_fields_set
    return request.model_copy(update={name: value for name, value in earlier.items() if name not in given})


def _is_unchanged(known: Document, request: DocumentText) -> bool:
    same = "content", "path", "metadata", "custom_id", "filepath", "task_type"
    return (
        fields_of(known, *same) == fields_of(request, *same)
        and known.status == "done"
        and known.forgotten_at is None
        and request.title in (None, known.title)
        and request.type in (None, known.type)
        and request.date == known.dated_at
    )


def new_document(
    request: DocumentText, envelope: Envelope, document_id: str, known: Document | None, now: datetime
) -> tuple[Document, tuple[Passage, ...]]:
    """Make a document of a text, and its passages; `known` is the one that it replaces."""
    kind, content = request.type or "markdown", request.content or ""
    pieces = cut_document(content, kind, request.path, request.metadata)
    if request.type is None and not any(piece.headings for piece in pieces):
        kind = "text"
    made_at = request.date if kind == COMMIT else None  # a commit's own date is the only one that matters
    document = Document(
        id=document_id,
        scope=envelope.scope,
        partition_id=PARTITION,
        source=envelope.source,
        created_at=known.created_at if known else made_at or envelope.at,
        updated_at=made_at or now,
        last_accessed_at=now,
        title=_title(request, kind),
        type=kind,
        content=content,
        content_hash=content_hash(content),
        summary=_summary(content, kind, pieces) or None,
        status="done" if request.error is None else "failed",
        chunk_count=len(pieces),
        dated_at=request.date,
        **fields_of(request, "metadata", "custom_id", "path", "error", "filepath", "task_type"),
        **_file_fields(request, known),
    )
    return document, document_passages(document, pieces)


def _file_fields(request: DocumentText, known: Document | None) -> dict[str, Any]:
    """Return what is remembered of the file.

    A file that was named itself remains so when its folder is indexed without it.
    """
    file = request.file
    if file is None:
        return {}
    named = (
        known is not None
        and known.forgotten_at is None
        and known.file_size is not None
        and known.folder is None
    )
    return {
        "file_size": file.size,
        "file_mtime": file.mtime,
        "file_digest": file.digest,
        "folder": None if named else file.folder,
    }


def _title(request: DocumentText, kind: str) -> str | None:
    """Return the title that was named, else the heading above all, the file's name, or a text's beginning."""
    if named := request.title or title_in(request.metadata):
        return named
    content = request.content or ""
    heading = (front_title(content) or first_title(content)) if kind in _TITLED else None
    begins = opening(content) if kind in ("text", "markdown") else ""
    return heading or (os.path.basename(request.path) if request.path else None) or begins or None


def title_in(metadata: Mapping[str, Any]) -> str | None:
    """Return the title that metadata name; clients of supermemory have no other field for it."""
    title = metadata.get("title")
    return (" ".join(title.split())[:LONGEST_TITLE] or None) if isinstance(title, str) else None


def _summary(content: str, kind: str, pieces: Sequence[Chunk]) -> str:
    headings = [piece.headings[0] for piece in pieces if piece.headings]
    if kind == "code":
        return abstract(content, names=headings, code=True)
    if kind in _PROSE:
        return abstract(content, heading=headings[0] if headings else None)
    names = dict.fromkeys(headings)  # the outermost names in a file of rows, each once
    return f"Contains: {', '.join(names)}"[:ABSTRACT_LIMIT] if names else ""


async def find_document(
    store: Store, request: DocumentText, envelope: Envelope
) -> tuple[Document | None, str]:
    """Return the document that a text belongs to, None for a new one, and its id; a replay finds the same."""
    if request.document_id is not None:
        return await stored_document(store, request.document_id), request.document_id
    path = request.path if request.custom_id is None else None
    if path is not None and (current := await _find_at(store, envelope.scope, path)) is not None:
        return current, current.id
    key = _identity(request)
    document_id = derived_id("doc", envelope.scope, *key)
    known = await stored_document(store, document_id)
    if path is not None and known is not None and known.path != path:  # that document moved away
        return None, derived_id("doc", envelope.scope, *key, envelope.id)
    return known, document_id


async def stored_document(store: Store, document_id: str) -> Document | None:
    """Return the document with this id; a new id costs no look at the disk."""
    return (await store.get(Document, await store.may_hold(Document, [document_id]))).get(document_id)


async def _find_at(store: Store, scope: str, path: str) -> Document | None:
    here = conditions.matching(scope=scope, path=path)
    where = conditions.both(here, conditions.missing("custom_id"), conditions.NOT_FORGOTTEN)
    staged = [  # before the look at the disk, or a commit could hide one
        row.id
        for row in store.staged(Document)
        if row.scope == scope and row.path == path and row.custom_id is None
    ]
    rows = await store.select(Document, where, columns=["id"])
    # A committed one may have moved, or been forgotten, by a write that is staged.
    found = await store.get(Document, [*staged, *(row.id for row in rows)])
    return next((row for row in found.values() if row.path == path and row.forgotten_at is None), None)


def id_of_path(scope: str, path: str, *more: str) -> str:
    """Return the id of the first document at a path; of a later one `more` tells it apart."""
    return derived_id("doc", scope, "path", path, *more)


def _identity(request: DocumentText) -> tuple[str, str]:
    if request.custom_id:
        return "custom", request.custom_id
    return ("path", request.path) if request.path else ("content", content_hash(request.content or ""))
