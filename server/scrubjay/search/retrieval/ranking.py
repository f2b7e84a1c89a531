"""The arithmetic of ranking, on aligned arrays: one value a candidate.

What each part is worth (turn-level any@10 on LoCoMo's dev half, without a window / with two turns each side):
bare score fusion 73.9 / 91.7, with neighbours, session share, dates and speaker 87.7 / 95.4; without
neighbours 85.3 / 95.3, without the session share 85.5 / 94.6, without dates 85.5 / 93.8, without the speaker
86.2 / 94.9.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DENSE, LEXICAL = 0.5, 0.5  # shares of the legs; 0.4 to 0.6 is a plateau
COSINE_SPAN = 0.3  # least span of cosines; pools span less only in stores of a handful of records
RELATED = 0.45  # cosine: halfway between what is unrelated and a paraphrase (see `relevance`)
DATE = 0.3  # the turn is of the day or month that the question names
NEAR, FAR = 0.25, 0.15  # shares of the scores of the turns one and two places away
SESSION = 0.3  # share of the best score of the session
SPEAKER = 0.2  # the question names exactly one speaker, who speaks in this turn
# A record without neighbours gets this share of its own score instead of theirs: a session share and one near
# neighbour half as good.
ALONE = 0.55
LATE = 0.8  # late interaction: 87.7 / 95.4 -> 91.0 / 96.2; 0.5 to 1.0 is a plateau
# A neighbour's tokens count so much for each place away. 1 gives 90.1 / 95.9, 0.8 to 0.9 is a plateau;
# without the neighbours' tokens 88.3 / 96.2.
FADING = 0.9
LATE_SPAN = 0.2  # of mean cosines; in one search of a hundred the candidates span less
# The record names an entity of the question, or its tags hold all words: as much as the best match of tokens
# (0.8 of it for a name of two parts).
NAMED = 1.0
QUOTED = 1.0  # the query quotes the record: more than any context adds
HALF_LIFE_DAYS = 30.0  # of recency: of a turn since it started, of a fact since its last access


@dataclass(frozen=True)
class Signals:
    """What speaks for each candidate: one array entry a candidate.

    `session` numbers the sessions 0, 1, ... and is -1 for a record without a session. Candidates of one
    session stand together, ordered by `place`, their position in the session; there may be gaps.
    """

    cosine: Floats  # NaN: not in the dense pool
    bm25: Floats  # NaN: not in the lexical pool
    unembedded: NDArray[np.bool_]  # too new for a vector: its BM25 score stands for its cosine
    date: Floats  # 0, 0.5 or 1
    speaker: NDArray[np.bool_]
    quoted: NDArray[np.bool_]
    # 0 to 1: how specific the entity is that it shares with the question, or the share of its words in tags
    named: Floats
    session: Ints
    place: Ints
    late: Floats  # see `late_interaction`
    tokens: Floats  # mean cosine of the question's tokens with the nearest in it; NaN: not examined
    current: Floats  # what replaces an old value gains, what states it loses; see `replacing`

    def __len__(self) -> int:
        return len(self.cosine)


def scale(
    values: Floats, *, floor: float | None = None, least_span: float = 0.0, least_top: float = -np.inf
) -> Floats:
    """Scale values to [0, 1] by their minimum (or `floor`) and maximum; NaN (absent) counts as the minimum.

    All equal or all absent gives 0. A span below `least_span` and a maximum below `least_top` are not
    stretched to 1, so that a tiny difference between near twins decides nothing.

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
    """Compute the weighted parts of the ranking sum, by name: one array each."""
    wording = scale(signals.bm25, floor=0.0)
    # While some have no vector yet, the best cosine so far may belong to a candidate that answers nothing.
    top = RELATED if signals.unembedded.any() else -np.inf
    cosine = scale(signals.cosine, least_span=COSINE_SPAN, least_top=top)
    meaning = np.where(signals.unembedded, wording, cosine)
    own: dict[str, Floats] = {
        "meaning": DENSE * meaning,
        "words": LEXICAL * wording,
        "date": DATE * signals.date,
    }
    return {
        **own,
        **context_parts(sum(own.values(), np.zeros(len(signals))), signals.session, signals.place),
        "late": LATE * signals.late,
        "speaker": SPEAKER * signals.speaker.astype(float),
        "named": NAMED * signals.named,
        "quoted": QUOTED * signals.quoted.astype(float),
        "current": signals.current,
    }


def context_parts(score: Floats, session: Ints, place: Ints) -> dict[str, Floats]:
    """Compute what a candidate gets from its neighbours' scores and from the best score of its session.

    A candidate without a session gets `ALONE` of its own score instead.
    """
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


def late_interaction(matches: Floats, examined: Ints, session: Ints, place: Ints) -> Floats:
    """Score how well candidates match the question token by token.

    The score is 0 to 1 at the positions `examined` and 0 elsewhere.
    `matches` (candidates, tokens) holds the cosine of each token of the question with its nearest token in
    the candidate, NaN where that is unknown; such a candidate gets the mean of the others. Turns one and two
    places away lend a candidate their tokens. A token weighs as much as its best match exceeds its mean
    match, so that no document frequencies are needed.
    """
    near = matches.copy()
    for apart, row, other in _neighbours(session, place):
        near[row] = np.fmax(near[row], FADING ** apart[:, None] * matches[other])
    known = examined[~np.isnan(near[examined]).any(axis=1)]
    values = np.zeros(len(matches))
    if len(known):
        weights = near[known].max(axis=0) - near[known].mean(axis=0)
        total = float(weights.sum())
        sums = near[known] @ weights / total if total > 0 else np.zeros(len(known))
        scaled = scale(sums, least_span=LATE_SPAN) if np.ptp(sums) > 0 else np.zeros(len(known))
        values[examined] = scaled.mean()
        values[known] = scaled
    return values


def with_neighbours(positions: Ints, session: Ints, place: Ints) -> NDArray[np.bool_]:
    """Mark the candidates at these positions and those at most two places away from one of them."""
    chosen = np.zeros(len(session), dtype=bool)
    chosen[positions] = True
    widened = chosen.copy()
    for _, row, other in _neighbours(session, place):
        widened[row] |= chosen[other]
    return widened


def _neighbours(session: Ints, place: Ints) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Yield pairs of candidates one or two places apart in a session, in both directions.

    A pair is (distance, row, other row), as arrays. No row comes twice in one array.
    """
    # Because of gaps, the turn two places away may be the next candidate or the one after.
    for step in (1, 2):
        apart = np.where(session[step:] == session[:-step], place[step:] - place[:-step], 0)
        first = np.flatnonzero((session[step:] >= 0) & ((apart == 1) | (apart == 2)))
        yield apart[first], first, first + step
        yield apart[first], first + step, first


def ranking_sum(signals: Signals) -> Floats:
    """Add up all `parts`: the sum that orders candidates by relevance."""
    return sum(parts(signals).values(), np.zeros(len(signals)))


def recency(age_days: Floats, *, half_life_days: float) -> Floats:
    """Compute 0.5 ** (age / half-life), in [0, 1]; an age below 0 (the clock went back) counts as 0."""
    return np.power(0.5, np.maximum(age_days, 0.0) / half_life_days)


def blend(
    relevance: Floats, importance: Floats, recency: Floats, weights: tuple[float, float, float]
) -> Floats:
    """Average three scores in [0, 1] by their weights, whose sum is positive; the formula is Hebb Mind's."""
    by_relevance, by_importance, by_recency = weights
    total = by_relevance * relevance + by_importance * importance + by_recency * recency
    return total / (by_relevance + by_importance + by_recency)


def order(score: Floats, *, ties: Sequence[Floats] = ()) -> Ints:
    """Sort positions by score, then by the tie columns, highest first, then by position."""
    return np.lexsort((*(-column for column in reversed(ties)), -score)).astype(np.int64)


def window(length: int, position: int, *, before: int, after: int) -> range:
    """Give the positions around `position` in a session of `length` turns, itself included.

    >>> list(window(5, 1, before=2, after=2))
    [0, 1, 2, 3]
    """
    return range(max(0, position - before), min(length, position + after + 1))
