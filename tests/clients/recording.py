"""Records what an official client sends: makes each call once, to a server that answers everything with `{}`.
Run manually with the client's own interpreter to support a new version; the tests replay the recording.

    python recording.py 3 > recorded/python-3.62.0.json
    python recording.py 5 > recorded/python-5.0.1.json
    python recording.py npm_4_calls.mjs > recorded/npm-4.25.4.json
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

KEPT = ("content-type", "accept", "authorization", "content-length")
TEXT = "The heron waits."
META = {"kind": "bird", "n": 2, "seen": True, "places": ["rock", "sea"]}
V3_FILTER = {
    "and_": [{"key": "n", "value": "1", "filter_type": "numeric", "numeric_operator": ">", "negate": False}]
}
V5_FILTER = {"operator": "and", "operands": [{"field": "kind", "operator": "eq", "value": "bird"}]}
FILE = ("heron.txt", b"The heron waits.", "text/plain")
DATE = "2026-01-02T03:04:05Z"


class Recorder(BaseHTTPRequestHandler):
    """Keeps every request. What changes from run to run (boundaries, lengths of them) is made the same."""

    protocol_version = "HTTP/1.1"
    requests: ClassVar[list[dict[str, Any]]] = []

    def _keep(self) -> None:
        body = self._body().decode()
        headers = {name: self.headers[name] for name in KEPT if name in self.headers}
        if boundary := re.search(r"boundary=(\S+)", headers.get("content-type", "")):
            body = body.replace(boundary[1], "boundary")
            headers["content-type"] = "multipart/form-data; boundary=boundary"
        if body:
            headers.pop("content-length", None)
        self.requests.append({"method": self.command, "path": self.path, "headers": headers, "body": body})
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _keep

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def v3(client: Any) -> Mapping[str, Callable[[], Any]]:
    """Each call of the Python client 3.62.0."""
    add = {
        "custom_id": "heron",
        "document_date": DATE,
        "dreaming": "instant",
        "entity_context": "Birds.",
        "filepath": "/birds/heron.md",
    }
    add |= {"filter_by_metadata": {"kind": "bird"}, "metadata": META, "task_type": "memory"}
    many = {
        "chunk_threshold": 0.1,
        "document_threshold": 0.1,
        "include_full_docs": True,
        "include_summary": True,
        "limit": 5,
    }
    many |= {
        "only_matching_chunks": False,
        "rerank": True,
        "rewrite_query": True,
        "filters": V3_FILTER,
        "container_tags": ["a"],
    }
    include = {
        "documents": True,
        "summaries": True,
        "related_memories": True,
        "forgotten_memories": True,
        "chunks": False,
    }
    upload = {
        "container_tags": '["a"]',
        "custom_id": "file",
        "metadata": json.dumps(META),
        "mime_type": "text/plain",
        "file_type": "text",
    }
    return {
        "add": lambda: client.add(content=TEXT, container_tag="a", **add),
        "add, bare": lambda: client.add(content=TEXT),
        "documents.add": lambda: client.documents.add(content=TEXT, container_tags=["a"]),
        "documents.batch_add": lambda: client.documents.batch_add(
            documents=[{"content": "One.", "custom_id": "one"}], container_tag="a"
        ),
        "documents.batch_add, plain": lambda: client.documents.batch_add(
            documents=["Two.", "Three."], container_tag="a"
        ),
        "documents.upload_file": lambda: client.documents.upload_file(file=FILE, **upload),
        "documents.get": lambda: client.documents.get("DOCUMENT"),
        "documents.update": lambda: client.documents.update(
            "DOCUMENT", content="The heron flew.", metadata=META, container_tag="a"
        ),
        "documents.list": lambda: client.documents.list(
            container_tags=["a"], filters=V3_FILTER, include_content=True, limit=5, page=1
        ),
        "documents.list, bare": lambda: client.documents.list(),
        "documents.list_processing": lambda: client.documents.list_processing(
            container_tags="a", view="all", limit=5, page=1
        ),
        "search.documents": lambda: client.search.documents(q="heron", **many),
        "search.execute": lambda: client.search.execute(q="heron"),
        "search.memories": lambda: client.search.memories(
            q="heron",
            container_tag="a",
            filters=V3_FILTER,
            include=include,
            limit=5,
            search_mode="hybrid",
            threshold=0.1,
            rerank=True,
        ),
        "search.memories, bare": lambda: client.search.memories(q="heron"),
        "profile": lambda: client.profile(
            container_tag="a", q="heron", threshold=0.1, include=["static", "dynamic", "buckets"]
        ),
        "memories.update_memory": lambda: client.memories.update_memory(
            container_tag="a",
            id="MEMORY",
            new_content="The heron flew.",
            metadata=META,
            forget_after=None,
            forget_reason="r",
            temporal_context={"document_date": DATE, "event_date": [DATE]},
        ),
        "memories.forget": lambda: client.memories.forget(container_tag="a", id="MEMORY", reason="asked to"),
        "documents.delete": lambda: client.documents.delete("DOCUMENT"),
        "documents.delete_bulk": lambda: client.documents.delete_bulk(ids=["DOCUMENT", "nothing-like-it"]),
        "documents.delete_bulk, tags": lambda: client.documents.delete_bulk(container_tags=["a"]),
        "settings.get": lambda: client.settings.get(),
        "connections.list": lambda: client.connections.list(),
    }


def v5(client: Any) -> Mapping[str, Callable[[], Any]]:
    """Each call of the Python client 5.0.1 except those of the hosted service alone."""
    add = {
        "supporting_context": "Birds.",
        "metadata": META,
        "group": {"kind": "bird"},
        "date": DATE,
        "task_type": "memory",
    }
    form = {
        "metadata": json.dumps(META),
        "group": '{"kind": "bird"}',
        "date": DATE,
        "task_type": "memory",
        "mime_type": "text/plain",
    }
    every = {"documents": True, "related": True, "forgotten": True}
    extras = {"content": True, "memory_count": True, "forgotten": True}
    return {
        "add": lambda: client.add("a", content=TEXT, id="heron", dreaming="instant", **add),
        "add, bare": lambda: client.add("a", content=TEXT),
        "search": lambda: client.search(
            "a",
            query="heron",
            filter=V5_FILTER,
            search_mode="hybrid",
            limit=5,
            include=every,
            threshold=0.1,
            rerank="order",
            rewrite_query=True,
        ),
        "search, bare": lambda: client.search("a", query="heron"),
        "profile": lambda: client.profile("a"),
        "profile, filtered": lambda: client.profile("a", filter=V5_FILTER, buckets=["food"]),
        "list documents": lambda: client.list(
            "a", "documents", page=1, limit=5, sort="createdAt", order="asc", include=extras
        ),
        "list chunks": lambda: client.list("a", "chunks"),
        "list memories": lambda: client.list("a", "memories", filter=V5_FILTER),
        "documents.get": lambda: client.documents.get("a", "DOCUMENT", include=["chunks", "memories"]),
        "documents.update": lambda: client.documents.update(
            "a", "DOCUMENT", content="The heron flew.", **add
        ),
        "documents.batch_add": lambda: client.documents.batch_add(
            "a", documents=[{"content": "One.", "id": "one"}], task_type="memory"
        ),
        "documents.upload_file": lambda: client.documents.upload_file("a", file=FILE, **form),
        "documents.replace_with_file": lambda: client.documents.replace_with_file("a", "DOCUMENT", file=FILE),
        "documents.update_file": lambda: client.documents.update_file(
            "a", "DOCUMENT", metadata=json.dumps(META)
        ),
        "memories.get": lambda: client.memories.get(
            "a", "MEMORY", include=["related", "documents"], related_limit=3
        ),
        "memories.forget_matching": lambda: client.memories.forget_matching("a", query="heron", dry_run=True),
        "memories.forget": lambda: client.memories.forget("a", ids=["MEMORY", "nothing-like-it"]),
        "profiles.set_buckets": lambda: client.profiles.set_buckets("a", buckets={"food": "What they eat"}),
        "profiles.get_buckets": lambda: client.profiles.get_buckets("a"),
        "profiles.delete_buckets": lambda: client.profiles.delete_buckets("a", buckets=["food"]),
        "documents.delete": lambda: client.documents.delete("a", ids=["DOCUMENT", "nothing-like-it"]),
        "namespaces.update": lambda: client.namespaces.update("a", supporting_context="Birds."),
        "namespaces.get": lambda: client.namespaces.get("a"),
        "namespaces.get, odd": lambda: client.namespaces.get("two words/and more"),
        "namespaces.list": lambda: client.namespaces.list(page=1, limit=5, q="a"),
        "namespaces.delete": lambda: client.namespaces.delete("a", move_to="b"),
        "organization.get": lambda: client.organization.get(),
        "connectors.list_all": lambda: client.connectors.list_all(),
    }


def main(which: str) -> None:
    """Print the requests of every call, a line each."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    env = {
        "SUPERMEMORY_BASE_URL": f"http://127.0.0.1:{server.server_port}",
        "SUPERMEMORY_API_KEY": "sm_recorded",
    }
    if which.endswith(".mjs"):
        names = json.loads(
            subprocess.run(
                ["node", which], env={**os.environ, **env}, capture_output=True, text=True, check=True
            ).stdout
        )
    else:
        os.environ.update(env)
        import supermemory

        calls = {"3": v3, "5": v5}[which](supermemory.Supermemory(max_retries=0))
        for call in calls.values():
            with contextlib.suppress(Exception):  # how a client reads `{}` does not matter
                call()
        names = list(calls)
    assert len(names) == len(Recorder.requests)
    lines = [
        json.dumps({"call": name, **request}) for name, request in zip(names, Recorder.requests, strict=True)
    ]
    print("[\n" + ",\n".join(lines) + "\n]")


if __name__ == "__main__":
    main(sys.argv[1])
