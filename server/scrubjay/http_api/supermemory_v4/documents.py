"""Which record a path of `/v3/documents/{id}` means: by its id or its custom id, within what the caller reaches. Does not know what is done
with it.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Form, Path, Query, Response, UploadFile
from pydantic import ValidationError

from scrubjay.engine.verbs.documents import DocumentState
from scrubjay.errors import InputError, NotFound
from scrubjay.http_api.context import SOURCE, Context, RequestContext
from scrubjay.http_api.supermemory_v4.document_bodies import (
    MOST_PER_PAGE,
    PER_PAGE,
    Accepted,
    AddedDocument,
    Batch,
    BatchAnswer,
    BatchItem,
    BulkAnswer,
    BulkDelete,
    ChangedDocument,
    ChunkOfDocument,
    Chunks,
    DeleteError,
    DocumentFields,
    DocumentPage,
    GraphPage,
    InHand,
    Listed,
    Listing,
    Paged,
    Processing,
    WholeDocument,
    WithMemories,
    entry,
    listed,
    pagination,
)
from scrubjay.http_api.uploads import text_of
from scrubjay.models.filters import Filter
from scrubjay.models.input_errors import sentences
from scrubjay.models.records import AnyRecord, Document, Memory, is_current
from scrubjay.models.requests import ForgetRecords
from scrubjay.records.extracted import facts_of_documents
from scrubjay.search.document_search import COLUMNS
from scrubjay.search.listing import Page, page
from scrubjay.store import conditions
from scrubjay.store.conditions import Where

Id = Annotated[str, Path(description="Its id, or its customId.")]
WithinTag = Annotated[
    str | None,
    Query(
        alias="containerTag",
        description="The tag that it must be under; needed where two tags use one customId.",
    ),
]


async def record(context: RequestContext, name: str, tag: str | None = None) -> AnyRecord:
    """The record of any kind that has this id, else the document with this custom id; nothing that is forgotten.

    Raises:
        NotFound: there is none within the tag, or within the caller's reach.
        InputError: documents of several tags have this custom id.
    """
    record = await context.find_named(name, context.permissions.own(tag))
    if record is None:
        raise NotFound(f"Nothing here has the id or customId {name[:80]!r}.")
    return record


async def document(context: RequestContext, id: str, tag: str | None = None) -> Document:
    """The document that an id means; that of a memory is the document it was learned from. Raises as `record` does."""
    found = await record(context, id, tag)
    if isinstance(found, Memory):
        sources = await context.core.store.get(Document, found.document_ids)
        found = next((row for row in sources.values() if row.forgotten_at is None), found)
    if not isinstance(found, Document):
        raise NotFound(f"No document here has the id or customId {id[:80]!r}.")
    return found


def filed_at(filepath: str | None) -> Where | None:
    """The condition that a document is filed there, or anywhere below where it ends in a slash; None for no condition."""
    return (
        None
        if filepath is None
        else conditions.either(
            conditions.at_or_below("filepath", filepath), conditions.at_or_below("path", filepath)
        )
    )


router = APIRouter()


class Upload(DocumentFields):
    """A file and what is said of it: objects and lists as JSON text."""

    file: UploadFile
    file_type: Annotated[
        str | None, Form(description="Without effect: what a file is shows in its bytes and its name.")
    ] = None
    mime_type: Annotated[str | None, Form(description="Without effect, as fileType.")] = None


@router.post("/v3/documents/file", response_model=Accepted, summary="Upload a file")
async def upload(
    context: Context, body: Annotated[Upload, Form(media_type="multipart/form-data")]
) -> Accepted:
    """Reads a file (text, Markdown, source code, HTML, PDF, Word, PowerPoint, sheets, notebooks, mails; at most 50 MB) and adds its text.

    One that cannot be read becomes a document with the status failed, whose errorMessage says why. The file itself is not kept.
    """
    scope = context.permissions.writes_to(body.tag())
    await keep_context(context, body, scope)
    text = await text_of(body.file, scope, body.said())
    filed = await context.core.documents.add(text, scope=scope, source=SOURCE)
    return Accepted(id=filed.id, status=filed.status)


@router.get(
    "/v3/documents/{id:path}/file-url",
    status_code=404,
    response_model=None,
    summary="The file of a document, which is not kept",
    responses={404: {"description": "Always: of a file its text is kept, and not the file."}},
)
async def file_url(context: Context, id: Id, within: WithinTag = None) -> None:
    """Scrubjay keeps no files, so there is none to point to."""
    row = await document(context, id, within)
    raise NotFound(
        f"Of {row.title or row.id} the text is kept and not the file. Read its content with GET /v3/documents/{row.id}."
    )


STUCK = timedelta(hours=4)  # without a change; what is in hand for so long is called stuck
_SORTS: dict[str, Literal["created_at", "updated_at"]] = {
    "createdAt": "created_at",
    "updatedAt": "updated_at",
}
_PageNumber = Annotated[int, Query(ge=1, le=1_000_000)]
_PageSize = Annotated[int, Query(ge=1, le=MOST_PER_PAGE)]


@router.post(
    "/v3/documents/list",
    response_model=DocumentPage,
    response_model_exclude_unset=True,
    summary="List documents",
)
async def list_documents(context: Context, body: Annotated[Listing | None, Body()] = None) -> DocumentPage:
    """A page of documents, under `memories`; failed ones are among them, deleted ones are not."""
    asked = body or Listing()
    found = await _page(
        context, asked, filter=asked.filters, filepath=asked.filepath, whole=asked.include_content
    )
    status = await context.core.documents.statuses(found.rows)
    rows = [
        Listed(**listed(row, status[row.id], **({"content": row.content} if asked.include_content else {})))
        for row in found.rows
    ]
    return DocumentPage(memories=rows, pagination=pagination(asked, found.total))


@router.post(
    "/v3/documents/documents",
    response_model=GraphPage,
    response_model_exclude_unset=True,
    summary="List documents with their memories",
)
async def list_with_memories(context: Context, body: Annotated[Paged | None, Body()] = None) -> GraphPage:
    """A page of documents, each with the memories that were learned from it or cite it."""
    asked = body or Paged()
    found = await _page(context, asked)
    status = await context.core.documents.statuses(found.rows)
    facts = [
        fact
        for fact in await facts_of_documents(context.core.store, [row.id for row in found.rows])
        if is_current(fact, context.now)
    ]
    rows = [
        WithMemories(
            **listed(row, status[row.id]),
            memory_entries=[entry(fact) for fact in facts if row.id in fact.document_ids],
        )
        for row in found.rows
    ]
    return GraphPage(documents=rows, pagination=pagination(asked, found.total))


@router.get(
    "/v3/documents/processing",
    response_model=Processing,
    response_model_exclude_unset=True,
    summary="List documents in hand",
)
async def list_processing(
    context: Context,
    containerTags: Annotated[str | None, Query(description="Tags, with commas between them.")] = None,
    view: Annotated[
        Literal["active", "pending", "all"],
        Query(
            description="active: changed in the last four hours; pending: all that are not done; all: failed ones too, page by page."
        ),
    ] = "active",
    page: _PageNumber = 1,
    limit: _PageSize = PER_PAGE,
) -> Processing:
    """Documents that meaning does not find yet. While no model can be loaded nothing is in hand: words find everything."""
    tags = [tag.strip() for tag in (containerTags or "").split(",") if tag.strip()]
    await _committed(context)
    scopes = conditions.one_of("scope", await context.scopes(tags))
    waiting = await context.core.store.passages(
        conditions.both(scopes, conditions.equal("src", "chunk"), conditions.missing("space_id")),
        columns=["record_id"],
    )
    in_hand = conditions.one_of("id", sorted({piece.record_id for piece in waiting}))
    where = conditions.both(
        scopes,
        conditions.NOT_FORGOTTEN,
        conditions.either(in_hand, conditions.equal("status", "failed")) if view == "all" else in_hand,
    )
    rows = sorted(
        await context.core.store.select(Document, where, columns=COLUMNS),
        key=lambda row: (row.updated_at, row.id),
        reverse=True,
    )
    status = await context.core.documents.statuses(rows)
    found = [
        row
        for row in rows
        if status[row.id] != "done" and (view != "active" or context.now - row.updated_at < STUCK)
    ]
    total = len(found)
    asked = Paged(page=page, limit=limit)
    if view == "all":
        found = found[(page - 1) * limit : page * limit]
    made = [
        InHand(
            **listed(row, status[row.id]),
            stuck=status[row.id] != "failed" and context.now - row.updated_at >= STUCK,
        )
        for row in found
    ]
    more: dict[str, Any] = {"pagination": pagination(asked, total)} if view == "all" else {}
    return Processing(documents=made, total_count=total, **more)


@router.get(
    "/v3/documents/{id:path}/chunks",
    response_model=Chunks,
    summary="The chunks of a document",
    responses={404: {"description": "No document that the caller reaches has this id or customId."}},
)
async def chunks(
    context: Context,
    id: Id,
    within: WithinTag = None,
    page: _PageNumber = 1,
    limit: _PageSize = MOST_PER_PAGE,
) -> Chunks:
    """The pieces that a document is searched by, in its order, without the headings that are searched with them."""
    row = await document(context, id, within)
    await _committed(context)
    columns = ["id", "part", "text", "line_start", "line_end"]
    where = conditions.both(
        conditions.equal("record_id", row.id),
        conditions.at_least("part", (page - 1) * limit),
        conditions.below("part", page * limit),
    )
    found = sorted(await context.core.store.passages(where, columns=columns), key=lambda piece: piece.part)
    made = [
        ChunkOfDocument(
            id=piece.id,
            document_id=row.id,
            content=piece.text,
            position=piece.part,
            line_start=piece.line_start,
            line_end=piece.line_end,
        )
        for piece in found
    ]
    return Chunks(chunks=made, pagination=pagination(Paged(page=page, limit=limit), row.chunk_count))


async def _page(
    context: RequestContext,
    asked: Paged,
    *,
    filter: Filter | None = None,
    filepath: str | None = None,
    whole: bool = False,
) -> Page[Document]:
    await _committed(context)
    where = conditions.both(
        conditions.one_of("scope", await context.scopes(asked.container_tags)),
        conditions.NOT_FORGOTTEN,
        filed_at(filepath),
    )
    return await page(
        context.core.store,
        Document,
        where,
        start=(asked.page - 1) * asked.limit,
        size=asked.limit,
        sort=_SORTS[asked.sort],
        descending=asked.order == "desc",
        filters=filter,
        columns=None if whole else COLUMNS,
    )


async def _committed(context: RequestContext) -> None:
    await context.core.writer.drain()
    await context.core.store.flush()


DELETED = "deleted over HTTP"
_FIRST = datetime(1, 1, 2, tzinfo=UTC)
_GONE: dict[int | str, dict[str, Any]] = {
    404: {"description": "Nothing that the caller reaches has this id or customId."}
}


@router.post("/v3/documents", response_model=Accepted, summary="Add a document")
async def add(context: Context, body: AddedDocument) -> Accepted:
    """Takes a text; it is on disk when this answers, found by words within a moment, and repeating the call changes nothing."""
    filed = await _added(context, body, body.tag())
    return Accepted(id=filed.id, status=filed.status)


@router.post(
    "/v3/documents/batch",
    response_model=BatchAnswer,
    response_model_exclude_none=True,
    summary="Add up to 600 documents",
)
async def add_batch(context: Context, body: Batch) -> BatchAnswer:
    """Takes texts or objects, those from the earliest documentDate first; one that is wrong is reported and stops no other."""
    context.permissions.writes_to(body.tag())  # wrong for all of them is wrong once
    shared = body.model_dump(by_alias=True, exclude={"documents"}, exclude_none=True)
    results: dict[int, BatchItem] = {}
    made: list[tuple[int, AddedDocument]] = []
    for number, item in enumerate(body.documents):
        values = {"content": item} if isinstance(item, str) else item
        tagged = {"containerTag", "containerTags"} & values.keys()
        beside = {
            name: value for name, value in shared.items() if not (tagged and name.startswith("containerTag"))
        }
        try:
            made.append((number, AddedDocument.model_validate({**beside, **values})))
        except ValidationError as error:
            results[number] = _wrong(
                values, sentences(AddedDocument.model_fields, error.errors(include_url=False))
            )
    placed: list[tuple[int, AddedDocument, str]] = []
    for number, each in sorted(made, key=lambda pair: pair[1].document_date or _FIRST):
        try:
            placed.append((number, each, context.permissions.writes_to(each.tag())))
        except InputError as error:
            results[number] = _wrong({"customId": each.custom_id}, str(error))
    for _, each, scope in placed:
        await keep_context(context, each, scope)
    filed = await context.core.documents.add_all(
        [(each.text(), scope) for _, each, scope in placed], source=SOURCE
    )
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
async def delete_bulk(context: Context, body: BulkDelete) -> BulkAnswer:
    """Hides documents and what was learned of them from every search, as deleting one does."""
    given = [name for name in ("ids", "container_tags", "filepath") if getattr(body, name)]
    if len(given) != 1:
        raise InputError(
            "Give one of ids, containerTags and filepath; "
            + (f"{' and '.join(given)} are given." if given else "none is given.")
        )
    if body.ids is not None:
        return await _delete_each(context, body.ids)
    for tag in body.container_tags or ():
        context.permissions.writes_to(tag)
    context.permissions.writes_to(None)
    await context.core.writer.drain()
    await context.core.store.flush()
    where = conditions.both(
        conditions.one_of("scope", await context.scopes(body.container_tags)),
        conditions.NOT_FORGOTTEN,
        filed_at(body.filepath),
    )
    rows = await context.core.store.select(Document, where, columns=["id", "scope"])
    await _forget(context, rows)
    return BulkAnswer(success=True, deleted_count=len(rows), container_tags=body.container_tags)


@router.get(
    "/v3/documents/{id:path}",
    response_model=WholeDocument,
    response_model_exclude_unset=True,
    summary="Get a document",
    responses=_GONE,
)
async def get(context: Context, id: Id, within: WithinTag = None) -> WholeDocument:
    """A document with its text, how far it is, and what was learned of it; there from the moment that its add was answered."""
    row = await document(context, id, within)
    status = (await context.core.documents.statuses([row]))[row.id]
    facts = [
        entry(fact)
        for fact in await facts_of_documents(context.core.store, [row.id])
        if is_current(fact, context.now)
    ]
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


@router.patch(
    "/v3/documents/{id:path}", response_model=Accepted, summary="Change a document", responses=_GONE
)
async def change(context: Context, id: Id, body: ChangedDocument) -> Accepted:
    """Another content replaces the text, and what is learned follows it; all else is changed in place, without anything embedded anew.

    A container tag says where the document is; it does not move it.
    """
    row = await document(context, id, body.tag())
    context.permissions.writes_to(row.scope)
    await keep_context(context, body, row.scope)
    values = body.said() if body.content is None else {**body.said(), "content": body.content}
    filed = await context.core.documents.change(row, values, source=SOURCE)
    return Accepted(id=filed.id, status=filed.status)


@router.delete("/v3/documents/{id:path}", status_code=204, summary="Delete a document", responses=_GONE)
async def delete(context: Context, id: Id, within: WithinTag = None) -> Response:
    """Hides it and what was learned of it from every search; `scrubjay restore` brings it back, `scrubjay forget --purge` takes its bytes.

    The id of a memory or of a turn is taken too.
    """
    await _forget(context, [await record(context, id, within)])
    return Response(status_code=204)


async def _added(context: RequestContext, body: AddedDocument, tag: str | None) -> DocumentState:
    scope = context.permissions.writes_to(tag)
    await keep_context(context, body, scope)
    return await context.core.documents.add(body.text(), scope=scope, source=SOURCE)


async def keep_context(context: RequestContext, body: DocumentFields, scope: str) -> None:
    """Keep what a document says of its tag."""
    await context.core.scope_settings.keep_context(scope, body.entity_context, context.now)


async def _delete_each(context: RequestContext, ids: list[str]) -> BulkAnswer:
    found: dict[str, AnyRecord] = {}
    errors = []
    for id in dict.fromkeys(ids):
        try:
            row = await record(context, id)
            found[row.id] = row
        except (InputError, NotFound) as error:
            errors.append(DeleteError(id=id, error=str(error)))
    await _forget(context, list(found.values()))
    return BulkAnswer(success=not errors, deleted_count=len(found), errors=errors or None)


async def _forget(context: RequestContext, rows: list[Any]) -> None:
    """Forget records, one envelope for each of their scopes."""
    scopes = dict.fromkeys(context.permissions.writes_to(row.scope) for row in rows)
    for scope in scopes:
        request = ForgetRecords(ids=[row.id for row in rows if row.scope == scope], reason=DELETED)
        await context.write("forget", request, scope=scope)


def _wrong(values: dict[str, Any], sentence: str) -> BatchItem:
    named = values.get("customId")
    return BatchItem(
        id=named if isinstance(named, str) and named else "unknown", status="error", error=sentence
    )
