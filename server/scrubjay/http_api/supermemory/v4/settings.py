"""The settings that clients of version 4 store on their server; they have no effect on Scrubjay."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from fastapi import Body

from scrubjay.errors import InputError
from scrubjay.home.scopes import EVERY_SCOPE
from scrubjay.http_api.answers import Answer
from scrubjay.http_api.context import Context
from scrubjay.http_api.routes import Routes
from scrubjay.http_api.supermemory.v4.answers import ANSWERS

LONGEST = 20_000  # bytes of all settings together, as JSON

route = Routes(ANSWERS)


@route("GET /v3/settings", "Read the stored settings", "object")
async def read(context: Context) -> Mapping[str, Any]:
    """The settings that clients have stored; Scrubjay's own are read with `scrubjay config`."""
    return dict(context.core.scope_settings.of(EVERY_SCOPE).client)


@route("PATCH /v3/settings", "Store settings", "UpdatedSettings")
async def change(context: Context, body: Annotated[dict[str, Any], Body()]) -> Answer:
    """Store settings and return them; null removes one. A token of one tag may not."""
    context.permissions.check_writes_for_all()
    old = context.core.scope_settings.of(EVERY_SCOPE).client
    new = {name: value for name, value in {**old, **body}.items() if value is not None}
    try:
        size = len(json.dumps(new, allow_nan=False, ensure_ascii=False).encode())
    except ValueError:
        raise InputError(
            "Settings must be JSON values: finite numbers, and texts without half of a pair."
        ) from None
    if size > LONGEST:
        raise InputError(f"All settings together have {size:,} bytes; at most {LONGEST:,} are allowed.")
    await context.core.scope_settings.change(
        EVERY_SCOPE, lambda settings: replace(settings, client=new), context.now
    )
    return dict(orgId="local", orgSlug="local", updated=body)
