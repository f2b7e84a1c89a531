"""Pages of records, sorted by time.

Each function reads the ids and sort keys of all that match, then the records of one page. The caller has
committed everything (`Writer.caught_up`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Literal, TypeVar

from scrubjay.models.filters import Filter, matches
from scrubjay.models.records import Document, Memory, Passage, Turn
from scrubjay.store import conditions, facets
from scrubjay.store.conditions import Where
from scrubjay.store.store import Store

T = TypeVar("T", Turn, Memory, Document)
R = TypeVar("R")


@dataclass(frozen=True)
class Page(Generic[R]):
    """One page of rows, and how many rows all pages have together."""

    rows: list[R]
    total: int


async def page(
    store: Store,
    kind: type[T],
    where: Where,
    *,
    start: int,
    size: int,
    sort: Literal["created_at", "updated_at", "started_at"] = "created_at",
    descending: bool = True,
    filters: Filter | None = None,
    columns: Sequence[str] | None = None,
) -> Page[T]:
    """List records by a time, then by id; `filters` are on metadata, `columns` None reads all."""
    keys = await store.select(kind, where, columns=["id", sort, *(["metadata"] if filters else [])])
    if filters is not None:
        keys = [row for row in keys if matches(filters, row.metadata)]
    keys.sort(key=lambda row: (getattr(row, sort), row.id), reverse=descending)
    ids = [row.id for row in keys[start : start + size]]
    rows = {row.id: row for row in await store.select(kind, conditions.one_of("id", ids), columns=columns)}
    return Page([rows[each] for each in ids if each in rows], len(keys))


async def facts_and_turns(
    store: Store, wheres: Mapping[type, Where], *, start: int, size: int
) -> Page[Memory | Turn]:
    """List facts and turns, newest first: a fact by when it was added, a turn by when it was said."""
    keys: list[tuple[datetime, str]] = []
    for kind, where in wheres.items():
        moment = "started_at" if kind is Turn else "created_at"
        keys += [
            (getattr(row, moment), row.id) for row in await store.select(kind, where, columns=["id", moment])
        ]
    keys.sort(reverse=True)
    ids = [record_id for _, record_id in keys[start : start + size]]
    rows: dict[str, Memory | Turn] = {}
    for kind in wheres:
        rows.update((row.id, row) for row in await store.select(kind, conditions.one_of("id", ids)))
    return Page([rows[each] for each in ids if each in rows], len(keys))


async def chunk_page(
    store: Store,
    scope: str,
    *,
    start: int,
    size: int,
    descending: bool = True,
    by_position: bool = False,
    filters: Filter | None = None,
) -> Page[Passage]:
    """List the chunks of a scope's documents, by document time or position; `filters` are on metadata."""
    where = conditions.both(
        conditions.equal("src", "chunk"),
        conditions.equal("hidden", False),
        conditions.equal("scope", scope),
        facets.where(filters) if filters else None,
    )
    keys = await store.passages(where, columns=["id", "record_id", "part", "dated_at"])
    keys.sort(
        key=lambda row: (row.part, row.dated_at) if by_position else (row.dated_at, row.record_id, row.part),
        reverse=descending,
    )
    ids = [row.id for row in keys[start : start + size]]
    columns = ["id", "record_id", "part", "text"]
    rows = {row.id: row for row in await store.passages(conditions.one_of("id", ids), columns=columns)}
    return Page([rows[each] for each in ids if each in rows], len(keys))
