"""Counts the committed current records of a store, in Arrow, because there may be millions."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from lancedb import AsyncTable

from scrubjay.models.records import Document, Memory, Turn
from scrubjay.store import conditions
from scrubjay.store.changes import TABLE_OF
from scrubjay.store.conditions import Where
from scrubjay.store.queries import descending, matching_rows
from scrubjay.store.schema import moment, read_table
from scrubjay.store.store import Store
from scrubjay.store.tables import Tables

KINDS: tuple[type, ...] = (Memory, Turn)
MAX_TURNS = 200_000  # most turns read to list the sessions; they take 60 MB
_HOUR = 3_600_000_000  # microseconds
# What is counted of a scope: the kind of record, and the condition that it meets.
_COUNTED: dict[str, tuple[type, Where]] = {
    "turns": (Turn, conditions.missing("purged_at")),
    "memories": (Memory, conditions.NOT_A_SUMMARY),
    "documents": (Document, conditions.NOT_A_COMMIT),
    "commits": (Document, conditions.A_COMMIT),
}


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
    """Return the condition that a fact or turn is in one of these scopes, current, and not a summary."""
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
        counts += await _tally(store.tables.of(TABLE_OF[kind]), current(kind, scopes, now), "partition_id")
    return counts


async def count_by_host(store: Store, where: Where) -> dict[str, tuple[int, datetime]]:
    """Return each host's number of turns and the time of its last turn."""
    where = conditions.both(where, conditions.present("host"))
    return _by_host(await matching_rows(store.tables.turns, where, columns=["host", "started_at"]))


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
        groups = self.rows.group_by(["scope", "session_id"]).aggregate(
            [("host", "max"), ([], "count_all"), ("started_at", "min"), ("started_at", "max")]
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

    def hosts(self) -> dict[str, tuple[int, datetime]]:
        """Return each host's number of turns and the time of its last one, the latest first."""
        return _by_host(self.rows)


async def read_turn_times(store: Store, scope: str | None = None) -> TurnTimes:
    """Read the session, host and start of the turns of a scope, or of all scopes."""
    where = conditions.both(conditions.NOT_FORGOTTEN, conditions.matching(scope=scope))
    query = store.tables.turns.query().where(where)
    if await store.tables.turns.count_rows() > MAX_TURNS:
        query = query.order_by(descending("started_at")).limit(MAX_TURNS)
    rows = await read_table(query.select(["scope", "session_id", "host", "source", "started_at"]))
    host = pc.coalesce(rows["host"], rows["source"])
    return TurnTimes(rows.drop_columns(["host", "source"]).append_column("host", host))


async def count_by_scope(tables: Tables, now: datetime, scope: str | None = None) -> dict[str, ScopeCounts]:
    """Count the records of a scope, or of every scope that has any.

    A scope whose records are all forgotten, expired or replaced is listed with counts of 0. Session
    summaries, and turns whose texts were purged, are ignored.
    """
    by_scope: dict[str, ScopeCounts] = {}
    for name, (kind, condition) in _COUNTED.items():
        table, where = tables.of(TABLE_OF[kind]), conditions.both(conditions.matching(scope=scope), condition)
        counts = await _tally(table, conditions.both(where, conditions.current(kind, now)), "scope")
        rows = await matching_rows(table, where, columns=["scope", "created_at", "updated_at"])
        times = rows.group_by("scope").aggregate([("created_at", "min"), ("updated_at", "max")])
        for row in times.to_pylist():
            first, last = moment(row["created_at_min"]), moment(row["updated_at_max"])
            before = by_scope.get(row["scope"]) or ScopeCounts(first, last)
            first, last = min(before.created_at, first), max(before.updated_at, last)
            count: dict[str, Any] = {name: counts[row["scope"]]}
            by_scope[row["scope"]] = replace(before, created_at=first, updated_at=last, **count)
    return by_scope


async def count_tags(tables: Tables, now: datetime, scope: str | None = None) -> Counter[str]:
    """Count the current records with each tag."""
    counts: Counter[str] = Counter()
    for kind, name in TABLE_OF.items():
        where = conditions.both(conditions.current(kind, now), conditions.matching(scope=scope))
        counts += await _tally(tables.of(name), where, "tags")
    return counts


async def _tally(table: AsyncTable, where: Where, column: str) -> Counter[str]:
    """Count the matching rows with each value of a column, or with each item of a list column."""
    values = (await matching_rows(table, where, columns=[column]))[column]
    values = pc.list_flatten(values) if pa.types.is_list(values.type) else values
    return Counter({row["values"]: row["counts"] for row in pc.value_counts(values).to_pylist()})


def _by_host(turns: pa.Table) -> dict[str, tuple[int, datetime]]:
    groups = turns.group_by("host").aggregate([([], "count_all"), ("started_at", "max")])
    rows = groups.sort_by([("started_at_max", "descending")]).to_pylist()
    return {row["host"]: (row["count_all"], moment(row["started_at_max"])) for row in rows}
