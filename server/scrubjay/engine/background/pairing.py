"""Pairs the prompts and answers in the events of hooks, and writes them as turns.

A hook writes one event (`HookEvent`) and does not know any other. This module processes the events in order,
so only it knows which prompts were queued, interrupted, abandoned or typed in a pause. Transcripts show how a
prompt ended. Processing an event again after a crash gives the same turn.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any, NamedTuple

from scrubjay.engine.background import prompts
from scrubjay.engine.background.prompts import Pair, instant
from scrubjay.errors import InputError, ScrubjayError
from scrubjay.histories.keeping import Wishes, allowed, pauses
from scrubjay.histories.stored import seconds
from scrubjay.home import capture, spool
from scrubjay.home.capture import cut, is_excluded, should_record, storable
from scrubjay.home.capture_policy import captured_since
from scrubjay.home.capture_policy import pauses as kept_pauses
from scrubjay.home.files import last_lines
from scrubjay.home.paths import Home
from scrubjay.models.envelopes import HookEvent
from scrubjay.redaction.redact import Redactor, redact
from scrubjay.transcripts import formats, matching, turn

TAIL = 8 * 1024 * 1024  # bytes of a transcript that are read here; `completion` reads more
SECOND = 1_000_000_000
_ORIGIN = {"session_id", "scope", "host", "capture", "folders", "transcript_path"}  # fields of an event


class ProcessedEvent(NamedTuple):
    """A processed event, and the path of its request to compare the session, if it caused one."""

    event: HookEvent
    request: str | None


class _Call(NamedTuple):
    """An event with the user's current policy."""

    home: Home
    event: HookEvent
    policy: capture.Policy

    @property
    def hook_policy(self) -> capture.Policy:
        """Return the policy at the time when the hook ran."""
        event, policy = self.event, self.policy
        if not event.records:
            return policy._replace(paused=False)
        return policy._replace(paused=False, capture=event.capture, min_length=event.min_length)


def take(home: Home, path: str) -> ProcessedEvent:
    """Process one event: write the turns that it completes to the spool, and remove the event.

    Raises:
        SpoolError: the event or an earlier prompt is damaged.
        ValidationError: the event has an unknown form.
        HomeError, OSError: the disk refuses; the event stays.
    """
    event = HookEvent.model_validate(spool.read(path))
    call = _Call(home, event, _policy(home))
    match event.kind:
        case "prompt":
            _save(call)
        case "answer":
            _record_answer(call)
        case "start":
            _record_abandoned(call)
        case "end":
            pair = prompts.pair(home, event.session_id, None, event.time_ns)
            _record_unanswered(call, pair.waiting if pair else ())
    request = None
    # A compaction starts a session too, but in the middle of a turn, whose Stop will follow.
    if event.kind in ("start", "end") and event.transcript_path and event.source != "compact":
        request = _write_request(call)
    spool.remove([path])
    return ProcessedEvent(event, request)


def wishes_of(home: Home, policy: capture.Policy, session_id: str) -> Wishes:
    """Return the user's policy, with the times in a session at which nothing was captured."""
    since = captured_since(home)
    hidden: tuple[float, ...] = ()
    with suppress(ScrubjayError, OSError, ValueError):  # a file is damaged, or was removed meanwhile
        hidden = tuple(seconds(each) or 0.0 for each in prompts.hidden(home, session_id))
    paused_times = pauses(kept_pauses(home), is_paused=policy.paused)
    return Wishes(policy, paused_times, hidden, since.timestamp() if since else 0.0)


def _policy(home: Home) -> capture.Policy:
    """Return the user's policy; if it cannot be read, nothing is taken from transcripts."""
    try:
        return capture.policy(capture.read(home))
    except FileNotFoundError:
        return capture.DEFAULT
    except (OSError, ValueError, InputError):
        return capture.DEFAULT._replace(paused=True)


def _record_answer(call: _Call) -> None:
    """Record the saved prompts and their answer as a turn; a repeated event gives the same key."""
    event = call.event
    pair = _pair(call)
    if pair and _answers_unsaved_prompt(call, pair.waiting):
        _record_unanswered(call, pair.waiting)
        pair = None
    if not event.records or (pair and pair.hidden) or (pair is None and _answers_hidden_prompt(call)):
        _record_unanswered(call, pair.waiting if pair else ())
        return
    if event.prompt and (pair is None or event.prompt not in (pair.user or "")):
        _save(call)
        pair = _pair(call)
    if pair and len(pair.waiting) > 1:
        # The transcript shows the end of a prompt long before the next one is answered. The rest of its turn
        # is read from the transcript later.
        _record_alone(call, _ended_prompts(call, pair.waiting, over=False))
        pair = _pair(call)
    answer, redacted = event.answer, event.redacted_answer
    if answer and pair and pair.redacted:
        answer = _without_secrets_of_prompts(call, answer)
    user = cut(pair.user) if pair and pair.user else None
    # A turn without an id and a saved prompt gets a key from its answer: the same answer gives the same key.
    digest = sha256(f"{event.session_id}\n{answer or ''}".encode()).hexdigest()[:32]
    fallback_key = event.prompt_id or turn.ANSWER_KEY + digest
    args: dict[str, Any] = {
        "session_id": event.session_id,
        # For a prompt without words, such as a picture, only the answer identifies the transcript's turn.
        "prompt_id": pair.key if pair and (pair.user or event.prompt_id) else fallback_key,
        "ts": pair.started_at if pair else instant(event.time_ns),
    }
    args.update({name: text for name, text in (("user", user), ("assistant", answer)) if text})
    is_new = answer or (pair and pair.waiting)  # otherwise a hook registered twice reports the same end
    texts = [each.user for each in pair.waiting] if pair and pair.waiting else [user]
    is_typed = pair is None or pair.user is not None
    if is_new and is_typed and should_record([*texts, answer], call.hook_policy):
        redacted += pair.redacted if pair else 0
        _write_turn(call, args, redacted, event.model_dump(include=_ORIGIN), event.time_ns)
    if pair:
        _mark_answered(call, pair)


def _without_secrets_of_prompts(call: _Call, answer: str) -> str:
    """Remove from an answer the secrets of the last prompts, which only the transcript has."""
    redactor = Redactor()
    for recent in _turns(call):
        for prompt in recent["prompts"]:
            redactor.redact(storable(prompt))
    return redactor.redact(answer)


def _pair(call: _Call) -> Pair | None:
    event = call.event
    return prompts.pair(call.home, event.session_id, event.prompt_id, event.time_ns)


def _turns(call: _Call) -> list[dict[str, Any]]:
    """Return the last raw turns of the transcript before the event; [] if it cannot be read."""
    event = call.event
    if not event.transcript_path:
        return []
    try:
        turns = formats.turns(last_lines(event.transcript_path, TAIL), event.host)
    except OSError:
        return []
    # If no engine ran for a while, the session has continued since the event.
    end = event.time_ns / SECOND + matching.SLACK_S
    return [turn for turn in turns if (seconds(turn["started_at"]) or end) <= end][-matching.RECENT :]


def _answers_hidden_prompt(call: _Call) -> bool:
    """Return True if the transcript shows that the prompt was typed in a pause, and its event was lost.

    Return False if the host writes no times.
    """
    event, answer = call.event, "".join((call.event.answer or "").split())
    turns = [turn for turn in _turns(call) if answer and answer in "".join(turn["assistant"].split())]
    if not turns or not turns[-1]["started_at"]:
        return False
    wishes = wishes_of(call.home, call.policy, event.session_id)
    return allowed(turns[-1], wishes, event.time_ns / SECOND) is None


def _answers_unsaved_prompt(call: _Call, waiting: Sequence[Pair]) -> bool:
    """Return True if the transcript shows that the prompt of this answer was not saved."""
    event = call.event
    if not waiting or not event.prompt_id or any(each.key == event.prompt_id for each in waiting):
        return False
    turn = next((turn for turn in _turns(call) if turn["prompt_id"] == event.prompt_id), None)
    saved_words = [(each.user or "").split() for each in waiting]
    return turn is not None and _clean(turn["prompts"][0])[0].split() not in saved_words


def _save(call: _Call) -> None:
    """Save the prompt of this event with its origin; if it must not be recorded, save only its time."""
    event = call.event
    origin = event.model_dump(include=_ORIGIN) if event.records else None
    prompt_id = event.prompt_id or turn.PROMPT_KEY + event.id[:16]
    prompt = event.prompt, event.redacted_prompt
    prompts.save(call.home, event.session_id, prompt_id, *prompt, origin, event.time_ns)
    _set_folder_time(call)


def _mark_answered(call: _Call, pair: Pair) -> None:
    prompts.mark_answered(call.home, call.event.session_id, pair)
    _set_folder_time(call)


def _set_folder_time(call: _Call) -> None:
    """Set the session folder's time to that of the session's last event."""
    with suppress(FileNotFoundError):
        folder = spool.session_folder(call.home, call.event.session_id)
        os.utime(folder, ns=(call.event.time_ns, call.event.time_ns))


def _ended_prompts(call: _Call, waiting: Sequence[Pair], *, over: bool) -> list[Pair]:
    """Return the prompts whose turns have ended in the transcript, with the ids of these turns as keys.

    `over` is True if this event answers no prompt.
    """
    texts = [prompt.user or "" for prompt in waiting]
    turns = matching.ended_before(_turns(call), texts, lambda text: _clean(text)[0], over=over)
    return [
        prompt._replace(key=str(turn["prompt_id"] or turn["uuid"] or prompt.key))
        for prompt, turn in zip(waiting, turns, strict=True)
        if turn
    ]


def _record_alone(call: _Call, waiting: Sequence[Pair]) -> None:
    """Record prompts as turns without an answer, because none will come or none may be recorded."""
    event = call.event
    for position, prompt in enumerate(waiting):
        origin = prompt.origin
        if prompt.user and origin and not is_excluded(call.policy, *origin["folders"]):
            # the setting `capture` at the time of the prompt decides, not the current one
            policy, user = call.hook_policy._replace(capture=origin["capture"]), cut(prompt.user)
            if should_record([user], policy):
                args = {"session_id": event.session_id, "prompt_id": prompt.key, "ts": prompt.started_at}
                args["user"] = user
                _write_turn(call, args, prompt.redacted, origin, event.time_ns - len(waiting) + position)
        _mark_answered(call, prompt)


def _record_unanswered(call: _Call, waiting: Sequence[Pair]) -> None:
    """Record prompts that no Stop will answer, with the ids of their turns in the transcript, if any."""
    if waiting:
        ended = {prompt.files[0]: prompt for prompt in _ended_prompts(call, waiting, over=True)}
        _record_alone(call, [ended.get(prompt.files[0], prompt) for prompt in waiting])


def _record_abandoned(call: _Call) -> None:
    """Record the prompts of killed processes, and delete the files of old sessions."""
    event, now = call.event, call.event.time_ns / SECOND
    for waiting in prompts.abandoned(call.home, now):
        origin = waiting[0].origin or {}
        session_fields = {name: origin[name] for name in ("session_id", "transcript_path", "host")}
        _record_unanswered(call._replace(event=event.model_copy(update=session_fields)), waiting)
    prompts.sweep(call.home, now)


def _write_request(call: _Call) -> str:
    """Write a request to compare the session with its transcript; the request outlives this engine."""
    event = call.event
    request = event.model_dump(include={"session_id", "transcript_path", "scope", "host"})
    request["cwd"] = event.folders[0] if event.folders else None
    return spool.write_request(call.home, request, event.id, event.time_ns)


def _clean(text: str) -> tuple[str, int]:
    """Return a transcript's text as it may be stored, and the number of secrets removed."""
    text, redacted = redact(storable(text).strip())
    return cut(text.strip()), redacted


def _write_turn(
    call: _Call, args: dict[str, Any], redacted: int, origin: dict[str, Any], time_ns: int
) -> None:
    """Write a turn to the spool; `origin` has the fields of the event with its first prompt or its answer."""
    envelope = {
        "v": 1,
        "id": os.urandom(10).hex(),
        "kind": "turn",
        "at": instant(call.event.time_ns),
        "scope": origin["scope"],
        "source": "hook:stop",
        "host": origin["host"],
        "capture": origin["capture"],
        "redacted": redacted,
        "transcript_path": call.event.transcript_path,
        "folder": next(iter(origin["folders"]), None),
        "args": args,
    }
    spool.write(call.home, envelope, time_ns)
