"""Single memories through Hebb Mind's API: written, listed, read, changed and forgotten, each under one id."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import httpx2
import pytest
from said import SCOPE, fact, turn

from scrubjay.engine.engine import Engine
from scrubjay.models.records import Memory

pytestmark = pytest.mark.long

AT = "/api/v1/memories"


async def keep(http: httpx2.AsyncClient, content: str, **fields: Any) -> dict[str, Any]:
    answer = await http.post(AT, json={"content": content, **fields})
    assert answer.status_code == 201, answer.text
    return answer.json()


async def test_unset_fields_have_the_defaults_of_the_original_server(http: httpx2.AsyncClient):
    made = await keep(http, "The zebra stable is green.")
    assert {
        name: made[name]
        for name in ("partition_id", "importance_score", "tags", "metadata", "source", "access_count")
    } == {
        "partition_id": "mem_hippocampus",
        "importance_score": 5.0,
        "tags": [],
        "metadata": {},
        "source": "api",
        "access_count": 0,
    }
    assert datetime.fromisoformat(made["created_at"]).tzinfo is not None


async def test_every_field_of_a_memory_is_returned(http: httpx2.AsyncClient):
    said = {
        "partition_id": "mem_preference",
        "importance_score": 7.5,
        "tags": ["ui", "dark"],
        "metadata": {"session_id": "a", "turn": 0, "tools": ["Bash"], "timestamp": "2026-03-01"},
        "source": "hook:stop",
    }
    made = await keep(http, "User prefers dark mode.", **said)
    read = (await http.get(f"{AT}/{made['id']}")).json()
    assert {name: read[name] for name in said} == said


async def test_an_invalid_memory_is_refused_with_its_location(http: httpx2.AsyncClient):
    for fields in (
        {"content": ""},
        {"content": " \n"},
        {"content": "x" * 10_001},
        {"content": None},
        {"partition_id": "Elsewhere"},
        {"importance_score": 10.5},
        {"importance_score": -1},
        {"tags": ["a,b"]},
        {"tags": "ui"},
        {"metadata": {"session_id": "a", "turn": -1}},
        {"metadata": {"turn": "first"}},
        {"metadata": {"session_id": 7}},
        {"metadata": {"nested": {"a": 1}}},
        {"source": "engine:summary"},
    ):
        answer = await http.post(AT, json={"content": "zebra", **fields})
        assert answer.status_code == 422
        assert answer.json()["detail"][0]["loc"][:2] == ["body", next(iter(fields))]
        assert (await http.get(AT)).json()["total"] == 0


async def test_an_unknown_partition_is_not_found_and_nothing_is_stored(http: httpx2.AsyncClient):
    answer = await http.post(AT, json={"content": "zebra", "partition_id": "mem_elsewhere"})
    assert answer.status_code == 404 and "mem_elsewhere" in answer.json()["detail"]
    batch = [{"content": "giraffe"}, {"content": "zebra", "partition_id": "mem_elsewhere"}]
    assert (await http.post(f"{AT}/batch", json=batch)).status_code == 404
    assert (await http.get(AT)).json()["total"] == 0


async def test_empty_fields_of_a_client_are_ignored(http: httpx2.AsyncClient):
    made = await keep(http, "zebra", metadata={"session_id": None, "turn": None}, source=None)
    assert made["metadata"] == {} and made["source"] == "api"


async def test_blanks_in_a_tag_become_dashes(http: httpx2.AsyncClient):
    assert (await keep(http, "zebra", tags=["My Project"]))["tags"] == ["My-Project"]
    found = await http.post("/api/v1/search", json={"query": "zebra", "tags": ["My Project"]})
    assert len(found.json()["results"]) == 1


async def test_a_secret_is_never_stored(http: httpx2.AsyncClient):
    made = await keep(http, "The key is AKIAIOSFODNN7EXAMPLE, do not lose it.")
    assert "AKIAIOSFODNN7EXAMPLE" not in made["content"]


async def test_a_memory_sent_twice_is_stored_once_with_its_last_values(http: httpx2.AsyncClient):
    first = await keep(http, "The zebra stable is green.", importance_score=7)
    again = await keep(http, "The zebra stable is green.")
    assert (again["id"], again["importance_score"]) == (first["id"], 7)
    moved = await keep(http, "The zebra stable is green.", partition_id="mem_semantic", tags=["zebra"])
    assert (moved["id"], moved["partition_id"], moved["tags"], moved["importance_score"]) == (
        first["id"],
        "mem_semantic",
        ["zebra"],
        7,
    )
    assert (await http.get(AT)).json()["total"] == 1


async def test_a_batch_is_a_bare_list_in_the_same_order(http: httpx2.AsyncClient):
    made = await http.post(f"{AT}/batch", json=[{"content": f"zebra {n}"} for n in range(5)])
    assert made.status_code == 201 and [each["content"] for each in made.json()] == [
        f"zebra {n}" for n in range(5)
    ]
    assert (await http.post(f"{AT}/batch", json=[])).json() == []
    assert (await http.post(f"{AT}/batch", json={"content": "zebra"})).status_code == 422


async def test_a_list_has_pages_newest_first(http: httpx2.AsyncClient):
    for n in range(7):
        await keep(
            http,
            f"zebra {n}",
            tags=["odd" if n % 2 else "even", "zebra"],
            partition_id="mem_semantic" if n < 3 else "mem_hippocampus",
        )
    whole = (await http.get(AT)).json()
    assert [each["content"] for each in whole["items"]] == [f"zebra {n}" for n in range(6, -1, -1)]
    assert {name: whole[name] for name in ("total", "offset", "limit")} == {
        "total": 7,
        "offset": 0,
        "limit": 50,
    }
    page = (await http.get(AT, params={"offset": 2, "limit": 2})).json()
    assert [each["content"] for each in page["items"]] == ["zebra 4", "zebra 3"] and page["total"] == 7
    assert (await http.get(AT, params={"partition_id": "mem_semantic"})).json()["total"] == 3
    assert (await http.get(AT, params={"tags": "odd,zebra"})).json()["total"] == 3
    assert (await http.get(AT, params={"tags": "odd,even"})).json()["total"] == 0
    for wrong in ({"limit": 0}, {"limit": 201}, {"offset": -1}, {"limit": "many"}):
        assert (await http.get(AT, params=wrong)).status_code == 422


async def test_turns_are_listed_among_the_memories_of_their_partition(
    http: httpx2.AsyncClient, engine: Engine
):
    recorded = await turn(await engine.core(), "a", user="the zebra stable", ts="2026-03-01T09:00:00Z")
    await keep(http, "zebra")
    items = (await http.get(AT, params={"partition_id": "mem_episodic"})).json()["items"]
    assert [(each["id"], each["metadata"]) for each in items] == [
        (recorded.id, {"session_id": "a", "turn": 0})
    ]
    assert (await http.get(AT)).json()["total"] == 2


async def test_every_answer_shows_the_recalls_so_far_and_a_change_keeps_them(
    http: httpx2.AsyncClient, engine: Engine
):
    made = await keep(http, "The zebra stable is green.")

    async def shown() -> set[tuple[int, str]]:
        memories = [
            (await http.get(f"{AT}/{made['id']}")).json(),
            (await http.get(AT)).json()["items"][0],
            (await http.post("/api/v1/search", json={"query": "zebra stable"})).json()["results"][0][
                "memory"
            ],
        ]
        return {(memory["access_count"], memory["last_accessed_at"]) for memory in memories}

    assert await shown() == {(0, made["last_accessed_at"])}
    ((count, last),) = await shown()
    assert count == 1 and last > made["last_accessed_at"]
    changed = (await http.patch(f"{AT}/{made['id']}", json={"content": "The zebra stable is red."})).json()
    assert changed["access_count"] == 2
    core = await engine.core()
    await core.writer.settle()
    await core.access.flush(everything=True)
    assert await shown() == {(2, changed["last_accessed_at"])}


async def test_a_memory_is_not_recalled_after_it_expires(http: httpx2.AsyncClient):
    kept = await keep(http, "The zebra stable is green.", expires_at="2999-01-01T00:00:00Z")
    assert kept["expires_at"] == "2999-01-01T00:00:00.000Z"
    gone = await keep(http, "The zebra stable is red.", expires_at="2001-01-01T00:00:00Z")
    found = (await http.post("/api/v1/search", json={"query": "zebra stable"})).json()
    assert [hit["memory"]["id"] for hit in found["results"]] == [kept["id"]] and not found["related"]
    assert [each["id"] for each in (await http.get(AT)).json()["items"]] == [kept["id"]]
    assert (await http.get(f"{AT}/{gone['id']}")).status_code == 404


async def test_the_answer_of_a_write_names_unknown_fields(http: httpx2.AsyncClient):
    made = await keep(http, "zebra", expire_at="2999-01-01T00:00:00Z")
    changed = (await http.patch(f"{AT}/{made['id']}", json={"tag": "x", "tags": ["y"]})).json()
    batch = (await http.post(f"{AT}/batch", json=[{"content": "owl"}, {"content": "heron", "x": 1}])).json()
    partition = {"id": "mem_zoo", "name": "Zoo", "colour": "green"}
    answers = {
        "expire_at": made,
        "tag": changed,
        "x": batch[1],
        "colour": (await http.post("/api/v1/partitions", json=partition)).json(),
        "kind": (
            await http.post("/api/v1/ingest", json={"content": "User: hello zoo\nAssistant: hi", "kind": 1})
        ).json(),
    }
    for name, answer in answers.items():
        assert [repr(name) in warning for warning in answer["warnings"]] == [True], name
    assert "warnings" not in batch[0] and changed["tags"] == ["y"]


async def test_a_changed_memory_keeps_its_id_and_its_history(http: httpx2.AsyncClient, engine: Engine):
    made = await keep(
        http,
        "The zebra stable is green.",
        tags=["zebra"],
        metadata={"session_id": "a", "turn": 3, "colour": "green"},
    )
    at = f"{AT}/{made['id']}"
    for text in ("The zebra stable is blue.", "The zebra stable is red."):
        changed = await http.patch(at, json={"content": text})
        assert (
            changed.status_code == 200
            and changed.json()["content"] == text
            and changed.json()["id"] == made["id"]
        )
    read = (await http.get(at)).json()
    assert read["content"] == "The zebra stable is red." and read["created_at"] == made["created_at"]
    assert read["tags"] == ["zebra"] and read["metadata"] == made["metadata"]
    assert datetime.fromisoformat(read["updated_at"]) > datetime.fromisoformat(made["updated_at"])
    found = (await http.post("/api/v1/search", json={"query": "What colour is the zebra stable?"})).json()[
        "results"
    ]
    assert [(hit["memory"]["id"], hit["memory"]["content"]) for hit in found] == [
        (made["id"], "The zebra stable is red.")
    ]
    assert (await http.get(AT)).json()["total"] == 1
    kept = await (await engine.core()).store.select(Memory, "true")
    assert {row.content: row.is_latest for row in kept} == {
        "The zebra stable is green.": False,
        "The zebra stable is blue.": False,
        "The zebra stable is red.": True,
    }


async def test_each_field_can_be_changed_alone(http: httpx2.AsyncClient):
    at = f"{AT}/{(await keep(http, 'zebra', tags=['a'], metadata={'k': 'v'}))['id']}"
    assert (await http.patch(at, json={"importance_score": 9})).json()["importance_score"] == 9
    assert (await http.patch(at, json={"tags": []})).json()["tags"] == []
    placed = await http.patch(at, json={"metadata": {"session_id": "a", "turn": 1}})
    assert placed.json()["metadata"] == {"session_id": "a", "turn": 1}
    assert (await http.patch(at, json={"metadata": {"session_id": "a", "turn": 2}})).json()["metadata"][
        "turn"
    ] == 2
    last = (await http.get(at)).json()
    assert (last["content"], last["importance_score"], last["tags"], last["metadata"]["turn"]) == (
        "zebra",
        9,
        [],
        2,
    )
    for wrong in ({"content": "  "}, {"content": ""}, {"importance_score": 11}, {"metadata": {"turn": -1}}):
        assert (await http.patch(at, json=wrong)).status_code == 422
    assert (await http.get(at)).json()["content"] == "zebra"


async def test_the_words_of_a_turn_cannot_be_changed(http: httpx2.AsyncClient, engine: Engine):
    recorded = await turn(await engine.core(), "a", user="the zebra stable")
    answer = await http.patch(f"{AT}/{recorded.id}", json={"content": "the giraffe house"})
    assert answer.status_code == 400 and "keeps what was said" in answer.json()["detail"]


async def test_deleting_a_memory_is_a_soft_delete(http: httpx2.AsyncClient, engine: Engine):
    core = await engine.core()
    made = await keep(http, "The zebra stable is green.")
    recorded = await turn(core, "a", user="the zebra stable")
    await http.patch(f"{AT}/{made['id']}", json={"importance_score": 9})
    for id in (made["id"], recorded.id):
        gone = await http.delete(f"{AT}/{id}")
        assert gone.status_code == 204 and gone.content == b""
        for answer in (
            await http.get(f"{AT}/{id}"),
            await http.delete(f"{AT}/{id}"),
            await http.patch(f"{AT}/{id}", json={"tags": ["x"]}),
        ):
            assert answer.status_code == 404 and id in answer.json()["detail"]
    assert (await http.get(AT)).json()["total"] == 0
    assert (await http.post("/api/v1/search", json={"query": "zebra stable"})).json() == {
        "results": [],
        "related": [],
    }
    await core.removal.restore(recorded.id, "test")
    assert (await http.get(f"{AT}/{recorded.id}")).status_code == 200


async def test_an_unknown_id_is_4xx(http: httpx2.AsyncClient):
    for id in ("mem_unknown", "%20", "a'b", "x" * 201, "documents"):
        assert (await http.get(f"{AT}/{id}")).status_code in (404, 422)


async def test_a_scope_can_be_named_and_is_isolated(http: httpx2.AsyncClient, engine: Engine):
    made = await keep(http, "The zebra of one.")
    other = await http.post(
        AT, json={"content": "The zebra of the other."}, headers={"X-Scrubjay-Scope": "other"}
    )
    there = other.json()["id"]
    for named in ({"headers": {"X-Scrubjay-Scope": "other"}}, {"params": {"scope": "other"}}):
        found = (await http.post("/api/v1/search", json={"query": "zebra"}, **named)).json()["results"]
        assert [hit["memory"]["id"] for hit in found] == [there]
        assert [each["id"] for each in (await http.get(AT, **named)).json()["items"]] == [there]
        assert (await http.get(f"{AT}/{made['id']}", **named)).status_code == 404
        assert (await http.delete(f"{AT}/{made['id']}", **named)).status_code == 404
    assert (await http.get(AT)).json()["total"] == 2, "without a name every scope is seen"
    private = await fact(await engine.core(), "The zebra of the user.", scope="user")
    await fact(await engine.core(), "The zebra of a project.", scope=SCOPE)
    assert (await http.get(AT)).json()["total"] == 3
    assert (await http.get(f"{AT}/{private.id}")).status_code == 404
    for reserved in ("user", "*"):
        assert (await http.post(AT, json={"content": "zebra"}, params={"scope": reserved})).status_code == 400
        assert (await http.get(AT, params={"scope": reserved})).status_code == 400
