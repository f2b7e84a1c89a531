"""Who is calling: set once a connection, read by every tool it calls."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass

from scrubjay.models.fields import USER_SCOPE


@dataclass(frozen=True)
class Caller:
    """`scope` is where writes go and searches look by default; `folder` is the project whose files may be read by path."""

    scope: str = USER_SCOPE
    folder: str | None = None
    source: str = "mcp"


_caller: ContextVar[Caller] = ContextVar("scrubjay_caller")


def set_caller(caller: Caller) -> None:
    """For this task and all that it starts."""
    _caller.set(caller)


def caller() -> Caller:
    return _caller.get(Caller())
