"""Finds later records that amend earlier ones, so that current values come first.

This works without `updates`: "Uploads are kept 48 hours" and, weeks later, "72 hours from now on" are two
facts, two turns, or one of each. A pair is judged by how close they are in meaning and words, by words of
change in the later one, and by how well each fits the question; the weights are fitted, see `weights`.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from scrubjay.search.retrieval.candidates import Candidates
from scrubjay.search.retrieval.ranking import DAY, Floats, Ints, known_or
from scrubjay.search.retrieval.weights import AMENDS, READS
from scrubjay.search.retrieval.words import weighed
from scrubjay.store.schema import moment
from scrubjay.text import tables
from scrubjay.text.likeness import is_same_matter
from scrubjay.text.terms import compared_words

MIXED = "mixed"  # the kind of a pair of a fact and a turn; that of two facts or turns is theirs
FIRST = 10  # candidates that may be amended
FACTS = 5  # facts among these that any similar later fact may amend
FAR = 0.2  # cosine below which no record amends another
NEAR = 0.35  # cosine from which a fact outside the first candidates is considered too
# Log odds from which a later record comes before an earlier one, by kind of pair. With -1 for all, of the dev
# projects' plain questions 3.6 % fewer have the right record first, with these 2.1 %. For facts 0 to 0.5 is a
# plateau.
SURE = {"memory": 0.2, "turn": -1.0, MIXED: 0.0}
# Log odds from which a pair counts, because a reading may bring it to SURE. With bounds one lower, most
# questions to turns that are alike wait for a reading, which takes half as long as the rest of a search.
LIKELY = {"memory": -3.0, "turn": -1.5, MIXED: -1.5}
READ_PAIRS = 2  # of a question
READ_LENGTH = 260  # characters of each record that a model reads: some 64 tokens
READ_FIRST = 3  # candidates that a model reads as the earlier of a pair
CLEAR = 3.0  # log odds from which no reading makes a difference
MOST_ODDS = 6.0  # either way; more says nothing more
# Log odds from which it is shown. A wrong order costs a place; a wrong statement costs trust.
TOLD = {"memory": 1.5, "turn": 0.0, MIXED: 0.0}
# Share of the question's words: a fact that lacks so many of the earlier one's words is about another thing.
# On the dev projects 0.2 costs 1 of 22 facts that amend one, 0 costs 3.
LACKS = 0.3
SHARED = 0.1  # least share of rare words in common; two facts that have less are about different things
AHEAD = 0.05  # of the ranking sum: the lead of the later record
READ = 1_200  # characters of a record that are compared
_WEEK = 7  # days

_CHANGES = "|".join(tables.listed("amending")).replace("+", " ")
_UNSPACED = "|".join(tables.listed("amending_unspaced"))
_CHANGE = re.compile(rf"\b(?:{_CHANGES})\b|{_UNSPACED}")

Vectors = Mapping[str, np.ndarray]  # vectors of the best passages, by record id


@dataclass(frozen=True)
class Compared:
    """What is compared of a candidate: the rarity of each stem, and whether it has words of change."""

    text: str
    weights: Mapping[str, float]
    total: float
    changes: bool

    @classmethod
    def of(cls, text: str) -> "Compared":
        """Parse a text."""
        return _compared_text(text[:READ])


@lru_cache(maxsize=1024)  # the same records answer many questions
def _compared_text(text: str) -> Compared:
    weights = dict(map(weighed, compared_words(text)))
    return Compared(text, weights, sum(weights.values()), _CHANGE.search(text.lower()) is not None)


@dataclass(frozen=True)
class Pair:
    """Two candidates, by position, and the log odds that the later one amends the earlier."""

    earlier: int
    later: int
    kind: str  # that of both records, or `MIXED`
    odds: float
    is_told: bool  # the same statement with another value, whatever the odds
    is_doubtful: bool  # by their words they are about different things, which a reading may refute
    is_worth_reading: bool  # a wrong order would be seen: the earlier one is ahead, and among the first


def pairs(
    candidates: Candidates,
    total: Floats,
    ranked: Ints,
    vectors: Vectors,
    texts: Callable[[int], str],
    numbers: frozenset[str] = frozenset(),
) -> list[Pair]:
    """Find later records that may amend earlier ones, oldest of these first; `ranked` is best first.

    `texts` returns a candidate's text; `numbers` are those in the question: someone who asks for build 41
    does not mean the later build 42.
    """
    read = cache(lambda at: Compared.of(texts(at)))
    found = []
    top = [at for at in ranked[:FIRST].tolist() if candidates.passages[at] is not None]
    # Four of five pairs need no comparison.
    for older, newer, kind, fit in near_pairs(candidates, total, top, vectors, LIKELY):
        weights, cosine = AMENDS[kind], fit["cosine"]
        values = fit | compare(read(older), read(newer), cosine)
        if kind == MIXED and not values["change"]:  # a turn often asks about a fact, or says it again
            continue
        odds = sum(weights[name] * value for name, value in values.items())
        if odds + max(weights["matter"], 0.0) < LIKELY[kind]:
            continue
        if any(each in read(older).weights and each not in read(newer).weights for each in numbers):
            continue
        matter = kind == "memory" and is_same_matter(read(older).text, read(newer).text, cosine)
        odds += weights["matter"] * matter
        if odds >= LIKELY[kind]:
            is_seen = older in top[:READ_FIRST] and bool(total[older] > total[newer])
            is_doubtful = _is_another(kind, values)
            found.append(Pair(older, newer, kind, odds, matter, is_doubtful, is_seen and odds < CLEAR))
    return found


def to_read(found: Sequence[Pair]) -> list[Pair]:
    """Return the pairs that a model should read: the most likely ones whose order may be wrong."""
    some = (pair for pair in found if pair.is_worth_reading)
    return sorted(some, key=lambda pair: -pair.odds)[:READ_PAIRS]


def with_reading(pair: Pair, reading: float) -> Pair:
    """Return a pair with the log odds after a model has read it."""
    weights, values = READS[pair.kind], read_evidence(pair.odds, reading)
    odds = sum(weights[name] * value for name, value in values.items())
    return replace(pair, odds=odds, is_doubtful=False)


def read_evidence(plain: float, reading: float) -> dict[str, float]:
    """Return the evidence from the log odds without a reading, and from those of the reading alone."""
    kept = (min(max(value, -MOST_ODDS), MOST_ODDS) for value in (plain, reading))
    return {"offset": 1.0, **dict(zip(("plain", "read"), kept, strict=True))}


def amend(candidates: Candidates, total: Floats, found: Sequence[Pair]) -> Candidates:
    """Move later records before those that they amend, and note these in `amended`."""
    shift, amended = np.zeros(len(total)), dict(candidates.amended)
    for pair in found:
        older, newer = pair.earlier, pair.later
        if pair.odds < SURE[pair.kind] or pair.is_doubtful:
            continue
        ahead = max(total[older] + shift[older] + AHEAD, total[newer] + shift[newer])
        shift[newer] = ahead - total[newer]
        later = candidates.ids[newer], moment(int(candidates.dated_at[newer]))
        known = amended.get(candidates.ids[older])
        is_told = pair.odds >= TOLD[pair.kind] or pair.is_told
        if is_told and (known is None or later[1] > known[1]):
            amended[candidates.ids[older]] = later
    if not shift.any() and not amended:
        return candidates
    signals = replace(candidates.signals, current=candidates.signals.current + shift)
    return replace(candidates, signals=signals, amended=amended)


def compared(candidates: Candidates, ranked: Ints) -> list[int]:
    """Return the candidates whose vectors `amend` needs: the first, and all facts if one is among them."""
    top = [at for at in ranked[:FIRST].tolist() if candidates.passages[at] is not None]
    if not any(candidates.src(at) == "memory" for at in top):
        return top
    others = ranked[FIRST:]
    alone = others[candidates.signals.session[others] < 0].tolist()
    return [*top, *(at for at in alone if candidates.src(at) == "memory")]


def near_pairs(
    candidates: Candidates,
    total: Floats,
    top: Sequence[int],
    vectors: Vectors,
    least: Mapping[str, float] | None = None,
) -> Iterator[tuple[int, int, str, dict[str, float]]]:
    """Yield (earlier, later, kind, evidence) of facts and turns close in meaning, in the order of time.

    The evidence is that of the question, the dates and the vectors. Pairs whose texts cannot raise the log
    odds to `least` of their kind are left out.
    """
    ids, signals = candidates.ids, candidates.signals
    srcs = {at: candidates.src(at) for at, each in enumerate(ids) if each in vectors}
    srcs = {at: src for at, src in srcs.items() if src in AMENDS}  # no passage of a document amends
    first = [at for at in top if at in srcs]
    every = [*first, *(at for at, src in srcs.items() if src == "memory" and at not in first)]
    found = _dated(first, every, srcs, candidates.dated_at.tolist())
    if not found:
        return
    old, new = np.array(found).T
    cosine = _cosines(first, every, [vectors[ids[at]] for at in every], old, new)
    is_meant = signals.quoted[old] | (signals.named[old] > signals.named[new])  # by the question itself
    is_near = cosine >= np.where(np.isin(new, first), FAR, NEAR)
    old, new, cosine = (each[is_near & ~is_meant] for each in (old, new, cosine))
    both = [(srcs[earlier], srcs[later]) for earlier, later in zip(old.tolist(), new.tolist(), strict=True)]
    kinds = np.array([one if one == other else MIXED for one, other in both], dtype=str)
    values = _fit(candidates, total, old, new, kinds == "memory") | {"cosine": cosine}
    likely = np.ones(len(old), dtype=bool)
    for kind, bound in (least or {}).items():
        likely &= (kinds != kind) | (_most(AMENDS[kind], values) >= bound)
    for at in np.flatnonzero(likely).tolist():
        evidence = {name: float(column[at]) for name, column in values.items()}
        yield int(old[at]), int(new[at]), str(kinds[at]), evidence


def _dated(
    first: Sequence[int], every: Sequence[int], srcs: Mapping[int, str], dates: Sequence[int]
) -> list[tuple[int, int]]:
    """List (earlier, later) of the first ones; all facts may amend the first `FACTS` facts."""
    facts = [at for at in first if srcs[at] == "memory"][:FACTS]
    return [
        (older, newer)
        for older in sorted(first, key=dates.__getitem__)
        for newer in (every if older in facts else first)
        if dates[newer] > dates[older]
    ]


def _cosines(
    first: Sequence[int], every: Sequence[int], vectors: Sequence[NDArray[np.float32]], old: Ints, new: Ints
) -> Floats:
    """Return the cosines of these pairs; `vectors` are those of `every`, which begins with `first`."""
    matrix = np.stack(vectors)
    rows = np.zeros(max(every) + 1, dtype=np.int64)
    rows[every] = np.arange(len(every))
    return (matrix[: len(first)] @ matrix.T)[rows[old], rows[new]].astype(float)


def _is_another(kind: str, values: Mapping[str, float]) -> bool:
    """Return True if a later fact is about another thing: "Tomasz owns billing" after "Maria owns search".

    It shares no rare word with the earlier one; or it has no words of change and lacks words of the question
    that the earlier one has.
    """
    lacks = not values["change"] and values["coverage_gain"] < -LACKS
    return kind == "memory" and (lacks or values["overlap"] < SHARED)


def _most(weights: Mapping[str, float], values: Mapping[str, Floats]) -> Floats:
    """Return the greatest log odds that the texts of pairs may give: the same words, and words of change."""
    every = np.ones(1)
    texts = {"overlap": every, "change": every, "change_cosine": values["cosine"], "matter": every}
    known = sum((weights[name] * value for name, value in values.items()), np.zeros(1))
    return weights["offset"] + sum((max(weights[name], 0.0) * value for name, value in texts.items()), known)


def _fit(
    candidates: Candidates, total: Floats, older: Ints, newer: Ints, is_fact: NDArray[np.bool_]
) -> dict[str, Floats]:
    """Return the evidence from the question and the dates that the later records amend the earlier ones."""
    covered = known_or(candidates.signals.coverage, 0.0)
    return {
        "distance": np.clip(total[older] - total[newer], -8.0, 8.0),
        "answer": candidates.signals.answer[newer],
        "coverage": covered[newer],
        "coverage_gain": covered[newer] - covered[older],
        # Of two facts within an hour one may correct the other; turns of one session rarely do.
        "days": np.where(is_fact, 1.0, _since(candidates.dated_at[newer] - candidates.dated_at[older])),
    }


def _since(microseconds: Ints) -> Floats:
    """Scale the time between records to [0, 1]: a week and more is 1."""
    return np.minimum(np.log1p(microseconds / DAY) / math.log1p(_WEEK), 1.0)


def compare(older: Compared, newer: Compared, cosine: float) -> dict[str, float]:
    """Return the evidence from two texts alone that the later one amends the earlier."""
    shared = sum(weight for word, weight in older.weights.items() if word in newer.weights)
    changes = float(newer.changes)
    return {
        "offset": 1.0,
        "cosine": cosine,
        "overlap": shared / max(min(older.total, newer.total), 1e-9),
        "change": changes,
        "change_cosine": changes * cosine,
    }
