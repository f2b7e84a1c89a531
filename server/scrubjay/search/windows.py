"""Windows: the turns before and after a record in its session, or facts in place of such turns."""

from collections.abc import Iterable, Sequence
from itertools import chain

from scrubjay.models.records import AnyRecord, Document, Memory, Turn
from scrubjay.search.retrieval.query import Question
from scrubjay.store import conditions
from scrubjay.store.sessions import Key, Session
from scrubjay.store.store import Store

Windows = dict[str, Sequence[Turn | Memory]]  # the neighbours of records, nearest first, by record id


async def windows(
    store: Store, question: Question, records: Iterable[AnyRecord], *, before: int, after: int
) -> Windows:
    """Find the windows of the turns among `records`, and of the facts that name their turn.

    A window has `before` and `after` turns of the same scope and session. If the turn of a fact was not
    recorded, the facts of its session and partition replace turns, ordered by the turns that they name; other
    facts of the same turn are included.
    """
    centres = [
        record
        for record in records
        if not isinstance(record, Document) and None not in (record.session_id, record.turn)
    ]
    sessions = await store.sessions.of(map(_key, centres))
    visible = {key: question.visible_turns(session) for key, session in sessions.items()}
    turn_ids: dict[str, list[str]] = {}
    without_turn: list[Memory] = []
    for record in centres:
        session = visible[_key(record)]
        at = _position(session, record)
        if at is not None:
            positions = nearest_first(len(session.places), at, before, after)
            turn_ids[record.id] = [session.places[n].id for n in positions if n != at]
        elif isinstance(record, Memory):
            without_turn.append(record)
    turns = await store.get(Turn, chain.from_iterable(turn_ids.values()))
    around = {
        record_id: [turns[turn_id] for turn_id in ids if turn_id in turns]
        for record_id, ids in turn_ids.items()
    }
    return {**around, **await _facts_around(store, question, without_turn, before, after)}


def _position(session: Session, record: Turn | Memory) -> int | None:
    """Return the position of a turn or, for a fact, of the turn that it names."""
    if isinstance(record, Turn):
        return session.positions.get(record.id)
    return next((at for at, place in enumerate(session.places) if place.turn == record.turn), None)


def nearest_first(length: int, at: int, before: int, after: int) -> list[int]:
    """Return the positions around `at` in a session of `length` turns, nearest first, itself included.

    >>> nearest_first(5, 1, before=2, after=2)
    [1, 0, 2, 3]
    """
    positions = range(max(0, at - before), min(length, at + after + 1))
    return sorted(positions, key=lambda position: abs(position - at))


async def _facts_around(
    store: Store, question: Question, facts: Sequence[Memory], before: int, after: int
) -> dict[str, list[Memory]]:
    """Find the facts around others in their sessions. The caller has committed everything."""
    if not facts:
        return {}
    where = conditions.both(
        conditions.one_of("session_id", {fact.session_id or "" for fact in facts}),
        conditions.present("turn"),
        conditions.LATEST,
        conditions.NOT_A_SUMMARY,
    )
    by_turn: dict[tuple[Key, str], dict[int, list[Memory]]] = {}
    for row in await store.select(Memory, where):
        if question.admits(row):
            turns = by_turn.setdefault((_key(row), row.partition_id), {})
            turns.setdefault(row.turn or 0, []).append(row)
    around = {}
    for fact in facts:
        turns = by_turn.get((_key(fact), fact.partition_id), {})
        numbers = sorted({*turns, fact.turn or 0})
        positions = nearest_first(len(numbers), numbers.index(fact.turn or 0), before, after)
        near = chain.from_iterable(turns.get(numbers[n], ()) for n in positions)
        around[fact.id] = [other for other in near if other.id != fact.id]
    return around


def _key(record: Turn | Memory) -> Key:
    return (record.scope, record.session_id or "")
