"""Makes turns of what hooks saw: pairs prompts with answers, and completes both from the host's transcript.

A hook leaves one event (`HookEvent`) and knows nothing of the others. Here they are taken in their order, so
this is the only place that knows which prompts were queued, interrupted, left behind or said in a pause.
Taking an event twice, after a crash, gives the same turn.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any, NamedTuple

from scrubjay.engine.background import prompts
from scrubjay.engine.background.prompts import Pair, instant
from scrubjay.errors import InputError
from scrubjay.home import capture, spool
from scrubjay.home.capture import cut, is_excluded, should_record, storable
from scrubjay.home.files import last_lines
from scrubjay.home.paths import Home
from scrubjay.models.envelopes import HookEvent
from scrubjay.redaction.redact import redact
from scrubjay.text import host_transcripts, transcripts

TAIL = 8 * 1024 * 1024  # bytes of a transcript that are looked at; `completion` looks further
SECOND = 1_000_000_000


class Taken(NamedTuple):
    """An event that was taken, and the path of the request to compare its session, if there is one."""

    event: HookEvent
    request: str | None


class _Call(NamedTuple):
    """An event with what the user wants now. `since` is when that changed last, ISO 8601; None: never."""

    home: Home
    event: HookEvent
    policy: capture.Policy
    since: str | None

    @property
    def then(self) -> capture.Policy:
        """What the user wanted when the hook ran."""
        event, policy = self.event, self.policy
        if not event.records:
            return policy._replace(paused=False)
        return policy._replace(paused=False, capture=event.capture, min_length=event.min_length)


def take(home: Home, path: str) -> Taken:
    """Take one event: write the turns that it completes into the spool, and remove it.

    Raises:
        SpoolError: it or a prompt before it is damaged.
        ValidationError: it is of no known shape.
        HomeError, OSError: the disk refuses; the event stays.
    """
    event = HookEvent.model_validate(spool.read(path))
    call = _Call(home, event, *_policy(home))
    request = None
    if event.kind == "prompt":
        _save(call, event.prompt, event.redacted_prompt)
    elif event.kind == "answer":
        _answered(call)
    else:
        if event.kind == "start":
            _settle_left_behind(call)
        else:
            _settle(call, _waiting(call), event.records)
        # A session is compacted amid a turn, whose Stop will come.
        if event.records and event.transcript_path and event.source != "compact":
            request = _request(call)
    spool.remove([path])
    return Taken(event, request)


def is_hidden(turn: dict[str, Any], policy: capture.Policy, since: str | None) -> bool:
    """Tell whether a part of a transcript's turn may have been said where or while the user was not captured.

    `since` is when the policy last changed, ISO 8601.
    """
    if policy.paused or policy.capture == "off" or is_excluded(policy, *turn["folders"]):
        return True
    return not transcripts.began_since(turn, since)


def _policy(home: Home) -> tuple[capture.Policy, str | None]:
    """The user's policy and since when it holds. One that cannot be read takes nothing from transcripts."""
    try:
        values = capture.read(home)
        since = values.get("since")
        return capture.policy(values), None if since is None else str(since)
    except FileNotFoundError:
        return capture.DEFAULT, None
    except (OSError, ValueError, InputError):
        return capture.DEFAULT._replace(paused=True), None


def _answered(call: _Call) -> None:
    """Record the turn: the saved prompts and their answer, under a key that a repetition shares."""
    event = call.event
    pair = _pair(call)
    if pair and _is_anothers(call, pair.waiting):
        _settle(call, pair.waiting, event.records)
        pair = None
    if not event.records or (pair and pair.hidden):
        _settle(call, pair.waiting if pair else (), completes=False)
        return
    if event.prompt and (pair is None or event.prompt not in (pair.user or "")):
        _save(call, event.prompt, event.redacted_prompt)
        pair = _pair(call)
    if pair and len(pair.waiting) > 1 and _record_ended(call, pair.waiting):
        pair = _pair(call)
    answer, redacted = event.answer, event.redacted_answer
    user = cut(pair.user) if pair and pair.user else None
    own = event.prompt_id or _hashed_key(event.session_id, answer)
    args: dict[str, Any] = {
        "session_id": event.session_id,
        "prompt_id": pair.key if pair else own,
        "ts": pair.started_at if pair else instant(event.time_ns),
    }
    turn = None
    if (user and pair and pair.waiting and not answer) or (answer and not pair):
        turn = _found(call, args["prompt_id"], user, answer, args["ts"])
        if turn and is_hidden(turn, call.policy, call.since):
            if not pair:
                return  # its prompt was in a pause, in which the hook was late or lost
            turn = None
    if turn:
        fields, more = _fields(turn)
        args.update(fields)
        user, answer, redacted = user or fields.get("user"), fields.get("assistant"), redacted + more
    args.update({side: text for side, text in (("user", user), ("assistant", answer)) if text})
    is_new = answer or (pair and pair.waiting)  # else a second registration says that the turn ended
    said = [each.user for each in pair.waiting] if pair and pair.waiting else [user]
    if is_new and (pair is None or pair.user is not None) and should_record([*said, answer], call.then):
        redacted += pair.redacted if pair else 0
        envelope = _envelope(call, "stop", args, redacted, event.transcript_path)
        spool.write(call.home, envelope, event.time_ns)
    if pair:
        _mark_answered(call, pair)


def _pair(call: _Call) -> Pair | None:
    event = call.event
    return prompts.pair(call.home, event.session_id, event.prompt_id, event.time_ns)


def _waiting(call: _Call) -> Sequence[Pair]:
    """The prompts of the session that wait, whatever id the event has."""
    pair = prompts.pair(call.home, call.event.session_id, None, call.event.time_ns)
    return pair.waiting if pair else ()


def _turns(call: _Call) -> list[dict[str, Any]]:
    """The last turns of the transcript until the event, raw; none without one that can be read."""
    event = call.event
    if not event.transcript_path:
        return []
    try:
        turns = host_transcripts.turns(last_lines(event.transcript_path, TAIL), event.host)
    except OSError:
        return []
    # No engine may have been there for a while, in which the session went on.
    end = instant(event.time_ns + transcripts.SLACK_S * SECOND)
    return [turn for turn in turns if not transcripts.began_since(turn, end)][-transcripts.RECENT :]


def _is_anothers(call: _Call, waiting: Sequence[Pair]) -> bool:
    """Whether the transcript says that what was answered now is none of the prompts that wait."""
    event = call.event
    if not waiting or not event.prompt_id or any(each.key == event.prompt_id for each in waiting):
        return False
    turn = next((turn for turn in _turns(call) if turn["prompt_id"] == event.prompt_id), None)
    words = [(each.user or "").split() for each in waiting]
    return turn is not None and _clean(turn["prompts"][0])[0].split() not in words


def _found(call: _Call, key: str, user: str | None, answer: str | None, since: str) -> dict[str, Any] | None:
    """A turn as its transcript has it; None if that has not caught up: `completion` looks again later."""
    turns = _turns(call)
    for turn in turns:
        turn["prompts"] = [_clean(each)[0] for each in turn["prompts"]]
    return transcripts.completion(turns, key, user, answer, since)


def _save(call: _Call, text: str | None, redacted: int) -> None:
    """Keep the prompt of this event and where it was said; of one that may not be recorded, its time."""
    event, said = call.event, None
    if event.records:
        said = {
            "session_id": event.session_id,
            "scope": event.scope,
            "host": event.host,
            "capture": event.capture,
            "folders": event.folders,
            "transcript_path": event.transcript_path,
        }
    prompt_id = event.prompt_id or transcripts.PROMPT_KEY + event.id[:16]
    prompts.save(call.home, event.session_id, prompt_id, text, redacted, said, event.time_ns)
    _touch(call)


def _mark_answered(call: _Call, pair: Pair) -> None:
    prompts.mark_answered(call.home, call.event.session_id, pair)
    _touch(call)


def _touch(call: _Call) -> None:
    """Let the session's folder say when its last event was, not when that was taken."""
    with suppress(FileNotFoundError):
        folder = spool.session_folder(call.home, call.event.session_id)
        os.utime(folder, ns=(call.event.time_ns, call.event.time_ns))


def _record_ended(call: _Call, waiting: Sequence[Pair], over: bool = False) -> bool:
    """Record the prompts that ended without a Stop as turns of their own; whether there were any.

    The transcript shows the end of a prompt long before the next one is answered. `over` tells that none of
    them is answered now.
    """
    event, turns = call.event, _turns(call)
    ended = _ends(turns, waiting, over)
    for place, (prompt, turn) in enumerate(zip(waiting, ended, strict=True)):
        if turn is None or prompt.user is None:
            continue
        own = prompt._replace(key=_key(turn, prompt))
        if is_hidden(turn, call.policy, call.since):
            _record_alone(call, [own])
            continue
        fields, redacted = _fields(turn)
        said = [_clean(each)[0] for each in turn["prompts"]]
        if should_record([*said, fields.get("assistant")], call.then):
            args = {"session_id": event.session_id, "prompt_id": own.key, "ts": own.started_at, **fields}
            envelope = _envelope(call, "transcript", args, redacted, None, prompt.said)
            spool.write(call.home, envelope, event.time_ns - len(waiting) + place)
        _mark_answered(call, own)
    return any(ended)


def _ends(turns: list[dict[str, Any]], waiting: Sequence[Pair], over: bool) -> list[dict[str, Any] | None]:
    texts = [prompt.user or "" for prompt in waiting]
    return transcripts.ended_before(turns, texts, lambda text: _clean(text)[0], over=over)


def _key(turn: dict[str, Any], prompt: Pair) -> str:
    """The key of a prompt's turn: as the transcript names it, which is how `completion` knows it too."""
    return str(turn["prompt_id"] or turn["uuid"] or prompt.key)


def _record_alone(call: _Call, waiting: Sequence[Pair], completes: bool = False) -> None:
    """Record prompts to which no answer is to come, each as a turn without one.

    What was said while it was to be recorded is not lost because its answer is not to be, or never came.
    `completes`: `completion` may take the rest from the transcript.
    """
    event = call.event
    for place, prompt in enumerate(waiting):
        said = prompt.said
        if prompt.user and not said:
            continue  # of an older version; it becomes a part of the session's next turn
        if prompt.user and said and not is_excluded(call.policy, *said["folders"]):
            # what held when it was said; whether anything is recorded now says nothing of it
            policy, user = call.then._replace(capture=said["capture"]), cut(prompt.user)
            if should_record([user], policy):
                args = {"session_id": event.session_id, "prompt_id": prompt.key, "ts": prompt.started_at}
                args["user"] = user
                path = event.transcript_path if completes else None
                envelope = _envelope(call, "stop", args, prompt.redacted, path, said)
                spool.write(call.home, envelope, event.time_ns - len(waiting) + place)
        _mark_answered(call, prompt)


def _settle(call: _Call, waiting: Sequence[Pair], completes: bool) -> None:
    """Record prompts that no Stop will answer: as the transcript has them, if it may be asked, else alone."""
    if completes and waiting and _record_ended(call, waiting, over=True):
        waiting = _waiting(call)
    elif any(prompt.key.startswith(transcripts.PROMPT_KEY) for prompt in waiting):
        # `completion` may know an interrupted one by its name in the transcript; no more is taken from there.
        turns = _ends(_turns(call), waiting, over=True)
        waiting = [
            prompt._replace(key=_key(turn, prompt)) if turn else prompt
            for prompt, turn in zip(waiting, turns, strict=True)
        ]
    _record_alone(call, waiting, completes)


def _settle_left_behind(call: _Call) -> None:
    """Record the prompts whose processes were killed, and drop what was kept of old sessions."""
    event, now = call.event, call.event.time_ns / SECOND
    records = not (call.policy.paused or call.policy.capture == "off")
    for waiting in prompts.left_behind(call.home, now):
        said = waiting[0].said or {}
        known = {name: said[name] for name in ("session_id", "transcript_path", "host")}
        _settle(call._replace(event=event.model_copy(update=known)), waiting, records)
    prompts.sweep(call.home, now)


def _request(call: _Call) -> str:
    """Leave the request to compare the session with its transcript, which outlives this engine."""
    event = call.event
    request = {
        "session_id": event.session_id,
        "transcript_path": event.transcript_path,
        "cwd": event.folders[0] if event.folders else None,
        "scope": event.scope,
        "host": event.host,
    }
    return spool.write_request(call.home, request, event.id, event.time_ns)


def _clean(text: str) -> tuple[str, int]:
    """A text of a transcript as it may be stored, and how many secrets were taken out of it."""
    text, redacted = redact(storable(text).strip())
    return cut(text.strip()), redacted


def _fields(turn: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """What is recorded of a transcript's turn, cleaned, and how many secrets were taken out of it."""
    counts = []

    def clean(text: str) -> str:
        text, redacted = _clean(text)
        counts.append(redacted)
        return text

    return transcripts.fields_of(turn, clean), sum(counts)


def _envelope(
    call: _Call,
    source: str,
    args: dict[str, Any],
    redacted: int,
    transcript_path: str | None,
    said: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """A turn for the spool; of this event's scope, host and policy, or of those under which it was `said`."""
    event = call.event
    said = said or {"scope": event.scope, "host": event.host, "capture": event.capture}
    return {
        "v": 1,
        "id": os.urandom(10).hex(),
        "kind": "turn",
        "at": instant(event.time_ns),
        "scope": said["scope"],
        "source": f"hook:{source}",
        "host": said["host"],
        "capture": said["capture"],
        "redacted": redacted,
        "transcript_path": transcript_path,
        "args": args,
    }


def _hashed_key(session_id: str, answer: str | None) -> str:
    """A turn's key if the host gives none and no prompt was saved: the same for the same answer."""
    return transcripts.ANSWER_KEY + sha256(f"{session_id}\n{answer or ''}".encode()).hexdigest()[:32]
