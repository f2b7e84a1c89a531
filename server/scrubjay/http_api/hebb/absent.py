"""Routes of Hebb Mind that have no meaning here. Knows their paths; answers each with the reason why there is nothing."""

from __future__ import annotations

from scrubjay.http_api.hebb.fading import KEPT
from scrubjay.http_api.refusals import absent

_SETTINGS = "Settings are changed on the machine that Scrubjay runs on, with `scrubjay config`."
_PACKAGE = "Upgrade the package with your package manager; the next client starts the new engine."
_WHY = {
    "/api/v1/admin/config": _SETTINGS,
    "/api/v1/admin/config/{rest:path}": _SETTINGS,
    "/api/v1/admin/forgetting/{rest:path}": KEPT,
    "/api/v1/admin/consolidate/{rest:path}": "Consolidation keeps no list of runs. POST /api/v1/admin/consolidate runs it now.",
    "/api/v1/admin/upgrade": _PACKAGE,
    "/api/v1/admin/upgrade/{rest:path}": _PACKAGE,
    "/api/v1/admin/restart": "End and start `scrubjay serve` on its own machine.",
    "/api/v1/admin/shutdown": "End `scrubjay serve` on its own machine.",
    "/api/v1/agent-sync/{rest:path}": "Sessions are captured by hooks; `scrubjay hooks add` registers them.",
    "/api/v1/claude-memory/{rest:path}": "Files of other programs are indexed with `scrubjay index`, on their own machine.",
}

router = absent(_WHY)
