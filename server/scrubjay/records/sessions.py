"""Sessions that a host stored: which turns are new, and what the others add to recorded turns."""

import asyncio
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable
from datetime import datetime

from scrubjay.models.envelopes import Envelope
from scrubjay.models.kept import KeptSession, KeptSessions
from scrubjay.models.records import Turn
from scrubjay.models.requests import RecordTurn, parse
from scrubjay.models.results import SessionRecorded, SessionsRecorded
from scrubjay.records.passages import record_change
from scrubjay.records.turns import new_turn, turn_id, with_more
from scrubjay.store import conditions
from scrubjay.store.changes import Plan
from scrubjay.store.schema import micros
from scrubjay.store.store import Store
from scrubjay.transcripts.matching import SAME_MOMENT, placed
from scrubjay.transcripts.turn import ANSWER_KEY, HOST_WORDS, PROMPT_KEY

BEFORE = 3  # recorded turns before a part of a session that are compared with it too
_GLOBAL_LENGTH = 30  # characters of a prompt_id that is unique across sessions, such as a UUID
_PERIOD_GAP = 3_600_000_000  # microseconds; turns closer than this are looked up in one period
_MOMENT = int(SAME_MOMENT * 1_000_000)  # microseconds
# The columns that show whether a recorded turn may be one of the host's turns.
_MATCH_COLUMNS = ["id", "session_id", "prompt_id", "started_at"]


async def plan_sessions(store: Store, envelope: Envelope, now: datetime) -> Plan[SessionsRecorded]:
    """Plan the recording of sessions that hooks may have recorded in part, under other keys.

    A turn is recognised by its prompt_id, else by its words, which are all or a part of the words of a
    recorded turn at nearly the same time. That turn may belong to a session that this one was forked from. It
    is completed if its answer is missing or has only its end. Forgotten turns do not come back.
    """
    request = parse(KeptSessions, envelope.args)
    recorded = await _candidates(store, request.sessions)
    # In a thread, because comparing many turns takes a while and would block other requests.
    return await asyncio.to_thread(_plan, envelope, request, recorded, now)


async def _candidates(store: Store, sessions: Iterable[KeptSession]) -> dict[str, Turn]:
    """Return the recorded turns that may match: by session, by prompt_id, or by time."""
    session_ids = {session.session_id for session in sessions}
    prompt_ids = {turn.prompt_id for session in sessions for turn in session.turns if turn.prompt_id}
    moments = sorted({micros(turn.ts) for session in sessions for turn in session.turns if turn.ts})

    def may_match(turn: Turn) -> bool:
        moment = micros(turn.started_at)
        next_index = bisect_left(moments, moment - _MOMENT)
        is_near = next_index < len(moments) and moments[next_index] <= moment + _MOMENT
        return turn.session_id in session_ids or turn.prompt_id in prompt_ids or is_near

    where = conditions.either(
        conditions.one_of("session_id", session_ids),
        conditions.one_of("prompt_id", prompt_ids),
        *(
            conditions.both(
                conditions.number("started_at", ">=", first - _MOMENT),
                conditions.number("started_at", "<=", last + _MOMENT),
            )
            for first, last in _periods(moments)
        ),
    )
    rows = await store.select_newest(Turn, where, may_match, columns=_MATCH_COLUMNS)
    return await store.get(Turn, [row.id for row in rows])


def _periods(moments: list[int]) -> list[tuple[int, int]]:
    """Return the first and last moment of each run of moments that are near each other."""
    periods: list[tuple[int, int]] = []
    for moment in moments:
        if periods and moment - periods[-1][1] <= _PERIOD_GAP:
            periods[-1] = periods[-1][0], moment
        else:
            periods.append((moment, moment))
    return periods


class _TurnIndex:
    """Recorded and new turns, indexed by session, by prompt_id and by time."""

    def __init__(self, turns: Iterable[Turn]) -> None:
        self.by_id: dict[str, Turn] = {}
        # By session, prompt_id, and the number of `_MOMENT` intervals since 1970.
        self._ids: dict[tuple[str, str | int | None], list[str]] = defaultdict(list)
        for turn in turns:
            self.put(turn)

    def put(self, turn: Turn) -> None:
        """Add a new turn, or replace a turn by its completed version."""
        if turn.id not in self.by_id:
            moment = micros(turn.started_at) // _MOMENT
            for key in (("session", turn.session_id), ("prompt", turn.prompt_id), ("moment", moment)):
                self._ids[key].append(turn.id)
        self.by_id[turn.id] = turn

    def of(self, session_id: str) -> list[Turn]:
        """Return the turns of a session, in order of time."""
        turns = (self.by_id[turn_id] for turn_id in self._ids["session", session_id])
        return sorted(turns, key=lambda turn: (turn.started_at, turn.turn))

    def original(
        self, host_turn: RecordTurn, host: str, own_ids: Collection[str], is_timed: bool
    ) -> Turn | None:
        """Return the turn of another session that a host's turn copies; `own_ids` are in the same session."""
        ids = [*self._ids["prompt", host_turn.prompt_id]] if host_turn.prompt_id else []
        if host_turn.ts is not None and is_timed:
            moment = micros(host_turn.ts) // _MOMENT
            for near in range(moment - 1, moment + 2):
                ids += self._ids["moment", near]
        turns = (self.by_id[each] for each in ids if each not in own_ids)
        return next((turn for turn in turns if _is_copy(turn, host_turn, host)), None)


def _has_same_prompt_id(turn: Turn, host_turn: RecordTurn, host: str | None) -> bool:
    """Return True if a turn of another session has the same prompt_id because one is a copy of the other.

    Hosts that number their turns use the same prompt_ids in each session. There, a copy comes from the same
    host with the same prompt and answer; without an answer, it also has the same time. A permanently deleted
    turn has no words and no host.
    """
    if host_turn.prompt_id is None or turn.prompt_id != host_turn.prompt_id:
        return False
    if len(host_turn.prompt_id) >= _GLOBAL_LENGTH:
        return True
    is_near = _nearest(host_turn.ts, [turn]) is not None
    if turn.purged_at is not None:
        return is_near
    return (
        turn.host in (None, host) and (is_near or bool(turn.assistant)) and _has_same_words(turn, host_turn)
    )


def _is_copy(turn: Turn, host_turn: RecordTurn, host: str) -> bool:
    """Return True if a host's turn is a copy of this turn: a fork copies ids, or words and times.

    A turn from a hook has the hook's time.
    """
    if _has_same_prompt_id(turn, host_turn, host):
        return True
    if host_turn.ts is None or turn.host not in (None, host):
        return False
    seconds = abs((turn.started_at - host_turn.ts).total_seconds())
    if turn.purged_at is not None:
        return seconds == 0
    limit = SAME_MOMENT if turn.source == "hook:stop" else 0.001  # hosts count milliseconds
    return seconds <= limit and _has_same_words(turn, host_turn)


def _has_same_words(turn: Turn, host_turn: RecordTurn) -> bool:
    texts = (host_turn.user, turn.assistant, host_turn.assistant)
    host_prompt, answer, host_answer = map(_without_spaces, texts)
    return host_prompt == _without_spaces(turn.user) and (answer in host_answer or host_answer in answer)


def _without_spaces(text: str | None) -> str:
    return "".join((text or "").split())


def _plan(
    envelope: Envelope, request: KeptSessions, recorded: dict[str, Turn], now: datetime
) -> Plan[SessionsRecorded]:
    index, results = _TurnIndex(recorded.values()), []
    for session in request.sessions:
        session_envelope = envelope.model_copy(update={"scope": session.scope, "host": session.host})
        results.append(_record_session(session_envelope, session, index, now))
    changes = [
        record_change(turn, is_known=turn.id in recorded)
        for turn in index.by_id.values()
        if turn is not recorded.get(turn.id)
    ]
    return Plan(SessionsRecorded(sessions=tuple(results)), changes)


def has_news(session: KeptSession, recorded: list[Turn], now: datetime) -> bool:
    """Return True if a host's session has a turn that is not recorded, or more text of a recorded one."""
    pairs = _pairs(session, _matches(session, recorded))
    return any(turn is None or _complete(turn, host_turn, "", now) is not turn for turn, host_turn in pairs)


def _record_session(
    envelope: Envelope, session: KeptSession, index: _TurnIndex, now: datetime
) -> SessionRecorded:
    """Add the new turns of a session to the index, complete the recorded ones, and return the counts."""
    same_session = [
        turn
        for turn in index.of(session.session_id)
        if turn.scope == session.scope or turn.host in (None, session.host)
    ]
    own_ids = {turn.id for turn in same_session}
    next_number = max((turn.turn for turn in same_session if turn.scope == session.scope), default=-1) + 1
    untimed = set(session.untimed)
    completed: set[str] = set()
    added: set[str] = set()
    for match, host_turn in _pairs(session, _matches(session, same_session)):
        if not _is_requested(host_turn, session):
            continue
        existing = index.by_id.get(match.id if match else turn_id(envelope, host_turn))
        is_timed = host_turn.prompt_id not in untimed
        existing = existing or index.original(host_turn, session.host, own_ids, is_timed)
        if existing is None:
            turn = new_turn(envelope, host_turn, next_number, now)
            next_number += 1
            added.add(turn.id)
            own_ids.add(turn.id)
            index.put(turn)
        elif (completed_turn := _complete(existing, host_turn, envelope.source, now)) is not existing:
            index.put(completed_turn)
            if existing.id not in added:
                completed.add(existing.id)
    return SessionRecorded(
        scope=session.scope,
        session_id=session.session_id,
        added=len(added),
        completed=len(completed),
        known=sum(_is_requested(each, session) for each in session.turns) - len(added) - len(completed),
        redacted=session.redacted if added or completed else 0,
    )


def _is_requested(host_turn: RecordTurn, session: KeptSession) -> bool:
    """Return True if a turn is to be recorded; turns before `since` only serve to identify others."""
    return session.since is None or host_turn.ts is None or host_turn.ts >= session.since


def _matches(session: KeptSession, recorded: list[Turn]) -> list[Turn | None]:
    """Return for each turn of a host's session the recorded turn that matches it, or None for a new one.

    A turn is matched by its id or words; else by its answer, if the hook had only that; else by its time,
    because some hosts give their hooks other words than they store, and permanently deleted turns lack words.
    """
    other_ids = set(session.others)  # ids of turns in another part of the session
    candidates = [turn for turn in _since(session, recorded) if turn.prompt_id not in other_ids]
    fields = [
        {
            "prompt_id": turn.prompt_id,
            "uuid": None,
            "prompts": [turn.user or ""],
            "at": turn.ts.timestamp() if turn.ts and turn.prompt_id not in session.untimed else None,
        }
        for turn in session.turns
    ]
    indexes = placed(
        fields, [(turn.prompt_id, turn.user, turn.started_at.timestamp()) for turn in candidates]
    )
    matched_ids = {candidates[index].id for index in indexes if index is not None}
    unmatched = [turn for turn in candidates if turn.id not in matched_ids]
    new_turns = [turn for turn, index in zip(session.turns, indexes, strict=True) if index is None]
    by_answer = _by_answer(new_turns, unmatched)

    def fallback(turn: RecordTurn) -> Turn | None:
        is_timed = turn.prompt_id not in session.untimed
        by_time = [each for each in unmatched if each.purged_at or (is_timed and _has_generated_id(each))]
        return by_answer.get(turn.prompt_id) or _nearest(turn.ts, by_time) or _purged_before(turn, candidates)

    return [
        candidates[index] if index is not None else fallback(turn)
        for turn, index in zip(session.turns, indexes, strict=True)
    ]


def _since(session: KeptSession, recorded: list[Turn]) -> list[Turn]:
    """Return the recorded turns that a part of a session may match, in order of time.

    Much earlier turns are omitted, because they may have the same words by chance; the last ones before the
    part may hold prompts that were queued.
    """
    times = [turn.ts for turn in session.turns]
    if session.untimed or None in times:
        return recorded
    first = min(filter(None, times))
    return recorded[max(0, bisect_left(recorded, first, key=lambda turn: turn.started_at) - BEFORE) :]


def _has_generated_id(turn: Turn) -> bool:
    """Return True if the host gave a turn no prompt_id, so that Scrubjay made one."""
    return (turn.prompt_id or PROMPT_KEY).startswith((PROMPT_KEY, ANSWER_KEY))


def _by_answer(turns: list[RecordTurn], recorded: list[Turn]) -> dict[str | None, Turn]:
    """Return recorded turns without a prompt, by the prompt_id of the only turn with the same answer."""
    matches: dict[str | None, Turn] = {}
    for candidate in recorded:
        if not candidate.user and candidate.assistant:
            answer = _without_spaces(candidate.assistant)
            with_answer = [each for each in turns if answer in _without_spaces(each.assistant)]
            if len(with_answer) == 1:
                matches[with_answer[0].prompt_id] = candidate
    return matches


def _purged_before(host_turn: RecordTurn, turns: list[Turn]) -> Turn | None:
    """Return the turn before this one if it was permanently deleted, because it may include this prompt.

    A hook joins prompts that were queued.
    """
    if host_turn.ts is None:
        return None
    earlier = [turn for turn in turns if (turn.started_at - host_turn.ts).total_seconds() <= SAME_MOMENT]
    last = max(earlier, key=lambda turn: turn.started_at, default=None)
    return last if last and last.purged_at and (last.source or "").startswith("hook") else None


def _pairs(session: KeptSession, matches: list[Turn | None]) -> list[tuple[Turn | None, RecordTurn]]:
    """Pair each turn with its match; join turns with the same match, whose prompts were queued."""
    groups: dict[str, tuple[Turn | None, list[RecordTurn]]] = {}
    for number, (host_turn, match) in enumerate(zip(session.turns, matches, strict=True)):
        groups.setdefault(match.id if match else str(number), (match, []))[1].append(host_turn)
    return [(match, _join(turns) if len(turns) > 1 else turns[0]) for match, turns in groups.values()]


def _join(turns: list[RecordTurn]) -> RecordTurn:
    def texts(name: str) -> str | None:
        return "\n\n".join(dict.fromkeys(filter(None, (getattr(turn, name) for turn in turns)))) or None

    def labels(name: str) -> list[str]:
        return list(dict.fromkeys(label for turn in turns for label in getattr(turn, name)))

    metadata = {name: value for turn in turns for name, value in turn.metadata.items()}
    changes = {"user": texts("user"), "assistant": texts("assistant"), "metadata": metadata}
    return turns[0].model_copy(update={**changes, "tools": labels("tools"), "files": labels("files")})


def _nearest(moment: datetime | None, turns: Iterable[Turn]) -> Turn | None:
    """Return the turn nearest to this moment, within `SAME_MOMENT`, or None."""
    if moment is None:
        return None
    distances = ((abs((turn.started_at - moment).total_seconds()), turn.turn, turn) for turn in turns)
    closest = min(distances, default=None)
    return closest[2] if closest and closest[0] <= SAME_MOMENT else None


def _complete(turn: Turn, host_turn: RecordTurn, source: str, now: datetime) -> Turn:
    """Return a recorded turn completed from the host's turn; the same object if it lacks nothing.

    A copy may have the time of its fork: of two times from the same source, the earlier one is right.
    """
    if turn.purged_at is not None or turn.forgotten_at is not None:
        return turn
    recorded_answer, full_answer = _without_spaces(turn.assistant), _without_spaces(host_turn.assistant)
    is_longer = len(recorded_answer) < len(full_answer) and recorded_answer in full_answer
    has_more_prompt = not turn.user or (host_turn.user or "").startswith(f"{turn.user}\n\n")
    is_copied = (turn.source, turn.prompt_id) == (source, host_turn.prompt_id)
    names = {name for name, _ in HOST_WORDS.values()}  # a host rewrites these texts about the session
    host_texts = {name: value for name, value in host_turn.metadata.items() if name in names}
    values = {
        "user": host_turn.user if has_more_prompt else turn.user,
        "assistant": host_turn.assistant if is_longer else turn.assistant,
        "tools": tuple(dict.fromkeys((*turn.tools, *host_turn.tools))),
        "files": tuple(dict.fromkeys((*turn.files, *host_turn.files))),
        "metadata": {**host_turn.metadata, **turn.metadata, **host_texts},
        "started_at": min(turn.started_at, host_turn.ts) if is_copied and host_turn.ts else turn.started_at,
    }
    return with_more(turn, values, now)
