"""One request as routes see it: a parameter of type `Context` has the engine, the time and permissions."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Depends, Request

from scrubjay.engine.core import Core
from scrubjay.errors import InputError
from scrubjay.http_api.permissions import Permissions
from scrubjay.models import requests
from scrubjay.models.records import AnyRecord
from scrubjay.models.results import Result

_LOAD_SECONDS = 8.0  # longest wait of a request for the engine to load; HTTP clients give up soon
SOURCE = "api"  # the source of records written over HTTP, unless the request names another


@dataclass(frozen=True)
class RequestContext:
    """One request; `now` is when it arrived."""

    core: Core
    permissions: Permissions
    now: datetime

    async def scopes(self, tags: str | Iterable[str] | None) -> tuple[str, ...]:
        """Return the scopes that a read with these tags covers; see `Permissions.read_scopes`."""
        return self.permissions.read_scopes(tags, await self.core.counts.scopes())

    async def find(self, record_id: str, scope: str | None = None) -> AnyRecord | None:
        """Return the record with this id, or None if it is not in `scope` or the caller may not see it.

        The id of a message, such as `turn_…:user`, finds its turn.
        """
        turn, colon, _ = record_id.partition(":")
        record = await self.core.lists.find(turn if colon and turn.startswith("turn_") else record_id)
        if record is None or scope not in (None, record.scope) or not self.permissions.reaches(record.scope):
            return None
        return record

    async def find_named(self, name: str, scope: str | None = None) -> AnyRecord | None:
        """Return the record with this id or the document with this custom id, unless it is forgotten.

        Raises InputError if documents of several scopes have this custom id.
        """
        record = await self.find(name, scope)
        if record is not None and record.forgotten_at is None:
            return record
        documents = await self.core.documents.with_custom_id(name, await self.scopes(scope))
        scopes = sorted(row.scope for row in documents if row.forgotten_at is None)
        if len(scopes) > 1:
            where = f"under several tags ({', '.join(scopes[:5])})"
            advice = "Add ?containerTag=, or give the document's id."
            raise InputError(f"customId {name[:80]!r} is used {where}. {advice}")
        return await self.find(documents[0].id) if scopes else None

    async def write(
        self,
        kind: Literal["turn", "memory", "document", "forget"],
        request: requests.Request,
        *,
        scope: str,
        source: str = SOURCE,
    ) -> Any:
        """Write to a scope that `Permissions.write_scope` returned; the write is durable on return."""
        sealed = await self.core.writer.seal(kind, request, scope=scope, source=source, at=self.now)
        result: Result = await self.core.write(sealed, similar=False)  # no client shows similar memories
        return result


async def _context(request: Request) -> RequestContext:
    engine = request.app.state.engine
    return RequestContext(await engine.core_soon(_LOAD_SECONDS), request.state.permissions, engine.clock())


Context = Annotated[RequestContext, Depends(_context)]
