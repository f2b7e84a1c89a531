"""Windows: the turns before and after a record in its session, or facts in place of such turns."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from scrubjay.models.records import Memory
from scrubjay.search.retrieval.candidates import Candidate
from scrubjay.search.retrieval.query import Question
from scrubjay.search.retrieval.ranking import window
from scrubjay.store import conditions
from scrubjay.store.sessions import Key, Session
from scrubjay.store.store import Store

# The columns that give a fact's place in a session.
_COLUMNS = ["id", "scope", "session_id", "turn", "partition_id"]


@dataclass(frozen=True)
class Windows:
    """The windows of records by id, nearest first: ids of turns, or of facts if no turn was recorded."""

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

    A window holds `before` and `after` turns of the same scope and session. If the turn of a fact was not
    recorded, the facts of its session and partition replace turns, ordered by the turns they name; those of
    its own turn are included.
    """
    turns = [row for row in rows if row.src == "turn" and row.session_id is not None]
    learned = [fact for fact in facts if fact.session_id is not None and fact.turn is not None]
    centres: list[tuple[str, Key, int | None]] = [
        *((row.id, (row.scope, row.session_id or ""), None) for row in turns),
        *((fact.id, _key(fact), fact.turn) for fact in learned),
    ]
    sessions = await store.sessions.of(key for _, key, _ in centres)
    visible = {key: question.visible_turns(session) for key, session in sessions.items()}
    at = {record_id: _position(visible[key], record_id, turn) for record_id, key, turn in centres}
    near = {
        record_id: _near(visible[key], position, before, after)
        for record_id, key, _ in centres
        if (position := at[record_id]) is not None
    }
    alone = [fact for fact in learned if at[fact.id] is None]
    return Windows(near, await _facts_around(store, question, alone, before, after) if alone else {})


def _position(session: Session, record_id: str, turn: int | None) -> int | None:
    """Return the position of the turn with this id or, for a fact, with this number."""
    if turn is None:
        return session.positions.get(record_id)
    return next((at for at, place in enumerate(session.places) if place.turn == turn), None)


def _near(session: Session, at: int, before: int, after: int) -> list[str]:
    near = sorted(window(len(session.places), at, before=before, after=after), key=lambda n: abs(n - at))
    ids = [session.places[n].id for n in near]
    return [turn_id for turn_id in ids if turn_id != session.places[at].id]


async def _facts_around(
    store: Store, question: Question, facts: Sequence[Memory], before: int, after: int
) -> dict[str, list[Memory]]:
    numbered: dict[tuple[Key, str], dict[int, list[str]]] = {}
    for row in await _facts_of_sessions(store, question, facts):
        turns = numbered.setdefault((_key(row), row.partition_id), {})
        turns.setdefault(row.turn or 0, []).append(row.id)
    near: dict[str, list[str]] = {}
    for fact in facts:
        session = numbered.get((_key(fact), fact.partition_id), {})
        numbers = sorted({*session, fact.turn or 0})
        at = numbers.index(fact.turn or 0)
        close = sorted(window(len(numbers), at, before=before, after=after), key=lambda n: abs(n - at))
        ids = [other for n in close for other in session.get(numbers[n], ())]
        near[fact.id] = [other for other in ids if other != fact.id]
    rows = await store.get(Memory, [other for ids in near.values() for other in ids])
    return {
        fact_id: [rows[other] for other in ids if other in rows and question.admits(rows[other])]
        for fact_id, ids in near.items()
    }


async def _facts_of_sessions(store: Store, question: Question, facts: Iterable[Memory]) -> list[Memory]:
    """Read the newest versions that name a turn in one of the sessions of these facts, only `_COLUMNS`.

    A search's caller has committed everything, so the table has them all.
    """
    there = conditions.both(conditions.NOT_FORGOTTEN, conditions.unexpired(question.as_of or question.now))
    where = conditions.both(
        conditions.one_of("session_id", {fact.session_id or "" for fact in facts}),
        conditions.present("turn"),
        conditions.LATEST,
        conditions.NOT_A_SUMMARY,
        None if question.forgotten else there,
    )
    return await store.select(Memory, where, columns=_COLUMNS)


def _key(fact: Memory) -> Key:
    return (fact.scope, fact.session_id or "")
