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

    `scope` is where writes go and where searches look by default; `folder` is the project whose files may be
    read by path. A `confined` caller reaches this scope alone, a `read_only` one may change nothing; both
    came with a token. `waited` is for how many seconds a call had waited when its client found this engine.
    `report` tells a waiting client how far its call is: (done, total, the present item).
    A call works within `turn`, so that no client has the whole engine for itself.
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
    def seen(self) -> str | tuple[str, ...]:
        """The scopes to search: the project's and the user's, or only this one if confined."""
        own = self.scope or USER_SCOPE
        return (own,) if self.confined else own

    def reach(self, named: str | None) -> tuple[str, ...] | None:
        """Return the scopes whose records may be read or forgotten by id; None is every scope.

        They are those that searches see, and the one that the call names: an id alone opens no other project.
        """
        own = self.scope or USER_SCOPE
        if self.confined:
            return (own,)
        return None if named == EVERY_SCOPE else (own, USER_SCOPE, *([named] if named else []))


_caller: ContextVar[Caller] = ContextVar("scrubjay_caller")


def set_caller(caller: Caller) -> None:
    """Set the caller for this task and the tasks it starts."""
    _caller.set(caller)


def caller() -> Caller:
    """Return the caller of this task."""
    return _caller.get(Caller())
