"""Partitions, consolidation, status, and the routes of Hebb Mind that only its console calls."""

from __future__ import annotations

import pytest
from said import embedded, fact, turn
from spellings import Hebb

from scrubjay.engine.engine import Engine
from scrubjay.home.partitions import PartitionBook
from scrubjay.models.records import SUMMARY, Memory, Turn

pytestmark = pytest.mark.long

SYSTEM = ["mem_hippocampus", "mem_semantic", "mem_episodic", "mem_preference", "mem_procedural"]
MINE = {"id": "mem_recipes", "name": "Recipes", "description": "What was cooked"}


async def test_the_five_built_in_partitions_always_exist_and_cannot_be_deleted(hebb: Hebb):
    listed = await hebb.call("GET", "partitions")
    assert [each["id"] for each in listed] == SYSTEM
    assert all(each["is_system"] and each["description"] for each in listed)
    for id in SYSTEM:
        assert "built-in" in (await hebb.call("DELETE", f"partitions/{id}", 400))["detail"]


async def test_a_partition_is_created_filled_changed_and_deleted(hebb: Hebb, engine: Engine):
    made = await hebb.post("partitions", 201, **MINE)
    assert made == made | MINE | {"is_system": False, "memory_count": 0, "enabled": True}
    await hebb.post("partitions", 400, **MINE)
    await hebb.keep("Zebra cake.", partition_id="mem_recipes")
    at, change = "partitions/mem_recipes", {"description": "What tasted good", "enabled": False}
    changed = await hebb.call("PATCH", at, json=change)
    assert changed == changed | {"name": "Recipes", "memory_count": 1} | change
    on_disk = PartitionBook(engine.home).of(["sm_project_default"])["mem_recipes"]
    assert on_disk.description == "What tasted good"
    assert "is not empty" in (await hebb.call("DELETE", at, 400))["detail"]
    (memory,) = (await hebb.listed(partition_id="mem_recipes"))["items"]
    await hebb.delete(memory["id"])
    await hebb.call("DELETE", at, 204)
    for method, how in (("GET", {}), ("DELETE", {}), ("PATCH", {"json": {"name": "x"}})):
        await hebb.call(method, at, 404, **how)


async def test_a_partition_that_another_client_filled_is_known(hebb: Hebb, engine: Engine):
    core = await engine.core()
    await fact(core, "zebra", partition_id="mem_by_mcp")
    assert (await hebb.call("GET", "partitions/mem_by_mcp"))["memory_count"] == 1
    await hebb.keep("giraffe", partition_id="mem_by_mcp")


async def test_partitions_belong_to_the_scope_they_were_made_in(hebb: Hebb):
    await hebb.call("POST", "partitions", 201, json=MINE, params={"scope": "other"})
    for scope, status in (("other", 200), ("third", 404)):
        await hebb.call("GET", "partitions/mem_recipes", status, params={"scope": scope})


async def test_health_and_status_are_answered_at_both_addresses(hebb: Hebb):
    for at in ("", "/api/v1"):
        assert (await hebb.http.get(f"{at}/health")).json()["status"] == "ok"
        status = (await hebb.http.get(f"{at}/status")).json()
        assert (status["embedding"]["available"], status["embedding"]["dimension"]) == (True, 64)
        assert status["scheduler"]["running"]


async def test_consolidation_summarises_and_deletes_no_turn(hebb: Hebb, engine: Engine):
    core = await engine.core()
    for n in range(20):
        user, assistant = (
            f"How do we mend the zebra stable, part {n}?",
            f"With {n} planks of oak wood and nails.",
        )
        await turn(core, "a", turn=n, user=user, assistant=assistant)
    await embedded(core)
    done = await hebb.call("POST", "admin/consolidate")
    assert done["failed"] == done["waiting"] == 0 and done["succeeded"] == done["processed"] > 0
    await core.writer.settle()
    assert [row.source for row in await core.store.select(Memory, "true")] == [SUMMARY]
    turns = await core.store.select(Turn, "forgotten_at IS NULL")
    assert len(turns) == 20 and all("planks" in (row.assistant or "") for row in turns)
    assert (await hebb.listed())["total"] == 20
