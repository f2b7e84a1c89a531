"""What happens at each event: a prompt is saved, an answer becomes an envelope, missing turns are fetched."""

from __future__ import annotations

import os

from scrubjay.errors import HomeError
from scrubjay.home import spool
from scrubjay.home.capture import MAX_TEXT, cut, is_excluded, should_record, storable
from scrubjay.home.files import last_lines
from scrubjay.hooks import engine_line, hosts, journal, prompts
from scrubjay.text import transcripts
from scrubjay.text.redaction import redact

INJECT_S = 0.2  # a prompt or a start waits no longer for what is recalled
RECONCILE_S = 0.2
MAX_QUERY = 10_000  # characters (models.requests.Query)
EDGE = 4096  # characters: no secret is longer, so one that is cut off has its beginning among them
TAIL = 8 * 1024 * 1024  # bytes of a transcript that are looked at while the host waits: 0.1 s


def prompt_submitted(call):
    """Keep the prompt for its answer; return what is recalled for it, as far as the user wants it."""
    event, says_prompt = call.event, hosts.says_prompt(call.event)
    if not says_prompt:
        turn = next(reversed(_turns(call)), None)
        if turn and (turn["assistant"] or turn["tools"]):
            return ""  # a later call of the model for a prompt that is kept already
        event = event._replace(prompt="\n\n".join(turn["prompts"]) if turn else None)
    by_user = hosts.is_from_user(event)
    text, redacted = _clean(event.prompt) if by_user else (None, 0)
    opens = event.opens == "prompt" and prompts.is_new(call.home, event.session_id)
    if event.prompt or says_prompt:
        # Of what may not be recorded the time alone is kept, so that its answer is not recorded either.
        _save(call, *((text, redacted) if call.records else (None, 0)))
    if opens and call.inject != "off":
        return _opening(call)
    if call.inject != "prompt" or not text:
        return ""
    return _recalled(call, {"event": "inject", "prompt": text[:MAX_QUERY]})


def answered(call):
    """Record the turn: the saved prompts and their answer, under a key that a repetition shares."""
    event = call.event
    pair = prompts.pair(call.home, event.session_id, event.prompt_id)
    if pair and _is_anothers(call, pair.waiting):
        _settle(call, pair.waiting, call.records)
        pair = None
    if not call.records or (pair and pair.hidden):
        _settle(call, pair.waiting if pair else (), completes=False)
        engine_line.tell(call.home, call.hello, {"event": "drain"})
        return ""
    if event.prompt and hosts.is_from_user(event):  # Gemini CLI says both at the end
        text, redacted = _clean(event.prompt)
        if pair is None or text not in (pair.user or ""):
            _save(call, text, redacted)
            pair = prompts.pair(call.home, event.session_id, event.prompt_id)
    if pair and len(pair.waiting) > 1 and _record_ended(call, pair.waiting):
        pair = prompts.pair(call.home, event.session_id, event.prompt_id)
    answer, redacted = _clean(event.answer)
    user = pair and pair.user and cut(pair.user)
    args = {
        "session_id": event.session_id,
        "prompt_id": pair.key if pair else event.prompt_id or _hashed_key(event.session_id, answer),
        "ts": pair.started_at if pair else prompts.instant(call.now_ns),
    }
    turn = None
    if (user and pair.waiting and not answer) or (answer and not pair):
        turn = _found(call, args["prompt_id"], user, answer, args["ts"])
        if turn and _is_hidden(call, turn):
            if not pair:
                return ""  # its prompt was in a pause, in which the hook was late or lost
            turn = None
    elif not pair and not answer and event.transcript_path:
        _reconcile(call)  # nothing is known but that a turn ended
    if turn:
        fields, more = _fields(turn)
        args.update(fields)
        user, answer, redacted = user or fields.get("user"), fields.get("assistant"), redacted + more
    args.update({side: text for side, text in (("user", user), ("assistant", answer)) if text})
    is_new = answer or (pair and pair.waiting)  # else a second registration says that the turn ended
    said = [each.user for each in pair.waiting] if pair and pair.waiting else [user]
    if is_new and (pair is None or pair.user is not None) and should_record([*said, answer], call.policy):
        redacted += pair.redacted if pair else 0
        envelope = _envelope(call, args, redacted, "hook:stop", event.transcript_path)
        spool.write(call.home, envelope, call.now_ns)
    if pair:
        prompts.mark_answered(call.home, event.session_id, pair)
    engine_line.tell(call.home, call.hello, {"event": "drain"})
    return ""


def _turns(call):
    """The last turns of the transcript, raw; none without one that can be read."""
    event = call.event
    if not event.transcript_path:
        return []
    from scrubjay.text import host_transcripts

    try:
        turns = host_transcripts.turns(last_lines(event.transcript_path, TAIL), event.host)
    except OSError:
        return []
    return turns[-transcripts.RECENT :]


def _is_anothers(call, waiting):
    """Whether the transcript says that what was answered now is none of the prompts that wait."""
    event = call.event
    if not waiting or not event.prompt_id or any(each.key == event.prompt_id for each in waiting):
        return False
    turn = next((turn for turn in _turns(call) if turn["prompt_id"] == event.prompt_id), None)
    words = [(each.user or "").split() for each in waiting]
    return turn is not None and _clean(storable(turn["prompts"][0]))[0].split() not in words


def _found(call, key, user, answer, since):
    """A turn as its transcript has it; None if that has not caught up: the engine looks again later."""
    turns = _turns(call)
    for turn in turns:
        turn["prompts"] = [_clean(storable(each))[0] for each in turn["prompts"]]
    return transcripts.completion(turns, key, user, answer, since)


def _is_hidden(call, turn):
    """Whether a part of a transcript's turn may have been said where or while nothing was to be recorded."""
    return is_excluded(call.policy, *turn["folders"]) or not transcripts.began_since(turn, call.since)


def _save(call, text, redacted):
    """Keep the prompt of this event and where it was said; of one that may not be recorded, its time."""
    event, said = call.event, None
    if call.records:
        said = {
            "session_id": event.session_id,
            "scope": call.hello.scope,
            "host": event.host,
            "capture": call.policy.capture,
            "folders": [event.cwd, event.project_dir],
            "transcript_path": event.transcript_path,
        }
    prompts.save(call.home, event.session_id, event.prompt_id, text, redacted, said, call.now_ns)


def _record_ended(call, waiting, over=False):
    """Record the prompts that ended without a Stop as turns of their own; whether there were any.

    The transcript shows the end of a prompt long before the next one is answered. `over` tells that none of
    them is answered now.
    """
    event, turns = call.event, _turns(call)
    ended = _ends(turns, waiting, over)
    for place, (prompt, turn) in enumerate(zip(waiting, ended)):
        if turn is None or prompt.user is None:
            continue
        own = prompt._replace(key=_key(turn, prompt))
        if _is_hidden(call, turn):
            _record_alone(call, [own])
            continue
        fields, redacted = _fields(turn)
        said = [_clean(storable(each))[0] for each in turn["prompts"]]
        if should_record([*said, fields.get("assistant")], call.policy):
            args = {"session_id": event.session_id, "prompt_id": own.key, "ts": own.started_at, **fields}
            before = call.now_ns - len(waiting) + place
            envelope = _envelope(call, args, redacted, "hook:transcript", None, prompt.said)
            spool.write(call.home, envelope, before)
        prompts.mark_answered(call.home, event.session_id, own)
    return any(ended)


def _ends(turns, waiting, over):
    texts = [prompt.user or "" for prompt in waiting]
    return transcripts.ended_before(turns, texts, lambda text: _clean(text)[0], over=over)


def _key(turn, prompt):
    """The key of a prompt's turn: as the transcript names it, which is how the engine knows it too."""
    return turn["prompt_id"] or turn["uuid"] or prompt.key


def _record_alone(call, waiting, completes=False):
    """Record prompts to which no answer is to come, each as a turn without one.

    What was said while it was to be recorded is not lost because its answer is not to be, or never came.
    `completes`: the engine may take the rest from the transcript.
    """
    session_id = call.event.session_id
    for place, prompt in enumerate(waiting):
        said = prompt.said
        if prompt.user and not said:
            continue  # of an older version; it becomes a part of the session's next turn
        if prompt.user and not is_excluded(call.policy, *said["folders"]):
            # what held when it was said; whether anything is recorded now says nothing of it
            policy = call.policy._replace(paused=False, capture=said["capture"])
            user = cut(prompt.user)
            if should_record([user], policy):
                args = {"session_id": session_id, "prompt_id": prompt.key, "ts": prompt.started_at}
                args["user"] = user
                path = call.event.transcript_path if completes else None
                envelope = _envelope(call, args, prompt.redacted, "hook:stop", path, said)
                spool.write(call.home, envelope, call.now_ns - len(waiting) + place)
        prompts.mark_answered(call.home, session_id, prompt)


def _settle(call, waiting, completes):
    """Record prompts that no Stop will answer: as the transcript has them, if it may be asked, else alone."""
    if completes and waiting and _record_ended(call, waiting, over=True):
        pair = prompts.pair(call.home, call.event.session_id, None)
        waiting = pair.waiting if pair else ()
    elif any(prompt.key.startswith(transcripts.PROMPT_KEY) for prompt in waiting):
        # The engine may know an interrupted one by its name in the transcript; no more is taken from there.
        turns = _ends(_turns(call), waiting, over=True)
        waiting = [
            prompt._replace(key=_key(turn, prompt)) if turn else prompt
            for prompt, turn in zip(waiting, turns)
        ]
    _record_alone(call, waiting, completes)


def session_started(call):
    """Have the engine look for turns of this session that no hook recorded; return the session's opening.

    The opening is the one that lies ready, or the engine's; none if the user or the host does not want it.
    """
    now = call.now_ns / 1e9
    try:
        for waiting in prompts.left_behind(call.home, now):  # their processes were killed
            known = {name: waiting[0].said[name] for name in ("session_id", "transcript_path", "host")}
            records = not (call.policy.paused or call.policy.capture == "off")
            _settle(call._replace(event=call.event._replace(**known)), waiting, records)
        prompts.sweep(call.home, now)
        if call.records and call.event.source != "compact":  # amid a turn, whose Stop will come
            _reconcile(call)
    except HomeError as error:  # a full disk, which is no reason to be without the opening
        journal.note(call.home, call.event.kind, call.event.session_id, str(error))
    return "" if call.inject == "off" or call.event.opens != "start" else _opening(call)


def _opening(call):
    text = None
    if hosts.begins(call.event):
        from scrubjay.home import openings  # which other events need not load

        text = openings.read(call.home, call.hello.scope, call.now_ns / 1e9)
    if text is None:
        text = _recalled(call, {"event": "opening", "source": call.event.source})
    return text


def _recalled(call, request):
    """The text that the engine has for a request; "" without an engine, or if it takes too long."""
    request = dict(request, session_id=call.event.session_id, max_bytes=hosts.MAX_INJECTION)
    answer = engine_line.ask(call.home, call.hello, request, "text", INJECT_S)
    text = answer["text"] if answer else None
    return text if isinstance(text, str) else ""


def session_ended(call):
    """Tell the engine that the session is over, so that it is summarised; without an engine, silence will.

    A prompt that still waits was interrupted, and no Stop will come. The transcript may also have turns that
    no hook could write down.
    """
    pair = prompts.pair(call.home, call.event.session_id, None)
    _settle(call, pair.waiting if pair else (), call.records)
    if call.records:
        _reconcile(call, "session_end")
    return ""


def _reconcile(call, what="session_start"):
    """Have the engine compare the session with its transcript; without an engine, leave it a note."""
    event = call.event
    request = {
        "event": what,
        "session_id": event.session_id,
        "transcript_path": event.transcript_path,
        "source": event.source,
        "cwd": event.cwd,
        "scope": call.hello.scope,
        "host": call.event.host,
    }
    engine = engine_line.ask(call.home, call.hello, request, "protocol", RECONCILE_S)
    if (engine is None or "error" in engine) and event.transcript_path:
        spool.write_request(call.home, request, os.urandom(8).hex(), call.now_ns)


def _clean(text):
    """A text as it may be stored, and how many secrets were taken out of what is stored."""
    text = (text or "").strip()
    beyond = len(text) - MAX_TEXT
    if beyond <= 0:
        text, redacted = redact(text)
        return text.strip(), redacted
    text, redacted = redact(text[: MAX_TEXT + EDGE])
    return cut(text[:-EDGE].rstrip(), beyond=beyond), redacted


def _fields(turn):
    """What is recorded of a transcript's turn, cleaned, and how many secrets were taken out of it."""
    counts = []

    def clean(text):
        text, redacted = _clean(storable(text))
        counts.append(redacted)
        return text

    return transcripts.fields_of(turn, clean), sum(counts)


def _envelope(call, args, redacted, source, transcript_path, said=None):
    """A turn for the spool; of this event's scope, host and policy, or of those under which it was `said`."""
    said = said or {"scope": call.hello.scope, "host": call.event.host, "capture": call.policy.capture}
    return {
        "v": 1,
        "id": os.urandom(10).hex(),
        "kind": "turn",
        "at": prompts.instant(call.now_ns),
        "scope": said["scope"],
        "source": source,
        "host": said["host"],
        "capture": said["capture"],
        "redacted": redacted,
        "transcript_path": transcript_path,
        "args": args,
    }


def _hashed_key(session_id, answer):
    """A turn's key if the host gives none and no prompt was saved: the same for the same answer."""
    from hashlib import sha256

    return transcripts.ANSWER_KEY + sha256(f"{session_id}\n{answer}".encode()).hexdigest()[:32]


HANDLERS = {"prompt": prompt_submitted, "answer": answered, "start": session_started, "end": session_ended}
