"""The inbox of a shared store: what engines that do not maintain it want written, until the one that does has done so. Knows the order of
entries; does not know what they ask for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from uuid import uuid4

import pyarrow as pa
from lancedb import AsyncConnection, AsyncTable
from lancedb.index import BTree
from lancedb.query import ColumnOrdering

from scrubjay.store import conditions
from scrubjay.store.schema import micros, moment
from scrubjay.store.tables import open_or_create
from scrubjay.store.upserts import AccessCount

_SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("kind", pa.string()),
        pa.field("body", pa.string()),
    ]
)
ENVELOPE, ACCESS = "envelope", "access"  # kinds
_AT_ONCE = 100  # entries; a document may have 50 MB


class Entry(NamedTuple):
    """One wish. Ids begin with the time in nanoseconds, so that sorting them is the order of writing; `body` is JSON."""

    id: str
    kind: str
    body: str


def access_entry(seen: Mapping[str, AccessCount]) -> Entry:
    """Access counts as an entry, by the time of the last access."""
    last = max(one.last for one in seen.values())
    body = json.dumps({id: [one.times, micros(one.last)] for id, one in seen.items()})
    return Entry(f"{micros(last) * 1_000:020d}-{uuid4().hex}", ACCESS, body)


def parse_access_entry(entry: Entry) -> dict[str, AccessCount]:
    """The access counts in an entry."""
    return {id: AccessCount(times, moment(last)) for id, (times, last) in json.loads(entry.body).items()}


class Inbox:
    """The entries that wait. Putting one in twice is putting it in once."""

    def __init__(self, table: AsyncTable) -> None:
        self.table = table
        self._version = 0  # at which nothing waited

    async def put(self, entries: Sequence[Entry]) -> None:
        """Put entries in; they are durable when this returns."""
        rows = pa.Table.from_pylist([entry._asdict() for entry in entries], schema=_SCHEMA)
        await self.table.merge_insert("id").when_not_matched_insert_all().execute(rows)

    async def next_entries(self) -> list[Entry]:
        """The first entries that wait, in order."""
        version = await self.table.version()
        if version == self._version:
            return []
        query = (
            self.table.query().order_by([ColumnOrdering(column_name="id", ascending=True)]).limit(_AT_ONCE)
        )
        rows = (await query.to_arrow()).to_pylist()
        if not rows:
            self._version = version
        return [Entry(**row) for row in rows]

    async def holds(self, ids: Iterable[str]) -> set[str]:
        """Which of these entries still wait."""
        rows = await self.table.query().where(conditions.one_of("id", ids)).select(["id"]).to_arrow()
        return set(rows["id"].to_pylist())

    async def remove(self, ids: Iterable[str]) -> None:
        """Entries that were written, or set aside."""
        await self.table.delete(conditions.one_of("id", ids))


async def open_inbox(database: AsyncConnection) -> Inbox:
    """The inbox of a shared store; created where it is missing."""
    return Inbox(await open_or_create(database, "inbox", _SCHEMA, {"id": BTree()}))
