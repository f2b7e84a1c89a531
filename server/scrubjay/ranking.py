"""Ranking: aligned arrays in, numbers and positions out. Knows no id, text, table or clock.

The pipeline and the worth of its parts (turn-level any@10 on LoCoMo's dev half, without a window / with two turns each side):
bare score fusion 73.9 / 91.7, with neighbours, session share, dates and speaker 87.7 / 95.4; without neighbours 85.3 / 95.3,
without the session share 85.5 / 94.6, without dates 85.5 / 93.8, without the speaker 86.2 / 94.9.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DENSE, LEXICAL = 0.5, 0.5  # shares of the legs; 0.4 to 0.6 is a plateau
COSINE_SPAN = 0.3  # pools of real stores span more; this is for stores of a handful of records
DATE = 0.3  # a turn of the day or month that the question names
NEAR, FAR = 0.25, 0.15  # share of the score of the turns one and two places away
SESSION = 0.3  # share of the best score of the session
SPEAKER = 0.2  # the question names exactly one speaker, and it is this turn's
ALONE = 0.55  # what a record without neighbours gets of its own score instead: a session share and one near neighbour half as good
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
    session: Ints
    place: Ints

    def __len__(self) -> int:
        return len(self.cosine)


def scale(values: Floats, *, floor: float | None = None, least_span: float = 0.0) -> Floats:
    """Min-max to [0, 1]; NaN (absent) counts as the least present value, or as `floor`. All equal or all absent: 0.

    A span below `least_span` is not stretched to 1: between two near twins a hair's breadth is no reason.

    >>> scale(np.array([2.0, np.nan, 4.0])).tolist()
    [0.0, 0.0, 1.0]
    """
    present = values[~np.isnan(values)]
    if not len(present):
        return np.zeros_like(values)
    low = float(present.min()) if floor is None else floor
    low = min(low, float(present.max()) - least_span)
    filled = np.where(np.isnan(values), low, values)
    span = float(present.max()) - low
    return np.clip((filled - low) / span, 0.0, 1.0) if span > 0 else np.zeros_like(values)


def own(signals: Signals) -> Floats:
    """What each candidate is worth by itself: the scaled sum of the legs, and its date."""
    wording = scale(signals.bm25, floor=0.0)
    meaning = np.where(signals.unembedded, wording, scale(signals.cosine, least_span=COSINE_SPAN))
    return DENSE * meaning + LEXICAL * wording + DATE * signals.date


def in_context(score: Floats, session: Ints, place: Ints) -> Floats:
    """Each score with its share of the neighbours' and of the session's best; records that stand alone get `ALONE` of their own."""
    placed = session >= 0
    best = np.zeros(int(session.max(initial=-1)) + 2)  # the last one is for session -1 and stays 0
    np.maximum.at(best, session[placed], score[placed])
    total = score + np.where(placed, SESSION * best[session], ALONE * score)
    for step in (1, 2):  # with gaps, the turn two places away may be the next candidate or the one after
        if len(score) <= step:
            continue
        apart = np.where((session[step:] == session[:-step]) & placed[step:], place[step:] - place[:-step], 0)
        share = np.select([apart == 1, apart == 2], [NEAR, FAR], 0.0)
        total[step:] += share * score[:-step]
        total[:-step] += share * score[step:]
    return total


def ranking_sum(signals: Signals) -> Floats:
    """The sum that orders candidates by relevance."""
    return in_context(own(signals), signals.session, signals.place) + SPEAKER * signals.speaker + QUOTED * signals.quoted


def relevance(total: Floats, evidence: float, *, quoted: NDArray[np.bool_]) -> Floats:
    """The ranking sum as absolute relevance in [0, 1], monotone in `total`.

    The best candidate gets `evidence` (how well it answers by itself, 0 to 1: see `evidence`), the others their share of it by
    their sum. When something is quoted, the quoted lie in [0.9, 1] and the rest below.
    """
    if not len(total):
        return np.zeros(0)
    plain = total - QUOTED * quoted
    top = float(plain.max())
    share = np.clip(plain / top, 0.0, 1.0) if top > 0 else np.zeros_like(total)
    if not quoted.any():
        return evidence * share
    return np.where(quoted, 0.9 + 0.1 * share, min(evidence, 0.89) * share)


def evidence(cosine: Floats, coverage: Floats) -> Floats:
    """How well a text answers by itself, in [0, 1]: by meaning or by words, whichever it is, both adding up.

    `cosine` of the query and the text; `coverage`, the share of the query's content words found in it. A cosine of 0.15 is what
    unrelated texts have with all-MiniLM-L6-v2 and 0.75 a paraphrase; words alone prove less than meaning, hence 0.8.
    """
    by_meaning = np.clip((np.nan_to_num(cosine, nan=0.0) - 0.15) / 0.60, 0.0, 1.0)
    by_words = 0.8 * np.clip(coverage, 0.0, 1.0)
    return 1.0 - (1.0 - by_meaning) * (1.0 - by_words)


def recency(age_days: Floats, *, half_life_days: float) -> Floats:
    """0.5 ** (age / half-life) in [0, 1]; an age below 0 (a clock that went back) counts as 0."""
    return np.power(0.5, np.maximum(age_days, 0.0) / half_life_days)


def blend(relevance: Floats, importance: Floats, recency: Floats, weights: tuple[float, float, float]) -> Floats:
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
