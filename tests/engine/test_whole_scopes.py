"""Operations on a whole scope: counting its records, moving it, deleting it permanently."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import said

from scrubjay.engine.core import Core
from scrubjay.store.schema import read_table

pytestmark = pytest.mark.long


async def test_only_findable_records_are_counted_but_every_scope_is_listed(core: Core):
    await said.fact(core, "Deploys go out on Tuesdays.", scope="a")
    gone = await said.fact(core, "Deploys go out on Fridays.", scope="b")
    old = await said.fact(core, "The port is 8080.", scope="a")
    await said.fact(core, "The port is 9090.", scope="a", updates=[old.id])
    yesterday = (core.clock() - timedelta(days=1)).isoformat()
    await said.fact(core, "The freeze ends soon.", scope="a", expires_at=yesterday)
    await said.document(core, "# Guide\n\nRead this first.", scope="a")
    await said.turn(core, "s", scope="c", user="Who is there?")
    await said.forget(core, gone.id)
    held = await core.counts.by_scope()
    numbers = {name: (one.turns, one.memories, one.documents) for name, one in held.items()}
    assert numbers == {"a": (0, 2, 1), "b": (0, 0, 0), "c": (1, 0, 0)}
    assert all(one.created_at <= one.updated_at for one in held.values())
    assert await core.counts.by_scope("a") == {"a": held["a"]}
    assert (await core.counts.summary()).keys() == {"a", "c"}


async def test_deleting_a_scope_removes_its_bytes_and_touches_no_other(core: Core):
    await said.fact(core, "The launch code is swordfish.", scope="a")
    await said.document(core, "Swordfish is a film of 2001.", scope="a")
    await said.turn(core, "s", scope="a", user="What is swordfish?", assistant="A fish.")
    await said.fact(core, "The launch is on Monday.", scope="b")
    await core.scope_settings.change("a", lambda held: replace(held, name="A"), core.clock())
    had = await core.scopes.delete("a", "test")
    assert had is not None and (had.turns, had.memories, had.documents) == (1, 1, 1)
    assert set(await core.counts.by_scope()) == {"b"} and core.scope_settings.all() == {}
    assert said.texts(await said.search(core, "launch", scope="b")) == ["The launch is on Monday."]
    for path in Path(core.home.root).rglob("*"):
        if path.is_file() and "log" not in path.parts:
            assert b"wordfish" not in path.read_bytes(), path


async def test_a_deleted_scope_can_be_filled_and_deleted_again(core: Core):
    assert await core.scopes.delete("a", "test") is None
    for _ in range(2):
        await said.fact(core, "The port is 8080.", scope="a")
        assert (await core.counts.by_scope())["a"].memories == 1
        await core.scopes.delete("a", "test")
        assert await core.counts.by_scope() == {}


async def test_merging_a_scope_moves_everything(core: Core):
    await said.fact(core, "The port is 8080.", scope="a")
    await said.turn(core, "s", scope="a", user="Which port?", assistant="8080.")
    assert await core.scopes.merge("a", "b") == 2
    assert set(await core.counts.by_scope()) == {"b"}
    assert "The port is 8080." in said.texts(await said.search(core, "port", scope="b"))


async def test_a_scope_written_while_scopes_are_listed_is_listed(core: Core):
    await said.fact(core, "The port is 8080.", scope="a")
    await core.writer.settle()
    core.store.names.clear()
    reading = asyncio.create_task(core.store.names.scopes())
    await asyncio.sleep(0)  # it has begun
    await said.fact(core, "The port is 9090.", scope="b")
    await reading
    assert await core.store.names.scopes() == {"a", "b"}


async def test_a_speaker_recorded_while_speakers_are_listed_is_listed(core: Core, monkeypatch):
    await said.turn(core, "s", scope="a", role="Ann", text="The port is 8080.")
    await core.writer.settle()
    core.store.names.clear()

    async def read_before_bob_speaks(query: Any) -> Any:
        monkeypatch.undo()
        rows = await read_table(query)
        await said.turn(core, "s", scope="a", role="Bob", text="It is 9090.", turn=1)
        await core.writer.settle()
        return rows

    monkeypatch.setattr("scrubjay.store.names.read_table", read_before_bob_speaks)
    await core.store.names.speakers(["a"])
    assert await core.store.names.speakers(["a"]) == {"Ann", "Bob"}
