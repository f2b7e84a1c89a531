"""Fields that several routes of version 4 share: tags, filters, pages and memories."""

from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import BeforeValidator, Field, PlainValidator, WithJsonSchema

from scrubjay.home.scopes import SCOPE_NAME
from scrubjay.http_api.answers import ANSWERS_4, Answer
from scrubjay.http_api.supermemory.fields import Body4, from_json, pagination, window
from scrubjay.models.fields import Text
from scrubjay.models.filters import Filter, parse_filter
from scrubjay.models.records import Memory
from scrubjay.models.requests import about
from scrubjay.records.memories import is_inference

PER_PAGE, MOST_PER_PAGE = 10, 1_100  # as in supermemory's schema; its guide says 50 and 200
MOST_PAGES = 1_000_000
_TEXT_LIST_SCHEMA = {"type": "array", "items": {"type": "string"}, "maxItems": 100}
_NUMBER_SCHEMAS = [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": "^[1-9][0-9]*$"}]


def _tag_list(value: Any) -> Any:
    if isinstance(value, list) and len(value) == 1:  # a form sends its single field as a list
        (value,) = value
    tags = from_json(value)
    return [tags] if isinstance(tags, str) else tags


Tag = Annotated[
    str,
    Field(description="The scope: 1 to 100 letters (A to Z), digits or . _ : -, but not `user`."),
    WithJsonSchema({"type": "string", "pattern": f"^{SCOPE_NAME}$"}),
]
TagList = Annotated[  # the older spelling: a single text counts as a list of one
    list[str],
    BeforeValidator(_tag_list),
    Field(max_length=100),
    WithJsonSchema({"anyOf": [_TEXT_LIST_SCHEMA, {"type": "string"}]}),
]
Filters = Annotated[
    Filter,
    PlainValidator(parse_filter),
    WithJsonSchema({"anyOf": [{"type": "object"}, {"type": "string"}]}),
    Field(
        description='Only what has this metadata: {"AND": [{"key": "lang", "value": "go"}]}, nested with OR, '
        "or its JSON text. filterType: metadata (equal), numeric with numericOperator, string_contains or "
        "array_contains; negate and ignoreCase are flags."
    ),
]
Filepath = Annotated[Text, Field(max_length=4_096)]
Digits = Annotated[int, WithJsonSchema({"anyOf": _NUMBER_SCHEMAS})]  # also a text of digits
PageNumber = Annotated[int, Query(ge=1, le=MOST_PAGES)]
PageSize = Annotated[int, Query(ge=1, le=MOST_PER_PAGE)]


class Tagged(Body4):
    """A request about one tag or any of several; without a tag it reads every scope except `user`."""

    container_tag: Tag | None = None
    container_tags: TagList | None = about("Any of these scopes.")

    @property
    def tags(self) -> list[str]:
        """Return the tags that the request names, each once."""
        own = [] if self.container_tag is None else [self.container_tag]
        return list(dict.fromkeys([*own, *(self.container_tags or ())]))


class Paging(Body4):
    page: Annotated[Digits, Field(ge=1, le=MOST_PAGES)] = 1
    limit: Annotated[Digits, Field(ge=1, le=MOST_PER_PAGE)] = PER_PAGE
    sort: Literal["createdAt", "updatedAt"] = "createdAt"
    order: Literal["asc", "desc"] = "desc"

    @property
    def window(self) -> dict[str, Any]:
        """Return the page as arguments for methods of `scrubjay.engine.verbs.lists`."""
        return window(self.page, self.limit, self.sort, self.order)

    def pagination(self, total: int) -> Answer:
        """Describe this page of a list of `total` entries."""
        return pagination(self.page, self.limit, total)


def memory_values(fact: Memory) -> Answer:
    """Return the fields that every list of memories has; `parentMemoryId` is the previous version."""
    return ANSWERS_4.fill(
        "Memory",
        fact,
        isForgotten=fact.forgotten_at is not None,
        isInference=is_inference(fact),
        parentMemoryId=parent_of(fact),
        sourceCount=max(1, len(fact.document_ids)),
    )


def parent_of(fact: Memory) -> str | None:
    """Return the id of the previous version, or None for the first one."""
    return fact.parent_ids[-1] if fact.relation == "updates" and fact.parent_ids else None
