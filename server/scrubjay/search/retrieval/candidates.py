"""Lays out candidates (search results and the turns around them) by session, as aligned columns."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import repeat
from typing import NamedTuple

import numpy as np

from scrubjay.models.records import Src
from scrubjay.records.passages import label_words
from scrubjay.search.retrieval.asked import coverage
from scrubjay.search.retrieval.pools import Pools
from scrubjay.search.retrieval.ranking import Floats, Ints, Signals
from scrubjay.store.cache import PassageRow
from scrubjay.store.schema import moment
from scrubjay.store.sessions import Key, Session
from scrubjay.text.dates import Period, closeness
from scrubjay.text.terms import quotes

REACH = 2  # turns on each side to which a turn passes on its scores
_TURN_IMPORTANCE = 5.0  # importance of a turn that is a candidate only as a neighbour


class Match(NamedTuple):
    """How a record was found."""

    text: str  # the text of its best passage
    role: str | None  # the role of that passage
    answer: str | None  # the best passage that is not the user's


class Candidate(NamedTuple):
    """A record that may answer; `match` is None for a turn that is a candidate only as a neighbour."""

    id: str
    src: Src
    scope: str
    session_id: str | None
    place: int  # position among the turns of its session, or -1
    match: Match | None


@dataclass(frozen=True)
class Candidates:
    """Candidates as aligned columns, because a search has 500 candidates and shows ten."""

    ids: list[str]
    # The best passage of each record; None for a turn that is a candidate only as a neighbour.
    passages: list[PassageRow | None]
    keys: list[tuple[str, str | None]]  # scopes and session ids
    roles: list[str | None]
    dated_at: Ints  # microseconds since 1970
    importance: Floats
    signals: Signals
    answers: Mapping[str, str]  # see `Pools.answers`
    # If a newer fact has replaced a record's value: the id of that fact, and since when it holds.
    replaced: Mapping[str, tuple[str, datetime]] = field(default_factory=dict)
    # If a later record amends a record without `updates`: the later one's id and time; see `currency`.
    amended: Mapping[str, tuple[str, datetime]] = field(default_factory=dict)

    def src(self, at: int) -> Src:
        """Return the kind of the record at a position."""
        passage = self.passages[at]
        return "turn" if passage is None else record_src(passage)

    def at(self, at: int) -> Candidate:
        """Return the candidate at a position."""
        record_id, passage = self.ids[at], self.passages[at]
        match = None
        if passage is not None:
            match = Match(passage.text, passage.role, self.answers.get(record_id))
        return Candidate(record_id, self.src(at), *self.keys[at], int(self.signals.place[at]), match)


def record_src(passage: PassageRow) -> Src:
    """Return the kind of a passage's record."""
    return "memory" if passage.src == "summary" else passage.src


def lay_out(
    pools: Pools,
    sessions: Mapping[Key, Session],
    *,
    query: str,
    periods: Sequence[Period],
    speaker: str | None,
    with_neighbours: bool,
) -> Candidates:
    """Lay out, by session, the turns found and those up to `REACH` places away, then all other records."""
    groups = list(_turns_by_session(pools, sessions, REACH if with_neighbours else 0))
    others = [passage for passage in pools.best.values() if passage.src != "turn"]
    turns = [group.session.places[at] for group in groups for at in group.places]
    keys: list[tuple[str, str | None]] = [group.key for group in groups for _ in group.places]
    keys += [(passage.scope, passage.session_id) for passage in others]
    ids = [turn.id for turn in turns] + [passage.record_id for passage in others]
    roles = [turn.role for turn in turns] + [passage.role for passage in others]
    dates = [turn.started_at for turn in turns] + [passage.dated_at for passage in others]
    passages = [*map(pools.best.get, ids)]
    no_session = [-1] * len(others)
    importance = [_TURN_IMPORTANCE if passage is None else passage.importance_score for passage in passages]
    signals = Signals(
        date=_closeness(dates, periods),
        speaker=np.array([bool(speaker) and role == speaker for role in roles], dtype=bool),
        quoted=_quoted(pools, ids, query),
        named=np.maximum(_entity_weights(pools, ids), _label_shares(passages, query)),
        session=np.array(
            [at for at, group in enumerate(groups) for _ in group.places] + no_session, dtype=np.int64
        ),
        place=np.array([at for group in groups for at in group.places] + no_session, dtype=np.int64),
        **_search_signals(pools, ids, passages),
    )
    columns = np.array(dates, dtype=np.int64), np.array(importance, dtype=float)
    return Candidates(ids, passages, keys, roles, *columns, signals, pools.answers)


def _search_signals(
    pools: Pools, ids: Sequence[str], passages: Sequence[PassageRow | None]
) -> dict[str, np.ndarray]:
    """Return the signals from the searches, and empty arrays for those that `examine` fills in later."""
    is_unembedded = [
        passage is not None and passage.space_id is None and passage.record_id not in pools.cosine
        for passage in passages
    ]
    return {
        "cosine": _column(pools.cosine, ids, np.nan),
        "bm25": _column(pools.bm25, ids, np.nan),
        "unembedded": np.array(is_unembedded, dtype=bool),
        "user": np.array([row is not None and row.role == "user" for row in passages], dtype=bool),
        "length": np.array([0 if row is None else len(row.text) for row in passages], dtype=float),
        **{name: np.zeros(len(ids)) for name in ("late", "answer", "current")},
        **{name: np.full(len(ids), np.nan) for name in ("tokens", "uneven", "coverage")},
    }


def _closeness(dates: Sequence[int], periods: Sequence[Period]) -> Floats:
    if not periods:
        return np.zeros(len(dates))
    return np.array(
        [max(closeness(period, moment(date)) for period in periods) for date in dates], dtype=float
    )


class _SessionTurns(NamedTuple):
    """A session, and the positions of the turns that were found in it and of those around them."""

    key: Key
    session: Session
    places: list[int]


def _turns_by_session(pools: Pools, sessions: Mapping[Key, Session], reach: int) -> Iterator[_SessionTurns]:
    """Yield each session with the turns that were found in it and those up to `reach` places away."""
    turn_ids: dict[Key, list[str]] = {}
    for passage in pools.best.values():
        if passage.src == "turn" and passage.session_id is not None:
            turn_ids.setdefault((passage.scope, passage.session_id), []).append(passage.record_id)
    for key, session in sessions.items():
        yield _SessionTurns(key, session, _positions_around(session, turn_ids.get(key, ()), reach))


def _positions_around(session: Session, turns: Iterable[str], reach: int) -> list[int]:
    """Return the positions of these turns and of up to `reach` visible turns on each side."""
    positions: set[int] = set()
    for turn_id in turns:
        if (at := session.positions.get(turn_id)) is not None:
            positions.update(range(max(0, at - reach), min(len(session.places), at + reach + 1)))
    return sorted(positions)


def _column(values: Mapping[str, float], ids: Sequence[str], absent: float) -> Floats:
    return np.array([*map(values.get, ids, repeat(absent))], dtype=float)


def _quoted(pools: Pools, ids: Sequence[str], query: str) -> np.ndarray:
    quoted_ids = {passage.record_id for passage, _ in pools.quotable if quotes(query, passage.text)}
    return np.array(
        [record_id in quoted_ids for record_id in ids] if quoted_ids else np.zeros(len(ids)), dtype=bool
    )


def labels(passage: PassageRow | None) -> str:
    """Return the words of a fact's tags and partition, or "" for other passages."""
    if passage is None or passage.src != "memory":
        return ""
    return label_words(passage.tags or (), passage.partition_id)


def _label_shares(passages: Sequence[PassageRow | None], query: str) -> Floats:
    """Return the share of the query's content words in each fact's tags and partition; 0 for others."""
    facts = [at for at, passage in enumerate(passages) if passage is not None and passage.src == "memory"]
    texts = [labels(passages[at]) for at in facts]
    distinct = [*dict.fromkeys(filter(None, texts))]  # many facts have the same labels
    share_of = {"": 0.0} | dict(zip(distinct, coverage(query, distinct).tolist(), strict=True))
    shares = np.zeros(len(passages))
    shares[facts] = [share_of[text] for text in texts]
    return shares


def _entity_weights(pools: Pools, ids: Sequence[str]) -> Floats:
    weights = {
        record_id: max((tie.weight for tie in ties), default=0.0)
        for record_id, ties in pools.entities.items()
    }
    return _column(weights, ids, 0.0) if weights else np.zeros(len(ids))
