"""The routes `/ns/{namespace}/...` of supermemory (Python client 5). A namespace is a scope."""

from fastapi import APIRouter

from scrubjay.http_api.refusals import absent
from scrubjay.http_api.supermemory.v5 import documents, memories, namespaces, search

_SAME = "its containerTag is the namespace."
_ABSENT = {
    "POST /ns/{namespace}/memories": "Version 5 learns memories only from documents. "
    f"POST /v4/memories stores facts as they are; {_SAME}",
    "PATCH /ns/{namespace}/memories/{id}": "Version 5 does not change memories. "
    f"PATCH /v4/memories gives one a new version; {_SAME}",
}

# In the order in which paths are tried: a client may name a document `file/...`.
_FAMILIES = (documents, search, memories, namespaces)
ROUTERS: tuple[APIRouter, ...] = (*(family.route.router for family in _FAMILIES), absent(_ABSENT))
