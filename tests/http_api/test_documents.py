"""Documents as supermemory's clients send them, in both versions: add, upload, read, change, list and delete."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from campaign.hostile_files import FILES
from files_made import word
from said import fact
from spellings import TAG, V4, V5, as_json, said

from scrubjay.engine import core as engine_core
from scrubjay.engine.engine import Engine

DEPLOYS = "Deploys go out on Tuesdays, says Priya; the ticket is zxqv-7741."
PNG = b"\x89PNG\r\n\x1a\n\0\0"


async def done(api: V4 | V5, id: str) -> dict[str, Any]:
    async with asyncio.timeout(20):
        while (found := await api.document(id))["status"] not in ("done", "failed"):
            await asyncio.sleep(0.02)
    return found


async def test_an_added_text_is_queued_readable_at_once_and_finally_done(api: V4 | V5):
    answer = await api.add(DEPLOYS, id="one", metadata={"n": 5})
    assert answer.keys() == {"id", "status"} and answer["status"] == "queued"
    found = await api.document("one")
    assert (found["id"], found["content"], found["metadata"]) == (answer["id"], DEPLOYS, {"n": 5})
    assert found["memories"] == [DEPLOYS]
    assert (await done(api, answer["id"]))["status"] == "done"


async def test_adding_under_a_known_id_continues_that_document(api: V4 | V5):
    first = await api.add("user: hi\nassistant: hello", id="conv/1")
    for _ in range(2):
        more = await api.add("user: and tick()?\nassistant: it is pulse() now", id="conv/1")
        assert more["id"] == first["id"]
    continued = "user: hi\nassistant: hello\n\nuser: and tick()?\nassistant: it is pulse() now"
    assert (await api.document("conv/1"))["content"] == continued
    assert (await api.document("conv%2F1"))["content"] == continued


async def test_html_that_is_given_as_content_is_read_as_a_page(api: V4 | V5):
    page = "<!doctype html><title>Ports</title><nav>Home</nav><main><p>Staging is on <b>5433</b>.</p></main>"
    await api.add(page, id="one", metadata={"n": 5})
    found = await api.document("one")
    assert (found["title"], found["type"], found["metadata"]) == ("Ports", "webpage", {"n": 5})
    assert found["content"] == "Staging is on **5433**." and found["memories"] == ["Staging is on **5433**."]
    (row,) = (await api.documents())["rows"]
    assert (row["title"], row["type"]) == ("Ports", "webpage")
    await api.change("one", content=page.replace("5433", "5434"))
    assert (await api.document("one"))["content"] == "Staging is on **5434**."
    batch = [{"content": page.replace("5433", "5435")}, {"content": "<html></html>"}]
    first, second = (await api.add_all(batch))["results"]
    assert (await api.document(first["id"]))["title"] == "Ports"
    assert (await api.document(second["id"]))["content"] == "<html></html>"


async def test_new_content_replaces_the_text_and_the_memories_follow(api: V4 | V5):
    id = (await api.add(DEPLOYS, id="one", metadata={"a": 1}))["id"]
    assert await api.change("one", content="Deploys go out on Fridays now.") == {"id": id, "status": "queued"}
    found = await api.document(id)
    assert (found["content"], found["metadata"]) == ("Deploys go out on Fridays now.", {"a": 1})
    assert found["memories"] == ["Deploys go out on Fridays now."] == said(await api.search("deploys"))


async def test_new_metadata_keeps_text_and_vectors_and_reaches_the_memories(api: V4 | V5):
    id = (await done(api, (await api.add(DEPLOYS, metadata={"team": "ops"}))["id"]))["id"]
    await api.change(id, metadata={"team": "web"})
    await api.documents()  # commits the change
    found = await api.document(id)
    assert (found["status"], found["metadata"], found["content"]) == ("done", {"team": "web"}, DEPLOYS)
    assert [each["metadata"] for each in (await api.memories())["rows"]] == [{"team": "web"}]


async def test_the_old_content_of_a_changed_document_creates_a_new_one(api: V4 | V5):
    id = (await api.add(DEPLOYS))["id"]
    await api.change(id, content="Something else entirely.")
    assert (await api.add(DEPLOYS))["id"] != id
    assert (await api.document(id))["content"] == "Something else entirely."


async def test_equal_memories_of_another_document_count_if_a_list_of_numbers_has_theirs(api: V4 | V5):
    await api.add(DEPLOYS, id="one", metadata={"sprint": 3})
    await api.add(DEPLOYS, id="two", group={"sprint": [3, 4]})
    assert len((await api.memories())["rows"]) == 1
    await api.add(DEPLOYS, id="three", group={"sprint": [5]})
    assert len((await api.memories())["rows"]) == 2


async def test_version_4_takes_metadata_as_json_text(v4: V4):
    id = (await v4.add(DEPLOYS, metadata='{"team": "ops"}'))["id"]
    assert (await v4.document(id))["metadata"] == {"team": "ops"}
    await v4.change(id, metadata='{"team": "web"}')
    assert (await v4.document(id))["metadata"] == {"team": "web"}


async def test_deleted_documents_and_their_memories_are_not_found(api: V4 | V5):
    one = (await api.add("Swordfish swim in the sea.", id="one"))["id"]
    two = (await api.add("Herons stand in the river."))["id"]
    assert await api.delete("one", two, "nope", one) == (2, ["nope"])
    assert await api.search("swordfish herons", mode="hybrid") == []
    await api.document("one", status=404)
    assert await api.delete("one") == (0, ["one"])
    assert (await api.add("Swordfish swim in the sea.", id="one"))["id"] == one
    assert (await api.document(one))["memories"]


async def test_a_document_that_is_added_again_after_its_deletion_has_only_the_new_fields(v4: V4):
    await v4.add(DEPLOYS, id="one", metadata={"team": "ops"}, filepath="/a.md", date="2026-01-15")
    await v4.delete("one")
    again = await v4.document((await v4.add(DEPLOYS, id="one"))["id"])
    assert (again["metadata"], again["filepath"], again["content"]) == (None, None, DEPLOYS)
    (memory,) = (await v4.memories())["rows"]
    assert memory["metadata"] is None


async def test_every_field_of_an_add_is_stored(api: V4 | V5):
    fields = {
        "date": "2024-05-01",
        "dreaming": "instant",
        "taskType": "superrag",
        "metadata": {"sm_source": "cli"},
    }
    fields |= {"supportingContext": "Notes of Priya.", "group": {"team": ["ops", "web"]}, "id": "i" * 255}
    found = await api.document((await api.add(DEPLOYS, **fields))["id"])
    assert (found["metadata"], found["memories"]) == ({"sm_source": "cli"}, [])
    assert (await api.document("i" * 255))["id"] == found["id"]
    assert await api.description() == "Notes of Priya."


async def test_a_batch_adds_every_document_and_reports_in_order(api: V4 | V5):
    documents = [
        {"content": "One.", "id": "one"},
        {"content": "Two."},
        {"content": "3.", "date": "2020-01-01"},
    ]
    answer = await api.add_all(documents, taskType="superrag")
    assert (answer["count"], answer["failed"]) == (3, 0)
    assert [each.keys() for each in answer["results"]] == [{"id", "status"}] * 3
    shown = [(await api.document(each["id"]))["content"] for each in answer["results"]]
    assert shown == ["One.", "Two.", "3."]


async def test_a_batch_of_version_4_takes_texts_shares_fields_and_reports_each_mistake(v4: V4):
    documents = [{"content": "one", "id": "b1"}, {"content": " "}, {"content": "x", "metadata": {"a": []}}]
    answer = await v4.add_all(documents, metadata={"shared": True})
    assert (answer["count"], answer["failed"]) == (2, 1)
    assert [item["status"] for item in answer["results"]] == ["queued", "error", "queued"]
    assert answer["results"][1]["id"] == "unknown" and "content" in answer["results"][1]["error"]
    assert (await v4.document("b1"))["metadata"] == {"shared": True}
    plain = await v4.post("/v3/documents/batch", documents=["first", "second"])
    assert plain["failed"] == 0 and "error" not in plain["results"][0]
    shown = await v4.document(plain["results"][0]["id"], "sm_project_default")
    assert shown["containerTags"] == ["sm_project_default"]
    for wrong in ([], ["x"] * 601):
        await v4.post("/v3/documents/batch", 400, documents=wrong)


async def test_a_batch_of_version_5_reports_each_mistake_and_adds_the_rest(v5: V5):
    documents = [{"content": "The first."}, {"content": "", "id": "blank"}, {"contents": "x"}]
    answer = await v5.post(f"/ns/{TAG}/document/batch", documents=documents)
    assert (answer["count"], answer["failed"]) == (1, 2)
    added, *errors = answer["results"]
    assert (await v5.document(added["id"]))["content"] == "The first."
    assert [each["id"] for each in errors] == ["blank", ""] and "content" in errors[0]["error"]


async def test_a_document_belongs_to_its_first_tag_and_shows_the_others(v4: V4):
    tags = [TAG, "work", "claude_memory"]
    answer = await v4.post("/v3/documents", content=DEPLOYS, containerTags=tags, customId="one")
    assert "'team_atlas'; only shown with it: work, claude_memory." in answer["warnings"][0]
    await v4.change("one", metadata={"n": 5})
    assert (await v4.document("one"))["containerTags"] == tags
    for searched in ([TAG], ["work", TAG]):
        assert (await v4.search("ticket zxqv-7741", None, containerTags=searched))[0]["memory"] == DEPLOYS
    assert not await v4.search("ticket zxqv-7741", "work")
    await v4.post("/v3/documents", 400, content="x", containerTags=[TAG, "no spaces"])


async def test_the_memory_tool_of_claude_rewrites_its_files(v4: V4):
    """Its client compares every tag, and sends the whole file at each change."""
    tags = ["sm_project_atlas", "claude_memory"]
    metadata = {"claude_memory_type": "file", "file_path": "/memories/gate.md"}
    for text in ("The gate is number 5.", "Boarding is at noon."):
        sent = {"content": text, "customId": "memories_gate_md", "metadata": metadata}
        await v4.post("/v3/documents", containerTags=tags, **sent)
    (row,) = (await v4.documents(tags[0], includeContent=True))["rows"]
    assert (row["content"], row["containerTags"]) == (text, tags[1:])
    assert (await v4.document(row["id"], tags[0]))["containerTags"] == tags


async def test_a_file_is_read_and_titled_by_its_first_heading(api: V4 | V5):
    form = as_json(metadata={"team": "ops"}, date="2026-01-15", taskType="memory", fileType="text")
    id = (await api.upload("notes.md", b"# Notes\n\nThe office is in Vienna.", **form))["id"]
    shown = await api.document(id)
    assert (shown["title"], shown["metadata"]) == ("Notes", {"team": "ops"})
    assert "Vienna" in shown["memories"][0]
    assert (await api.upload("notes.md", b"# Notes\n\nThe office is in Vienna.", **form))["id"] == id
    office = await api.document((await api.upload("a.docx", word()))["id"])
    assert office["status"] != "failed" and office["content"]


async def test_a_file_that_is_sent_again_without_metadata_keeps_what_was_sent_with_it(v4: V4, v5: V5):
    async def metadata() -> dict[str, Any]:
        return (await v4.document("plan"))["metadata"]

    text = b"---\nauthor: ada\n---\nThe kite flies at noon."
    await v4.upload("plan.md", text, id="plan", **as_json(metadata={"team": "ops"}))
    assert await metadata() == {"team": "ops", "author": "ada"}
    await v4.upload("plan.md", text.replace(b"ada", b"ben"), id="plan")
    assert await metadata() == {"team": "ops", "author": "ben"}
    files = {"file": ("plan.md", text.replace(b"ada", b"eve"))}
    await v5.call("PATCH", f"/ns/{TAG}/document/file/plan", files=files)
    assert await metadata() == {"team": "ops", "author": "eve"}
    await v4.upload("plan.md", text, id="plan", **as_json(metadata={"team": "web"}))
    assert await metadata() == {"team": "web", "author": "ada"}


async def test_a_file_that_cannot_be_read_is_a_failed_document(api: V4 | V5):
    made = await api.upload("x.png", PNG)
    found = await api.document(made["id"])
    assert (made["status"], found["status"], found["title"]) == ("failed", "failed", "x.png")
    assert (
        (await api.upload("x.png", PNG))["id"] == made["id"] != (await api.upload("y.png", PNG + b"1"))["id"]
    )
    sparse = await api.upload("corners.xlsx", FILES["corners.xlsx"]())
    assert (await api.document(sparse["id"]))["status"] == "failed"


async def test_an_invalid_form_field_is_refused(api: V4 | V5):
    for form in ({"metadata": "no json"}, {"metadata": "[1]"}, {"date": "soon"}):
        await api.upload("t.txt", b"text", status=400, **form)


async def test_a_form_needs_a_file_and_its_fields_may_be_json_text(v4: V4, v5: V5):
    await v4.call("POST", "/v3/documents/file", 400, data={"containerTag": TAG})
    await v5.call("POST", f"/ns/{TAG}/document/file", 400, files={"metadata": (None, "{}")})
    await v5.upload("t.txt", b"text", status=400, unknown="x")
    form = as_json(containerTags=[TAG], filepath="/up/notes.md")
    made = await v4.call("POST", "/v3/documents/file", files={"file": ("a.md", b"Hens.")}, data=form)
    assert (await v4.document(made["id"]))["filepath"] == "/up/notes.md"
    await v4.add(DEPLOYS, id="good")
    assert "image" in (await v4.document((await v4.upload("x.png", PNG))["id"]))["errorMessage"]
    await v4.upload("x.png", PNG, status=400, id="good")
    assert (await v4.document("good"))["content"] == DEPLOYS


async def test_an_unreadable_file_replaces_no_document_of_version_5(v5: V5):
    await v5.add("Tea is at three.", id="tea", metadata={"old": True})
    path, file = f"/ns/{TAG}/document/file", {"file": ("tea.txt", bytes(range(256)))}
    for method in ("POST", "PATCH"):
        await v5.call(method, f"{path}/tea", 400, files=file)
        await v5.call(method, f"{path}/nope", 404, files={"file": ("t.txt", b"x")})
    shown = await v5.document("tea")
    assert (shown["content"], shown["metadata"]) == ("Tea is at three.", {"old": True})


async def test_documents_are_listed_page_by_page(api: V4 | V5):
    ids = [(await api.add(f"Document {n}.", metadata={"n": n}))["id"] for n in range(5)]
    await api.add("Of another scope.", "other")
    pages = [await api.documents(page=page, limit=2) for page in (1, 2, 3, 4)]
    assert [each["id"] for page in pages for each in page["rows"]] == ids[::-1]
    assert pages[0]["pagination"] == {"currentPage": 1, "limit": 2, "totalItems": 5, "totalPages": 3}
    rising = await api.documents(order="asc", sort="updatedAt", limit=100)
    assert [each["id"] for each in rising["rows"]] == ids and "content" not in rising["rows"][0]
    assert [each["id"] for each in (await api.documents(**api.only("n", "3")))["rows"]] == [ids[3]]
    assert (await api.documents("nobody"))["rows"] == []


async def test_a_list_of_version_4_is_filtered_by_path_and_takes_digits_as_texts(v4: V4):
    for number in range(3):
        await v4.add(f"Text number {number}.", metadata={"n": number}, filepath=f"/p/{number}.md")
    at_least = [{"key": "n", "value": "1", "filterType": "numeric", "numericOperator": ">="}]
    for filters in ({"AND": at_least}, json.dumps({"AND": at_least})):
        rows = (await v4.documents(filters=filters, includeContent=True))["rows"]
        assert sorted(row["content"] for row in rows) == ["Text number 1.", "Text number 2."]
    for filepath, count in (("/p/", 3), ("/p/1.md", 1), ("/p", 0)):
        assert len((await v4.documents(filepath=filepath))["rows"]) == count
    assert (await v4.documents(limit="2"))["pagination"]["limit"] == 2
    assert (await v4.call("POST", "/v3/documents/list"))["pagination"]["totalItems"] == 3
    entries = (await v4.post("/v3/documents/documents", containerTags=[TAG]))["documents"]
    assert [said(row["memoryEntries"]) for row in entries] == [[f"Text number {n}."] for n in (2, 1, 0)]


async def test_the_same_text_under_another_filepath_is_another_document(v4: V4):
    text = "The same words stand in two files."
    first, second = [(await v4.add(text, filepath=path))["id"] for path in ("/a.md", "/b.md")]
    assert first != second == (await v4.add(text, filepath="/b.md"))["id"]
    assert (await v4.add(text))["id"] == first
    assert {row["filepath"] for row in (await v4.documents())["rows"]} == {"/a.md", "/b.md"}


async def test_a_list_of_version_5_contains_the_requested_fields(v5: V5):
    await v5.add("https://example.org/page")
    (plain,) = (await v5.documents())["rows"]
    assert "memoryCount" not in plain["system"] and plain["url"] is None
    include = {"content": True, "memoryCount": True}
    (whole,) = (await v5.documents(include=include))["rows"]
    assert (
        whole["content"] == whole["url"] == "https://example.org/page" and whole["system"]["memoryCount"] == 1
    )
    assert len((await v5.call("POST", f"/ns/{TAG}/list/documents"))["documents"]) == 1
    await v5.listed("turns", status=400)
    await v5.listed("documents", status=400, sort="position")


async def test_the_chunks_of_a_document_are_returned_in_order(v4: V4, v5: V5):
    text = "\n\n".join(f"# Part {n}\n\n" + f"Sentence {n} says something of its own. " * 40 for n in range(3))
    id = (await v4.add(text, id="long", metadata={"lang": "en"}))["id"]
    answer = await v4.call("GET", "/v3/documents/long/chunks?limit=2")
    assert [(each["position"], each["documentId"]) for each in answer["chunks"]] == [(0, id), (1, id)]
    assert "Part 0" in answer["chunks"][0]["content"] and answer["pagination"]["totalItems"] >= 3
    await v4.call("GET", "/v3/documents/nothing/chunks", 404)
    rows = (await v5.listed("chunks", sort="position", order="asc", limit=100))["rows"]
    assert [each["position"] for each in rows] == list(range(len(rows))) and len(rows) >= 3
    assert {(each["documentId"], each["metadata"]["lang"]) for each in rows} == {(id, "en")}
    none = await v5.listed("chunks", filter={"field": "lang", "operator": "neq", "value": "en"})
    assert none["rows"] == [] and none["pagination"]["totalPages"] == 0


async def test_version_5_returns_chunks_and_memories_only_on_request(v5: V5):
    await v5.add("Read me.", id="d", taskType="superrag")
    path = f"/ns/{TAG}/document/d"
    assert {"chunks", "memories"}.isdisjoint(await v5.call("GET", path))
    for params in ([("include", "chunks"), ("include", "memories")], {"include": "chunks,memories"}):
        both = await v5.call("GET", path, params=params)
        assert [(each["position"], each["content"]) for each in both["chunks"]] == [(0, "Read me.")]
        assert both["memories"] == []
    await v5.call("GET", path, 400, params={"include": "everything"})
    assert both["system"].keys() == {"status", "dreamingStatus", "createdAt", "updatedAt"}


async def test_version_4_lists_unfinished_documents(v4: V4):
    await done(v4, (await v4.add(DEPLOYS))["id"])
    assert await v4.call("GET", "/v3/documents/processing") == {"documents": [], "totalCount": 0}
    failed = await v4.upload("x.png", PNG)
    assert (await v4.call("GET", "/v3/documents/processing?view=pending"))["totalCount"] == 0
    answer = await v4.call("GET", f"/v3/documents/processing?view=all&containerTags={TAG},globex")
    assert [(row["id"], row["stuck"]) for row in answer["documents"]] == [(failed["id"], False)]
    assert answer["pagination"]["totalItems"] == answer["totalCount"] == 1


@pytest.mark.parametrize("headers", [{}, {"content-type": "application/json"}])
async def test_a_delete_of_version_4_needs_no_body_and_answers_204(v4: V4, headers: dict[str, str]):
    await v4.add(DEPLOYS, id="one")
    assert await v4.call("DELETE", "/v3/documents/one", 204, headers=headers) is None
    await v4.document("one", status=404)


async def test_version_4_deletes_documents_by_tag_or_path(v4: V4):
    async def delete(status: int = 200, **body: Any) -> dict[str, Any]:
        return await v4.call("DELETE", "/v3/documents/bulk", status, json=body)

    async def left() -> list[str]:
        return [row["filepath"] for tag in (TAG, "globex") for row in (await v4.documents(tag))["rows"]]

    for tag, path in ((TAG, "/p/1.md"), (TAG, "/q/2.md"), ("globex", "/p/3.md"), ("globex", "/r/4.md")):
        await v4.add(f"Text at {path}.", tag, filepath=path)
    assert (await delete(containerTags=[TAG], filepath="/p/"))["deletedCount"] == 1
    assert await left() == ["/q/2.md", "/r/4.md", "/p/3.md"]
    assert await delete(containerTags=[TAG]) == {"success": True, "deletedCount": 1, "containerTags": [TAG]}
    assert (await delete(filepath="/p/"))["deletedCount"] == 1
    for bad in ({}, {"ids": ["a"], "filepath": "/p"}, {"containerTags": [TAG], "filePath": "/p/"}):
        assert "error" in await delete(400, **bad)
    assert await left() == ["/r/4.md"]


async def test_an_empty_content_or_tag_is_refused_and_not_ignored(v4: V4):
    await v4.add(DEPLOYS, id="one")
    assert "empty" in (await v4.change("one", content="", status=400))["error"][0]["message"]
    await v4.add("A text without a tag.", "", status=400)
    for path in ("/v3/search", "/v4/search"):
        await v4.post(path, 400, q=DEPLOYS, containerTag="")


async def test_version_4_accepts_the_id_of_a_memory_for_its_document_and_can_delete_it(v4: V4):
    id = (await v4.add(DEPLOYS))["id"]
    (memory,) = (await v4.memories())["rows"]
    assert (await v4.document(memory["id"]))["id"] == id
    await v4.call("DELETE", f"/v3/documents/{memory['id']}", 204)
    assert (await v4.document(id))["memories"] == []


async def test_a_custom_id_of_two_tags_needs_the_tag(v4: V4):
    await v4.add("Another text.", id="same")
    await v4.add("A third text.", "globex", id="same")
    await v4.call("GET", "/v3/documents/same", 400)
    assert (await v4.document("same", "globex"))["content"] == "A third text."


async def test_secrets_are_redacted_before_anything_is_stored(api: V4 | V5):
    found = await api.document((await api.add("The key is AKIAIOSFODNN7EXAMPLE, keep it."))["id"])
    assert "AKIA" not in json.dumps(found) and "keep it" in found["memories"][0]


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
async def test_the_title_comes_from_the_metadata_or_the_beginning_of_the_text(
    v4: V4, content: str, metadata: dict[str, Any], title: str
):
    found = await v4.document((await v4.add(content, metadata=metadata))["id"])
    assert (found["title"], found["metadata"]) == (title, metadata or None)
    assert [each["title"] for each in (await v4.documents())["rows"]] == [title]
    assert (await v4.post("/v3/search", q=content))["results"][0]["title"] == title


async def test_a_changed_title_in_the_metadata_changes_the_title(v4: V4):
    id = (await v4.add(DEPLOYS, metadata={"title": "Deploys"}))["id"]
    for metadata, title in (
        ({"title": "Releases"}, "Releases"),
        ({"n": 1, "title": "Releases"}, "Releases"),
        ({"n": 1}, DEPLOYS.rstrip(".")),
    ):
        await v4.change(id, metadata=metadata)
        assert (await v4.document(id))["title"] == title
    uploaded = (await v4.upload("a.txt", b"Hens lay eggs.", metadata='{"title": "Hens"}'))["id"]
    assert (await v4.document(uploaded))["title"] == "Hens"
    await v4.change(uploaded, metadata={"title": "Hens", "n": 2})
    assert (await v4.document(uploaded))["title"] == "Hens"


async def test_adding_over_http_does_not_look_for_similar_facts(
    api: V4 | V5, engine: Engine, monkeypatch: pytest.MonkeyPatch
):
    looks: list[str] = []
    nearest_facts = engine_core.nearest_facts

    async def counted(store: Any, envelope: Any, embed: Any) -> Any:
        looks.append(envelope.args["content"])
        return await nearest_facts(store, envelope, embed)

    monkeypatch.setattr(engine_core, "nearest_facts", counted)
    await fact(await engine.core(), "The harbour opens at six.")
    assert looks == ["The harbour opens at six."]  # only clients that show similar facts pay for them
    await api.add("The harbour opens at seven.")
    await api.add_all([{"content": "The harbour opens at eight."}])
    await api.keep("The harbour opens at nine.")
    await api.post("/api/v1/memories", 201, content="The harbour opens at ten.")
    assert len(looks) == 1


async def test_version_5_counts_the_memories_of_documents(v5: V5):
    one, two = (await v5.add("One fact."))["id"], (await v5.add("No fact.", taskType="superrag"))["id"]
    named = (await v5.add("A named fact.", id="named"))["id"]
    ids = [one, two, (await v5.add("Another's fact.", "other"))["id"], "nope", "named", named]
    answer = await v5.post(f"/ns/{TAG}/list/documents/memory-counts", ids=ids)
    counts = {one: 1, two: 0, named: 1}
    assert answer == {"counts": [{"id": id, "memoryCount": count} for id, count in counts.items()]}
