"""The routes of documents: add, upload, list, read, change, delete.

A path names a record by its id or by its custom id, within what the caller reaches.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from fastapi import Body, Form, Path, Query, Response, UploadFile
from pydantic import ValidationError

from scrubjay.errors import InputError, NotFound
from scrubjay.http_api.answers import Answer
from scrubjay.http_api.bodies import read_upload, url_of
from scrubjay.http_api.context import SOURCE, Context, RequestContext
from scrubjay.http_api.routes import Routes
from scrubjay.http_api.supermemory_v4 import document_bodies as bodies
from scrubjay.http_api.supermemory_v4.answers import ANSWERS
from scrubjay.http_api.supermemory_v4.bodies import MOST_PER_PAGE, PER_PAGE
from scrubjay.http_api.supermemory_v4.document_bodies import memory_entry, shown
from scrubjay.models.input_errors import sentences
from scrubjay.models.records import AnyRecord, Document, Memory
from scrubjay.models.requests import DocumentText, ForgetRecords, about

STUCK = timedelta(hours=4)  # without a change; an unfinished document is then called stuck
DELETED = "deleted over HTTP"
_FIRST = datetime(1, 1, 2, tzinfo=UTC)  # before any date of a document
_MISSING = "Nothing that the caller reaches has this id or customId."

Name = Annotated[str, Path(alias="id", description="Its id, or its customId.")]
WithinTag = Annotated[
    str | None,
    Query(
        alias="containerTag",
        description="The tag that it must be under; needed where two tags use one customId.",
    ),
]
PageNumber = Annotated[int, Query(ge=1, le=1_000_000)]
PageSize = Annotated[int, Query(ge=1, le=MOST_PER_PAGE)]

route = Routes(ANSWERS)


class Upload(bodies.DocumentFields):
    """A file and what is said of it: objects and lists as JSON text."""

    file: UploadFile
    file_type: str | None = about("Without effect: what a file is shows in its bytes and its name.")
    mime_type: str | None = about("Without effect, as fileType.")


@route("POST /v3/documents/file", "Upload a file", "Accepted")
async def upload(context: Context, body: Annotated[Upload, Form(media_type="multipart/form-data")]) -> Answer:
    """Reads a file of at most 50 MB and adds its text; the file itself is not kept.

    Text, Markdown, source code, HTML, PDF, Word, PowerPoint, sheets, notebooks and mails are read. A file
    that cannot be read becomes a document with the status failed, whose errorMessage says why.
    """
    scope = context.permissions.writes_to(body.tag())
    return await _add(context, body, await read_upload(body.file, scope, body.values()), scope)


@route(
    "GET /v3/documents/{id:path}/file-url",
    "The file of a document, which is not kept",
    missing="Always: of a file its text is kept, and not the file.",
    status=404,
)
async def file_url(context: Context, name: Name, within: WithinTag = None) -> None:
    """Scrubjay keeps no files, so there is none to point to."""
    row = await _document(context, name, within)
    advice = f"Read its content with GET /v3/documents/{row.id}."
    raise NotFound(f"Of {row.title or row.id} the text is kept and not the file. {advice}")


@route("POST /v3/documents/list", "List documents", "Documents")
async def list_documents(context: Context, body: Annotated[bodies.Listing | None, Body()] = None) -> Answer:
    """A page of documents, under `memories`; failed ones are among them, deleted ones are not."""
    listing = body or bodies.Listing()
    page = await context.core.lists.documents(
        await context.scopes(listing.container_tags),
        filters=listing.filters,
        path=listing.filepath,
        content=listing.include_content,
        **listing.window,
    )
    status = await context.core.documents.statuses(page.rows)
    rows = [shown("Document", row, status[row.id], with_text=listing.include_content) for row in page.rows]
    return dict(memories=rows, pagination=listing.pagination(page.total))


@route("POST /v3/documents/documents", "List documents with their memories", "Graph")
async def list_with_memories(context: Context, body: Annotated[bodies.Paged | None, Body()] = None) -> Answer:
    """A page of documents, each with the memories that were learned from it or cite it."""
    listing = body or bodies.Paged()
    scopes = await context.scopes(listing.container_tags)
    page = await context.core.lists.documents(scopes, **listing.window)
    status = await context.core.documents.statuses(page.rows)
    facts = await context.core.lists.facts_of_documents([row.id for row in page.rows])
    rows = []
    for row in page.rows:
        entries = [memory_entry(fact) for fact in facts if row.id in fact.document_ids]
        rows.append(shown("GraphDocument", row, status[row.id], memoryEntries=entries))
    return dict(documents=rows, pagination=listing.pagination(page.total))


@route("GET /v3/documents/processing", "List documents in hand", "Processing")
async def list_processing(
    context: Context,
    tags: Annotated[
        str | None, Query(alias="containerTags", description="Tags, with commas between them.")
    ] = None,
    view: Annotated[
        Literal["active", "pending", "all"],
        Query(
            description="active: changed in the last four hours; pending: all that are not done; "
            "all: failed ones too, page by page."
        ),
    ] = "active",
    page: PageNumber = 1,
    limit: PageSize = PER_PAGE,
) -> Answer:
    """Documents that meaning does not find yet; none while no model can be loaded: words find all."""
    scopes = await context.scopes([tag.strip() for tag in (tags or "").split(",") if tag.strip()])
    rows = await context.core.lists.unfinished_documents(scopes, failed=view == "all")
    status = await context.core.documents.statuses(rows)
    is_old = {row.id: context.now - row.updated_at >= STUCK for row in rows}
    rows = [row for row in rows if status[row.id] != "done" and (view != "active" or not is_old[row.id])]
    answer: Answer = dict(documents=[], totalCount=len(rows))
    if view == "all":
        answer["pagination"] = bodies.Paged(page=page, limit=limit).pagination(len(rows))
        rows = rows[(page - 1) * limit : page * limit]
    answer["documents"] = [
        shown("UnfinishedDocument", row, status[row.id], stuck=status[row.id] != "failed" and is_old[row.id])
        for row in rows
    ]
    return answer


@route(
    "GET /v3/documents/{id:path}/chunks",
    "The chunks of a document",
    "Chunks",
    missing="No document that the caller reaches has this id or customId.",
)
async def chunks(
    context: Context,
    name: Name,
    within: WithinTag = None,
    page: PageNumber = 1,
    limit: PageSize = MOST_PER_PAGE,
) -> Answer:
    """The passages of a document in its order, without the headings that are searched with them."""
    row = await _document(context, name, within)
    passages = await context.core.lists.chunks_of(row.id, start=(page - 1) * limit, size=limit)
    rows = [
        ANSWERS.fill("Chunk", passage, documentId=row.id, content=passage.text, position=passage.part)
        for passage in passages
    ]
    return dict(chunks=rows, pagination=bodies.Paged(page=page, limit=limit).pagination(row.chunk_count))


@route("POST /v3/documents", "Add a document", "Accepted")
async def add(context: Context, body: bodies.AddedDocument) -> Answer:
    """Takes a text; it is on disk when this answers, and found by words within a moment.

    Repeating the call changes nothing.
    """
    return await _add(context, body, body.text(), context.permissions.writes_to(body.tag()))


@route("POST /v3/documents/batch", "Add up to 600 documents", "Batch")
async def add_batch(context: Context, body: bodies.Batch) -> Answer:
    """Takes texts or objects, the earliest documentDate first; one that is wrong stops no other."""
    context.permissions.writes_to(body.tag())  # wrong for all of them is wrong once
    results: dict[int, Answer] = {}
    added: list[tuple[int, bodies.AddedDocument, str]] = []
    for number, item in enumerate(body.documents):
        values = {"content": item} if isinstance(item, str) else item
        try:
            document = bodies.AddedDocument.model_validate({**body.defaults(values), **values})
        except ValidationError as error:
            problem = sentences(bodies.AddedDocument.model_fields, error.errors(include_url=False))
            results[number] = _failure(values.get("customId"), problem)
            continue
        try:
            added.append((number, document, context.permissions.writes_to(document.tag())))
        except InputError as error:
            results[number] = _failure(document.custom_id, str(error))
    added.sort(key=lambda entry: entry[1].document_date or _FIRST)
    for _, document, scope in added:
        await _keep_context(context, document, scope)
    texts = [(document.text(), scope) for _, document, scope in added]
    states = await context.core.documents.add_all(texts, source=SOURCE)
    for (number, document, _), state in zip(added, states, strict=True):
        if isinstance(state, InputError):
            results[number] = _failure(document.custom_id, str(state))
        else:
            results[number] = dict(id=state.id, status=state.status)
    ordered = [results[number] for number in sorted(results)]
    failed = sum(item["status"] == "error" for item in ordered)
    return dict(results=ordered, success=len(ordered) - failed, failed=failed)


@route(
    "DELETE /v3/documents/bulk",
    "Delete documents by id, by tag or by path",
    "BulkDelete",
    missing="No document is filed there.",
)
async def delete_bulk(context: Context, body: bodies.BulkDelete) -> Answer:
    """Hides documents and what was learned of them from every search, as deleting one does."""
    given = [name for name in ("ids", "container_tags", "filepath") if getattr(body, name)]
    if len(given) != 1:
        problem = f"{' and '.join(given)} are given." if given else "none is given."
        raise InputError(f"Give one of ids, containerTags and filepath; {problem}")
    if body.ids is not None:
        return await _delete_each(context, body.ids)
    for tag in (*(body.container_tags or ()), None):
        context.permissions.writes_to(tag)
    rows = await context.core.lists.documents_at(await context.scopes(body.container_tags), body.filepath)
    await _forget(context, rows)
    answer: Answer = dict(success=True, deletedCount=len(rows))
    if body.container_tags is not None:
        answer["containerTags"] = body.container_tags
    return answer


@route("GET /v3/documents/{id:path}", "Get a document", "WholeDocument", missing=_MISSING)
async def get(context: Context, name: Name, within: WithinTag = None) -> Any:
    """A document with its text, how far it is, and what was learned of it; there once it was added."""
    row = await _document(context, name, within)
    status = (await context.core.documents.statuses([row]))[row.id]
    facts = await context.core.lists.facts_of_documents([row.id])
    url = url_of(row.content)
    return shown(
        "WholeDocument",
        row,
        status,
        with_text=True,
        dreamingStatus="done",
        taskType=row.task_type or "superrag",
        **({"url": url} if url else {}),
        ogImage=None,
        raw=None,
        latestRevision=1,
        activeContentUpdateId=None,
        tombstonedAt=None,
        **({"memories": [memory_entry(fact) for fact in facts]} if facts else {}),
    )


@route("PATCH /v3/documents/{id:path}", "Change a document", "Accepted", missing=_MISSING)
async def change(context: Context, name: Name, body: bodies.ChangedDocument) -> Answer:
    """Another content replaces the text, and what is learned follows; all else changes without new vectors.

    A container tag says where the document is; it does not move it.
    """
    row = await _document(context, name, body.tag())
    context.permissions.writes_to(row.scope)
    await _keep_context(context, body, row.scope)
    content = {} if body.content is None else {"content": body.content}
    state = await context.core.documents.change(row, {**body.values(), **content}, source=SOURCE)
    return dict(id=state.id, status=state.status)


@route("DELETE /v3/documents/{id:path}", "Delete a document", missing=_MISSING, status=204)
async def delete(context: Context, name: Name, within: WithinTag = None) -> Response:
    """Hides it and what was learned of it from every search. The id of a memory or of a turn is taken too.

    `scrubjay restore` brings it back, `scrubjay forget --purge` takes its bytes.
    """
    await _forget(context, [await _record(context, name, within)])
    return Response(status_code=204)


async def _record(context: RequestContext, name: str, tag: str | None = None) -> AnyRecord:
    """Return the record that a path names; nothing that is forgotten.

    Raises:
        NotFound: there is none within the tag, or within the caller's reach.
        InputError: documents of several tags have this custom id.
    """
    record = await context.find_named(name, context.permissions.own(tag))
    if record is None:
        raise NotFound(f"Nothing here has the id or customId {name[:80]!r}.")
    return record


async def _document(context: RequestContext, name: str, tag: str | None = None) -> Document:
    """Return the document that a path names; the id of a memory means the document it was learned from.

    Raises:
        NotFound, InputError: as `_record`.
    """
    record = await _record(context, name, tag)
    if isinstance(record, Memory):
        sources = await context.core.lists.get(Document, record.document_ids)
        record = next((row for row in sources.values() if row.forgotten_at is None), record)
    if not isinstance(record, Document):
        raise NotFound(f"No document here has the id or customId {name[:80]!r}.")
    return record


async def _add(
    context: RequestContext, body: bodies.DocumentFields, text: DocumentText, scope: str
) -> Answer:
    await _keep_context(context, body, scope)
    state = await context.core.documents.add(text, scope=scope, source=SOURCE)
    return dict(id=state.id, status=state.status)


async def _keep_context(context: RequestContext, body: bodies.DocumentFields, scope: str) -> None:
    """Keep what a document says of its tag."""
    await context.core.scope_settings.keep_context(scope, body.entity_context, context.now)


def _failure(custom_id: Any, problem: str) -> Answer:
    known = isinstance(custom_id, str) and custom_id
    return dict(id=custom_id if known else "unknown", status="error", error=problem)


async def _delete_each(context: RequestContext, names: Iterable[str]) -> Answer:
    rows: dict[str, AnyRecord] = {}
    errors = []
    for name in dict.fromkeys(names):
        try:
            row = await _record(context, name)
            rows[row.id] = row
        except (InputError, NotFound) as error:
            errors.append(dict(id=name, error=str(error)))
    await _forget(context, rows.values())
    answer: Answer = dict(success=not errors, deletedCount=len(rows))
    if errors:
        answer["errors"] = errors
    return answer


async def _forget(context: RequestContext, rows: Iterable[AnyRecord]) -> None:
    """Forget records, with one write for each of their scopes."""
    ids: dict[str, list[str]] = {}
    for row in rows:
        ids.setdefault(context.permissions.writes_to(row.scope), []).append(row.id)
    for scope, each in ids.items():
        await context.write("forget", ForgetRecords(ids=each, reason=DELETED), scope=scope)
