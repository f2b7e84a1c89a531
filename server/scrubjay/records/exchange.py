"""Records as lines of text and back: the format of `scrubjay export`, and the import of such records.

    {"format": "scrubjay-export", "version": 1, "scrubjay": "0.1.0", "exported_at": "...", "counts": {...}}
    {"kind": "turn", "id": "turn_...", "scope": "...", "session_id": "...", "turn": 0, "user": "...", ...}
    {"kind": "memory", "id": "mem_...", "content": "...", "version": 2, "parent_ids": ["mem_..."], ...}
    {"kind": "document", "id": "doc_...", "title": "...", "content": "...", ...}

UTF-8, one object per line. A field without a value is left out, and times are ISO 8601 with their zone. Turns
come first, then memories, then documents, each in the order of creation. The counts show if a file was cut
off between two lines.
"""

import asyncio
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Annotated, Any, BinaryIO, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from scrubjay.errors import InputError
from scrubjay.models.envelopes import Envelope, envelope, redact_fields
from scrubjay.models.fields import (
    MAX_METADATA_NUMBER,
    Count,
    Importance,
    Instant,
    Metadata,
    Name,
    OneScope,
    parse_instant,
)
from scrubjay.models.input_errors import sentences
from scrubjay.models.records import AnyRecord, Document, Memory, Turn, content_hash
from scrubjay.models.requests import Request, parse
from scrubjay.models.results import Result
from scrubjay.records import versions
from scrubjay.records.passages import record_change
from scrubjay.store.changes import TABLE_OF, Change, Plan
from scrubjay.store.store import Store

LONGEST_LINE = 400_000_000  # bytes: a document of 50 MB with every character escaped
FORMAT = "scrubjay-export"
# The version of the line format: a new field does not change it, a new meaning of an old field does.
FORMAT_VERSION = 1

KINDS: dict[str, type[Turn] | type[Memory] | type[Document]] = {
    "turn": Turn,
    "memory": Memory,
    "document": Document,
}
_PREFIXES = {"turn": "turn_", "memory": "mem_", "document": "doc_"}  # one id must never name two kinds

Whole = Annotated[Count, Field(ge=0, le=MAX_METADATA_NUMBER)]
# Fields that recalls change; they are ignored when two records are compared.
USAGE_FIELDS = frozenset({"last_accessed_at", "access_count"})


class RecordCounts(BaseModel):
    """The number of records of each kind."""

    model_config = ConfigDict(frozen=True)

    turns: Whole = 0
    memories: Whole = 0
    documents: Whole = 0

    @property
    def total(self) -> int:
        """The number of all records."""
        return self.turns + self.memories + self.documents


class Header(BaseModel):
    """The first line of an export."""

    model_config = ConfigDict(frozen=True)  # fields that a newer version adds are ignored

    format: Literal["scrubjay-export"] = "scrubjay-export"
    version: Whole = FORMAT_VERSION
    scrubjay: str  # the version of Scrubjay that wrote the export
    exported_at: Instant
    scope: OneScope | None = None  # None: the export covers every scope
    counts: RecordCounts


class ImportRecords(Request):
    """Some records of an export, as the write-ahead log keeps them: each the object of its line."""

    records: list[dict[str, Any]]


class Imported(Result):
    """The counts of an import; records that exist with other contents are not imported."""

    added: int
    same: int
    different: int
    differing: tuple[str, ...] = ()  # ids of the different records
    redacted: int

    def plus(self, other: "Imported") -> "Imported":
        """Return the sum of two answers."""
        return Imported(**{name: value + getattr(other, name) for name, value in self})


class Exported(Result):
    """The number of records of each kind in an export, and its size."""

    turns: int
    memories: int
    documents: int
    bytes: int


class _Limits(BaseModel):
    """The limits of fields that records of several kinds have."""

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


def first_line(header: Header) -> bytes:
    """Return the header as the first line of an export."""
    return _line(header.model_dump(mode="json", exclude_none=True))


def line_of(record: AnyRecord) -> bytes:
    """Return a record as a line of an export."""
    return _line(values_of(record))


def _line(values: dict[str, Any]) -> bytes:
    return json.dumps(values, ensure_ascii=False).encode() + b"\n"


def read_header(file: BinaryIO) -> Header:
    """Read the header of an export. Raises InputError if the file is not an export, or of a newer format."""
    try:
        values = json.loads(file.readline(100_000).decode("utf-8-sig"))
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise InputError(
            f"This is not a Scrubjay export: its first line does not say {FORMAT}. The export of another "
            "program needs its name, as in `scrubjay import --from chatgpt FILE`."
        )
    version = values.get("version")
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise InputError(
            f"This export was written by a newer Scrubjay ({str(values.get('scrubjay'))[:40]}, "
            f"format {str(version)[:20]}; this one reads format {FORMAT_VERSION}). Upgrade Scrubjay."
        )
    try:
        return Header.model_validate(values)
    except ValidationError as error:
        reasons = sentences(Header.model_fields, error.errors(include_url=False))
        raise InputError(f"The first line of the export is damaged: {reasons}") from None


def read_records(file: BinaryIO, header: Header) -> Iterator[tuple[AnyRecord, int]]:
    """Yield each record with the size of its line; check the number of records against the header.

    Raises InputError, which names the line, if a line is damaged or lines are missing.
    """
    line_number, count = 1, 0
    while line := file.readline(LONGEST_LINE):
        line_number += 1
        if line.strip():
            count += 1
            yield _record(line, line_number), len(line)
    if count != header.counts.total:
        problem = "was cut off" if count < header.counts.total else "was altered"
        raise InputError(
            f"The export {problem}: its first line promises {header.counts.total:,} records, "
            f"and line {line_number:,} ends it after {count:,}."
        )


def _record(line: bytes, line_number: int) -> AnyRecord:
    try:
        values = json.loads(line.decode())
    except (ValueError, RecursionError):
        raise InputError(f"Line {line_number:,} is cut off or damaged: it is not JSON in UTF-8.") from None
    if not isinstance(values, dict):
        kind = type(values).__name__
        raise InputError(f"Line {line_number:,} is damaged: it is a {kind}, not a record.")
    try:
        return record_of(values)
    except InputError as error:
        raise InputError(f"Line {line_number:,} is not a valid record: {error}") from error


def values_of(record: AnyRecord) -> dict[str, Any]:
    """Return a record as the object of its line: `kind`, then every field that has a value."""
    kind = next(name for name, model in KINDS.items() if isinstance(record, model))
    values = {name: value for name, value in record.model_dump(mode="json").items() if value is not None}
    return {"kind": kind, **values}


def record_of(values: Mapping[str, Any]) -> AnyRecord:
    """Return the record of a line's object; the inverse of `values_of`. Raises InputError with the field."""
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
        raise InputError(f"id = {record.id!r}: the id of a {kind} begins with {_PREFIXES[kind]}.")
    for name, value in record:
        if isinstance(value, datetime):
            try:
                parse_instant(value)
            except ValueError as error:
                raise InputError(f"{name} = {value.isoformat()!r}: {error}.") from None
            if value.tzinfo is None:
                raise InputError(f"{name} = {value.isoformat()!r}: must have a time zone, such as Z.")
        texts = (value,) if isinstance(value, str) else value if isinstance(value, tuple) else ()
        if any("\x00" in text for text in texts):
            raise InputError(f"{name} contains a NUL character; remove it.")
    return record


async def plan_import(store: Store, request: Envelope, now: datetime) -> Plan[Imported]:
    """Plan the import of records: new ones are added unchanged, existing ones stay.

    So an interrupted import can be repeated: it adds the missing records, and nothing twice. If a version is
    the latest here but replaced in the export, it is marked as replaced here too.
    """
    records = [record_of(values) for values in parse(ImportRecords, request.args).records]
    stored: dict[str, AnyRecord] = {}
    for kind in TABLE_OF:
        if ids := [record.id for record in records if isinstance(record, kind)]:
            stored.update(await store.get(kind, ids))
    added: dict[str, AnyRecord] = {}
    replaced: dict[str, Change] = {}
    same, differing = 0, []
    for record in records:
        existing = stored.get(record.id) or added.get(record.id)
        if existing is None:
            added[record.id] = record
        elif change := _replacement(stored.get(record.id), record):
            replaced[record.id] = change
            same += 1
        elif _differences(existing, record):
            differing.append(record.id)
        else:
            same += 1
    # In a thread, because cutting large documents takes seconds, which would block other requests.
    records = [_with_own_hash(record) for record in added.values()]
    changes = await asyncio.to_thread(lambda: [record_change(each, is_known=False) for each in records])
    counts = {"added": len(added), "same": same, "different": len(differing), "redacted": request.redacted}
    return Plan(Imported(**counts, differing=tuple(differing)), [*changes, *replaced.values()])


def _replacement(stored: AnyRecord | None, imported: AnyRecord) -> Change | None:
    """Return the change that marks a stored version as replaced, if the export differs only in that."""
    if not (isinstance(stored, Memory) and stored.is_latest):
        return None
    if not (isinstance(imported, Memory) and imported.replaced_at):
        return None
    is_same_fact = _differences(stored, imported) <= {"is_latest", "replaced_at", "updated_at"}
    return versions.replace(stored, imported.replaced_at) if is_same_fact else None


def _with_own_hash(record: AnyRecord) -> AnyRecord:
    """Recompute the hash of a fact, because a wrong hash would make another fact look known."""
    if not isinstance(record, Memory):
        return record
    return record.model_copy(update={"content_hash": content_hash(record.content)})


def import_envelope(records: Iterable[AnyRecord], *, scope: str, source: str, at: datetime) -> Envelope:
    """Return the envelope that imports these records, with placeholders for secrets."""
    pairs = [redact_record(record) for record in records]
    request = ImportRecords(records=[values_of(record) for record, _ in pairs])
    import_entry = envelope("import", request, scope=scope, source=source, at=at)
    return import_entry.model_copy(update={"redacted": sum(count for _, count in pairs)})


def redact_record(record: AnyRecord) -> tuple[AnyRecord, int]:
    """Return a record without secrets, which a hand-made export may have, and their number."""
    texts = {name: value for name, value in record if isinstance(value, str | dict | tuple)}
    values, count = redact_fields(texts)
    if not count:
        return record, 0
    if not isinstance(record, Turn):
        values["content_hash"] = content_hash(values["content"])
    update = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    return record.model_copy(update=update), count


def _differences(record: AnyRecord, other: AnyRecord) -> set[str]:
    """Return the names of the fields in which two records differ, except `USAGE_FIELDS`."""
    return {
        name
        for name in type(record).model_fields
        if name not in USAGE_FIELDS and getattr(record, name) != getattr(other, name)
    }
