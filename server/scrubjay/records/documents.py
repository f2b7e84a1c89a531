"""Plans how a text, already read from its file, becomes a document or replaces that document's text."""

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
from scrubjay.reading.kinds import markup_of
from scrubjay.records.extracted import PROSE, plan_facts
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
# Types whose first heading is their title.
_TITLED = frozenset("text markdown html docx odt doc rtf notebook".split())


def fields_read(content: FileText) -> dict[str, Any]:
    """Return the fields of a document that come from the text of its file."""
    language = {"language": content.language} if content.language and content.kind == "code" else {}
    metadata = {**language, **content.metadata}
    return {"content": content.text, "type": content.kind, "title": content.title, "metadata": metadata}


async def plan_add(
    store: Store, envelope: Envelope, now: datetime, *, lookup: tuple[Document | None, str] | None = None
) -> Plan[DocumentAdded]:
    """Plan the addition of a document: a new one, a new text for a known custom_id or path, or nothing.

    `lookup` replaces the result of `find_document` if the caller already knows the document.
    """
    request = parse(DocumentText, envelope.args)
    existing, document_id = lookup or await find_document(store, request, envelope)
    if existing is not None and existing.forgotten_at is None:
        request = _with_earlier_fields(request, existing)
        if _is_unchanged(existing, request):
            document = existing.model_copy(update=_file_fields(request, existing))
            return Plan(_answer(document, envelope), [] if document == existing else [Change(document)])
    # In a thread, because 10 MB take six seconds, which would block other requests.
    document, passages = await asyncio.to_thread(new_document, request, envelope, document_id, existing, now)
    fact_changes = await plan_facts(store, document, envelope.at, request.group, new=existing is None)
    change = Change(document, passages, rewritten=existing is not None)
    return Plan(_answer(document, envelope), [change, *fact_changes])


def _answer(document: Document, envelope: Envelope) -> DocumentAdded:
    return DocumentAdded(
        id=document.id, status=document.status, chunks=document.chunk_count, redacted=envelope.redacted
    )


def _with_earlier_fields(request: DocumentText, existing: Document) -> DocumentText:
    """Return the request with the fields that an earlier request set and this one does not give."""
    earlier = fields_of(existing, "filepath", "task_type", "tags", "metadata") | {"date": existing.dated_at}
    if existing.content and title_in(request.metadata) is None:
        earlier_text = DocumentText(content=existing.content, path=existing.path)
        derived_titles = _title(earlier_text, existing.type), title_in(existing.metadata)
        if existing.title not in derived_titles:  # a request or a file gave it
            earlier["title"] = existing.title
    missing = earlier.keys() - request.model_fields_set
    return request.model_copy(update={name: earlier[name] for name in missing})


def _is_unchanged(existing: Document, request: DocumentText) -> bool:
    compared_fields = "content", "path", "metadata", "tags", "custom_id", "filepath", "task_type"
    return (
        fields_of(existing, *compared_fields) == fields_of(request, *compared_fields)
        and existing.status == "done"
        and request.title in (None, existing.title)
        and request.type in (None, existing.type)
        and request.date == existing.dated_at
    )


def new_document(
    request: DocumentText, envelope: Envelope, document_id: str, existing: Document | None, now: datetime
) -> tuple[Document, tuple[Passage, ...]]:
    """Make a document and its passages from a text; `existing` is the document that it replaces."""
    kind, content = request.type or "markdown", request.content or ""
    pieces = cut_document(content, kind, request.path, request.metadata)
    if request.type is None and not any(piece.headings for piece in pieces):
        kind = "text"
    commit_date = request.date if kind == COMMIT else None  # for a commit, only its own date matters
    document = Document(
        id=document_id,
        scope=envelope.scope,
        partition_id=PARTITION,
        source=envelope.source,
        created_at=existing.created_at if existing else commit_date or envelope.at,
        updated_at=commit_date or now,
        last_accessed_at=now,
        title=_title(request, kind),
        type=kind,
        content=content,
        content_hash=content_hash(content),
        summary=_summary(content, kind, pieces) or None,
        status="done" if request.error is None else "failed",
        chunk_count=len(pieces),
        dated_at=request.date,
        **fields_of(request, "metadata", "tags", "custom_id", "path", "error", "filepath", "task_type"),
        **_file_fields(request, existing),
    )
    return document, document_passages(document, pieces)


def _file_fields(request: DocumentText, existing: Document | None) -> dict[str, Any]:
    """Return the fields about the file of a document.

    If the file was added by its own path, `folder` stays None when its folder is indexed.
    """
    file = request.file
    if file is None:
        return {}
    earlier = existing if existing and existing.forgotten_at is None else None
    is_added_by_path = earlier is not None and earlier.file_size is not None and earlier.folder is None
    return {
        "file_size": file.size,
        "file_mtime": file.mtime,
        "file_digest": file.digest,
        "folder": None if is_added_by_path else file.folder,
    }


def _title(request: DocumentText, kind: str) -> str | None:
    """Return the given title, else the top heading, the file's name, or the beginning of the text."""
    if title := request.title or title_in(request.metadata):
        return title
    content = request.content or ""
    markup = markup_of(request.path or "") if kind == "text" else None
    heading = (front_title(content) or first_title(content, markup)) if kind in _TITLED else None
    beginning = opening(content) if kind in ("text", "markdown") else ""
    return heading or (os.path.basename(request.path) if request.path else None) or beginning or None


def title_in(metadata: Mapping[str, Any]) -> str | None:
    """Return the title in metadata; clients of supermemory have no other field for it."""
    title = metadata.get("title")
    return (" ".join(title.split())[:LONGEST_TITLE] or None) if isinstance(title, str) else None


def _summary(content: str, kind: str, pieces: Sequence[Chunk]) -> str:
    headings = [piece.headings[0] for piece in pieces if piece.headings]
    if kind == "code":
        return abstract(content, names=headings, code=True)
    if kind in PROSE or kind == "notebook":
        return abstract(content, heading=headings[0] if headings else None)
    names = dict.fromkeys(headings)  # the top-level names in a file of rows, without repetitions
    return f"Contains: {', '.join(names)}"[:ABSTRACT_LIMIT] if names else ""


async def find_document(
    store: Store, request: DocumentText, envelope: Envelope
) -> tuple[Document | None, str]:
    """Return the existing document that a text belongs to, or None, and the id of the document.

    A replay of the same request finds the same document.
    """
    if request.document_id is not None:
        return await stored_document(store, request.document_id), request.document_id
    path = request.path if request.custom_id is None else None
    if path is not None and (current := await _find_at(store, envelope.scope, path)) is not None:
        return current, current.id
    if request.custom_id:
        key = "custom", request.custom_id
    elif request.path:
        key = "path", request.path
    else:
        key = "content", content_hash(request.content or "")
    document_id = derived_id("doc", envelope.scope, *key)
    existing = await stored_document(store, document_id)
    if path is not None and existing is not None and existing.path != path:  # the existing document has moved
        return None, derived_id("doc", envelope.scope, *key, envelope.id)
    return existing, document_id


async def stored_document(store: Store, document_id: str) -> Document | None:
    """Return the document with this id, or None."""
    return (await store.get(Document, [document_id])).get(document_id)


async def _find_at(store: Store, scope: str, path: str) -> Document | None:
    at_path = conditions.matching(scope=scope, path=path)
    where = conditions.both(at_path, conditions.missing("custom_id"), conditions.NOT_FORGOTTEN)

    def is_match(row: Document) -> bool:
        return (row.scope, row.path, row.custom_id, row.forgotten_at) == (scope, path, None, None)

    columns = ["id", "scope", "path", "custom_id", "forgotten_at"]
    rows = await store.select_newest(Document, where, is_match, columns=columns)
    return await stored_document(store, rows[-1].id) if rows else None


def id_of_path(scope: str, path: str, *more: str) -> str:
    """Return the id of the first document at a path; `more` makes the id of a later document there."""
    return derived_id("doc", scope, "path", path, *more)
