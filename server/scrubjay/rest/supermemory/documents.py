"""Routes of documents: add one or many, get, change, delete. Knows what each answers; what a document is, and what is learned of one, is
known below (`engine.filing`, `learned`).
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter, Response
from pydantic import ValidationError

from scrubjay.engine.filing import Filed
from scrubjay.errors import InputError, NotFound
from scrubjay.learned import facts_of
from scrubjay.memories import visible
from scrubjay.models.forgetting import ForgetRecords
from scrubjay.models.records import AnyRecord, Document
from scrubjay.models.refusals import sentences
from scrubjay.rest.supermemory.addressed import Id, WithinTag, document, filed_at, record
from scrubjay.rest.supermemory.wire_answers import (
    Accepted,
    BatchAnswer,
    BatchItem,
    BulkAnswer,
    DeleteError,
    WholeDocument,
    entry,
    listed,
)
from scrubjay.rest.supermemory.wire_documents import AddedDocument, Batch, BulkDelete, ChangedDocument, DocumentFields
from scrubjay.rest.visit import SOURCE, Visit, Visiting
from scrubjay.store import sql

DELETED = "deleted over HTTP"
_FIRST = datetime(1, 1, 2, tzinfo=UTC)
_GONE: dict[int | str, dict[str, Any]] = {404: {"description": "Nothing that the caller reaches has this id or customId."}}

router = APIRouter()


@router.post("/v3/documents", response_model=Accepted, summary="Add a document")
async def add(visit: Visiting, body: AddedDocument) -> Accepted:
    """Takes a text; it is on disk when this answers, found by words within a moment, and repeating the call changes nothing."""
    filed = await _added(visit, body, body.tag())
    return Accepted(id=filed.id, status=filed.status)


@router.post("/v3/documents/batch", response_model=BatchAnswer, response_model_exclude_none=True, summary="Add up to 600 documents")
async def add_batch(visit: Visiting, body: Batch) -> BatchAnswer:
    """Takes texts or objects, those from the earliest documentDate first; one that is wrong is reported and stops no other."""
    visit.leave.writes_to(body.tag())  # wrong for all of them is wrong once
    shared = body.model_dump(by_alias=True, exclude={"documents"}, exclude_none=True)
    results: dict[int, BatchItem] = {}
    made: list[tuple[int, AddedDocument]] = []
    for number, item in enumerate(body.documents):
        values = {"content": item} if isinstance(item, str) else item
        tagged = {"containerTag", "containerTags"} & values.keys()
        beside = {name: value for name, value in shared.items() if not (tagged and name.startswith("containerTag"))}
        try:
            made.append((number, AddedDocument.model_validate({**beside, **values})))
        except ValidationError as error:
            results[number] = _wrong(values, sentences(AddedDocument.model_fields, error.errors(include_url=False)))
    placed: list[tuple[int, AddedDocument, str]] = []
    for number, each in sorted(made, key=lambda pair: pair[1].document_date or _FIRST):
        try:
            placed.append((number, each, visit.leave.writes_to(each.tag())))
        except InputError as error:
            results[number] = _wrong({"customId": each.custom_id}, str(error))
    for _, each, scope in placed:
        await keep_context(visit, each, scope)
    filed = await visit.core.filing.add_all([(each.text(), scope) for _, each, scope in placed], source=SOURCE)
    for (number, each, _), one in zip(placed, filed, strict=True):
        if isinstance(one, InputError):
            results[number] = _wrong({"customId": each.custom_id}, str(one))
        else:
            results[number] = BatchItem(id=one.id, status=one.status)
    ordered = [results[number] for number in sorted(results)]
    failed = sum(item.status == "error" for item in ordered)
    return BatchAnswer(results=ordered, success=len(ordered) - failed, failed=failed)


@router.delete(
    "/v3/documents/bulk",
    response_model=BulkAnswer,
    response_model_exclude_none=True,
    summary="Delete documents by id, by tag or by path",
    responses={404: {"description": "No document is filed there."}},
)
async def delete_bulk(visit: Visiting, body: BulkDelete) -> BulkAnswer:
    """Hides documents and what was learned of them from every search, as deleting one does."""
    given = [name for name in ("ids", "container_tags", "filepath") if getattr(body, name)]
    if len(given) != 1:
        raise InputError(
            "Give one of ids, containerTags and filepath; " + (f"{' and '.join(given)} are given." if given else "none is given.")
        )
    if body.ids is not None:
        return await _delete_each(visit, body.ids)
    for tag in body.container_tags or ():
        visit.leave.writes_to(tag)
    visit.leave.writes_to(None)
    await visit.core.writer.drain()
    await visit.core.store.flush()
    where = sql.both(sql.one_of("scope", await visit.seen(body.container_tags)), "forgotten_at IS NULL", filed_at(body.filepath))
    rows = await visit.core.store.select(Document, where, columns=["id", "scope"])
    await _forget(visit, rows)
    return BulkAnswer(success=True, deleted_count=len(rows), container_tags=body.container_tags)


@router.get(
    "/v3/documents/{id:path}",
    response_model=WholeDocument,
    response_model_exclude_unset=True,
    summary="Get a document",
    responses=_GONE,
)
async def get(visit: Visiting, id: Id, within: WithinTag = None) -> WholeDocument:
    """A document with its text, how far it is, and what was learned of it; there from the moment that its add was answered."""
    row = await document(visit, id, within)
    status = (await visit.core.filing.statuses([row]))[row.id]
    facts = [entry(fact) for fact in await facts_of(visit.core.store, [row.id]) if visible(fact, visit.now)]
    more: dict[str, Any] = {"memories": facts} if facts else {}
    if row.content.startswith(("http://", "https://")) and len(row.content.split()) == 1:
        more["url"] = row.content.strip()
    return WholeDocument(
        **listed(row, status, content=row.content),
        dreaming_status="done",
        source=row.source,
        task_type=row.task_type or "superrag",
        raw=None,
        og_image=None,
        latest_revision=1,
        active_content_update_id=None,
        tombstoned_at=None,
        **more,
    )


@router.patch("/v3/documents/{id:path}", response_model=Accepted, summary="Change a document", responses=_GONE)
async def change(visit: Visiting, id: Id, body: ChangedDocument) -> Accepted:
    """Another content replaces the text, and what is learned follows it; all else is changed in place, without anything embedded anew.

    A container tag says where the document is; it does not move it.
    """
    row = await document(visit, id, body.tag())
    visit.leave.writes_to(row.scope)
    await keep_context(visit, body, row.scope)
    values = body.said() if body.content is None else {**body.said(), "content": body.content}
    filed = await visit.core.filing.change(row, values, source=SOURCE)
    return Accepted(id=filed.id, status=filed.status)


@router.delete("/v3/documents/{id:path}", status_code=204, summary="Delete a document", responses=_GONE)
async def delete(visit: Visiting, id: Id, within: WithinTag = None) -> Response:
    """Hides it and what was learned of it from every search; `scrubjay restore` brings it back, `scrubjay forget --purge` takes its bytes.

    The id of a memory or of a turn is taken too.
    """
    await _forget(visit, [await record(visit, id, within)])
    return Response(status_code=204)


async def _added(visit: Visit, body: AddedDocument, tag: str | None) -> Filed:
    scope = visit.leave.writes_to(tag)
    await keep_context(visit, body, scope)
    return await visit.core.filing.add(body.text(), scope=scope, source=SOURCE)


async def keep_context(visit: Visit, body: DocumentFields, scope: str) -> None:
    """Keep what a document says of its tag."""
    await visit.core.scope_settings.keep_context(scope, body.entity_context, visit.now)


async def _delete_each(visit: Visit, ids: list[str]) -> BulkAnswer:
    found: dict[str, AnyRecord] = {}
    errors = []
    for id in dict.fromkeys(ids):
        try:
            row = await record(visit, id)
            found[row.id] = row
        except (InputError, NotFound) as error:
            errors.append(DeleteError(id=id, error=str(error)))
    await _forget(visit, list(found.values()))
    return BulkAnswer(success=not errors, deleted_count=len(found), errors=errors or None)


async def _forget(visit: Visit, rows: list[Any]) -> None:
    """Forget records, one envelope for each of their scopes."""
    scopes = dict.fromkeys(visit.leave.writes_to(row.scope) for row in rows)
    for scope in scopes:
        request = ForgetRecords(ids=[row.id for row in rows if row.scope == scope], reason=DELETED)
        await visit.write("forget", request, scope=scope)


def _wrong(values: dict[str, Any], sentence: str) -> BatchItem:
    named = values.get("customId")
    return BatchItem(id=named if isinstance(named, str) and named else "unknown", status="error", error=sentence)
