"""Single memories through Hebb Mind's API: written, listed, read, changed and forgotten, each under one id."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from said import turn
from spellings import Hebb

from scrubjay.engine.engine import Engine
from scrubjay.models.records import Memory

pytestmark = pytest.mark.long


async def test_every_field_of_a_memory_is_returned(hebb: Hebb):
    said = {
        "partition_id": "mem_preference",
        "importance_score": 7.5,
        "tags": ["ui", "dark"],
        "metadata": {"session_id": "a", "turn": 0, "tools": ["Bash"], "timestamp": "2026-03-01"},
        "source": "hook:stop",
    }
    made = await hebb.keep("User prefers dark mode.", **said)
    read = await hebb.memory(made["id"])
    assert read == read | said


async def test_an_unknown_partition_is_not_found_and_nothing_is_stored(hebb: Hebb):
    answer = await hebb.keep("zebra", 404, partition_id="mem_elsewhere")
    assert "mem_elsewhere" in answer["detail"]
    await hebb.keep_all([{"content": "giraffe"}, {"content": "zebra", "partition_id": "mem_elsewhere"}], 404)
    assert (await hebb.listed())["total"] == 0


async def test_unset_and_empty_fields_have_the_defaults_of_the_original_server(hebb: Hebb):
    made = await hebb.keep("zebra", metadata={"session_id": None, "turn": None}, source=None)
    unset = {"partition_id": "mem_hippocampus", "importance_score": 5.0, "tags": [], "metadata": {}}
    assert made == made | unset | {"source": "api", "access_count": 0}


async def test_blanks_in_a_tag_become_dashes(hebb: Hebb):
    assert (await hebb.keep("zebra", tags=["My Project"]))["tags"] == ["My-Project"]
    assert len((await hebb.search("zebra", tags=["My Project"]))["results"]) == 1


async def test_a_memory_sent_twice_is_stored_once_with_its_last_values(hebb: Hebb):
    first = await hebb.keep("The zebra stable is green.", importance_score=7)
    again = await hebb.keep("The zebra stable is green.")
    assert (again["id"], again["importance_score"]) == (first["id"], 7)
    moved = await hebb.keep("The zebra stable is green.", partition_id="mem_semantic", tags=["zebra"])
    assert (moved["id"], moved["partition_id"]) == (first["id"], "mem_semantic")
    assert (moved["tags"], moved["importance_score"]) == (["zebra"], 7)
    assert (await hebb.listed())["total"] == 1


async def test_a_batch_is_a_bare_list_in_the_same_order(hebb: Hebb):
    texts = [f"zebra {n}" for n in range(5)]
    assert [each["content"] for each in await hebb.keep_all([{"content": text} for text in texts])] == texts
    assert await hebb.keep_all([]) == []
    await hebb.post("memories/batch", 422, content="zebra")


async def test_a_list_has_pages_newest_first(hebb: Hebb):
    for n in range(7):
        tags, partition = (
            ["odd" if n % 2 else "even", "zebra"],
            "mem_semantic" if n < 3 else "mem_hippocampus",
        )
        await hebb.keep(f"zebra {n}", tags=tags, partition_id=partition)
    whole = await hebb.listed()
    assert [each["content"] for each in whole["items"]] == [f"zebra {n}" for n in range(6, -1, -1)]
    assert (whole["total"], whole["offset"], whole["limit"]) == (7, 0, 50)
    page = await hebb.listed(offset=2, limit=2)
    assert [each["content"] for each in page["items"]] == ["zebra 4", "zebra 3"] and page["total"] == 7
    assert (await hebb.listed(partition_id="mem_semantic"))["total"] == 3
    assert (await hebb.listed(tags="odd,zebra"))["total"] == 3
    assert (await hebb.listed(tags="odd,even"))["total"] == 0
    for wrong in ({"limit": 0}, {"limit": 201}, {"offset": -1}, {"limit": "many"}):
        await hebb.listed(422, **wrong)


async def test_turns_are_listed_among_the_memories_of_their_partition(hebb: Hebb, engine: Engine):
    recorded = await turn(await engine.core(), "a", user="the zebra stable", ts="2026-03-01T09:00:00Z")
    await hebb.keep("zebra")
    (item,) = (await hebb.listed(partition_id="mem_episodic"))["items"]
    assert (item["id"], item["metadata"]) == (recorded.id, {"session_id": "a", "turn": 0})
    assert (await hebb.listed())["total"] == 2


async def test_every_answer_shows_the_recalls_so_far_and_a_change_keeps_them(hebb: Hebb, engine: Engine):
    made = await hebb.keep("The zebra stable is green.")

    async def shown() -> set[tuple[int, str]]:
        memories = [await hebb.memory(made["id"]), (await hebb.listed())["items"][0]]
        memories.append((await hebb.search("zebra stable"))["results"][0]["memory"])
        return {(memory["access_count"], memory["last_accessed_at"]) for memory in memories}

    assert await shown() == {(0, made["last_accessed_at"])}
    ((count, last),) = await shown()
    assert count == 1 and last > made["last_accessed_at"]
    changed = await hebb.change(made["id"], content="The zebra stable is red.")
    assert changed["access_count"] == 2
    core = await engine.core()
    await core.writer.settle()
    await core.access.flush()
    assert await shown() == {(2, changed["last_accessed_at"])}


async def test_a_memory_is_not_recalled_after_it_expires(hebb: Hebb):
    kept = await hebb.keep("The zebra stable is green.", expires_at="2999-01-01T00:00:00Z")
    assert kept["expires_at"] == "2999-01-01T00:00:00.000Z"
    gone = await hebb.keep("The zebra stable is red.", expires_at="2001-01-01T00:00:00Z")
    found = await hebb.search("zebra stable")
    assert [hit["memory"]["id"] for hit in found["results"]] == [kept["id"]] and not found["related"]
    assert [each["id"] for each in (await hebb.listed())["items"]] == [kept["id"]]
    await hebb.memory(gone["id"], 404)


async def test_the_answer_of_a_write_names_unknown_fields(hebb: Hebb):
    made = await hebb.keep("zebra", expire_at="2999-01-01T00:00:00Z")
    changed = await hebb.change(made["id"], tag="x", tags=["y"])
    batch = await hebb.keep_all([{"content": "owl"}, {"content": "heron", "x": 1}])
    answers = {
        "expire_at": made,
        "tag": changed,
        "x": batch[1],
        "colour": await hebb.post("partitions", 201, id="mem_zoo", name="Zoo", colour="green"),
        "kind": await hebb.ingest("User: hello zoo\nAssistant: hi", kind=1),
    }
    for name, answer in answers.items():
        assert [repr(name) in warning for warning in answer["warnings"]] == [True], name
    assert "warnings" not in batch[0] and changed["tags"] == ["y"]


async def test_a_changed_memory_keeps_its_id_and_its_history(hebb: Hebb, engine: Engine):
    metadata = {"session_id": "a", "turn": 3, "colour": "green"}
    made = await hebb.keep("The zebra stable is green.", tags=["zebra"], metadata=metadata)
    for text in ("The zebra stable is blue.", "The zebra stable is red."):
        changed = await hebb.change(made["id"], content=text)
        assert (changed["content"], changed["id"]) == (text, made["id"])
    read = await hebb.memory(made["id"])
    assert read["content"] == "The zebra stable is red." and read["created_at"] == made["created_at"]
    assert read["tags"] == ["zebra"] and read["metadata"] == made["metadata"]
    assert datetime.fromisoformat(read["updated_at"]) > datetime.fromisoformat(made["updated_at"])
    (found,) = (await hebb.search("What colour is the zebra stable?"))["results"]
    assert (found["memory"]["id"], found["memory"]["content"]) == (made["id"], "The zebra stable is red.")
    assert (await hebb.listed())["total"] == 1
    kept = await (await engine.core()).store.select(Memory, "true")
    assert {row.content: row.is_latest for row in kept} == {
        "The zebra stable is green.": False,
        "The zebra stable is blue.": False,
        "The zebra stable is red.": True,
    }


async def test_each_field_can_be_changed_alone(hebb: Hebb):
    id = (await hebb.keep("zebra", tags=["a"], metadata={"k": "v"}))["id"]
    values: dict[str, Any] = {"content": "zebra"}
    for change in (
        {"importance_score": 9},
        {"tags": []},
        {"metadata": {"session_id": "a", "turn": 1}},
        {"metadata": {"session_id": "a", "turn": 2}},
    ):
        values |= change
        changed = await hebb.change(id, **change)
        assert changed == changed | values
    for wrong in ({"content": "  "}, {"content": ""}, {"importance_score": 11}, {"metadata": {"turn": -1}}):
        await hebb.change(id, 422, **wrong)
    assert await hebb.memory(id) == changed


async def test_the_words_of_a_turn_cannot_be_changed(hebb: Hebb, engine: Engine):
    recorded = await turn(await engine.core(), "a", user="the zebra stable")
    answer = await hebb.change(recorded.id, 400, content="the giraffe house")
    assert "keeps what was said" in answer["detail"]


async def test_deleting_a_memory_is_a_soft_delete(hebb: Hebb, engine: Engine):
    core = await engine.core()
    made = await hebb.keep("The zebra stable is green.")
    recorded = await turn(core, "a", user="the zebra stable")
    await hebb.change(made["id"], importance_score=9)
    for id in (made["id"], recorded.id):
        assert await hebb.delete(id) is None
        for answer in (
            await hebb.memory(id, 404),
            await hebb.delete(id, 404),
            await hebb.change(id, 404, tags=["x"]),
        ):
            assert id in answer["detail"]
    assert (await hebb.listed())["total"] == 0
    assert await hebb.search("zebra stable") == {"results": [], "related": []}
    await core.removal.restore(recorded.id, "test")
    await hebb.memory(recorded.id)


async def test_an_unknown_id_is_4xx(hebb: Hebb):
    for id in ("mem_unknown", "%20", "a'b", "documents"):
        await hebb.memory(id, 404)
    await hebb.memory("x" * 201, 422)


@pytest.mark.parametrize(
    "named", [{"headers": {"X-Scrubjay-Scope": "other"}}, {"params": {"scope": "other"}}]
)
async def test_a_scope_can_be_named_and_without_a_name_every_scope_is_read(hebb: Hebb, named: dict[str, Any]):
    here = await hebb.keep("The zebra of one.")
    there = await hebb.call("POST", "memories", 201, json={"content": "The zebra of the other."}, **named)
    found = (await hebb.call("POST", "search", json={"query": "zebra"}, **named))["results"]
    assert [hit["memory"]["id"] for hit in found] == [there["id"]]
    await hebb.memory(here["id"], 404, **named)
    assert (await hebb.listed())["total"] == 2
