"""The newest records of every kind together. Knows by which time each kind is ordered; does not know which records count."""

from __future__ import annotations

from lancedb.query import ColumnOrdering

from scrubjay.models.records import AnyRecord, Memory, Turn
from scrubjay.store import sql
from scrubjay.store.changes import TABLE_OF
from scrubjay.store.schema import from_table
from scrubjay.store.tables import Tables


async def newest(tables: Tables, last: int, where: str) -> list[AnyRecord]:
    """The `last` newest records that match and are not replaced, newest first."""
    rows: list[AnyRecord] = []
    for kind, name in TABLE_OF.items():
        moment = "started_at" if kind is Turn else "created_at"
        matching = sql.both(where, sql.equal("is_latest", True)) if kind is Memory else where
        query = tables.of(name).query().where(matching).order_by([ColumnOrdering(column_name=moment, ascending=False)])
        rows += from_table(kind, await query.limit(last).to_arrow())
    rows.sort(key=lambda row: row.started_at if isinstance(row, Turn) else row.created_at, reverse=True)
    return rows[:last]
