"""Counts the current records of a store, in Arrow, because there may be millions.

The caller must have committed all writes (`Store.flush`).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from lancedb.query import ColumnOrdering

from scrubjay.models.records import COMMIT, Document, Memory, Turn
from scrubjay.store import conditions
from scrubjay.store.changes import TABLE_OF
from scrubjay.store.conditions import Where
from scrubjay.store.schema import micros, moment, read_table
from scrubjay.store.store import Store
from scrubjay.store.tables import Tables

KINDS: tuple[type, ...] = (Memory, Turn)
MAX_TURNS = 200_000  # most turns read to list the sessions; they take 60 MB
_HOUR = 3_600_000_000  # microseconds
# Of these kinds, only the records that meet the condition are counted.
_COUNTED: dict[type, Where] = {Turn: conditions.missing("purged_at"), Memory: conditions.NOT_A_SUMMARY}


@dataclass(frozen=True)
class ScopeCounts:
    """The numbers of searchable records in a scope, and the times of the first and the last change."""

    created_at: datetime
    updated_at: datetime
    turns: int = 0
    memories: int = 0
    documents: int = 0
    commits: int = 0


def current(kind: type, scopes: Sequence[str], now: datetime, *others: Where) -> Where:
    """Return the condition that a fact or turn is in one of these scopes and is current.

    Session summaries are left out, because they repeat the turns of their session.
    """
    return conditions.both(
        conditions.one_of("scope", scopes),
        conditions.current(kind, now),
        conditions.NOT_A_SUMMARY if kind is Memory else None,
        *others,
    )


async def count_by_partition(store: Store, scopes: Sequence[str], now: datetime) -> Counter[str]:
    """Count the facts and turns of each partition."""
    counts: Counter[str] = Counter()
    for kind in KINDS:
        query = store.tables.of(TABLE_OF[kind]).query().where(current(kind, scopes, now))
        counts.update(_tally(await read_table(query.select(["partition_id"])), "partition_id"))
    return counts


async def count_by_host(store: Store, where: Where) -> dict[str, tuple[int, datetime]]:
    """Return each host's number of turns and the time of its last turn."""
    query = store.tables.of(TABLE_OF[Turn]).query().where(conditions.both(where, conditions.present("host")))
    rows = await read_table(query.select(["host", "started_at"]))
    groups = rows.group_by("host").aggregate([("started_at", "count"), ("started_at", "max")])
    return {
        row["host"]: (row["started_at_count"], moment(row["started_at_max"])) for row in groups.to_pylist()
    }


@dataclass(frozen=True)
class SessionSpan:
    """A session: the number of its turns that are not forgotten, and the starts of the first and last one."""

    scope: str
    session_id: str
    host: str
    turns: int
    started_at: datetime
    ended_at: datetime


@dataclass(frozen=True)
class TurnTimes:
    """The session, host and start of each turn that is not forgotten, for the newest `MAX_TURNS` turns."""

    rows: pa.Table  # scope, session_id, host (or else source), started_at

    def sessions(self) -> list[SessionSpan]:
        """Return the sessions, most recently active first."""
        start, host = "started_at", "host"
        groups = self.rows.group_by(["scope", "session_id"]).aggregate(
            [(start, "min"), (start, "max"), (host, "max"), ([], "count_all")]
        )
        return [
            SessionSpan(
                row["scope"],
                row["session_id"],
                row["host_max"],
                row["count_all"],
                moment(row["started_at_min"]),
                moment(row["started_at_max"]),
            )
            for row in groups.sort_by([("started_at_max", "descending")]).to_pylist()
        ]

    def days(self, zone: tzinfo) -> dict[str, int]:
        """Return the number of turns on each day of this time zone, by ISO 8601 date."""
        hours = pc.value_counts(pc.divide(self.rows["started_at"], _HOUR)).to_pylist()
        days: Counter[str] = Counter()
        for row in hours:  # there are few hours, and in nearly every zone a day begins on the hour
            days[moment(row["values"] * _HOUR).astimezone(zone).date().isoformat()] += row["counts"]
        return dict(sorted(days.items()))

    def hosts(self) -> list[tuple[str, int, datetime]]:
        """Return each host with its number of turns and the time of its last one, the latest first."""
        groups = self.rows.group_by("host").aggregate([("started_at", "max"), ([], "count_all")])
        rows = groups.sort_by([("started_at_max", "descending")]).to_pylist()
        return [(row["host"], row["count_all"], moment(row["started_at_max"])) for row in rows]


async def read_turn_times(store: Store, scope: str | None = None) -> TurnTimes:
    """Read the session, host and start of the turns of a scope, or of all scopes."""
    where = conditions.both(conditions.NOT_FORGOTTEN, conditions.matching(scope=scope))
    query = store.tables.turns.query().where(where)
    if await store.tables.turns.count_rows() > MAX_TURNS:
        query = query.order_by([ColumnOrdering(column_name="started_at", ascending=False)]).limit(MAX_TURNS)
    rows = await read_table(query.select(["scope", "session_id", "host", "source", "started_at"]))
    host = pc.coalesce(rows["host"], rows["source"])
    return TurnTimes(rows.drop_columns(["host", "source"]).append_column("host", host))


async def count_by_scope(tables: Tables, now: datetime, scope: str | None = None) -> dict[str, ScopeCounts]:
    """Count the records of a scope, or of every scope that has any.

    A scope whose records are all forgotten, expired or replaced is listed with counts of 0. Session
    summaries, and turns whose texts were purged, are ignored.
    """
    by_scope: dict[str, ScopeCounts] = {}
    for kind, name in TABLE_OF.items():
        where = conditions.both(conditions.matching(scope=scope), _COUNTED.get(kind))
        columns = ["scope", "created_at", "updated_at", "forgotten_at", "expires_at"]
        columns += ["is_latest"] if kind is Memory else ["type"] if kind is Document else []
        rows = await read_table(tables.of(name).query().where(where).select(columns))
        current_rows = rows.filter(_current_rows(rows, now))
        counts = {name: _tally(current_rows, "scope")}
        if kind is Document:
            is_commit = pc.equal(current_rows["type"], COMMIT)
            parts = {"documents": pc.invert(is_commit), "commits": is_commit}
            counts = {name: _tally(current_rows.filter(part), "scope") for name, part in parts.items()}
        times = rows.group_by("scope").aggregate([("created_at", "min"), ("updated_at", "max")])
        for row in times.to_pylist():
            first, last = moment(row["created_at_min"]), moment(row["updated_at_max"])
            before = by_scope.get(row["scope"]) or ScopeCounts(first, last)
            first, last = min(before.created_at, first), max(before.updated_at, last)
            count: dict[str, Any] = {name: tally.get(row["scope"], 0) for name, tally in counts.items()}
            by_scope[row["scope"]] = replace(before, created_at=first, updated_at=last, **count)
    return by_scope


async def count_tags(tables: Tables, now: datetime, scope: str | None = None) -> Counter[str]:
    """Count the current records with each tag."""
    counts: Counter[str] = Counter()
    for kind, name in TABLE_OF.items():
        where = conditions.both(conditions.current(kind, now), conditions.matching(scope=scope))
        rows = await read_table(tables.of(name).query().where(where).select(["tags"]))
        tags = pa.table({"tag": pc.list_flatten(rows["tags"])})
        counts.update(_tally(tags, "tag"))
    return counts


def _tally(rows: pa.Table, column: str) -> dict[str, int]:
    tally = rows.group_by(column).aggregate([([], "count_all")]).to_pydict()
    return dict(zip(tally[column], tally["count_all"], strict=True))


def _current_rows(rows: pa.Table, now: datetime) -> Any:
    """Return a mask of the rows that `conditions.current` matches in SQL."""
    unexpired = pc.fill_null(pc.greater(rows["expires_at"], micros(now)), True)
    mask = pc.and_(pc.is_null(rows["forgotten_at"]), unexpired)
    if "is_latest" in rows.column_names:
        mask = pc.and_(mask, pc.fill_null(rows["is_latest"], True))
    return mask
