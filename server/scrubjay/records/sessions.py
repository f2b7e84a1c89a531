"""Sessions that a host stored: which turns are new, and what they add to recorded turns."""

import asyncio
from bisect import bisect_left
from collections.abc import Collection, Iterable
from datetime import datetime

from scrubjay.models.envelopes import Envelope
from scrubjay.models.kept import KeptSession, KeptSessions
from scrubjay.models.records import Turn
from scrubjay.models.requests import RecordTurn, parse
from scrubjay.models.results import SessionRecorded, SessionsRecorded
from scrubjay.records.passages import written
from scrubjay.records.turns import new_turn, turn_id, with_more
from scrubjay.store import conditions
from scrubjay.store.changes import Plan
from scrubjay.store.schema import micros
from scrubjay.store.store import Store
from scrubjay.transcripts.matching import SAME_MOMENT, placed
from scrubjay.transcripts.turn import ANSWER_KEY, HOST_WORDS, PROMPT_KEY

BEFORE = 3  # recorded turns before the first of a session's part that are compared with it, too
_GLOBAL = 30  # characters of an id that no two sessions give, as those of a UUID
_TOGETHER = 3_600_000_000  # microseconds between two turns that are looked up as of one period
_MOMENT = int(SAME_MOMENT * 1_000_000)
# What tells whether a recorded turn may be one of those that are told.
_PLACE = ["id", "session_id", "prompt_id", "started_at"]


async def plan_sessions(store: Store, envelope: Envelope, now: datetime) -> Plan[SessionsRecorded]:
    """Plan the recording of sessions that hooks may have recorded in part, by other keys.

    A turn is known by its prompt_id, else by its words: those of a recorded turn, or a part of them, near in
    time. It may be recorded in another session that this one is a fork of. It completes a known turn that
    lacks its answer, or has the end of it alone; nothing known is changed otherwise, and nothing that was
    forgotten comes back.
    """
    request = parse(KeptSessions, envelope.args)
    recorded = await _recorded(store, request.sessions)
    # In a thread, because many turns take a while, in which others want their answers.
    return await asyncio.to_thread(_compared, envelope, request, recorded, now)


async def _recorded(store: Store, sessions: Iterable[KeptSession]) -> dict[str, Turn]:
    """The recorded turns that these may be: of their sessions, by their names, or of the same moments."""
    ids = {kept.session_id for kept in sessions}
    names = {turn.prompt_id for kept in sessions for turn in kept.turns if turn.prompt_id}
    moments = sorted({micros(turn.ts) for kept in sessions for turn in kept.turns if turn.ts})

    def may_be(turn: Turn) -> bool:
        at = micros(turn.started_at)
        place = bisect_left(moments, at - _MOMENT)
        is_near = place < len(moments) and moments[place] <= at + _MOMENT
        return turn.session_id in ids or turn.prompt_id in names or is_near

    where = conditions.either(
        conditions.one_of("session_id", ids),
        conditions.one_of("prompt_id", names),
        *(
            conditions.both(
                conditions.number("started_at", ">=", first - _MOMENT),
                conditions.number("started_at", "<=", last + _MOMENT),
            )
            for first, last in _periods(moments)
        ),
    )
    places = await store.select_newest(Turn, where, may_be, columns=_PLACE)
    return await store.get(Turn, [place.id for place in places])


def _periods(moments: list[int]) -> list[tuple[int, int]]:
    """The first and the last of each run of moments that are near each other."""
    periods: list[tuple[int, int]] = []
    for at in moments:
        if periods and at - periods[-1][1] <= _TOGETHER:
            periods[-1] = periods[-1][0], at
        else:
            periods.append((at, at))
    return periods


class _Recorded:
    """The recorded turns by what tells that they are known, with those that are new."""

    def __init__(self, turns: Iterable[Turn]) -> None:
        self.by_id: dict[str, Turn] = {}
        self._sessions: dict[str, list[str]] = {}
        self._names: dict[str, list[str]] = {}
        self._moments: dict[int, list[str]] = {}  # by the number of the moment since 1970
        for turn in turns:
            self.put(turn)

    def put(self, turn: Turn) -> None:
        """Take a turn that is new, or says more now."""
        if turn.id not in self.by_id:
            self._sessions.setdefault(turn.session_id, []).append(turn.id)
            self._names.setdefault(turn.prompt_id or "", []).append(turn.id)
            self._moments.setdefault(micros(turn.started_at) // _MOMENT, []).append(turn.id)
        self.by_id[turn.id] = turn

    def of(self, session_id: str) -> list[Turn]:
        """The turns of a session, in order of time."""
        turns = (self.by_id[each] for each in self._sessions.get(session_id, ()))
        return sorted(turns, key=lambda turn: (turn.started_at, turn.turn))

    def copied(self, told: RecordTurn, host: str, own: Collection[str], is_timed: bool) -> Turn | None:
        """Return the turn of another session (not `own`) that this turn copies."""
        ids = list(self._names.get(told.prompt_id or "-", ()))
        if told.ts is not None and is_timed:
            moment = micros(told.ts) // _MOMENT
            ids += [each for near in range(moment - 1, moment + 2) for each in self._moments.get(near, ())]
        turns = (self.by_id[each] for each in ids)
        return next(
            (turn for turn in turns if turn.id not in own and _is_copy(turn, told, host)),
            None,
        )


def _has_name(turn: Turn, told: RecordTurn, host: str | None) -> bool:
    """Return True if a turn of another session has the name of this one because one is a copy of the other.

    Hosts that count their turns give the same names in each session. There a copy has the same time, or is of
    the same host and answers the same prompt with the same words.
    """
    if told.prompt_id is None or turn.prompt_id != told.prompt_id:
        return False
    if len(told.prompt_id) >= _GLOBAL or _said_at(told.ts, [turn]) is not None:
        return True
    return turn.host in (None, host) and bool(turn.assistant) and _same_words(turn, told)


def _is_copy(turn: Turn, told: RecordTurn, host: str) -> bool:
    """Return True if a turn of another session is a recorded one: a fork copies ids, or words and times.

    The time of a turn that a hook recorded is the hook's. A permanently deleted turn has no words or host.
    """
    if _has_name(turn, told, host):
        return True
    if told.ts is None or turn.host not in (None, host):
        return False
    apart = abs((turn.started_at - told.ts).total_seconds())
    if turn.purged_at is not None:
        return apart == 0
    limit = SAME_MOMENT if turn.source == "hook:stop" else 0.001  # hosts count milliseconds
    return apart <= limit and _same_words(turn, told)


def _same_words(turn: Turn, told: RecordTurn) -> bool:
    words, answer, whole = map(_letters, (told.user, turn.assistant, told.assistant))
    return words == _letters(turn.user) and (answer in whole or whole in answer)


def _letters(text: str | None) -> str:
    return "".join((text or "").split())


def _compared(
    envelope: Envelope, request: KeptSessions, recorded: dict[str, Turn], now: datetime
) -> Plan[SessionsRecorded]:
    turns, answers = _Recorded(recorded.values()), []
    for kept in request.sessions:
        its = envelope.model_copy(update={"scope": kept.scope, "host": kept.host})
        answers.append(_of_one(its, kept, turns, now))
    changes = [
        written(turn, is_known=turn.id in recorded)
        for turn in turns.by_id.values()
        if turn is not recorded.get(turn.id)
    ]
    return Plan(SessionsRecorded(sessions=tuple(answers)), changes)


def has_news(kept: KeptSession, recorded: list[Turn], now: datetime) -> bool:
    """Return True if a kept session has a turn that its recorded turns lack, or more of one."""
    pairs = _together(kept, _known(kept, recorded))
    return any(turn is None or _completed(turn, told, "", now) is not turn for turn, told in pairs)


def _of_one(envelope: Envelope, kept: KeptSession, recorded: _Recorded, now: datetime) -> SessionRecorded:
    """Add the turns of a session that are new or say more than the recorded ones; return how many."""
    here = [
        turn
        for turn in recorded.of(kept.session_id)
        if turn.scope == kept.scope or turn.host in (None, kept.host)
    ]
    own = {turn.id for turn in here}
    number = max((turn.turn for turn in here if turn.scope == kept.scope), default=-1) + 1
    untimed = set(kept.untimed)
    completed: set[str] = set()
    added: set[str] = set()
    for known, told in _together(kept, _known(kept, here)):
        if not _is_asked(told, kept):
            continue
        same = recorded.by_id.get(known.id if known else turn_id(envelope, told))
        same = same or recorded.copied(told, kept.host, own, told.prompt_id not in untimed)
        if same is None:
            turn = new_turn(envelope, told, number, now)
            number += 1
            added.add(turn.id)
            own.add(turn.id)
            recorded.put(turn)
        elif (fuller := _completed(same, told, envelope.source, now)) is not same:
            recorded.put(fuller)
            if same.id not in added:
                completed.add(same.id)
    return SessionRecorded(
        scope=kept.scope,
        session_id=kept.session_id,
        added=len(added),
        completed=len(completed),
        known=sum(_is_asked(told, kept) for told in kept.turns) - len(added) - len(completed),
        redacted=kept.redacted if added or completed else 0,
    )


def _is_asked(told: RecordTurn, kept: KeptSession) -> bool:
    return kept.since is None or told.ts is None or told.ts >= kept.since


def _known(kept: KeptSession, recorded: list[Turn]) -> list[Turn | None]:
    """Return for each turn the recorded turn of its session that it is, or None for a new one.

    A turn is known by its id or words; else by its answer, if the hook had only that; else by its time,
    because some hosts write other words than they give their hooks, and a permanently deleted turn has none.
    """
    others = set(kept.others)  # turns of another part of the session
    mine = [turn for turn in _since(kept, recorded) if turn.prompt_id not in others]
    told = [
        {
            "prompt_id": turn.prompt_id,
            "uuid": None,
            "prompts": [turn.user or ""],
            "at": turn.ts.timestamp() if turn.ts and turn.prompt_id not in kept.untimed else None,
        }
        for turn in kept.turns
    ]
    places = placed(told, [(turn.prompt_id, turn.user, turn.started_at.timestamp()) for turn in mine])
    taken = {mine[place].id for place in places if place is not None}
    left = [turn for turn in mine if turn.id not in taken]
    unknown = [turn for turn, place in zip(kept.turns, places, strict=True) if place is None]
    answered = _by_answer(unknown, left)

    def known(turn: RecordTurn) -> Turn | None:
        is_timed = turn.prompt_id not in kept.untimed
        nameless = [each for each in left if each.purged_at or (is_timed and _has_own_key(each))]
        return answered.get(turn.prompt_id) or _said_at(turn.ts, nameless) or _queued_for_purged(turn, mine)

    return [
        mine[place] if place is not None else known(turn)
        for turn, place in zip(kept.turns, places, strict=True)
    ]


def _since(kept: KeptSession, recorded: list[Turn]) -> list[Turn]:
    """Return the recorded turns, in order of time, that a part of a session may be: not those long before it.

    Earlier turns may have the same words. The last ones before it may hold prompts that were queued.
    """
    times = [turn.ts for turn in kept.turns]
    if kept.untimed or None in times:
        return recorded
    first = min(filter(None, times))
    return recorded[max(0, bisect_left(recorded, first, key=lambda turn: turn.started_at) - BEFORE) :]


def _has_own_key(turn: Turn) -> bool:
    return (turn.prompt_id or PROMPT_KEY).startswith((PROMPT_KEY, ANSWER_KEY))


def _by_answer(told: list[RecordTurn], recorded: list[Turn]) -> dict[str | None, Turn]:
    """Find recorded turns without a prompt by their answers, if just one turn has that answer."""
    found: dict[str | None, Turn] = {}
    for turn in recorded:
        if not turn.user and turn.assistant:
            answer = _letters(turn.assistant)
            having = [each for each in told if answer in _letters(each.assistant)]
            if len(having) == 1:
                found[having[0].prompt_id] = turn
    return found


def _queued_for_purged(told: RecordTurn, turns: list[Turn]) -> Turn | None:
    """Return the permanently deleted turn before this one, whose hook may have joined both prompts."""
    if told.ts is None:
        return None
    before = [turn for turn in turns if (turn.started_at - told.ts).total_seconds() <= SAME_MOMENT]
    last = max(before, key=lambda turn: turn.started_at, default=None)
    return last if last and last.purged_at and (last.source or "").startswith("hook") else None


def _together(kept: KeptSession, known: list[Turn | None]) -> list[tuple[Turn | None, RecordTurn]]:
    """The turns with what each is known as; those of one recorded turn, whose prompts were queued, joined."""
    pairs: dict[str, tuple[Turn | None, list[RecordTurn]]] = {}
    for number, (told, turn) in enumerate(zip(kept.turns, known, strict=True)):
        pairs.setdefault(turn.id if turn else str(number), (turn, []))[1].append(told)
    return [(turn, _joined(told) if len(told) > 1 else told[0]) for turn, told in pairs.values()]


def _joined(told: list[RecordTurn]) -> RecordTurn:
    def texts(name: str) -> str | None:
        return "\n\n".join(dict.fromkeys(filter(None, (getattr(turn, name) for turn in told)))) or None

    def labels(name: str) -> list[str]:
        return list(dict.fromkeys(label for turn in told for label in getattr(turn, name)))

    metadata = {name: value for turn in told for name, value in turn.metadata.items()}
    changes = {"user": texts("user"), "assistant": texts("assistant"), "metadata": metadata}
    return told[0].model_copy(update={**changes, "tools": labels("tools"), "files": labels("files")})


def _said_at(at: datetime | None, turns: Iterable[Turn]) -> Turn | None:
    """Return the one of these turns that was said at this time, to some seconds, if any."""
    if at is None:
        return None
    moments = ((abs((turn.started_at - at).total_seconds()), turn.turn, turn) for turn in turns)
    nearest = min(moments, default=None)
    return nearest[2] if nearest and nearest[0] <= SAME_MOMENT else None


def _host_words(told: RecordTurn) -> dict[str, object]:
    """Return what a host wrote about the session; it may rewrite that while the session continues."""
    names = {name for name, _ in HOST_WORDS.values()}
    return {name: value for name, value in told.metadata.items() if name in names}


def _completed(turn: Turn, told: RecordTurn, source: str, now: datetime) -> Turn:
    """Return the known turn with what it lacks; the very same object if it lacks nothing.

    A copy may have the time of its fork: of two from the same source, the earlier time is right.
    """
    if turn.purged_at is not None or turn.forgotten_at is not None:
        return turn
    known, whole = _letters(turn.assistant), _letters(told.assistant)
    is_longer = len(known) < len(whole) and known in whole
    has_added = not turn.user or (told.user or "").startswith(f"{turn.user}\n\n")
    is_copied = (turn.source, turn.prompt_id) == (source, told.prompt_id)
    values = {
        "user": told.user if has_added else turn.user,
        "assistant": told.assistant if is_longer else turn.assistant,
        "tools": tuple(dict.fromkeys((*turn.tools, *told.tools))),
        "files": tuple(dict.fromkeys((*turn.files, *told.files))),
        "metadata": {**told.metadata, **turn.metadata, **_host_words(told)},
        "started_at": min(turn.started_at, told.ts) if is_copied and told.ts else turn.started_at,
    }
    return with_more(turn, values, now)
