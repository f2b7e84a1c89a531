"""The results of the tools, as sent. Empty fields are left out.

Docstrings are sent with every list of tools, as descriptions, so a class whose fields explain
themselves has no docstring.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from scrubjay.models.records import Relation, Src

Score = Annotated[float, Field(ge=0, le=1)]


class Result(BaseModel):
    """An answer, or a part of one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def wire(self) -> dict[str, Any]:
        """Return the result as JSON values, without empty fields."""
        values: dict[str, Any] = _without_empty(self.model_dump(mode="json"))
        return values


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        full = ((key, item) for key, item in value.items() if item not in (None, {}))
        return {key: _without_empty(item) for key, item in full if item != [] or key in _SENT_EMPTY}
    if isinstance(value, float):
        return round(value, _DIGITS)
    return [_without_empty(item) for item in value] if isinstance(value, list) else value


_DIGITS = 7  # decimals: enough to reproduce a score from its parts to 1e-6; each one costs tokens
_SENT_EMPTY = frozenset({"results", "related", "chunks", "ids", "parents", "children", "static", "recent"})


class RetrieverResult(Result):
    """What one way of searching says about a hit."""

    rank: int  # from 1, among the results of this way of searching
    value: float  # the cosine, or the BM25 score


class WeightedScore(Result):
    value: Score
    weight: float


class Explanation(Result):
    """Where a score comes from, exactly.

    ranking_sum = the sum of `parts`. ranking = low + (high - low) * odds / (1 + odds), where [low, high] =
    `bounds` and odds = chance / (1 - chance) * e ** -fall. score = the mean of `score_parts`, each by its
    weight.
    """

    dense: RetrieverResult | None = None
    lexical: RetrieverResult | None = None
    parts: dict[str, float]
    ranking_sum: float
    verdict: dict[str, float]  # evidence that the answer is among the first candidates
    chance: Score  # probability that the hits hold the answer
    behind: float  # distance of the ranking sum from the best ranking sum
    fall: float  # how far the log odds are below those of the first hit
    bounds: tuple[Score, Score]
    score_parts: dict[str, WeightedScore]


class Linked(Result):
    """A record that a fact is linked to. `version` is the distance: -1 a parent, -2 its parent, 1 a child."""

    id: str
    src: Src
    memory: str
    relation: Relation  # from the younger to the older of the two records
    version: int
    updated_at: datetime
    metadata: dict[str, Any] = {}


class Context(Result):
    """The facts that a fact derives from and those derived from it; `related` leaves out versions."""

    parents: list[Linked] = []
    children: list[Linked] = []
    related: list[Linked] = []  # linked by extends or derives


class Source(Result):
    """A document that a fact cites."""

    id: str
    title: str | None = None
    type: str
    metadata: dict[str, Any] = {}
    created_at: datetime
    updated_at: datetime


class Mark(Result):
    """Why a hit may no longer hold: what became of the code that it names, noted at commit `at`."""

    text: str
    kind: Literal["changed", "gone", "moved", "branch"]
    path: str | None = None
    symbol: str | None = None
    now: str | None = None  # where it is now: a path, or a branch
    commits: int | None = None  # that changed the file since; 0: the change is not committed
    last: datetime | None = None
    at: str


Reason = Literal["window", "relation", "tag", "entity", "known", "update", "contradict", "similar"]


class Hit(Result):
    """One hit: a fact or a turn under `memory`, a document's passage under `chunk`; never both."""

    id: str
    src: Src
    memory: str | None = None
    chunk: str | None = None
    session_id: str | None = None
    turn: int | None = None
    role: str | None = None
    title: str | None = None
    date: datetime
    scope: str
    partition_id: str
    tags: tuple[str, ...] = ()
    source: str
    metadata: dict[str, Any] = {}
    version: int | None = None
    truncated: bool | None = None  # true: `memory` is a part; the resource scrubjay://turn/{id} has the whole
    score: Score | None = None
    relevance_score: Score | None = None  # of this record alone, independent of other records
    ranking_score: Score | None = None  # by its rank among all candidates; a part of `score`
    importance_score_normalized: Score | None = None
    recency_score: Score | None = None
    explain: Explanation | None = None
    is_latest: bool | None = None  # false: an older version, asked for by its time
    # if a newer fact has replaced the value in a hit: the id of that fact, and since when it holds
    replaced_by: str | None = None
    replaced_at: datetime | None = None
    # if a later record seems to amend a hit, without `updates`: that record, and its time
    amended_by: str | None = None
    amended_name: str | None = None  # the short name of that record, as shown
    amended_at: datetime | None = None
    mark: Mark | None = None
    note: str | None = None  # for a hit whose commands answer the query: which of them failed or passed
    contradicts: str | None = None  # the id of another fact of the answer that contradicts it
    forgotten_at: datetime | None = None
    forget_reason: str | None = None
    expires_at: datetime | None = None
    context: Context | None = None
    documents: list[Source] | None = None
    # for a related record, why it is included; for a similar one, its relation to the new fact
    reason: Reason | None = None
    # the tag or entity that a related record shares with a hit, or the id of the hit that it is linked to
    via: str | None = None


class Tokens(Result):
    """Estimated tokens, ceil(characters / 4): `spent` on hits as shown, `rendered` for the whole answer."""

    spent: int
    rendered: int | None = None
    budget: int | None = None


Confidence = Literal["strong", "weak", "none"]


class DocumentPlace(Result):
    """A passage of a document: the lines of the file at `path`, or of the text called `title`."""

    id: str
    path: str | None = None
    title: str | None = None
    scope: str
    lines: tuple[int, int]


MOST_LEFT_OUT = 10  # the selection ends after this many hits that did not fit


class MemoryHits(Result):
    """`confidence` says whether the hits are likely to hold the answer; with none there are no hits."""

    confidence: Confidence = "strong"
    results: list[Hit]
    related: list[Hit] = []
    total: int
    timing: float  # ms
    tokens: Tokens
    left_out: int | None = None  # hits that did not fit into the budget; if MOST_LEFT_OUT, there may be more
    period: str | None = None  # the period that was searched, if limited
    document: DocumentPlace | None = None  # a document that may answer as well as the hits
    commits: list[Hit] = []  # commits that may answer as well, best first
    # only without hits; true: documents exist, but `document` names none of them
    has_documents: bool | None = None
    # why the search could not use meaning or the latest writes, and how to repair that
    degraded: str | None = None
    # The hits' records by id: they are not sent, but save callers from reading them again.
    records: SkipJsonSchema[dict[str, Any]] = Field({}, exclude=True, repr=False)


class Chunk(Result):
    content: str
    score: Score
    is_relevant: bool
    position: int
    lines: tuple[int, int]


class DocumentHit(Result):
    document_id: str
    scope: str | None = None
    title: str | None = None
    type: str
    path: str | None = None
    score: Score
    chunks: list[Chunk]
    metadata: dict[str, Any] = {}
    created_at: datetime
    updated_at: datetime
    content: str | None = None
    truncated: bool | None = None  # true: `content` is the start; scrubjay://document/{id} has it all
    summary: str | None = None


class DocumentHits(Result):
    """`confidence` is that of `MemoryHits`, for the best chunk."""

    confidence: Confidence = "strong"
    results: list[DocumentHit]
    total: int
    timing: float
    tokens: Tokens
    left_out: int | None = None  # documents that did not fit into the budget
    chunks_left_out: int | None = None  # chunks of these documents that did not fit
    degraded: str | None = None


class TurnRecorded(Result):
    id: str
    session_id: str
    turn: int
    stored: bool
    updated: bool
    indexed: bool  # its vector is present
    forgotten: SkipJsonSchema[bool] = False  # it was forgotten before, and stays forgotten
    redacted: int


class SessionRecorded(Result):
    scope: str
    session_id: str
    added: int
    completed: int  # turns that were stored in part
    known: int
    redacted: int


class SessionsRecorded(Result):
    sessions: tuple[SessionRecorded, ...]  # in order


# updated: the fact got a newer version; different: the stored fact has other content, which stays
FactOutcome = Literal["added", "updated", "known", "different"]


class FactsAdded(Result):
    outcomes: tuple[FactOutcome, ...]  # one for each fact, in order
    redacted: int


NoteOutcome = Literal["added", "updated", "known", "restored"]


class MemoryFileKept(Result):
    """What became of the notes of a file, in order, and how many facts are hidden because they left it."""

    outcomes: tuple[NoteOutcome, ...]
    deleted: int = 0


class MemoryFilesKept(Result):
    """The answers for files of hosts' memories, in order."""

    files: tuple[MemoryFileKept, ...]
    missing: int = 0  # facts that are hidden because their file is gone
    redacted: int = 0


class MemoryAdded(Result):
    id: str
    action: Literal["stored", "known", "updated"]
    version: int
    root_id: str
    similar: SkipJsonSchema[list[Hit]] = []
    note: str | None = None  # about similar facts, or about the existing one
    redacted: int


class NotRead(Result):
    """A file without readable text, and the reason."""

    path: str
    reason: str


class Ingested(Result):
    """What happened to the files below some paths: how many documents are new, changed, and so on."""

    added: int
    changed: int
    renamed: int
    removed: int
    unchanged: int
    forgotten: SkipJsonSchema[int] = 0  # files skipped because their documents were forgotten
    failed: list[NotRead] = []
    passed_over: list[str] = []  # hidden folders
    commits: SkipJsonSchema[int] = 0  # messages of commits that are new
    left_out: list[NotRead] = []  # files that are no text, a sentence for each reason


class Written(Result):
    """How many records a write changed."""

    count: int


class DocumentAdded(Result):
    """One document; or, for a folder, `ingested` instead of an id."""

    id: str | None = None
    status: str
    chunks: int = 0
    redacted: int = 0
    ingested: Ingested | None = None


class ListedDocument(Result):
    """One document and its progress; `status` is queued, extracting, chunking, embedding, done or failed."""

    id: str | None = None
    title: str | None = None
    type: str | None = None
    path: str | None = None
    scope: str
    status: str
    error: str | None = None
    chunks: int = 0
    updated_at: datetime | None = None


class Forgotten(Result):
    ids: list[str]
    forgotten: int
    purged: int = 0
    # files of purged documents, which the next ingest of their folder reads
    files: SkipJsonSchema[list[str]] = []
    # until then, older versions in a bucket hold the purged text
    kept_until: SkipJsonSchema[datetime | None] = None
    newer: SkipJsonSchema[list[str]] = []  # newer versions of forgotten facts, which searches still find
    candidates: SkipJsonSchema[list[Hit]] = []  # in a dry run
    note: str | None = None  # a dry run's candidates, quoted


class Undone(Result):
    """The change that was taken back, the records that are current again or forgotten again, and refusals."""

    did: str
    ids: list[str]
    refused: list[str]


class Profile(Result):
    """What to know about a scope and its user before any question; `total` counts all facts."""

    scope: str
    static: list[Hit]
    recent: list[Hit]
    total: int
    spent: int  # estimated tokens of the texts


class Restored(Result):
    """The result of a restore; `unseen` says why searches still leave the record out.

    `newest` is the forgotten latest version of a fact that is not forgotten itself.
    """

    id: str
    restored: bool
    unseen: str | None = None
    newest: str | None = None
