"""The queries with which all modules read the tables."""

from collections.abc import Sequence

import pyarrow as pa
from lancedb import AsyncTable
from lancedb.query import AsyncQuery, ColumnOrdering

from scrubjay.store.conditions import Where
from scrubjay.store.schema import read_table


def scan(table: AsyncTable) -> AsyncQuery:
    """Return `table.query()`, without reading the schema of the table.

    LanceDB would look in it for blobs, which no table has. That took a tenth of the time of a search.
    """
    return AsyncQuery(table._inner.query())


async def matching_rows(
    table: AsyncTable, where: Where, limit: int | None = None, columns: Sequence[str] | None = None
) -> pa.Table:
    """Read the rows that match, in no particular order; all columns by default."""
    query = scan(table).where(where)
    if columns:
        query = query.select(list(columns))
    return await read_table(query if limit is None else query.limit(limit))


def descending(column: str) -> list[ColumnOrdering]:
    """Return the order of a query by this column, greatest value first."""
    return [ColumnOrdering(column_name=column, ascending=False)]
