"""One request as a route sees it: the engine, the time, and what the caller may do. Routes take it as a parameter of type `Context`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Depends, Request

from scrubjay.engine.core import Core
from scrubjay.errors import NotFound
from scrubjay.http_api.permissions import Permissions
from scrubjay.models import requests
from scrubjay.models.envelopes import envelope
from scrubjay.models.records import AnyRecord
from scrubjay.models.results import Result

SOURCE = "api"  # of what is written over HTTP, where the request names none


@dataclass(frozen=True)
class RequestContext:
    """One request. `now` is when it came."""

    core: Core
    permissions: Permissions
    now: datetime

    async def scopes(self, tags: str | Iterable[str] | None) -> tuple[str, ...]:
        """The scopes that a read with these tags looks in; see `Permissions.reads`."""
        return self.permissions.reads(tags, await self.core.counts.scopes())

    async def find(self, id: str) -> AnyRecord | None:
        """The record of any kind that has this id, None also where the caller does not reach it."""
        record = await self.core.find(id)
        return record if record is not None and self.permissions.reaches(record.scope) else None

    async def get(self, id: str) -> AnyRecord:
        """As `find`.

        Raises:
            NotFound: there is none.
        """
        if (record := await self.find(id)) is None:
            raise NotFound(f"Nothing here has the id {id[:80]!r}.")
        return record

    async def write(
        self,
        kind: Literal["turn", "memory", "document", "forget", "restore", "review"],
        request: requests.Request,
        *,
        scope: str,
        source: str = SOURCE,
    ) -> Any:
        """Take one write into a scope that `permissions.writes_to` gave; it is durable when this returns. The result of that kind."""
        written = envelope(kind, request, scope=scope, source=source, at=self.now)
        result: Result = await self.core.write(written, similar=False)  # no client shows what is similar
        return result


async def _context(request: Request) -> RequestContext:
    engine = request.app.state.engine
    return RequestContext(await engine.core(), request.state.permissions, engine.clock())


Context = Annotated[RequestContext, Depends(_context)]
