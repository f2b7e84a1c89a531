"""Request fields that both versions of supermemory's API have, under the names of each version."""

import json
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from fastapi import UploadFile
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, field_validator
from pydantic.alias_generators import to_camel

from scrubjay.home.scope_settings import LONGEST_CONTEXT
from scrubjay.http_api.answers import Answer, unknown_fields
from scrubjay.models.fields import Instant, Metadata, Text
from scrubjay.models.requests import about

LONGEST_TEXT = 10_000_000  # characters of one document
LONGEST_ID = 255  # characters
MOST_AT_ONCE = 600  # documents of one batch
MOST_IDS = 100  # documents of one deletion
_TYPES = {"pdf": "pdf", "html": "webpage"}  # clients see every other kind as text
_NAMES_4 = {"date": "documentDate", "group": "filterByMetadata", "background": "entityContext"}
_NAMES_5 = {"background": "supportingContext", "custom_id": "id"}


class Body4(BaseModel):
    """A body of version 4. Unknown fields are accepted, and `warnings` in the answer name them."""

    model_config = ConfigDict(
        alias_generator=lambda name: _NAMES_4.get(name) or to_camel(name),
        populate_by_name=True,
        frozen=True,
        extra="allow",
    )

    def warnings(self, *parts: BaseModel, more: Sequence[str] = ()) -> Answer:
        """Return `{"warnings": [...]}` on unknown fields of this body and its parts, then `more`, or {}."""
        return unknown_fields(self, *parts, more=more)


class Body5(BaseModel):
    """A body of version 5. Unknown fields are refused: a misspelt filter would let everything through."""

    model_config = ConfigDict(
        alias_generator=lambda name: _NAMES_5.get(name) or to_camel(name), extra="forbid", frozen=True
    )


def from_json(value: Any) -> Any:
    """Parse a text that looks like a JSON object or list, and return anything else unchanged.

    Raises ValueError for a text that only looks like JSON.
    """
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            raise ValueError("must be JSON, and is not") from None
    return value


class WithJsonText(BaseModel):
    """A form, or a body of version 4: its objects may be sent as JSON text."""

    @field_validator("metadata", "group", mode="before", check_fields=False)
    @classmethod
    def _read_object(cls, value: Any) -> Any:
        return from_json(value)


class FileForm(WithJsonText):
    """A form with a file."""

    file_type: str | None = about("Without effect: the kind is read from the file's bytes and name.")
    mime_type: str | None = about("Without effect, as fileType.")


def _check_flat(group: dict[str, Any]) -> dict[str, Any]:
    """Refuse nested values; lists may hold numbers and booleans, which no list of stored metadata does."""
    for key, value in group.items():
        for item in value if isinstance(value, list) else [value]:
            if not isinstance(item, str | int | float | bool):
                kinds = "a string, number, boolean or a list of them"
                raise ValueError(f"must be flat, and {key[:60]!r} is not; use {kinds}")
    return group


def _check_file(value: Any) -> Any:
    if isinstance(value, str):
        raise ValueError("must be a file, and is a text; with curl, write -F file=@PATH")
    return value


File = Annotated[UploadFile, BeforeValidator(_check_file)]
Background = Annotated[str, Field(max_length=LONGEST_CONTEXT)]
Content = Annotated[
    Text,
    Field(
        max_length=LONGEST_TEXT,
        description="The text, plain or Markdown. A URL is stored as it is: nothing is fetched.",
    ),
]
CustomId = Annotated[
    Annotated[Text, Field(max_length=LONGEST_ID)] | None,
    Field(
        description="Your own id. Adding under an existing one continues that document: a text that contains "
        "the old one, or half of its lines, replaces it; one that the old text ends with changes nothing; "
        "any other is appended."
    ),
]
GivenId = Annotated[str, Field(min_length=1, max_length=LONGEST_ID)]
TaskType = Annotated[
    Literal["memory", "superrag"] | None,
    Field(
        description="memory (default): each paragraph of its prose becomes a memory too, at most 200; "
        "superrag: only its chunks are found."
    ),
]
Dreaming = Annotated[
    Literal["instant", "dynamic"] | None,
    Field(description="Without effect: a document's memories exist as soon as it does."),
]


Group = Annotated[dict[str, Any], Field(max_length=100), AfterValidator(_check_flat)]


class DocumentDetails(BaseModel):
    """What a client can say about a document in addition to its text. A field left out is not changed."""

    metadata: Metadata | None = about(
        "Flat: strings, numbers, booleans, lists of strings. Searches can filter by every key."
    )
    date: Instant | None = about("When the content is from (ISO 8601).")
    group: Group | None = about(
        "Existing memories count as this document's only if their metadata has these values; of a list "
        "any one."
    )
    background: Background | None = about("Background to the whole scope; stored with the scope.")
    task_type: TaskType = None
    dreaming: Dreaming = None

    def values(self) -> dict[str, Any]:
        """Return the fields that were sent, as fields of a `DocumentText`."""
        names = ("custom_id", "metadata", "date", "filepath", "group", "task_type")
        return {name: value for name in names if (value := getattr(self, name, None)) is not None}


def url_of(content: str) -> str | None:
    """Return the URL if the content is a single URL, else None."""
    text = content.strip()
    return text if text.startswith(("http://", "https://")) and len(text.split()) == 1 else None


def type_of(kind: str) -> str:
    """Return the type of a document in the clients' words."""
    return _TYPES.get(kind, "text")


def window(page: int, limit: int, sort: str, order: str) -> dict[str, Any]:
    """Return a page as arguments for methods of `scrubjay.engine.verbs.lists`."""
    column = "updated_at" if sort == "updatedAt" else "created_at"
    return {"start": (page - 1) * limit, "size": limit, "sort": column, "descending": order == "desc"}


def pagination(page: int, limit: int, total: int) -> Answer:
    """Describe one page out of `total` entries."""
    return dict(currentPage=page, limit=limit, totalItems=total, totalPages=-(-total // limit))
