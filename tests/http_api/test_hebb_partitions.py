"""Partitions, consolidation, status, and the routes of Hebb Mind that only its console calls."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from said import embedded, fact, turn

from scrubjay.engine.engine import Engine
from scrubjay.home.partitions import PartitionBook
from scrubjay.models.records import SUMMARY, Memory, Turn

pytestmark = pytest.mark.long

SYSTEM = ["mem_hippocampus", "mem_semantic", "mem_episodic", "mem_preference", "mem_procedural"]
MINE = {"id": "mem_recipes", "name": "Recipes", "description": "What was cooked"}


async def keep(http: httpx2.AsyncClient, content: str, **fields: Any) -> None:
    assert (await http.post("/api/v1/memories", json={"content": content, **fields})).status_code == 201


async def test_the_five_built_in_partitions_always_exist_and_cannot_be_deleted(http: httpx2.AsyncClient):
    listed = (await http.get("/api/v1/partitions")).json()
    assert [each["id"] for each in listed] == SYSTEM and all(
        each["is_system"] and each["description"] for each in listed
    )
    for id in SYSTEM:
        answer = await http.delete(f"/api/v1/partitions/{id}")
        assert answer.status_code == 400 and "built-in" in answer.json()["detail"]


async def test_a_partition_is_created_filled_changed_and_deleted(http: httpx2.AsyncClient, engine: Engine):
    made = await http.post("/api/v1/partitions", json=MINE)
    assert made.status_code == 201 and made.json() | MINE == made.json()
    assert (made.json()["is_system"], made.json()["memory_count"], made.json()["enabled"]) == (False, 0, True)
    assert (await http.post("/api/v1/partitions", json=MINE)).status_code == 400
    await keep(http, "Zebra cake.", partition_id="mem_recipes")
    at = "/api/v1/partitions/mem_recipes"
    changed = await http.patch(at, json={"description": "What tasted good", "enabled": False})
    assert (
        changed.json()
        | {"name": "Recipes", "description": "What tasted good", "enabled": False, "memory_count": 1}
        == changed.json()
    )
    assert (
        PartitionBook(engine.home).of(["sm_project_default"])["mem_recipes"].description == "What tasted good"
    ), "kept on disk"
    refused = await http.delete(at)
    assert refused.status_code == 400 and "holds 1 memories" in refused.json()["detail"]
    (memory,) = (await http.get("/api/v1/memories", params={"partition_id": "mem_recipes"})).json()["items"]
    await http.delete(f"/api/v1/memories/{memory['id']}")
    assert (await http.delete(at)).status_code == 204
    for answer in (await http.get(at), await http.delete(at), await http.patch(at, json={"name": "x"})):
        assert answer.status_code == 404


async def test_a_partition_that_another_client_filled_is_known(http: httpx2.AsyncClient, engine: Engine):
    core = await engine.core()
    await fact(core, "zebra", partition_id="mem_by_mcp")
    assert (await http.get("/api/v1/partitions/mem_by_mcp")).json()["memory_count"] == 1
    await keep(http, "giraffe", partition_id="mem_by_mcp")


async def test_an_invalid_partition_is_refused(http: httpx2.AsyncClient):
    for fields in (
        {"id": "recipes"},
        {"id": "mem_Re"},
        {"id": "mem_"},
        {"id": "mem_" + "x" * 61},
        {"name": ""},
        {"name": "x" * 129},
    ):
        assert (await http.post("/api/v1/partitions", json=MINE | fields)).status_code == 422


async def test_partitions_belong_to_the_scope_they_were_made_in(http: httpx2.AsyncClient):
    other = {"params": {"scope": "other"}}
    assert (await http.post("/api/v1/partitions", json=MINE, **other)).status_code == 201
    assert (await http.get("/api/v1/partitions/mem_recipes", **other)).status_code == 200
    assert (await http.get("/api/v1/partitions/mem_recipes", params={"scope": "third"})).status_code == 404


async def test_a_damaged_file_of_partitions_stops_nothing(home):
    with open(home.partitions, "w") as file:
        file.write("{")
    assert list(PartitionBook(home).of(["a"])) == SYSTEM


async def test_health_and_status_are_answered_at_both_addresses(http: httpx2.AsyncClient):
    for at in ("", "/api/v1"):
        assert (await http.get(f"{at}/health")).json()["status"] == "ok"
        status = (await http.get(f"{at}/status")).json()
        assert (
            status["embedding"]["available"] is True
            and status["embedding"]["dimension"] == 64
            and status["scheduler"]["running"]
        )


async def test_consolidation_summarises_and_deletes_no_turn(http: httpx2.AsyncClient, engine: Engine):
    core = await engine.core()
    for n in range(20):
        await turn(
            core,
            "a",
            turn=n,
            user=f"How do we mend the zebra stable, part {n}?",
            assistant=f"With {n} planks of oak wood and nails.",
        )
    await embedded(core)
    done = await http.post("/api/v1/admin/consolidate")
    assert done.status_code == 200 and done.json()["failed"] == done.json()["waiting"] == 0
    assert done.json()["succeeded"] == done.json()["processed"] > 0
    await core.writer.settle()
    assert [row.source for row in await core.store.select(Memory, "true")] == [SUMMARY]
    turns = await core.store.select(Turn, "forgotten_at IS NULL")
    assert len(turns) == 20 and all("planks" in (row.assistant or "") for row in turns)
    assert (await http.get("/api/v1/memories")).json()["total"] == 20


async def test_nothing_is_forgotten_by_age_so_there_is_no_preview_of_it(
    http: httpx2.AsyncClient, engine: Engine
):
    await turn(await engine.core(), "a", user="the zebra stable", ts="2020-03-01T09:00:00Z")
    for method, path in (
        ("POST", "forget"),
        ("GET", "forgetting"),
        ("GET", "forgetting/runs"),
        ("POST", "forgetting/mem_episodic/preview"),
    ):
        answer = await http.request(method, f"/api/v1/admin/{path}")
        assert answer.status_code == 404, path
        assert answer.json()["detail"].startswith("Nothing is forgotten by age: "), path
    assert (await http.get("/api/v1/memories")).json()["total"] == 1


async def test_a_route_that_scrubjay_does_not_have_is_404_with_a_sentence(http: httpx2.AsyncClient):
    for method, path in (
        ("GET", "graph/tags"),
        ("GET", "graph/neighbors/ui"),
        ("GET", "admin/stats"),
        ("GET", "admin/config"),
        ("PUT", "admin/config"),
        ("POST", "admin/config/test-llm"),
        ("PUT", "admin/forgetting/mem_semantic"),
        ("DELETE", "admin/forgetting/mem_semantic"),
        ("GET", "admin/consolidate/runs"),
        ("POST", "admin/restart"),
        ("GET", "admin/upgrade"),
        ("POST", "agent-sync/claude"),
        ("GET", "claude-memory/files"),
    ):
        answer = await http.request(method, f"/api/v1/{path}")
        assert answer.status_code == 404 and answer.json()["detail"].endswith("."), path
