"""Memories: single facts. How one is added, recognised as known, and made searchable."""

from __future__ import annotations

from datetime import datetime

from scrubjay.ids import content_hash, derived_id
from scrubjay.likeness import alike
from scrubjay.models.envelopes import Envelope
from scrubjay.models.records import Memory, Passage
from scrubjay.models.requests import AddMemory, parse
from scrubjay.models.results import Hit, MemoryAdded
from scrubjay.plans import Plan
from scrubjay.store import sql
from scrubjay.store.changes import Change
from scrubjay.store.store import Store
from scrubjay.terms import expand, query_terms

SIMILAR = 0.75  # wording likeness from which an older fact is shown beside a new one
SIMILAR_SHOWN = 3


async def plan_add(store: Store, envelope: Envelope, now: datetime) -> Plan[MemoryAdded]:
    """What adding this fact does: a new memory, or nothing if the scope already knows it in the same words."""
    request = parse(AddMemory, envelope.args)
    id = derived_id("mem", envelope.scope, envelope.id)
    known = await _known(store, envelope.scope, content_hash(request.content), now)
    if known and known.id != id:
        return Plan(
            None, MemoryAdded(id=known.id, action="known", version=known.version, root_id=known.root_id, redacted=envelope.redacted)
        )
    memory = Memory(
        id=id,
        scope=envelope.scope,
        partition_id=request.partition_id,
        tags=tuple(dict.fromkeys(request.tags)),
        importance_score=request.importance,
        source=envelope.source,
        metadata=request.metadata,
        created_at=envelope.at,
        updated_at=envelope.at,
        last_accessed_at=envelope.at,
        expires_at=request.expires_at,
        root_id=id,
        content=request.content,
        content_hash=content_hash(request.content),
        is_static=request.is_static,
        session_id=_text(request.metadata.get("session_id")),
        turn=_number(request.metadata.get("turn")),
    )
    answer = MemoryAdded(
        id=id, action="stored", version=1, root_id=id, similar=await _similar(store, memory, now), redacted=envelope.redacted
    )
    return Plan(None if known else Change(memory, (passage(memory),)), answer)


def passage(memory: Memory) -> Passage:
    return Passage(
        id=derived_id("p", memory.id, memory.content),
        src="memory",
        record_id=memory.id,
        part=0,
        text=memory.content,
        search_text=expand(memory.content),
        scope=memory.scope,
        partition_id=memory.partition_id,
        tags=memory.tags,
        importance_score=memory.importance_score,
        session_id=memory.session_id,
        turn=memory.turn,
        dated_at=memory.created_at,
        expires_at=memory.expires_at,
        hidden=memory.forgotten_at is not None or not memory.is_latest,
    )


def visible(memory: Memory, now: datetime) -> bool:
    return memory.forgotten_at is None and memory.is_latest and (memory.expires_at is None or memory.expires_at > now)


async def _known(store: Store, scope: str, digest: str, now: datetime) -> Memory | None:
    rows = [row for row in store.staged(Memory) if row.scope == scope and row.content_hash == digest]
    rows += await store.select(Memory, sql.both(sql.equal("content_hash", digest), sql.equal("scope", scope)))
    return next((row for row in rows if visible(row, now)), None)


async def _similar(store: Store, memory: Memory, now: datetime) -> list[Hit]:
    """Older facts of the scope in nearly the same words, best first."""
    words = query_terms(memory.content[:500])
    if not words:
        return []
    where = sql.both(sql.equal("scope", memory.scope), sql.equal("src", "memory"), sql.equal("hidden", False))
    found = (await store.by_words(words, where, 10)).to_pylist()
    texts = {row["record_id"]: row["text"] for row in found}
    texts |= {row.id: row.content for row in store.staged(Memory) if row.scope == memory.scope}  # not in the index yet
    likeness = {id: alike(memory.content, text) for id, text in texts.items() if id != memory.id}
    near = sorted((id for id, value in likeness.items() if value >= SIMILAR), key=lambda id: -likeness[id])[:SIMILAR_SHOWN]
    rows = await store.get(Memory, near)
    return [hit(rows[id]) for id in near if id in rows and visible(rows[id], now)]


def hit(memory: Memory) -> Hit:
    """A fact as it is answered, without scores."""
    return Hit(
        id=memory.id,
        src="memory",
        memory=memory.content,
        session_id=memory.session_id,
        turn=memory.turn,
        date=memory.created_at,
        scope=memory.scope,
        partition_id=memory.partition_id,
        tags=memory.tags,
        source=memory.source,
        metadata=memory.metadata,
        version=memory.version,
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
