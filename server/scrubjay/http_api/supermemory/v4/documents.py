"""Documents of version 4: add, upload, list, read, change and delete them.

A path names a record that the caller reaches, by its id or its custom id.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Any, Literal

from fastapi import Body, Form, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from scrubjay.engine.verbs.lists import Page
from scrubjay.errors import InputError, NotFound
from scrubjay.http_api.answers import ANSWERS_4, Answer
from scrubjay.http_api.context import Context, RequestContext
from scrubjay.http_api.permissions import DEFAULT_TAG, Permissions
from scrubjay.http_api.routes import Routes
from scrubjay.http_api.supermemory import fields, resources
from scrubjay.http_api.supermemory.v4.bodies import (
    MOST_PER_PAGE,
    PER_PAGE,
    Filepath,
    Filters,
    PageNumber,
    PageSize,
    Paging,
    Tagged,
    TagList,
    memory_values,
)
from scrubjay.models.fields import Flag
from scrubjay.models.records import AnyRecord, Document, Memory
from scrubjay.models.requests import about

_FILE = ("claude_memory_type", "file")  # metadata of Claude's memory tool, which always sends a whole file
_PROJECTS = "sm_project_"  # the beginning of tags that stand for a project
STUCK = timedelta(hours=4)  # an unfinished document is stuck after this time without a change

route = Routes(ANSWERS_4)

Name = Annotated[str, Path(alias="id", description="Its id, or its customId.")]
WithinTag = Annotated[
    str | None,
    Query(
        alias="containerTag", description="Its tag; needed if documents of two tags have the same customId."
    ),
]


class DocumentFields(fields.WithJsonText, fields.DocumentDetails, Tagged):
    """What a client can say about a document in addition to its text."""

    container_tags: TagList | None = about(
        "The older spelling. A document belongs to the first tag, or to `sm_project_default`; the others are "
        "shown with it as labels."
    )
    custom_id: fields.CustomId = None
    filepath: Filepath | None = about("Its path in your own order; searched by prefix.")

    def tag(self) -> str | None:
        """Return the tag that the document belongs to."""
        return next(iter(self.tags), None)

    def values(self) -> dict[str, Any]:
        """Return the fields that were sent, with the further tags as labels, which must be valid tags."""
        labels = [Permissions().scope_of(tag, "containerTags") for tag in self.tags[1:]]
        return super().values() | ({"tags": labels} if labels else {})

    def warnings(self, *parts: BaseModel, more: Sequence[str] = ()) -> Answer:
        """Return the unknown fields, and what several tags mean."""
        tag, *labels = self.tags or [DEFAULT_TAG]
        note = f"A document is found under its first tag, {tag!r}; only shown with it: {', '.join(labels)}."
        return super().warnings(*parts, more=[*more, note] if labels else more)


class AddedDocument(DocumentFields):
    content: fields.Content


class ChangedDocument(DocumentFields):
    content: fields.Content | None = None


class Upload(fields.FileForm, DocumentFields):
    file: fields.File


class Batch(DocumentFields):
    """Documents to add together; the other fields are defaults for each of them."""

    documents: list[str | dict[str, Any]] = Field(
        description="Texts, or objects as for adding one. A wrong one does not stop the others.",
        min_length=1,
        max_length=fields.MOST_AT_ONCE,
    )

    def document(self, item: str | dict[str, Any]) -> AddedDocument:
        """Return one document with these defaults; an item's own tag replaces both spellings of the tag."""
        values = {"content": item} if isinstance(item, str) else item
        has_tag = not values.keys().isdisjoint({"containerTag", "containerTags"})
        excluded = {"documents", *(("container_tag", "container_tags") if has_tag else ())}
        defaults = self.model_dump(by_alias=True, exclude=excluded, exclude_none=True)
        return AddedDocument.model_validate({**defaults, **values})


class BulkDelete(fields.Body4):
    """Which documents to delete: by `ids`, or by tags, path or both."""

    model_config = ConfigDict(extra="forbid")  # a misspelt path would delete all of a tag

    ids: list[str] | None = about("Ids or custom ids.", min_length=1, max_length=fields.MOST_IDS)
    container_tags: TagList | None = about("Every document of these tags.", min_length=1)
    filepath: Filepath | None = about("The document with this path; a folder if it ends in /.")


class Listing(Paging):
    container_tags: TagList | None = about("Documents of any of these tags; left out, of every tag.")
    filters: Filters | None = None
    filepath: Filepath | None = about("Exact, or a folder if it ends in /.")
    include_content: Flag = False

    async def read(self, context: RequestContext) -> Page[Document]:
        """Return this page of documents."""
        scopes = await context.scopes(self.container_tags)
        options = {"path": self.filepath, "content": self.include_content, **self.window}
        return await context.core.lists.documents(scopes, filters=self.filters, **options)


@route("POST /v3/documents/file", "Upload a file", "Accepted", dependencies=[resources.ONE_FILE])
async def upload(context: Context, body: Annotated[Upload, Form(media_type="multipart/form-data")]) -> Answer:
    """Read a file of at most 50 MB and add its text; the file itself is not stored.

    A file that cannot be read becomes a document with the status failed, whose errorMessage says why.
    """
    scope = context.permissions.write_scope(body.tag())
    old = await context.find_named(body.custom_id, scope) if body.custom_id else None
    text = await resources.read_upload(body.file, scope, body.values(), earlier=old.metadata if old else None)
    return await resources.add_document(context, resources.NewDocument(scope, text, body)) | body.warnings()


@route("POST /v3/documents/list", "List documents", "Documents")
async def list_documents(context: Context, body: Annotated[Listing | None, Body()] = None) -> Answer:
    """A page of documents, under `memories`; failed ones are listed, deleted ones are not."""
    listing = body or Listing()
    page = await listing.read(context)
    documents = await _answers(context, "Document", page.rows, with_text=listing.include_content)
    return dict(memories=documents, pagination=listing.pagination(page.total), **listing.warnings())


@route("POST /v3/documents/documents", "List documents with their memories", "Graph")
async def list_with_memories(context: Context, body: Annotated[Listing | None, Body()] = None) -> Answer:
    """A page of documents, each with the memories that were learned from it or cite it."""
    listing = body or Listing()
    page = await listing.read(context)
    facts = await context.core.lists.facts_of_documents([row.id for row in page.rows])
    memories = {
        row.id: {"memoryEntries": [_memory(fact) for fact in facts if row.id in fact.document_ids]}
        for row in page.rows
    }
    documents = await _answers(context, "GraphDocument", page.rows, more=memories)
    return dict(documents=documents, pagination=listing.pagination(page.total), **listing.warnings())


@route("GET /v3/documents/processing", "List unfinished documents", "Processing")
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
    """Documents that a search by meaning does not find yet; empty while no model can be loaded."""
    scopes = await context.scopes([tag.strip() for tag in (tags or "").split(",") if tag.strip()])
    rows = await context.core.lists.unfinished_documents(scopes, failed=view == "all")
    status = await context.core.documents.statuses(rows)
    is_old = {row.id: context.now - row.updated_at >= STUCK for row in rows}
    rows = [row for row in rows if status[row.id] != "done" and (view != "active" or not is_old[row.id])]
    answer: Answer = dict(documents=[], totalCount=len(rows))
    if view == "all":
        answer["pagination"] = fields.pagination(page, limit, len(rows))
        rows = rows[(page - 1) * limit : page * limit]
    stuck = {row.id: {"stuck": status[row.id] != "failed" and is_old[row.id]} for row in rows}
    answer["documents"] = await _answers(context, "UnfinishedDocument", rows, more=stuck)
    return answer


@route("GET /v3/documents/{id:path}/chunks", "The chunks of a document", "Chunks")
async def chunks(
    context: Context,
    name: Name,
    within: WithinTag = None,
    page: PageNumber = 1,
    limit: PageSize = MOST_PER_PAGE,
) -> Answer:
    """The passages of a document in its order, without the headings that searches add to them."""
    row = await _document(context, name, within)
    passages = await context.core.lists.chunks_of(row.id, start=(page - 1) * limit, size=limit)
    entries = [ANSWERS_4.fill("Chunk", passage) for passage in passages]
    return dict(chunks=entries, pagination=fields.pagination(page, limit, row.chunk_count))


@route("POST /v3/documents", "Add a document", "Accepted")
async def add(context: Context, body: AddedDocument) -> Answer:
    """Add a text; it is on disk when this answers. Repeating the call changes nothing."""
    scope, text = context.permissions.write_scope(body.tag()), await resources.as_text(body)
    if body.custom_id and (body.metadata or {}).get(_FILE[0]) == _FILE[1]:
        old = await context.find_named(body.custom_id, scope)
        text = text.model_copy(update={"document_id": old.id}) if isinstance(old, Document) else text
    return await resources.add_document(context, resources.NewDocument(scope, text, body)) | body.warnings()


@route("POST /v3/documents/batch", "Add up to 600 documents", "Batch")
async def add_batch(context: Context, body: Batch) -> Answer:
    """Add texts or objects, the earliest documentDate first; a wrong one does not stop the others."""
    context.permissions.write_scope(body.tag())  # refuse the whole batch if its tag is wrong

    async def read(item: str | dict[str, Any]) -> resources.NewDocument:
        document = body.document(item)
        scope = context.permissions.write_scope(document.tag())
        return resources.NewDocument(scope, await resources.as_text(document), document)

    outcomes = await resources.add_batch(context, body.documents, read, AddedDocument)
    results = [
        _failure(item, outcome)
        if isinstance(outcome, str)
        else resources.as_ref(outcome[1]) | outcome[0].body.warnings()
        for item, outcome in zip(body.documents, outcomes, strict=True)
    ]
    failures = sum(isinstance(outcome, str) for outcome in outcomes)
    return dict(results=results, success=len(results) - failures, failed=failures)


@route("DELETE /v3/documents/bulk", "Delete documents by id, by tag or by path", "BulkDelete")
async def delete_bulk(context: Context, body: BulkDelete) -> Answer:
    """Hide documents and the memories learned from them from every search, as deleting one does."""
    if bool(body.ids) == bool(body.container_tags or body.filepath):
        problem = "ids are given with one of the others." if body.ids else "nothing is given."
        raise InputError(f"Give ids, or containerTags, filepath or both; {problem}")
    if body.ids is not None:
        rows, errors = await resources.delete_each(context, body.ids, lambda name: _record(context, name))
        return dict(success=not errors, deletedCount=len(rows), **({"errors": errors} if errors else {}))
    for tag in (*(body.container_tags or ()), None):  # None: the caller must be allowed to write at all
        context.permissions.write_scope(tag)
    documents = await context.core.lists.documents_at(
        await context.scopes(body.container_tags), body.filepath
    )
    await resources.delete_records(context, documents)
    tags = {} if body.container_tags is None else {"containerTags": body.container_tags}
    return dict(success=True, deletedCount=len(documents), **tags)


@route("GET /v3/documents/{id:path}", "Get a document", "WholeDocument")
async def get(context: Context, name: Name, within: WithinTag = None) -> Any:
    """A document with its text, its status and the memories learned from it."""
    row = await _document(context, name, within)
    facts = await context.core.lists.facts_of_documents([row.id])
    more: Answer = {"taskType": row.task_type or "superrag", "latestRevision": 1}
    if url := fields.url_of(row.content):
        more["url"] = url
    if facts:
        more["memories"] = [_memory(fact) for fact in facts]
    return (await _answers(context, "WholeDocument", [row], with_text=True, more={row.id: more}))[0]


@route("PATCH /v3/documents/{id:path}", "Change a document", "Accepted")
async def change(context: Context, name: Name, body: ChangedDocument) -> Answer:
    """New content replaces the text and its memories. A tag says where the document is, and moves nothing."""
    row = await _document(context, name, body.tag())
    context.permissions.write_scope(row.scope)
    answer = await resources.change_document(context, row, body, await resources.changes(body))
    return answer | body.warnings()


@route("DELETE /v3/documents/{id:path}", "Delete a document", status=204)
async def delete(context: Context, name: Name, within: WithinTag = None) -> Response:
    """Hide a document with the memories learned from it, or a memory or a turn, from every search.

    `scrubjay restore` brings it back, `scrubjay forget --purge` erases its bytes.
    """
    await resources.delete_records(context, [await _record(context, name, within)])
    return Response(status_code=204)


async def _record(context: RequestContext, name: str, tag: str | None = None) -> AnyRecord:
    """Return the record with this id or custom id; raises NotFound if it is forgotten or out of reach."""
    record = await context.find_named(name, context.permissions.scope_of(tag))
    if record is None:
        raise NotFound(f"Nothing here has the id or customId {name[:80]!r}.")
    return record


async def _document(context: RequestContext, name: str, tag: str | None = None) -> Document:
    """Return the document with this name; the id of a memory finds the document it was learned from."""
    record = await _record(context, name, tag)
    if isinstance(record, Memory):
        sources = await context.core.lists.get(Document, record.document_ids)
        record = next((row for row in sources.values() if row.forgotten_at is None), record)
    if not isinstance(record, Document):
        raise NotFound(f"No document here has the id or customId {name[:80]!r}.")
    return record


async def _answers(
    context: RequestContext,
    kind: str,
    rows: Sequence[Document],
    *,
    with_text: bool = False,
    more: dict[str, Answer] | None = None,
) -> list[Answer]:
    """Return documents as answers of this kind; `more` has additional fields by document id."""
    status, answers = await context.core.documents.statuses(rows), []
    for row in rows:
        values: Answer = {"type": fields.type_of(row.type), "status": status[row.id]}
        # supermemory's lists leave out the tags of projects, and its memory tool compares the rest.
        hides_projects = kind == "Document" and row.tags
        values["containerTags"] = [
            tag for tag in (row.scope, *row.tags) if not (hides_projects and tag.startswith(_PROJECTS))
        ]
        values |= {"filepath": row.filepath or row.path}
        values |= {"errorMessage": row.error} if row.error else {}
        values |= {"content": row.content} if with_text else {}
        answers.append(ANSWERS_4.fill(kind, row, **values, **(more or {}).get(row.id, {})))
    return answers


def _memory(fact: Memory) -> Answer:
    """Return a memory in the form in which documents list it."""
    return ANSWERS_4.fill("DocumentMemory", fact, **memory_values(fact))


def _failure(item: str | dict[str, Any], problem: str) -> Answer:
    custom_id = item.get("customId") if isinstance(item, dict) else None
    has_id = isinstance(custom_id, str) and custom_id
    return dict(id=custom_id if has_id else "unknown", status="error", error=problem)
