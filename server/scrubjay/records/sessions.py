"""Sessions that a host kept: which of their turns are new here, and what they add to those that are known."""

import asyncio
from collections.abc import Iterable
from datetime import datetime

from scrubjay.models.envelopes import Envelope
from scrubjay.models.records import Turn
from scrubjay.models.requests import KeptSession, KeptSessions, RecordTurn, parse
from scrubjay.models.results import SessionRecorded, SessionsRecorded
from scrubjay.records.passages import passages_of
from scrubjay.records.turns import new_turn, summary_of, turn_id
from scrubjay.store.changes import Change, Plan
from scrubjay.store.store import Store
from scrubjay.text.transcripts import placed

# Seconds between the prompt of a turn and the same prompt in the host's file, where no words or ids tell: one
# that was deleted for good must not come back. A hook runs while the host writes.
SAME_MOMENT = 10.0


Key = tuple[str, str]  # scope and id of a session


async def plan_sessions(store: Store, envelope: Envelope, now: datetime) -> Plan[SessionsRecorded]:
    """Plan the recording of sessions that hooks may have recorded in part, by other keys.

    A turn is known by its prompt_id, else by its words: those of a recorded turn, or a part of them, near in
    time. It completes a known turn that lacks its answer, or has the end of it alone; nothing known is
    changed otherwise, and nothing that was forgotten comes back.
    """
    request = parse(KeptSessions, envelope.args)
    sessions = await store.sessions.of((kept.scope, kept.session_id) for kept in request.sessions)
    rows = await store.get(Turn, [turn_id for session in sessions.values() for turn_id in session.positions])
    recorded = {
        key: [rows[turn_id] for turn_id in session.positions if turn_id in rows]
        for key, session in sessions.items()
    }
    # In a thread, because many turns take a while, in which others want their answers.
    return await asyncio.to_thread(_compared, envelope, request, recorded, now)


def _compared(
    envelope: Envelope, request: KeptSessions, recorded: dict[Key, list[Turn]], now: datetime
) -> Plan[SessionsRecorded]:
    known = {turn.id for turns in recorded.values() for turn in turns}
    changed: dict[str, Turn] = {}
    answers = []
    for kept in request.sessions:
        turns = recorded[kept.scope, kept.session_id]  # with what another part of the session brought
        its = envelope.model_copy(update={"scope": kept.scope, "host": kept.host})
        new, answer = _of_one(its, kept, turns, now)
        changed |= new
        turns[:] = [new.pop(turn.id, turn) for turn in turns] + list(new.values())
        answers.append(answer)
    changes = [Change(turn, passages_of(turn), rewritten=turn.id in known) for turn in changed.values()]
    whole = SessionsRecorded(sessions=tuple(answers))
    return Plan(changes[0] if changes else None, whole, tuple(changes[1:]))


def _of_one(
    envelope: Envelope, kept: KeptSession, recorded: list[Turn], now: datetime
) -> tuple[dict[str, Turn], SessionRecorded]:
    """The turns of a session that are new or say more than the recorded ones, by id; and how many."""
    known = {turn.id for turn in recorded}
    number = max((turn.turn for turn in recorded), default=-1) + 1
    turns: dict[str, Turn] = {}
    asked = added = completed = 0
    for told, here in zip(kept.turns, _known(kept, recorded), strict=True):
        if kept.since is not None and told.ts is not None and told.ts < kept.since:
            continue
        asked += 1
        same = here or turns.get(turn_id(envelope, told))
        if same is None:
            turn = new_turn(envelope, told, number, now)
            turns[turn.id] = turn
            number, added = number + 1, added + 1
        else:
            latest = turns.get(same.id, same)
            fuller = _completed(latest, told, now)
            if fuller is not latest:
                turns[same.id] = fuller
                completed += same.id in known and latest is same
    answer = SessionRecorded(
        scope=kept.scope,
        session_id=kept.session_id,
        added=added,
        completed=completed,
        known=asked - added - completed,
        redacted=kept.redacted if added or completed else 0,
    )
    return turns, answer


def _known(kept: KeptSession, recorded: list[Turn]) -> list[Turn | None]:
    """Find for each turn the recorded one that it is, None for a new one."""
    others = set(kept.others)
    mine = [turn for turn in recorded if turn.prompt_id not in others]  # what another part of the session is
    told = [
        {
            "prompt_id": turn.prompt_id,
            "uuid": None,
            "prompts": [turn.user or ""],
            "at": turn.ts.timestamp() if turn.ts else None,
        }
        for turn in kept.turns
    ]
    places = placed(told, [(turn.prompt_id, turn.user, turn.started_at.timestamp()) for turn in mine])
    gone = [turn for turn in mine if turn.purged_at is not None]
    return [
        mine[place] if place is not None else said_at(turn.ts, gone)
        for turn, place in zip(kept.turns, places, strict=True)
    ]


def said_at(at: datetime | None, turns: Iterable[Turn]) -> Turn | None:
    """Return the one of these turns that was said at this time, to some seconds, if any."""
    if at is None:
        return None
    moments = ((abs((turn.started_at - at).total_seconds()), turn.turn, turn) for turn in turns)
    nearest = min(moments, default=None)
    return nearest[2] if nearest and nearest[0] <= SAME_MOMENT else None


def _completed(turn: Turn, told: RecordTurn, now: datetime) -> Turn:
    """Return the known turn with what it lacks; the very same object if it lacks nothing."""
    if turn.purged_at is not None or turn.forgotten_at is not None:
        return turn
    known, whole = "".join((turn.assistant or "").split()), "".join((told.assistant or "").split())
    longer = len(known) < len(whole) and known in whole
    completed = turn.model_copy(
        update={
            "user": turn.user or told.user,
            "assistant": told.assistant if longer else turn.assistant,
            "tools": tuple(dict.fromkeys((*turn.tools, *told.tools))),
            "files": tuple(dict.fromkeys((*turn.files, *told.files))),
            "metadata": {**told.metadata, **turn.metadata},
        }
    )
    if completed == turn:
        return turn
    if turn.summary == summary_of(turn):
        completed = completed.model_copy(update={"summary": summary_of(completed)})
    return completed.model_copy(update={"updated_at": now})
