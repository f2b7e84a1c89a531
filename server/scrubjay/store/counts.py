"""What there is now of facts and turns, counted: by partition, and by the tags they carry. Straight from Arrow, for there may be millions.

The caller has committed everything (`Store.flush`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from scrubjay.models.records import Memory, Turn
from scrubjay.store import conditions
from scrubjay.store.changes import TABLE_OF
from scrubjay.store.conditions import Where
from scrubjay.store.schema import micros, moment
from scrubjay.store.store import Store
from scrubjay.store.tables import Tables

KINDS: tuple[type, ...] = (Memory, Turn)


def current(kind: type, scopes: Sequence[str], now: datetime, *others: Where) -> Where:
    """The condition that a fact or turn of these scopes is neither forgotten, expired nor replaced.

    Summaries of sessions are left out: they say turns again.
    """
    return conditions.both(
        conditions.one_of("scope", scopes),
        conditions.current(kind, now),
        conditions.NOT_A_SUMMARY if kind is Memory else None,
        *others,
    )


async def count_by_partition(store: Store, scopes: Sequence[str], now: datetime) -> Counter[str]:
    """How many facts and turns each partition holds."""
    counts: Counter[str] = Counter()
    for kind in KINDS:
        rows = (
            await store.tables.of(TABLE_OF[kind])
            .query()
            .where(current(kind, scopes, now))
            .select(["partition_id"])
            .to_arrow()
        )
        tally = rows.group_by("partition_id").aggregate([([], "count_all")]).to_pydict()
        counts.update(dict(zip(tally["partition_id"], tally["count_all"], strict=True)))
    return counts


async def record_tags(
    store: Store, scopes: Sequence[str], now: datetime, most: int
) -> list[tuple[str, list[str]]]:
    """(id, tags) of at most so many facts and turns that carry a tag; of a fact the id that all of its versions share."""
    found: list[tuple[str, list[str]]] = []
    for kind in KINDS:
        id = "root_id" if kind is Memory else "id"
        query = (
            store.tables.of(TABLE_OF[kind])
            .query()
            .where(current(kind, scopes, now, conditions.has_items("tags")))
        )
        rows = await query.select([id, "tags"]).limit(max(1, most - len(found))).to_arrow()
        found += zip(rows[id].to_pylist(), rows["tags"].to_pylist(), strict=True)
    return found[:most]


_COUNTED = ("turns", "memories", "documents")


@dataclass(frozen=True)
class ScopeCounts:
    """What one scope holds. Counted is what a search may find; the times are those of the first and the last change of anything in it."""

    created_at: datetime
    updated_at: datetime
    turns: int = 0
    memories: int = 0
    documents: int = 0


async def count_by_scope(tables: Tables, now: datetime, scope: str | None = None) -> dict[str, ScopeCounts]:
    """Every scope that holds a record, or only the one that is named. The caller has committed everything.

    What is forgotten, expired or replaced is not counted, and yet its scope is there; a turn whose texts are
    gone for good is nothing.
    """
    found: dict[str, ScopeCounts] = {}
    for name in _COUNTED:
        columns = [
            "scope",
            "created_at",
            "updated_at",
            "forgotten_at",
            "expires_at",
            *(["is_latest"] if name == "memories" else []),
        ]
        where = conditions.both(
            None if scope is None else conditions.equal("scope", scope),
            conditions.missing("purged_at") if name == "turns" else None,
        )
        rows = await tables.of(name).query().where(where).select(columns).to_arrow()
        times = rows.group_by("scope").aggregate([("created_at", "min"), ("updated_at", "max")]).to_pylist()
        counts = rows.filter(_visible(rows, now)).group_by("scope").aggregate([([], "count_all")]).to_pylist()
        counted = {row["scope"]: row["count_all"] for row in counts}
        for row in times:
            found[row["scope"]] = _joined(found.get(row["scope"]), row, name, counted.get(row["scope"], 0))
    return found


def _visible(rows: pa.Table, now: datetime) -> Any:
    unexpired = pc.fill_null(pc.greater(rows["expires_at"], micros(now)), True)
    visible = pc.and_(pc.is_null(rows["forgotten_at"]), unexpired)
    return (
        pc.and_(visible, pc.fill_null(rows["is_latest"], True))
        if "is_latest" in rows.column_names
        else visible
    )


def _joined(known: ScopeCounts | None, row: dict[str, Any], name: str, count: int) -> ScopeCounts:
    first, last = moment(row["created_at_min"]), moment(row["updated_at_max"])
    held = known or ScopeCounts(first, last)
    values: dict[str, Any] = {
        name: count,
        "created_at": min(held.created_at, first),
        "updated_at": max(held.updated_at, last),
    }
    return replace(held, **values)
