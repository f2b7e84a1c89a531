"""Pages of records: which there are, sorted by time, a page at a time. Knows order and totals; does not know how a face shows a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, Literal, TypeVar

from scrubjay.models.filters import Filter, matches
from scrubjay.models.records import Document, Memory, Passage, Turn
from scrubjay.store import conditions, facets
from scrubjay.store.conditions import Where
from scrubjay.store.store import Store

T = TypeVar("T", Turn, Memory, Document)
R = TypeVar("R")


@dataclass(frozen=True)
class Page(Generic[R]):
    """`rows` are those from `start` on, at most as many as were asked for, of `total`."""

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
    """Some of the records that match, ordered by a time and then by id. `filters` are on metadata; `columns` are read, else all.

    The caller has committed everything (`Store.flush`).
    """
    keys = await store.select(kind, where, columns=["id", sort, *(["metadata"] if filters else [])])
    if filters is not None:
        keys = [row for row in keys if matches(filters, row.metadata)]
    keys.sort(key=_by(sort), reverse=descending)
    ids = [row.id for row in keys[start : start + size]]
    rows = {row.id: row for row in await store.select(kind, conditions.one_of("id", ids), columns=columns)}
    return Page([rows[id] for id in ids if id in rows], len(keys))


def _by(sort: str) -> Callable[[Any], tuple[Any, str]]:
    return lambda row: (getattr(row, sort), row.id)


async def facts_and_turns(
    store: Store, wheres: Mapping[type, Where], *, start: int, size: int
) -> Page[Memory | Turn]:
    """Some of the facts and turns that match, newest first; a fact by when it was added, a turn by when it was said.

    The caller has committed everything (`Store.flush`).
    """
    keys: list[tuple[datetime, str]] = []
    for kind, where in wheres.items():
        moment = "started_at" if kind is Turn else "created_at"
        keys += [
            (getattr(row, moment), row.id) for row in await store.select(kind, where, columns=["id", moment])
        ]
    keys.sort(reverse=True)
    ids = [id for _, id in keys[start : start + size]]
    rows: dict[str, Memory | Turn] = {}
    for kind in wheres:
        rows.update((row.id, row) for row in await store.select(kind, conditions.one_of("id", ids)))
    return Page([rows[id] for id in ids if id in rows], len(keys))


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
    """Some of the chunks of a scope's documents, by the time of their document or by their position in it; `filters` are on metadata.

    The caller has committed everything (`Store.flush`).
    """
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
    rows = {
        row.id: row
        for row in await store.passages(
            conditions.one_of("id", ids), columns=["id", "record_id", "part", "text"]
        )
    }
    return Page([rows[id] for id in ids if id in rows], len(keys))
