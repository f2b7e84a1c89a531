"""Hebb Mind's API: the request bodies that its clients send, and the memories that they read."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from scrubjay.engine.core import Core
from scrubjay.http_api.answers import HEBB_ANSWERS, Answer
from scrubjay.models import records
from scrubjay.models.fields import MAX_MEMORY, Flag, Importance, Instant, Metadata, PartitionId, Text
from scrubjay.models.requests import Neighbours, Query, Share, Tags, Weight, about
from scrubjay.search.hits import turn_text

RESERVED_SOURCE = "engine:"  # begins the source of records that Scrubjay writes itself


class Body(BaseModel):
    """A body of Hebb Mind's API. Unknown fields are accepted; `warnings` of a write name them."""

    model_config = ConfigDict(frozen=True, extra="allow")

    def field_values(self, *excluded: str, **options: Any) -> dict[str, Any]:
        """Return the values of all fields but the excluded and unknown ones; `options` go to `model_dump`."""
        return self.model_dump(include=type(self).model_fields.keys() - set(excluded), **options)


def _dash_blanks(tags: object) -> object:
    """Replace blanks in tags with dashes: Hebb's clients turn folder names into tags."""
    if not isinstance(tags, list):
        return tags
    return [re.sub(r"\s+", "-", tag.strip()) if isinstance(tag, str) else tag for tag in tags]


def _without_nulls(metadata: object) -> object:
    """Drop the keys whose value is null; Hebb's clients send `session_id: null`."""
    if not isinstance(metadata, dict):
        return metadata
    return {key: value for key, value in metadata.items() if value is not None}


def _check_session_and_turn(metadata: dict[str, Any]) -> dict[str, Any]:
    session, turn = metadata.get("session_id"), metadata.get("turn")
    if session is not None and not (isinstance(session, str) and session.strip()):
        raise ValueError("session_id must be a text that names a session")
    if turn is not None and (isinstance(turn, bool) or not isinstance(turn, int) or turn < 0):
        raise ValueError("turn must be a whole number of at least 0")
    return metadata


def _check_source(source: str) -> str:
    if source.startswith(RESERVED_SOURCE):
        raise ValueError(f"sources that begin with {RESERVED_SOURCE!r} are Scrubjay's own; name another")
    return source


MemoryTags = Annotated[Tags, BeforeValidator(_dash_blanks)]
MemoryMetadata = Annotated[Metadata, BeforeValidator(_without_nulls), AfterValidator(_check_session_and_turn)]
Content = Annotated[
    Text, Field(max_length=MAX_MEMORY, description="What to keep, in at most 10,000 characters.")
]
Source = Annotated[Text, Field(max_length=60), AfterValidator(_check_source)]


class MemoryCreate(Body):
    """One memory to keep.

    The same words again are the same memory, unless `metadata` names another session and turn.
    """

    content: Content
    partition_id: PartitionId = "mem_hippocampus"
    importance_score: Importance = 5.0
    tags: MemoryTags = []
    metadata: MemoryMetadata = {}
    source: Source | None = about("Where it is from; left out, api.")
    expires_at: Instant | None = about("No longer recalled, listed or read from then on.")


class MemoryUpdate(Body):
    """Changes to a memory. A field left out does not change; `metadata` replaces all metadata."""

    content: Content | None = None
    importance_score: Importance | None = None
    tags: MemoryTags | None = None
    metadata: MemoryMetadata | None = None


class MemoryQuery(Body):
    """What to recall, and how to weigh it.

    score = (weight_relevance * relevance + weight_importance * importance / 10 + weight_recency * recency)
    / the sum of the weights.
    """

    query: Query
    top_k: Annotated[int, Field(strict=True, ge=1, le=100)] = 10
    partition_ids: list[PartitionId] | None = about("Only these; none or left out, all.", max_length=1_000)
    tags: MemoryTags | None = about("Only memories that carry all of these.")
    weight_relevance: Weight = 1.0
    weight_importance: Weight = 1.0
    weight_recency: Weight = 1.0
    prev_turns: Neighbours = about(
        "Turns before each result to bring along, of its session and partition.", 0
    )
    next_turns: Neighbours = about("Turns after each result to bring along.", 0)
    min_score: Share | None = about("Least score of a result; 0 or left out, any.")
    strict_recall: Flag = about("Where no min_score is given: only what is likely about the query.", False)
    filter_score: Share | None = about("Another name of min_score, which wins over it.")

    @model_validator(mode="after")
    def _check_weights(self) -> Self:
        if self.weight_relevance + self.weight_importance + self.weight_recency == 0:
            weights = "weight_relevance, weight_importance and weight_recency"
            raise ValueError(f"{weights} are all 0; make at least one of them positive")
        return self


class IngestRequest(Body):
    """An exported conversation.

    Its turns are recorded as turns, in `mem_episodic`; sent again, nothing is recorded twice.
    """

    content: Annotated[Text, Field(max_length=500_000)]
    format_hint: str | None = about("claude_code, chatgpt or plain; else it is recognised.", max_length=100)
    partition_id: PartitionId = "mem_hippocampus"
    importance_score: Importance = 5.0
    source: Source | None = "ingest"


async def as_memories(core: Core, rows: Sequence[records.Memory | records.Turn]) -> list[Answer]:
    """Return records as memories; their access counts include recalls that are not yet written.

    A memory with older versions has the creation time of the first one.
    """
    facts = [row for row in rows if isinstance(row, records.Memory)]
    root_ids = {fact.root_id for fact in facts if fact.root_id != fact.id}
    roots = await core.lists.get(records.Memory, root_ids, columns=["id", "created_at"]) if root_ids else {}
    return [_memory(core.access.with_counts(row), roots) for row in rows]


async def as_memory(core: Core, record: records.Memory | records.Turn) -> Answer:
    """Return one record as a memory; see `as_memories`."""
    (memory,) = await as_memories(core, [record])
    return memory


def _memory(row: records.Memory | records.Turn, roots: Mapping[str, records.Memory]) -> Answer:
    values: dict[str, Any]
    if isinstance(row, records.Turn):
        values = {"id": row.id, "content": turn_text(row), "created_at": row.started_at}
        values["metadata"] = {**row.metadata, "session_id": row.session_id, "turn": row.turn}
    else:
        values = {"id": row.root_id, "content": row.content, "metadata": row.metadata}
        values["created_at"] = roots.get(row.root_id, row).created_at
    return HEBB_ANSWERS.fill("Memory", row, **values)
