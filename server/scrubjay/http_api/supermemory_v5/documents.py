"""Documents and their chunks as version 5 takes and shows them. Knows names, ranges and shapes; does not know where a document is kept."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Form, Query, UploadFile
from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from scrubjay.errors import InputError, NotFound
from scrubjay.home.scope_settings import LONGEST_CONTEXT
from scrubjay.http_api.bodies import DeleteError, url_of
from scrubjay.http_api.context import SOURCE
from scrubjay.http_api.supermemory_v5.bodies import Answer, Body, included
from scrubjay.http_api.supermemory_v5.context import DocumentId, Place, Reading, Writing
from scrubjay.http_api.supermemory_v5.memories import ShownMemory, ShownMetadata, shown
from scrubjay.http_api.uploads import read_upload
from scrubjay.models.fields import Instant, Metadata, Text
from scrubjay.models.records import Document, Passage, is_current
from scrubjay.models.requests import DocumentText, ForgetRecords
from scrubjay.records.extracted import facts_of_documents
from scrubjay.store import conditions

LONGEST_TEXT = 10_000_000  # characters of one document
Status = Literal["queued", "embedding", "done", "failed"]

Content = Annotated[
    Text,
    Field(
        max_length=LONGEST_TEXT,
        description="The text, plain or Markdown. A URL is kept as it is: nothing is fetched.",
    ),
]
OwnId = Annotated[
    Annotated[Text, Field(max_length=255)] | None,
    Field(
        description="Your own id. Adding under a known one goes on with that document: a text that holds the old one or half of its lines "
        "replaces it, one that the old text ends with changes nothing, any other is appended."
    ),
]


def _flat(group: dict[str, Any]) -> dict[str, Any]:
    for key, value in group.items():
        for each in value if isinstance(value, list) else [value]:
            if not isinstance(each, str | int | float | bool):
                raise ValueError(
                    f"must be flat, and {key[:60]!r} is not; use a string, number, boolean or a list of strings"
                )
    return group


Group = Annotated[
    dict[str, Any],
    AfterValidator(_flat),
    Field(
        max_length=100,
        description="Known memories are taken for ones of this document only if their metadata has these values; of a list any one.",
    ),
]
SupportingContext = Annotated[
    Annotated[str, Field(max_length=LONGEST_CONTEXT)] | None,
    Field(description="Background to the namespace; kept as its supportingContext."),
]
Date = Annotated[Instant | None, Field(description="When the content is from (ISO 8601).")]
TaskType = Annotated[
    Literal["memory", "superrag"] | None,
    Field(
        description="memory (default): each paragraph of its prose is a memory too, at most 200; superrag: its chunks alone are found."
    ),
]
Dreaming = Annotated[
    Literal["instant", "dynamic"] | None,
    Field(description="Without effect: memories are there as soon as the document is."),
]


UNKNOWN: dict[int | str, dict[str, Any]] = {
    404: {"description": "No document of this namespace has that id."}
}


class About(Body):
    """What can be said of a document beside its text. What is left out is as it was."""

    supporting_context: SupportingContext = None
    metadata: Metadata | None = None
    group: Group | None = None
    date: Date = None

    def said(self) -> dict[str, Any]:
        """It as the fields of a `DocumentText`."""
        named = {"metadata": self.metadata, "group": self.group, "date": self.date}
        return {name: value for name, value in named.items() if value is not None}


class Input(About):
    """A document to add."""

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
    """What is to be different; another content replaces the text."""

    content: Content | None = None
    task_type: TaskType = None
    dreaming: Dreaming = None


class Ref(Answer):
    """A document and how far it is: queued, embedding (words find it, meaning not yet), done or failed."""

    id: str
    status: Status


class BatchItem(Answer):
    """What became of one document of a batch."""

    id: str
    status: Literal["queued", "embedding", "done", "failed", "error"]
    error: str | None = None
    url: str | None = None


class BatchResult(Answer):
    """The documents that were taken, in the order in which they were sent, then the others."""

    results: list[BatchItem]
    count: Annotated[int, Field(ge=0)]
    failed: Annotated[int, Field(ge=0)]


class DocumentTimes(Answer):
    """How far a document is. Its memories are there as soon as it is, so `dreamingStatus` is done."""

    status: Status
    dreaming_status: Literal["done"] = "done"
    memory_count: Annotated[int, Field(ge=0)] | None = None
    created_at: Instant
    updated_at: Instant


class Created(Answer):
    created_at: Instant


class ShownChunk(Answer):
    """A passage of a document as it is searched; `position` counts from 0."""

    id: str
    position: Annotated[int, Field(ge=0)]
    content: str
    type: str
    metadata: ShownMetadata
    system: Created


class ListedChunk(ShownChunk):
    document_id: str


class ListedDocument(Answer):
    """A document; its text where it is asked for."""

    id: str
    title: str | None
    type: str
    content: str | None = None
    summary: str | None
    metadata: ShownMetadata
    url: Annotated[
        str | None,
        Field(description="The address that it consists of; null where its text is not asked for."),
    ]
    system: DocumentTimes


class WholeDocument(Answer):
    """A document with its text, and what is asked for beside it."""

    id: str
    title: str | None
    type: str
    content: str | None
    summary: str | None
    metadata: ShownMetadata
    system: DocumentTimes
    chunks: list[ShownChunk] | None = None
    memories: list[ShownMemory] | None = None


def listed(
    row: Document, status: Status, *, content: bool = False, memories: int | None = None
) -> ListedDocument:
    """A document in a list, read without its text unless there is to be `content`; `memories` is how many facts it has, if counted."""
    values: dict[str, Any] = (
        {"content": row.content or None, "url": url_of(row.content)} if content else {"url": None}
    )
    return ListedDocument(**_about(row), system=times(row, status, memories), **values)


def whole(row: Document, status: Status) -> WholeDocument:
    """A document by itself."""
    return WholeDocument(**_about(row), content=row.content or None, system=times(row, status))


def times(row: Document, status: Status, memories: int | None = None) -> DocumentTimes:
    """What is kept of a document's life."""
    counted: dict[str, Any] = {} if memories is None else {"memory_count": memories}
    return DocumentTimes(
        status=status, dreaming_status="done", created_at=row.created_at, updated_at=row.updated_at, **counted
    )


def chunks_of(row: Document, pieces: Iterable[Passage]) -> list[ShownChunk]:
    """Passages of one document, in its order."""
    return [ShownChunk(**chunk_values(row, piece)) for piece in sorted(pieces, key=lambda piece: piece.part)]


def chunk_values(row: Document, piece: Passage) -> dict[str, Any]:
    """The fields of a passage of this document."""
    return {
        "id": piece.id,
        "position": piece.part,
        "content": piece.text,
        "type": row.type,
        "metadata": row.metadata,
        "system": Created(created_at=row.updated_at),
    }


def _about(row: Document) -> dict[str, Any]:
    return {
        "id": row.id,
        "title": row.title,
        "type": row.type,
        "summary": row.summary,
        "metadata": row.metadata,
    }


router = APIRouter()


def _absent(value: Any) -> Any:
    """An empty field of a form as one that was not sent."""
    return None if value == "" else value


def _from_json(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise ValueError('must be a JSON object such as {"lang": "go"}') from None


def _spelled(says: str) -> tuple[Any, ...]:
    """How a form carries an object: as JSON text, or empty for none."""
    schema = {"type": "string", "contentMediaType": "application/json", "description": says}
    return BeforeValidator(_from_json), BeforeValidator(_absent), WithJsonSchema(schema)


_METADATA, _GROUP = (
    _spelled(f"A JSON object: {what}.")
    for what in ("names and values", "names and values that known memories must have")
)


class Said(About):
    """What a form says of a file. An empty field is one that was not sent."""

    supporting_context: Annotated[SupportingContext, BeforeValidator(_absent)] = None
    metadata: Annotated[Metadata | None, *_METADATA] = None
    group: Annotated[Group | None, *_GROUP] = None
    date: Annotated[Date, BeforeValidator(_absent)] = None
    task_type: Annotated[TaskType, BeforeValidator(_absent)] = None
    dreaming: Annotated[Dreaming, BeforeValidator(_absent)] = None
    file_type: Annotated[
        str | None, Field(description="Without effect: what a file is shows in its bytes and its name.")
    ] = None
    mime_type: Annotated[str | None, Field(description="Without effect, as fileType.")] = None

    def said(self) -> dict[str, Any]:
        task = {} if self.task_type is None else {"task_type": self.task_type}
        return {**super().said(), **task}


class Upload(Said):
    file: UploadFile


class Reupload(Said):
    file: UploadFile | None = None


@router.post("/ns/{namespace}/document/file", summary="Upload a file")
async def upload(place: Writing, body: Annotated[Upload, Form(media_type="multipart/form-data")]) -> Ref:
    """Reads a file (text, Markdown, source code, HTML, PDF, Word, PowerPoint, sheets, notebooks, mails; at most 50 MB) and adds its text.

    One that cannot be read becomes a document with the status failed. The file itself is not kept.
    """
    await place.context.core.scope_settings.keep_context(
        place.namespace, body.supporting_context, place.context.now
    )
    text = await read_upload(body.file, place.namespace, body.said())
    filed = await place.context.core.documents.add(text, scope=place.namespace, source=SOURCE)
    return Ref(id=filed.id, status=filed.status)


@router.post(
    "/ns/{namespace}/document/file/{id:path}", summary="Replace a document by a file", responses=UNKNOWN
)
async def replace(
    place: Writing, id: DocumentId, body: Annotated[Upload, Form(media_type="multipart/form-data")]
) -> Ref:
    """A document gets the text of a file, its title, and the metadata that is sent with it, in place of its own; its id stays."""
    row = await place.document(id)
    text = await read_upload(body.file, place.namespace, body.said(), may_fail=False)
    values = {name: getattr(text, name) for name in ("content", "type", "title", "metadata", *body.said())}
    return await changed(place, row, values, body.supporting_context)


@router.patch(
    "/ns/{namespace}/document/file/{id:path}", summary="Change a document that was a file", responses=UNKNOWN
)
async def change_file(
    place: Writing, id: DocumentId, body: Annotated[Reupload, Form(media_type="multipart/form-data")]
) -> Ref:
    """A file that is sent replaces the text; what is left out stays as it was."""
    row = await place.document(id)
    values = body.said()
    if body.file is not None:
        kept = {"metadata": row.metadata, **values}
        text = await read_upload(body.file, place.namespace, kept, may_fail=False)
        values = {
            **{name: getattr(text, name) for name in ("content", "type", "title", "metadata")},
            **values,
        }
    return await changed(place, row, values, body.supporting_context)


DELETED = "deleted over HTTP"
_FIRST = datetime(1, 1, 2, tzinfo=UTC)


class Doomed(Body):
    ids: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=255)]],
        Field(min_length=1, max_length=100, description="Ids of documents, or the ids that you gave them."),
    ]


class DeleteResult(Answer):
    """How many documents were deleted, and what was wrong with the other ids."""

    count: Annotated[int, Field(ge=0)]
    errors: list[DeleteError]


@router.post("/ns/{namespace}/document", summary="Add a document")
async def add(place: Writing, body: Added) -> Ref:
    """Takes a text; it is on disk when this answers, found by words within a moment, and repeating the call changes nothing."""
    text = await _text(place, body, body.task_type)
    filed = await place.context.core.documents.add(text, scope=place.namespace, source=SOURCE)
    return Ref(id=filed.id, status=filed.status)


@router.post(
    "/ns/{namespace}/document/batch", summary="Add up to 600 documents", response_model_exclude_unset=True
)
async def add_batch(place: Writing, body: Batch) -> BatchResult:
    """Takes documents, those with the earliest date first. One that cannot be added is reported and stops no other."""
    taken: dict[int, BatchItem] = {}
    refused: dict[int, BatchItem] = {}
    ordered = sorted(enumerate(body.documents), key=lambda pair: pair[1].date or _FIRST)
    texts = [(await _text(place, each, body.task_type), place.namespace) for _, each in ordered]
    filed = await place.context.core.documents.add_all(texts, source=SOURCE)
    for (number, each), one in zip(ordered, filed, strict=True):
        if isinstance(one, InputError):
            url = url_of(each.content)
            refused[number] = BatchItem(
                id=each.id or "", status="error", error=str(one), **({"url": url} if url else {})
            )
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
    include: Annotated[
        list[str], Query(description="chunks: its passages; memories: what was learned of it.")
    ] = [],  # noqa: B006
) -> WholeDocument:
    """A document with its text, and how far it is; there from the moment that its add was answered."""
    wanted = included(include, ("chunks", "memories"))
    row = await place.document(id)
    core = place.context.core
    beside: dict[str, Any] = {}
    if "memories" in wanted:
        facts = await facts_of_documents(core.store, [row.id])
        beside["memories"] = [
            shown(fact, place.context.now) for fact in facts if is_current(fact, place.context.now)
        ]
    if "chunks" in wanted:
        await core.store.flush()
        beside["chunks"] = chunks_of(
            row,
            await core.store.passages(conditions.equal("record_id", row.id), columns=["id", "part", "text"]),
        )
    return whole(row, (await core.documents.statuses([row]))[row.id]).model_copy(update=beside)


@router.patch("/ns/{namespace}/document/{id:path}", summary="Change a document", responses=UNKNOWN)
async def change(place: Writing, id: DocumentId, body: Change) -> Ref:
    """Another content replaces the text, and what is learned follows it; all else is changed in place, without anything embedded anew."""
    row = await place.document(id)
    values = (
        body.said()
        | ({"task_type": body.task_type} if body.task_type else {})
        | ({"content": body.content} if body.content else {})
    )
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
        await place.context.write(
            "forget", ForgetRecords(ids=list(found), reason=DELETED), scope=place.namespace
        )
    return DeleteResult(count=len(found), errors=errors)


async def changed(place: Place, row: Document, values: dict[str, Any], background: str | None) -> Ref:
    """Give a document other values for some fields of a `DocumentText`."""
    await place.context.core.scope_settings.keep_context(place.namespace, background, place.context.now)
    filed = await place.context.core.documents.change(row, values, source=SOURCE)
    return Ref(id=filed.id, status=filed.status)


async def _text(place: Place, body: Input, task_type: Literal["memory", "superrag"] | None) -> DocumentText:
    """What is filed of a body; what it says of its namespace is kept."""
    await place.context.core.scope_settings.keep_context(
        place.namespace, body.supporting_context, place.context.now
    )
    own = {} if body.id is None else {"custom_id": body.id}
    return DocumentText.model_validate(
        {"task_type": task_type or "memory", **own, **body.said(), "content": body.content}
    )
