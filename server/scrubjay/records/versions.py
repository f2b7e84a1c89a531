"""Versions: how a new fact replaces (updates), adds to (extends) or was derived (derives) from records."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal

from scrubjay.errors import InputError, NotFound
from scrubjay.models.records import AnyRecord, Memory, Relation, Turn
from scrubjay.store import conditions
from scrubjay.store.changes import Change
from scrubjay.store.store import Store

LONGEST = 1_000  # links that are followed in one direction


async def find_parents(store: Store, scope: str, relation: Relation, ids: Sequence[str]) -> list[AnyRecord]:
    """Return the records that a new fact of this scope names as its parents.

    Raises NotFound if an id has no record, and InputError if a record belongs to another scope, is forgotten,
    has a newer version, or is not a fact although the relation requires one.
    """
    return [await _find_parent(store, scope, relation, parent_id) for parent_id in ids]


async def _find_parent(store: Store, scope: str, relation: Relation, parent_id: str) -> AnyRecord:
    record = await store.find(parent_id)
    argument = f"{relation} = {parent_id[:80]!r}"
    if record is None:
        raise NotFound(
            f"{argument}: no memory, turn or document has this id. Take the id of a search result."
        )
    if relation != "derives" and not isinstance(record, Memory):
        kind = "turn" if isinstance(record, Turn) else "document"
        raise InputError(
            f"{argument} is a {kind}, which has no versions. Only facts are updated or extended; "
            f"cite a {kind} with derives."
        )
    if record.scope != scope:
        problem = f"{argument} belongs to the scope {record.scope!r}, and the new fact to {scope!r}."
        raise InputError(f"{problem} Add it with scope = {record.scope!r}.")
    if record.forgotten_at is not None:
        why = f" ({record.forget_reason})" if record.forget_reason else ""
        problem = f"{argument} was forgotten on {record.forgotten_at:%Y-%m-%d}{why}."
        raise InputError(f"{problem} Leave {relation} out, or restore the record with `scrubjay restore`.")
    if relation == "updates" and isinstance(record, Memory) and not record.is_latest:
        newest = await latest(store, record)
        raise InputError(
            f"{argument} has a newer version: {newest.id} (version {newest.version}, "
            f"{newest.created_at:%Y-%m-%d}). Read scrubjay://memory/{newest.id}, and update that one."
        )
    return record


async def latest(store: Store, memory: Memory) -> Memory:
    """Return the latest version of a fact, given any version of it."""
    for _ in range(LONGEST):
        if memory.is_latest:
            break
        newer = [child for child in await children(store, [memory.id]) if child.relation == "updates"]
        if not newer:  # its successor was purged
            break
        memory = newer[0]
    return memory


async def children(store: Store, ids: Iterable[str]) -> list[Memory]:
    """Return the facts that have one of these ids among their parents."""
    return await linked_facts(store, "parent_ids", ids)


async def linked_facts(
    store: Store, column: Literal["parent_ids", "document_ids"], ids: Iterable[str]
) -> list[Memory]:
    """Return the facts with one of these ids in `column`, forgotten and replaced facts too."""
    id_set = set(ids)
    if not id_set:
        return []
    where = conditions.has_any(column, sorted(id_set))
    return await store.select_newest(Memory, where, lambda row: not id_set.isdisjoint(getattr(row, column)))


async def history(store: Store, memory: Memory) -> list[Memory]:
    """Return the older versions of a fact, nearest first, without records that it extends or derives from."""
    older: dict[str, Memory] = {}
    next_ids = set(memory.parent_ids) if memory.relation == "updates" else set()
    while next_ids and len(older) < LONGEST:
        rows = await store.get(Memory, next_ids)
        older.update(rows)
        parents = {parent for row in rows.values() if row.relation == "updates" for parent in row.parent_ids}
        next_ids = parents - older.keys()
    return list(older.values())


async def refuse_cycle(store: Store, memory_id: str, parents: Iterable[AnyRecord]) -> None:
    """Raise InputError if a parent is the fact itself or depends on it."""
    next_ids, seen_ids = {record.id for record in parents}, set[str]()
    while next_ids:
        if memory_id in next_ids:
            problem = f"{memory_id} cannot depend on a fact that depends on it: the links would form a cycle."
            raise InputError(f"{problem} Name other parents.")
        seen_ids |= next_ids
        rows = await store.get(Memory, next_ids)
        next_ids = {parent for row in rows.values() for parent in row.parent_ids} - seen_ids


def replace(memory: Memory, at: datetime) -> Change:
    """Return the change that marks a version as replaced: it is kept, but no search finds it."""
    older = memory.model_copy(update={"is_latest": False, "replaced_at": at, "updated_at": at})
    return Change(older, hidden=True)
