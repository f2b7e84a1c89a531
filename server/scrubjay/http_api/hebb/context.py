"""A request to Hebb Mind's API, whose clients know no scopes: a header or a parameter may name one."""

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
    """One request; `scope` is the named scope, if any."""

    scope: str | None

    async def reads(self) -> tuple[str, ...]:
        """Return the scopes that it reads."""
        return await self.scopes(self.scope)

    def writes(self) -> str:
        """Return the scope that it writes to. Raises as `Permissions.writes_to`."""
        return self.permissions.writes_to(self.scope)

    async def memory(self, record_id: str) -> Memory | Turn:
        """Return the turn with this id, or the newest version of the fact that has or had it.

        Raises:
            NotFound: the scopes that it reads have no such record, or it is forgotten or has expired.
        """
        record = await self.find(record_id)
        if isinstance(record, Memory):
            record = await self.core.lists.newest_version(record)
        if (
            not isinstance(record, Memory | Turn)
            or record.forgotten_at is not None
            or (record.expires_at is not None and record.expires_at <= self.now)
            or record.scope not in await self.reads()
        ):
            advice = "Take the id of a search result or of a list."
            raise NotFound(f"No memory has the id {record_id[:80]!r}. {advice}")
        return record


async def _context(
    context: Context,
    header: Annotated[str | None, Header(alias="X-Scrubjay-Scope", description=_SCOPE)] = None,
    scope: Annotated[str | None, Query(description=_SCOPE)] = None,
) -> HebbContext:
    named = scope if scope is not None else header
    context.permissions.own(named)  # every route refuses a wrong scope, also one that does not use it
    return HebbContext(**vars(context), scope=named)


HebbRequest = Annotated[HebbContext, Depends(_context)]
