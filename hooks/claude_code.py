"""Claude Code's shape, in this one place: its payloads in, our few names out, and the JSON of an injection.

Another host gets a file like this one.
"""

from __future__ import annotations

from collections import namedtuple

from scrubjay.home.capture import storable
from scrubjay.home.scopes import project_dir
from scrubjay.text.transcripts import MEMORY_CLOSE, MEMORY_OPEN, is_error, is_said, strip_injected

HOST = "claude-code"
MAX_INJECTION = 2048  # bytes, the tags around it included; the host itself cuts at 10,000 characters

Event = namedtuple(
    "Event",
    "session_id prompt_id prompt answer cwd project_dir transcript_path source is_subagent stop_hook_active",
)
"""What happened. Texts may be None; `source` says who submitted a prompt, or why a session starts."""


def event(payload: dict, env: dict, working_dir: str) -> Event:
    """The event in a payload.

    What is missing or of another type is None: only `session_id` is ever required.
    """
    cwd = _string(payload, "cwd") or working_dir
    answer = strip_injected(_string(payload, "last_assistant_message") or "")
    return Event(
        session_id=_name(payload, "session_id"),
        prompt_id=_name(payload, "prompt_id"),  # 2.1.196 and later
        prompt=strip_injected(_string(payload, "prompt") or "") or None,
        answer=answer if answer and not is_error(answer) else None,
        cwd=cwd,
        project_dir=project_dir(env, cwd),
        transcript_path=_string(payload, "transcript_path"),
        source=_string(payload, "source"),
        is_subagent=bool(payload.get("agent_id")),  # agent_type alone is the main thread under another name
        stop_hook_active=payload.get("stop_hook_active") is True,
    )


def is_from_user(event: Event) -> bool:
    """Whether a person submitted the prompt: schedules, polls and other sessions do too, and say so."""
    return event.source in (None, "user", "sdk") and is_said(event.prompt or "")


def begins(event: Event) -> bool:
    """Whether a session starts without a conversation before it: one that goes on has had its opening."""
    return event.source in (None, "startup", "clear")


def injection(text: str, event_name: str = "UserPromptSubmit") -> dict:
    """The host's answer that puts recalled text into the conversation; `{}` for none.

    The text stands in tags by which we recognise it in a transcript.
    """
    room = MAX_INJECTION - len(MEMORY_OPEN) - len(MEMORY_CLOSE) - 2
    text = storable(text).replace(MEMORY_OPEN, "").replace(MEMORY_CLOSE, "").strip()
    while text and len(text.encode("utf-8")) > room:
        text = text.rpartition("\n")[0].rstrip()  # whole lines only: half a memory misleads
    if not text:
        return {}
    block = f"{MEMORY_OPEN}\n{text}\n{MEMORY_CLOSE}"
    return {"hookSpecificOutput": {"hookEventName": event_name, "additionalContext": block}}


def _string(payload, key):
    value = payload.get(key)
    return storable(value) if isinstance(value, str) else None


def _name(payload, key):
    """A name as records hold it: 1 to 200 characters, not blank (models.fields.Name)."""
    value = _string(payload, key)
    return value if value and value.strip() and len(value) <= 200 else None
