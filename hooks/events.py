"""What a hook does at each event: it leaves the event in the spool, redacted, and shows what is recalled.

The engine pairs prompts with answers (`engine/background/pairing`). A hook knows one thing more than its own
event: whether the session's last prompt was to be recorded, because its answer is only then.
"""

from __future__ import annotations

import os
from collections import namedtuple

from scrubjay.errors import HomeError
from scrubjay.home import spool
from scrubjay.home.capture import MAX_TEXT, cut
from scrubjay.hooks import engine_line, hosts, journal
from scrubjay.redaction.redact import redact

INJECT_S = 0.2  # a prompt or a start waits no longer for what is recalled
MAX_QUERY = 10_000  # characters (models.requests.Query)
EDGE = 4096  # characters: no secret is longer, so one that is cut off has its beginning among them
TAIL = 8 * 1024 * 1024  # bytes of a transcript that are looked at while the host waits: 0.1 s
Shown = namedtuple("Shown", "text message")
"""What a hook has for the model, and a line for its user."""
NOTHING = Shown("", "")
HIDDEN = "hidden"  # a file in a session's folder: its last prompt was not to be recorded


def prompt_submitted(call):
    """Leave the prompt; return what is recalled for it, as far as the user wants it."""
    event = call.event
    if not hosts.says_prompt(event):
        turn = _last_turn(event)
        if turn and (turn["assistant"] or turn["tools"]):
            return NOTHING  # a later call of the model for a prompt that was left already
        event = event._replace(prompt="\n\n".join(turn["prompts"]) if turn else None)
    text, redacted = _clean(event.prompt) if hosts.is_from_user(event) else (None, 0)
    folder = spool.session_folder(call.home, event.session_id)
    opens = event.opens == "prompt" and not os.path.isdir(folder)
    if event.prompt or hosts.says_prompt(event):
        _mark(call, folder)
        _leave(call, prompt=text, redacted_prompt=redacted)
    if opens and call.inject != "off":
        return _opening(call)
    if call.inject != "prompt" or not text:
        return NOTHING
    return _shown(call, "prompt", _recalled(call, {"event": "inject", "prompt": text[:MAX_QUERY]}))


def answered(call):
    """Leave the answer, without a word of it if its prompt was not to be recorded."""
    event = call.event
    if os.path.exists(os.path.join(spool.session_folder(call.home, event.session_id), HIDDEN)):
        call = call._replace(records=False)
    # Gemini CLI says both at the end.
    prompt, in_prompt = _clean(event.prompt) if event.prompt and hosts.is_from_user(event) else (None, 0)
    answer, in_answer = _clean(event.answer)
    _leave(call, prompt=prompt, redacted_prompt=in_prompt, answer=answer, redacted_answer=in_answer)
    return NOTHING


def session_started(call):
    """Leave the start; return the session's opening, or nothing if the user or the host does not want it."""
    try:
        _leave(call, source=call.event.source)
    except HomeError as error:  # a full disk, which is no reason to be without the opening
        journal.note(call.home, call.event.kind, call.event.session_id, str(error))
    return NOTHING if call.inject == "off" or call.event.opens != "start" else _opening(call)


def session_ended(call):
    """Leave the end, so that the session is compared with its transcript and summarised."""
    _leave(call, source=call.event.source)
    return NOTHING


def _leave(call, **said):
    """Put the event into the spool, without what was said and where if it is not to be recorded."""
    event = call.event
    left = {
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
        left.update(said, scope=call.hello.scope, folders=[event.cwd, event.project_dir])
        left.update(capture=call.policy.capture, min_length=call.policy.min_length)
    spool.write_event(call.home, left)
    if event.kind != "prompt":  # which the engine needs with its answer
        engine_line.tell(call.home, call.hello, {"event": "drain"})


def _mark(call, folder):
    """Note whether the session's last prompt is to be recorded."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    mark = os.path.join(folder, HIDDEN)
    if call.records:
        spool.remove([mark])
    else:
        spool.durable_write(call.home, mark, b"")


def _last_turn(event):
    """The last turn of the transcript, raw; None without one that can be read."""
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
        from scrubjay.home import openings  # which other events need not load

        opening = openings.read(call.home, call.hello.scope, call.now_ns / 1e9)
    if opening is None:
        opening = _recalled(call, {"event": "opening", "source": call.event.source})
    return _shown(call, "opening", opening)


def _recalled(call, request):
    """What the engine answers to a request; {} without an engine, or if it takes too long."""
    request = dict(request, session_id=call.event.session_id, max_bytes=hosts.MAX_INJECTION)
    return engine_line.ask(call.home, call.hello, request, "text", INJECT_S) or {}


def _shown(call, by, recalled):
    """What the model is shown, and what its user is told about an opening; note how much it was."""
    text = recalled["text"] if isinstance(recalled.get("text"), str) else ""
    if not text.strip():
        return NOTHING
    from scrubjay.home import given  # which other events need not load

    tokens = given.tokens_of(text)
    counts = [recalled[name] if type(recalled.get(name)) is int else 0 for name in ("sessions", "facts")]
    given.note(call.home, call.now_ns / 1e9, by, call.hello.scope, tokens, call.event.session_id, *counts)
    if not any(counts) or by != "opening" or not hosts.begins(call.event):
        return Shown(text, "")
    names = [f"{count} {noun}{'s' * (count != 1)}" for count, noun in zip(counts, ("session", "fact"))]
    return Shown(text, f"Scrubjay: {', '.join(names)} ({tokens} tokens)")


def _clean(text):
    """A text as it may be stored, and how many secrets were taken out of what is stored."""
    text = (text or "").strip()
    beyond = len(text) - MAX_TEXT
    if beyond <= 0:
        text, redacted = redact(text)
        return text.strip(), redacted
    text, redacted = redact(text[: MAX_TEXT + EDGE])
    return cut(text[:-EDGE].rstrip(), beyond=beyond), redacted


HANDLERS = {"prompt": prompt_submitted, "answer": answered, "start": session_started, "end": session_ended}
