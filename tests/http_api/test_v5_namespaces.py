"""Version 5, namespaces: what one may be called, what is said of it, its profile, moving what is in it, and
deleting it for good.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import httpx2
import pytest
from starlette.types import ASGIApp, Receive, Scope, Send
from v5_calls import NS, add, call, document, keep, listed, said, search

from scrubjay.engine.engine import Engine
from scrubjay.http_api.app import build_app
from scrubjay.http_api.permissions import Permissions
from scrubjay.mcp_server.server import build_server


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["user", "*", "two words", "grün", "a/b", "a/b/c", "", "x" * 101, "a\x00", "semi;colon", "100%"]
)
@pytest.mark.parametrize("path", ["/search", "/document", "/list/documents", "/profile"])
async def test_what_no_namespace_may_be_called_is_refused_on_every_route(
    http: httpx2.AsyncClient, name: str, path: str
) -> None:
    answer = await http.post(f"/ns/{quote(name, safe='/')}{path}", json={"query": "x", "content": "x"})
    assert answer.status_code == 400, answer.text
    assert "100 letters" in answer.text or "reserved" in answer.text


@pytest.mark.parametrize("name", ["a", "x" * 100, "A.b_c:d-9", "."])
async def test_what_a_namespace_may_be_called_works(http: httpx2.AsyncClient, name: str) -> None:
    await add(http, "Something.", ns=quote(name) if name != "." else "%2E")
    assert [each["namespace"] for each in (await call(http, "GET", "/ns"))["namespaces"]] == [name]


@pytest.mark.parametrize("path", ["/ns/a/b", "/ns/a/b/document/x", "/ns/team/alex/memories/semantic"])
async def test_a_slash_is_named_as_what_is_wrong(http: httpx2.AsyncClient, path: str) -> None:
    assert "holds a slash" in (await call(http, "GET", path, 400))["error"]


@pytest.mark.parametrize(
    ("method", "path"),
    [("DELETE", f"/ns/{NS}/search"), ("GET", f"/ns/{NS}/list/documents"), ("PUT", f"/ns/{NS}")],
)
async def test_a_method_that_a_route_has_not_is_told(
    http: httpx2.AsyncClient, method: str, path: str
) -> None:
    await call(http, method, path, 405)


async def test_namespaces_are_listed_newest_first_with_what_is_in_them(http: httpx2.AsyncClient) -> None:
    await add(http, "One fact.", ns="alpha")
    await keep(http, "Two facts.", ns="beta")
    await call(http, "PATCH", "/ns/gamma", json={"supportingContext": "Not begun."})
    page = await call(http, "GET", "/namespaces", params={"limit": 2})
    assert [each["namespace"] for each in page["namespaces"]] == ["gamma", "beta"]
    assert page["pagination"] == {"currentPage": 1, "limit": 2, "totalItems": 3, "totalPages": 2}
    (alpha,) = (await call(http, "GET", "/ns", params={"q": "ALPH"}))["namespaces"]
    assert (alpha["documentCount"], alpha["memoryCount"], alpha["description"]) == (1, 1, None)
    await call(http, "GET", "/ns", 400, params={"limit": 101})


async def test_what_is_said_of_a_namespace_is_kept_and_taken_back(http: httpx2.AsyncClient) -> None:
    await call(http, "GET", f"/ns/{NS}", 404)
    changed = await call(http, "PATCH", f"/ns/{NS}", json={"supportingContext": "Alex teaches maths."})
    assert changed["supportingContext"] == "Alex teaches maths." and changed == await call(
        http, "GET", f"/ns/{NS}"
    )
    cleared = await call(http, "PATCH", f"/ns/{NS}", json={"supportingContext": None})
    assert (
        cleared["supportingContext"] is None
        and cleared["system"]["updatedAt"] >= changed["system"]["updatedAt"]
    )
    for wrong in ({}, {"supportingContext": "c" * 1_501}, {"name": "x"}):
        await call(http, "PATCH", f"/ns/{NS}", 400, json=wrong)


async def test_a_deleted_namespace_is_gone_with_its_bytes(http: httpx2.AsyncClient, engine: Engine) -> None:
    await add(http, "Swordfish swim in the sea.", id="s")
    await add(http, "Herons stand in the river.", ns="sam")
    answer = await call(http, "DELETE", f"/ns/{NS}")
    assert answer == {
        "status": "deleted",
        "namespace": NS,
        "deletedDocumentsCount": 1,
        "deletedMemoriesCount": 1,
    }
    await call(http, "GET", f"/ns/{NS}", 404)
    await call(http, "DELETE", f"/ns/{NS}", 404)
    assert [each["namespace"] for each in (await call(http, "GET", "/ns"))["namespaces"]] == ["sam"]
    assert said(await search(http, "herons", ns="sam")) == ["Herons stand in the river."]
    home = Path((await engine.core()).home.root)
    assert not [path for path in home.rglob("*") if path.is_file() and b"wordfish" in path.read_bytes()]


async def test_a_moved_namespace_is_in_the_other_one(http: httpx2.AsyncClient) -> None:
    await add(http, "The port is 8080.", id="port", supportingContext="Ports.")
    await add(http, "The host is web1.", ns="archive")
    answer = await call(http, "DELETE", f"/ns/{NS}", 202, params={"moveTo": "archive"})
    assert answer["status"] == "queued" and answer["moveTo"] == "archive" and answer["operationId"]
    await call(http, "GET", f"/ns/{NS}", 404)
    assert len((await listed(http, "documents", ns="archive"))["documents"]) == 2
    assert (await document(http, "port", ns="archive"))["content"] == "The port is 8080."
    assert (await call(http, "GET", "/ns/archive"))["supportingContext"] == "Ports."


async def test_a_namespace_is_moved_to_another_that_may_be_one(http: httpx2.AsyncClient) -> None:
    await add(http, "Stay.")
    for target in (NS, "user", "two words", "a/b", ""):
        await call(http, "DELETE", f"/ns/{NS}", 400, params={"moveTo": target})
    assert said(await search(http, "stay")) == ["Stay."]


async def test_what_is_said_of_all_namespaces_is_kept(http: httpx2.AsyncClient) -> None:
    assert await call(http, "GET", "/organization") == {"organizationalContext": None, "namespaceCount": 0}
    await add(http, "Something.")
    changed = await call(http, "PATCH", "/organization", json={"organizationalContext": "We make tea."})
    assert (
        changed
        == {"organizationalContext": "We make tea.", "namespaceCount": 1}
        == await call(http, "GET", "/organization")
    )
    await call(http, "PATCH", "/organization", 400, json={})


# -- profiles ------------------------------------------------------------------------------------------------


async def test_a_profile_has_what_lasts_what_is_recent_and_its_buckets(http: httpx2.AsyncClient) -> None:
    lives = await keep(http, "Alex lives in Graz.", isStatic=True)
    leave = await keep(http, "Alex is on leave this week.", metadata={"year": 2026})
    await keep(http, "Sam lives in Linz.", isStatic=True, ns="sam")
    profile = (await call(http, "POST", f"/ns/{NS}/profile", json={}))["profile"]
    assert profile == {
        "static": [{"id": lives, "memory": "Alex lives in Graz."}],
        "dynamic": [{"id": leave, "memory": "Alex is on leave this week."}],
        "buckets": {},
    }
    of_2026 = {"filter": {"field": "year", "operator": "eq", "value": 2026}}
    filtered = (await call(http, "POST", f"/ns/{NS}/profile", json=of_2026))["profile"]
    assert filtered["static"] == [] and len(filtered["dynamic"]) == 1
    assert (await call(http, "POST", "/ns/nobody/profile"))["profile"] == {
        "static": [],
        "dynamic": [],
        "buckets": {},
    }


async def test_a_profile_is_markdown_for_whoever_prefers_it(http: httpx2.AsyncClient) -> None:
    await keep(http, "Alex lives\nin Graz.", isStatic=True)
    await call(http, "PUT", f"/ns/{NS}/profile/buckets", json={"buckets": {"meals": "When Alex eats"}})
    answer = await http.post(f"/ns/{NS}/profile", headers={"Accept": "text/markdown"})
    assert answer.headers["content-type"].startswith("text/markdown")
    assert answer.text.startswith(
        f"# {NS}\n\n## What lasts\n\n- Alex lives in Graz.\n\n## What is recent\n\nNothing yet.\n\n## "
        "meals\n\n"
    )
    both = await http.post(f"/ns/{NS}/profile", headers={"Accept": "application/json, text/markdown"})
    assert both.headers["content-type"] == "application/json"


async def test_buckets_are_added_described_anew_and_removed(http: httpx2.AsyncClient) -> None:
    path = f"/ns/{NS}/profile/buckets"
    assert await call(http, "GET", path) == {"buckets": {}}
    await call(http, "PUT", path, json={"buckets": {"meals": "Food", "places": "Where"}})
    assert await call(http, "PUT", path, json={"buckets": {"meals": "When Alex eats lunch"}}) == {
        "buckets": {"meals": "When Alex eats lunch", "places": "Where"}
    }
    await keep(http, "Alex eats lunch at noon.")
    only = (await call(http, "POST", f"/ns/{NS}/profile", json={"buckets": ["meals", "unknown"]}))["profile"][
        "buckets"
    ]
    assert [fact["memory"] for fact in only["meals"]] == ["Alex eats lunch at noon."] and set(only) == {
        "meals"
    }
    assert await call(http, "DELETE", path, json={"buckets": ["places", "unknown"]}) == {
        "buckets": {"meals": "When Alex eats lunch"}
    }
    assert await call(http, "GET", "/ns/sam/profile/buckets") == {"buckets": {}}
    for wrong in ({}, {"Upper": "x"}, {"a" * 65: "x"}, {"meals": "x" * 2_001}, {"meals": 5}):
        await call(http, "PUT", path, 400, json={"buckets": wrong})


# -- who may -------------------------------------------------------------------------------------------------


def bound(app: ASGIApp, permissions: Permissions) -> httpx2.AsyncClient:
    """Somebody with these permissions."""

    async def door(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, "state": {**scope.get("state", {}), "permissions": permissions}}, receive, send)

    return httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=door, raise_app_exceptions=False), base_url="http://127.0.0.1"
    )


ROUTES: list[
    tuple[str, str, dict[str, object] | None, bool]
] = [  # method, path below a namespace, body, whether it writes
    ("POST", "/document", {"content": "x"}, True),
    ("POST", "/document/batch", {"documents": [{"content": "x"}]}, True),
    ("GET", "/document/d", None, False),
    ("PATCH", "/document/d", {"content": "x"}, True),
    ("DELETE", "/document", {"ids": ["d"]}, True),
    ("POST", "/search", {"query": "secret", "threshold": 0}, False),
    ("POST", "/profile", {}, False),
    ("GET", "/profile/buckets", None, False),
    ("PUT", "/profile/buckets", {"buckets": {"a": "b"}}, True),
    ("DELETE", "/profile/buckets", {"buckets": ["a"]}, True),
    ("POST", "/list/documents", {}, False),
    ("POST", "/list/chunks", {}, False),
    ("POST", "/list/memories", {}, False),
    ("POST", "/list/documents/memory-counts", {"ids": ["d"]}, False),
    ("GET", "/memories/m", None, False),
    ("DELETE", "/memories", {"ids": ["m"]}, True),
    ("DELETE", "/memories/semantic", {"query": "secret", "dryRun": True}, True),
    ("GET", "", None, False),
    ("PATCH", "", {"supportingContext": "x"}, True),
    ("DELETE", "", None, True),
]


@pytest.mark.long
@pytest.mark.parametrize(("method", "path", "body", "writes"), ROUTES)
async def test_a_token_of_one_namespace_reaches_no_other(
    http: httpx2.AsyncClient,
    engine: Engine,
    method: str,
    path: str,
    body: dict[str, object] | None,
    writes: bool,
) -> None:
    await add(http, "The secret of Alex.", id="d")
    app = build_app(engine, build_server(engine))
    async with bound(app, Permissions(tag="sam")) as sam:
        assert (await sam.request(method, f"/ns/{NS}{path}", json=body)).status_code == 403
        own = await sam.request(method, f"/ns/sam{path}", json=body)
        assert own.status_code in (200, 201, 404) and "secret" not in own.text
    async with bound(app, dataclasses.replace(Permissions(), read_only=True)) as reader:
        assert ((await reader.request(method, f"/ns/{NS}{path}", json=body)).status_code == 403) is writes
    assert said(await search(http, "secret")) == ["The secret of Alex."]


async def test_a_token_of_one_namespace_lists_itself_alone(http: httpx2.AsyncClient, engine: Engine) -> None:
    await add(http, "Something.")
    await add(http, "Something else.", ns="sam")
    async with bound(build_app(engine, build_server(engine)), Permissions(tag="sam")) as sam:
        assert [each["namespace"] for each in (await call(sam, "GET", "/ns"))["namespaces"]] == ["sam"]
        assert (await call(sam, "GET", "/organization"))["namespaceCount"] == 1
        await call(sam, "PATCH", "/organization", 403, json={"organizationalContext": "mine"})
        await call(sam, "DELETE", "/ns/sam", 403, params={"moveTo": NS})


async def test_the_users_own_scope_is_nowhere(
    http: httpx2.AsyncClient, engine: Engine, clock: Callable[[], object]
) -> None:
    core = await engine.core()
    await core.scope_settings.change("user", lambda held: dataclasses.replace(held, name="me"), core.clock())
    assert (await call(http, "GET", "/ns"))["namespaces"] == []
    assert (await call(http, "GET", "/organization"))["namespaceCount"] == 0
