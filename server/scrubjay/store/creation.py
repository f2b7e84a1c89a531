"""Opening a table that may not be there yet, also while another engine creates it. Knows the order in which that is safe; does not know
what a table is for.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from lancedb import AsyncConnection, AsyncTable
from lancedb.index import BTree


async def opened(database: AsyncConnection, name: str) -> AsyncTable | None:
    """The table of that name, None if there is none."""
    try:
        return await database.open_table(name)
    except ValueError as error:
        if "was not found" not in str(error):
            raise
        return None


async def opened_or_created(database: AsyncConnection, name: str, schema: pa.Schema, indexes: Mapping[str, BTree]) -> AsyncTable:
    """The table of that name, with `id` for its key. Never `exist_ok`: of two that race, one would overwrite the other's rows."""
    if (table := await opened(database, name)) is not None:
        return table
    try:
        table = await database.create_table(name, schema=schema)
    except ValueError as error:
        if "already exists" not in str(error):
            raise
        return await database.open_table(name)
    await table.set_unenforced_primary_key("id")
    for column, index in indexes.items():
        await table.create_index(column, config=index)
    return table
