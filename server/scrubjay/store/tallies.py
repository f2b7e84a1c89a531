"""What there is now of facts and turns, counted: by partition, and by the tags they carry. Straight from Arrow, for there may be millions.

The caller has committed everything (`Store.flush`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from scrubjay.models.records import SUMMARY, Memory, Turn
from scrubjay.store import sql
from scrubjay.store.changes import TABLE_OF
from scrubjay.store.store import Store, unexpired

KINDS: tuple[type, ...] = (Memory, Turn)


def current(kind: type, scopes: Sequence[str], now: datetime, *conditions: str) -> str:
    """The condition that a fact or turn of these scopes is neither forgotten, expired nor replaced.

    Summaries of sessions are left out: they say turns again.
    """
    newest = sql.both(sql.equal("is_latest", True), f"NOT ({sql.equal('source', SUMMARY)})") if kind is Memory else None
    return sql.both(sql.one_of("scope", scopes), "forgotten_at IS NULL", unexpired(now), newest, *conditions)


async def by_partition(store: Store, scopes: Sequence[str], now: datetime) -> Counter[str]:
    """How many facts and turns each partition holds."""
    counts: Counter[str] = Counter()
    for kind in KINDS:
        rows = await store.tables.of(TABLE_OF[kind]).query().where(current(kind, scopes, now)).select(["partition_id"]).to_arrow()
        tally = rows.group_by("partition_id").aggregate([([], "count_all")]).to_pydict()
        counts.update(dict(zip(tally["partition_id"], tally["count_all"], strict=True)))
    return counts


async def tagged(store: Store, scopes: Sequence[str], now: datetime, most: int) -> list[tuple[str, list[str]]]:
    """(id, tags) of at most so many facts and turns that carry a tag; of a fact the id that all of its versions share."""
    found: list[tuple[str, list[str]]] = []
    for kind in KINDS:
        id = "root_id" if kind is Memory else "id"
        query = store.tables.of(TABLE_OF[kind]).query().where(current(kind, scopes, now, "array_length(tags) > 0"))
        rows = await query.select([id, "tags"]).limit(max(1, most - len(found))).to_arrow()
        found += zip(rows[id].to_pylist(), rows["tags"].to_pylist(), strict=True)
    return found[:most]
