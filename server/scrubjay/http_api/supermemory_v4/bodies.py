"""Fields that several routes take or give: tags, filters, times, pages."""

import json
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, PlainValidator, WithJsonSchema

from scrubjay.home.scopes import SCOPE_NAME
from scrubjay.http_api.answers import Answer
from scrubjay.http_api.bodies import CamelCase
from scrubjay.http_api.supermemory_v4.answers import ANSWERS
from scrubjay.models.fields import Text
from scrubjay.models.filters import Filter, parse_filter
from scrubjay.models.records import Memory
from scrubjay.records.reviewing import is_inference

PER_PAGE, MOST_PER_PAGE = 10, 1_100  # as the published schema has it; the guide says 50 and 200
TAG_SCHEMA = {"type": "string", "pattern": f"^{SCOPE_NAME}$"}


class Part(CamelCase):
    """Anything on the wire; unknown fields are passed over, as the clients expect."""

    model_config = ConfigDict(extra="ignore")


def from_json(value: Any) -> Any:
    """Read an object or a list that came as JSON text, as forms and some clients send it."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            raise ValueError("must be JSON; what was sent begins like it and is none") from None
    return value


def _tag_list(value: Any) -> Any:
    if isinstance(value, list) and len(value) == 1:  # a form gives its one field as a list
        (value,) = value
    tags = from_json(value)
    return [tags] if isinstance(tags, str) else tags


def _number(value: object) -> object:
    if isinstance(value, str | bool):
        raise ValueError("must be a number, not a text or a boolean")
    return value


Tag = Annotated[
    str,
    Field(description="The scope: 1 to 100 letters, digits or . _ : -, and neither `user` nor `*`."),
    WithJsonSchema(TAG_SCHEMA),
]
Tags = Annotated[list[Tag], Field(max_length=100, description="Any of these scopes.")]
TagList = Annotated[  # the older spelling: one text is a list of one
    list[str],
    BeforeValidator(_tag_list),
    Field(max_length=100),
    WithJsonSchema(
        {"anyOf": [{"type": "array", "items": {"type": "string"}, "maxItems": 100}, {"type": "string"}]}
    ),
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
Whole = Annotated[int, BeforeValidator(_number)]  # 10.0 is one too, as JSON has it
Src = Literal["doc", "chat"]


class Tagged(Part):
    """A request that looks into one tag, or any of several; without both, into every scope but `user`."""

    container_tag: Tag | None = None
    container_tags: Tags | None = None

    @property
    def tags(self) -> list[str]:
        """The tags that are named, each once."""
        own = [] if self.container_tag is None else [self.container_tag]
        return list(dict.fromkeys([*own, *(self.container_tags or ())]))


class Paging(Part):
    page: Annotated[Whole, Field(ge=1, le=1_000_000)] = 1
    limit: Annotated[Whole, Field(ge=1, le=MOST_PER_PAGE)] = PER_PAGE
    sort: Literal["createdAt", "updatedAt"] = "createdAt"
    order: Literal["asc", "desc"] = "desc"

    @property
    def window(self) -> dict[str, Any]:
        """The page as arguments of `scrubjay.engine.verbs.lists`."""
        return {
            "start": (self.page - 1) * self.limit,
            "size": self.limit,
            "sort": "created_at" if self.sort == "createdAt" else "updated_at",
            "descending": self.order == "desc",
        }

    def pagination(self, total: int) -> Answer:
        """Say which page this is of a list of so many items."""
        pages = -(-total // self.limit)
        return dict(currentPage=self.page, limit=self.limit, totalItems=total, totalPages=pages)


def memory_values(fact: Memory) -> dict[str, Any]:
    """Return the fields of a memory, wherever it is listed; the parent is the version before this one."""
    return ANSWERS.fill(
        "Memory",
        fact,
        memory=fact.content,
        isForgotten=fact.forgotten_at is not None,
        isInference=is_inference(fact),
        parentMemoryId=parent_of(fact),
        sourceCount=max(1, len(fact.document_ids)),
        metadata=fact.metadata or None,
    )


def parent_of(fact: Memory) -> str | None:
    """Return the id of the version before this one."""
    return fact.parent_ids[-1] if fact.relation == "updates" and fact.parent_ids else None


def to_millisecond(moment: datetime) -> datetime:
    """Cut a time to what `iso` spells; sent as it is, it has six digits or none."""
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def iso(moment: datetime) -> str:
    """Spell a time as the clients read it: ISO 8601 in UTC, to the millisecond, with its zone."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
