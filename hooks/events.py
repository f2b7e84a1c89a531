"""Handles each event: writes it to the spool, redacted, and returns recalled text.

The engine pairs prompts with answers (`engine/background/pairing`). A hook knows only its own event, and
whether the session's last prompt may be recorded: an answer is recorded only if its prompt may be.
"""

from __future__ import annotations

import os
from collections import namedtuple

from scrubjay.errors import HomeError
from scrubjay.home import spool
from scrubjay.home.capture import MAX_TEXT, cut
from scrubjay.hooks import engine_line, hosts, journal
from scrubjay.redaction.redact import redact

INJECT_S = 0.2  # how long a prompt or a start waits for recalled text
MAX_QUERY = 10_000  # characters (models.requests.Query)
EDGE = 4096  # characters; no secret is longer, so a secret at the cut begins within the last EDGE characters
TAIL = 8 * 1024 * 1024  # bytes that are read from a transcript's end; the host waits 0.1 s for them
HIDDEN = "hidden"  # a file in a session's folder; it exists if the last prompt may not be recorded
Shown = namedtuple("Shown", "text message")
"""The text that a hook shows to the model, and a line for the user."""
NOTHING = Shown("", "")


def prompt_submitted(call):
    """Write the prompt to the spool; return the text recalled for it, if the user wants that."""
    event = call.event
    if not hosts.has_prompt(event):
        turn = _last_turn(event)
        if turn and (turn["assistant"] or turn["tools"]):
            return NOTHING  # the model is called again for a prompt that is already in the spool
        event = event._replace(prompt="\n\n".join(turn["prompts"]) if turn else None)
    text, redacted = _clean(event.prompt) if hosts.is_from_user(event) else (None, 0)
    folder = spool.session_folder(call.home, event.session_id)
    shows_opening = event.opens == "prompt" and not os.path.isdir(folder)
    if event.prompt or hosts.has_prompt(event):
        _note_if_hidden(call, folder)
        _spool(call, prompt=text, redacted_prompt=redacted)
    if shows_opening and call.inject != "off":
        return _opening(call)
    if call.inject != "prompt" or not text:
        return NOTHING
    from scrubjay.home import given  # other events need not load it

    request = {"event": "inject", "prompt": text[:MAX_QUERY], "given": given.noted(folder)}
    return _noted(call, _shown(call, "prompt", _recalled(call, request)))


def answered(call):
    """Write the answer to the spool, without its words if its prompt may not be recorded."""
    event = call.event
    if os.path.exists(os.path.join(spool.session_folder(call.home, event.session_id), HIDDEN)):
        call = call._replace(records=False)
    # Gemini CLI sends the prompt with the answer.
    prompt, prompt_secrets = _clean(event.prompt) if event.prompt and hosts.is_from_user(event) else (None, 0)
    answer, answer_secrets = _clean(event.answer)
    _spool(call, prompt=prompt, redacted_prompt=prompt_secrets, answer=answer, redacted_answer=answer_secrets)
    return NOTHING


def session_started(call):
    """Write the start to the spool; return the opening, or nothing if the user or the host wants none."""
    try:
        _spool(call, source=call.event.source)
    except HomeError as error:  # such as a full disk; the opening is shown anyway
        journal.note(call.home, call.event.kind, call.event.session_id, str(error))
    return NOTHING if call.inject == "off" or call.event.opens != "start" else _opening(call)


def session_ended(call):
    """Write the end to the spool, so that the session is compared with its transcript and summarised."""
    _spool(call, source=call.event.source)
    return NOTHING


def tool_used(call):
    """Return a line about what a tool will change or run, or about its failure, if the user wants that."""
    if call.inject != "edit":
        return NOTHING
    from scrubjay.hooks import tools  # other events need not load it

    now = call.now_ns / 1e9
    text = tools.hint(call.home, call.event, call.hello.scope, now)
    return _shown(call, "edit", {"text": text, "facts": 1})


def _spool(call, **texts):
    """Write the event to the spool, without texts and folders if it may not be recorded."""
    event = call.event
    record = {
        "v": 1,
        "id": os.urandom(10).hex(),
        "kind": event.kind,
        "time_ns": call.now_ns,
        "host": event.host,
        "session_id": event.session_id,
        "prompt_id": event.prompt_id,
        "transcript_path": event.transcript_path,
        "records": call.records,
    }
    if call.records:
        record.update(texts, scope=call.hello.scope, folders=[event.cwd, event.project_dir])
        record.update(capture=call.policy.capture, min_length=call.policy.min_length)
    spool.write_event(call.home, record)
    if event.kind != "prompt":  # the engine needs a prompt only with its answer
        engine_line.tell(call.home, call.hello, {"event": "drain"})


def _note_if_hidden(call, folder):
    """Note in the session's folder if its last prompt may not be recorded."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    hidden_file = os.path.join(folder, HIDDEN)
    if call.records:
        spool.remove([hidden_file])
    else:
        spool.durable_write(call.home, hidden_file, b"")


def _last_turn(event):
    """Return the transcript's last turn, not redacted, or None if the transcript cannot be read."""
    if not event.transcript_path:
        return None
    from scrubjay.home.files import last_lines
    from scrubjay.transcripts import formats

    try:
        turns = formats.turns(last_lines(event.transcript_path, TAIL), event.host)
    except OSError:
        return None
    return turns[-1] if turns else None


def _opening(call):
    opening = None
    if hosts.begins(call.event):
        from scrubjay.home import openings  # other events need not load it

        opening = openings.read(call.home, call.hello.scope, call.now_ns / 1e9, call.event.host)
    if opening is None:
        opening = _recalled(call, {"event": "opening", "source": call.event.source, "host": call.event.host})
    shown = _shown(call, "opening", opening)
    # A resumed session still knows what it was shown; a compacted or cleared one knows only this opening.
    return _noted(call, shown, is_first=call.event.source != "resume") if call.inject == "prompt" else shown


def _noted(call, shown, *, is_first=False):
    """Note which memories the session is shown, if first in place of all others; return what is shown."""
    from scrubjay.home import given  # other events need not load it

    folder = spool.session_folder(call.home, call.event.session_id)
    given.note_in(folder, given.sums(hosts.block(shown.text)), is_first=is_first)
    return shown


def _recalled(call, request):
    """Return the engine's answer to a request, or {} if no engine answers in time."""
    request = dict(request, session_id=call.event.session_id, max_bytes=hosts.MAX_INJECTION)
    return engine_line.ask(call.home, call.hello, request, "text", INJECT_S) or {}


def _shown(call, occasion, recalled):
    """Return recalled text, with a line for the user if it is an opening, and note its number of tokens."""
    text = recalled["text"] if isinstance(recalled.get("text"), str) else ""
    if not text.strip():
        return NOTHING
    from scrubjay.home import given  # other events need not load it

    tokens = given.tokens_of(text)
    counts = [recalled[name] if type(recalled.get(name)) is int else 0 for name in ("sessions", "facts")]
    if occasion == "opening" and given.is_withheld(call.event.session_id, call.policy.effect):
        occasion = given.WITHHELD
    given.note(
        call.home, call.now_ns / 1e9, occasion, call.hello.scope, tokens, call.event.session_id, *counts
    )
    if occasion == given.WITHHELD:
        return NOTHING
    if not any(counts) or occasion != "opening" or not hosts.begins(call.event):
        return Shown(text, "")
    names = [f"{count} {noun}{'s' * (count != 1)}" for count, noun in zip(counts, ("session", "fact"))]
    return Shown(text, f"Scrubjay: {', '.join(names)} ({tokens} tokens)")


def _clean(text):
    """Return a text as it may be stored, and the number of secrets removed from it."""
    text = (text or "").strip()
    beyond = len(text) - MAX_TEXT
    if beyond <= 0:
        text, redacted = redact(text)
        return text.strip(), redacted
    text, redacted = redact(text[: MAX_TEXT + EDGE])
    return cut(text[:-EDGE].rstrip(), beyond=beyond), redacted


HANDLERS = {
    "prompt": prompt_submitted,
    "answer": answered,
    "start": session_started,
    "end": session_ended,
}
TOOLS = ("before", "after", "done")  # events of a tool write nothing to the spool and need no redaction
