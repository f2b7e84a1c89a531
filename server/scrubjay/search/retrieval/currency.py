"""Finds later records that amend earlier ones, so that current values come first.

No `updates` relation is needed: "Uploads are kept 48 hours" and, weeks later, "72 hours from now on" may be
two facts, two turns, or one of each. A pair is judged by how close the two are in meaning and words, by words
of change in the later one, and by how well each fits the question; the weights are fitted, see `weights`.
"""

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from scrubjay.home.scopes import USER_SCOPE
from scrubjay.search.retrieval.asked import ParsedQuestion
from scrubjay.search.retrieval.candidates import Candidates, labels
from scrubjay.search.retrieval.ranking import DAY, Floats, Ints, fill_unknown
from scrubjay.search.retrieval.weights import AMENDS, READS
from scrubjay.search.retrieval.words import weighed
from scrubjay.store.schema import moment
from scrubjay.text import tables
from scrubjay.text.likeness import are_about_other_parts, is_same_matter
from scrubjay.text.statements import PARTS, Statement, statement
from scrubjay.text.terms import compared_words

MIXED = "mixed"  # the kind of a pair of a fact and a turn; other pairs have the kind of both records
FIRST = 10  # first candidates that may be amended
FACTS = 5  # first facts among these candidates that any similar later fact may amend
FAR = 0.2  # below this cosine, no record amends another
NEAR = 0.35  # least cosine at which a fact outside the first candidates may amend one of them
# Least log odds, by kind of pair, at which a later record comes before an earlier one. With -1 for all kinds,
# 3.6 % fewer of the dev projects' plain questions have the right record first; with these values, 2.1 %
# fewer. For facts 0 to 0.5 is a plateau.
SURE = {"memory": 0.2, "turn": -1.0, MIXED: 0.0}
# Least log odds at which a pair is considered, because a model's reading may raise its odds to SURE. With
# bounds lower by one, most questions about similar turns would wait for a reading, which takes half as long
# as the rest of a search.
LIKELY = {"memory": -3.0, "turn": -1.7, MIXED: -1.5}
READ_PAIRS = 2  # pairs per question that a model reads
READ_LENGTH = 260  # characters of each record that a model reads: about 64 tokens
READ_FIRST = 3  # first candidates that are read as the earlier record of a pair
CLEAR = 3.0  # at these log odds or above, no reading makes a difference
MOST_ODDS = 6.0  # log odds are limited to this in both directions
# Least log odds at which a hit says that it is amended. A wrong order costs only a place, but a wrong
# statement costs trust.
SHOWN = {"memory": 1.5, "turn": 0.0, MIXED: 0.0}
# A later fact is about another thing if its share of the question's words is smaller by more than this. On
# the dev projects, 0.2 would miss 1 of the 22 facts that amend another, and 0 would miss 3.
LACKS = 0.3
SHARED = 0.1  # with a smaller share of rare words in common, two facts are about different things
PLACES = (2, 3)  # least and most words that differ in two facts that say the same of two things
AHEAD = 0.05  # the later record gets this lead, in ranking sum
READ = 1_200  # characters of a record that are compared
_WEEK = 7  # days

_CHANGES = "|".join(tables.listed("amending")).replace("+", " ")
_UNSPACED = "|".join(tables.listed("amending_unspaced"))
_CHANGE = re.compile(rf"\b(?:{_CHANGES})\b|{_UNSPACED}")

Vector = NDArray[np.float32]
Vectors = Mapping[str, Vector]  # vectors of the best passages, by record id


@dataclass(frozen=True)
class Compared:
    """A candidate's text, prepared for comparison: the rarity of each stem, and if it has words of change."""

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
    kind: str  # the kind of both records, or `MIXED`
    odds: float
    is_same_matter: bool  # the same statement with another value: shown as amended at any odds
    is_doubtful: bool  # their words are about different things; a reading may refute this
    is_worth_reading: bool  # a wrong order would be visible: the earlier record is ahead, and among the first
    may_both_hold: bool  # the same may be true of two things: not shown as amended


def pairs(
    parsed: ParsedQuestion,
    candidates: Candidates,
    total: Floats,
    ranked: Ints,
    vectors: Vectors,
    texts: Callable[[int], str],
) -> list[Pair]:
    """Find pairs in which the later record may amend the earlier, ordered by the time of the earlier.

    `ranked` is best first; `texts` returns a candidate's text. If the question asks for build 41 or for the
    staging port, it does not mean the later build 42 or the later production port.
    """
    likely, asked = [], parsed.weights.keys()
    top = [at for at in ranked[:FIRST].tolist() if candidates.passages[at] is not None]
    # `near_pairs` leaves out four of five pairs, whose texts need no comparison.
    for older, newer, kind, evidence in near_pairs(candidates, total, top, vectors, LIKELY, asked):
        weights, cosine = AMENDS[kind], evidence["cosine"]
        old, new = Compared.of(texts(older)), Compared.of(texts(newer))
        values = evidence | compare(old, new, cosine)
        if kind == MIXED and not values["change"]:  # the turn probably asks about the fact, or repeats it
            continue
        odds = sum(weights[name] * value for name, value in values.items())
        if odds + max(weights["matter"], 0.0) < LIKELY[kind]:
            continue
        if any(number in old.weights and number not in new.weights for number in parsed.numbers):
            continue
        if kind == "memory" and (
            are_about_other_parts(parsed.text, new.text) or _are_about_two_things(old, new, asked)
        ):
            continue
        matter = kind == "memory" and is_same_matter(old.text, new.text, cosine)
        odds += weights["matter"] * matter
        if odds >= LIKELY[kind]:
            is_visible = older in top[:READ_FIRST] and bool(total[older] > total[newer])
            is_doubtful = _is_other_matter(kind, values)
            is_worth_reading = is_visible and odds < CLEAR
            both = kind == "memory" and not matter and not new.changes and _may_both_hold(old.text, new.text)
            likely.append(Pair(older, newer, kind, odds, matter, is_doubtful, is_worth_reading, both))
    return likely


def with_reading(pair: Pair, reading: float) -> Pair:
    """Return a pair with the log odds after a model has read it."""
    weights, values = READS[pair.kind], read_evidence(pair.odds, reading)
    odds = sum(weights[name] * value for name, value in values.items())
    return replace(pair, odds=odds, is_doubtful=False)


def read_evidence(plain: float, reading: float) -> dict[str, float]:
    """Return the evidence from the log odds without a reading (`plain`) and those of the reading alone."""
    plain, reading = (min(max(odds, -MOST_ODDS), MOST_ODDS) for odds in (plain, reading))
    return {"offset": 1.0, "plain": plain, "read": reading}


def amend(candidates: Candidates, total: Floats, likely: Sequence[Pair]) -> Candidates:
    """Move later records before the records that they amend, and list the amended ones in `amended`."""
    shift, amended = np.zeros(len(total)), dict(candidates.amended)
    for pair in likely:
        older, newer = pair.earlier, pair.later
        if pair.odds < SURE[pair.kind] or pair.is_doubtful:
            continue
        ahead = max(total[older] + shift[older] + AHEAD, total[newer] + shift[newer])
        shift[newer] = ahead - total[newer]
        later = candidates.ids[newer], moment(int(candidates.dated_at[newer]))
        previous = amended.get(candidates.ids[older])
        is_shown = (pair.odds >= SHOWN[pair.kind] and not pair.may_both_hold) or pair.is_same_matter
        if is_shown and (previous is None or later[1] > previous[1]):
            amended[candidates.ids[older]] = later
    if not shift.any() and not amended:
        return candidates
    moved = candidates.with_signals(current=candidates.signals.current + shift)
    return replace(moved, amended=amended)


def candidates_to_compare(candidates: Candidates, ranked: Ints) -> list[int]:
    """Return the candidates whose vectors `pairs` needs: the first, and if these have a fact, all facts."""
    top = [at for at in ranked[:FIRST].tolist() if candidates.passages[at] is not None]
    if not any(candidates.src(at) == "memory" for at in top):
        return top
    rest = ranked[FIRST:]
    without_session = rest[candidates.signals.session[rest] < 0].tolist()
    return [*top, *(at for at in without_session if candidates.src(at) == "memory")]


def near_pairs(
    candidates: Candidates,
    total: Floats,
    top: Sequence[int],
    vectors: Vectors,
    least: Mapping[str, float] | None = None,
    asked: Collection[str] = (),
) -> Iterator[tuple[int, int, str, dict[str, float]]]:
    """Yield (earlier, later, kind, evidence) for pairs of facts and turns close in meaning, oldest first.

    The evidence comes from the question, the dates and the vectors. Pairs are left out if no texts could
    raise their log odds to the `least` of their kind. `asked` are the words of the question.
    """
    ids = candidates.ids
    srcs = {at: candidates.src(at) for at, record_id in enumerate(ids) if record_id in vectors}
    srcs = {at: src for at, src in srcs.items() if src in AMENDS}  # a passage of a document amends nothing
    first = [at for at in top if at in srcs]
    members = [*first, *(at for at, src in srcs.items() if src == "memory" and at not in first)]
    dated_pairs = _pairs_in_time(candidates, first, members, srcs)
    if not dated_pairs:
        return
    old, new = np.array(dated_pairs).T
    cosine = _cosines(first, members, [vectors[ids[at]] for at in members], old, new)
    is_near = cosine >= np.where(np.isin(new, first), FAR, NEAR)
    is_kept = is_near & ~_is_asked_for(candidates, old, new, asked)
    old, new, cosine = old[is_kept], new[is_kept], cosine[is_kept]
    src_pairs = [
        (srcs[earlier], srcs[later]) for earlier, later in zip(old.tolist(), new.tolist(), strict=True)
    ]
    kinds = np.array([one if one == other else MIXED for one, other in src_pairs], dtype=str)
    values = _question_evidence(candidates, total, old, new, kinds == "memory") | {"cosine": cosine}
    likely = np.ones(len(old), dtype=bool)
    for kind, bound in (least or {}).items():
        likely &= (kinds != kind) | (_greatest_odds(AMENDS[kind], values) >= bound)
    for at in np.flatnonzero(likely).tolist():
        evidence = {name: float(column[at]) for name, column in values.items()}
        yield int(old[at]), int(new[at]), str(kinds[at]), evidence


def _is_asked_for(candidates: Candidates, old: Ints, new: Ints, asked: Collection[str]) -> NDArray[np.bool_]:
    """Return which pairs have an earlier record that the question itself quotes or names."""
    signals = candidates.signals
    is_named = signals.named[old] > signals.named[new]
    for at in np.flatnonzero(is_named).tolist():
        is_named[at] = not _has_labels(candidates, int(old[at]), int(new[at]), asked)
    return signals.quoted[old] | is_named


def _has_labels(candidates: Candidates, older: int, newer: int, asked: Collection[str]) -> bool:
    """Return True if a later record has the tags of the earlier one that the question names, in its text.

    Then the tag `cache` of "The cache TTL is 60 seconds" does not set it apart from a later, untagged fact.
    """
    tags = Compared.of(labels(candidates.passages[older])).weights.keys() & asked
    passage = candidates.passages[newer]
    return bool(tags) and passage is not None and tags <= Compared.of(passage.text).weights.keys()


def _pairs_in_time(
    candidates: Candidates, first: Sequence[int], members: Sequence[int], srcs: Mapping[int, str]
) -> list[tuple[int, int]]:
    """List pairs (earlier, later) of `first` candidates; all members may amend the first `FACTS` facts.

    A record of one project amends none of another, which has its own port.
    """
    dates = candidates.dated_at.tolist()
    scopes = {at: passage.scope for at in members if (passage := candidates.passages[at])}
    facts = [at for at in first if srcs[at] == "memory"][:FACTS]
    return [
        (older, newer)
        for older in sorted(first, key=dates.__getitem__)
        for newer in (members if older in facts else first)
        if dates[newer] > dates[older]
        and (scopes[older] == scopes[newer] or USER_SCOPE in (scopes[older], scopes[newer]))
    ]


def _cosines(
    first: Sequence[int], members: Sequence[int], vectors: Sequence[Vector], old: Ints, new: Ints
) -> Floats:
    """Return the cosines of these pairs; `vectors` are those of `members`, which begins with `first`."""
    matrix = np.stack(vectors)
    rows = np.zeros(max(members) + 1, dtype=np.int64)
    rows[members] = np.arange(len(members))
    return (matrix[: len(first)] @ matrix.T)[rows[old], rows[new]].astype(float)


def _is_other_matter(kind: str, values: Mapping[str, float]) -> bool:
    """Return True if a later fact is about another thing: "Tomasz owns billing" after "Maria owns search".

    Such a fact shares almost no rare word with the earlier one; or it has no words of change, and fewer of
    the question's words than the earlier one.
    """
    lacks = not values["change"] and values["coverage_gain"] < -LACKS
    return kind == "memory" and (lacks or values["overlap"] < SHARED)


def _are_about_two_things(older: Compared, newer: Compared, asked: Collection[str]) -> bool:
    """Return True if two facts are about parts of a system that exclude each other: staging and production.

    Or they say the same of two things, and the question names the earlier one's: they have the same form, and
    differ in the thing and in its value, as in "/users returns 20 items" and "/orders returns 50 items".
    """
    if are_about_other_parts(older.text, newer.text):
        return True
    named_only = [
        any(word in one.weights and word not in other.weights for word in asked)
        for one, other in ((older, newer), (newer, older))
    ]
    places = _differing_places(statement(older.text), statement(newer.text))
    return named_only == [True, False] and PLACES[0] <= places <= PLACES[1]


def _may_both_hold(older: str, newer: str) -> bool:
    """Return True if two facts without words of change say the same of two things, or one of a part alone.

    So "Ben prefers dark mode" amends no "Anna prefers dark mode", nor "The limit in staging is 5" the limit.
    """
    one, other = statement(older), statement(newer)
    names_part = not PARTS.keys() & other.stems <= one.stems
    return names_part or 0 < _differing_places(one, other) <= PLACES[1]


def _differing_places(one: Statement, other: Statement) -> int:
    """Count the places in which two facts of the same form differ; 0 if their forms or all words differ."""
    if other.is_change or [word.role for word in one.words] != [word.role for word in other.words]:
        return 0
    differing = sum(word.stem != also.stem for word, also in zip(one.words, other.words, strict=True))
    return differing if differing < len(one.words) else 0


def _greatest_odds(weights: Mapping[str, float], values: Mapping[str, Floats]) -> Floats:
    """Return the log odds that pairs would have if their texts had the same words, and words of change."""
    one = np.ones(1)
    ideal = {"overlap": one, "change": one, "change_cosine": values["cosine"], "matter": one}
    odds = sum((weights[name] * value for name, value in values.items()), np.zeros(1))
    return weights["offset"] + sum((max(weights[name], 0.0) * value for name, value in ideal.items()), odds)


def _question_evidence(
    candidates: Candidates, total: Floats, older: Ints, newer: Ints, is_fact: NDArray[np.bool_]
) -> dict[str, Floats]:
    """Return the evidence from the question and the dates that the later records amend the earlier ones."""
    covered = fill_unknown(candidates.signals.coverage, 0.0)
    days = (candidates.dated_at[newer] - candidates.dated_at[older]) / DAY
    return {
        "distance": np.clip(total[older] - total[newer], -8.0, 8.0),
        "answer": candidates.signals.answer[newer],
        "coverage": covered[newer],
        "coverage_gain": covered[newer] - covered[older],
        # A fact may correct another within the hour, but turns of one session rarely correct each other.
        "days": np.where(is_fact, 1.0, np.minimum(np.log1p(days) / math.log1p(_WEEK), 1.0)),
    }


def compare(older: Compared, newer: Compared, cosine: float) -> dict[str, float]:
    """Return the evidence from the two texts alone that the later one amends the earlier."""
    shared = sum(weight for word, weight in older.weights.items() if word in newer.weights)
    changes = float(newer.changes)
    return {
        "offset": 1.0,
        "cosine": cosine,
        "overlap": shared / max(min(older.total, newer.total), 1e-9),
        "change": changes,
        "change_cosine": changes * cosine,
    }
