"""Ranking: aligned arrays in, numbers and positions out. Knows no id, text, table or clock.

The pipeline and the worth of its parts (turn-level any@10 on LoCoMo's dev half, without a window / with two turns each side):
bare score fusion 73.9 / 91.7, with neighbours, session share, dates and speaker 87.7 / 95.4; without neighbours 85.3 / 95.3,
without the session share 85.5 / 94.6, without dates 85.5 / 93.8, without the speaker 86.2 / 94.9.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DENSE, LEXICAL = 0.5, 0.5  # shares of the legs; 0.4 to 0.6 is a plateau
COSINE_SPAN = 0.3  # pools of real stores span more; this is for stores of a handful of records
RELATED = 0.45  # cosine: halfway between what is unrelated and a paraphrase (see `relevance`)
DATE = 0.3  # a turn of the day or month that the question names
NEAR, FAR = 0.25, 0.15  # share of the score of the turns one and two places away
SESSION = 0.3  # share of the best score of the session
SPEAKER = 0.2  # the question names exactly one speaker, and it is this turn's
ALONE = 0.55  # what a record without neighbours gets of its own score instead: a session share and one near neighbour half as good
LATE = 0.8  # of how well the tokens match, over those looked at closely: 87.7 / 95.4 -> 91.0 / 96.2; 0.5 to 1.0 is a plateau
FADING = 0.9  # of a token's match for each place away: 1 gives 90.1 / 95.9, 0.8 to 0.9 is a plateau; a turn's own tokens alone 88.3 / 96.2
LATE_SPAN = 0.2  # of mean cosines; in one search of a hundred the candidates looked at span less
NAMED = 1.0  # it names the very thing that the question names; times 0.8 for a name of two parts: as much as the best match of tokens
QUOTED = 1.0  # the query quotes the record: above whatever context adds


@dataclass(frozen=True)
class Signals:
    """One value a candidate; `session` numbers sessions 0, 1, ... and is -1 for a record that stands alone.

    Candidates of one session stand together, ordered by `place`, their position in the session; there may be gaps.
    """

    cosine: Floats  # NaN: not in the dense pool
    bm25: Floats  # NaN: not in the lexical pool
    unembedded: NDArray[np.bool_]  # too new for a vector: its words speak for its meaning
    date: Floats  # 0, 0.5 or 1
    speaker: NDArray[np.bool_]
    quoted: NDArray[np.bool_]
    named: Floats  # 0 to 1: how specific an entity of the question is that it names
    session: Ints
    place: Ints
    late: Floats  # how well the tokens match: 0 to 1 over the candidates looked at closely, 0 for the others

    def __len__(self) -> int:
        return len(self.cosine)


def scale(
    values: Floats, *, floor: float | None = None, least_span: float = 0.0, least_top: float = -np.inf
) -> Floats:
    """Min-max to [0, 1]; NaN (absent) counts as the least present value, or as `floor`. All equal or all absent: 0.

    A span below `least_span` is not stretched to 1: between two near twins a hair's breadth is no reason. Nor is a greatest value below
    `least_top`.

    >>> scale(np.array([2.0, np.nan, 4.0])).tolist()
    [0.0, 0.0, 1.0]
    """
    present = values[~np.isnan(values)]
    if not len(present):
        return np.zeros_like(values)
    low, high = float(present.min()) if floor is None else floor, max(float(present.max()), least_top)
    low = min(low, high - least_span)
    filled = np.where(np.isnan(values), low, values)
    span = high - low
    return np.clip((filled - low) / span, 0.0, 1.0) if span > 0 else np.zeros_like(values)


def parts(signals: Signals) -> dict[str, Floats]:
    """What the ranking sum is made of, by name: one column each, its weight already in it."""
    wording = scale(signals.bm25, floor=0.0)
    top = (
        RELATED if signals.unembedded.any() else -np.inf
    )  # what is best of those compared so far may answer nothing
    meaning = np.where(
        signals.unembedded, wording, scale(signals.cosine, least_span=COSINE_SPAN, least_top=top)
    )
    own: dict[str, Floats] = {
        "meaning": DENSE * meaning,
        "words": LEXICAL * wording,
        "date": DATE * signals.date,
    }
    return {
        **own,
        **from_context(sum(own.values(), np.zeros(len(signals))), signals.session, signals.place),
        "late": LATE * signals.late,
        "speaker": SPEAKER * signals.speaker.astype(float),
        "named": NAMED * signals.named,
        "quoted": QUOTED * signals.quoted.astype(float),
    }


def from_context(score: Floats, session: Ints, place: Ints) -> dict[str, Floats]:
    """What each candidate gets of the scores of its neighbours and of its session's best; one that stands alone gets `ALONE` of its own."""
    placed = session >= 0
    best = np.zeros(int(session.max(initial=-1)) + 2)  # the last one is for session -1 and stays 0
    np.maximum.at(best, session[placed], score[placed])
    neighbours = np.zeros_like(score)
    for apart, row, other in _neighbours(session, place):
        neighbours[row] += np.where(apart == 1, NEAR, FAR) * score[other]
    return {
        "neighbours": neighbours,
        "session": SESSION * best[session] * placed,
        "alone": np.where(placed, 0.0, ALONE * score),
    }


def late(matches: Floats, looked: Ints, session: Ints, place: Ints) -> Floats:
    """How well candidates match token by token, from 0 to 1 over those at the positions `looked`; 0 for all others.

    `matches` holds the cosine of each token of the question with its nearest in the candidate, (candidates, tokens), NaN where that
    is unknown; a candidate so unknown counts as the mean of the known. The turns one and two places away lend a candidate their tokens.
    A token tells as much as its best match stands out, so that no document frequencies are needed.
    """
    near = matches.copy()
    for apart, row, other in _neighbours(session, place):
        near[row] = np.fmax(near[row], FADING ** apart[:, None] * matches[other])
    known = looked[~np.isnan(near[looked]).any(axis=1)]
    values = np.zeros(len(matches))
    if len(known):
        telling = near[known].max(axis=0) - near[known].mean(axis=0)
        spread = float(telling.sum())
        sums = near[known] @ telling / spread if spread > 0 else np.zeros(len(known))
        scaled = scale(sums, least_span=LATE_SPAN) if np.ptp(sums) > 0 else np.zeros(len(known))
        values[looked] = scaled.mean()
        values[known] = scaled
    return values


def beside(positions: Ints, session: Ints, place: Ints) -> NDArray[np.bool_]:
    """Which candidates are at these positions, or at most two places away from one of them."""
    chosen = np.zeros(len(session), dtype=bool)
    chosen[positions] = True
    widened = chosen.copy()
    for _, row, other in _neighbours(session, place):
        widened[row] |= chosen[other]
    return widened


def _neighbours(session: Ints, place: Ints) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Pairs of candidates one or two places apart in a session, both ways: how far apart, rows, and the rows beside them.

    No row comes twice in one array.
    """
    for step in (1, 2):  # with gaps, the turn two places away may be the next candidate or the one after
        apart = np.where(session[step:] == session[:-step], place[step:] - place[:-step], 0)
        first = np.flatnonzero((session[step:] >= 0) & ((apart == 1) | (apart == 2)))
        yield apart[first], first, first + step
        yield apart[first], first + step, first


def ranking_sum(signals: Signals) -> Floats:
    """The sum that orders candidates by relevance: of all `parts`."""
    return sum(parts(signals).values(), np.zeros(len(signals)))


def recency(age_days: Floats, *, half_life_days: float) -> Floats:
    """0.5 ** (age / half-life) in [0, 1]; an age below 0 (a clock that went back) counts as 0."""
    return np.power(0.5, np.maximum(age_days, 0.0) / half_life_days)


def blend(
    relevance: Floats, importance: Floats, recency: Floats, weights: tuple[float, float, float]
) -> Floats:
    """The weighted mean of the three scores, each in [0, 1]; seed 002's formula. The weights' sum must be positive."""
    by_relevance, by_importance, by_recency = weights
    total = by_relevance * relevance + by_importance * importance + by_recency * recency
    return total / (by_relevance + by_importance + by_recency)


def order(score: Floats, *, ties: Sequence[Floats] = ()) -> Ints:
    """Positions, best score first; equal scores by the tie columns (higher first), then by position."""
    return np.lexsort((*(-column for column in reversed(ties)), -score)).astype(np.int64)


def window(length: int, position: int, *, before: int, after: int) -> range:
    """The positions around `position` in a session of `length` turns, itself included.

    >>> list(window(5, 1, before=2, after=2))
    [0, 1, 2, 3]
    """
    return range(max(0, position - before), min(length, position + after + 1))
