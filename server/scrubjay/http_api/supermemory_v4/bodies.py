"""Fields that several of supermemory's routes take or give: tags, filters, times, ids. Knows how the clients spell them; does not know what
they ask for.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, WithJsonSchema
from pydantic.alias_generators import to_camel

from scrubjay.home.scopes import SCOPE_NAME
from scrubjay.models.fields import Instant
from scrubjay.models.filters import Filter, parse_filter

TAG_SCHEMA = {"type": "string", "pattern": f"^{SCOPE_NAME}$"}
Tag = Annotated[
    str,
    Field(description="The scope: 1 to 100 letters, digits or . _ : -, and neither `user` nor `*`."),
    WithJsonSchema(TAG_SCHEMA),
]
Tags = Annotated[list[Tag], Field(max_length=100, description="Any of these scopes.")]
Filters = Annotated[
    Filter,
    PlainValidator(parse_filter),
    WithJsonSchema({"anyOf": [{"type": "object"}, {"type": "string"}]}),
    Field(
        description='Only what has this metadata: {"AND": [{"key": "lang", "value": "go"}]}, nested with OR, or its JSON text. '
        "filterType: metadata (equal), numeric with numericOperator, string_contains or array_contains; negate and ignoreCase are flags."
    ),
]


def _number(value: object) -> object:
    if isinstance(value, str | bool):
        raise ValueError("must be a number, not a text or a boolean")
    return value


Whole = Annotated[int, BeforeValidator(_number)]  # 10.0 is one too, as JSON has it


class Part(BaseModel):
    """Anything on the wire: camelCase outside, snake_case inside; what it says beyond its fields is passed over, as the clients expect."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, extra="ignore")


class Tagged(Part):
    """A request that looks into some scopes: one tag, or any of several; without both, into every scope but `user`."""

    container_tag: Tag | None = None
    container_tags: Tags | None = None

    @property
    def tags(self) -> list[str]:
        """The tags that are named, each once."""
        own = [] if self.container_tag is None else [self.container_tag]
        return list(dict.fromkeys([*own, *(self.container_tags or ())]))


class TemporalContext(Part):
    """When a fact was written down, and the dates of what it tells of."""

    document_date: Instant | None = None
    event_date: Annotated[list[Instant] | None, Field(max_length=100)] = None

    def metadata(self) -> dict[str, Any]:
        """As metadata, which is flat: under `documentDate` and `eventDate`."""
        said: dict[str, Any] = {}
        if self.document_date is not None:
            said["documentDate"] = iso(self.document_date)
        if self.event_date:
            said["eventDate"] = [iso(date) for date in self.event_date]
        return said


class Pagination(Part):
    """Which page of how many."""

    current_page: int
    limit: int
    total_items: int
    total_pages: int


def iso(moment: datetime) -> str:
    """A time as the clients read it: ISO 8601 in UTC, to the millisecond, with its zone."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
