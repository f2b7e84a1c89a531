"""Documents of version 5: add, upload, read, change, list, count and delete them."""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any, Literal

from fastapi import Form, Path, Query
from pydantic import BeforeValidator, Field

from scrubjay.engine.verbs.documents import Status
from scrubjay.errors import InputError, NotFound
from scrubjay.http_api.answers import ANSWERS_5, Answer
from scrubjay.http_api.routes import Routes
from scrubjay.http_api.supermemory import fields, resources
from scrubjay.http_api.supermemory.v5.bodies import (
    DocumentId,
    NamespaceContext,
    PageNumber,
    PageSize,
    ReadNamespace,
    WriteNamespace,
    split_names,
)
from scrubjay.http_api.supermemory.v5.filter_expressions import FilterExpression
from scrubjay.http_api.supermemory.v5.memories import as_memory
from scrubjay.models.fields import Flag
from scrubjay.models.records import Document, Passage
from scrubjay.models.requests import DocumentText, about

_FILE_FIELDS = ("content", "type", "title", "metadata")  # fields that a new file replaces
_AS_FORM = Form(media_type="multipart/form-data")

route = Routes(ANSWERS_5)

Kind = Literal["documents", "chunks", "memories"]
Rows = tuple[list[Answer], int]  # the rows of one page, and the total


class Input(fields.DocumentDetails, fields.Body5):
    content: fields.Content
    custom_id: fields.CustomId = None


class Batch(fields.Body5):
    documents: list[dict[str, Any]] = Field(
        description="Objects as for adding one. A wrong one does not stop the others.",
        min_length=1,
        max_length=fields.MOST_AT_ONCE,
    )
    task_type: fields.TaskType = None
    dreaming: fields.Dreaming = None


class Change(fields.DocumentDetails, fields.Body5):
    content: fields.Content | None = None


class Upload(fields.FileForm, fields.DocumentDetails, fields.Body5):
    file: fields.File


class Reupload(fields.FileForm, fields.DocumentDetails, fields.Body5):
    file: fields.File | None = None


class Deletion(fields.Body5):
    ids: list[fields.GivenId] = Field(
        description="Ids of documents, or the ids that you gave them.",
        min_length=1,
        max_length=fields.MOST_IDS,
    )


class ListInclude(fields.Body5):
    content: Flag = about("With each document its text.", False)
    memory_count: Flag = about("With each document how many memories were learned from it.", False)
    forgotten: Flag = about("Also memories that were forgotten or have expired.", False)


class Listing(fields.Body5):
    filter: FilterExpression | None = about("Only entries whose metadata matches.")
    include: ListInclude = ListInclude()


class Counting(fields.Body5):
    ids: list[fields.GivenId] = Field(
        description="Ids of documents, or the ids that you gave them.", min_length=1, max_length=100
    )


@route("POST /ns/{namespace}/document/file", "Upload a file", "Ref", dependencies=[resources.ONE_FILE])
async def upload(ns: WriteNamespace, body: Annotated[Upload, _AS_FORM]) -> Answer:
    """Read a file of at most 50 MB and add its text; the file itself is not stored.

    A file that cannot be read becomes a document with the status failed.
    """
    text = await resources.read_upload(body.file, ns.name, body.values())
    return await resources.add_document(ns, resources.NewDocument(ns.name, text, body))


@route("POST /ns/{namespace}/document/file/{id:path}", "Replace a document by a file", "Ref")
async def replace(ns: WriteNamespace, record_id: DocumentId, body: Annotated[Upload, _AS_FORM]) -> Answer:
    """A document gets the text of a file, its title, and the metadata sent with it; its id stays."""
    document = await ns.document(record_id)
    text = await resources.read_upload(body.file, ns.name, body.values(), may_fail=False)
    return await resources.change_document(ns, document, body, {**body.values(), **_file_values(text)})


@route("PATCH /ns/{namespace}/document/file/{id:path}", "Change a document that was a file", "Ref")
async def change_file(
    ns: WriteNamespace, record_id: DocumentId, body: Annotated[Reupload, _AS_FORM]
) -> Answer:
    """A new file replaces the text; fields left out do not change."""
    document, values = await ns.document(record_id), body.values()
    if body.file is not None:
        options = {"earlier": document.metadata, "may_fail": False}
        text = await resources.read_upload(body.file, ns.name, values, **options)
        values = {**_file_values(text), **values}
    return await resources.change_document(ns, document, body, values)


@route("POST /ns/{namespace}/document", "Add a document", "Ref")
async def add(ns: WriteNamespace, body: Input) -> Answer:
    """Add a text; it is on disk when this answers. Repeating the call changes nothing."""
    return await resources.add_document(
        ns, resources.NewDocument(ns.name, await resources.as_text(body), body)
    )


@route("POST /ns/{namespace}/document/batch", "Add up to 600 documents", "BatchResult")
async def add_batch(ns: WriteNamespace, body: Batch) -> Answer:
    """Add documents, the earliest date first; a refused one is reported and does not stop the others."""

    async def read(values: dict[str, Any]) -> resources.NewDocument:
        item = Input.model_validate(values)
        return resources.NewDocument(ns.name, await resources.as_text(item, body.task_type), item)

    outcomes = await resources.add_batch(ns, body.documents, read, Input)
    added = [resources.as_ref(outcome[1]) for outcome in outcomes if not isinstance(outcome, str)]
    pairs = zip(body.documents, outcomes, strict=True)
    errors = [_failure(item, outcome) for item, outcome in pairs if isinstance(outcome, str)]
    return dict(results=[*added, *errors], count=len(added), failed=len(errors))


@route("GET /ns/{namespace}/document/{id:path}", "Read a document", "WholeDocument")
async def read(
    ns: ReadNamespace,
    record_id: DocumentId,
    include: Annotated[
        list[Literal["chunks", "memories"]],
        BeforeValidator(split_names),
        Query(description="chunks: its passages; memories: those learned from it."),
    ] = [],  # noqa: B006  FastAPI copies it
) -> Any:
    """A document with its text and status; readable as soon as its add was answered."""
    row = await ns.document(record_id)
    status = (await ns.core.documents.statuses([row]))[row.id]
    more: Answer = {}
    if "chunks" in include:
        more["chunks"] = [_chunk("Chunk", row, chunk) for chunk in await ns.core.lists.chunks_of(row.id)]
    if "memories" in include:
        facts = await ns.core.lists.facts_of_documents([row.id])
        more["memories"] = [as_memory(fact, ns.now) for fact in facts]
    times = ANSWERS_5.fill("DocumentTimes", row, status=status)
    more |= {"content": row.content or None, "type": fields.type_of(row.type)}
    return ANSWERS_5.fill("WholeDocument", row, system=times, **more)


@route("PATCH /ns/{namespace}/document/{id:path}", "Change a document", "Ref")
async def change(ns: WriteNamespace, record_id: DocumentId, body: Change) -> Answer:
    """New content replaces the text and its memories; a change of other fields computes no new vectors."""
    document = await ns.document(record_id)
    return await resources.change_document(ns, document, body, await resources.changes(body))


@route("DELETE /ns/{namespace}/document", "Delete documents", "DeleteResult")
async def delete(ns: WriteNamespace, body: Deletion) -> Answer:
    """Hide documents and the memories learned from them from every search; unknown ids are reported.

    `scrubjay restore` brings one back, `scrubjay forget --purge` erases its bytes; deleting the namespace
    erases the bytes of all.
    """
    rows, errors = await resources.delete_each(ns, body.ids, ns.document)
    return dict(count=len(rows), errors=errors)


@route("POST /ns/{namespace}/list/documents/memory-counts", "Count the memories of documents", "MemoryCounts")
async def memory_counts(ns: ReadNamespace, request: Counting) -> Answer:
    """How many memories were learned from each of these documents; ids of other namespaces are left out."""
    documents: dict[str, Document] = {}
    for name in request.ids:
        with suppress(NotFound):
            row = await ns.document(name)
            documents[row.id] = row
    counts = await _count_memories(ns, [*documents.values()])
    return dict(counts=[dict(id=row_id, memoryCount=counts[row_id]) for row_id in documents])


@route("POST /ns/{namespace}/list/{type}", "List documents, chunks or memories", "Listed")
async def list_page(
    ns: ReadNamespace,
    kind: Annotated[Kind, Path(alias="type")],
    listing: Listing | None = None,
    page: PageNumber = 1,
    limit: PageSize = 10,
    sort: Annotated[
        Literal["createdAt", "updatedAt", "position"],
        Query(description="position: of a chunk in its document, for chunks only."),
    ] = "createdAt",
    order: Literal["asc", "desc"] = "desc",
) -> Any:
    """One page of the namespace's entries, newest first; a memory in its latest version."""
    if sort == "position" and kind != "chunks":
        raise InputError(f"sort = 'position' is not possible for {kind}; give createdAt or updatedAt.")
    request = listing or Listing()
    window = fields.window(page, limit, sort, order) | {"filters": request.filter}
    if kind == "chunks":  # chunks are not sorted by a column
        del window["sort"]
        window["by_position"] = sort == "position"
    rows, total = await _READERS[kind](ns, request.include, window)
    lists: dict[str, Any] = {"documents": [], "chunks": [], "memories": [], kind: rows}
    return {**lists, "pagination": fields.pagination(page, limit, total)}


async def _documents(ns: NamespaceContext, include: ListInclude, window: dict[str, Any]) -> Rows:
    page = await ns.core.lists.documents([ns.name], content=include.content, **window)
    status = await ns.core.documents.statuses(page.rows)
    counts = await _count_memories(ns, page.rows) if include.memory_count else None
    return [_listed_document(row, status[row.id], include, counts) for row in page.rows], page.total


async def _chunks(ns: NamespaceContext, include: ListInclude, window: dict[str, Any]) -> Rows:
    page = await ns.core.lists.chunks(ns.name, **window)
    documents = await ns.core.lists.cited_documents({chunk.record_id for chunk in page.rows})
    rows = [
        _chunk("ListedChunk", documents[chunk.record_id], chunk, documentId=chunk.record_id)
        for chunk in page.rows
        if chunk.record_id in documents
    ]
    return rows, page.total


async def _memories(ns: NamespaceContext, include: ListInclude, window: dict[str, Any]) -> Rows:
    page = await ns.core.lists.memories([ns.name], forgotten=include.forgotten, **window)
    return [as_memory(fact, ns.now) for fact in page.rows], page.total


_READERS = {"documents": _documents, "chunks": _chunks, "memories": _memories}


async def _count_memories(ns: NamespaceContext, documents: Sequence[Document]) -> Counter[str]:
    """Count the current facts of each document, by the document's id."""
    facts = await ns.core.lists.facts_of_documents([row.id for row in documents])
    return Counter(document_id for fact in facts for document_id in fact.document_ids)


def _listed_document(
    row: Document, status: Status, include: ListInclude, counts: Counter[str] | None
) -> Answer:
    count = {} if counts is None else {"memoryCount": counts[row.id]}
    times = ANSWERS_5.fill("DocumentTimes", row, status=status, **count)
    text: Answer = {"content": row.content or None} if include.content else {}
    url = fields.url_of(row.content) if include.content else None
    return ANSWERS_5.fill("ListedDocument", row, type=fields.type_of(row.type), url=url, system=times, **text)


def _chunk(kind: str, document: Document, chunk: Passage, **values: Any) -> Answer:
    values |= {"id": chunk.id, "position": chunk.part, "content": chunk.text}
    return ANSWERS_5.fill(kind, document, type=fields.type_of(document.type), **values)


def _failure(item: dict[str, Any], problem: str) -> Answer:
    name, content = item.get("id"), item.get("content")
    url = fields.url_of(content) if isinstance(content, str) else None
    error = dict(id=name if isinstance(name, str) else "", status="error", error=problem)
    return {**error, **({"url": url} if url else {})}


def _file_values(text: DocumentText) -> dict[str, Any]:
    return {name: getattr(text, name) for name in _FILE_FIELDS}
