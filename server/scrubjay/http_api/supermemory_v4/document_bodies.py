"""Documents on the wire of `/v3`: what clients send to add or change one, and what they parse. Knows names, ranges and defaults; does not
know where a document is kept. Fields that are not known here are passed over, as supermemory passes them over.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from scrubjay.engine.verbs.documents import Status
from scrubjay.errors import InputError
from scrubjay.http_api.supermemory_v4.bodies import Filters, Pagination, Part, iso
from scrubjay.models.fields import Flag, Instant, Metadata, Name, Text
from scrubjay.models.records import Document, Memory
from scrubjay.models.requests import DocumentText
from scrubjay.records.reviewing import is_inference

LONGEST_TEXT = 10_000_000  # characters of one document
LONGEST_CONTEXT = 1_500
MOST_AT_ONCE = 600  # documents of a batch
MOST_IDS = 100  # of one bulk delete
PER_PAGE, MOST_PER_PAGE = 10, 1_100  # as the published schema has it; the guide says 50 and 200


def _from_json(value: Any) -> Any:
    """JSON text as what it spells, all else as it is: forms and some clients send objects so."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            raise ValueError("must be JSON; what was sent begins like it and is none") from None
    return value


def _listed(value: Any) -> Any:
    if isinstance(value, list) and len(value) == 1:  # a form gives its one field as a list
        (value,) = value
    found = _from_json(value)
    return [found] if isinstance(found, str) else found


def _absent(value: Any) -> Any:
    """An empty field of a form as one that was not sent."""
    return None if value == "" else value


def _flat(group: dict[str, Any]) -> dict[str, Any]:
    for key, value in group.items():
        for each in value if isinstance(value, list) else [value]:
            if not isinstance(each, str | int | float | bool):
                raise ValueError(
                    f"must be flat, and {key[:60]!r} is not; use a string, number, boolean or a list of them"
                )
    return group


def _or_empty(schema: dict[str, Any]) -> None:
    schema["anyOf"].append({"type": "string", "maxLength": 0, "description": "As one that was not sent."})


def _or_spelled(schema: dict[str, Any]) -> None:
    schema["anyOf"].append(
        {"type": "string", "contentMediaType": "application/json", "description": "The same as JSON text."}
    )


_OR_EMPTY = (
    BeforeValidator(_absent),
    Field(json_schema_extra=_or_empty),
)  # of a field that an empty text leaves out
TagList = Annotated[
    list[str],
    BeforeValidator(_listed),
    Field(max_length=100),
    WithJsonSchema(
        {"anyOf": [{"type": "array", "items": {"type": "string"}, "maxItems": 100}, {"type": "string"}]}
    ),
]
Number = Annotated[
    int,
    BeforeValidator(
        lambda value: (
            int(value) if isinstance(value, str) and value.isascii() and value.isdecimal() else value
        )
    ),
    WithJsonSchema(
        {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": "^[1-9][0-9]*$"}]}
    ),
]


class OneTag(Part):
    """What names a container tag."""

    container_tag: Annotated[
        str | None,
        BeforeValidator(_absent),
        Field(description="The tag (scope) it belongs to; left out, `sm_project_default`."),
    ] = None
    container_tags: Annotated[
        TagList | None,
        BeforeValidator(_absent),
        Field(description="The older spelling; names one tag, because nothing is kept under two."),
    ] = None

    def tag(self) -> str | None:
        """The one tag that it names.

        Raises:
            InputError: it names more than one.
        """
        named = dict.fromkeys(
            (*([self.container_tag] if self.container_tag else []), *(self.container_tags or ()))
        )
        if len(named) > 1:
            raise InputError(
                f"{len(named)} container tags are named, and a document belongs to one. "
                "Name it by containerTag, and keep the others as metadata."
            )
        return next(iter(named), None)


class DocumentFields(OneTag):
    """What can be said of a document beside its text."""

    custom_id: Annotated[
        Name | None,
        *_OR_EMPTY,
        Field(
            description="Your own id. Adding under a known one goes on with that document: a text that holds the old one, or half of "
            "its lines, replaces it; one that the old text ends with changes nothing; any other is appended."
        ),
    ] = None
    metadata: Annotated[
        Metadata | None,
        BeforeValidator(_absent),
        BeforeValidator(_from_json),
        Field(
            description="Flat: strings, numbers, booleans, lists of strings. All keys can be filtered by, those that begin with sm_ too.",
            json_schema_extra=_or_spelled,
        ),
    ] = None
    document_date: Annotated[
        Instant | None,
        *_OR_EMPTY,
        Field(description="When the content is from (ISO 8601)."),
    ] = None
    filepath: Annotated[
        Annotated[Text, Field(max_length=4_096)] | None,
        *_OR_EMPTY,
        Field(description="Where you file it; searched by prefix."),
    ] = None
    filter_by_metadata: Annotated[
        Annotated[dict[str, Any], AfterValidator(_flat), Field(max_length=100)] | None,
        BeforeValidator(_absent),
        BeforeValidator(_from_json),
        Field(
            description="Known facts are taken for ones of this document only if their metadata has these values; of a list any one.",
            json_schema_extra=_or_spelled,
        ),
    ] = None
    entity_context: Annotated[
        Annotated[str, Field(max_length=LONGEST_CONTEXT)] | None,
        *_OR_EMPTY,
        Field(description="Background to everything under the tag; kept with it."),
    ] = None
    task_type: Annotated[
        Literal["memory", "superrag"] | None,
        *_OR_EMPTY,
        Field(
            description="memory (default): each paragraph of its prose is a memory too, at most 200; superrag: its chunks alone are found."
        ),
    ] = None
    dreaming: Annotated[
        Literal["instant", "dynamic"] | None,
        *_OR_EMPTY,
        Field(description="Without effect: memories are there as soon as the document is."),
    ] = None

    def said(self) -> dict[str, Any]:
        """What it says, as the fields of a `DocumentText`."""
        named = {
            "custom_id": self.custom_id,
            "metadata": self.metadata,
            "date": self.document_date,
            "filepath": self.filepath,
            "group": self.filter_by_metadata,
            "task_type": self.task_type,
        }
        return {name: value for name, value in named.items() if value is not None}


Content = Annotated[
    Text,
    Field(
        max_length=LONGEST_TEXT,
        description="The text, plain or Markdown. A URL is kept as it is: nothing is fetched.",
    ),
]


class AddedDocument(DocumentFields):
    """A document to add."""

    content: Content

    def text(self) -> DocumentText:
        return DocumentText.model_validate({"task_type": "memory", **self.said(), "content": self.content})


class ChangedDocument(DocumentFields):
    """What is to be different about a document; what is left out stays."""

    content: Content | None = None


class Batch(DocumentFields):
    """Documents to add together; what is said beside them holds for each that does not say otherwise."""

    documents: Annotated[
        list[str | dict[str, Any]],
        Field(
            min_length=1,
            max_length=MOST_AT_ONCE,
            description="Texts, or objects as for adding one. One that is wrong stops no other.",
        ),
    ]


class BulkDelete(Part):
    """Which documents to delete: one of the three."""

    ids: Annotated[
        list[str] | None, Field(min_length=1, max_length=MOST_IDS, description="Ids or custom ids.")
    ] = None
    container_tags: Annotated[
        TagList | None, Field(description="Every document under one of these tags.")
    ] = None
    filepath: Annotated[
        Annotated[Text, Field(max_length=4_096)] | None,
        Field(description="The document filed there; a folder where it ends in /."),
    ] = None


class Paged(Part):
    """A page of documents."""

    container_tags: Annotated[
        TagList | None, Field(description="Documents under any of these tags; left out, under every one.")
    ] = None
    page: Annotated[Number, Field(ge=1, le=1_000_000)] = 1
    limit: Annotated[Number, Field(ge=1, le=MOST_PER_PAGE)] = PER_PAGE
    sort: Literal["createdAt", "updatedAt"] = "createdAt"
    order: Literal["asc", "desc"] = "desc"


class Listing(Paged):
    """Which documents to list."""

    filters: Filters | None = None
    filepath: Annotated[
        Annotated[Text, Field(max_length=4_096)] | None,
        Field(description="Exact, or a folder where it ends in /."),
    ] = None
    include_content: Flag = False


_TYPES = {"pdf": "pdf", "html": "webpage"}  # the clients know no other kind that we read


class Accepted(Part):
    """A document was taken; it is on disk, and found by words within a moment."""

    id: str
    status: Annotated[Status, Field(description="queued, or how far it is where nothing new was sent.")]


class BatchItem(Part):
    id: Annotated[str, Field(description="Of one that failed its custom id, or unknown.")]
    status: Literal["queued", "embedding", "done", "failed", "error"]
    error: str | None = None
    details: str | None = None


class BatchAnswer(Part):
    results: list[BatchItem]
    success: int
    failed: int


class DeleteError(Part):
    id: str
    error: str


class BulkAnswer(Part):
    success: bool
    deleted_count: int
    errors: list[DeleteError] | None = None
    container_tags: list[str] | None = None


class Listed(Part):
    """A document without its text, unless that was asked for."""

    id: str
    custom_id: str | None
    connection_id: None = None
    title: str | None
    type: Literal["text", "pdf", "webpage"]
    status: Status
    summary: str | None
    metadata: dict[str, Any] | None
    container_tags: list[str]
    filepath: str | None
    created_at: str
    updated_at: str
    error_message: Annotated[str | None, Field(description="Why it failed.")] = None
    content: str | None = None


class MemoryEntry(Part):
    """A memory that was learned from a document, or that cites it."""

    id: str
    memory: str
    version: int
    is_latest: bool
    is_forgotten: bool
    is_static: bool
    is_inference: bool
    parent_memory_id: str | None
    root_memory_id: str | None
    source_count: int
    metadata: dict[str, Any] | None
    created_at: str
    updated_at: str


class WholeDocument(Listed):
    """A document with its text."""

    dreaming_status: Literal["dreaming", "done"]
    source: str
    task_type: Literal["memory", "superrag"]
    url: str | None = None
    og_image: None = None
    raw: None = None
    latest_revision: int = 1
    active_content_update_id: None = None
    tombstoned_at: None = None
    memories: list[MemoryEntry] | None = None


class DocumentPage(Part):
    memories: Annotated[list[Listed], Field(description="The documents of this page.")]
    pagination: Pagination


class WithMemories(Listed):
    memory_entries: list[MemoryEntry]


class GraphPage(Part):
    documents: list[WithMemories]
    pagination: Pagination


class InHand(Listed):
    stuck: Annotated[bool, Field(description="Nothing happened to it for four hours.")]


class Processing(Part):
    documents: list[InHand]
    total_count: int
    pagination: Pagination | None = None


class ChunkOfDocument(Part):
    id: str
    document_id: str
    content: str
    position: int
    line_start: int | None
    line_end: int | None


class Chunks(Part):
    chunks: list[ChunkOfDocument]
    pagination: Pagination


def type_of(type: str) -> Any:
    """The type of a document in the clients' words."""
    return _TYPES.get(type, "text")


def listed(row: Document, status: Status, **more: Any) -> dict[str, Any]:
    """The values of a `Listed` or a kind of it; `content` is among them if it is in `more`."""
    return {
        "id": row.id,
        "custom_id": row.custom_id,
        "connection_id": None,
        "title": row.title,
        "type": type_of(row.type),
        "status": status,
        "summary": row.summary,
        "metadata": row.metadata or None,
        "container_tags": [row.scope],
        "filepath": row.filepath or row.path,
        "created_at": iso(row.created_at),
        "updated_at": iso(row.updated_at),
        **({"error_message": row.error} if row.error else {}),
        **more,
    }


def entry(fact: Memory) -> MemoryEntry:
    """A memory as documents list it."""
    return MemoryEntry(
        id=fact.id,
        memory=fact.content,
        version=fact.version,
        is_latest=fact.is_latest,
        is_forgotten=fact.forgotten_at is not None,
        is_static=fact.is_static,
        is_inference=is_inference(fact),
        parent_memory_id=fact.parent_ids[0] if fact.relation == "updates" and fact.parent_ids else None,
        root_memory_id=fact.root_id if fact.version > 1 else None,
        source_count=max(1, len(fact.document_ids)),
        metadata=fact.metadata or None,
        created_at=iso(fact.created_at),
        updated_at=iso(fact.updated_at),
    )


def pagination(asked: Paged, total: int) -> Pagination:
    return Pagination(
        current_page=asked.page, limit=asked.limit, total_items=total, total_pages=-(-total // asked.limit)
    )
