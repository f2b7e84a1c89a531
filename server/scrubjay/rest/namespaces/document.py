"""Documents and their chunks as version 5 takes and shows them. Knows names, ranges and shapes; does not know where a document is kept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from scrubjay.models.fields import Instant, Metadata, Text
from scrubjay.models.records import Document, Passage
from scrubjay.rest.namespaces.memory import Metadata as ShownMetadata
from scrubjay.rest.namespaces.memory import ShownMemory
from scrubjay.rest.namespaces.wire import Answer, Body
from scrubjay.scope_settings import LONGEST_CONTEXT

LONGEST_TEXT = 10_000_000  # characters of one document
Status = Literal["queued", "embedding", "done", "failed"]

Content = Annotated[
    Text, Field(max_length=LONGEST_TEXT, description="The text, plain or Markdown. A URL is kept as it is: nothing is fetched.")
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
                raise ValueError(f"must be flat, and {key[:60]!r} is not; use a string, number, boolean or a list of strings")
    return group


Group = Annotated[
    dict[str, Any],
    AfterValidator(_flat),
    Field(
        max_length=100,
        description="Known memories are taken for ones of this document only if their metadata has these values; of a list any one.",
    ),
]
Context = Annotated[
    Annotated[str, Field(max_length=LONGEST_CONTEXT)] | None,
    Field(description="Background to the namespace; kept as its supportingContext."),
]
Date = Annotated[Instant | None, Field(description="When the content is from (ISO 8601).")]
TaskType = Annotated[
    Literal["memory", "superrag"] | None,
    Field(description="memory (default): each paragraph of its prose is a memory too, at most 200; superrag: its chunks alone are found."),
]
Dreaming = Annotated[
    Literal["dynamic", "instant"] | None, Field(description="Without effect: memories are there as soon as the document is.")
]


class About(Body):
    """What can be said of a document beside its text. What is left out is as it was."""

    supporting_context: Context = None
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
    url: Annotated[str | None, Field(description="The address that it consists of; null where its text is not asked for.")]
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


def listed(row: Document, status: Status, *, content: bool = False, memories: int | None = None) -> ListedDocument:
    """A document in a list, read without its text unless there is to be `content`; `memories` is how many facts it has, if counted."""
    values: dict[str, Any] = {"content": row.content or None, "url": url_of(row.content)} if content else {"url": None}
    return ListedDocument(**_about(row), system=times(row, status, memories), **values)


def whole(row: Document, status: Status) -> WholeDocument:
    """A document by itself."""
    return WholeDocument(**_about(row), content=row.content or None, system=times(row, status))


def times(row: Document, status: Status, memories: int | None = None) -> DocumentTimes:
    """What is kept of a document's life."""
    counted: dict[str, Any] = {} if memories is None else {"memory_count": memories}
    return DocumentTimes(status=status, dreaming_status="done", created_at=row.created_at, updated_at=row.updated_at, **counted)


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


def url_of(content: str) -> str | None:
    """The address that a document consists of, None for all other texts."""
    text = content.strip()
    return text if text.startswith(("http://", "https://")) and len(text.split()) == 1 else None


def _about(row: Document) -> dict[str, Any]:
    return {"id": row.id, "title": row.title, "type": row.type, "summary": row.summary, "metadata": row.metadata}
