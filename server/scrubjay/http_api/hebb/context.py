"""A request to Hebb Mind's API: its clients know no scopes, so a header or parameter may name the scope."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Header, Query

from scrubjay.errors import NotFound
from scrubjay.http_api.context import Context, RequestContext
from scrubjay.models.records import Memory, Turn

_SCOPE = (
    "The scope to work in. Left out, reads see every scope but `user`, and writes go to the token's, or to "
    "sm_project_default."
)


@dataclass(frozen=True)
class HebbContext(RequestContext):
    """One request; `scope` is the scope that it names, if any."""

    scope: str | None

    async def read_scopes(self) -> tuple[str, ...]:
        """Return the scopes that the request reads."""
        return await self.scopes(self.scope)

    def write_scope(self) -> str:
        """Return the scope that the request writes to; raises as `Permissions.write_scope` does."""
        return self.permissions.write_scope(self.scope)

    async def memory(self, record_id: str) -> Memory | Turn:
        """Return the turn or the newest version of the fact with this id.

        Raises NotFound if the request does not reach the record, or the record is forgotten or expired.
        """
        record = await self.find(record_id)
        if isinstance(record, Memory):
            record = await self.core.lists.newest_version(record)
        if (
            not isinstance(record, Memory | Turn)
            or record.forgotten_at is not None
            or (record.expires_at is not None and record.expires_at <= self.now)
            or record.scope not in await self.read_scopes()
        ):
            advice = "Take the id of a search result or of a list."
            raise NotFound(f"No memory has the id {record_id[:80]!r}. {advice}")
        return record


async def _context(
    context: Context,
    header: Annotated[str | None, Header(alias="X-Scrubjay-Scope", description=_SCOPE)] = None,
    scope: Annotated[str | None, Query(description=_SCOPE)] = None,
) -> HebbContext:
    name = scope if scope is not None else header
    context.permissions.scope_of(name, "scope")  # even a route that ignores the scope refuses a wrong one
    return HebbContext(**vars(context), scope=name)


HebbRequest = Annotated[HebbContext, Depends(_context)]
