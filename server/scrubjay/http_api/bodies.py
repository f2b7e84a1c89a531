"""What bodies of several families have in common: spelling, texts of documents, fields of forms, files."""

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import UploadFile
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from scrubjay.engine.verbs.documents import document_in
from scrubjay.home.scope_settings import LONGEST_CONTEXT
from scrubjay.models.fields import Text
from scrubjay.models.requests import DocumentText
from scrubjay.reading import MAX_FILE

LONGEST_TEXT = 10_000_000  # characters of one document

Content = Annotated[
    Text,
    Field(
        max_length=LONGEST_TEXT,
        description="The text, plain or Markdown. A URL is kept as it is: nothing is fetched.",
    ),
]


Background = Annotated[str, Field(max_length=LONGEST_CONTEXT)]
TaskType = Annotated[
    Literal["memory", "superrag"] | None,
    Field(
        description="memory (default): each paragraph of its prose is a memory too, at most 200; "
        "superrag: its chunks alone are found."
    ),
]
Dreaming = Annotated[
    Literal["instant", "dynamic"] | None,
    Field(description="Without effect: memories are there as soon as the document is."),
]


class CamelCase(BaseModel):
    """Anything on the wire of supermemory: camelCase outside, snake_case inside."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)


def none_if_empty(value: Any) -> Any:
    """Take an empty field of a form for one that was not sent."""
    return None if value == "" else value


def flat(group: dict[str, Any]) -> dict[str, Any]:
    """Return metadata as it is.

    Raises:
        ValueError: a value is neither a string, a number, a boolean nor a list of them.
    """
    for key, value in group.items():
        for each in value if isinstance(value, list) else [value]:
            if not isinstance(each, str | int | float | bool):
                raise ValueError(
                    f"must be flat, and {key[:60]!r} is not; use a string, number, boolean or a list of them"
                )
    return group


def url_of(content: str) -> str | None:
    """Return the address that a document consists of, None for all other texts."""
    text = content.strip()
    return text if text.startswith(("http://", "https://")) and len(text.split()) == 1 else None


async def read_upload(
    file: UploadFile, scope: str, values: Mapping[str, Any], *, may_fail: bool = True
) -> DocumentText:
    """Read an uploaded file as the text of a document with these values; see `document_in`.

    Raises:
        InputError: it cannot be read, and not `may_fail`.
    """
    data, name = await file.read(MAX_FILE + 1), file.filename or "file"
    return await asyncio.to_thread(document_in, data, name, scope, values, may_fail=may_fail)
