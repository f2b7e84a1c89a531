"""The routes of supermemory v5 (`/ns/{namespace}/...`, Python client 5.0.1). A namespace is a scope."""

from fastapi import APIRouter

from scrubjay.http_api.refusals import absent
from scrubjay.http_api.supermemory_v5 import documents, lists, memories, namespaces, profiles, search

_SAME = "its containerTag is the namespace."
_ABSENT = {
    "POST /ns/{namespace}/memories": "Version 5 learns memories of documents alone. "
    f"POST /v4/memories keeps facts as they are; {_SAME}",
    "PATCH /ns/{namespace}/memories/{id}": "Version 5 changes no memory. "
    f"PATCH /v4/memories gives one a new version; {_SAME}",
}

# In the order in which paths are tried: a document may be called `file/...` by its caller.
ROUTERS: tuple[APIRouter, ...] = (
    *(family.route.router for family in (documents, search, profiles, lists, memories, namespaces)),
    absent(_ABSENT),
)
