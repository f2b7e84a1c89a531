"""Reads the records as they were at one moment; meanwhile `Store.readers` stops the clean-up of versions."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from lancedb import AsyncTable

from scrubjay.models.records import AnyRecord, Document, Memory, Turn
from scrubjay.store import conditions
from scrubjay.store.changes import TABLE_OF
from scrubjay.store.conditions import Where
from scrubjay.store.schema import from_table, read_table
from scrubjay.store.store import Store
from scrubjay.store.tables import connect

Kind = type[Turn] | type[Memory] | type[Document]

_PAGE = {"turns": 200, "memories": 200, "documents": 8}  # records per page; a document may have 50 MB


@dataclass(frozen=True)
class Snapshot:
    """Three tables, each at one version. Reading one takes memory for a page, and 40 bytes a record."""

    tables: dict[str, AsyncTable]
    where: Where

    async def count(self, kind: Kind) -> int:
        """Count the records of a kind."""
        return await self.tables[TABLE_OF[kind]].count_rows(self.where)

    async def pages(self, kind: Kind) -> AsyncIterator[list[AnyRecord]]:
        """Yield all records of a kind, in pages, in the order of creation, which no later write changes."""
        name = TABLE_OF[kind]
        table = self.tables[name]
        rows = await read_table(table.query().where(self.where).select(["id", "created_at"]))
        ids = rows.sort_by([("created_at", "ascending"), ("id", "ascending")])["id"]
        for start in range(0, len(ids), _PAGE[name]):
            page_ids = ids.slice(start, _PAGE[name]).to_pylist()
            page = await read_table(table.query().where(conditions.one_of("id", page_ids)))
            records: dict[str, AnyRecord] = {row.id: row for row in from_table(kind, page)}
            yield [records[record_id] for record_id in page_ids]


@asynccontextmanager
async def snapshot(store: Store, scope: str | None) -> AsyncIterator[Snapshot]:
    """Open the committed records of a scope (None: all) as they are now; the caller must have flushed."""
    database = await connect(store.path)
    store.readers += 1
    try:
        async with store.lock:  # between two commits, so that the tables are consistent
            tables = {name: await database.open_table(name) for name in TABLE_OF.values()}
            for table in tables.values():
                await table.checkout(await table.version())
        yield Snapshot(tables, conditions.matching(scope=scope))
    finally:
        store.readers -= 1


async def count_rows_at(path: str, names: Iterable[str]) -> dict[str, int]:
    """Count the rows of tables of another store. Raises ValueError or RuntimeError if one is damaged."""
    database = await connect(path)
    return {name: await (await database.open_table(name)).count_rows() for name in names}
