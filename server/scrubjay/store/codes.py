"""Reads the token codes of records for a close look at them. Knows the column and what a look at it costs, not what codes mean."""

from __future__ import annotations

from collections.abc import Iterable

from lancedb import AsyncTable

from scrubjay.store import sql
from scrubjay.store.scans import scan


async def codes_of(passages: AsyncTable, record_ids: Iterable[str]) -> list[tuple[str, bytes]]:
    """(record id, token codes) of these records' passages that have codes, in an order that only depends on them.

    Any further condition makes Lance read its column for all of these rows first: 5.5 ms instead of 3.7 for 80 records.
    """
    rows = await scan(passages).where(sql.one_of("record_id", record_ids)).select(["record_id", "token_vectors"]).to_arrow()
    pairs = zip(rows["record_id"].to_pylist(), rows["token_vectors"].to_pylist(), strict=True)
    return sorted((record_id, code) for record_id, code in pairs if code is not None)
