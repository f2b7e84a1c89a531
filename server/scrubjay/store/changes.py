"""What one write does to the tables, and the writes that wait for the next group commit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from scrubjay.models.records import AnyRecord, Document, Memory, Passage, Turn, hidden_since

TABLE_OF: dict[type, str] = {Turn: "turns", Memory: "memories", Document: "documents"}


@dataclass(frozen=True)
class Change:
    """One record as it will be, with all of its passages (None: they stay as they are).

    `rewritten` says that the record existed before, so that passages it no longer has must go.
    """

    record: AnyRecord
    passages: tuple[Passage, ...] | None = None
    rewritten: bool = False
    hidden: bool = False  # its passages leave every search


@dataclass
class Staged:
    """Writes by id, the latest of each; a group commit takes them all at once."""

    changes: dict[str, Change] = field(default_factory=dict)

    def add(self, change: Change) -> None:
        earlier = self.changes.get(change.record.id)
        if earlier and change.passages is None and earlier.passages is not None:
            change = Change(
                change.record, earlier.passages, earlier.rewritten, earlier.hidden or change.hidden
            )
        elif earlier:
            hidden = change.hidden or (
                change.passages is None and earlier.hidden
            )  # new passages say themselves whether they are
            change = Change(change.record, change.passages, earlier.rewritten or change.rewritten, hidden)
        self.changes[change.record.id] = change

    def record(self, id: str) -> AnyRecord | None:
        change = self.changes.get(id)
        return change.record if change else None

    def records(self, kind: type) -> list[AnyRecord]:
        return [change.record for change in self.changes.values() if isinstance(change.record, kind)]

    def passages(self) -> list[Passage]:
        found: Iterable[Passage] = (
            piece.model_copy(update={"hidden": True, "hidden_at": hidden_since(change.record)})
            if change.hidden
            else piece
            for change in self.changes.values()
            for piece in change.passages or ()
        )
        return list({piece.id: piece for piece in found}.values())

    def hidden(self) -> dict[datetime | None, list[str]]:
        """The records whose passages on disk leave every search, by the time since when."""
        found: dict[datetime | None, list[str]] = {}
        for id, change in self.changes.items():
            if change.hidden and change.passages is None:
                found.setdefault(hidden_since(change.record), []).append(id)
        return found

    def __bool__(self) -> bool:
        return bool(self.changes)
