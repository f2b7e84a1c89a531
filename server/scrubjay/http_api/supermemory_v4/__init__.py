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

_CONNECTORS = (
    "Scrubjay opens no connection to other services, so it has no connectors. "
    "Add what they hold as documents."
)
_KEYS = "Keys are made on the machine that Scrubjay runs on: `scrubjay token add --tag TAG`."
_SETTINGS = "What Scrubjay is told about itself is said on its own machine, with `scrubjay config`."
_ACCOUNTS = "There is no account, no plan and nothing to pay: Scrubjay is a program of yours."
_TELEMETRY = "Nothing is reported to anybody, so there is nowhere to send this."
_ABSENT = {
    "/v3/connections": _CONNECTORS,
    "/v3/connections/{rest:path}": _CONNECTORS,
    "/connectors": _CONNECTORS,
    "/connectors/{rest:path}": _CONNECTORS,
    "/ns/{namespace}/connectors": _CONNECTORS,
    "/ns/{namespace}/connectors/{rest:path}": _CONNECTORS,
    "/v3/settings": _SETTINGS,
    "/settings": _SETTINGS,
    "/v3/auth/{rest:path}": _KEYS,
    "/v3/billing": _ACCOUNTS,
    "/v3/billing/{rest:path}": _ACCOUNTS,
    "/billing": _ACCOUNTS,
    "/billing/{rest:path}": _ACCOUNTS,
    "/v3/analytics/{rest:path}": _TELEMETRY,
    "/feedback": _TELEMETRY,
    "/feedback/{rest:path}": _TELEMETRY,
}

# In the order in which paths are tried: those that end in a word come before those of any id.
_FAMILIES = (documents, search, container_tags, memories, profile, conversations)
ROUTERS: tuple[APIRouter, ...] = (*(family.route.router for family in _FAMILIES), absent(_ABSENT))
