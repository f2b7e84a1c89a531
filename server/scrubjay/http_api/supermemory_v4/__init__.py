"""The routes of supermemory before namespaces: `/v3` and `/v4` (Python client 3, npm client 4)."""

from fastapi import APIRouter

from scrubjay.http_api.refusals import absent
from scrubjay.http_api.supermemory_v4 import (
    container_tags,
    conversations,
    documents,
    memories,
    profile,
    search,
)

_ABSENT = {
    "/v3/connections* /connectors* /ns/{namespace}/connectors*": "Scrubjay opens no connection to other "
    "services, so it has no connectors. Add what they hold as documents.",
    "/v3/settings /settings": "What Scrubjay is told about itself is said on its own machine, with "
    "`scrubjay config`.",
    "/v3/auth/*": "Keys are made on the machine that Scrubjay runs on: `scrubjay token add --tag TAG`.",
    "/v3/billing* /billing*": "There is no account, no plan and nothing to pay: Scrubjay is a program of "
    "yours.",
    "/v3/analytics/* /feedback*": "Nothing is reported to anybody, so there is nowhere to send this.",
}

# In the order in which paths are tried: those that end in a word come before those of any id.
_FAMILIES = (documents, search, container_tags, memories, profile, conversations)
ROUTERS: tuple[APIRouter, ...] = (*(family.route.router for family in _FAMILIES), absent(_ABSENT))
