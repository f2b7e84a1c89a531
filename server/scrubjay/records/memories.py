"""Memories: single facts. How one is added, recognised as known, given a new version, and made searchable. Does not know which links to
other facts are refused (`versions`), or what is like it (`similar`).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from scrubjay.errors import InputError
from scrubjay.models.envelopes import Envelope
from scrubjay.models.records import (
    SUMMARY,
    AnyRecord,
    Document,
    Memory,
    Passage,
    Relation,
    Turn,
    content_hash,
    derived_id,
    hidden_since,
    is_current,
)
from scrubjay.models.requests import FactText, parse
from scrubjay.models.results import Hit, MemoryAdded
from scrubjay.records import versions
from scrubjay.records.plans import Plan
from scrubjay.store import conditions
from scrubjay.store.changes import Change
from scrubjay.store.facets import facets
from scrubjay.store.store import Store
from scrubjay.text.entities import tie_words
from scrubjay.text.terms import expand

Place = tuple[str, int]  # a session, and the number of a turn in it
_SESSION = (
    "session_id",
    "turn",
)  # of metadata: where a fact was learned, which a new version does not inherit


async def plan_add(store: Store, envelope: Envelope, now: datetime) -> Plan[MemoryAdded]:
    """What adding this fact does: a new memory, a new version of one, a link for a known one, at most some importance if all is known.

    Everything is decided as of the time that the envelope was accepted, so that a replay decides the same.

    Raises:
        InputError: the facts it names cannot be its parents; see `scrubjay.records.versions`.
    """
    request = parse(FactText, envelope.args)
    id = derived_id("mem", envelope.scope, envelope.id)
    same = await _same_words(
        store, envelope.scope, content_hash(request.content), place=_place(request.metadata)
    )
    if replayed := next((row for row in same if row.id == id), None):
        return Plan(None, _answer(replayed, "stored" if request.link is None else "updated", envelope))
    linked = next((row for row in same if request.link and _has_link(row, *request.link)), None)
    if linked and (
        is_current(linked, envelope.at) or linked.updated_at >= envelope.at
    ):  # the call is repeated, or replayed
        return Plan(None, _answer(linked, "known", envelope))
    known = next((row for row in same if is_current(row, envelope.at)), None)
    if request.link is None:
        if known:
            again = count_repetition(known, _text(request.metadata.get("session_id")), envelope.at)
            change = None if again is known else Change(again, (passage(again),), rewritten=True)
            return Plan(change, _answer(known, "known", envelope))
        memory = _new(request, envelope, id, None)
        return Plan(Change(memory, (passage(memory),)), _answer(memory, "stored", envelope))
    return await _linked(store, request, envelope, id, known, *request.link)


async def _linked(
    store: Store,
    request: FactText,
    envelope: Envelope,
    id: str,
    known: Memory | None,
    relation: Relation,
    ids: tuple[str, ...],
) -> Plan[MemoryAdded]:
    """A fact with parents: a record of its own, or the one that the same words have already, which then gets the link."""
    if known and known.id in ids and relation != "updates":
        raise InputError(
            f"{relation} = {known.id!r} says the same as the new fact. Say what is new, or leave {relation} out."
        )
    if known and known.relation in (None, relation) and len(ids) > 1:
        ids = tuple(
            parent for parent in ids if parent != known.id
        )  # one of several says it already, and takes the place of the others
    parents = await versions.find_parents(store, envelope.scope, relation, ids)
    if known and known.id not in ids and known.relation in (None, relation):
        await versions.refuse_circle(store, known.id, parents)
        memory = _with_parents(_new(request, envelope, known.id, known), known, relation, parents)
    else:
        heir = parents[0] if relation == "updates" and isinstance(parents[0], Memory) else None
        memory = _with_parents(_new(request, envelope, id, heir), None, relation, parents)
        moved = (
            heir
            and "metadata" in request.model_fields_set
            and (memory.session_id, memory.turn) != (heir.session_id, heir.turn)
        )
        if heir and not moved and _says(memory) == _says(heir):
            return Plan(None, _answer(heir, "known", envelope))
    older = [row for row in parents if isinstance(row, Memory)] if relation == "updates" else []
    change = Change(memory, (passage(memory),), rewritten=known is not None and memory.id == known.id)
    stored = relation != "updates" and memory.id == id
    return Plan(
        change,
        _answer(memory, "stored" if stored else "updated", envelope),
        tuple(versions.replace(row, envelope.at) for row in older),
    )


def _has_link(memory: Memory, relation: Relation, ids: tuple[str, ...]) -> bool:
    return memory.relation == relation and set(ids) <= set(memory.parent_ids)


def _new(request: FactText, envelope: Envelope, id: str, base: Memory | None) -> Memory:
    """The fact as it is asked for; what the request does not name is as in `base`."""
    given = request.model_fields_set
    metadata = request.metadata
    if base is not None:
        inherited = {
            key: value for key, value in base.metadata.items() if key not in _SESSION or base.id == id
        }
        metadata = metadata if "metadata" in given else inherited
    expires_at, reason = request.expires_at, request.forget_reason
    if (
        base is not None
        and "expires_at" not in given
        and base.expires_at is not None
        and base.expires_at > envelope.at
    ):
        expires_at, reason = base.expires_at, reason if "forget_reason" in given else base.forget_reason
    values: dict[str, Any] = {
        "id": id,
        "scope": envelope.scope,
        "partition_id": request.partition_id
        if base is None or "partition_id" in given
        else base.partition_id,
        "tags": tuple(dict.fromkeys(request.tags)) if base is None or "tags" in given else base.tags,
        "importance_score": request.importance
        if base is None or "importance" in given
        else base.importance_score,
        "is_static": request.is_static if base is None or "is_static" in given else base.is_static,
        "metadata": metadata,
        "expires_at": expires_at,
        "forget_reason": reason if expires_at is not None else None,
        "updated_at": envelope.at,
        "content": request.content,
        "content_hash": content_hash(request.content),
        "session_id": _text(metadata.get("session_id")),
        "turn": _number(metadata.get("turn")),
    }
    if base is not None and base.id == id:
        return base.model_copy(update=values)
    return Memory(
        **values, source=envelope.source, created_at=envelope.at, last_accessed_at=envelope.at, root_id=id
    )


def _with_parents(
    memory: Memory, known: Memory | None, relation: Relation, parents: Sequence[AnyRecord]
) -> Memory:
    older = known.parent_ids if known else ()
    values: dict[str, Any] = {
        "relation": relation,
        "parent_ids": tuple(dict.fromkeys((*older, *(row.id for row in parents)))),
    }
    if relation == "updates":
        facts = [row for row in parents if isinstance(row, Memory)]
        values["root_id"] = memory.root_id if known and known.relation == "updates" else facts[0].root_id
        values["version"] = max(memory.version, 1 + max(row.version for row in facts))
    values["document_ids"] = (
        tuple(row.id for row in parents if isinstance(row, Document)) or memory.document_ids
    )
    cited = next((row for row in parents if isinstance(row, Turn)), None)
    if relation == "derives" and memory.session_id is None and cited is not None:
        values |= {
            "session_id": cited.session_id,
            "turn": cited.turn,
        }  # so that the window around the fact is where it was said
    return memory.model_copy(update=values)


def _says(memory: Memory) -> tuple[object, ...]:
    """What a new version may change."""
    return (
        memory.content,
        memory.partition_id,
        memory.tags,
        memory.importance_score,
        memory.is_static,
        memory.expires_at,
        memory.forget_reason,
        {key: value for key, value in memory.metadata.items() if key not in _SESSION},
    )


def _answer(memory: Memory, action: Literal["stored", "known", "updated"], envelope: Envelope) -> MemoryAdded:
    return MemoryAdded(
        id=memory.id,
        action=action,
        version=memory.version,
        root_id=memory.root_id,
        redacted=envelope.redacted,
    )


def passage(memory: Memory) -> Passage:
    return Passage(
        id=derived_id("p", memory.id, memory.content),
        src="summary" if memory.source == SUMMARY else "memory",
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
        facets=facets(memory.metadata),
        hidden=hidden_since(memory) is not None,
        hidden_at=hidden_since(memory),
        tied=tie_words(memory.content, tags=memory.tags, records=(*memory.parent_ids, *memory.alike)),
    )


async def _same_words(store: Store, scope: str, digest: str, *, place: Place | None) -> list[Memory]:
    """The facts of a scope in these words, whatever became of them; what was said in one turn is not what was said in another."""
    rows = {
        row.id: row
        for row in await store.select(
            Memory,
            conditions.both(conditions.equal("content_hash", digest), conditions.equal("scope", scope)),
        )
    }
    rows.update((row.id, row) for row in store.staged(Memory))
    said = [row for row in rows.values() if row.scope == scope and row.content_hash == digest]
    return said if place is None else [row for row in said if (row.session_id, row.turn) == place]


def as_hit(memory: Memory) -> Hit:
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
        is_latest=None if memory.is_latest else False,
        forgotten_at=memory.forgotten_at,
        forget_reason=memory.forget_reason,
        expires_at=memory.expires_at,
    )


def _place(metadata: dict[str, Any]) -> Place | None:
    """The turn that a fact says it was learned in."""
    session, turn = _text(metadata.get("session_id")), _number(metadata.get("turn"))
    return None if session is None or turn is None else (session, turn)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


STEP = 0.5  # of importance, for each further occasion
MOST = 8.0  # that repetition can give; what lies above was said by somebody to be so


def count_repetition(memory: Memory, session_id: str | None, at: datetime) -> Memory:
    """The fact after it was said again; the very same object where that says nothing new about its importance.

    importance = min(8, importance as given + 0.5 * occasions). An occasion is a session, or where none is
    named a day (UTC), each counted once; the session and the day in which the fact was added are none.
    """
    occasion = session_id or f"{at:%Y-%m-%d}"
    if (
        occasion in (memory.session_id, f"{memory.created_at:%Y-%m-%d}", *memory.occasions)
        or memory.importance_score >= MOST
    ):
        return memory
    return memory.model_copy(
        update={
            "importance_score": min(MOST, memory.importance_score + STEP),
            "occasions": (*memory.occasions, occasion),
            "last_accessed_at": max(memory.last_accessed_at, at),  # what is said again is fresh again
        }
    )
