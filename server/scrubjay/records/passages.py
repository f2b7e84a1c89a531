"""What is searchable of a record, whatever its kind. Knows who cuts which; does not know how."""

from __future__ import annotations

from scrubjay.models.records import AnyRecord, Memory, Passage, Turn
from scrubjay.records import documents, memories, turns


def passages_of(record: AnyRecord) -> tuple[Passage, ...]:
    """All passages of a record, without vectors; hidden ones where the record is forgotten or replaced."""
    if isinstance(record, Turn):
        return turns.passages(record)
    return (memories.passage(record),) if isinstance(record, Memory) else documents.passages(record)
