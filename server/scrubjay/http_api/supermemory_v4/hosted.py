"""Routes of supermemory that make sense only for a hosted service. Knows their paths; answers each with the reason why there is nothing."""

from __future__ import annotations

from scrubjay.http_api.refusals import absent

_CONNECTORS = "Scrubjay opens no connection to other services, so it has no connectors. Add what they hold as documents."
_SETTINGS = "What Scrubjay is told about itself is said on its own machine, with `scrubjay config`."
_KEYS = "Keys are made on the machine that Scrubjay runs on: `scrubjay token add --tag TAG`."
_ACCOUNTS = "There is no account, no plan and nothing to pay: Scrubjay is a program of yours."
_TELEMETRY = "Nothing is reported to anybody, so there is nowhere to send this."
_WHY = {
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

router = absent(_WHY)
