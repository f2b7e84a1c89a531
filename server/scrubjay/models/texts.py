"""A document whose text was read: what an AddDocument or an ingest hands to the write-ahead log, so that a replay needs no file."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from scrubjay.models.fields import Instant, Metadata, Name, Text
from scrubjay.models.requests import Request


class FileState(Request):
    """A file as it was when it was read: bytes, nanoseconds since 1970, a digest of the bytes, and the indexed folder that it is in."""

    size: int
    mtime: int
    digest: str
    folder: str | None = None


class DocumentText(Request):
    """One text and where it is from.

    `document_id` is the document that this replaces, which may have had another path; `error` is why there is no text.
    """

    content: Text | None = None
    error: Annotated[Text, Field(max_length=2_000)] | None = None
    document_id: Name | None = None
    file: FileState | None = None
    path: str | None = None  # absolute
    type: str | None = None  # what the file was; None for text that was given
    title: str | None = None
    custom_id: Annotated[Text, Field(max_length=255)] | None = None
    metadata: Metadata = Field(default_factory=dict)
    filepath: Annotated[Text, Field(max_length=4_096)] | None = None  # where a client files it; exact, and folders end in a slash
    task_type: Literal["memory", "superrag"] | None = None  # memory: what its paragraphs say is learned too
    date: Instant | None = None  # when the content is from
    group: dict[str, Any] = Field(default_factory=dict)  # metadata that a known fact must have to be taken for one of its own

    @model_validator(mode="after")
    def _text_or_error(self) -> Self:
        if (self.content is None) == (self.error is None):
            raise ValueError("a document has either content or an error")
        return self
