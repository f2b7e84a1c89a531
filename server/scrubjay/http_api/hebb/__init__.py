"""Hebb Mind's API, `/api/v1`: facts and turns as memories in partitions, with weights and windows."""

from fastapi import APIRouter

from scrubjay.http_api.hebb import admin, ingest, memories, partitions, search
from scrubjay.http_api.refusals import absent

_ABSENT = {
    "/api/v1/graph*": "The graph of tags belongs to Hebb Mind's console. POST /api/v1/search with tags finds "
    "memories by tag.",
    "/api/v1/admin/stats": "GET /api/v1/partitions counts the memories of each partition.",
    "/api/v1/admin/config*": "Settings are read and changed on Scrubjay's own machine, with "
    "`scrubjay config`.",
    "/api/v1/admin/forget /api/v1/admin/forgetting*": "Nothing is forgotten by age: a memory stays until "
    "a client forgets it or its own expires_at passes.",
    "/api/v1/admin/consolidate*": "Consolidation keeps no list of runs. "
    "POST /api/v1/admin/consolidate runs it now.",
    "/api/v1/admin/upgrade*": "Upgrade the package with your package manager; "
    "the next client starts the new engine.",
    "/api/v1/admin/restart": "End and start `scrubjay serve` on its own machine.",
    "/api/v1/admin/shutdown": "End `scrubjay serve` on its own machine.",
    "/api/v1/agent-sync*": "Sessions are captured by hooks; `scrubjay hooks add` registers them.",
    "/api/v1/claude-memory*": "Files of other programs are indexed with `scrubjay index`, on their own "
    "machine.",
}

ROUTERS: tuple[APIRouter, ...] = (
    *(family.route.router for family in (search, memories, ingest, partitions, admin)),
    absent(_ABSENT),  # last, because its paths also match routes of the other routers
)
