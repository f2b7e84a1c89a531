"""Records as Hebb Mind's clients see them: facts and turns alike are memories.

A fact keeps one id through all of its versions, the id of its first one; a turn is a memory in `mem_episodic` whose metadata say which.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scrubjay.engine.core import Core
from scrubjay.models import records
from scrubjay.rest.hebb.wire import Memory
from scrubjay.shown import whole


async def as_memories(core: Core, found: Sequence[records.Memory | records.Turn]) -> list[Memory]:
    """Each record as a memory; one with older versions was created when the first of them was."""
    roots = {record.root_id for record in found if isinstance(record, records.Memory) and record.root_id != record.id}
    first = await core.store.get(records.Memory, roots, columns=["id", "created_at"]) if roots else {}
    return [_fact(record, first.get(record.root_id)) if isinstance(record, records.Memory) else _turn(record) for record in found]


async def as_memory(core: Core, record: records.Memory | records.Turn) -> Memory:
    """One record as a memory, with what was noted of its accesses and is not yet written."""
    (made,) = await as_memories(core, [core.access.counted(record)])
    return made


def _fact(record: records.Memory, first: records.Memory | None) -> Memory:
    return Memory(
        id=record.root_id,
        content=record.content,
        metadata=record.metadata,
        created_at=first.created_at if first else record.created_at,
        **_common(record),
    )


def _turn(record: records.Turn) -> Memory:
    place = {"session_id": record.session_id, "turn": record.turn}
    return Memory(
        id=record.id, content=whole(record), metadata={**record.metadata, **place}, created_at=record.started_at, **_common(record)
    )


def _common(record: records.Memory | records.Turn) -> dict[str, Any]:
    return {
        "partition_id": record.partition_id,
        "importance_score": record.importance_score,
        "tags": list(record.tags),
        "source": record.source,
        "updated_at": record.updated_at,
        "last_accessed_at": record.last_accessed_at,
        "access_count": record.access_count,
        "expires_at": record.expires_at,
    }
