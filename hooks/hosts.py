"""Reads the payloads that hosts send and writes answers, by `hosts.json` and a function for each quirk.

`recognize` finds the host that runs the hook, `read` turns its payload into an `Event`, and `answer` writes
text in the format that the host shows to its model.
"""

from __future__ import annotations

import json
import os
from collections import namedtuple

from scrubjay.home.capture import storable
from scrubjay.home.scopes import project_dir
from scrubjay.hosts.facts import DEFAULTS, RECOGNITION
from scrubjay.hosts.facts import HOSTS as FACTS
from scrubjay.transcripts.injected import MEMORY_CLOSE, MEMORY_OPEN, is_error, is_said, strip_injected

MAX_INJECTION = 2048  # bytes, including the tags around it; Claude Code itself cuts at 10,000 characters
INPUTS = ("tool_input", "toolArgs")  # keys of a tool's arguments

Event = namedtuple(
    "Event",
    "kind name host session_id prompt_id prompt answer cwd project_dir transcript_path source is_subagent "
    "opens inputs output",
)
"""One event. `kind` is prompt, answer, start or end; for a tool before, after or done; None for an
event that is ignored. `name` is the host's name for it. Texts may be None. `source` is who submitted a
prompt, or why a session starts; `opens` is the kind of event at which this host shows a session's opening.
`inputs` and `output` belong to a tool."""


def recognize(payload: dict, env: dict, registered: str | None) -> str:
    """Return the host that runs us, from the first rule in `hosts.json` that applies, or the registered host.

    A host inherits the variables of another host that starts it in a shell. So most rules with a variable
    also require the field `timestamp`, which Claude Code never sends.
    """
    name, path = payload.get("hook_event_name"), payload.get("transcript_path")
    path = path.replace("\\", "/") if isinstance(path, str) else ""
    for rule in RECOGNITION:
        if (
            all(field in payload for field in rule.get("fields", ()))
            and ("variable" not in rule or env.get(rule["variable"]))
            and rule.get("event", name) == name
            and rule.get("path", "") in path
        ):
            return rule["host"]
    return registered if registered in HOSTS else "claude-code"


def read(host: str, payload: dict, env: dict, working_dir: str, event_name: str | None = None) -> Event:
    """Return the event in a payload; `event_name` is the registered name, for payloads without one.

    A field that is missing or has another type is None; callers require only `session_id`.
    """
    facts = HOSTS[host]
    texts = {field: _first(payload, paths) for field, paths in fields(host).items()}
    name = texts.get("name") or event_name
    cwd = texts.get("cwd") or working_dir
    answer = strip_injected(texts.get("answer") or "")
    event = Event(
        kind=events(host).get(name),
        name=name,
        host=host,
        session_id=_valid_name(texts.get("session_id")),
        prompt_id=_valid_name(texts.get("prompt_id")),
        prompt=texts.get("prompt"),
        answer=answer if answer and not is_error(answer) else None,
        cwd=cwd,
        project_dir=next((env[variable] for variable in facts.get("project", ()) if env.get(variable)), cwd),
        transcript_path=texts.get("transcript_path"),
        source=texts.get("source"),
        is_subagent=False,
        opens=facts.get("opens", "start"),
        inputs=next((payload[key] for key in INPUTS if isinstance(payload.get(key), dict)), {}),
        output=texts.get("output"),
    )
    event = _TIDY[host](event, payload, env) if host in _TIDY else event
    return event._replace(prompt=strip_injected(event.prompt or "") or None)


def events(host: str) -> dict:
    """Map a host's names of events to our kinds. Most hosts also run the hooks in Claude Code's settings."""
    names = {} if HOSTS[host].get("own_events") else dict(DEFAULTS["events"])
    for part in FACTS[FACTS[host].get("reads", host)].get("capture", ()):
        names.update(part.get("events", ()))
        names.update({event: tool["kind"] for event, tool in part.get("tools", {}).items()})
    return names


def fields(host: str) -> dict:
    """Map our names of fields to their paths in the host's payload; the first path to a text counts."""
    return dict(DEFAULTS["fields"], **HOSTS[host].get("fields", {}))


def is_from_user(event: Event) -> bool:
    """Return True if a person submitted the prompt, not a schedule, a poll or another session."""
    return event.source in (None, "user", "sdk") and is_said(event.prompt or "")


def begins(event: Event) -> bool:
    """Return True if a session is new; a continued session has already shown its opening."""
    return event.source in (None, "startup", "clear", "new")


def takes_context(event: Event) -> bool:
    """Return True if the host shows a hook's output to its model."""
    return "output" in HOSTS[event.host]


def has_prompt(event: Event) -> bool:
    """Return True if the host's payloads contain the prompt; otherwise its transcript does."""
    return HOSTS[event.host].get("has_prompt", True)


def block(text: str) -> str:
    """Return recalled text between the tags that mark it in a transcript; "" for no text.

    A long text is cut at the end of a line, because half a memory misleads.
    """
    limit = MAX_INJECTION - len(MEMORY_OPEN) - len(MEMORY_CLOSE) - 2
    text = storable(text).replace(MEMORY_OPEN, "").replace(MEMORY_CLOSE, "").strip()
    while text and len(text.encode("utf-8")) > limit:
        text = text.rpartition("\n")[0].rstrip()
    return f"{MEMORY_OPEN}\n{text}\n{MEMORY_CLOSE}" if text else ""


def answer(event: Event, text: str, message: str = "") -> str:
    """Return the output that makes the host add `text` to the conversation; "" prints nothing.

    `message` is for the user. The entry `message` in the host's row of `hosts.json` names its key in the
    output; without that entry it is not shown. Codex drops the context if the output has a key that it does
    not know.
    """
    context = block(text)
    if not context or not takes_context(event):
        return ""
    output = _OUTPUTS[HOSTS[event.host]["output"]](context, event.name)
    if message and "message" in HOSTS[event.host]:
        output[HOSTS[event.host]["message"]] = message
    return (output if isinstance(output, str) else json.dumps(output)) + "\n"


def _nested(context, name):
    return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": context}}


def _flat(context, name):
    return {"additionalContext": context}


def _for_cursor(context, name):
    """Use Cursor's keys at its own events, and Claude Code's at events from Claude Code's settings."""
    if name[:1].isupper():
        return _nested(context, name)
    output = {"additional_context": context}
    return dict(output, **{"continue": True}) if name == "beforeSubmitPrompt" else output


def _as_step(context, name):
    return {"injectSteps": [{"ephemeralMessage": context}]}


def _as_text(context, name):
    return context


def _tidy_claude(event, payload, env):
    # a payload with agent_type but without agent_id comes from the main thread, under another name
    return event._replace(is_subagent=bool(payload.get("agent_id")), project_dir=project_dir(env, event.cwd))


def _tidy_gemini(event, payload, env):
    """Remove the session's context, which precedes the user's words in both events of a turn."""
    if not (event.prompt or "").startswith("<hook_context>"):
        return event
    _, closing, rest = event.prompt.partition("</hook_context>")
    return event._replace(prompt=rest) if closing else event


def _tidy_qwen(event, payload, env):
    """Ignore the prompt events that Qwen Code repeats after each tool result, with an empty prompt."""
    if event.kind == "prompt" and isinstance(payload.get("submitted_prompt"), str):
        return event._replace(prompt=storable(payload["submitted_prompt"]))
    return event._replace(kind=None) if event.kind == "prompt" and not event.prompt else event


def _tidy_cursor(event, payload, env):
    """Set the project's folder, the user's home if no workspace is open: hooks run in Cursor's own folder."""
    project = _first(payload, "workspace_roots.0") or env.get("CURSOR_PROJECT_DIR") or _user_home(env)
    return event._replace(cwd=project, project_dir=project)


def _tidy_antigravity(event, payload, env):
    """Ignore a turn's later PreInvocations: each call of the model sends one, numbered from 0 or 1."""
    folder = _first(payload, "workspacePaths.0") or _user_home(env)  # the hook runs in its own folder
    number = payload.get("invocationNum")
    is_later_call = event.kind == "prompt" and isinstance(number, float) and number > 1
    return event._replace(cwd=folder, project_dir=folder, kind=None if is_later_call else event.kind)


def _tidy_windsurf(event, payload, env):
    lines = [line for line in (event.answer or "").split("\n") if line.strip() != "### Planner Response"]
    return event._replace(answer="\n".join(lines).strip() or None)


def _tidy_kiro(event, payload, env):
    """Find the transcript: cli/<session>.jsonl or <workspace>/<session>/messages.jsonl; no payload has it."""
    if event.kind != "answer" or event.transcript_path or not _is_plain(event.session_id):
        return event
    sessions = os.path.join(_user_home(env), ".kiro", "sessions")
    paths = [os.path.join(sessions, "cli", f"{event.session_id}.jsonl")]
    try:
        workspaces = sorted(os.listdir(sessions))
    except OSError:
        workspaces = []
    paths += [os.path.join(sessions, name, event.session_id, "messages.jsonl") for name in workspaces]
    return event._replace(transcript_path=next(filter(os.path.isfile, paths), None))


HOSTS = {name: facts["hook"] for name, facts in FACTS.items() if "hook" in facts}
_OUTPUTS = {"nested": _nested, "flat": _flat, "cursor": _for_cursor, "step": _as_step, "text": _as_text}
_TIDY = {
    "claude-code": _tidy_claude,
    "cursor": _tidy_cursor,
    "gemini-cli": _tidy_gemini,
    "qwen-code": _tidy_qwen,
    "kiro": _tidy_kiro,
    "antigravity": _tidy_antigravity,
    "windsurf": _tidy_windsurf,
}


def _first(payload, paths):
    """Return the first text found at `paths`, which spaces separate; a number in a path is an index."""
    for path in paths.split():
        value = payload
        for key in path.split("."):
            if isinstance(value, list) and key.isdigit():
                value = value[int(key)] if int(key) < len(value) else None
            else:
                value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, str):
            return storable(value)
    return None


def _valid_name(value):
    """Return a name that a record accepts (models.fields.Name: 1 to 200 characters, not blank), or None."""
    return value if value and value.strip() and len(value) <= 200 else None


def _is_plain(identifier):
    """Return True if an identifier may be part of a path."""
    return bool(identifier) and all(letter.isalnum() or letter in "-_" for letter in identifier)


def _user_home(env):
    return env.get("HOME") or os.path.expanduser("~")
