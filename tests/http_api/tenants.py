"""Two tenants of one engine: the records of the first, and every operation by which the second could try to
reach them.

A request is written with names: `$tag` is the tag of the request, `$document`, `$custom`, `$memory`,
`$old`, `$turn`, `$episode` are ids of the first tenant, `$taken` is a custom id that it uses too, `$text` is
one of its memories word for word, and `$rare` is a word that is used nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from string import Template
from typing import Any

import httpx2
from spellings import V4, V5, Hebb

FIRST, SECOND = "tenant-a", "tenant-b"
RARE = "zyqwortha"  # the question of the second tenant
SECRET = "vexlumina"  # in every record of the first tenant, and in no request of the second
OWN = "quillbright"  # in the scope `user`, which no client sees over HTTP
GONE = 404


@dataclass(frozen=True)
class Try:
    """One request of the second tenant; `status` is the answer if the target is not its own."""

    path: str
    status: int = 0  # 0: any success
    body: dict[str, Any] = field(default_factory=dict)
    bound: int = 0  # the answer to a token of one tag, if it may not make this request at all

    def filled(self, words: dict[str, str]) -> dict[str, Any]:
        """The arguments of the request, names replaced."""
        arguments = {"url": Template(self.path).substitute(words), **_filled(self.body, words)}
        if "files" in arguments:
            arguments["files"] = {name: tuple(file) for name, file in arguments["files"].items()}
        return arguments

    @property
    def names_a_tag(self) -> bool:
        return "$tag" in f"{self.path}{self.body}"


def to(path: str, status: int = 0, *, bound: int = 0, **body: Any) -> Try:
    return Try(path, status, body, bound)


def _filled(value: Any, words: dict[str, str]) -> Any:
    if isinstance(value, str):
        return Template(value).substitute(words)
    if isinstance(value, dict):
        return {key: _filled(each, words) for key, each in value.items()}
    return [_filled(each, words) for each in value] if isinstance(value, list) else value


def _either(method_path: str, path: str, status: int = GONE, **body: Any) -> dict[str, list[Try]]:
    """An operation on a document by id, custom id and the id of another record, with the tag and without."""
    tries = []
    for id in ("$document", "$custom", "$memory", "$turn"):
        tries += [
            to(path.replace("ID", id), status, **body),
            to(path.replace("ID", id), status, params={"containerTag": "$tag"}, **body),
        ]
    return {method_path: tries}


FILE = {"file": ["bird.txt", "A bird of the second tenant.", "text/plain"]}
SCOPE = {"X-Scrubjay-Scope": "$tag"}
_SEARCH = {"q": "$rare", "limit": 50, "containerTag": "$tag"}
_V5_SEARCH = {
    "query": "$rare",
    "limit": 50,
    "threshold": 0.0,
    "include": {"documents": True, "related": True, "forgotten": True},
}
_TAGS = {"containerTags": ["$tag"]}
_PROFILE = ["static", "dynamic", "buckets"]
_INCLUDE = {
    "documents": True,
    "summaries": True,
    "relatedMemories": True,
    "forgottenMemories": True,
    "chunks": True,
}

SUPERMEMORY: dict[str, list[Try]] = {
    "POST /v3/documents": [
        to("/v3/documents", json={"content": "Of the second tenant.", "customId": "$taken", "containerTag": "$tag"}),
        to("/v3/documents", json={"content": "Of the second tenant, too."}),
    ],
    "POST /v3/documents/batch": [
        to("/v3/documents/batch", json={"documents": [{"content": "B.", "customId": "$taken"}], "containerTag": "$tag"})
    ],
    "POST /v3/documents/file": [to("/v3/documents/file", files=FILE, data={"containerTag": "$tag", "customId": "$taken"})],
    "POST /v3/documents/list": [to("/v3/documents/list", json={**tag, "includeContent": True}) for tag in ({}, _TAGS)],
    "POST /v3/documents/documents": [to("/v3/documents/documents", json=tag) for tag in ({}, _TAGS)],
    "GET /v3/documents/processing": [to("/v3/documents/processing", params={"containerTags": "$tag", "view": "all"})],
    **_either("GET /v3/documents/{id}", "/v3/documents/ID"),
    **_either("GET /v3/documents/{id}/chunks", "/v3/documents/ID/chunks"),
    **_either("DELETE /v3/documents/{id}", "/v3/documents/ID"),
    "PATCH /v3/documents/{id}": [
        to(f"/v3/documents/{id}", GONE, json={"content": "Overwritten.", **tag})
        for id in ("$document", "$custom", "$memory")
        for tag in ({}, {"containerTag": "$tag"})
    ],
    "DELETE /v3/documents/bulk": [
        to("/v3/documents/bulk", json={"ids": ["$document", "$custom", "$memory"]}),
        to("/v3/documents/bulk", json={"filepath": "/a/"}),
        to("/v3/documents/bulk", json={"containerTags": ["$tag"]}),
    ],
    "POST /v3/search": [
        to("/v3/search", json={**_SEARCH, "includeChats": True, "includeFullDocs": True, "includeSummary": True}),
        to("/v3/search", json={"q": "$rare", "includeChats": True}),
        to("/v3/search", json={"q": "$rare", "filepath": "/a/", "containerTags": ["$tag"]}),
        to("/v3/search", GONE, json={**_SEARCH, "docId": "$document"}),
        to("/v3/search", GONE, json={"q": "$rare", "docId": "$custom"}),
    ],
    "GET /v3/settings": [to("/v3/settings")],
    "PATCH /v3/settings": [to("/v3/settings", bound=403, json={"filterPrompt": "Of the second tenant."})],
    "GET /v3/container-tags/list": [to("/v3/container-tags/list")],
    "GET /v3/container-tags/{tag}": [to("/v3/container-tags/$tag")],
    "PATCH /v3/container-tags/{tag}": [to("/v3/container-tags/$tag", json={"name": "Of the second tenant"})],
    "DELETE /v3/container-tags/{tag}": [to("/v3/container-tags/$tag")],
    "POST /v3/container-tags/merge": [
        to("/v3/container-tags/merge", bound=403, json={"containerTags": ["nobody"], "targetContainerTag": "$tag"})
    ],
    "POST /v4/search": [
        to("/v4/search", json={**_SEARCH, "threshold": 0, "searchMode": mode, "includeChats": True, "include": _INCLUDE, **way})
        for mode in ("memories", "hybrid", "documents")
        for way in ({}, {"rewriteQuery": True}, {"filepath": "/a/"}, {"type": ["chat"]})
    ] + [to("/v4/search", json={"q": "$rare", "threshold": 0, "searchMode": "hybrid", "includeChats": True})],
    "POST /v4/memories": [
        to("/v4/memories", json={"memories": [{"content": "Of the second tenant."}], "containerTag": "$tag"}),
        to("/v4/memories", json={"memories": [{"content": "$rare"}], "containerTag": "$tag"}),
    ],
    "PATCH /v4/memories": [
        to("/v4/memories", GONE, json={"newContent": "Overwritten.", "containerTag": "$tag", **which})
        for which in ({"id": "$memory"}, {"id": "$old"}, {"id": "$document"}, {"content": "$text"})
    ] + [to("/v4/memories", GONE, json={"newContent": "Overwritten.", "id": "$memory", "containerTag": SECOND})],
    "DELETE /v4/memories": [
        to("/v4/memories", GONE, json={"containerTag": "$tag", **which})
        for which in ({"id": "$memory"}, {"id": "$old"}, {"id": "$document"}, {"id": "$custom"}, {"id": "$turn"}, {"content": "$text"})
    ],
    "POST /v4/memories/list": [to("/v4/memories/list", json=tag) for tag in ({}, _TAGS)],
    "POST /v4/memories/forget-matching": [
        to("/v4/memories/forget-matching", json={"containerTag": "$tag", "query": "$rare", "threshold": 0, "dryRun": dry})
        for dry in (True, False)
    ] + [to("/v4/memories/forget-matching", json={"containerTag": "$tag", "ids": ["$memory", "$document", "$turn"]})],
    "POST /v4/profile": [to("/v4/profile", json={"containerTag": "$tag", "q": "$rare", "threshold": 0, "include": _PROFILE})],
    "POST /v4/profile/buckets": [to("/v4/profile/buckets", json={"containerTag": "$tag"})],
    "POST /v4/conversations": [
        to("/v4/conversations", json={"conversationId": "$session", "messages": [{"role": "user", "content": "Hello."}], **_TAGS})
    ],
}  # fmt: skip

NAMESPACES: dict[str, list[Try]] = {
    "POST /ns/{namespace}/document": [to("/ns/$tag/document", json={"content": "Of the second tenant.", "id": "$taken"})],
    "POST /ns/{namespace}/document/batch": [to("/ns/$tag/document/batch", json={"documents": [{"content": "B.", "id": "$taken"}]})],
    "POST /ns/{namespace}/document/file": [to("/ns/$tag/document/file", files=FILE)],
    "POST /ns/{namespace}/document/file/{id}": [to("/ns/$tag/document/file/$document", GONE, files=FILE)],
    "PATCH /ns/{namespace}/document/file/{id}": [to("/ns/$tag/document/file/$document", GONE, files=FILE)],
    "GET /ns/{namespace}/document/{id}": [
        to(f"/ns/$tag/document/{id}", GONE, params={"include": ["chunks", "memories"]}) for id in ("$document", "$memory")
    ],
    "PATCH /ns/{namespace}/document/{id}": [to("/ns/$tag/document/$document", GONE, json={"content": "Overwritten."})],
    "DELETE /ns/{namespace}/document": [to("/ns/$tag/document", json={"ids": ["$document", "$custom", "$memory"]})],
    "POST /ns/{namespace}/search": [
        to("/ns/$tag/search", json={**_V5_SEARCH, "searchMode": mode, "rerank": rerank, "rewriteQuery": True})
        for mode in ("memories", "hybrid", "chunks")
        for rerank in ("none", "aggregate")
    ],
    "POST /ns/{namespace}/profile": [to("/ns/$tag/profile", json={}), to("/ns/$tag/profile", json={}, headers={"Accept": "text/markdown"})],
    "GET /ns/{namespace}/profile/buckets": [to("/ns/$tag/profile/buckets")],
    "PUT /ns/{namespace}/profile/buckets": [to("/ns/$tag/profile/buckets", json={"buckets": {"food": "What they eat"}})],
    "DELETE /ns/{namespace}/profile/buckets": [to("/ns/$tag/profile/buckets", json={"buckets": ["food"]})],
    "POST /ns/{namespace}/list/{type}": [
        to(f"/ns/$tag/list/{kind}", json={"include": {"content": True, "memoryCount": True, "forgotten": True}})
        for kind in ("documents", "chunks", "memories")
    ],
    "POST /ns/{namespace}/list/documents/memory-counts": [
        to("/ns/$tag/list/documents/memory-counts", json={"ids": ["$document", "$custom"]})
    ],
    "GET /ns/{namespace}/memories/{id}": [
        to(f"/ns/$tag/memories/{id}", GONE, params={"include": ["related", "documents"]}) for id in ("$memory", "$old", "$turn")
    ],
    "DELETE /ns/{namespace}/memories": [to("/ns/$tag/memories", json={"ids": ["$memory", "$old", "$document", "$turn"]})],
    "DELETE /ns/{namespace}/memories/semantic": [
        to("/ns/$tag/memories/semantic", json={"query": "$rare", "dryRun": dry}) for dry in (True, False)
    ],
    "GET /ns": [to("/ns"), to("/ns", params={"q": "tenant"})],
    "GET /namespaces": [to("/namespaces")],
    "GET /ns/{namespace}": [to("/ns/$tag")],
    "PATCH /ns/{namespace}": [to("/ns/$tag", json={"supportingContext": "Of the second tenant."})],
    "DELETE /ns/{namespace}": [to("/ns/$tag")],
    "GET /organization": [to("/organization")],
    "PATCH /organization": [to("/organization", bound=403, json={"organizationalContext": "Of everybody."})],
}  # fmt: skip


def _hebb(path: str, status: int = 0, **body: Any) -> list[Try]:
    """A request to Hebb Mind's API: the scope in the header, as a parameter, and not at all."""
    params = body.pop("params", {})
    named = [
        to(path, status, headers=SCOPE, params=params, **body),
        to(path, status, params={**params, "scope": "$tag"}, **body),
    ]
    return [*named, to(path, status, params=params, **body)]


_API = "/api/v1"
_QUERY = {"query": "$rare", "top_k": 100, "prev_turns": 5, "next_turns": 5}
HEBB: dict[str, list[Try]] = {
    "POST /api/v1/search": [*_hebb(f"{_API}/search", json=_QUERY), *_hebb(f"{_API}/search", json={**_QUERY, "tags": ["bird"]})],
    "POST /api/v1/memories": _hebb(f"{_API}/memories", json={"content": "Of the second tenant.", "tags": ["bird"]}),
    "POST /api/v1/memories/batch": _hebb(f"{_API}/memories/batch", json=[{"content": "Of the second tenant, too."}]),
    "GET /api/v1/memories": [*_hebb(f"{_API}/memories"), *_hebb(f"{_API}/memories", params={"tags": "bird"})],
    "GET /api/v1/memories/{memory_id}": [
        each for id in ("$memory", "$turn", "$episode", "$document") for each in _hebb(f"{_API}/memories/{id}", GONE)
    ],
    "PATCH /api/v1/memories/{memory_id}": [
        each for id in ("$memory", "$turn", "$episode") for each in _hebb(f"{_API}/memories/{id}", GONE, json={"content": "Overwritten."})
    ],
    "DELETE /api/v1/memories/{memory_id}": [
        each for id in ("$memory", "$turn", "$episode") for each in _hebb(f"{_API}/memories/{id}", GONE)
    ],
    "POST /api/v1/ingest": _hebb(f"{_API}/ingest", json={"content": "User: Hello.\nAssistant: Hello, second tenant."}),
    "GET /api/v1/partitions": _hebb(f"{_API}/partitions"),
    "POST /api/v1/partitions": [],  # below: a name can be used once
    "GET /api/v1/partitions/{partition_id}": _hebb(f"{_API}/partitions/mem_semantic"),
    "PATCH /api/v1/partitions/{partition_id}": [],
    "DELETE /api/v1/partitions/{partition_id}": [],
    "POST /api/v1/admin/consolidate": _hebb(f"{_API}/admin/consolidate"),
    "GET /api/v1/health": [to(f"{_API}/health")],
    "GET /api/v1/status": [to(f"{_API}/status")],
}  # fmt: skip
TRIES = SUPERMEMORY | NAMESPACES | HEBB


async def settle_in(http: httpx2.AsyncClient) -> dict[str, str]:
    """Store something for the first tenant by every route that stores; return the names."""
    v4, v5, hebb = V4(http), V5(http), Hebb(http)
    said, text = f"The {RARE} waits for the {SECRET}", f"{RARE} alone."
    fields = {"id": "kestrel-1", "filepath": "/a/b.md", "metadata": {"who": SECRET}}
    document = await v4.add(f"{said} in a file.", FIRST, **fields)
    await v4.upload(f"{SECRET}.txt", f"{said} as an upload.".encode(), FIRST)
    await v5.add(f"{said} in a namespace.", FIRST, id="kestrel-2")
    old = await v4.keep(f"{RARE} was here before.", FIRST)
    await v4.keep(f"{said} for good.", FIRST, isStatic=True)
    new = await v4.revise(old, f"{said} now.", FIRST)
    await v4.forget(FIRST, id=await v4.keep(f"{said} no longer.", FIRST))
    await v4.keep(text, FIRST)
    talk = (("user", f"What of the {RARE}?"), ("assistant", f"{said} in talk."))
    messages = [{"role": role, "content": content} for role, content in talk]
    await v4.post("/v4/conversations", conversationId="talk-1", messages=messages, containerTags=[FIRST])
    tags = {"tags": ["bird", "feather", SECRET], "metadata": {"session_id": "hebb-1", "turn": 0}}
    items = [
        {"content": f"{said} in Hebb.", **tags},
        {"content": f"{said} said in Hebb.", "partition_id": "mem_episodic", **tags},
    ]
    scope = {"X-Scrubjay-Scope": FIRST}
    episode, turn = await hebb.call("POST", "memories/batch", 201, json=items, headers=scope)
    conversation = {"content": f"User: Which {RARE}?\nAssistant: {said}."}
    await hebb.call("POST", "ingest", 201, json=conversation, headers=scope)
    buckets = {"buckets": {f"of-{SECRET}": f"What {SECRET} likes"}}
    await v5.call("PUT", f"/ns/{FIRST}/profile/buckets", json=buckets)
    names = {"name": f"The {SECRET}", "entityContext": f"About {SECRET}."}
    await v4.call("PATCH", f"/v3/container-tags/{FIRST}", json=names)
    ids = {"document": document["id"], "memory": new["id"], "old": old}
    ids |= {"episode": episode["id"], "turn": turn["id"]}
    return {
        **ids,
        "custom": "kestrel-1",
        "taken": "kestrel-2",
        "text": text,
        "rare": RARE,
        "session": "talk-1",
    }
