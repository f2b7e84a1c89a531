"""Container tags over `/v3`: listing, what is said of one, merging, deleting."""

from __future__ import annotations

from httpx2 import AsyncClient

from scrubjay.engine.engine import Engine
from scrubjay.models.envelopes import envelope
from scrubjay.models.requests import AddMemory


async def add(http: AsyncClient, tag: str, content: str) -> str:
    return (await http.post("/v3/documents", json={"content": content, "containerTag": tag})).json()["id"]


async def test_tags_are_listed_with_what_is_under_them(http: AsyncClient):
    await add(http, "acme", "The pump is red.")
    await add(http, "globex", "The fence is green.")
    await http.patch("/v3/container-tags/acme", json={"name": "Acme", "entityContext": "A farm."})
    rows = (await http.get("/v3/container-tags/list")).json()
    assert {row["containerTag"]: (row["name"], row["documentCount"], row["memoryCount"]) for row in rows} == {
        "acme": ("Acme", 1, 1),
        "globex": ("globex", 1, 1),
    }


async def test_what_is_said_of_a_tag_is_kept_until_it_is_taken_away(http: AsyncClient):
    assert (await http.get("/v3/container-tags/acme")).status_code == 404
    await http.patch("/v3/container-tags/acme", json={"name": "Acme", "entityContext": "A farm."})
    assert (await http.patch("/v3/container-tags/acme", json={"entityContext": None})).json()[
        "name"
    ] == "Acme"
    said = (await http.get("/v3/container-tags/acme")).json()
    assert (said["containerTag"], said["name"], said["entityContext"]) == ("acme", "Acme", None)
    assert (
        await http.patch("/v3/container-tags/acme", json={"entityContext": "x" * 1_501})
    ).status_code == 400
    for reserved in ("user", "*"):
        assert (await http.get(f"/v3/container-tags/{reserved}")).status_code == 400


async def test_merging_moves_everything_and_the_source_is_gone(http: AsyncClient):
    id = await add(http, "old", "The pump is red.")
    body = {"containerTags": ["old", "new"], "targetContainerTag": "new"}
    answer = (await http.post("/v3/container-tags/merge", json=body)).json()
    assert (answer["success"], answer["targetTag"], answer["deletedTags"]) == (True, "new", ["old"])
    assert (await http.get(f"/v3/documents/{id}")).json()["containerTags"] == ["new"]
    assert (await http.post("/v4/search", json={"q": "pump", "containerTag": "new"})).json()["total"] == 1
    assert (await http.post("/v3/container-tags/merge", json=body)).status_code == 404
    assert (await http.get("/v3/container-tags/merge/x")).status_code == 404


async def test_deleting_a_tag_deletes_what_is_under_it_for_good_and_nothing_else(http: AsyncClient):
    id, other = await add(http, "acme", "The pump is red."), await add(http, "globex", "The fence is green.")
    answer = (await http.delete("/v3/container-tags/acme")).json()
    assert answer == {
        "success": True,
        "containerTag": "acme",
        "deletedDocumentsCount": 1,
        "deletedMemoriesCount": 1,
    }
    assert (await http.get(f"/v3/documents/{id}")).status_code == 404
    assert (await http.get(f"/v3/documents/{other}")).status_code == 200
    assert (await http.delete("/v3/container-tags/acme")).status_code == 404


async def test_what_was_concluded_waits_for_review(http: AsyncClient, engine: Engine):
    core = await engine.core()
    await add(http, "acme", "The pump is red.")
    (parent,) = (await http.post("/v4/memories/list", json={"containerTags": ["acme"]})).json()[
        "memoryEntries"
    ]
    request = AddMemory(content="Somebody painted the pump.", derives=[parent["id"]])
    made = await core.write(
        envelope("memory", request, envelope_id="a" * 32, scope="acme", source="mcp", at=core.clock())
    )
    (row,) = (await http.get("/v3/container-tags/acme/inferred")).json()["memories"]
    assert (row["id"], row["isInference"], row["parentCount"]) == (made.id, True, 1)
    path = f"/v3/container-tags/acme/inferred/{made.id}/review"
    for action, after in (
        ("approve", [False, False, "approved"]),
        ("undo", [True, False, None]),
        ("decline", [True, True, "declined"]),
    ):
        answer = (await http.post(path, json={"action": action})).json()
        assert [answer["isInference"], answer["isForgotten"], answer["reviewStatus"]] == after
    assert (await http.get("/v3/container-tags/acme/inferred")).json()["memories"] == []
    await http.post(path, json={"action": "undo"})
    assert (await http.get("/v3/container-tags/acme/inferred")).json()["total"] == 1
    assert (await http.post(path, json={"action": "maybe"})).status_code == 400
    assert (await http.post(path.replace("acme", "globex"), json={"action": "approve"})).status_code == 404
    assert (
        await http.post(path.replace(made.id, parent["id"]), json={"action": "approve"})
    ).status_code == 400
