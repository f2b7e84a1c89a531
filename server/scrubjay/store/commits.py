"""One group commit: what was staged, as writes to the tables. Knows their order; does not know when one is due, or who may make it."""

from __future__ import annotations

from scrubjay.store import sql
from scrubjay.store.changes import TABLE_OF, Staged
from scrubjay.store.schema import arrow_schema, micros, to_table
from scrubjay.store.tables import Tables
from scrubjay.store.upserts import upsert, upsert_passages


async def commit(tables: Tables, staged: Staged, dim: int) -> None:
    """Passages first, records last: a record on disk has its passages."""
    passages = staged.passages()
    rewritten = [id for id, change in staged.changes.items() if change.rewritten and change.passages is not None]
    if rewritten:
        kept = sql.one_of("id", (piece.id for piece in passages))
        await tables.passages.delete(sql.both(sql.one_of("record_id", rewritten), f"NOT ({kept})"))
    if passages:
        await upsert_passages(tables.passages, passages, dim, rewritten=bool(rewritten))
    for since, ids in staged.hidden().items():
        values = {"hidden": True, "hidden_at": None if since is None else micros(since)}
        await tables.passages.update(values, where=sql.one_of("record_id", ids))
    for kind, name in TABLE_OF.items():
        if rows := staged.records(kind):
            await upsert(tables.of(name), to_table(rows, arrow_schema(kind)))
