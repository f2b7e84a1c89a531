"""Lays candidates out: what the legs found and the turns around it, session by session, as aligned arrays."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from scrubjay.models.records import Src
from scrubjay.search.retrieval.pools import Match, Pools
from scrubjay.search.retrieval.ranking import Signals
from scrubjay.store.schema import moment
from scrubjay.store.sessions import Key, Session
from scrubjay.text.dates import Period, closeness
from scrubjay.text.terms import quotes

REACH = 2  # places to each side that pass their scores on


class Candidate(NamedTuple):  # a search makes 500; by position, for that is twice as fast as by name
    """One record that may answer; `match` is None for a turn that only its neighbours brought here."""

    id: str
    src: Src
    scope: str
    session_id: str | None
    place: int | None  # position among the turns of its session
    dated_at: int  # microseconds since 1970
    importance_score: float
    role: str | None
    match: Match | None


@dataclass(frozen=True)
class Candidates:
    """Candidates, and their signals in the same order."""

    rows: tuple[Candidate, ...]
    signals: Signals


def lay_out(
    pools: Pools,
    sessions: Mapping[Key, Session],
    *,
    query: str,
    periods: Sequence[Period],
    speaker: str | None,
    with_neighbours: bool,
) -> Candidates:
    """Order turns and those up to `REACH` places away by session, then the records without a session."""
    rows: list[Candidate] = []
    numbers: list[int] = []
    turns: dict[Key, list[str]] = {}
    for match in pools.matches.values():
        if match.src == "turn" and match.session_id is not None:
            turns.setdefault((match.scope, match.session_id), []).append(match.id)
    for number, ((scope, session_id), session) in enumerate(sessions.items()):
        near = _near(session, turns.get((scope, session_id), ()), REACH if with_neighbours else 0)
        numbers += [number] * len(near)
        for at in near:
            place = session.places[at]
            own = pools.matches.get(place.id)
            importance = own.importance_score if own else 5.0
            rows.append(
                Candidate(
                    place.id, "turn", scope, session_id, at, place.started_at, importance, place.role, own
                )
            )
    for one in pools.matches.values():
        if one.src != "turn":
            importance = one.importance_score
            rows.append(
                Candidate(
                    one.id, one.src, one.scope, one.session_id, None, one.dated_at, importance, one.role, one
                )
            )
            numbers.append(-1)
    return Candidates(tuple(rows), _signals(rows, numbers, pools, query, periods, speaker))


def _near(session: Session, turns: Iterable[str], reach: int) -> list[int]:
    """Give the positions of these turns and up to `reach` beside them; a turn out of sight has none."""
    near: set[int] = set()
    for turn_id in turns:
        if (at := session.positions.get(turn_id)) is not None:
            near.update(range(max(0, at - reach), min(len(session.places), at + reach + 1)))
    return sorted(near)


def _signals(
    rows: Sequence[Candidate],
    numbers: Sequence[int],
    pools: Pools,
    query: str,
    periods: Sequence[Period],
    speaker: str | None,
) -> Signals:
    quoted = {record_id for record_id, text in pools.quotable if quotes(query, text)}
    matches = [row.match for row in rows]
    cosines = [np.nan if one is None or one.cosine is None else one.cosine for one in matches]
    scores = [np.nan if one is None or one.bm25 is None else one.bm25 for one in matches]
    dates = [_date(periods, row.dated_at) for row in rows] if periods else np.zeros(len(rows))
    return Signals(
        cosine=np.array(cosines, dtype=float),
        bm25=np.array(scores, dtype=float),
        unembedded=np.array([one is not None and not one.embedded for one in matches], dtype=bool),
        date=np.array(dates, dtype=float),
        speaker=np.array([speaker is not None and row.role == speaker for row in rows], dtype=bool),
        quoted=np.array([row.id in quoted for row in rows], dtype=bool),
        named=np.array([0.0 if one is None else one.entity_weight for one in matches], dtype=float),
        session=np.array(numbers, dtype=np.int64),
        place=np.array([-1 if row.place is None else row.place for row in rows], dtype=np.int64),
        late=np.zeros(len(rows)),  # until late interaction fills it in
    )


def _date(periods: Sequence[Period], dated_at: int) -> float:
    return max(closeness(period, moment(dated_at)) for period in periods)
