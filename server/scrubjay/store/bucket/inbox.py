"""The inbox of a shared store: writes that other engines requested and the maintainer has not done yet."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from uuid import uuid4

import pyarrow as pa
from lancedb import AsyncConnection, AsyncTable
from lancedb.query import ColumnOrdering

from scrubjay.store import conditions
from scrubjay.store.schema import micros, moment, read_table
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
_PAGE = 100  # entries read at once; few, because one document may have 50 MB


class Entry(NamedTuple):
    """A request to write. Its id begins with the time in nanoseconds, so ids sort by time of writing."""

    id: str
    kind: str
    body: str  # JSON


def access_entry(counts: Mapping[str, AccessCount]) -> Entry:
    """Return an entry with access counts; its id begins with the time of the last access."""
    last = max(count.last for count in counts.values())
    body = json.dumps({key: [count.times, micros(count.last)] for key, count in counts.items()})
    return Entry(f"{micros(last) * 1_000:020d}-{uuid4().hex}", ACCESS, body)


def parse_access_entry(entry: Entry) -> dict[str, AccessCount]:
    """Return the access counts in an entry."""
    counts = json.loads(entry.body)
    return {key: AccessCount(times, moment(last)) for key, (times, last) in counts.items()}


class Inbox:
    """The waiting entries. Adding the same entry twice has the same effect as adding it once."""

    def __init__(self, table: AsyncTable) -> None:
        self.table = table
        self._empty_version = 0  # the last version of the table that had no entries

    async def put(self, entries: Sequence[Entry]) -> None:
        """Add entries; they are durable when this returns."""
        rows = pa.Table.from_pylist([entry._asdict() for entry in entries], schema=_SCHEMA)
        await self.table.merge_insert("id").when_not_matched_insert_all().execute(rows)

    async def next_entries(self) -> list[Entry]:
        """Return the next entries, oldest first."""
        version = await self.table.version()
        if version == self._empty_version:
            return []
        order = [ColumnOrdering(column_name="id", ascending=True)]
        rows = (await read_table(self.table.query().order_by(order).limit(_PAGE))).to_pylist()
        if not rows:
            self._empty_version = version
        return [Entry(**row) for row in rows]

    async def waiting_ids(self, ids: Iterable[str]) -> set[str]:
        """Return those of the ids whose entries are still waiting."""
        rows = await read_table(self.table.query().where(conditions.one_of("id", ids)).select(["id"]))
        return set(rows["id"].to_pylist())

    async def remove(self, ids: Iterable[str]) -> None:
        """Remove entries after they were written or moved away."""
        await self.table.delete(conditions.one_of("id", ids))


async def open_inbox(database: AsyncConnection) -> Inbox:
    """Open the inbox of a shared store; create it if it is missing."""
    return Inbox(await open_or_create(database, "inbox", _SCHEMA))
