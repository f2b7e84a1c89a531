"""Documents of version 5: what clients send and get, and the routes to add, read, change and delete them."""

import json
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from fastapi import Form, Query, UploadFile
from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from scrubjay.engine.verbs.documents import DocumentState
from scrubjay.errors import InputError, NotFound
from scrubjay.http_api.answers import Answer
from scrubjay.http_api.bodies import (
    Background,
    Content,
    Dreaming,
    TaskType,
    flat,
    none_if_empty,
    read_upload,
    url_of,
)
from scrubjay.http_api.context import SOURCE
from scrubjay.http_api.routes import Routes
from scrubjay.http_api.supermemory_v5.answers import ANSWERS
from scrubjay.http_api.supermemory_v5.bodies import LONGEST_ID, Body, GivenId, parse_include
from scrubjay.http_api.supermemory_v5.context import DocumentId, NamespaceContext, Reading, Writing
from scrubjay.http_api.supermemory_v5.memories import as_memory
from scrubjay.models.fields import Instant, Metadata, Text
from scrubjay.models.records import Document, Passage
from scrubjay.models.requests import DocumentText, ForgetRecords, about

_DELETED = "deleted over HTTP"
_FIRST = datetime(1, 1, 2, tzinfo=UTC)  # where a document without a date stands among those of a batch
_UNKNOWN = "No document of this namespace has that id."
_OF_FILE = ("content", "type", "title", "metadata")  # fields that a file replaces

route = Routes(ANSWERS)

Status = Literal["queued", "embedding", "done", "failed"]
OwnId = Annotated[
    Annotated[Text, Field(max_length=LONGEST_ID)] | None,
    Field(
        description="Your own id. Adding under a known one goes on with that document: a text that holds the "
        "old one or half of its lines replaces it, one that the old text ends with changes nothing, any "
        "other is appended."
    ),
]
Group = Annotated[
    dict[str, Any],
    Field(
        max_length=100,
        description="Known memories are taken for ones of this document only if their metadata has these "
        "values; of a list any one.",
    ),
    AfterValidator(flat),
]
NamespaceBackground = Annotated[
    Background | None, Field(description="Background to the namespace; kept as its supportingContext.")
]
Date = Annotated[Instant | None, Field(description="When the content is from (ISO 8601).")]


class About(Body):
    """What can be said of a document beside its text. What is left out is as it was."""

    supporting_context: NamespaceBackground = None
    metadata: Metadata | None = None
    group: Group | None = None
    date: Date = None

    def fields(self) -> dict[str, Any]:
        """Return what is given, as fields of a `DocumentText`."""
        names = ("metadata", "group", "date", "task_type")
        return {name: value for name in names if (value := getattr(self, name, None)) is not None}


class Input(About):
    content: Content
    id: OwnId = None


class Added(Input):
    task_type: TaskType = None
    dreaming: Dreaming = None


class Batch(Body):
    documents: Annotated[list[Input], Field(min_length=1, max_length=600)]
    task_type: TaskType = None
    dreaming: Dreaming = None


class Change(About):
    content: Content | None = None
    task_type: TaskType = None
    dreaming: Dreaming = None


class Doomed(Body):
    ids: list[GivenId] = Field(
        description="Ids of documents, or the ids that you gave them.", min_length=1, max_length=100
    )


def _parse_json(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise ValueError('must be a JSON object such as {"lang": "go"}') from None


def _as_json(description: str) -> tuple[Any, ...]:
    """Annotate an object in a form, where it is JSON text, or empty if it was not sent."""
    schema = {"type": "string", "contentMediaType": "application/json", "description": description}
    return BeforeValidator(_parse_json), BeforeValidator(none_if_empty), WithJsonSchema(schema)


_METADATA = _as_json("A JSON object: names and values.")
_GROUP = _as_json("A JSON object: names and values that known memories must have.")


class FileFields(About):
    """What a form says of a file. An empty field is one that was not sent."""

    supporting_context: Annotated[NamespaceBackground, BeforeValidator(none_if_empty)] = None
    metadata: Annotated[Metadata | None, *_METADATA] = None
    group: Annotated[Group | None, *_GROUP] = None
    date: Annotated[Date, BeforeValidator(none_if_empty)] = None
    task_type: Annotated[TaskType, BeforeValidator(none_if_empty)] = None
    dreaming: Annotated[Dreaming, BeforeValidator(none_if_empty)] = None
    file_type: str | None = about("Without effect: what a file is shows in its bytes and its name.")
    mime_type: str | None = about("Without effect, as fileType.")


class Upload(FileFields):
    file: UploadFile


class Reupload(FileFields):
    """What is to be different of a document that was a file."""

    file: UploadFile | None = None


@route("POST /ns/{namespace}/document/file", "Upload a file", "Ref")
async def upload(ns: Writing, body: Annotated[Upload, Form(media_type="multipart/form-data")]) -> Answer:
    """Reads a file of at most 50 MB and adds its text.

    It may be text, Markdown, source code, HTML, PDF, Word, PowerPoint, a sheet, a notebook or a mail. One
    that cannot be read becomes a document with the status failed. The file itself is not kept.
    """
    await _keep_context(ns, body)
    text = await read_upload(body.file, ns.name, body.fields())
    return _as_ref(await ns.core.documents.add(text, scope=ns.name, source=SOURCE))


@route(
    "POST /ns/{namespace}/document/file/{id:path}", "Replace a document by a file", "Ref", missing=_UNKNOWN
)
async def replace(
    ns: Writing, record_id: DocumentId, body: Annotated[Upload, Form(media_type="multipart/form-data")]
) -> Answer:
    """A document gets the text of a file, its title, and the metadata that is sent with it; its id stays."""
    document = await ns.document(record_id)
    text = await read_upload(body.file, ns.name, body.fields(), may_fail=False)
    return await _change(ns, document, body, {**body.fields(), **_values(text)})


@route(
    "PATCH /ns/{namespace}/document/file/{id:path}",
    "Change a document that was a file",
    "Ref",
    missing=_UNKNOWN,
)
async def change_file(
    ns: Writing, record_id: DocumentId, body: Annotated[Reupload, Form(media_type="multipart/form-data")]
) -> Answer:
    """A file that is sent replaces the text; what is left out stays as it was."""
    document, values = await ns.document(record_id), body.fields()
    if body.file is not None:
        known = {"metadata": document.metadata, **values}
        values = {**_values(await read_upload(body.file, ns.name, known, may_fail=False)), **values}
    return await _change(ns, document, body, values)


@route("POST /ns/{namespace}/document", "Add a document", "Ref")
async def add(ns: Writing, body: Added) -> Answer:
    """Takes a text; it is on disk when this answers, and words find it within a moment.

    Repeating the call changes nothing.
    """
    text = await _text(ns, body, body.task_type)
    return _as_ref(await ns.core.documents.add(text, scope=ns.name, source=SOURCE))


@route("POST /ns/{namespace}/document/batch", "Add up to 600 documents", "BatchResult")
async def add_batch(ns: Writing, body: Batch) -> Answer:
    """Takes documents, those with the earliest date first.

    One that cannot be added is reported and stops no other.
    """
    ordered = sorted(enumerate(body.documents), key=lambda pair: pair[1].date or _FIRST)
    texts = [(await _text(ns, document, body.task_type), ns.name) for _, document in ordered]
    added: dict[int, Answer] = {}
    refused: dict[int, Answer] = {}
    outcomes = await ns.core.documents.add_all(texts, source=SOURCE)
    for (number, document), outcome in zip(ordered, outcomes, strict=True):
        if isinstance(outcome, InputError):
            refused[number] = dict(id=document.id or "", status="error", error=str(outcome))
            if url := url_of(document.content):
                refused[number]["url"] = url
        else:
            added[number] = dict(id=outcome.id, status=outcome.status)
    results = [items[number] for items in (added, refused) for number in sorted(items)]
    return dict(results=results, count=len(added), failed=len(refused))


@route("GET /ns/{namespace}/document/{id:path}", "Read a document", "WholeDocument", missing=_UNKNOWN)
async def read(
    ns: Reading,
    record_id: DocumentId,
    include: Annotated[
        list[str], Query(description="chunks: its passages; memories: what was learned of it.")
    ] = [],  # noqa: B006
) -> Any:
    """A document with its text, and how far it is; there from the moment that its add was answered."""
    names = parse_include(include, ("chunks", "memories"))
    row = await ns.document(record_id)
    status = (await ns.core.documents.statuses([row]))[row.id]
    answer = {**_about(row, {"content": row.content or None}), "system": _times(row, status)}
    if "chunks" in names:
        answer["chunks"] = [as_chunk(row, chunk) for chunk in await ns.core.lists.chunks_of(row.id)]
    if "memories" in names:
        facts = await ns.core.lists.facts_of_documents([row.id])
        answer["memories"] = [as_memory(fact, ns.now) for fact in facts]
    return answer


@route("PATCH /ns/{namespace}/document/{id:path}", "Change a document", "Ref", missing=_UNKNOWN)
async def change(ns: Writing, record_id: DocumentId, body: Change) -> Answer:
    """Another content replaces the text, and what is learned follows it.

    All else is changed in place, without anything embedded anew.
    """
    document = await ns.document(record_id)
    content = {"content": body.content} if body.content else {}
    return await _change(ns, document, body, {**body.fields(), **content})


@route("DELETE /ns/{namespace}/document", "Delete documents", "DeleteResult")
async def delete(ns: Writing, body: Doomed) -> Answer:
    """Hides documents and what was learned of them from every search and list; each id stands for itself.

    `scrubjay restore` brings one back, `scrubjay forget --purge` takes its bytes; deleting the namespace
    takes those of all.
    """
    ids: dict[str, None] = {}  # in the order of the request
    errors = []
    for given in dict.fromkeys(body.ids):
        try:
            ids[(await ns.document(given)).id] = None
        except NotFound as error:
            errors.append(dict(id=given, error=str(error)))
    if ids:
        await ns.write("forget", ForgetRecords(ids=list(ids), reason=_DELETED), scope=ns.name)
    return dict(count=len(ids), errors=errors)


def as_listed(row: Document, status: Status, content: bool, memories: int | None) -> Answer:
    """Show a document in a list, with its text if `content`, and how many memories it has if known."""
    text: Answer = {"content": row.content or None} if content else {}
    url = url_of(row.content) if content else None
    return {**_about(row, text), "url": url, "system": _times(row, status, memories)}


def as_chunk(row: Document, chunk: Passage) -> Answer:
    """Show a chunk of this document."""
    times = {"createdAt": row.updated_at}
    return ANSWERS.fill("Chunk", row, id=chunk.id, position=chunk.part, content=chunk.text, system=times)


def _about(row: Document, text: Answer) -> Answer:
    head = {"id": row.id, "title": row.title, "type": row.type}
    return {**head, **text, "summary": row.summary, "metadata": row.metadata}


def _times(row: Document, status: Status, memories: int | None = None) -> Answer:
    count = {} if memories is None else {"memoryCount": memories}
    times = {"createdAt": row.created_at, "updatedAt": row.updated_at}
    return {"status": status, "dreamingStatus": "done", **count, **times}


def _values(text: DocumentText) -> dict[str, Any]:
    return {name: getattr(text, name) for name in _OF_FILE}


async def _text(ns: NamespaceContext, body: Input, task_type: TaskType) -> DocumentText:
    """Keep what a body says of its namespace, and return the document that it describes."""
    await _keep_context(ns, body)
    own = {} if body.id is None else {"custom_id": body.id}
    values = {"task_type": task_type or "memory", **own, **body.fields(), "content": body.content}
    return DocumentText.model_validate(values)


async def _change(ns: NamespaceContext, document: Document, body: About, values: dict[str, Any]) -> Answer:
    """Give a document other values for some fields of a `DocumentText`."""
    await _keep_context(ns, body)
    return _as_ref(await ns.core.documents.change(document, values, source=SOURCE))


async def _keep_context(ns: NamespaceContext, body: About) -> None:
    await ns.core.scope_settings.keep_context(ns.name, body.supporting_context, ns.now)


def _as_ref(state: DocumentState) -> Answer:
    return dict(id=state.id, status=state.status)
