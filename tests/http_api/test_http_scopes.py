"""Scopes over supermemory's API, as container tags and as namespaces: names, descriptions, profiles, moving,
deleting, and the tokens that reach them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from said import document, fact
from spellings import TAG, V4, V5, said, with_permissions

from scrubjay.engine.engine import Engine
from scrubjay.home.scopes import EVERY_SCOPE
from scrubjay.http_api.app import build_app
from scrubjay.http_api.permissions import Permissions
from scrubjay.mcp_server.server import build_server

pytestmark = pytest.mark.long


@pytest.mark.parametrize(
    "name", [*"user * grün a/b a/b/c semi;colon 100%".split(), "", "two words", "x" * 101, "a\x00"]
)
async def test_an_invalid_namespace_is_refused(http: httpx2.AsyncClient, name: str):
    for path in ("/search", "/document", "/list/documents", "/profile"):
        body = {"query": "x", "content": "x"}
        answer = await http.post(f"/ns/{quote(name, safe='/')}{path}", json=body)
        assert answer.status_code == 400, answer.text
        assert "100 letters" in answer.text or "reserved" in answer.text


@pytest.mark.parametrize("name", ["a", "x" * 100, "A.b_c:d-9", "."])
async def test_a_valid_namespace_works(v5: V5, name: str):
    await v5.add("Something.", quote(name) if name != "." else "%2E")
    assert await v5.scopes() == {name: (1, 1)}


async def test_scopes_are_listed_with_their_counts(api: V4 | V5):
    await api.add("One fact.", "alpha")
    await api.keep("Two facts.", "beta")
    await api.describe("Not begun.", "gamma")
    assert await api.scopes() == {"alpha": (1, 1), "beta": (0, 1), "gamma": (0, 0)}


async def test_namespaces_are_listed_newest_first_in_pages(v5: V5):
    for name in ("alpha", "beta", "gamma"):
        await v5.add("One fact.", name)
    page = await v5.call("GET", "/namespaces", params={"limit": 2})
    assert [each["namespace"] for each in page["namespaces"]] == ["gamma", "beta"]
    assert page["pagination"] == {"currentPage": 1, "limit": 2, "totalItems": 3, "totalPages": 2}
    (alpha,) = (await v5.call("GET", "/ns", params={"q": "ALPH"}))["namespaces"]
    assert (alpha["namespace"], alpha["description"]) == ("alpha", None)
    await v5.call("GET", "/ns", 400, params={"limit": 101})


async def test_a_description_is_stored_and_removed(api: V4 | V5):
    await api.description(status=404)
    before = await api.describe("Alex teaches maths.")
    assert await api.description() == "Alex teaches maths."
    after = await api.describe(None)
    times = [each.get("system", each)["updatedAt"] for each in (before, after)]
    assert await api.description() is None and times == sorted(times)
    await api.describe("c" * 1_501, status=400)
    for reserved in ("user", "*"):
        await api.description(reserved, status=400)


async def test_each_version_describes_a_scope_in_its_own_words(v4: V4, v5: V5):
    path = f"/v3/container-tags/{TAG}"
    await v4.call("PATCH", path, json={"name": "Atlas", "entityContext": "A farm."})
    changed = await v4.call("PATCH", path, json={"entityContext": None})
    assert (changed["containerTag"], changed["name"], changed["entityContext"]) == (TAG, "Atlas", None)
    assert (await v4.call("GET", "/v3/container-tags/list"))[0]["name"] == "Atlas"
    for wrong in ({}, {"name": "x"}):
        await v5.call("PATCH", f"/ns/{TAG}", 400, json=wrong)


async def test_an_unknown_field_of_a_description_or_a_merge_is_named_and_has_no_effect(v4: V4):
    path = f"/v3/container-tags/{TAG}"
    changed = await v4.call("PATCH", path, json={"name": "Atlas", "color": "red"})
    assert (changed["name"], changed["entityContext"]) == ("Atlas", None)
    body = {"containerTags": [TAG], "targetContainerTag": "next", "color": "red"}
    merged = await v4.post("/v3/container-tags/merge", **body)
    for answer in (changed, merged):
        assert answer["warnings"] == ["'color' is not a field here, and has no effect."]


async def test_deleting_a_scope_removes_its_bytes(api: V4 | V5, engine: Engine):
    await api.add("Swordfish swim in the sea.", id="s")
    await api.add("Herons stand in the river.", "other")
    answer = await api.drop()
    assert (answer["deletedDocumentsCount"], answer["deletedMemoriesCount"]) == (1, 1)
    assert answer.get("success") or answer["status"] == "deleted"
    await api.description(status=404)
    await api.drop(status=404)
    assert await api.scopes() == {"other": (1, 1)}
    assert said(await api.search("herons", "other")) == ["Herons stand in the river."]
    home = Path((await engine.core()).home.root)
    assert not [path for path in home.rglob("*") if path.is_file() and b"wordfish" in path.read_bytes()]


async def test_a_moved_scope_ends_up_in_the_other_one(api: V4 | V5):
    await api.add("The port is 8080.", id="port", supportingContext="Ports.")
    await api.add("The host is web1.", "archive")
    await api.move("archive")
    await api.description(status=404)
    assert len((await api.documents("archive"))["rows"]) == 2
    assert (await api.document("port", "archive"))["content"] == "The port is 8080."
    assert await api.description("archive") == "Ports."
    await api.move("archive", status=404)


async def test_each_version_answers_a_move_in_its_own_words(v4: V4, v5: V5):
    await v4.add("Stay.")
    for target in (TAG, "user", "two words"):
        await v4.move(target, status=400)
        await v5.move(target, status=400)
    for target in ("a/b", ""):
        await v5.move(target, status=400)
    moved = await v5.move("next")
    assert moved["status"] == "queued" and moved["moveTo"] == "next" and moved["operationId"]
    body = {"containerTags": ["next", TAG], "targetContainerTag": TAG}
    merged = await v4.post("/v3/container-tags/merge", **body)
    assert (merged["success"], merged["targetTag"], merged["deletedTags"]) == (True, TAG, ["next"])
    assert said(await v4.search("stay")) == ["Stay."]


async def test_the_background_to_all_namespaces_is_stored(v5: V5):
    path = "/organization"
    assert await v5.call("GET", path) == {"organizationalContext": None, "namespaceCount": 0}
    await v5.add("Something.")
    changed = await v5.call("PATCH", path, json={"organizationalContext": "We make tea."})
    assert changed == {"organizationalContext": "We make tea.", "namespaceCount": 1}
    assert changed == await v5.call("GET", path)
    await v5.call("PATCH", path, 400, json={})


async def test_settings_of_clients_are_stored_and_returned(v4: V4, engine: Engine):
    sent = {"shouldLLMFilter": True, "filterPrompt": "Only birds.", "includeItems": ["a"]}
    assert await v4.call("GET", "/v3/settings") == {}
    assert (await v4.call("PATCH", "/v3/settings", json=sent))["updated"] == sent
    await v4.call("PATCH", "/v3/settings", json={"includeItems": None})
    assert await v4.call("GET", "/v3/settings") == {"shouldLLMFilter": True, "filterPrompt": "Only birds."}
    await v4.call("PATCH", "/v3/settings", 400, json={"filterPrompt": "x" * 20_001})
    async with with_permissions(build_app(engine, build_server(engine)), Permissions(tag="sam")) as client:
        await V4(client).call("PATCH", "/v3/settings", 403, json={})


# -- profiles ------------------------------------------------------------------------------------------------


async def test_a_profile_has_lasting_facts_recent_facts_and_buckets_verbatim(api: V4 | V5, engine: Engine):
    await api.keep("The team is in Lisbon.", isStatic=True)
    await api.keep("The API has a new port.", metadata={"kind": "a"})
    await api.keep("The demo is down.")
    await api.keep("Nothing of ours.", "elsewhere", isStatic=True)
    await fact(await engine.core(), "Alex likes tea.", scope="user", is_static=True)
    static, dynamic = ["The team is in Lisbon."], ["The demo is down.", "The API has a new port."]
    assert await api.profile() == {"static": static, "dynamic": dynamic, "buckets": {}}
    filtered = await api.profile(**api.only("kind", "a"))
    assert (filtered["static"], filtered["dynamic"]) == ([], ["The API has a new port."])
    assert await api.profile("nobody") == {"static": [], "dynamic": [], "buckets": {}}


async def test_a_fact_is_in_the_bucket_whose_description_matches_best(api: V4 | V5, engine: Engine):
    settings, at = (await engine.core()).scope_settings, (await engine.core()).clock()
    for scope, buckets in (
        (TAG, {"food": "what the animals eat for lunch"}),
        (EVERY_SCOPE, {"caches": "caches and entries"}),
    ):
        await settings.change(scope, lambda old, buckets=buckets: old.with_buckets(buckets), at)
    await api.keep("The zebra cache holds forty entries.")
    await api.keep("The zebra eats grass for lunch.")
    assert (await api.buckets()).keys() == {"food", "caches"}
    filled = {"caches": ["The zebra cache holds forty entries."], "food": ["The zebra eats grass for lunch."]}
    assert (await api.profile())["buckets"] == filled
    one = await api.profile(buckets=["food", "nothing"])
    assert one["buckets"] == {"food": filled["food"]} and one["dynamic"]
    assert (await api.profile("elsewhere"))["buckets"] == {"caches": []}


async def test_a_profile_of_version_4_has_the_requested_sections_and_results(v4: V4, engine: Engine):
    await document(await engine.core(), "# Zebra\n\nThe zebra cache holds forty entries.\n", scope=TAG)
    await v4.keep("The zebra cache was cold.", isStatic=True, metadata={"kind": "a"})
    for sections in (["static"], ["dynamic"], ["buckets"], ["static", "buckets"]):
        assert set(await v4.profile(include=sections)) == set(sections)
    await v4.post("/v4/profile", 400, containerTag=TAG, include=["everything"])

    async def found(**fields: Any) -> dict[str, Any]:
        answer = await v4.post("/v4/profile", containerTag=TAG, q="zebra cache", **fields)
        assert answer["profile"].keys() == {"static", "dynamic"}
        return answer["searchResults"]

    every = await found(threshold=0)
    assert {"memory" in each for each in every["results"]} == {True, False}
    assert every["total"] == len(every["results"]) and every["timing"] > 0
    assert (await found(threshold=1))["results"] == []
    filtered = (await found(threshold=0, **v4.only("kind", "a")))["results"]
    assert said(filtered) == ["The zebra cache was cold."]


async def test_a_profile_of_version_5_is_markdown_for_a_client_that_prefers_it(v5: V5):
    await v5.keep("Alex lives\nin Graz.", isStatic=True)
    await v5.call("PUT", f"/ns/{TAG}/profile/buckets", json={"buckets": {"meals": "When Alex eats"}})
    answer = await v5.http.post(f"/ns/{TAG}/profile", headers={"Accept": "text/markdown"})
    assert answer.headers["content-type"].startswith("text/markdown")
    assert f"# {TAG}" in answer.text and "- Alex lives in Graz." in answer.text and "## meals" in answer.text
    both = await v5.http.post(f"/ns/{TAG}/profile", headers={"Accept": "application/json, text/markdown"})
    assert both.headers["content-type"] == "application/json"


# -- tokens --------------------------------------------------------------------------------------------------
