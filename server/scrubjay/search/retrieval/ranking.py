"""The arithmetic of ranking, on aligned arrays: one value per candidate.

The evidence for a candidate is a row of `features`; a linear sum of them orders the candidates. Its weights
are fitted, see `weights`; `server/BENCHMARKS.md` has the contribution of each part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

COSINE_SPAN = 0.3  # cosines are scaled by at least this span; only those of tiny stores have a smaller one
RELATED = 0.475  # cosine: halfway between unrelated texts and a paraphrase (see `relevance`)
NEAR, FAR = 0.25, 0.15  # a turn gets these shares of the scores of turns one and two places away
# A neighbour's tokens get this weight, once for each place that it is away. On LoCoMo's dev half, 0.8 to 0.9
# is a plateau, 1 gives 90.1 / 95.9, and a search without neighbours' tokens gives 88.3 / 96.2.
FADING = 0.9
LATE_SPAN = 0.2  # mean cosines are scaled by at least this span; one search in a hundred has a smaller one
QUOTED = 12.0  # bonus of a record that the query quotes: more than any context adds
LONG = 7.0  # logarithm of the length that counts as 1, which is 1,100 characters
DAY = 86_400_000_000  # microseconds
HALF_LIFE_DAYS = 30.0  # of recency, since a turn started or a fact was stated

# Maps each feature to the part of the ranking sum that it belongs to; explanations show these parts.
PARTS: Mapping[str, str] = {
    feature: part
    for part, features in {
        "meaning": "meaning cosine unfound",
        "words": "words",
        "coverage": "coverage complete words_coverage",
        "neighbours": "near_meaning near_words near_coverage",
        "session": "session_meaning session_words",
        "alone": "alone alone_meaning",
        "date": "date session_date",
        **{name: name for name in "late tokens speaker named answer user length examined".split()},
    }.items()
    for feature in features.split()
}
# Features that only examined candidates have; all other candidates are ranked without them.
EXAMINED = frozenset(
    "late tokens coverage complete words_coverage near_coverage answer length examined".split()
)


@dataclass(frozen=True)
class Signals:
    """The evidence for each candidate: one array entry per candidate.

    `session` numbers the sessions 0, 1, ... and is -1 for a record without a session. Candidates of one
    session are adjacent, ordered by `place`, their position in the session; there may be gaps.
    """

    cosine: Floats  # NaN: not in the dense pool
    bm25: Floats  # NaN: not in the lexical pool
    unembedded: NDArray[np.bool_]  # too new for a vector: its BM25 score replaces its cosine
    date: Floats  # 0, 0.5 or 1
    speaker: NDArray[np.bool_]
    quoted: NDArray[np.bool_]
    # How specific the entity is that it shares with the question, or the share of the question's words in its
    # tags; 0 to 1.
    named: Floats
    session: Ints
    place: Ints
    user: NDArray[np.bool_]  # its best passage is the user's
    late: Floats  # see `late_interaction`
    tokens: Floats  # mean cosine of the question's tokens with its nearest tokens; NaN: not examined
    uneven: Floats  # standard deviation of these cosines; NaN: not examined
    coverage: Floats  # share of the question's words in it, weighted by rarity; NaN: not examined
    answer: Floats  # 1: it has the wanted kind of answer, -1: it does not, 0: no kind wanted, or not examined
    length: Floats  # characters of its best passage
    current: Floats  # gain of amending records, loss of amended ones; see `currency`

    def __len__(self) -> int:
        return len(self.cosine)


def scale(
    values: Floats, *, floor: float | None = None, least_span: float = 0.0, least_top: float = -np.inf
) -> Floats:
    """Scale values to [0, 1] by their minimum (or `floor`) and maximum; NaN (absent) counts as the minimum.

    If all are equal or absent, the result is 0. A span below `least_span` and a maximum below `least_top` are
    not stretched to 1, so that a tiny difference between near twins does not decide.

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


def features(signals: Signals, early: Mapping[str, Floats] | None = None) -> dict[str, Floats]:
    """Compute the evidence for each candidate, by name: one array each, most of them in [0, 1].

    `early` holds the `first_features` of these candidates if they have been computed.
    """
    early = first_features(signals) if early is None else early
    examined = (~np.isnan(signals.coverage)).astype(float)
    covered = fill_unknown(signals.coverage, 0.0)
    matched = signals.tokens[~np.isnan(signals.tokens)]
    mean = float(matched.mean()) if len(matched) else 0.0
    return {
        **early,
        "late": signals.late,
        "tokens": examined * fill_unknown(signals.tokens, mean),
        "coverage": covered,
        # This favours records with all words of the question, such as a name that it quotes. It costs nothing
        # if question and answer use different words.
        "complete": covered**3,
        "words_coverage": early["words"] * covered,
        "near_coverage": _near_sum(signals)(covered),
        "answer": signals.answer,
        "length": examined * np.log1p(signals.length) / LONG,
        "examined": examined,
    }


def first_features(signals: Signals) -> dict[str, Floats]:
    """Compute the features that need no examination of candidates."""
    wording = scale(signals.bm25, floor=0.0)
    # While some candidates have no vector yet, the best cosine so far may belong to an irrelevant candidate.
    top = RELATED if signals.unembedded.any() else -np.inf
    scaled = scale(signals.cosine, least_span=COSINE_SPAN, least_top=top)
    meaning = np.where(signals.unembedded, wording, scaled)
    cosine = np.clip(fill_unknown(signals.cosine, 0.0), 0.0, 1.0)
    alone = (signals.session < 0).astype(float)
    near_sum, session_best = _near_sum(signals), _session_best(signals)
    return {
        "meaning": meaning,
        "cosine": np.where(signals.unembedded, RELATED * wording, cosine),
        "unfound": (np.isnan(signals.cosine) & ~signals.unembedded).astype(float),
        "words": wording,
        "near_meaning": near_sum(meaning),
        "near_words": near_sum(wording),
        "session_meaning": session_best(meaning),
        "session_words": session_best(wording),
        "alone": alone,
        "alone_meaning": alone * meaning,
        "date": signals.date,
        "session_date": session_best(signals.date),
        "speaker": signals.speaker.astype(float),
        "named": signals.named,
        "user": signals.user.astype(float),
    }


def fill_unknown(values: Floats, default: float) -> Floats:
    """Replace unknown (NaN) values by a default."""
    return np.where(np.isnan(values), default, values)


def parts(
    signals: Signals, weights: Mapping[str, float], evidence: Mapping[str, Floats] | None = None
) -> dict[str, Floats]:
    """Compute the weighted parts of the ranking sum, by name: one array each.

    `evidence` holds the features to add up, by default all of them.
    """
    sums = {name: np.zeros(len(signals)) for name in dict.fromkeys(PARTS.values())}
    for name, values in (features(signals) if evidence is None else evidence).items():
        if weight := weights.get(name):
            sums[PARTS[name]] += weight * values
    return corrected(sums, signals)


def corrected(columns: Mapping[str, Floats], signals: Signals) -> dict[str, Floats]:
    """Update the parts of the ranking sum for signals that changed after the features were computed."""
    return {**columns, "quoted": QUOTED * signals.quoted.astype(float), "current": signals.current}


def _near_sum(signals: Signals) -> Callable[[Floats], Floats]:
    """Return a function that sums the scores of each candidate's neighbours, weighted by their distance."""
    pairs = [
        (row, other, np.where(distance == 1, NEAR, FAR))
        for distance, row, other in _neighbours(signals.session, signals.place)
    ]

    def near(score: Floats) -> Floats:
        values = np.zeros_like(score)
        for row, other, share in pairs:
            values[row] += share * score[other]
        return values

    return near


def _session_best(signals: Signals) -> Callable[[Floats], Floats]:
    """Return a function that maps each candidate to the best score of its session, or to 0."""
    session, in_session = signals.session, signals.session >= 0
    # The last entry is for records without a session (-1) and stays 0.
    count = int(session.max(initial=-1)) + 2

    def best(score: Floats) -> Floats:
        values = np.zeros(count)
        np.maximum.at(values, session[in_session], score[in_session])
        return values[session] * in_session

    return best


def late_interaction(matches: Floats, examined: Ints, session: Ints, place: Ints) -> Floats:
    """Score how well candidates match the question token by token.

    The score is 0 to 1 at the positions `examined` and 0 elsewhere. `matches` (candidates, tokens) holds the
    cosine of each token of the question with its nearest token in the candidate. Where it is NaN (unknown),
    the candidate gets the mean score of the others. Turns one and two places away lend a candidate their
    tokens. A token's weight is the excess of its best match over its mean match, so that no document
    frequencies are needed.
    """
    best = matches.copy()
    for distance, row, other in _neighbours(session, place):
        best[row] = np.fmax(best[row], FADING ** distance[:, None] * matches[other])
    complete = examined[~np.isnan(best[examined]).any(axis=1)]
    values = np.zeros(len(matches))
    if len(complete):
        weights = best[complete].max(axis=0) - best[complete].mean(axis=0)
        total = float(weights.sum())
        sums = best[complete] @ weights / total if total > 0 else np.zeros(len(complete))
        scaled = scale(sums, least_span=LATE_SPAN) if np.ptp(sums) > 0 else np.zeros(len(complete))
        values[examined] = scaled.mean()
        values[complete] = scaled
    return values


def with_neighbours(positions: Ints, session: Ints, place: Ints) -> NDArray[np.bool_]:
    """Mark the candidates at these positions and those at most two places away from one of them."""
    chosen = np.zeros(len(session), dtype=bool)
    chosen[positions] = True
    marked = chosen.copy()
    for _, row, other in _neighbours(session, place):
        marked[row] |= chosen[other]
    return marked


def _neighbours(session: Ints, place: Ints) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Yield pairs of candidates one or two places apart in a session, in both directions.

    A pair is (distance, row, other row), as arrays. No row comes twice in one array.
    """
    # Because of gaps, the turn two places away may be the next candidate or the one after.
    for step in (1, 2):
        distance = np.where(session[step:] == session[:-step], place[step:] - place[:-step], 0)
        first = np.flatnonzero((session[step:] >= 0) & ((distance == 1) | (distance == 2)))
        yield distance[first], first, first + step
        yield distance[first], first + step, first


def sum_parts(columns: Mapping[str, Floats]) -> Floats:
    """Add up the parts of the ranking sum, in their order."""
    return sum(columns.values(), np.zeros_like(columns["current"]))


def recency(now: int, dates: Floats) -> Floats:
    """Compute 0.5 ** (age / half-life), in [0, 1]; times are microseconds, and a later date counts as now."""
    return np.power(0.5, np.maximum((now - dates) / DAY, 0.0) / HALF_LIFE_DAYS)


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
