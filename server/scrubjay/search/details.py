"""One record in full, with what it is linked to and how far it is searchable. Knows where that is to be read; does not know how a person
is shown it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scrubjay.models.records import AnyRecord, Memory
from scrubjay.models.results import Hit, Result
from scrubjay.records.exchange import values_of
from scrubjay.records.forgetting import unknown_id
from scrubjay.records.versions import children, latest
from scrubjay.search.hits import as_hit
from scrubjay.store import conditions
from scrubjay.store.store import Store


class Detail(Result):
    """One record in full; `relations` says how each child came of it, `newest` names the latest version where this is none."""

    kind: str  # turn, memory or document
    record: dict[str, Any]
    parents: list[Hit]
    children: list[Hit]
    relations: list[str]
    newest: str | None = None
    passages: int
    waiting_for_vector: int


async def detail(store: Store, id: str, counted: Callable[[AnyRecord], AnyRecord]) -> Detail:
    """Everything about a record, whatever became of it; `counted` adds the recalls of it that are not yet stored.

    Raises:
        NotFound: no record has the id.
    """
    await store.flush()
    record = await store.find(id)
    if record is None:
        raise unknown_id(id)
    fields = values_of(counted(record))
    found = [await store.find(id) for id in record.parent_ids] if isinstance(record, Memory) else []
    after = [child for child in await children(store, [record.id]) if child.id != record.id]
    newest = await latest(store, record) if isinstance(record, Memory) else record
    own = conditions.equal("record_id", record.id)
    return Detail(
        kind=fields.pop("kind"),
        record=fields,
        parents=[as_hit(parent) for parent in found if parent is not None],
        children=[as_hit(child) for child in after],
        relations=[child.relation or "" for child in after],
        newest=newest.id if newest.id != record.id else None,
        passages=await store.count_passages(own),
        waiting_for_vector=await store.count_passages(conditions.both(own, conditions.missing("space_id"))),
    )
