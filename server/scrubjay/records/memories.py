"""Memories (single facts): how one is added, matched to an existing one, or replaced by a new version."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal

from scrubjay.errors import InputError, NotFound
from scrubjay.models.envelopes import Envelope
from scrubjay.models.records import (
    SUMMARY,
    AnyRecord,
    Document,
    Memory,
    Relation,
    Turn,
    content_hash,
    derived_id,
    fact_hashes,
    fields_of,
    is_current,
)
from scrubjay.models.requests import FactText, Review, parse
from scrubjay.models.results import MemoryAdded, Written
from scrubjay.records import distilled, versions
from scrubjay.records.passages import record_change
from scrubjay.store import conditions
from scrubjay.store.changes import Plan
from scrubjay.store.store import Store

STEP = 0.5  # importance that each further occasion adds
MOST = 8.0  # importance that repetition can reach; higher values were set by a caller


async def plan_add(store: Store, envelope: Envelope, now: datetime) -> Plan[MemoryAdded]:
    """Plan the addition of a fact: a new memory or version, or a link or more importance for a known one.

    All decisions use the time when the envelope was accepted, so that a replay decides the same. Raises
    InputError if a record that the request names cannot be a parent (`versions.find_parents`).
    """
    request = parse(FactText, envelope.args)
    memory_id = derived_id("mem", envelope.scope, envelope.id)
    equal_facts = await facts_with_text(store, envelope.scope, fact_hashes(request.content))
    if (place := _place(request.metadata)) is not None:  # the same text from another turn is another fact
        equal_facts = [row for row in equal_facts if (row.session_id, row.turn) == place]
    if replayed := next((row for row in equal_facts if row.id == memory_id), None):
        return Plan(_answer(replayed, "stored" if request.link is None else "updated", envelope))
    request, note = await distilled.restrict(store, envelope.scope, request)
    plan = await _plan_new(store, envelope, request, memory_id, equal_facts)
    return plan if note is None else replace(plan, answer=plan.answer.model_copy(update={"note": note}))


async def _plan_new(
    store: Store, envelope: Envelope, request: FactText, memory_id: str, equal_facts: Sequence[Memory]
) -> Plan[MemoryAdded]:
    existing = next((row for row in equal_facts if is_current(row, envelope.at)), None)
    if request.link is not None:
        linked = next((row for row in equal_facts if _has_link(row, *request.link)), None)
        if linked and (is_current(linked, envelope.at) or linked.updated_at >= envelope.at):
            return Plan(_answer(linked, "known", envelope))  # this call was repeated or replayed
        return await _plan_linked(store, request, envelope, memory_id, existing)
    if existing is None:
        memory = _new(request, envelope, memory_id, None)
        return Plan(_answer(memory, "stored", envelope), [record_change(memory, is_known=False)])
    repeated = count_repetition(existing, _text(request.metadata.get("session_id")), envelope.at)
    note = _difference_note(existing, request)
    answer = _answer(existing, "known", envelope).model_copy(update={"note": note})
    return Plan(answer, [] if repeated is existing else [record_change(repeated)])


async def _plan_linked(
    store: Store, request: FactText, envelope: Envelope, memory_id: str, existing: Memory | None
) -> Plan[MemoryAdded]:
    assert request.link is not None
    relation, ids = request.link
    if existing and existing.id in ids and relation != "updates":
        problem = f"{relation} = {existing.id!r} says the same as the new fact."
        raise InputError(f"{problem} Say what is new, or leave {relation} out.")
    can_link = existing is not None and existing.relation in (None, relation)
    if existing and can_link and len(ids) > 1:
        # One of several parents already says the same, and replaces the others.
        ids = tuple(parent for parent in ids if parent != existing.id)
    parents = await versions.find_parents(store, envelope.scope, relation, ids)
    older = [row for row in parents if isinstance(row, Memory)] if relation == "updates" else []
    if existing and can_link and existing.id not in ids:
        await versions.refuse_cycle(store, existing.id, parents)
        memory = _with_parents(_new(request, envelope, existing.id, existing), existing, relation, parents)
    else:
        base = older[0] if older else None
        memory = _with_parents(_new(request, envelope, memory_id, base), None, relation, parents)
        if base and _substance(memory) == _substance(base):
            has_moved = (memory.session_id, memory.turn) != (base.session_id, base.turn)
            if not has_moved or "metadata" not in request.model_fields_set:
                return Plan(_answer(base, "known", envelope))
    change = record_change(memory, is_known=existing is not None and memory.id == existing.id)
    is_stored = relation != "updates" and memory.id == memory_id
    answer = _answer(memory, "stored" if is_stored else "updated", envelope)
    return Plan(answer, [change, *(versions.replace(row, envelope.at) for row in older)])


def _has_link(memory: Memory, relation: Relation, ids: tuple[str, ...]) -> bool:
    return memory.relation == relation and set(ids) <= set(memory.parent_ids)


def _difference_note(existing: Memory, request: FactText) -> str | None:
    """Return a note on the fields of a fact that differ from the request, and how to change them."""
    given = request.model_fields_set & {"expires_at", "is_static"}
    names = sorted(name for name in given if getattr(existing, name) != getattr(request, name))
    names += ["tags"] if set(request.tags) - set(existing.tags) else []
    if not names:
        return None
    fields = " and ".join(names)
    return f"The stored fact keeps its {fields}; to change that, add it again with updates = [its id]."


def _new(request: FactText, envelope: Envelope, memory_id: str, base: Memory | None) -> Memory:
    """Return the fact of a request; fields that the request does not give come from `base`."""
    values: dict[str, Any] = {
        **fields_of(request, "partition_id", "is_static", "metadata", "expires_at", "forget_reason"),
        "tags": tuple(dict.fromkeys(request.tags)),
        "importance_score": request.importance,
    }
    if base is not None:
        values |= _inherited(request, envelope, memory_id, base)
    if values["expires_at"] is None:
        values["forget_reason"] = None
    values |= {
        "id": memory_id,
        "scope": envelope.scope,
        "updated_at": envelope.at,
        "content": request.content,
        "content_hash": content_hash(request.content),
        "session_id": _text(values["metadata"].get("session_id")),
        "turn": _number(values["metadata"].get("turn")),
    }
    if base is not None and base.id == memory_id:
        return base.model_copy(update=values)
    values = {"last_accessed_at": envelope.at, **values}
    return Memory(**values, source=envelope.source, created_at=envelope.at, root_id=memory_id)


def _inherited(request: FactText, envelope: Envelope, memory_id: str, base: Memory) -> dict[str, Any]:
    """Return the fields that a new version inherits: those of `base` that the request does not give."""
    names = "partition_id importance_score is_static access_count last_accessed_at metadata".split()
    values = fields_of(base, *names)
    if base.id != memory_id:
        values["metadata"] = _without_origin(base.metadata)
    values["tags"] = tuple(tag for tag in base.tags if tag != distilled.DISTILLED)
    given_fields = {"importance_score" if name == "importance" else name for name in request.model_fields_set}
    if base.expires_at is not None and base.expires_at > envelope.at and "expires_at" not in given_fields:
        values |= fields_of(base, "expires_at", "forget_reason")
    return {name: value for name, value in values.items() if name not in given_fields}


def _with_parents(
    memory: Memory, base: Memory | None, relation: Relation, parents: Sequence[AnyRecord]
) -> Memory:
    earlier_parents = base.parent_ids if base else ()
    values: dict[str, Any] = {
        "relation": relation,
        "parent_ids": tuple(dict.fromkeys((*earlier_parents, *(row.id for row in parents)))),
    }
    if relation == "updates":
        facts = [row for row in parents if isinstance(row, Memory)]
        values["root_id"] = memory.root_id if base and base.relation == "updates" else facts[0].root_id
        values["version"] = max(memory.version, 1 + max(row.version for row in facts))
    documents = tuple(row.id for row in parents if isinstance(row, Document))
    values["document_ids"] = documents or memory.document_ids
    turn = next((row for row in parents if isinstance(row, Turn)), None)
    if relation == "derives" and memory.session_id is None and turn is not None:
        # The window around the fact then shows where it was said.
        values |= {"session_id": turn.session_id, "turn": turn.turn}
    return memory.model_copy(update=values)


def _substance(memory: Memory) -> dict[str, Any]:
    """Return the fields that are compared: a new version that differs in no field is not stored."""
    fields = "content partition_id tags importance_score is_static expires_at forget_reason".split()
    return {**fields_of(memory, *fields), "metadata": _without_origin(memory.metadata)}


def _without_origin(metadata: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in metadata.items() if key not in ("session_id", "turn")}


def _answer(memory: Memory, action: Literal["stored", "known", "updated"], envelope: Envelope) -> MemoryAdded:
    return MemoryAdded(
        id=memory.id,
        action=action,
        version=memory.version,
        root_id=memory.root_id,
        note=_expiry_note(memory, envelope.at),
        redacted=envelope.redacted,
    )


def _expiry_note(memory: Memory, at: datetime) -> str | None:
    """Return a note on a fact that expired before it was saved, because its year is probably wrong."""
    if memory.expires_at is None or memory.expires_at > at:
        return None
    expired = f"It expired on {memory.expires_at:%Y-%m-%d %H:%M} UTC, so no search returns it."
    return f"{expired} If that is a mistake, add it again with a later expires_at."


async def facts_with_text(store: Store, scope: str, hashes: Collection[str]) -> list[Memory]:
    """Return the facts of a scope whose text has one of these hashes, forgotten and replaced ones too."""
    where = conditions.matching(content_hash=sorted(hashes), scope=scope)

    def is_match(row: Memory) -> bool:
        return row.scope == scope and row.content_hash in hashes

    # Most facts are new, and reading few columns costs half as much as reading whole rows.
    rows = await store.select_newest(Memory, where, is_match, columns=["id", "scope", "content_hash"])
    return list((await store.get(Memory, [row.id for row in rows])).values())


def count_repetition(memory: Memory, session_id: str | None, at: datetime) -> Memory:
    """Return a fact with the importance of one more repetition; the same object if that changes nothing.

    importance = min(8, original importance + 0.5 * occasions). An occasion is a session, or a day (UTC) if no
    session is named. Each occasion counts once; the session and the day in which the fact was added do not.
    """
    occasion = session_id or f"{at:%Y-%m-%d}"
    counted_occasions = (memory.session_id, f"{memory.created_at:%Y-%m-%d}", *memory.occasions)
    if occasion in counted_occasions or memory.importance_score >= MOST:
        return memory
    return memory.model_copy(
        update={
            "importance_score": min(MOST, memory.importance_score + STEP),
            "occasions": (*memory.occasions, occasion),
            "last_accessed_at": max(memory.last_accessed_at, at),  # a repetition makes the fact recent again
        }
    )


async def plan_review(store: Store, envelope: Envelope, now: datetime) -> Plan[Written]:
    """Plan to keep a derived fact as if a person had stated it. Raises NotFound if no fact has the id."""
    request = parse(Review, envelope.args)
    fact = await store.find(request.id)
    if not isinstance(fact, Memory):
        raise NotFound(f"No memory has the id {request.id[:80]!r}. It may be purged.")
    return Plan(Written(count=1), [record_change(fact.model_copy(update={"review": "approved"}))])


def is_derived(record: AnyRecord) -> bool:
    """Return True if a record is a fact derived from others; summaries by the engine do not count."""
    return isinstance(record, Memory) and record.relation == "derives" and record.source != SUMMARY


def is_inference(fact: Memory) -> bool:
    """Return True if a fact was derived from others and is not approved yet."""
    return is_derived(fact) and fact.review != "approved"


def _place(metadata: dict[str, Any]) -> tuple[str, int] | None:
    """Return the session and number of the turn that metadata names as the origin of a fact."""
    session, turn = _text(metadata.get("session_id")), _number(metadata.get("turn"))
    return None if session is None or turn is None else (session, turn)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
