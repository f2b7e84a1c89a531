"""Lays out candidates (search results and the turns around them) by session, as aligned columns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import repeat
from typing import NamedTuple

import numpy as np

from scrubjay.models.records import Src, Turn
from scrubjay.records.passages import label_words, speeches
from scrubjay.search.retrieval.asked import coverage
from scrubjay.search.retrieval.pools import Pools
from scrubjay.search.retrieval.ranking import Floats, Ints, Signals
from scrubjay.store.cache import PassageRow
from scrubjay.store.schema import moment
from scrubjay.store.sessions import Session
from scrubjay.store.store import Store
from scrubjay.text.dates import Period, closeness
from scrubjay.text.terms import quotes

REACH = 2  # turns on each side to which a turn passes on its scores
_TURN_IMPORTANCE = 5.0  # importance of a turn that is a candidate only as a neighbour


class Match(NamedTuple):
    """How a record was found."""

    text: str  # the text of its best passage
    role: str | None  # the role of that passage
    answer: str | None  # the best passage that is not the user's


@dataclass(frozen=True)
class Candidates:
    """Candidates as aligned columns, because a search has 500 candidates and shows ten."""

    ids: list[str]
    # The best passage of each record; None for a turn that is a candidate only as a neighbour.
    passages: list[PassageRow | None]
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

    def match(self, at: int) -> Match | None:
        """Return how the record at a position was found; None if it is a candidate only as a neighbour."""
        if (passage := self.passages[at]) is None:
            return None
        return Match(passage.text, passage.role, self.answers.get(passage.record_id))

    def with_signals(self, **columns: np.ndarray) -> Candidates:
        """Return the candidates with other signals of these names."""
        return replace(self, signals=replace(self.signals, **columns))


async def whole_texts(store: Store, candidates: Candidates, positions: Collection[int]) -> dict[int, str]:
    """Read the texts of candidates; turns are read whole, because a best passage may be only a question."""
    turns = await store.get(Turn, [candidates.ids[at] for at in positions if candidates.src(at) == "turn"])
    texts = {at: passage.text if (passage := candidates.passages[at]) else "" for at in positions}
    for at in positions:
        if turn := turns.get(candidates.ids[at]):
            texts[at] = "\n".join(text for _, text in speeches(turn))
    return texts


def record_src(passage: PassageRow) -> Src:
    """Return the kind of a passage's record."""
    return "memory" if passage.src == "summary" else passage.src


def lay_out(
    pools: Pools,
    sessions: Iterable[Session],
    *,
    query: str,
    periods: Sequence[Period],
    speaker: str | None,
    with_neighbours: bool,
) -> Candidates:
    """Lay out, by session, the turns found and those up to `REACH` places away, then all other records."""
    reach = REACH if with_neighbours else 0
    places = [(session, _positions_around(session, pools.best.keys(), reach)) for session in sessions]
    others = [passage for passage in pools.best.values() if passage.src != "turn"]
    turns = [session.places[at] for session, positions in places for at in positions]
    ids = [turn.id for turn in turns] + [passage.record_id for passage in others]
    roles = [turn.role for turn in turns] + [passage.role for passage in others]
    dates = [turn.started_at for turn in turns] + [passage.dated_at for passage in others]
    passages = [*map(pools.best.get, ids)]
    no_session = [-1] * len(others)
    entity_weights = {
        record_id: max((tie.weight for tie in ties), default=0.0)
        for record_id, ties in pools.entities.items()
    }
    quoted = {passage.record_id for passage, _ in pools.quotable if quotes(query, passage.text)}
    importance = [_TURN_IMPORTANCE if passage is None else passage.importance_score for passage in passages]
    signals = Signals(
        date=_closeness(dates, periods),
        speaker=np.array([bool(speaker) and role == speaker for role in roles], dtype=bool),
        quoted=np.array([record_id in quoted for record_id in ids], dtype=bool),
        named=np.maximum(_column(entity_weights, ids, 0.0), _label_shares(passages, query)),
        session=np.array(
            [number for number, (_, positions) in enumerate(places) for _ in positions] + no_session,
            dtype=np.int64,
        ),
        place=np.array([at for _, positions in places for at in positions] + no_session, dtype=np.int64),
        **_search_signals(pools, ids, passages),
    )
    columns = np.array(dates, dtype=np.int64), np.array(importance, dtype=float)
    return Candidates(ids, passages, roles, *columns, signals, pools.answers)


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


def _positions_around(session: Session, found: Set[str], reach: int) -> list[int]:
    """Return the positions of the turns that were found and of up to `reach` visible turns on each side."""
    positions: set[int] = set()
    for turn_id in session.positions.keys() & found:
        at = session.positions[turn_id]
        positions.update(range(max(0, at - reach), min(len(session.places), at + reach + 1)))
    return sorted(positions)


def _column(values: Mapping[str, float], ids: Sequence[str], absent: float) -> Floats:
    return np.array([*map(values.get, ids, repeat(absent))], dtype=float)


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
