"""Documents of a namespace: add one or many, read, change, delete. Knows what each route answers; what a document is, and what is learned
of one, is known below (`engine.filing`, `learned`).
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import Field

from scrubjay.errors import InputError, NotFound
from scrubjay.learned import facts_of
from scrubjay.memories import visible
from scrubjay.models.forgetting import ForgetRecords
from scrubjay.models.records import Document
from scrubjay.models.texts import DocumentText
from scrubjay.rest.namespaces.document import (
    Added,
    Batch,
    BatchItem,
    BatchResult,
    Change,
    Input,
    Ref,
    WholeDocument,
    chunks_of,
    url_of,
    whole,
)
from scrubjay.rest.namespaces.memory import shown
from scrubjay.rest.namespaces.place import DocumentId, Place, Reading, Writing
from scrubjay.rest.namespaces.wire import Answer, Body, included
from scrubjay.rest.visit import SOURCE
from scrubjay.store import sql

router = APIRouter()

DELETED = "deleted over HTTP"
UNKNOWN: dict[int | str, dict[str, Any]] = {404: {"description": "No document of this namespace has that id."}}
_FIRST = datetime(1, 1, 2, tzinfo=UTC)


class Doomed(Body):
    ids: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=255)]],
        Field(min_length=1, max_length=100, description="Ids of documents, or the ids that you gave them."),
    ]


class DeleteError(Answer):
    id: str
    error: str


class DeleteResult(Answer):
    """How many documents were deleted, and what was wrong with the other ids."""

    count: Annotated[int, Field(ge=0)]
    errors: list[DeleteError]


@router.post("/ns/{namespace}/document", summary="Add a document")
async def add(place: Writing, body: Added) -> Ref:
    """Takes a text; it is on disk when this answers, found by words within a moment, and repeating the call changes nothing."""
    text = await _text(place, body, body.task_type)
    filed = await place.visit.core.filing.add(text, scope=place.namespace, source=SOURCE)
    return Ref(id=filed.id, status=filed.status)


@router.post("/ns/{namespace}/document/batch", summary="Add up to 600 documents", response_model_exclude_unset=True)
async def add_batch(place: Writing, body: Batch) -> BatchResult:
    """Takes documents, those with the earliest date first. One that cannot be added is reported and stops no other."""
    taken: dict[int, BatchItem] = {}
    refused: dict[int, BatchItem] = {}
    ordered = sorted(enumerate(body.documents), key=lambda pair: pair[1].date or _FIRST)
    texts = [(await _text(place, each, body.task_type), place.namespace) for _, each in ordered]
    filed = await place.visit.core.filing.add_all(texts, source=SOURCE)
    for (number, each), one in zip(ordered, filed, strict=True):
        if isinstance(one, InputError):
            url = url_of(each.content)
            refused[number] = BatchItem(id=each.id or "", status="error", error=str(one), **({"url": url} if url else {}))
        else:
            taken[number] = BatchItem(id=one.id, status=one.status)
    results = [found[number] for found in (taken, refused) for number in sorted(found)]
    return BatchResult(results=results, count=len(taken), failed=len(refused))


@router.get(
    "/ns/{namespace}/document/{id:path}",
    summary="Read a document",
    response_model_exclude_unset=True,
    responses=UNKNOWN,
)
async def read(
    place: Reading,
    id: DocumentId,
    include: Annotated[list[str], Query(description="chunks: its passages; memories: what was learned of it.")] = [],  # noqa: B006
) -> WholeDocument:
    """A document with its text, and how far it is; there from the moment that its add was answered."""
    wanted = included(include, ("chunks", "memories"))
    row = await place.document(id)
    core = place.visit.core
    beside: dict[str, Any] = {}
    if "memories" in wanted:
        facts = await facts_of(core.store, [row.id])
        beside["memories"] = [shown(fact, place.visit.now) for fact in facts if visible(fact, place.visit.now)]
    if "chunks" in wanted:
        await core.store.flush()
        beside["chunks"] = chunks_of(row, await core.store.passages(sql.equal("record_id", row.id), columns=["id", "part", "text"]))
    return whole(row, (await core.filing.statuses([row]))[row.id]).model_copy(update=beside)


@router.patch("/ns/{namespace}/document/{id:path}", summary="Change a document", responses=UNKNOWN)
async def change(place: Writing, id: DocumentId, body: Change) -> Ref:
    """Another content replaces the text, and what is learned follows it; all else is changed in place, without anything embedded anew."""
    row = await place.document(id)
    values = body.said() | ({"task_type": body.task_type} if body.task_type else {}) | ({"content": body.content} if body.content else {})
    return await changed(place, row, values, body.supporting_context)


@router.delete("/ns/{namespace}/document", summary="Delete documents")
async def delete(place: Writing, body: Doomed) -> DeleteResult:
    """Hides documents and what was learned of them from every search and list; each id stands for itself.

    `scrubjay restore` brings one back, `scrubjay forget --purge` takes its bytes; deleting the namespace takes those of all.
    """
    found: dict[str, Document] = {}
    errors = []
    for id in dict.fromkeys(body.ids):
        try:
            row = await place.document(id)
            found[row.id] = row
        except NotFound as error:
            errors.append(DeleteError(id=id, error=str(error)))
    if found:
        await place.visit.write("forget", ForgetRecords(ids=list(found), reason=DELETED), scope=place.namespace)
    return DeleteResult(count=len(found), errors=errors)


async def changed(place: Place, row: Document, values: dict[str, Any], context: str | None) -> Ref:
    """Give a document other values for some fields of a `DocumentText`."""
    await place.visit.core.scope_settings.keep_context(place.namespace, context, place.visit.now)
    filed = await place.visit.core.filing.change(row, values, source=SOURCE)
    return Ref(id=filed.id, status=filed.status)


async def _text(place: Place, body: Input, task_type: Literal["memory", "superrag"] | None) -> DocumentText:
    """What is filed of a body; what it says of its namespace is kept."""
    await place.visit.core.scope_settings.keep_context(place.namespace, body.supporting_context, place.visit.now)
    own = {} if body.id is None else {"custom_id": body.id}
    return DocumentText.model_validate({"task_type": task_type or "memory", **own, **body.said(), "content": body.content})
