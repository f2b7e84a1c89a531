"""Hebb Mind's API answers any input in its own shape: 4xx, and never a server error."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from scrubjay.engine.engine import Engine
from scrubjay.http_api.app import build_app
from scrubjay.http_api.permissions import Permissions
from scrubjay.mcp_server.server import build_server

ODD = ["\x00", "'", "' OR 1=1 --", "%", "a\nb", "é", "日本", "\U0001f426", "..", "a/b", "x" * 300]
ODD += ["-1", str(2**70), "null", "[]", ";", "\\"]
READS = [
    "memories/{}",
    "partitions/{}",
    "memories?partition_id={}",
    "memories?tags={}",
]
READS += ["memories?offset={}", "memories?limit={}", "memories?scope={}"]
BODIES: list[Any] = [
    *(None, 1, "x", [], [1], [[]], {}),
    *({"query": odd} for odd in ({}, "a\x00b", "\ud800")),
    *({"query": "x", **odd} for odd in ({"top_k": 2**70}, {"tags": [1]}, {"weight_recency": 1e308})),
    *({"content": odd} for odd in ({}, "\x00", "\ud800")),
    *(
        {"content": "x", **odd}
        for odd in (
            {"tags": ["\x00"]},
            {"importance_score": 2**2000},
            {"metadata": {"a": 2**70}},
            {"metadata": {"": 1}},
        )
    ),
]
WRITES = "search memories memories/batch ingest partitions".split()


def refused(answer: httpx2.Response) -> bool:
    """Return True if it is a refusal in the shape that these clients parse."""
    return 400 <= answer.status_code < 500 and isinstance(answer.json()["detail"], str | list)


@pytest.mark.long
@pytest.mark.parametrize("path", READS)
async def test_odd_words_in_an_address_are_answered(http: httpx2.AsyncClient, path: str):
    for odd in ODD:
        answer = await http.get("/api/v1/" + path.format(quote(odd, safe="")))
        assert answer.status_code == 200 or refused(answer), (odd, answer.status_code, answer.text)


@pytest.mark.parametrize("path", WRITES)
async def test_odd_bodies_are_answered(http: httpx2.AsyncClient, path: str):
    for body in BODIES:
        answer = await http.post(
            f"/api/v1/{path}", content=json.dumps(body), headers={"Content-Type": "application/json"}
        )
        assert answer.status_code in (200, 201) or refused(answer), (body, answer.status_code, answer.text)
    for broken in (b"", b"{", b"\xff\xfe", b"[" * 5_000):
        assert refused(
            await http.post(f"/api/v1/{path}", content=broken, headers={"Content-Type": "application/json"})
        )


class Letting:
    """A `Door` that gives every client the same permissions."""

    def __init__(self, app: ASGIApp, permissions: Permissions) -> None:
        self._app, self._permissions = app, permissions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {})["permissions"] = self._permissions
        await self._app(scope, receive, send)


async def test_a_read_only_token_reads_and_changes_nothing(http: httpx2.AsyncClient, engine: Engine):
    kept = (await http.post("/api/v1/memories", json={"content": "The zebra of others."})).json()["id"]
    await http.post("/api/v1/partitions", json={"id": "mem_theirs", "name": "Theirs"})
    app = build_app(engine, build_server(engine))
    transport = httpx2.ASGITransport(app=Letting(app, Permissions(read_only=True)))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as reader:
        assert (await reader.get(f"/api/v1/memories/{kept}")).status_code == 200
        for method, path, body in (
            ("POST", "memories", {"content": "x"}),
            ("POST", "memories/batch", [{"content": "x"}]),
            ("PATCH", f"memories/{kept}", {"content": "x"}),
            ("DELETE", f"memories/{kept}", None),
            ("POST", "ingest", {"content": "x"}),
            ("POST", "partitions", {"id": "mem_x", "name": "x"}),
            ("PATCH", "partitions/mem_theirs", {"name": "x"}),
            ("DELETE", "partitions/mem_theirs", None),
            ("POST", "admin/consolidate", None),
        ):
            assert (await reader.request(method, f"/api/v1/{path}", json=body)).status_code == 403, (
                method,
                path,
            )
