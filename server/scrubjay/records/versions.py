"""Versions: what a new fact is to those that are known. It replaces them (updates), adds to them (extends) or was concluded from them
(derives). Knows which links are refused; does not know how a fact is stored, found or shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal

from scrubjay.errors import InputError, NotFound
from scrubjay.models.records import AnyRecord, Document, Memory, Relation, Turn
from scrubjay.store import conditions
from scrubjay.store.changes import Change
from scrubjay.store.store import Store

LONGEST = 1_000  # links that are followed in one direction


async def find_parents(store: Store, scope: str, relation: Relation, ids: Sequence[str]) -> list[AnyRecord]:
    """The records that a new fact of this scope names as its parents.

    Raises:
        NotFound: no record has the id.
        InputError: the record belongs to another scope, is forgotten, is no fact where one is needed, or has a newer version.
    """
    return [await _parent(store, scope, relation, id) for id in ids]


async def _parent(store: Store, scope: str, relation: Relation, id: str) -> AnyRecord:
    record = await store.find(id)
    named = f"{relation} = {id[:80]!r}"
    if record is None:
        raise NotFound(f"{named}: no memory, turn or document has this id. Take the id of a search result.")
    kind = _kind(record)
    if relation != "derives" and not isinstance(record, Memory):
        raise InputError(
            f"{named} is a {kind}, which has no versions. Only facts are updated or extended; cite a {kind} with derives."
        )
    if record.scope != scope:
        raise InputError(
            f"{named} belongs to the scope {record.scope!r}, the new fact to {scope!r}. Add it with scope = {record.scope!r}."
        )
    if record.forgotten_at is not None:
        why = f" ({record.forget_reason})" if record.forget_reason else ""
        raise InputError(
            f"{named} was forgotten on {record.forgotten_at:%Y-%m-%d}{why}. Leave {relation} out, or bring it back with `scrubjay restore`."
        )
    if relation == "updates" and isinstance(record, Memory) and not record.is_latest:
        newest = await latest(store, record)
        raise InputError(
            f"{named} has a newer version: {newest.id} (version {newest.version}, {newest.created_at:%Y-%m-%d}). "
            f"Read scrubjay://memory/{newest.id}, and update that one."
        )
    return record


async def latest(store: Store, memory: Memory) -> Memory:
    """The end of the chain of updates that this version is in."""
    at = memory
    for _ in range(LONGEST):
        if at.is_latest:
            break
        newer = [child for child in await children(store, [at.id]) if child.relation == "updates"]
        if not newer:  # its successor was purged
            break
        at = newer[0]
    return at


async def children(store: Store, ids: Iterable[str]) -> list[Memory]:
    """The facts that name one of these ids among their parents."""
    return await linked_facts(store, "parent_ids", ids)


async def linked_facts(
    store: Store, column: Literal["parent_ids", "document_ids"], ids: Iterable[str]
) -> list[Memory]:
    """The facts that hold one of these ids in this list, as they were last written, whatever became of them."""
    wanted = set(ids)
    if not wanted:
        return []
    rows = {row.id: row for row in await store.select(Memory, conditions.has_any(column, sorted(wanted)))}
    rows.update((row.id, row) for row in store.staged(Memory))
    return [row for row in rows.values() if wanted.intersection(getattr(row, column))]


async def history(store: Store, memory: Memory) -> list[Memory]:
    """The older versions of a fact, nearest first; what it extends or derives from is no version of it."""
    found: dict[str, Memory] = {}
    wanted = set(memory.parent_ids) if memory.relation == "updates" else set()
    while wanted and len(found) < LONGEST:
        rows = await store.get(Memory, wanted)
        found.update(rows)
        wanted = {
            id for row in rows.values() if row.relation == "updates" for id in row.parent_ids
        } - found.keys()
    return list(found.values())


async def refuse_circle(store: Store, id: str, parents: Iterable[AnyRecord]) -> None:
    """Nothing, unless a parent is the fact `id` or rests on it.

    Raises:
        InputError: it does.
    """
    wanted, seen = {record.id for record in parents}, set[str]()
    while wanted:
        if id in wanted:
            raise InputError(
                f"{id} cannot build on what builds on it: the links would go round in a circle. Name other parents."
            )
        seen |= wanted
        rows = await store.get(Memory, wanted)
        wanted = {parent for row in rows.values() for parent in row.parent_ids} - seen


def replace(memory: Memory, at: datetime) -> Change:
    """A version that a newer one takes the place of: kept, and in no search any more."""
    older = memory.model_copy(update={"is_latest": False, "replaced_at": at, "updated_at": at})
    return Change(older, hidden=True)


def _kind(record: AnyRecord) -> str:
    return "turn" if isinstance(record, Turn) else "document" if isinstance(record, Document) else "fact"
