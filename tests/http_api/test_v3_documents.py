"""Documents over `/v3`, as supermemory's clients send them: adding, reading, changing, deleting, listing."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from campaign.hostile_files import FILES
from files_made import word
from httpx2 import AsyncClient

DEPLOYS = "Deploys go out on Tuesdays, says Priya; the ticket is zxqv-7741."
TAG = "acme"


async def add(http: AsyncClient, content: str = DEPLOYS, **more: Any) -> str:
    answer = await http.post("/v3/documents", json={"content": content, "containerTag": TAG, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()["id"]


async def document(http: AsyncClient, id: str) -> dict[str, Any]:
    answer = await http.get(f"/v3/documents/{id}")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def done(http: AsyncClient, id: str) -> dict[str, Any]:
    async with asyncio.timeout(20):
        while (found := await document(http, id))["status"] not in ("done", "failed"):
            await asyncio.sleep(0.02)
    return found


async def test_an_add_is_queued_is_there_at_once_and_ends_done(http: AsyncClient):
    answer = await http.post(
        "/v3/documents", json={"content": DEPLOYS, "containerTag": TAG, "metadata": {"n": 5}, "unheard": 1}
    )
    assert answer.json()["status"] == "queued"
    found = await document(http, answer.json()["id"])
    assert (found["content"], found["metadata"], found["containerTags"], found["taskType"]) == (
        DEPLOYS,
        {"n": 5},
        [TAG],
        "memory",
    )
    assert [entry["memory"] for entry in found["memories"]] == [DEPLOYS]
    assert (await done(http, found["id"]))["status"] == "done"


async def test_an_add_that_is_sent_again_changes_nothing_and_says_how_far_it_is(http: AsyncClient):
    before = await done(http, await add(http))
    answer = await http.post("/v3/documents", json={"content": DEPLOYS, "containerTag": TAG})
    assert answer.json() == {"id": before["id"], "status": "done"}
    assert await document(http, before["id"]) == before


async def test_a_custom_id_names_one_document_that_is_gone_on_with(http: AsyncClient):
    id = await add(http, "user: hi\nassistant: hello", customId="conv/1")
    assert await add(http, "user: and tick()?\nassistant: it is pulse() now", customId="conv/1") == id
    assert (await document(http, "conv/1"))["content"].endswith(
        "hello\n\nuser: and tick()?\nassistant: it is pulse() now"
    )
    await add(http, "user: and tick()?\nassistant: it is pulse() now", customId="conv/1")
    assert (await document(http, "conv%2F1"))["content"].count("tick()") == 1


async def test_a_patch_replaces_the_text_and_the_memories_follow(http: AsyncClient):
    id = await add(http, customId="one")
    answer = await http.patch("/v3/documents/one", json={"content": "Deploys go out on Fridays now."})
    assert answer.json() == {"id": id, "status": "queued"}
    found = await document(http, id)
    assert found["content"] == "Deploys go out on Fridays now." and found["customId"] == "one"
    assert [entry["memory"] for entry in found["memories"]] == ["Deploys go out on Fridays now."]


async def test_a_patch_of_metadata_leaves_text_and_vectors_and_reaches_the_memories(http: AsyncClient):
    id = (await done(http, await add(http, metadata={"team": "ops"})))["id"]
    await http.patch(f"/v3/documents/{id}", json={"metadata": {"team": "web"}})
    await http.post("/v3/documents/list", json={})  # which commits
    found = await document(http, id)
    assert (found["status"], found["metadata"], found["content"]) == ("done", {"team": "web"}, DEPLOYS)
    assert [entry["metadata"] for entry in found["memories"]] == [{"team": "web"}]


async def test_words_that_named_a_document_before_it_was_patched_make_a_new_one(http: AsyncClient):
    id = await add(http)
    await http.patch(f"/v3/documents/{id}", json={"content": "Something else entirely."})
    assert await add(http) != id
    assert (await document(http, id))["content"] == "Something else entirely."


@pytest.mark.parametrize("headers", [{}, {"content-type": "application/json"}])
async def test_a_delete_needs_no_body_and_takes_the_memories_along(
    http: AsyncClient, headers: dict[str, str]
):
    id = await add(http, customId="one")
    answer = await http.request("DELETE", "/v3/documents/one", headers=headers)
    assert (answer.status_code, answer.content) == (204, b"")
    assert (await http.get(f"/v3/documents/{id}")).status_code == 404
    assert not (await http.post("/v4/search", json={"q": "zxqv-7741", "containerTag": TAG})).json()["results"]
    assert await add(http, customId="one") == id and (await document(http, id))["memories"]


async def test_the_id_of_a_memory_stands_for_its_document_and_can_be_deleted(http: AsyncClient):
    id = await add(http)
    (memory,) = (await document(http, id))["memories"]
    assert (await document(http, memory["id"]))["id"] == id
    assert (await http.delete(f"/v3/documents/{memory['id']}")).status_code == 204
    assert "memories" not in await document(http, id)


async def test_an_id_of_another_tag_is_unknown_there(http: AsyncClient):
    id = await add(http)
    assert (
        await http.patch(f"/v3/documents/{id}", json={"containerTag": "globex", "metadata": {}})
    ).status_code == 404
    assert (await http.get(f"/v3/documents/{id}?containerTag=globex")).status_code == 404
    await add(http, "Another text.", customId="same")
    await add(http, "A third text.", customId="same", containerTag="globex")
    assert (await http.get("/v3/documents/same")).status_code == 400
    assert (await http.get("/v3/documents/same?containerTag=globex")).json()["content"] == "A third text."


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"content": "  "},
        {"content": "a\x00b"},
        {"content": "x", "containerTag": "user"},
        {"content": "x", "containerTag": "*"},
        {"content": "x", "containerTag": "no spaces"},
        {"content": "x", "containerTags": ["a", "b"]},
        {"content": "x", "metadata": {"a": {"b": 1}}},
        {"content": "x", "documentDate": "yesterday"},
        {"content": "x", "entityContext": "y" * 1_501},
        {"content": "x", "taskType": "none"},
        {"content": "x", "filterByMetadata": {"a": None}},
    ],
)
async def test_what_does_not_fit_is_refused_in_a_sentence(http: AsyncClient, body: dict[str, Any]):
    answer = await http.post("/v3/documents", json=body)
    assert answer.status_code == 400 and answer.json()["error"]


async def test_everything_an_add_can_say_is_kept(http: AsyncClient):
    said = {
        "documentDate": "2024-05-01",
        "filepath": "/notes/a.md",
        "entityContext": "Notes of Priya.",
        "dreaming": "instant",
        "taskType": "superrag",
        "filterByMetadata": {"team": ["ops", "web"]},
        "containerTags": [TAG],
        "metadata": {"sm_source": "cli"},
    }
    found = await document(http, await add(http, **said))
    assert (found["filepath"], found["taskType"], "memories" in found) == ("/notes/a.md", "superrag", False)
    assert (await http.get(f"/v3/container-tags/{TAG}")).json()["entityContext"] == "Notes of Priya."


async def test_a_batch_takes_texts_and_objects_and_reports_each_mistake(http: AsyncClient):
    body = {
        "documents": [
            {"content": "one", "customId": "b1"},
            {"content": " "},
            {"content": "x", "customId": "b3", "metadata": {"a": []}},
        ],
        "containerTag": TAG,
        "metadata": {"shared": True},
    }
    answer = (await http.post("/v3/documents/batch", json=body)).json()
    assert (answer["success"], answer["failed"]) == (2, 1)
    assert [item["status"] for item in answer["results"]] == ["queued", "error", "queued"]
    assert answer["results"][1]["id"] == "unknown" and "content" in answer["results"][1]["error"]
    assert (await document(http, "b1"))["metadata"] == {"shared": True}
    plain = (await http.post("/v3/documents/batch", json={"documents": ["first", "second"]})).json()
    assert plain["failed"] == 0 and "error" not in plain["results"][0]
    assert (await document(http, plain["results"][0]["id"]))["containerTags"] == ["sm_project_default"]
    for documents in ([], ["x"] * 601):
        assert (await http.post("/v3/documents/batch", json={"documents": documents})).status_code == 400


async def upload(http: AsyncClient, name: str, data: bytes, **fields: str) -> dict[str, Any]:
    answer = await http.post("/v3/documents/file", files={"file": (name, data)}, data=fields)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_file_is_read_and_its_fields_may_be_json_text(http: AsyncClient):
    about = {
        "containerTags": json.dumps([TAG]),
        "metadata": json.dumps({"x": "y"}),
        "filepath": "/up/notes.md",
        "customId": "",
        "fileType": "text",
    }
    made = await upload(http, "notes.md", b"# Notes\n\nThe registry moved to Paris.", **about)
    found = await document(http, made["id"])
    assert (found["title"], found["metadata"], found["containerTags"]) == ("Notes", {"x": "y"}, [TAG])
    assert "registry moved" in found["memories"][0]["memory"]
    assert (await upload(http, "notes.md", b"# Notes\n\nThe registry moved to Paris.", **about))[
        "id"
    ] == made["id"]
    office = await document(http, (await upload(http, "a.docx", word(), containerTag=TAG))["id"])
    assert office["status"] != "failed" and office["content"]


async def test_a_file_without_text_is_a_failed_document_that_says_why(http: AsyncClient):
    sparse = await upload(http, "corners.xlsx", FILES["corners.xlsx"](), containerTag=TAG)
    assert (await document(http, sparse["id"]))["status"] == "failed"
    made = await upload(http, "x.png", b"\x89PNG\r\n\x1a\n\0\0", containerTag=TAG)
    assert made["status"] == "failed"
    found = await document(http, made["id"])
    assert (found["status"], found["title"]) == ("failed", "x.png") and "image" in found["errorMessage"]
    assert (await upload(http, "x.png", b"\x89PNG\r\n\x1a\n\0\0", containerTag=TAG))["id"] == made["id"]
    assert (await upload(http, "y.png", b"\x89PNG\r\n\x1a\n\0\1", containerTag=TAG))["id"] != made["id"]
    await add(http, customId="good")
    refused = await http.post(
        "/v3/documents/file",
        files={"file": ("x.png", b"\x89PNG\0")},
        data={"containerTag": TAG, "customId": "good"},
    )
    assert refused.status_code == 400 and (await document(http, "good"))["content"] == DEPLOYS
    assert (await http.post("/v3/documents/file", data={"containerTag": TAG})).status_code == 400


async def test_documents_are_listed_page_by_page_under_memories(http: AsyncClient):
    for number in range(5):
        await add(http, f"Text number {number}.", metadata={"n": number}, filepath=f"/p/{number}.md")
    await add(http, "Of another tag.", containerTag="globex")
    body = {"containerTags": [TAG], "limit": "2", "page": 2, "sort": "createdAt", "order": "asc"}
    answer = (await http.post("/v3/documents/list", json=body)).json()
    assert [row["metadata"]["n"] for row in answer["memories"]] == [2, 3] and "content" not in answer[
        "memories"
    ][0]
    assert answer["pagination"] == {"currentPage": 2, "limit": 2, "totalItems": 5, "totalPages": 3}
    of = {"AND": [{"key": "n", "value": "3", "filterType": "numeric", "numericOperator": ">="}]}
    for filters in (of, json.dumps(of)):
        answer = (
            await http.post("/v3/documents/list", json={"filters": filters, "includeContent": True})
        ).json()
        assert sorted(row["content"] for row in answer["memories"]) == ["Text number 3.", "Text number 4."]
    for filepath, count in (("/p/", 5), ("/p/1.md", 1), ("/p", 0)):
        assert (
            len((await http.post("/v3/documents/list", json={"filepath": filepath})).json()["memories"])
            == count
        )
    assert (await http.post("/v3/documents/list")).json()["pagination"]["totalItems"] == 6
    for bad in ({"limit": 0}, {"limit": 1_101}, {"page": 0}, {"sort": "title"}, {"filters": "{"}):
        assert (await http.post("/v3/documents/list", json=bad)).status_code == 400


async def test_documents_are_listed_with_their_memories(http: AsyncClient):
    id = await add(http)
    (row,) = (await http.post("/v3/documents/documents", json={"containerTags": [TAG]})).json()["documents"]
    assert row["id"] == id and [entry["memory"] for entry in row["memoryEntries"]] == [DEPLOYS]


async def test_what_is_in_hand_is_listed_until_it_is_done(http: AsyncClient):
    await done(http, await add(http))
    assert (await http.get("/v3/documents/processing")).json() == {"documents": [], "totalCount": 0}
    failed = await upload(http, "x.png", b"\x89PNG\0", containerTag=TAG)
    assert (await http.get("/v3/documents/processing?view=pending")).json()["totalCount"] == 0
    answer = (await http.get(f"/v3/documents/processing?view=all&containerTags={TAG},globex")).json()
    assert [(row["id"], row["stuck"]) for row in answer["documents"]] == [(failed["id"], False)]
    assert answer["pagination"]["totalItems"] == answer["totalCount"] == 1


async def test_the_chunks_of_a_document_come_in_its_order(http: AsyncClient):
    id = await add(
        http,
        "\n\n".join(f"# Part {n}\n\n" + f"Sentence {n} is here. " * 40 for n in range(3)),
        customId="long",
    )
    answer = (await http.get("/v3/documents/long/chunks?limit=2")).json()
    assert [chunk["position"] for chunk in answer["chunks"]] == [0, 1] and answer["chunks"][0][
        "documentId"
    ] == id
    assert "Part 0" in answer["chunks"][0]["content"] and answer["pagination"]["totalItems"] >= 3
    assert (await http.get("/v3/documents/nothing/chunks")).status_code == 404
    assert "not the file" in (await http.get("/v3/documents/long/file-url")).json()["error"]


async def test_documents_are_deleted_together_by_id_by_tag_or_by_path(http: AsyncClient):
    async def delete(**body: Any) -> dict[str, Any]:
        return (await http.request("DELETE", "/v3/documents/bulk", json=body)).json()

    first = await add(http, "One.", customId="one")
    answer = await delete(ids=[first, "one", "nothing"])
    assert (answer["deletedCount"], [error["id"] for error in answer["errors"]]) == (1, ["nothing"])
    await add(http, "Two.", filepath="/p/two.md")
    assert (await delete(filepath="/p/"))["deletedCount"] == 1
    await add(http, "Three.")
    other = await add(http, "Four.", containerTag="globex")
    assert await delete(containerTags=[TAG]) == {"success": True, "deletedCount": 1, "containerTags": [TAG]}
    assert (await document(http, other))["content"] == "Four."
    for bad in ({}, {"ids": ["a"], "filepath": "/p"}, {"ids": ["x"] * 101}, {"containerTags": ["*"]}):
        assert "error" in await delete(**bad)


async def test_secrets_are_redacted_before_anything_is_stored(http: AsyncClient):
    found = await document(http, await add(http, "The key is AKIAIOSFODNN7EXAMPLE, keep it."))
    assert "AKIA" not in json.dumps(found) and "keep it" in found["memories"][0]["memory"]


@pytest.mark.parametrize(
    ("content", "metadata", "title"),
    [
        ("The osprey build runs on Fridays.\nIt takes an hour.", {}, "The osprey build runs on Fridays"),
        ("\n- Deploys go out on Tuesdays.\n- Ask Priya.", {}, "Deploys go out on Tuesdays"),
        ("# Runbook\n\nRestart the pump.", {}, "Runbook"),
        ("The osprey build runs on Fridays.", {"title": " Osprey \n builds "}, "Osprey builds"),
        ("# Runbook\n\nRestart the pump.", {"title": "Pumps"}, "Pumps"),
        ("The osprey build runs on Fridays.", {"title": 7}, "The osprey build runs on Fridays"),
        ("部署在星期二进行。", {}, "部署在星期二进行"),
        (f"{'very ' * 40}long", {}, f"{'very ' * 11}very…"),
    ],
)
async def test_a_document_has_the_title_that_its_metadata_name_or_that_its_text_begins_with(
    http: AsyncClient, content: str, metadata: dict[str, Any], title: str
):
    found = await document(http, await add(http, content, metadata=metadata))
    assert (found["title"], found["metadata"]) == (title, metadata or None)
    (listed,) = (await http.post("/v3/documents/list", json={"containerTags": [TAG]})).json()["memories"]
    assert listed["title"] == title
    assert (await http.post("/v3/search", json={"q": content})).json()["results"][0]["title"] == title


async def test_another_title_in_the_metadata_is_another_title(http: AsyncClient):
    id = await add(http, metadata={"title": "Deploys"})
    for metadata, title in (
        ({"title": "Releases"}, "Releases"),
        ({"n": 1, "title": "Releases"}, "Releases"),
        ({"n": 1}, DEPLOYS.rstrip(".")),
    ):
        answer = await http.patch(f"/v3/documents/{id}", json={"metadata": metadata})
        assert answer.status_code == 200
        assert (await document(http, id))["title"] == title
    uploaded = (await upload(http, "a.txt", b"Hens lay eggs.", metadata='{"title": "Hens"}'))["id"]
    assert (await document(http, uploaded))["title"] == "Hens"
    await http.patch(f"/v3/documents/{uploaded}", json={"metadata": {"title": "Hens", "n": 2}})
    assert (await document(http, uploaded))["title"] == "Hens"


async def test_a_title_that_the_text_begins_with_is_not_repeated_above_its_paragraphs(http: AsyncClient):
    text = "The osprey build runs on Fridays.\n\n" + "\n\n".join(
        f"Paragraph {n} says what the osprey does on day {n}, in as many words as it takes. " * 3
        for n in range(4)
    )
    found = await document(http, await add(http, text))
    assert found["title"] == "The osprey build runs on Fridays"
    said = [entry["memory"] for entry in found["memories"]]
    assert len(said) == 5 and sum(each.startswith(found["title"]) for each in said) == 1


async def test_each_paragraph_of_a_short_text_is_a_memory_under_its_heading(http: AsyncClient):
    said = [
        "Deploys go out on Tuesdays.",
        "Rollbacks need two approvals.",
        "The freeze starts on December 20.",
    ]
    id = await add(http, "# Deploys\n\n" + "\n\n".join(said))
    facts = [f"Deploys\n{each}" for each in said]
    assert {entry["memory"] for entry in (await document(http, id))["memories"]} == set(facts)
    for mode in ("memories", "hybrid"):  # all that the chunk says is said by the facts
        body = {"q": "When do deploys freeze?", "containerTag": TAG, "threshold": 0, "searchMode": mode}
        results = (await http.post("/v4/search", json=body)).json()["results"]
        assert {each.get("memory") for each in results} == set(facts)
        assert results[0]["memory"] == facts[2]
