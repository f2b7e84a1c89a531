"""Short ways to call version 5 as a client does: what was answered, and with which status."""

from __future__ import annotations

from typing import Any

import httpx2

NS = "user_alex"


async def call(
    http: httpx2.AsyncClient, method: str, path: str, status: int = 200, **how: Any
) -> dict[str, Any]:
    """The answer to a request, which has this status; `how` is what httpx takes."""
    answer = await http.request(method, path, **how)
    assert answer.status_code == status, answer.text
    return answer.json()


async def post(
    http: httpx2.AsyncClient, path: str, status: int = 200, *, ns: str = NS, **body: Any
) -> dict[str, Any]:
    """The answer to a POST below a namespace."""
    return await call(http, "POST", f"/ns/{ns}/{path}", status, json=body)


async def add(http: httpx2.AsyncClient, content: str, *, ns: str = NS, **fields: Any) -> str:
    """Add one document; its id."""
    return (await post(http, "document", ns=ns, content=content, **fields))["id"]


async def keep(http: httpx2.AsyncClient, content: str, *, ns: str = NS, **fields: Any) -> str:
    """Add one memory by itself, by version 4, for version 5 has no such route; its id."""
    body = {"memories": [{"content": content, **fields}], "containerTag": ns}
    return (await call(http, "POST", "/v4/memories", 201, json=body))["memories"][0]["id"]


async def revise(http: httpx2.AsyncClient, id: str, content: str, *, ns: str = NS, **fields: Any) -> str:
    """Give a memory a new version, by version 4; its id."""
    body = {"id": id, "newContent": content, "containerTag": ns, **fields}
    return (await call(http, "PATCH", "/v4/memories", json=body))["id"]


async def document(http: httpx2.AsyncClient, id: str, include: str = "", *, ns: str = NS) -> dict[str, Any]:
    return await call(http, "GET", f"/ns/{ns}/document/{id}", params={"include": include} if include else {})


async def search(
    http: httpx2.AsyncClient, query: str, *, ns: str = NS, **fields: Any
) -> list[dict[str, Any]]:
    """The results of a search that lets everything through."""
    return (await post(http, "search", ns=ns, query=query, **{"threshold": 0.0, **fields}))["results"]


async def listed(
    http: httpx2.AsyncClient, kind: str, *, ns: str = NS, body: dict[str, Any] | None = None, **query: Any
) -> dict[str, Any]:
    return await call(http, "POST", f"/ns/{ns}/list/{kind}", params=query, json=body or {})


def said(results: list[dict[str, Any]]) -> list[str]:
    """The texts of results."""
    return [each.get("memory") or each["chunk"] for each in results]
