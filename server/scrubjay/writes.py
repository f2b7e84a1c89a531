"""From a request to the envelope of the write-ahead log: the one place where a face's write is redacted and stamped."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from scrubjay.models.envelopes import Envelope
from scrubjay.models.requests import Request
from scrubjay.redaction import redact

# What people and programs write at will. Ids, numbers, times and names of sessions are taken as they are.
_PROSE = frozenset(
    {"content", "user", "assistant", "text", "summary", "title", "metadata", "reason", "forget_reason", "error", "tools", "files"}
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
