"""Entries of the write-ahead log. Hooks write them as dicts; the engine parses them into these classes."""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import Any, Literal
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field, field_validator

from scrubjay.errors import InputError
from scrubjay.home.capture import storable
from scrubjay.home.scopes import SCOPE_NAME
from scrubjay.models.fields import Instant
from scrubjay.models.requests import Request
from scrubjay.redaction.redact import Redactor, redact

Kind = Literal[
    "turn",
    "memory",
    "document",
    "commits",
    "forget",
    "restore",
    "import",
    "review",
    "sessions",
    "host_memories",
]

# Only these fields, which hold free text, are redacted; ids, numbers, times and names of sessions are not.
_PROSE = "content user assistant text summary title metadata reason forget_reason error tools files".split()

_MAIN_TEXTS = "content user assistant text".split()  # a fact or a turn has at least one of these


class Envelope(BaseModel):
    """An acknowledged write: replaying it any number of times gives the same records.

    `args` are the redacted arguments of the tool that belongs to `kind`. `id` identifies the envelope and,
    unless the request has a better id, its record. `at` is when the write was accepted;
    replays keep this order.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    v: Literal[1] = 1
    id: str = Field(pattern=r"^[A-Za-z0-9_-]{8,80}$")
    kind: Kind
    at: Instant
    scope: str = Field(pattern=f"^{SCOPE_NAME}$")
    source: str = Field(max_length=60)  # hook:stop, hook:reconcile, mcp, cli, ...
    host: str | None = Field(default=None, max_length=60)
    redacted: int = 0  # number of secrets removed from `args`
    capture: Literal["all", "salient", "summary_only"] | None = None  # the capture policy at that moment
    transcript_path: str | None = None  # the transcript that can complete a hook's turn
    folder: str | None = None  # the folder in which the hook ran
    args: dict[str, Any]

    @field_validator("args")
    @classmethod
    def _only_text(cls, args: dict[str, Any]) -> dict[str, Any]:
        """Remove characters that no table accepts: a write that cannot be committed would block others."""
        cleaned: dict[str, Any] = _storable(args)
        return cleaned


class HookEvent(BaseModel):
    """An event that a hook reported, redacted.

    If `records` is False, the exchange must not be recorded, and the event has no texts and no folders.
    `prompt` is also None if no person wrote it.
    """

    model_config = ConfigDict(frozen=True)

    v: Literal[1]
    id: str = Field(pattern=r"^[A-Za-z0-9_-]{8,80}$")
    kind: Literal["prompt", "answer", "start", "end"]
    time_ns: int = Field(ge=0)  # nanoseconds since 1970
    host: str = Field(max_length=60)
    session_id: str = Field(min_length=1, max_length=200)
    prompt_id: str | None = Field(default=None, max_length=200)
    transcript_path: str | None = None
    folder: str | None = None  # the folder in which the hook ran
    source: str | None = None  # the reason why a session starts
    records: bool
    scope: str | None = Field(default=None, pattern=f"^{SCOPE_NAME}$")
    folders: list[str] = []
    capture: Literal["all", "salient", "summary_only"] | None = None  # the capture policy at that moment
    min_length: int | None = None
    prompt: str | None = None
    answer: str | None = None
    redacted_prompt: int = 0  # number of secrets removed from `prompt`
    redacted_answer: int = 0


def _mapped(change: Callable[[str, str], str], value: Any, key: str = "") -> Any:
    """Change each text in a JSON value; `change` gets a text and the name that metadata give it, or ""."""
    if isinstance(value, str):
        return change(value, key)
    if isinstance(value, list | tuple):
        return [_mapped(change, item, key) for item in value]
    if isinstance(value, dict):
        return {storable(name): _mapped(change, item, name) for name, item in value.items()}
    return value


def _storable(value: Any) -> Any:
    """Return a JSON value whose texts have only characters that tables accept."""
    return _mapped(lambda text, _: storable(text), value)


def envelope(
    kind: Kind,
    request: Request,
    *,
    scope: str,
    source: str,
    at: datetime,
    envelope_id: str | None = None,
    host: str | None = None,
) -> Envelope:
    """Wrap a request in an envelope, with placeholders for secrets and, by default, a new id.

    Raises:
        InputError: a fact or a turn has only private text.
    """
    fields = request.model_dump(mode="json", exclude_unset=True, exclude={"scope"})
    # `_storable` comes first, because the characters that it removes could split a secret.
    args, count = redact_fields(_storable(fields))
    if kind in ("memory", "turn"):
        args = _without_emptied(args)
    return Envelope(
        id=envelope_id or uuid4().hex,
        kind=kind,
        at=at,
        scope=scope,
        source=source,
        host=host,
        redacted=count,
        args=args,
    )


def _without_emptied(args: dict[str, Any]) -> dict[str, Any]:
    """Drop texts that redaction left empty, so that the other side of a turn is recorded.

    Raises:
        InputError: no text is left.
    """
    left = {
        name: value
        for name, value in args.items()
        if name not in _PROSE or not isinstance(value, str) or value.strip()
    }
    given = [name for name in _MAIN_TEXTS if name in args]
    if given and not any(name in left for name in given):
        raise InputError(f"{given[0]} has no text that may be stored; <private> parts never are.")
    return left


def redact_fields(fields: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """Replace the secrets in free text of these fields with placeholders, and count them."""
    redactor = Redactor()
    redacted: dict[str, Any] = {}
    commit_secrets = 0
    for name, value in fields.items():
        if name == "commits":  # a list of objects that have fields of their own
            parts = [redact_fields(commit) for commit in value]
            redacted[name], commit_secrets = [part for part, _ in parts], sum(count for _, count in parts)
        else:
            redacted[name] = _mapped(partial(_redact, redactor), value) if name in _PROSE else value
    return redacted, redactor.count + commit_secrets


def _redact(redactor: Redactor, value: str, key: str) -> str:
    """Redact a text; if it has a key, that may name a secret: a `password` is one in itself."""
    before, after = f'"{key}": "', '"'
    text, count = redact(f"{before}{value}{after}") if key else ("", 0)
    if count and text.startswith(before) and text.endswith(after):
        redactor.count += count
        return text[len(before) : -len(after)]
    return redactor.redact(value)
