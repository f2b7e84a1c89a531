"""The changes that one write makes to the tables, and the writes waiting for the next group commit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Generic, NamedTuple, TypeVar

from scrubjay.models.records import AnyRecord, Document, Memory, Passage, Turn, hidden_since
from scrubjay.models.results import Result

A = TypeVar("A", bound=Result, covariant=True)
TABLE_OF: dict[type, str] = {Turn: "turns", Memory: "memories", Document: "documents"}


@dataclass(frozen=True)
class Change:
    """A record after a write, with all of its passages; `passages` is None if they do not change."""

    record: AnyRecord
    passages: tuple[Passage, ...] | None = None
    rewritten: bool = False  # the record existed, so its old passages must be removed
    hidden: bool = False  # searches must not find its passages any more


@dataclass(frozen=True)
class Plan(Generic[A]):
    """What a write will change in the store, and its answer to the caller; planning writes nothing.

    The bytes of the `purged` records are removed once all acknowledged writes are on the disk.
    """

    answer: A
    changes: Sequence[Change] = ()
    purged: tuple[str, ...] = ()


class Embedding(NamedTuple):
    """A passage's vector and token codes from the model. The fields are columns."""

    vector: Any  # (dim,) numbers
    token_vectors: bytes | None
    space_id: str | None


@dataclass
class Staged:
    """Waiting writes by record id, the latest of each; one group commit takes them all.

    `fresh` means that none of them can be on disk. `embeddings` were computed before the commit.
    """

    changes: dict[str, Change] = field(default_factory=dict)
    embeddings: dict[str, Embedding] = field(default_factory=dict)
    fresh: bool = True

    def add(self, change: Change, *, fresh: bool = False) -> None:
        """Add a change, merged with an earlier one of the same record."""
        self.fresh = self.fresh and fresh and change.passages is not None and not change.rewritten
        if earlier := self.changes.get(change.record.id):
            change = replace(change, rewritten=earlier.rewritten or change.rewritten)
            if change.passages is None:  # new passages carry their own `hidden`
                is_hidden = earlier.hidden or change.hidden
                change = replace(change, passages=earlier.passages, hidden=is_hidden)
        self.changes[change.record.id] = change

    def record(self, record_id: str) -> AnyRecord | None:
        """Return the record with this id, or None."""
        change = self.changes.get(record_id)
        return change.record if change else None

    def records(self, kind: type) -> list[AnyRecord]:
        """Return the records of one kind."""
        return [change.record for change in self.changes.values() if isinstance(change.record, kind)]

    def rewritten(self) -> list[str]:
        """Return the ids of the records whose passages are replaced."""
        return [
            record_id
            for record_id, change in self.changes.items()
            if change.rewritten and change.passages is not None
        ]

    def passages(self) -> list[Passage]:
        """Return the passages to write, the latest version of each."""
        passages: dict[str, Passage] = {}
        for change in self.changes.values():
            for passage in change.passages or ():
                hidden = {"hidden": True, "hidden_at": hidden_since(change.record)} if change.hidden else None
                passages[passage.id] = passage.model_copy(update=hidden) if hidden else passage
        return list(passages.values())

    def embed(self, embeddings: Mapping[str, Embedding]) -> dict[str, Embedding]:
        """Store the embeddings of staged passages here, and return the others."""
        staged_ids = {passage.id for change in self.changes.values() for passage in change.passages or ()}
        self.embeddings.update((each, embeddings[each]) for each in staged_ids & embeddings.keys())
        return {each: embedding for each, embedding in embeddings.items() if each not in staged_ids}

    def without_vectors(self) -> dict[str, bool]:
        """Map each record with staged passages to True if one of them has no vector."""
        return {
            record_id: any(passage.id not in self.embeddings for passage in change.passages)
            for record_id, change in self.changes.items()
            if change.passages is not None
        }

    def hidden(self) -> dict[datetime | None, list[str]]:
        """Return the ids of the records whose stored passages become hidden, by the time of hiding."""
        ids: dict[datetime | None, list[str]] = {}
        for record_id, change in self.changes.items():
            if change.hidden and change.passages is None:
                ids.setdefault(hidden_since(change.record), []).append(record_id)
        return ids

    def __bool__(self) -> bool:
        return bool(self.changes)
