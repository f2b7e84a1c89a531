"""The entry of the write-ahead log. Hooks write it as a plain dict of this shape; the engine reads it with this class."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from scrubjay.models.fields import Instant

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
    scope: str = Field(pattern=r"^[A-Za-z0-9_.:-]{1,100}$")
    source: str = Field(max_length=60)  # hook:stop, hook:reconcile, mcp, cli, ...
    host: str | None = Field(default=None, max_length=60)
    redacted: int = 0
    capture: Literal["all", "salient", "summary_only"] | None = None  # the policy in force when a hook made it
    transcript_path: str | None = None  # where a hook's turn can be completed from
    args: dict[str, Any]
