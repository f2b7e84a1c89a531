"""The routes `/v3` and `/v4` of supermemory (Python client 3, npm client 4). A container tag is a scope."""

from fastapi import APIRouter

from scrubjay.http_api.refusals import absent
from scrubjay.http_api.supermemory.v4 import (
    container_tags,
    conversations,
    documents,
    memories,
    search,
    settings,
)

_ABSENT = {
    "/v3/connections* /connectors* /ns/{namespace}/connectors*": "Scrubjay opens no connection to other "
    "services, so it has no connectors. Add their content as documents.",
    "GET /v3/container-tags/merge/{merge_id}": "A merge is complete when its call is answered, so there is "
    "nothing to wait for.",
    "/v3/container-tags/{tag}/inferred*": "No memory waits for a review: one that was concluded is found at "
    "once. DELETE /v4/memories forgets it.",
    "/settings": "Scrubjay is configured on its own machine, with `scrubjay config`.",
    "/v3/auth*": "Keys are made on Scrubjay's own machine: `scrubjay token add --tag TAG`.",
    "/v3/billing* /billing*": "There is no account, no plan and nothing to pay: Scrubjay runs on your "
    "own machine.",
    "/v3/analytics* /feedback*": "Scrubjay reports nothing to anyone, so there is nowhere to send this.",
}

# Paths are tried in this order, so paths that end in a word come before paths that end in any id.
_FAMILIES = (documents, search, container_tags, memories, conversations, settings)
ROUTERS: tuple[APIRouter, ...] = (*(family.route.router for family in _FAMILIES), absent(_ABSENT))
