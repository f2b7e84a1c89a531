"""Version 5, documents: added once, gone on with, changed in place, deleted with what was learned of them,
and never seen elsewhere.
"""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from said import fact
from v5_calls import NS, add, call, document, post, said, search

from scrubjay.engine import core as engine_core
from scrubjay.engine.engine import Engine

LONG = (
    "# Deploys\n\nDeploys go out on Tuesdays at ten.\n\n"
    + "The rollback script lives in the ops repository. " * 12
)


async def test_a_short_text_is_one_memory_of_its_document(http: httpx2.AsyncClient) -> None:
    answer = await post(
        http, "document", content="Alex prefers morning meetings.", id="pref-1", metadata={"source": "slack"}
    )
    assert answer["status"] == "queued"
    shown = await document(http, "pref-1", "chunks,memories")
    assert (
        shown["id"] == answer["id"]
        and shown["content"] == "Alex prefers morning meetings."
        and shown["metadata"] == {"source": "slack"}
    )
    assert shown["system"].keys() == {"status", "dreamingStatus", "createdAt", "updatedAt"}
    assert [(each["position"], each["content"]) for each in shown["chunks"]] == [
        (0, "Alex prefers morning meetings.")
    ]
    (memory,) = shown["memories"]
    assert (
        memory["memory"] == "Alex prefers morning meetings."
        and memory["isLatest"]
        and not memory["isForgotten"]
    )


async def test_what_is_not_asked_for_is_absent_and_what_is_is_a_list(http: httpx2.AsyncClient) -> None:
    await add(http, "Read me.", id="d", taskType="superrag")
    assert {"chunks", "memories"}.isdisjoint(await document(http, "d"))
    both = (
        await http.get(f"/ns/{NS}/document/d", params=[("include", "chunks"), ("include", "memories")])
    ).json()
    assert len(both["chunks"]) == 1 and both["memories"] == []
    await call(http, "GET", f"/ns/{NS}/document/d", 400, params={"include": "everything"})


async def test_a_longer_text_is_learned_paragraph_by_paragraph(http: httpx2.AsyncClient) -> None:
    id = await add(http, LONG)
    memories = (await document(http, id, "memories"))["memories"]
    assert len(memories) > 1 and any("Tuesdays" in memory["memory"] for memory in memories)
    found = await search(http, "When do deploys go out?", searchMode="memories")
    assert "Tuesdays" in found[0]["memory"]


async def test_adding_again_under_an_id_is_the_same_document(http: httpx2.AsyncClient) -> None:
    first = await add(http, "user: hi", id="chat")
    assert await add(http, "user: hi", id="chat") == first
    assert await add(http, "assistant: hello", id="chat") == first
    assert (await document(http, "chat"))["content"] == "user: hi\n\nassistant: hello"


async def test_a_change_of_content_replaces_it_and_what_was_learned(http: httpx2.AsyncClient) -> None:
    id = await add(http, "The port is 8080.", id="port", metadata={"a": 1})
    answer = await call(http, "PATCH", f"/ns/{NS}/document/port", json={"content": "The port is 9090."})
    assert answer["id"] == id
    shown = await document(http, "port", "memories")
    assert [memory["memory"] for memory in shown["memories"]] == ["The port is 9090."] and shown[
        "metadata"
    ] == {"a": 1}
    assert said(await search(http, "port")) == ["The port is 9090."]


async def test_a_change_of_metadata_leaves_the_text(http: httpx2.AsyncClient) -> None:
    await add(http, "The port is 8080.", id="port", metadata={"a": 1})
    await call(http, "PATCH", f"/ns/{NS}/document/port", json={"metadata": {"b": "x"}})
    shown = await document(http, "port")
    assert shown["content"] == "The port is 8080." and shown["metadata"] == {"b": "x"}


async def test_a_batch_takes_what_it_can_and_reports_the_rest(http: httpx2.AsyncClient) -> None:
    documents = [
        {"content": "One.", "id": "one"},
        {"content": "Two."},
        {"content": "Three.", "date": "2020-01-01"},
    ]
    answer = await post(http, "document/batch", documents=documents, taskType="superrag")
    assert (answer["count"], answer["failed"]) == (3, 0)
    assert [each.keys() for each in answer["results"]] == [{"id", "status"}] * 3
    assert answer["results"][0]["id"] == (await document(http, "one"))["id"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"content": ""},
        {"content": "x", "customId": "v3's name"},
        {"content": "x", "id": ""},
        {"content": "x", "id": "i" * 256},
        {"content": "x", "metadata": {"nested": {"a": 1}}},
        {"content": "x", "group": {"nested": {"a": 1}}},
        {"content": "x", "date": "yesterday"},
        {"content": "x", "taskType": "other"},
        {"content": "x", "supportingContext": "c" * 1_501},
        {"content": "nul \x00"},
    ],
)
async def test_what_does_not_fit_is_refused_with_its_place(
    http: httpx2.AsyncClient, body: dict[str, object]
) -> None:
    answer = await call(http, "POST", f"/ns/{NS}/document", 400, json=body)
    assert answer["success"] is False and all(problem["message"] for problem in answer["error"])


async def test_the_longest_id_is_taken(http: httpx2.AsyncClient) -> None:
    await add(http, "x", id="i" * 255)
    assert (await document(http, "i" * 255))["content"] == "x"


async def test_an_id_may_hold_a_slash(http: httpx2.AsyncClient) -> None:
    await add(http, "The readme.", id="docs/readme.md")
    assert (await document(http, "docs/readme.md"))["content"] == "The readme."


async def test_a_context_that_comes_along_is_the_namespaces(http: httpx2.AsyncClient) -> None:
    await add(http, "x", supportingContext="Alex teaches maths.")
    assert (await call(http, "GET", f"/ns/{NS}"))["supportingContext"] == "Alex teaches maths."


async def test_each_id_of_a_deletion_stands_for_itself(http: httpx2.AsyncClient) -> None:
    one = await add(http, "Swordfish swim in the sea.", id="one")
    two = await add(http, "Herons stand in the river.")
    answer = await call(http, "DELETE", f"/ns/{NS}/document", json={"ids": ["one", two, "nope", one]})
    assert answer["count"] == 2 and [each["id"] for each in answer["errors"]] == ["nope"]
    assert await search(http, "swordfish herons") == []
    await call(http, "GET", f"/ns/{NS}/document/one", 404)
    assert (await call(http, "DELETE", f"/ns/{NS}/document", json={"ids": ["one"]}))["count"] == 0


async def test_a_document_of_another_namespace_is_not_there(http: httpx2.AsyncClient) -> None:
    id = await add(http, "Alex's secret plan.", id="plan")
    for named in (id, "plan"):
        await call(http, "GET", f"/ns/sam/document/{named}", 404)
        await call(http, "PATCH", f"/ns/sam/document/{named}", 404, json={"content": "mine now"})
    assert (await call(http, "DELETE", "/ns/sam/document", json={"ids": [id, "plan"]}))["count"] == 0
    assert await search(http, "secret plan", ns="sam") == []
    await add(http, "Sam's own plan.", ns="sam", id="plan")
    assert (await document(http, "plan"))["content"] == "Alex's secret plan."


async def test_an_upload_is_read_and_titled_by_its_first_heading(http: httpx2.AsyncClient) -> None:
    form = {
        "metadata": '{"team": "ops"}',
        "date": "2026-01-15",
        "group": "",
        "taskType": "memory",
        "fileType": "text",
    }
    files = {"file": ("notes.md", b"# Notes\n\nThe office is in Vienna.")}
    id = (await call(http, "POST", f"/ns/{NS}/document/file", data=form, files=files))["id"]
    shown = await document(http, id, "memories")
    assert (shown["title"], shown["type"], shown["metadata"]) == ("Notes", "markdown", {"team": "ops"})
    assert "Vienna" in shown["memories"][0]["memory"]
    assert (await call(http, "POST", f"/ns/{NS}/document/file", data=form, files=files))["id"] == id


async def test_an_upload_that_cannot_be_read_is_a_failed_document(http: httpx2.AsyncClient) -> None:
    answer = await call(
        http, "POST", f"/ns/{NS}/document/file", files={"file": ("photo.bin", bytes(range(256)))}
    )
    assert answer["status"] == "failed"
    assert (await document(http, answer["id"]))["system"]["status"] == "failed"


async def test_a_file_takes_the_place_of_a_document(http: httpx2.AsyncClient) -> None:
    id = await add(http, "Tea is at three.", id="tea", metadata={"old": True})
    path, later = f"/ns/{NS}/document/file/tea", {"file": ("tea.txt", b"Tea is at four.")}
    assert (await call(http, "POST", path, files=later, data={"metadata": '{"new": 1}'}))["id"] == id
    shown = await document(http, "tea")
    assert (shown["content"], shown["metadata"]) == ("Tea is at four.", {"new": 1})
    await call(http, "PATCH", path, files={"file": ("tea.txt", b"Tea is at five.")})
    assert ((await document(http, "tea"))["content"], (await document(http, "tea"))["metadata"]) == (
        "Tea is at five.",
        {"new": 1},
    )
    await call(
        http, "PATCH", path, data={"metadata": '{"newer": 2}'}, files={"mimeType": (None, "text/plain")}
    )
    assert ((await document(http, "tea"))["content"], (await document(http, "tea"))["metadata"]) == (
        "Tea is at five.",
        {"newer": 2},
    )


async def test_a_file_that_cannot_be_read_takes_no_place(http: httpx2.AsyncClient) -> None:
    await add(http, "Tea is at three.", id="tea")
    answer = await call(
        http, "POST", f"/ns/{NS}/document/file/tea", 400, files={"file": ("tea.bin", bytes(range(256)))}
    )
    assert "tea.bin" in answer["error"]
    assert (await document(http, "tea"))["content"] == "Tea is at three."
    await call(http, "POST", f"/ns/{NS}/document/file/nope", 404, files={"file": ("t.txt", b"x")})


@pytest.mark.parametrize(
    "form", [{"metadata": "no json"}, {"metadata": "[1]"}, {"date": "soon"}, {"unknown": "x"}]
)
async def test_a_form_that_does_not_fit_is_refused(http: httpx2.AsyncClient, form: dict[str, str]) -> None:
    await call(http, "POST", f"/ns/{NS}/document/file", 400, data=form, files={"file": ("t.txt", b"text")})


async def test_a_form_without_a_file_is_refused(http: httpx2.AsyncClient) -> None:
    await call(http, "POST", f"/ns/{NS}/document/file", 400, files={"metadata": (None, "{}")})


async def test_adding_over_http_looks_for_no_similar_facts(
    http: httpx2.AsyncClient, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[str] = []
    nearest_facts = engine_core.nearest_facts

    async def counted(store: Any, envelope: Any, embed: Any) -> Any:
        looks.append(envelope.args["content"])
        return await nearest_facts(store, envelope, embed)

    monkeypatch.setattr(engine_core, "nearest_facts", counted)
    await fact(await engine.core(), "The harbour opens at six.")
    assert looks == ["The harbour opens at six."]  # a client that shows what is similar pays for it
    await add(http, "The harbour opens at seven.")
    await post(http, "document/batch", documents=[{"content": "The harbour opens at eight."}])
    memory = {"content": "The harbour opens at nine."}
    await call(http, "POST", "/v4/memories", 201, json={"memories": [memory], "containerTag": NS})
    await call(http, "POST", "/api/v1/memories", 201, json=memory)
    assert len(looks) == 1
