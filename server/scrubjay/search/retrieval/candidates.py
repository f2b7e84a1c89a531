"""Candidates in order: what the legs found, with the turns around it, laid out session by session as aligned columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from scrubjay.models.records import Src
from scrubjay.search.retrieval.pools import Found, Pools
from scrubjay.search.retrieval.ranking import Signals
from scrubjay.store.schema import moment
from scrubjay.store.sessions import Key, Session
from scrubjay.text.dates import Period, closeness
from scrubjay.text.terms import quotes

REACH = 2  # places to each side that pass score on


class Candidate(
    NamedTuple
):  # as `Found`, for its speed: a search makes 500, and by position twice as fast as by name
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
        near = _near(session, turns.get((scope, session_id), ()), REACH if with_neighbours else 0)
        numbers += [number] * len(near)
        for position in near:
            place = session.places[position]
            found = pools.found.get(place.id)
            importance = found.importance_score if found else 5.0
            rows.append(
                Candidate(
                    place.id,
                    "turn",
                    scope,
                    session_id,
                    position,
                    place.started_at,
                    importance,
                    place.role,
                    found,
                )
            )
    for found in pools.found.values():
        if found.src != "turn":
            at, importance = found.dated_at, found.importance_score
            rows.append(
                Candidate(
                    found.id,
                    found.src,
                    found.scope,
                    found.session_id,
                    None,
                    at,
                    importance,
                    found.role,
                    found,
                )
            )
            numbers.append(-1)
    return Candidates(tuple(rows), _signals(rows, numbers, pools, query, periods, speaker))


def _near(session: Session, found: Iterable[str], reach: int) -> list[int]:
    """The positions of these turns, and up to `reach` places beside them; a turn that may not be shown has none."""
    near: set[int] = set()
    for id in found:
        if (at := session.positions.get(id)) is not None:
            near.update(range(max(0, at - reach), min(len(session.places), at + reach + 1)))
    return sorted(near)


def _signals(
    rows: list[Candidate],
    numbers: list[int],
    pools: Pools,
    query: str,
    periods: list[Period],
    speaker: str | None,
) -> Signals:
    quoted = {id for id, text in pools.quotable if quotes(query, text)}
    found = [row.found for row in rows]
    return Signals(
        cosine=np.array(
            [np.nan if one is None or one.cosine is None else one.cosine for one in found], dtype=float
        ),
        bm25=np.array(
            [np.nan if one is None or one.bm25 is None else one.bm25 for one in found], dtype=float
        ),
        unembedded=np.array([one is not None and not one.embedded for one in found], dtype=bool),
        date=np.array(
            [_date(periods, row.dated_at) for row in rows] if periods else np.zeros(len(rows)), dtype=float
        ),
        speaker=np.array([speaker is not None and row.role == speaker for row in rows], dtype=bool),
        quoted=np.array([row.id in quoted for row in rows], dtype=bool),
        named=np.array([0.0 if one is None else one.named for one in found], dtype=float),
        session=np.array(numbers, dtype=np.int64),
        place=np.array([-1 if row.place is None else row.place for row in rows], dtype=np.int64),
        late=np.zeros(len(rows)),  # until somebody looks closely
    )


def _date(periods: list[Period], dated_at: int) -> float:
    return max(closeness(period, moment(dated_at)) for period in periods)
