"""The routes of supermemory's version 5 (`/ns/{namespace}/...`, Python client 5.0.1), one module a noun. A namespace is a scope."""

from __future__ import annotations

from fastapi import APIRouter

from scrubjay.http_api.refusals import absent
from scrubjay.http_api.supermemory_v5 import documents, lists, memories, namespaces, profiles, search

_ABSENT = {
    "POST /ns/{namespace}/memories": "Version 5 learns memories of documents alone. POST /v4/memories keeps facts as they are; "
    "its containerTag is the namespace.",
    "PATCH /ns/{namespace}/memories/{id}": "Version 5 changes no memory. PATCH /v4/memories gives one a new version; "
    "its containerTag is the namespace.",
}

# In the order in which paths are tried: a document may be called `file/...` by its caller.
ROUTERS: tuple[APIRouter, ...] = (
    *(family.router for family in (documents, search, profiles, lists, memories, namespaces)),
    absent(_ABSENT),
)
