"""Windows: what was said before and after a record in its session. Knows the order of turns, and of facts that were written one by one as
they were said; does not know what room there is for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from scrubjay.models.records import Memory
from scrubjay.search.retrieval.candidates import Candidate
from scrubjay.search.retrieval.query import Question
from scrubjay.search.retrieval.ranking import window
from scrubjay.store import conditions
from scrubjay.store.sessions import Key, Session
from scrubjay.store.store import Store

_PLACE = ["id", "scope", "session_id", "turn", "partition_id"]  # of a fact, what its place is made of


@dataclass(frozen=True)
class Beside:
    """What stands around some records, by their ids, nearest first: ids of turns; and facts, where no turn was recorded there."""

    turns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    facts: Mapping[str, Sequence[Memory]] = field(default_factory=dict)


async def beside(
    store: Store,
    question: Question,
    rows: Iterable[Candidate],
    facts: Iterable[Memory],
    *,
    before: int,
    after: int,
) -> Beside:
    """The window of each found turn (of `rows`) and of each found fact that says in which turn it was learned.

    A window holds `before` and `after` turns of the same scope and session. Where nobody recorded the turn of a fact, the facts of that
    session and of its partition stand for turns, ordered by the number that each names; those of its own number come along.
    """
    around: list[tuple[str, Key, int | None]] = []
    for row in rows:
        if row.src == "turn" and row.session_id is not None:
            around.append((row.id, (row.scope, row.session_id), None))
    placed = [fact for fact in facts if fact.session_id is not None and fact.turn is not None]
    around += [(fact.id, _key(fact), fact.turn) for fact in placed]
    sessions = await store.sessions.of(key for _, key, _ in around)
    seen = {key: question.in_sight(session) for key, session in sessions.items()}
    at = {id: _position(seen[key], id, turn) for id, key, turn in around}
    turns = {
        id: _near(seen[key], found, before, after) for id, key, _ in around if (found := at[id]) is not None
    }
    alone = [fact for fact in placed if at[fact.id] is None]
    return Beside(turns, await _facts_beside(store, question, alone, before, after) if alone else {})


def _position(session: Session, id: str, turn: int | None) -> int | None:
    """Where in a session the turn of this id stands, or, for a fact, the turn of this number."""
    if turn is None:
        return session.positions.get(id)
    return next((at for at, place in enumerate(session.places) if place.turn == turn), None)


def _near(session: Session, at: int, before: int, after: int) -> list[str]:
    near = window(len(session.places), at, before=before, after=after)
    own = session.places[at].id
    return [id for n in sorted(near, key=lambda n: abs(n - at)) if (id := session.places[n].id) != own]


async def _facts_beside(
    store: Store, question: Question, facts: list[Memory], before: int, after: int
) -> dict[str, list[Memory]]:
    """The facts around each of these, out of the index by session."""
    numbered: dict[tuple[Key, str], dict[int, list[str]]] = {}
    for place in await _places(store, question, facts):
        numbered.setdefault((_key(place), place.partition_id), {}).setdefault(place.turn or 0, []).append(
            place.id
        )
    near: dict[str, list[str]] = {}
    for fact in facts:
        session = numbered.get((_key(fact), fact.partition_id), {})
        numbers = sorted({*session, fact.turn or 0})
        at = numbers.index(fact.turn or 0)
        taken = sorted(
            range(max(0, at - before), min(len(numbers), at + after + 1)), key=lambda n: abs(n - at)
        )
        near[fact.id] = [id for n in taken for id in session.get(numbers[n], ()) if id != fact.id]
    rows = await store.get(Memory, [id for ids in near.values() for id in ids])
    return {
        id: [rows[other] for other in ids if other in rows and question.admits(rows[other])]
        for id, ids in near.items()
    }


async def _places(store: Store, question: Question, facts: list[Memory]) -> list[Memory]:
    """The newest versions that have a place in one of the sessions of these facts, with the columns of `_PLACE`.

    A search commits what is staged before it looks, so that the table has them all.
    """
    where = conditions.both(
        conditions.one_of("session_id", {fact.session_id or "" for fact in facts}),
        conditions.present("turn"),
        conditions.LATEST,
        conditions.NOT_A_SUMMARY,
        None
        if question.forgotten
        else conditions.both(conditions.NOT_FORGOTTEN, conditions.unexpired(question.as_of or question.now)),
    )
    return await store.select(Memory, where, columns=_PLACE)


def _key(fact: Memory) -> Key:
    return (fact.scope, fact.session_id or "")
