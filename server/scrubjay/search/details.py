"""One record in full, with the records it is linked to and its index state."""

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
    """One record in full, with the records above and below it.

    `relations` says how each of the `children` is related to the record. `newest` is the id of the latest
    version, or None if the record is the latest.
    """

    kind: str  # turn, memory or document
    record: dict[str, Any]
    parents: list[Hit]
    children: list[Hit]
    relations: list[str]
    newest: str | None = None
    passages: int
    waiting_for_vector: int


async def detail(store: Store, record_id: str, with_accesses: Callable[[AnyRecord], AnyRecord]) -> Detail:
    """Describe a record in any state; `with_accesses` adds the accesses that are not stored yet.

    The caller has committed everything.

    Raises:
        NotFound: no record has the id.
    """
    record = await store.find(record_id)
    if record is None:
        raise unknown_id(record_id)
    fields = values_of(with_accesses(record))
    older = [await store.find(each) for each in record.parent_ids] if isinstance(record, Memory) else []
    younger = [child for child in await children(store, [record.id]) if child.id != record.id]
    newest = await latest(store, record) if isinstance(record, Memory) else record
    of_record = conditions.equal("record_id", record.id)
    return Detail(
        kind=fields.pop("kind"),
        record=fields,
        parents=[as_hit(parent) for parent in older if parent is not None],
        children=[as_hit(child) for child in younger],
        relations=[child.relation or "" for child in younger],
        newest=newest.id if newest.id != record.id else None,
        passages=await store.passages.count(of_record),
        waiting_for_vector=await store.passages.count(conditions.both(of_record, conditions.NO_VECTOR)),
    )
