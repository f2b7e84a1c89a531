"""What is stored: records (turns, memories, documents), and passages, an index that can be rebuilt from them.

Arrow schemas are computed from these classes (`scrubjay.store.schema`), so a field is added here and nowhere
else.
"""

import hashlib
import unicodedata
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

Relation = Literal["updates", "extends", "derives"]


class Row(BaseModel):
    """A frozen row of one table."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Record(Row):
    """What every turn, memory and document has."""

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
    """One user prompt and everything answered to it; or, with `role` and `text`, what another speaker said.

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
    capture: str | None = None  # summary_only: its summary alone is searchable
    started_at: datetime
    alike: tuple[str, ...] = ()  # ids of older turns of other sessions with nearly the same words
    # Since when its texts are gone for good; the rest holds its place, and prevents a second recording.
    purged_at: datetime | None = None

    @property
    def came_from(self) -> str:
        """The host that it was said to, else who recorded it."""
        return self.host or self.source

    @property
    def commands(self) -> tuple[str, ...]:
        """The shell commands that were run in it, in brief; capture keeps them in the metadata."""
        commands = self.metadata.get("commands")
        return tuple(map(str, commands)) if isinstance(commands, list) else ()


class Memory(Record):
    """One fact, one version."""

    root_id: str
    version: int = 1
    is_latest: bool = True
    replaced_at: datetime | None = None  # when a newer version took its place
    relation: Relation | None = None
    parent_ids: tuple[str, ...] = ()
    content: str
    content_hash: str
    is_static: bool = False
    session_id: str | None = None
    turn: int | None = None
    document_ids: tuple[str, ...] = ()
    occasions: tuple[str, ...] = ()  # sessions and days of repetitions that made it more important
    alike: tuple[str, ...] = ()  # older facts that say the same in other words
    review: Literal["approved", "declined"] | None = None  # of an inferred fact


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
    folder: str | None = None  # that was indexed; None for a file that was named itself
    filepath: str | None = None  # where a client files it, which is no file of this machine
    task_type: Literal["memory", "superrag"] | None = None  # memory: its paragraphs are facts too
    dated_at: datetime | None = None  # when its content is from, if somebody said

    @property
    def place(self) -> str | None:
        """Where it is found by path."""
        return self.path or self.filepath


Src = Literal["memory", "turn", "chunk"]
# A session's summary is a memory that a search of turns leaves out: it would only repeat them.
PassageSrc = Literal[Src, "summary"]
SUMMARY = "engine:summary"  # the source of a memory that was made of the turns of a session


class Passage(Row):
    """One searchable piece of a record. `text` is what is returned, `search_text` what is indexed."""

    id: str
    src: PassageSrc
    record_id: str
    part: int  # 0-based within (record, role)
    role: str | None = None  # user | assistant | summary | a speaker's name; None for facts and chunks
    text: str
    search_text: str
    # What the vector is made of, if not `text`: a speaker's name before it, headings before a chunk.
    embed_text: str | None = None
    scope: str
    partition_id: str
    tags: tuple[str, ...] = ()
    importance_score: float = 5.0
    session_id: str | None = None
    turn: int | None = None
    host: str | None = None  # that a turn came from; None for facts and chunks
    dated_at: datetime  # a turn's started_at, else created_at
    expires_at: datetime | None = None
    hidden: bool = False  # forgotten, or replaced by a newer version
    hidden_at: datetime | None = None  # since when
    title: str | None = None
    path: str | None = None
    line_start: int | None = None  # 1-based, of a chunk
    line_end: int | None = None
    facets: str | None = None  # the metadata of its record, as `store.facets` spells it for filters
    # its record's ties, as `entities.tie_words` writes them; on one passage of a turn
    tied: str | None = None
    space_id: str | None = None  # the vector space of `vector` and `token_vectors`; None until embedded
    # The codes of its tokens; None for chunks, while late interaction is off, or if the model gives none.
    token_vectors: bytes | None = None


AnyRecord = Turn | Memory | Document


def is_current(record: AnyRecord, now: datetime) -> bool:
    """Whether a record is neither forgotten nor expired nor, if it is a fact, replaced by a newer version.

    `store.conditions.current` says the same of rows.
    """
    replaced = isinstance(record, Memory) and not record.is_latest
    expired = record.expires_at is not None and record.expires_at <= now
    return record.forgotten_at is None and not replaced and not expired


def hidden_since(record: AnyRecord) -> datetime | None:
    """Find when a record was forgotten or replaced, whichever came first; None while searches can find it."""
    replaced = record.replaced_at if isinstance(record, Memory) else None
    return min((at for at in (record.forgotten_at, replaced) if at is not None), default=None)


def derived_id(prefix: str, *parts: str) -> str:
    """Make the id of some parts, always the same: a prefix and 24 hex digits of a hash (96 bits).

    >>> derived_id("turn", "a", "b") == derived_id("turn", "a", "b") != derived_id("turn", "ab")
    True
    """
    key = "\x00".join(f"{len(part)}:{part}" for part in parts)
    return f"{prefix}_{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"


def fields_of(source: object, *names: str) -> dict[str, Any]:
    """Return some fields of a record or request by name, for another that has fields of these names too."""
    return {name: getattr(source, name) for name in names}


_CLOSING = ".!…;,:。"


def content_hash(text: str) -> str:
    """Hash a text so that case, white space and how Unicode spells an accent do not count."""
    plain = unicodedata.normalize("NFC", text).casefold()
    return hashlib.sha256(" ".join(plain.split()).encode()).hexdigest()[:32]


def fact_hashes(text: str) -> set[str]:
    """Return the hashes of a fact's text with every closing punctuation; a question is another one.

    Hashes of stored facts keep theirs, so that those of older homes are met as well.
    """
    bare = text.rstrip().rstrip(_CLOSING).rstrip()
    return {content_hash(text), *(content_hash(bare + end) for end in ("", *_CLOSING, "...", " !"))}
