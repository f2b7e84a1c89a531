"""The stored records (turns, memories, documents), and passages, an index that can be rebuilt from them.

Arrow schemas are computed from these classes (`scrubjay.store.schema`), so a new field is added only here.
"""

import hashlib
import unicodedata
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict

from scrubjay.transcripts.failures import Failure, unpacked

Relation = Literal["updates", "extends", "derives"]


class Row(BaseModel):
    """A frozen row of one table."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Record(Row):
    """The fields that every turn, memory and document has."""

    id: str
    scope: str
    partition_id: str
    tags: tuple[str, ...] = ()
    importance_score: float = 5.0  # 0-10
    source: str
    metadata: dict[str, Any] = {}
    created_at: datetime
    updated_at: datetime
    last_accessed_at: datetime
    access_count: int = 0
    expires_at: datetime | None = None
    forgotten_at: datetime | None = None
    forget_reason: str | None = None


class Turn(Record):
    """One user prompt and everything answered to it; or, with `role` and `text`, another speaker's words.

    Turns of a session are numbered from 0 and ordered by (`started_at`, `turn`).
    """

    session_id: str
    turn: int
    prompt_id: str | None = None
    user: str | None = None
    assistant: str | None = None
    role: str | None = None
    text: str | None = None
    summary: str | None = None
    tools: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    host: str | None = None
    capture: str | None = None  # summary_only: only its summary is searchable
    started_at: datetime
    alike: tuple[str, ...] = ()  # turns with nearly the same words; only versions before 0.2.0 write it
    # When its texts were purged. The row stays, so that the turn keeps its number and is not recorded again.
    purged_at: datetime | None = None

    @property
    def came_from(self) -> str:
        """The host of the turn, or the program that recorded it if no host is known."""
        return self.host or self.source

    @property
    def commands(self) -> tuple[str, ...]:
        """The shortened shell commands that ran in the turn; capture keeps them in the metadata."""
        commands = self.metadata.get("commands")
        return tuple(map(str, commands)) if isinstance(commands, list) else ()

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The commands that failed in the turn, with their errors; capture keeps them in the metadata."""
        failed = self.metadata.get("failed")
        return tuple(unpacked(failed)) if isinstance(failed, list) else ()


class Memory(Record):
    """One version of one fact."""

    root_id: str
    version: int = 1
    is_latest: bool = True
    replaced_at: datetime | None = None  # when a newer version replaced it
    relation: Relation | None = None
    parent_ids: tuple[str, ...] = ()
    content: str
    content_hash: str
    is_static: bool = False
    session_id: str | None = None
    turn: int | None = None
    document_ids: tuple[str, ...] = ()
    occasions: tuple[str, ...] = ()  # sessions and days of repetitions that made it more important
    alike: tuple[str, ...] = ()  # older facts with the same meaning
    review: Literal["approved", "declined"] | None = None  # by the user; "declined" only up to 0.2.0


COMMIT = "commit"  # the type of a document that is the message of a commit


class Document(Record):
    """One document as it was given."""

    custom_id: str | None = None
    title: str | None = None
    type: str = "text"
    path: str | None = None
    content: str
    content_hash: str
    summary: str | None = None
    status: str = "done"  # or failed
    error: str | None = None  # why it failed
    chunk_count: int = 0
    file_size: int | None = None  # bytes of the file at `path` when it was read
    file_mtime: int | None = None  # nanoseconds since 1970
    file_digest: str | None = None
    folder: str | None = None  # the indexed folder; None for a file added by its own path
    filepath: str | None = None  # the client's own path for it, not a file on this machine
    task_type: Literal["memory", "superrag"] | None = None  # memory: its paragraphs are facts too
    dated_at: datetime | None = None  # the date of its content, if given

    @property
    def place(self) -> str | None:
        """The path of the document's file, or else the client's own path."""
        return self.path or self.filepath


Src = Literal["memory", "turn", "chunk"]
# A session's summary is a memory that searches of turns leave out, because it would repeat them.
PassageSrc = Literal[Src, "summary"]
SUMMARY = "engine:summary"  # the source of a memory that summarises the turns of a session


class Passage(Row):
    """One searchable piece of a record. `text` is returned, `search_text` is indexed."""

    id: str
    src: PassageSrc
    record_id: str
    part: int  # 0-based within (record, role)
    # user, assistant, summary or a speaker's name; None for facts; COMMIT or None for chunks
    role: str | None = None
    text: str
    search_text: str
    # The embedded text, if it differs from `text`: a speaker's name or a chunk's headings come first in it.
    embed_text: str | None = None
    scope: str
    partition_id: str
    tags: tuple[str, ...] = ()
    importance_score: float = 5.0
    session_id: str | None = None
    turn: int | None = None
    host: str | None = None  # the host of a turn; None for facts and chunks
    dated_at: datetime  # started_at of a turn, otherwise created_at
    expires_at: datetime | None = None
    hidden: bool = False  # forgotten, or replaced by a newer version
    hidden_at: datetime | None = None  # since when it is hidden
    title: str | None = None
    path: str | None = None
    line_start: int | None = None  # 1-based, of a chunk
    line_end: int | None = None
    facets: str | None = None  # the metadata of its record, as `store.facets` encodes it for filters
    # its record's entity ids, as `entities.tie_words` encodes them; a turn has them on one passage only
    tied: str | None = None
    space_id: str | None = None  # the vector space of `vector` and `token_vectors`; None until embedded
    # The codes of its tokens; None for chunks, without late interaction, or if the model has no codes.
    token_vectors: bytes | None = None


AnyRecord = Turn | Memory | Document
R = TypeVar("R", bound=Record)
NOT_FORGOTTEN = {"forgotten_at": None, "forget_reason": None}  # values of a restored record


def is_current(record: AnyRecord, now: datetime) -> bool:
    """Return True if a record is neither forgotten nor expired nor, as a fact, replaced by a newer version.

    `store.conditions.current` is the same condition for rows.
    """
    is_replaced = isinstance(record, Memory) and not record.is_latest
    is_expired = record.expires_at is not None and record.expires_at <= now
    return record.forgotten_at is None and not is_replaced and not is_expired


def changed(record: R, values: Mapping[str, Any], at: datetime) -> R:
    """Return a copy with these values that was updated `at`, or the record itself if no value changes."""
    updated = record.model_copy(update=values)
    return record if updated == record else updated.model_copy(update={"updated_at": at})


def hidden_since(record: AnyRecord) -> datetime | None:
    """Return when a record was forgotten or replaced, whichever came first, or None if it is visible."""
    replaced = record.replaced_at if isinstance(record, Memory) else None
    return min((at for at in (record.forgotten_at, replaced) if at is not None), default=None)


def derived_id(prefix: str, *parts: str) -> str:
    """Return a reproducible id of some parts: a prefix and 24 hex digits of a hash (96 bits).

    >>> derived_id("turn", "a", "b") == derived_id("turn", "a", "b") != derived_id("turn", "ab")
    True
    """
    key = "\x00".join(f"{len(part)}:{part}" for part in parts)
    return f"{prefix}_{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"


def fields_of(source: object, *names: str) -> dict[str, Any]:
    """Return some fields of a record or request, by name, for another class with the same fields."""
    return {name: getattr(source, name) for name in names}


_CLOSING = ".!…;,:。"


def content_hash(text: str) -> str:
    """Hash a text, ignoring case, white space and the Unicode form of accents."""
    plain = unicodedata.normalize("NFC", text).casefold()
    return hashlib.sha256(" ".join(plain.split()).encode()).hexdigest()[:32]


def fact_hashes(text: str) -> set[str]:
    """Return the hashes of a fact's text with each possible closing punctuation, except a question mark.

    Stored hashes include the punctuation; all variants together also find facts in older homes.
    """
    bare = text.rstrip().rstrip(_CLOSING).rstrip()
    return {content_hash(text), *(content_hash(bare + end) for end in ("", *_CLOSING, "...", " !"))}
