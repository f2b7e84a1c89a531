"""The entry of the write-ahead log. Hooks write it as a plain dict of this shape; the engine reads it with this class."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from scrubjay.home.scopes import SCOPE_NAME
from scrubjay.models.fields import Instant
from scrubjay.models.requests import Request
from scrubjay.text.redaction import redact

ENVELOPE_VERSION = 1


class Envelope(BaseModel):
    """One write that was acknowledged: replaying it any number of times gives the same records.

    `args` are the arguments of the tool of that kind, already redacted; `id` names the envelope and, where the request
    names nothing better, the record. `at` is when it was accepted and orders the replay.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    v: Literal[1] = ENVELOPE_VERSION
    id: str = Field(pattern=r"^[A-Za-z0-9_-]{8,80}$")
    kind: Literal["turn", "memory", "document", "forget", "restore", "import", "review"]
    at: Instant
    scope: str = Field(pattern=f"^{SCOPE_NAME}$")
    source: str = Field(max_length=60)  # hook:stop, hook:reconcile, mcp, cli, ...
    host: str | None = Field(default=None, max_length=60)
    redacted: int = 0
    capture: Literal["all", "salient", "summary_only"] | None = (
        None  # the policy in force when a hook made it
    )
    transcript_path: str | None = None  # where a hook's turn can be completed from
    args: dict[str, Any]


# What people and programs write at will. Ids, numbers, times and names of sessions are taken as they are.
_PROSE = frozenset(
    {
        "content",
        "user",
        "assistant",
        "text",
        "summary",
        "title",
        "metadata",
        "reason",
        "forget_reason",
        "error",
        "tools",
        "files",
    }
)


def envelope(
    kind: Literal["turn", "memory", "document", "forget", "restore", "import", "review"],
    request: Request,
    *,
    id: str,
    scope: str,
    source: str,
    at: datetime,
    host: str | None = None,
) -> Envelope:
    """The envelope of a request, its secrets replaced by placeholders and counted."""
    given = request.model_dump(mode="json", exclude_unset=True, exclude={"scope"})
    args, count = redacted(given)
    return Envelope(id=id, kind=kind, at=at, scope=scope, source=source, host=host, redacted=count, args=args)


def redacted(fields: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """Fields with the secrets in their prose replaced by placeholders, and how many were."""
    done = {name: _redacted(value) if name in _PROSE else (value, 0) for name, value in fields.items()}
    return {name: value for name, (value, _) in done.items()}, sum(count for _, count in done.values())


def _redacted(value: Any) -> tuple[Any, int]:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list | tuple):
        done = [_redacted(item) for item in value]
        return [item for item, _ in done], sum(count for _, count in done)
    if isinstance(value, dict):
        pairs = {key: _redacted(item) for key, item in value.items()}
        return {key: item for key, (item, _) in pairs.items()}, sum(count for _, count in pairs.values())
    return value, 0
