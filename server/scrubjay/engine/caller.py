"""The caller of a request: set once per connection, read by every tool."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field

from scrubjay.home.scopes import EVERY_SCOPE, USER_SCOPE


async def _ignore_progress(done: int, total: int, what: str) -> None:
    """Ignore a progress report."""


@dataclass(frozen=True)
class Caller:
    """What a client may do, and in which scopes.

    Writes go to `scope`, and searches look there by default; `folder` is the project whose files may be read
    by path. A `confined` caller reaches only this scope, a `read_only` one changes nothing; a token sets
    both. A call had waited for `waited` seconds before its client found this engine. `report` tells the
    client how far its call is: (done, total, current item). A call runs within `turn`, so that no client
    occupies the whole engine.
    """

    scope: str | None = USER_SCOPE
    folder: str | None = None
    source: str = "mcp"
    confined: bool = False
    read_only: bool = False
    waited: float = 0.0
    report: Callable[[int, int, str], Awaitable[None]] = _ignore_progress
    turn: AbstractAsyncContextManager[None] = field(default_factory=nullcontext, compare=False)

    @property
    def visible_scopes(self) -> str | tuple[str, ...]:
        """The scopes to search: the project's and the user's, or only the project's if confined."""
        scope = self.scope or USER_SCOPE
        return (scope,) if self.confined else scope

    def reach(self, named: str | None) -> tuple[str, ...] | None:
        """Return the scopes whose records may be read or forgotten by id; None means every scope.

        These are the scopes of searches, and the one `named` in the call: an id must not open another
        project.
        """
        scope = self.scope or USER_SCOPE
        if self.confined:
            return (scope,)
        return None if named == EVERY_SCOPE else (scope, USER_SCOPE, *([named] if named else []))


_caller: ContextVar[Caller] = ContextVar("scrubjay_caller")


def set_caller(caller: Caller) -> None:
    """Set the caller for this task and the tasks it starts."""
    _caller.set(caller)


def caller() -> Caller:
    """Return the caller of this task."""
    return _caller.get(Caller())
