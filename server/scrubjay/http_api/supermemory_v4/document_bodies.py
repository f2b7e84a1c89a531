"""Documents on the wire of `/v3`: what clients send to add, change or list them, and what they parse."""

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from scrubjay.engine.verbs.documents import Status
from scrubjay.errors import InputError
from scrubjay.http_api.answers import Answer
from scrubjay.http_api.bodies import Background, Content, Dreaming, TaskType, flat, none_if_empty
from scrubjay.http_api.supermemory_v4.answers import ANSWERS
from scrubjay.http_api.supermemory_v4.bodies import (
    MOST_PER_PAGE,
    PER_PAGE,
    Filepath,
    Filters,
    Paging,
    Part,
    TagList,
    from_json,
    iso,
    memory_values,
)
from scrubjay.models.fields import Flag, Instant, Metadata, Name
from scrubjay.models.records import Document, Memory
from scrubjay.models.requests import DocumentText, about

MOST_AT_ONCE = 600  # documents of a batch
MOST_IDS = 100  # of one bulk delete
_TYPES = {"pdf": "pdf", "html": "webpage"}  # the clients know no other kind that we read


def _or_empty(schema: dict[str, Any]) -> None:
    schema["anyOf"].append({"type": "string", "maxLength": 0, "description": "As one that was not sent."})


def _or_json_text(schema: dict[str, Any]) -> None:
    text = {"type": "string", "contentMediaType": "application/json"}
    schema["anyOf"].append({**text, "description": "The same as JSON text."})


def _whole_number(value: Any) -> Any:
    return int(value) if isinstance(value, str) and value.isascii() and value.isdecimal() else value


# Of fields of a form: an empty text is as good as none; an object may come as JSON text.
_MAY_BE_EMPTY = (BeforeValidator(none_if_empty), Field(json_schema_extra=_or_empty))
_OF_JSON = Field(json_schema_extra=_or_json_text)
_MAY_BE_JSON = (BeforeValidator(none_if_empty), BeforeValidator(from_json), _OF_JSON)
_NUMBERS = [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": "^[1-9][0-9]*$"}]
Number = Annotated[int, BeforeValidator(_whole_number), WithJsonSchema({"anyOf": _NUMBERS})]


_Group = Annotated[dict[str, Any], Field(max_length=100), AfterValidator(flat)]


class OneTag(Part):
    container_tag: Annotated[str | None, BeforeValidator(none_if_empty)] = about(
        "The tag (scope) it belongs to; left out, `sm_project_default`."
    )
    container_tags: Annotated[TagList | None, BeforeValidator(none_if_empty)] = about(
        "The older spelling; names one tag, because nothing is kept under two."
    )

    def tag(self) -> str | None:
        """Return the one tag that it names.

        Raises:
            InputError: it names more than one.
        """
        own = [self.container_tag] if self.container_tag else []
        tags = list(dict.fromkeys([*own, *(self.container_tags or ())]))
        if len(tags) > 1:
            advice = "Name it by containerTag, and keep the others as metadata."
            raise InputError(f"{len(tags)} container tags are named, and a document belongs to one. {advice}")
        return tags[0] if tags else None


class DocumentFields(OneTag):
    """What can be said of a document beside its text."""

    custom_id: Annotated[Name | None, *_MAY_BE_EMPTY] = about(
        "Your own id. Adding under a known one goes on with that document: a text that holds "
        "the old one, or half of its lines, replaces it; one that the old text ends with changes "
        "nothing; any other is appended."
    )
    metadata: Annotated[Metadata | None, *_MAY_BE_JSON] = about(
        "Flat: strings, numbers, booleans, lists of strings. All keys can be filtered by, "
        "those that begin with sm_ too."
    )
    document_date: Annotated[Instant | None, *_MAY_BE_EMPTY] = about("When the content is from (ISO 8601).")
    filepath: Annotated[Filepath | None, *_MAY_BE_EMPTY] = about("Where you file it; searched by prefix.")
    filter_by_metadata: Annotated[_Group | None, *_MAY_BE_JSON] = about(
        "Known facts are taken for ones of this document only if their metadata has these "
        "values; of a list any one."
    )
    entity_context: Annotated[Background | None, *_MAY_BE_EMPTY] = about(
        "Background to everything under the tag; kept with it."
    )
    task_type: Annotated[TaskType, *_MAY_BE_EMPTY] = None
    dreaming: Annotated[Dreaming, *_MAY_BE_EMPTY] = None

    def values(self) -> dict[str, Any]:
        """Return what it says as fields of a `DocumentText`."""
        values = {
            "custom_id": self.custom_id,
            "metadata": self.metadata,
            "date": self.document_date,
            "filepath": self.filepath,
            "group": self.filter_by_metadata,
            "task_type": self.task_type,
        }
        return {name: value for name, value in values.items() if value is not None}


class AddedDocument(DocumentFields):
    content: Content

    def text(self) -> DocumentText:
        """Return it as the engine takes it."""
        return DocumentText.model_validate({"task_type": "memory", **self.values(), "content": self.content})


class ChangedDocument(DocumentFields):
    """What is to be different about a document; what is left out stays."""

    content: Content | None = None


class Batch(DocumentFields):
    """Documents to add together; what is said beside them holds for each that does not say otherwise."""

    documents: list[str | dict[str, Any]] = Field(
        description="Texts, or objects as for adding one. One that is wrong stops no other.",
        min_length=1,
        max_length=MOST_AT_ONCE,
    )

    def defaults(self, item: dict[str, Any]) -> dict[str, Any]:
        """Return what is said beside the documents, without the tag if an item names its own."""
        shared = self.model_dump(by_alias=True, exclude={"documents"}, exclude_none=True)
        tags = {"containerTag", "containerTags"}
        return {name: value for name, value in shared.items() if name not in tags or not tags & item.keys()}


class BulkDelete(Part):
    """Which documents to delete: one of the three."""

    ids: list[str] | None = about("Ids or custom ids.", min_length=1, max_length=MOST_IDS)
    container_tags: TagList | None = about("Every document under one of these tags.")
    filepath: Filepath | None = about("The document filed there; a folder where it ends in /.")


class Paged(Paging):
    container_tags: TagList | None = about("Documents under any of these tags; left out, under every one.")
    page: Annotated[Number, Field(ge=1, le=1_000_000)] = 1
    limit: Annotated[Number, Field(ge=1, le=MOST_PER_PAGE)] = PER_PAGE


class Listing(Paged):
    filters: Filters | None = None
    filepath: Filepath | None = about("Exact, or a folder where it ends in /.")
    include_content: Flag = False


# What is answered.


def type_of(kind: str) -> Any:
    """Return the type of a document in the clients' words."""
    return _TYPES.get(kind, "text")


def shown(kind: str, row: Document, status: Status, *, with_text: bool = False, **more: Any) -> Answer:
    """Return a document as a kind of `Document`, which has `more`."""
    if row.error:
        more["errorMessage"] = row.error
    if with_text:
        more["content"] = row.content
    return ANSWERS.fill(
        kind,
        row,
        connectionId=None,
        type=type_of(row.type),
        status=status,
        metadata=row.metadata or None,
        containerTags=[row.scope],
        filepath=row.filepath or row.path,
        createdAt=iso(row.created_at),
        updatedAt=iso(row.updated_at),
        **more,
    )


def memory_entry(fact: Memory) -> Answer:
    """Return a memory as documents list it; of several parents the first is named."""
    values = memory_values(fact)
    if values["parentMemoryId"]:
        values["parentMemoryId"] = fact.parent_ids[0]
    root = fact.root_id if fact.version > 1 else None
    times = {"createdAt": iso(fact.created_at), "updatedAt": iso(fact.updated_at)}
    return {**values, "rootMemoryId": root, **times}
