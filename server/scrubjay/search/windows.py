"""Windows: the turns before and after a record in its session, or facts in place of such turns."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from scrubjay.models.records import Memory
from scrubjay.search.retrieval.candidates import Candidate
from scrubjay.search.retrieval.query import Question
from scrubjay.store import conditions
from scrubjay.store.sessions import Key, Session
from scrubjay.store.store import Store

# The columns that give a fact's place in a session.
_COLUMNS = ["id", "scope", "session_id", "turn", "partition_id"]


@dataclass(frozen=True)
class Windows:
    """The windows of records by id, nearest first: ids of turns, or facts if no turn was recorded."""

    turns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    facts: Mapping[str, Sequence[Memory]] = field(default_factory=dict)


async def windows(
    store: Store,
    question: Question,
    rows: Iterable[Candidate],
    facts: Iterable[Memory],
    *,
    before: int,
    after: int,
) -> Windows:
    """Find the windows of the turns in `rows`, and of the facts that name their turn.

    A window has `before` and `after` turns of the same scope and session. If the turn of a fact was not
    recorded, the facts of its session and partition replace turns, ordered by the turns that they name; other
    facts of the same turn are included.
    """
    turns = [row for row in rows if row.src == "turn" and row.session_id is not None]
    with_turn = [fact for fact in facts if fact.session_id is not None and fact.turn is not None]
    centres: list[tuple[str, Key, int | None]] = [
        *((row.id, (row.scope, row.session_id or ""), None) for row in turns),
        *((fact.id, _key(fact), fact.turn) for fact in with_turn),
    ]
    sessions = await store.sessions.of(key for _, key, _ in centres)
    visible = {key: question.visible_turns(session) for key, session in sessions.items()}
    position_of = {record_id: _position(visible[key], record_id, turn) for record_id, key, turn in centres}
    nearest = {
        record_id: _turns_around(visible[key], position, before, after)
        for record_id, key, _ in centres
        if (position := position_of[record_id]) is not None
    }
    unrecorded = [fact for fact in with_turn if position_of[fact.id] is None]
    return Windows(
        nearest, await _facts_around(store, question, unrecorded, before, after) if unrecorded else {}
    )


def _position(session: Session, record_id: str, turn: int | None) -> int | None:
    """Return the position of the turn with this id or, for a fact, with this number."""
    if turn is None:
        return session.positions.get(record_id)
    return next((at for at, place in enumerate(session.places) if place.turn == turn), None)


def nearest_first(length: int, at: int, before: int, after: int) -> list[int]:
    """Return the positions around `at` in a session of `length` turns, nearest first, itself included.

    >>> nearest_first(5, 1, before=2, after=2)
    [1, 0, 2, 3]
    """
    positions = range(max(0, at - before), min(length, at + after + 1))
    return sorted(positions, key=lambda position: abs(position - at))


def _turns_around(session: Session, at: int, before: int, after: int) -> list[str]:
    ids = [session.places[n].id for n in nearest_first(len(session.places), at, before, after)]
    return [turn_id for turn_id in ids if turn_id != session.places[at].id]


async def _facts_around(
    store: Store, question: Question, facts: Sequence[Memory], before: int, after: int
) -> dict[str, list[Memory]]:
    sessions: dict[tuple[Key, str], dict[int, list[str]]] = {}
    for row in await _facts_of_sessions(store, question, facts):
        turns = sessions.setdefault((_key(row), row.partition_id), {})
        turns.setdefault(row.turn or 0, []).append(row.id)
    nearest: dict[str, list[str]] = {}
    for fact in facts:
        session = sessions.get((_key(fact), fact.partition_id), {})
        numbers = sorted({*session, fact.turn or 0})
        positions = nearest_first(len(numbers), numbers.index(fact.turn or 0), before, after)
        ids = [other for n in positions for other in session.get(numbers[n], ())]
        nearest[fact.id] = [other for other in ids if other != fact.id]
    rows = await store.get(Memory, [other for ids in nearest.values() for other in ids])
    return {
        fact_id: [rows[other] for other in ids if other in rows and question.admits(rows[other])]
        for fact_id, ids in nearest.items()
    }


async def _facts_of_sessions(store: Store, question: Question, facts: Iterable[Memory]) -> list[Memory]:
    """Read `_COLUMNS` of the latest versions of all facts that name a turn in the sessions of these facts.

    The caller of the search has committed everything, so the table has all facts.
    """
    visible = conditions.both(conditions.NOT_FORGOTTEN, conditions.unexpired(question.as_of or question.now))
    where = conditions.both(
        conditions.one_of("session_id", {fact.session_id or "" for fact in facts}),
        conditions.present("turn"),
        conditions.LATEST,
        conditions.NOT_A_SUMMARY,
        None if question.forgotten else visible,
    )
    return await store.select(Memory, where, columns=_COLUMNS)


def _key(fact: Memory) -> Key:
    return (fact.scope, fact.session_id or "")
