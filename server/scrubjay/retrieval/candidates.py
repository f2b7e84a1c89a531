"""Candidates in order: what the legs found, with the turns around it, laid out session by session as aligned columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from scrubjay.models.records import Src
from scrubjay.periods import Period, closeness
from scrubjay.ranking import Floats, Signals
from scrubjay.retrieval.pools import Found, Pools
from scrubjay.store.schema import moment
from scrubjay.store.sessions import Key, Session
from scrubjay.terms import quotes

REACH = 2  # places to each side that pass score on


class Candidate(NamedTuple):  # as `Found`, for its speed
    """One record that may answer; `found` is None for a turn that only its neighbours brought here."""

    id: str
    src: Src
    scope: str
    session_id: str | None
    place: int | None  # position among the turns of its session
    dated_at: int  # microseconds since 1970
    importance_score: float
    role: str | None
    found: Found | None


@dataclass(frozen=True)
class Candidates:
    rows: tuple[Candidate, ...]
    signals: Signals


def lay_out(
    pools: Pools,
    sessions: Mapping[Key, Session],
    *,
    query: str,
    periods: list[Period],
    speaker: str | None,
    with_neighbours: bool,
) -> Candidates:
    """Found turns and those up to `REACH` places away, session by session in order; then the records that stand alone."""
    rows: list[Candidate] = []
    numbers: list[int] = []
    turns: dict[Key, list[str]] = {}
    for found in pools.found.values():
        if found.src == "turn" and found.session_id is not None:
            turns.setdefault((found.scope, found.session_id), []).append(found.id)
    for number, ((scope, session_id), session) in enumerate(sessions.items()):
        for position in _near(session, turns.get((scope, session_id), ()), REACH if with_neighbours else 0):
            place = session.places[position]
            found = pools.found.get(place.id)
            rows.append(
                Candidate(
                    id=place.id,
                    src="turn",
                    scope=scope,
                    session_id=session_id,
                    place=position,
                    dated_at=place.started_at,
                    importance_score=found.importance_score if found else 5.0,
                    role=place.role,
                    found=found,
                )
            )
            numbers.append(number)
    for found in pools.found.values():
        if found.src != "turn":
            rows.append(_alone(found))
            numbers.append(-1)
    return Candidates(tuple(rows), _signals(rows, numbers, pools, query, periods, speaker))


def _near(session: Session, found: Iterable[str], reach: int) -> list[int]:
    """The positions of these turns, and up to `reach` places beside them; a turn that may not be shown has none."""
    near: set[int] = set()
    for id in found:
        if (at := session.positions.get(id)) is not None:
            near.update(range(max(0, at - reach), min(len(session.places), at + reach + 1)))
    return sorted(near)


def _alone(found: Found) -> Candidate:
    return Candidate(
        id=found.id,
        src=found.src,
        scope=found.scope,
        session_id=found.session_id,
        place=None,
        dated_at=found.dated_at,
        importance_score=found.importance_score,
        role=found.role,
        found=found,
    )


def _signals(rows: list[Candidate], numbers: list[int], pools: Pools, query: str, periods: list[Period], speaker: str | None) -> Signals:
    quoted = {id for id, text in pools.quotable if quotes(query, text)}
    return Signals(
        cosine=_column(row.found.cosine if row.found else None for row in rows),
        bm25=_column(row.found.bm25 if row.found else None for row in rows),
        unembedded=np.array([row.found is not None and not row.found.embedded for row in rows], dtype=bool),
        date=np.array([_date(periods, row.dated_at) for row in rows] if periods else np.zeros(len(rows)), dtype=float),
        speaker=np.array([speaker is not None and row.role == speaker for row in rows], dtype=bool),
        quoted=np.array([row.id in quoted for row in rows], dtype=bool),
        named=np.array([row.found.named if row.found else 0.0 for row in rows], dtype=float),
        session=np.array(numbers, dtype=np.int64),
        place=np.array([-1 if row.place is None else row.place for row in rows], dtype=np.int64),
        late=np.zeros(len(rows)),  # until somebody looks closely
    )


def _column(values: object) -> Floats:
    return np.array([np.nan if value is None else value for value in values], dtype=float)  # type: ignore[attr-defined]


def _date(periods: list[Period], dated_at: int) -> float:
    return max(closeness(period, moment(dated_at)) for period in periods)
