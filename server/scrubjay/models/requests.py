"""Requests: one class per tool, then classes for the other interfaces and for the write-ahead log."""

from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from scrubjay.errors import InputError
from scrubjay.models.fields import (
    MAX_MEMORY,
    MAX_TURN_TEXT,
    Count,
    Flag,
    Importance,
    Instant,
    Metadata,
    Moment,
    Name,
    OneScope,
    PartitionId,
    Real,
    Scope,
    Tag,
    Text,
    When,
)
from scrubjay.models.filters import Filters
from scrubjay.models.input_errors import sentences
from scrubjay.models.records import PassageSrc, Relation

MOST_TOKENS = 10_000  # the most tokens of an answer; Claude Code warns about longer answers

Weight = Annotated[Real, Field(ge=0, le=1000)]
Share = Annotated[Real, Field(ge=0, le=1)]
Budget = Annotated[Count, Field(ge=50, le=MOST_TOKENS)]
Neighbours = Annotated[Count, Field(ge=0, le=20)]
Query = Annotated[Text, Field(max_length=10_000)]
FactContent = Annotated[Text, Field(max_length=MAX_MEMORY)]
SideText = Annotated[Text, Field(max_length=MAX_TURN_TEXT)]
Labels = Annotated[list[Name], Field(max_length=200)]
Tags = Annotated[list[Tag], Field(max_length=100)]
Reason = Annotated[Text, Field(max_length=500)]
Path = Annotated[Text, Field(max_length=4_096)]
Names = Annotated[list[Name], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)]
Ids = Annotated[Names, Field(max_length=20)]
FILTERS = (
    'Only records whose metadata fits: {"AND": [{"key": "lang", "value": "go"}, '
    '{"key": "year", "value": 2024, "numericOperator": ">="}]}. '
    "AND and OR nest. filterType: metadata (equal), numeric, string_contains or array_contains; "
    "negate and ignoreCase are flags."
)

# Which commits to index: those of a path that is a repository's root; only commits and no files; no commits.
Commits = Literal["root", "only", "none"]


class Request(BaseModel):
    """A request of a tool, a route or the write-ahead log; unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


R = TypeVar("R", bound=Request)


def about(description: str, default: Any = None, **rules: Any) -> Any:
    """Return an optional field with a description; `rules` are pydantic's."""
    return Field(default=default, description=description, **rules)


class Form(Request):
    """The form of an answer."""

    structured: Flag = about("Also send the answer as structuredContent, for programs.", False)


class Include(Form):
    """What to add to each hit, and the form of the answer."""

    explain: Flag = about("Ranks, values, bonuses and weights behind each score.", False)
    related_memories: Flag = about(
        "Older and newer versions of a fact, and what it extends or derives from.", False
    )
    documents: Flag = about("The documents that a fact cites.", False)
    forgotten: Flag = about("Include forgotten and expired records.", False)


class SearchMemories(Request):
    """Recall facts and turns saved in earlier sessions."""

    query: Query = Field(description="What to recall, in plain words.")
    top_k: Annotated[Count, Field(ge=1, le=100)] | None = about(
        "Number of hits; by default, as many as matter."
    )
    max_tokens: Budget | None = about("Fill an answer of this many tokens in total.")
    search_mode: Literal["memories", "hybrid", "documents", "undistilled"] = about(
        "memories: facts and turns; documents: passages of documents; hybrid: all; undistilled: what "
        "was said since the last distill, in order.",
        "memories",
    )
    include_turns: Flag = about("False: only facts, and summaries of sessions instead of turns.", True)
    partition_ids: list[PartitionId] | None = about("Only these partitions, e.g. mem_preference.")
    tags: Tags | None = about("Only records that carry all of these tags.")
    scope: Scope | None = about("Default: this project and the user's own; *: every project.")
    session_id: Name | None = about("Only this session.")
    path: Path | None = about(
        "Only what shaped this file, newest first, with commits; also FILE:LINE or FILE:SYMBOL."
    )
    filters: Filters | None = about(FILTERS)
    threshold: Share = about("Least relevance_score of a hit, 0 to 1.", 0.0)
    weight_relevance: Weight = 1.0
    weight_importance: Weight = 0.1
    weight_recency: Weight = 0.1
    prev_turns: Neighbours = about("Turns before each hit to include.", 0)
    next_turns: Neighbours = about("Turns after each hit to include.", 0)
    since: When | None = about("Only from this time on: ISO 8601, or words such as last Tuesday.")
    until: When | None = about("Only before this time; a day counts to its end.")
    as_of: Instant | None = about(
        "Answer with what was known at this time (ISO 8601): versions current then, nothing newer."
    )
    now: Moment | None = about("The time to count ages from; by default, the present.")
    include: Include = Include()

    @property
    def weights(self) -> tuple[float, float, float]:
        """The weights of relevance, importance and recency in the score."""
        return self.weight_relevance, self.weight_importance, self.weight_recency

    @model_validator(mode="after")
    def _weights(self) -> Self:
        if sum(self.weights) == 0:
            weights = "weight_relevance, weight_importance and weight_recency"
            raise ValueError(f"all of {weights} are 0; make at least one of them positive")
        return self


class SearchRecords(SearchMemories):
    """A search by kinds of passages instead of a mode, for interfaces that separate facts and turns."""

    srcs: tuple[PassageSrc, ...]
    host: str | None = None  # only turns of this host


class SearchDocuments(Request):
    """Find passages of the documents that were added."""

    query: Query = Field(description="What to find.")
    limit: Annotated[Count, Field(ge=1, le=100)] = about("Number of documents.", 10)
    max_tokens: Budget | None = about(
        "Budget of the answer. Default: a few chunks; with limit 4,000, with include_full_docs 7,000."
    )
    chunk_threshold: Share = about("Least score of a relevant chunk; by default 0.5.", 0.5)
    document_threshold: Share = about("Least score of a document.", 0.0)
    doc_id: Name | None = about("Only this document, by id or custom_id.")
    path: Path | None = about("Only this file, or this folder.")
    filters: Filters | None = about(FILTERS)
    include_full_docs: Flag = about("Return each document's whole text.", False)
    include_summary: Flag = about("Return each document's summary.", False)
    only_matching_chunks: Flag | None = about(
        "False: also the chunks next to each. True: leave out documents without a relevant chunk."
    )
    scope: Scope | None = about("Default: this project and the user's own. '*': every project.")


class AddMemory(Request):
    """Save one fact."""

    content: FactContent = Field(description="One fact, understandable on its own.")
    partition_id: PartitionId = about(
        "mem_semantic (facts), mem_preference, mem_procedural (how to do), "
        "mem_episodic (events), mem_hippocampus (inbox).",
        "mem_semantic",
    )
    tags: Tags = []
    importance: Importance = about("0 to 10.", 5.0)
    metadata: Metadata = {}
    expires_at: Instant | None = about("Hidden from then on.")
    is_static: Flag = about("A lasting trait rather than a passing state.", False)
    updates: Ids = about("Ids of facts that this one replaces.", [])
    extends: Ids = about("Ids of facts that this one adds to; all stay.", [])
    derives: Ids = about("Ids of the facts, turns or documents that this one was derived from.", [])
    scope: OneScope | None = about("Default: this project; user: facts about the user in every project.")

    @property
    def link(self) -> tuple[Relation, tuple[str, ...]] | None:
        """The fact's relation to other facts, and their ids; None if it has no relation."""
        relations: tuple[Relation, ...] = ("updates", "extends", "derives")
        ids = {relation: tuple(dict.fromkeys(getattr(self, relation))) for relation in relations}
        return next(((relation, ids[relation]) for relation in relations if ids[relation]), None)

    @model_validator(mode="after")
    def _one_relation(self) -> Self:
        if sum(map(bool, (self.updates, self.extends, self.derives))) > 1:
            problem = "more than one of updates, extends and derives is given"
            raise ValueError(f"{problem}; give the one that fits best")
        return self


class RecordTurn(Request):
    """Record one turn of a session."""

    session_id: Name = Field(description="The session it belongs to.")
    user: SideText | None = about("What the user asked.")
    assistant: SideText | None = about("What the assistant answered.")
    text: SideText | None = about("What another speaker said; needs role.")
    role: Annotated[Text, Field(max_length=100)] | None = about(
        "Who said `text`; 'user' and 'assistant' fill those fields."
    )
    turn: Annotated[Count, Field(ge=0, le=10_000_000)] | None = about("0-based; by default, the next one.")
    prompt_id: Name | None = about("The host's id of the prompt: the same id is the same turn.")
    summary: Annotated[Text, Field(max_length=1_200)] | None = about("By default, one is generated.")
    tools: Labels = []
    files: Labels = []
    tags: Tags = []
    ts: Instant | None = about("When the turn started (ISO 8601, UTC without a zone); by default, now.")
    metadata: Metadata = {}
    scope: OneScope | None = about("Default: this project.")

    @model_validator(mode="after")
    def _check_texts(self) -> Self:
        if self.role is not None and self.text is None:
            raise ValueError("role is given without text; give the text that was said, or leave role out")
        if self.text is not None and self.role is None:
            raise ValueError("text is given without role; name the speaker, or use user / assistant")
        if self.user is None and self.assistant is None and self.text is None:
            raise ValueError("there is no text; give user, assistant, or text with role")
        side = {"user": self.user, "assistant": self.assistant}.get((self.role or "").lower())
        if side is not None:
            problem = f"both text with role {self.role!r} and {self.role!r} are given"
            raise ValueError(f"{problem}; give one of them")
        return self


class AddDocument(Request):
    """Add one document, or replace it."""

    content: Text | None = about("The text; or give path.")
    path: Path | None = about("A file under the project.")
    title: Annotated[Text, Field(max_length=500)] | None = about(
        "Default: the file's own, else the first heading or the file name."
    )
    custom_id: Name | None = about("Your own id: adding it again replaces the document.")
    metadata: Metadata = {}
    scope: OneScope | None = about("Default: this project.")

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.content is None) == (self.path is None):
            problem = "; neither is given" if self.content is None else ", not both"
            raise ValueError(f"give either content or path{problem}")
        return self


class Forget(Request):
    """Hide records from every search."""

    id: Name | None = about("The id of a memory, turn or document.")
    content: FactContent | None = about("The exact words of a fact, instead of its id.")
    query: Query | None = about("What the facts and turns to forget are about.")
    scope: OneScope | None = about("Where content and query search; by default, this project.")
    dry_run: Flag = about("Only list what would be forgotten.", False)
    reason: Reason | None = about("Why.")
    purge: Flag = about("Permanently delete it from the disk, older versions included.", False)

    @model_validator(mode="after")
    def _one_target(self) -> Self:
        given = [name for name in ("id", "content", "query") if getattr(self, name) is not None]
        if len(given) != 1:
            names = f"{' and '.join(given)} are given" if given else "none of them is given"
            raise ValueError(f"give one of id, content and query; {names}")
        return self


class AskProfile(Request):
    """Ask for a scope's profile, the facts to know before any question."""

    scope: OneScope | None = about("Default: this project.")
    max_tokens: Annotated[Count, Field(ge=50, le=4_000)] = about("For all facts together.", 400)


class Review(Request):
    """Keep a fact after looking at it."""

    id: Name
    action: Literal["keep"]


class FactText(AddMemory):
    """Save one fact, or a new version of a fact; `forget_reason` says why it expires at `expires_at`."""

    forget_reason: Reason | None = None


class ForgetRecords(Request):
    """A `Forget` with the ids that it chose, which the write-ahead log stores so that a replay keeps them."""

    # The log of an older Scrubjay has a single `id`.
    ids: Annotated[Names, Field(min_length=1)] = Field(validation_alias=AliasChoices("ids", "id"))
    reason: Reason | None = None
    purge: Flag = False


class ForgetMatching(Request):
    """Forget the facts of a scope that match a query, best first; `dry_run` only lists them."""

    query: Query
    scope: OneScope
    threshold: Share = 0.5  # least relevance; below it, a fact is more likely unrelated
    most: Annotated[Count, Field(ge=1, le=500)] = 100
    dry_run: Flag = False
    reason: Reason | None = None


class Restore(Request):
    """Bring back one forgotten record."""

    id: Name = Field(description="The id of a forgotten memory, turn or document.")


class FileState(Request):
    """A file when it was read: bytes, nanoseconds since 1970, a digest, and the indexed folder with it."""

    size: int
    mtime: int
    digest: str
    folder: str | None = None


class DocumentText(Request):
    """One text and its origin.

    `document_id` is the document that it replaces, which may have had another path; `error` says why the
    text is missing.
    """

    content: Text | None = None
    error: Annotated[Text, Field(max_length=2_000)] | None = None
    document_id: Name | None = None
    file: FileState | None = None
    path: str | None = None  # absolute
    type: str | None = None  # the file's type; None for text given directly
    title: str | None = None
    custom_id: Annotated[Text, Field(max_length=255)] | None = None
    metadata: Metadata = Field(default_factory=dict)
    tags: tuple[Tag, ...] = ()
    filepath: Path | None = None  # the client's own path for it; exact, and folders end in a slash
    task_type: Literal["memory", "superrag"] | None = None  # memory: its paragraphs become facts too
    date: Instant | None = None  # the date of the content
    # the metadata that an existing fact must have to count as one of this document
    group: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _text_or_error(self) -> Self:
        if (self.content is None) == (self.error is None):
            raise ValueError("a document has either content or an error")
        return self


class CommitText(Request):
    """One commit: its id, its date, and its message with the files that it changed."""

    id: Name
    date: Instant
    content: Text


class CommitTexts(Request):
    """Commits of one repository; `folder` is its common git folder."""

    folder: str
    commits: Annotated[list[CommitText], Field(min_length=1)]


def _without_nulls(kind: type[Request], arguments: dict[str, Any]) -> dict[str, Any]:
    """Drop arguments that are null and whose default is another value.

    Some clients send null for every argument that a model leaves out.
    """
    fields = kind.model_fields
    return {
        name: value
        for name, value in arguments.items()
        if value is not None
        or name not in fields
        or fields[name].is_required()
        or fields[name].get_default(call_default_factory=True) is None
    }


def parse(kind: type[R], arguments: dict[str, Any] | None) -> R:
    """Make a request from a caller's arguments.

    Raises:
        InputError: one sentence per mistake, each naming the field, the value and what to do.
    """
    try:
        return kind.model_validate(_without_nulls(kind, arguments or {}))
    except ValidationError as error:
        raise InputError(sentences(kind.model_fields, error.errors(include_url=False))) from None
