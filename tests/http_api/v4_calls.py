"""Short ways to call `/v4` as a client does: what was answered, and with which status."""

from __future__ import annotations

from typing import Any

import httpx2

TAG = "team_atlas"


async def post(http: httpx2.AsyncClient, path: str, status: int = 200, **body: Any) -> dict[str, Any]:
    """The answer to a POST, which has this status."""
    answer = await http.post(path, json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


async def send(
    http: httpx2.AsyncClient, method: str, path: str, status: int = 200, **body: Any
) -> dict[str, Any]:
    """As `post`, by another method; DELETE has a body too, as the clients send it."""
    answer = await http.request(method, path, json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


async def keep(http: httpx2.AsyncClient, content: str, tag: str = TAG, **fields: Any) -> str:
    """Create one memory; its id."""
    made = await post(http, "/v4/memories", 201, containerTag=tag, memories=[{"content": content, **fields}])
    return made["memories"][0]["id"]


async def search(
    http: httpx2.AsyncClient, q: str, tag: str | None = TAG, **fields: Any
) -> list[dict[str, Any]]:
    """The results of a search that lets everything through."""
    asked = {"q": q, "threshold": 0, **({} if tag is None else {"containerTag": tag}), **fields}
    return (await post(http, "/v4/search", **asked))["results"]


def said(results: list[dict[str, Any]]) -> list[str]:
    """The texts of results."""
    return [each.get("memory") or each["chunk"] for each in results]
