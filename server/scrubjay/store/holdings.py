"""What each scope holds: how many records that are to be found, and from when to when. Counted in Arrow, because there may be millions of
turns; does not know what is said of a scope, nor who may see it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from scrubjay.store import sql
from scrubjay.store.schema import micros, moment
from scrubjay.store.tables import Tables

_COUNTED = ("turns", "memories", "documents")


@dataclass(frozen=True)
class Holding:
    """What one scope holds. Counted is what a search may find; the times are those of the first and the last change of anything in it."""

    created_at: datetime
    updated_at: datetime
    turns: int = 0
    memories: int = 0
    documents: int = 0


async def holdings(tables: Tables, now: datetime, scope: str | None = None) -> dict[str, Holding]:
    """Every scope that holds a record, or only the one that is named. The caller has committed everything.

    What is forgotten, expired or replaced is not counted, and yet its scope is there; a turn whose texts are gone for good is nothing.
    """
    found: dict[str, Holding] = {}
    for name in _COUNTED:
        columns = ["scope", "created_at", "updated_at", "forgotten_at", "expires_at", *(["is_latest"] if name == "memories" else [])]
        where = sql.both(None if scope is None else sql.equal("scope", scope), "purged_at IS NULL" if name == "turns" else None)
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
    return pc.and_(visible, pc.fill_null(rows["is_latest"], True)) if "is_latest" in rows.column_names else visible


def _joined(known: Holding | None, row: dict[str, Any], name: str, count: int) -> Holding:
    first, last = moment(row["created_at_min"]), moment(row["updated_at_max"])
    held = known or Holding(first, last)
    values: dict[str, Any] = {name: count, "created_at": min(held.created_at, first), "updated_at": max(held.updated_at, last)}
    return replace(held, **values)
