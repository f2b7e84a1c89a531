"""Who is calling: set once a connection, read by every tool it calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass

from scrubjay.home.scopes import USER_SCOPE


async def _to_nobody(done: int, total: int, what: str) -> None:
    """The progress of a call that nobody follows."""


@dataclass(frozen=True)
class Caller:
    """`scope` is where writes go and searches look by default; `folder` is the project whose files may be read by path.

    `confined` is a caller who reaches nothing but this scope, `read_only` one who may change nothing; both
    came with a token. `report` tells whoever waits for a call how far it is: (done, total, what is in hand).
    """

    scope: str = USER_SCOPE
    folder: str | None = None
    source: str = "mcp"
    confined: bool = False
    read_only: bool = False
    report: Callable[[int, int, str], Awaitable[None]] = _to_nobody

    @property
    def seen(self) -> str | tuple[str, ...]:
        """Where a search of this caller looks: its project and what is true of the user everywhere, or its scope and nothing else."""
        return (self.scope,) if self.confined else self.scope


_caller: ContextVar[Caller] = ContextVar("scrubjay_caller")


def set_caller(caller: Caller) -> None:
    """For this task and all that it starts."""
    _caller.set(caller)


def caller() -> Caller:
    return _caller.get(Caller())
