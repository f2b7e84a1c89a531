"""Versions 4 and 5 of supermemory's API behind the same calls, so that one test holds for both.

Fields have the names of version 5. A test of one version only uses `call`.
"""

from __future__ import annotations

import json
from typing import Any

import httpx2
from starlette.types import ASGIApp, Receive, Scope, Send

from scrubjay.http_api.permissions import Permissions

TAG = "team_atlas"
NAMES_4 = {
    "id": "customId",
    "group": "filterByMetadata",
    "date": "documentDate",
    "supportingContext": "entityContext",
}


def said(results: list[dict[str, Any]]) -> list[str]:
    """The texts of results."""
    return [each.get("memory") or each["chunk"] for each in results]


class Api:
    """Both versions; memories are only written by version 4."""

    version = 0

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self.http = http

    async def call(self, method: str, path: str, status: int = 200, **how: Any) -> Any:
        """Send a request, check its status and return its answer; `how` is passed to httpx."""
        answer = await self.http.request(method, path, **how)
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None

    async def post(self, path: str, status: int = 200, **body: Any) -> Any:
        return await self.call("POST", path, status, json=body)

    async def keep(self, content: str, tag: str = TAG, **fields: Any) -> str:
        """Create one memory; return its id."""
        body = {"memories": [{"content": content, **fields}], "containerTag": tag}
        return (await self.post("/v4/memories", 201, **body))["memories"][0]["id"]

    async def revise(self, id: str, content: str, tag: str = TAG, status: int = 200, **fields: Any) -> Any:
        """Give a memory a new version."""
        body = {"id": id, "newContent": content, "containerTag": tag, **fields}
        return await self.call("PATCH", "/v4/memories", status, json=body)

    async def forget(self, tag: str = TAG, status: int = 200, **fields: Any) -> Any:
        """Forget a memory by version 4, by its id or its words."""
        return await self.call("DELETE", "/v4/memories", status, json={"containerTag": tag, **fields})


class V4(Api):
    version = 4

    def _spelled(self, fields: dict[str, Any]) -> dict[str, Any]:
        return {NAMES_4.get(name, name): value for name, value in fields.items()}

    async def add(self, content: str, tag: str = TAG, status: int = 200, **fields: Any) -> Any:
        return await self.post(
            "/v3/documents", status, content=content, containerTag=tag, **self._spelled(fields)
        )

    async def add_all(self, documents: list[dict[str, Any]], tag: str = TAG, **shared: Any) -> dict[str, Any]:
        batch = [self._spelled(each) for each in documents]
        answer = await self.post("/v3/documents/batch", documents=batch, containerTag=tag, **shared)
        return {"results": answer["results"], "count": answer["success"], "failed": answer["failed"]}

    async def upload(self, name: str, data: bytes, tag: str = TAG, status: int = 200, **fields: Any) -> Any:
        form = self._spelled({"containerTag": tag, **fields})
        return await self.call("POST", "/v3/documents/file", status, files={"file": (name, data)}, data=form)

    async def document(self, id: str, tag: str = TAG, status: int = 200) -> dict[str, Any]:
        shown = await self.call("GET", f"/v3/documents/{id}", status, params={"containerTag": tag})
        return shown if status != 200 else {**shown, "memories": said(shown.get("memories", []))}

    async def change(self, id: str, tag: str = TAG, status: int = 200, **fields: Any) -> Any:
        body = {"containerTag": tag, **self._spelled(fields)}
        return await self.call("PATCH", f"/v3/documents/{id}", status, json=body)

    async def delete(self, *ids: str, tag: str = TAG) -> tuple[int, list[str]]:
        """How many documents were deleted, and the ids of those that were not."""
        answer = await self.call("DELETE", "/v3/documents/bulk", json={"ids": list(ids)})
        return answer["deletedCount"], [each["id"] for each in answer.get("errors", [])]

    async def documents(self, tag: str = TAG, **page: Any) -> dict[str, Any]:
        answer = await self.post("/v3/documents/list", containerTags=[tag], **page)
        return {"rows": answer["memories"], "pagination": answer["pagination"]}

    async def memories(self, tag: str = TAG, **page: Any) -> dict[str, Any]:
        answer = await self.post("/v4/memories/list", containerTags=[tag], **page)
        return {"rows": answer["memoryEntries"], "pagination": answer["pagination"]}

    async def forget_about(self, query: str, tag: str = TAG, *, dry: bool) -> list[dict[str, Any]]:
        answer = await self.post("/v4/memories/forget-matching", containerTag=tag, query=query, dryRun=dry)
        assert answer["count"] == len(answer["candidates" if dry else "forgotten"])
        return answer["candidates" if dry else "forgotten"]

    async def search(
        self, query: str, tag: str | None = TAG, mode: str = "memories", **fields: Any
    ) -> list[dict[str, Any]]:
        """The results of a search without a threshold."""
        named = {} if tag is None else {"containerTag": tag}
        mode = "documents" if mode == "chunks" else mode
        body = {"q": query, "threshold": 0, "searchMode": mode, **named, **fields}
        return (await self.post("/v4/search", **body))["results"]

    def only(self, key: str, value: str) -> dict[str, Any]:
        """The request field that filters by one metadata value."""
        return {"filters": {"AND": [{"key": key, "value": value}]}}

    async def profile(self, tag: str = TAG, **fields: Any) -> dict[str, Any]:
        every = {"include": ["static", "dynamic", "buckets"], **fields}
        return (await self.post("/v4/profile", containerTag=tag, **every))["profile"]

    async def buckets(self, tag: str = TAG) -> dict[str, str]:
        rows = (await self.post("/v4/profile/buckets", containerTag=tag))["buckets"]
        return {each["key"]: each["description"] for each in rows}

    async def describe(self, text: str | None, tag: str = TAG, status: int = 200) -> Any:
        return await self.call("PATCH", f"/v3/container-tags/{tag}", status, json={"entityContext": text})

    async def description(self, tag: str = TAG, status: int = 200) -> Any:
        answer = await self.call("GET", f"/v3/container-tags/{tag}", status)
        return answer.get("entityContext")

    async def scopes(self) -> dict[str, tuple[int, int]]:
        """The documents and memories of every scope, by name."""
        rows = await self.call("GET", "/v3/container-tags/list")
        return {each["containerTag"]: (each["documentCount"], each["memoryCount"]) for each in rows}

    async def drop(self, tag: str = TAG, status: int = 200) -> Any:
        return await self.call("DELETE", f"/v3/container-tags/{tag}", status)

    async def move(self, target: str, tag: str = TAG, status: int = 200) -> Any:
        body = {"containerTags": [tag], "targetContainerTag": target}
        return await self.post("/v3/container-tags/merge", status, **body)


class V5(Api):
    version = 5

    async def add(self, content: str, tag: str = TAG, status: int = 200, **fields: Any) -> Any:
        return await self.post(f"/ns/{tag}/document", status, content=content, **fields)

    async def add_all(self, documents: list[dict[str, Any]], tag: str = TAG, **shared: Any) -> dict[str, Any]:
        return await self.post(f"/ns/{tag}/document/batch", documents=documents, **shared)

    async def upload(self, name: str, data: bytes, tag: str = TAG, status: int = 200, **fields: Any) -> Any:
        path = f"/ns/{tag}/document/file"
        return await self.call("POST", path, status, files={"file": (name, data)}, data=fields)

    async def document(self, id: str, tag: str = TAG, status: int = 200) -> dict[str, Any]:
        shown = await self.call("GET", f"/ns/{tag}/document/{id}", status, params={"include": "memories"})
        return shown if status != 200 else {**shown, **shown["system"], "memories": said(shown["memories"])}

    async def change(self, id: str, tag: str = TAG, status: int = 200, **fields: Any) -> Any:
        return await self.call("PATCH", f"/ns/{tag}/document/{id}", status, json=fields)

    async def delete(self, *ids: str, tag: str = TAG) -> tuple[int, list[str]]:
        answer = await self.call("DELETE", f"/ns/{tag}/document", json={"ids": list(ids)})
        return answer["count"], [each["id"] for each in answer["errors"]]

    async def listed(self, kind: str, tag: str = TAG, status: int = 200, **page: Any) -> dict[str, Any]:
        body = {name: page.pop(name) for name in ("filter", "include") if name in page}
        answer = await self.call("POST", f"/ns/{tag}/list/{kind}", status, params=page, json=body)
        return answer if status != 200 else {"rows": answer[kind], "pagination": answer["pagination"]}

    async def documents(self, tag: str = TAG, **page: Any) -> dict[str, Any]:
        return await self.listed("documents", tag, **page)

    async def memories(self, tag: str = TAG, **page: Any) -> dict[str, Any]:
        return await self.listed("memories", tag, **page)

    async def forget_about(self, query: str, tag: str = TAG, *, dry: bool) -> list[dict[str, Any]]:
        body = {"query": query, "dryRun": dry}
        answer = await self.call("DELETE", f"/ns/{tag}/memories/semantic", json=body)
        assert answer["count"] == len(answer["matches"])
        return answer["matches"]

    async def search(
        self, query: str, tag: str | None = TAG, mode: str = "memories", **fields: Any
    ) -> list[dict[str, Any]]:
        body = {"query": query, "threshold": 0.0, "searchMode": mode, **fields}
        return (await self.post(f"/ns/{tag}/search", **body))["results"]

    def only(self, key: str, value: str) -> dict[str, Any]:
        return {"filter": {"field": key, "operator": "eq", "value": value}}

    async def profile(self, tag: str = TAG, **fields: Any) -> dict[str, Any]:
        shown = (await self.post(f"/ns/{tag}/profile", **fields))["profile"]
        buckets = {name: said(facts) for name, facts in shown["buckets"].items()}
        return {"static": said(shown["static"]), "dynamic": said(shown["dynamic"]), "buckets": buckets}

    async def buckets(self, tag: str = TAG) -> dict[str, str]:
        return (await self.call("GET", f"/ns/{tag}/profile/buckets"))["buckets"]

    async def describe(self, text: str | None, tag: str = TAG, status: int = 200) -> Any:
        return await self.call("PATCH", f"/ns/{tag}", status, json={"supportingContext": text})

    async def description(self, tag: str = TAG, status: int = 200) -> Any:
        return (await self.call("GET", f"/ns/{tag}", status)).get("supportingContext")

    async def scopes(self) -> dict[str, tuple[int, int]]:
        rows = (await self.call("GET", "/ns", params={"limit": 100}))["namespaces"]
        return {each["namespace"]: (each["documentCount"], each["memoryCount"]) for each in rows}

    async def drop(self, tag: str = TAG, status: int = 200) -> Any:
        return await self.call("DELETE", f"/ns/{tag}", status)

    async def move(self, target: str, tag: str = TAG, status: int = 202) -> Any:
        return await self.call("DELETE", f"/ns/{tag}", status, params={"moveTo": target})


class Hebb(Api):
    """Hebb Mind's API; a path is what follows `/api/v1/`, and `how` is passed to httpx."""

    async def call(self, method: str, path: str, status: int = 200, **how: Any) -> Any:
        return await super().call(method, f"/api/v1/{path}", status, **how)

    async def keep(self, content: str, status: int = 201, **fields: Any) -> Any:  # type: ignore[override]
        return await self.post("memories", status, content=content, **fields)

    async def keep_all(self, items: list[dict[str, Any]], status: int = 201) -> Any:
        return await self.call("POST", "memories/batch", status, json=items)

    async def memory(self, id: str, status: int = 200, **how: Any) -> Any:
        return await self.call("GET", f"memories/{id}", status, **how)

    async def change(self, id: str, status: int = 200, **fields: Any) -> Any:
        return await self.call("PATCH", f"memories/{id}", status, json=fields)

    async def delete(self, id: str, status: int = 204, **how: Any) -> Any:
        return await self.call("DELETE", f"memories/{id}", status, **how)

    async def listed(self, status: int = 200, **params: Any) -> Any:
        return await self.call("GET", "memories", status, params=params)

    async def search(self, query: Any, status: int = 200, **fields: Any) -> Any:
        return await self.post("search", status, query=query, **fields)

    async def ingest(self, content: str, status: int = 201, **fields: Any) -> Any:
        return await self.post("ingest", status, content=content, **fields)


def with_permissions(app: ASGIApp, permissions: Permissions) -> httpx2.AsyncClient:
    """A client whose token has these permissions."""

    async def gateway(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, "state": {**scope.get("state", {}), "permissions": permissions}}, receive, send)

    return httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=gateway, raise_app_exceptions=False), base_url="http://127.0.0.1"
    )


def as_json(**fields: Any) -> dict[str, str]:
    """Fields of a form: texts unchanged, objects as JSON text."""
    return {name: each if isinstance(each, str) else json.dumps(each) for name, each in fields.items()}
