"""Hebb Mind's API, `/api/v1`: facts and turns as memories in partitions, with weights and windows."""

from fastapi import APIRouter

from scrubjay.http_api.hebb import admin, graph, ingest, memories, partitions, search
from scrubjay.http_api.refusals import absent

_SETTINGS = "Settings are changed on the machine that Scrubjay runs on, with `scrubjay config`."
_PACKAGE = "Upgrade the package with your package manager; the next client starts the new engine."
_NO_DECAY = (
    "Nothing is forgotten by age: a memory stays until somebody forgets it or its own expires_at passes."
)
_RUNS = "Consolidation keeps no list of runs. POST /api/v1/admin/consolidate runs it now."
_FILES = "Files of other programs are indexed with `scrubjay index`, on their own machine."
_ABSENT = {
    "/api/v1/admin/config": _SETTINGS,
    "/api/v1/admin/config/{rest:path}": _SETTINGS,
    "/api/v1/admin/forget": _NO_DECAY,
    "/api/v1/admin/forgetting": _NO_DECAY,
    "/api/v1/admin/forgetting/{rest:path}": _NO_DECAY,
    "/api/v1/admin/consolidate/{rest:path}": _RUNS,
    "/api/v1/admin/upgrade": _PACKAGE,
    "/api/v1/admin/upgrade/{rest:path}": _PACKAGE,
    "/api/v1/admin/restart": "End and start `scrubjay serve` on its own machine.",
    "/api/v1/admin/shutdown": "End `scrubjay serve` on its own machine.",
    "/api/v1/agent-sync/{rest:path}": "Sessions are captured by hooks; `scrubjay hooks add` registers them.",
    "/api/v1/claude-memory/{rest:path}": _FILES,
}

ROUTERS: tuple[APIRouter, ...] = (
    *(family.route.router for family in (search, memories, ingest, partitions, graph, admin)),
    absent(_ABSENT),  # last, because its paths also match routes of the others
)
