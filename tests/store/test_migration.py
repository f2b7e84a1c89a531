"""Homes of other versions: an older one is migrated when it is opened, a newer one is refused unchanged."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import lancedb
import pytest
from said import SCOPE, embedded, fact, opened, search, texts, turn

from scrubjay.engine.core import Core
from scrubjay.errors import StoreError
from scrubjay.home.paths import Home
from scrubjay.models.records import Memory, Turn
from scrubjay.models.requests import SearchRecords
from scrubjay.store.notes import FileNotes, IndexNote
from scrubjay.store.opening import open_store

YOUNGER = {  # columns that the first Scrubjay did not have
    "turns": ["purged_at"],
    "memories": ["replaced_at"],
    "documents": ["file_size", "file_mtime", "file_digest", "folder"],
    IndexNote().passages: ["facets", "tied", "hidden_at", "token_vectors", "host"],
}


async def test_a_home_with_an_older_schema_is_read_written_and_searched(
    home: Home, clock: Callable[[], datetime]
):
    first = await opened(home, clock)
    await turn(first, "one", user="Which port does the proxy listen on?", assistant="8080, as in proxy.toml.")
    old_text = "The finch build uses Clang 19."
    old = await fact(first, old_text)
    await embedded(first)
    await first.close()
    database = await lancedb.connect_async(home.data, read_consistency_interval=timedelta(0))
    for name, columns in YOUNGER.items():
        table = await database.open_table(name)
        for index in await table.list_indices():
            if set(index.columns) & set(columns):
                await table.drop_index(index.name)
        await table.drop_columns(columns)
    second = await opened(home, clock)
    assert texts(await search(second, "finch build", include_turns=False)) == [old_text]
    new = await fact(second, "The finch build uses Clang 20.", updates=old.id)
    await turn(second, "one", user="And the wren?", assistant="7070.")
    found = texts(await search(second, "finch build Clang", include_turns=False))
    kept = await second.store.get(Memory, [old.id, new.id])
    assert (found, kept[new.id].version) == (["The finch build uses Clang 20."], 2)
    assert kept[old.id].replaced_at is not None and not kept[old.id].is_latest
    assert await second.store.count(Turn) == 2
    await second.close()


async def test_columns_missing_in_an_older_home_are_filled_and_vectors_are_kept(
    home: Home, clock: Callable[[], datetime]
):
    first = await opened(home, clock)
    await fact(first, "The port in `src/net/ports.py` is 8421.", metadata={"team": "api"})
    await fact(first, "The port was 8000.")
    said = await turn(first, "one", user="Which port?", assistant="8421.")
    await embedded(first)
    before = await stored(first)
    await first.close()
    table = await (await lancedb.connect_async(home.data)).open_table(IndexNote().passages)
    for index in await table.list_indices():
        if index.columns == ["tied"]:
            await table.drop_index(index.name)
    await table.drop_columns(["facets", "tied", "host"])

    second = await opened(home, clock)
    assert not second.store.note.complete
    async with asyncio.timeout(30):
        while not second.store.note.complete:
            await asyncio.sleep(0.01)
    assert await stored(second) == before
    assert texts(await search(second, "port", filters={"key": "team", "value": "api"})) == [
        "The port in `src/net/ports.py` is 8421."
    ]
    from_host = SearchRecords(query="port", srcs=("memory", "turn"), host="test")
    assert [hit.id for hit in (await second.search.recall(from_host, SCOPE)).results] == [said.id]
    assert texts(await search(second, "ports.py", top_k=1)) == ["The port in `src/net/ports.py` is 8421."]
    await second.close()


async def test_the_need_to_fill_passages_is_noted_before_columns_are_added(home: Home, monkeypatch):
    store = await open_store(home.data, dim=64)
    await store.tables.passages.drop_columns(["facets"])

    async def killed(*_: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patched, pytest.raises(ZeroDivisionError):
        patched.setattr("scrubjay.store.opening.open_tables", killed)
        await open_store(home.data, dim=64)
    assert not (await open_store(home.data, dim=64)).note.complete
    assert not (await open_store(home.data, dim=64)).note.complete  # until an engine has filled them


async def stored(core: Core) -> list[dict]:
    """All passages on disk, vectors included."""
    rows = await core.store.tables.passages.query().to_arrow()
    return sorted(rows.select(sorted(rows.column_names)).to_pylist(), key=lambda row: row["id"])


async def test_a_home_of_a_newer_version_is_refused_whatever_else_its_note_contains(home: Home):
    await open_store(home.data, dim=64)
    note = Path(FileNotes(home.data).path("index"))
    newer = json.loads(note.read_text()) | {"schema_version": 99, "of_the_future": True, "dim": "wide"}
    note.write_text(json.dumps(newer))
    before = contents(home)
    with pytest.raises(StoreError, match=r"newer Scrubjay \(schema 99, this one knows 1\)"):
        await open_store(home.data, dim=64)
    assert contents(home) == before


def contents(home: Home) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in Path(home.data).rglob("*") if path.is_file()}
