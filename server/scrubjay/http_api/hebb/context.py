"""Which scope a request to Hebb Mind's API works in: its clients know none, so a header or a parameter may name one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Header, Query

from scrubjay.errors import NotFound
from scrubjay.http_api.context import Context, RequestContext
from scrubjay.models.records import Memory, Turn
from scrubjay.records.versions import latest

NAMED = "The scope to work in. Left out, reads see every scope but `user`, and writes go to the token's, or to sm_project_default."


@dataclass(frozen=True)
class Stay:
    """A request and the scope that it names, if it names one."""

    context: RequestContext
    named: str | None

    async def reads(self) -> tuple[str, ...]:
        """The scopes that it sees."""
        return await self.context.scopes(self.named)

    def writes(self) -> str:
        """The scope that it writes to. Raises as `Permissions.writes_to`."""
        return self.context.permissions.writes_to(self.named)

    async def memory(self, id: str) -> Memory | Turn:
        """The turn of this id, or the newest version of the fact that has it or had it.

        Raises:
            NotFound: there is none that is neither forgotten nor expired, in a scope that this request sees.
        """
        record = await self.context.find(id)
        if isinstance(record, Memory) and not record.is_latest:
            record = await latest(self.context.core.store, record)
        gone = (
            record is None
            or record.forgotten_at is not None
            or (record.expires_at is not None and record.expires_at <= self.context.now)
        )
        if gone or not isinstance(record, Memory | Turn) or record.scope not in await self.reads():
            raise NotFound(f"No memory has the id {id[:80]!r}. Take the id of a search result or of a list.")
        return record


async def _stay(
    context: Context,
    header: Annotated[str | None, Header(alias="X-Scrubjay-Scope", description=NAMED)] = None,
    scope: Annotated[str | None, Query(description=NAMED)] = None,
) -> Stay:
    named = scope if scope is not None else header
    context.permissions.own(
        named
    )  # refused here for every route, also for one that has nothing to keep apart
    return Stay(context, named)


Staying = Annotated[Stay, Depends(_stay)]
