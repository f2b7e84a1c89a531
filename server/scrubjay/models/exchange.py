"""What a line of an export may hold: its header and its records, checked as everything that comes from outside is. Knows the shapes and
the limits; does not know files, or what is done with a record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from scrubjay.errors import InputError
from scrubjay.models.fields import MAX_METADATA_NUMBER, Count, Importance, Instant, Metadata, Name, OneScope
from scrubjay.models.records import AnyRecord, Document, Memory, Turn
from scrubjay.models.refusals import sentences
from scrubjay.models.requests import Request
from scrubjay.models.results import Result

FORMAT = "scrubjay-export"
FORMAT_VERSION = 1  # of the lines; a new field of a record does not change it, another meaning of an old one does

KINDS: dict[str, type[Turn] | type[Memory] | type[Document]] = {"turn": Turn, "memory": Memory, "document": Document}
_PREFIXES = {"turn": "turn_", "memory": "mem_", "document": "doc_"}  # one id must never name two kinds

Whole = Annotated[Count, Field(ge=0, le=MAX_METADATA_NUMBER)]


class Held(BaseModel):
    """How many records of each kind."""

    model_config = ConfigDict(frozen=True)

    turns: Whole = 0
    memories: Whole = 0
    documents: Whole = 0

    @property
    def total(self) -> int:
        return self.turns + self.memories + self.documents


class Header(BaseModel):
    """The first line of an export."""

    model_config = ConfigDict(frozen=True)  # what a newer one says beside this is passed over

    format: Literal["scrubjay-export"] = "scrubjay-export"
    version: Whole = FORMAT_VERSION
    scrubjay: str  # the version that wrote it
    exported_at: Instant
    scope: OneScope | None = None  # None: of every scope
    counts: Held


class ImportRecords(Request):
    """Some records of an export, as the write-ahead log keeps them: each the object of its line."""

    records: list[dict[str, Any]]


class Differing(Result):
    """A record of an export whose id is here with other contents, and in which fields."""

    id: str
    fields: list[str]


class Imported(Result):
    """What an import did; what differs from a record that was here was left out."""

    added: int
    same: int
    different: int
    differing: tuple[Differing, ...] = ()  # the first of them
    redacted: int


class Exported(Result):
    """What an export holds, and its size."""

    turns: int
    memories: int
    documents: int
    bytes: int


class _Limits(BaseModel):
    """What the store can hold of the fields that many records have; the records themselves say which fields there are."""

    model_config = ConfigDict(extra="ignore")

    id: Name
    scope: OneScope
    metadata: Metadata = Field(default_factory=dict)
    importance_score: Importance = 5.0
    access_count: Whole = 0
    turn: Whole | None = None
    version: Whole = 1
    chunk_count: Whole = 0
    file_size: Whole | None = None
    file_mtime: Annotated[Count, Field(ge=-(2**63), lt=2**63)] | None = None


def header_of(values: Mapping[str, Any]) -> Header:
    """The header that the object of a first line is.

    Raises:
        InputError: it lacks something, or says what cannot be.
    """
    try:
        return Header.model_validate(values)
    except ValidationError as error:
        said = sentences(Header.model_fields, error.errors(include_url=False))
        raise InputError(f"The first line of the export is damaged: {said}") from None


def values_of(record: AnyRecord) -> dict[str, Any]:
    """A record as the object of its line: `kind`, then every field that has a value."""
    kind = next(name for name, model in KINDS.items() if isinstance(record, model))
    return {"kind": kind, **{name: value for name, value in record.model_dump(mode="json").items() if value is not None}}


def record_of(values: Mapping[str, Any]) -> AnyRecord:
    """The record of a line's object; the inverse of `values_of`.

    Raises:
        InputError: it is none, in a sentence that names the field.
    """
    kind = values.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise InputError(f"kind = {str(kind)[:80]!r}: must be turn, memory or document.")
    fields = {name: value for name, value in values.items() if name != "kind"}
    for model in (_Limits, KINDS[kind]):
        try:
            record = model.model_validate(fields)
        except ValidationError as error:
            raise InputError(sentences(model.model_fields, error.errors(include_url=False))) from None
    assert isinstance(record, Turn | Memory | Document)
    if not record.id.startswith(_PREFIXES[kind]):
        raise InputError(f"id = {record.id!r}: that of a {kind} begins with {_PREFIXES[kind]}.")
    for name, value in record:
        if isinstance(value, datetime) and value.tzinfo is None:
            raise InputError(f"{name} = {value.isoformat()!r}: must say its time zone, such as 2026-03-01T14:30:00Z.")
        if any("\x00" in text for text in _texts(value)):
            raise InputError(f"{name} contains a NUL character; remove it.")
    return record


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        yield from value
