"""Compares two facts: the same, a contradiction, two values of the same thing, or different matters.

"Uses tabs" and "does not use tabs" are alike, and not the same. `scrubjay.text.statements` reads what the
words state; meaning is given as a cosine.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, takewhile
from typing import Literal, NamedTuple

from rapidfuzz import fuzz

from scrubjay.text.statements import HOLDING, LIGHT, LIMITS, PARTS, Statement, Word, statement
from scrubjay.text.terms import words

# Chosen on the dev half of tests/bench/pairs.tsv by tests/bench/likeness.py, which prints the results for
# both halves.
PARAPHRASE = 0.84  # cosine from which facts that differ only in words of little weight are the same
SAME_MATTER = 1.15  # cosine + share of common words from which facts are about the same matter
SAME_MATTER_BY_WORDS = 0.6  # the share alone, without a cosine
COMMON = 100  # facts with a word from which the word alone makes no two of them worth comparing

Verdict = Literal["known", "update", "contradict", "similar"]

_TURNED = frozenset({("from", "to"), ("to", "from")})
_AGENTS = frozenset({"by", "from"})  # the prepositions of the agent of a passive verb


def similarity(one: str, other: str) -> float:
    """Compare the wording of two texts in [0, 1]: 1 for the same words, in any order, case and punctuation.

    It is the better of two edit-distance ratios: of the texts, and of their words sorted.
    """
    first, second = " ".join(words(one)), " ".join(words(other))
    if not first or not second:
        return float(one.strip() == other.strip())
    return max(fuzz.ratio(first, second), fuzz.token_sort_ratio(first, second)) / 100


class _Pair(NamedTuple):
    """An older and a newer statement, the words that only one of them has, and the stems that both have."""

    old: Statement
    new: Statement
    gone: list[Word]
    come: list[Word]
    shared: frozenset[str]

    @property
    def differences(self) -> list[Word]:
        return [*self.gone, *self.come]

    @property
    def has_other_start(self) -> bool:
        return self.old.words[0] in self.gone and self.new.words[0] in self.come


def verdict(new: str, old: str, cosine: float | None) -> Verdict | None:
    """Return the relation of a new fact to an old one: known, update, contradict or similar; else None.

    `cosine` is that of their vectors in [-1, 1], None if unknown.
    """
    return _verdict(_paired(statement(old), statement(new)), cosine)


def _verdict(pair: _Pair, cosine: float | None) -> Verdict | None:
    if not _is_same_matter(pair, cosine):
        return None
    is_change = pair.new.is_change and not pair.old.is_change
    if _is_reversed(pair):
        return "update" if pair.come or is_change else "contradict"
    if not pair.differences and not (_has_same_roles(pair) and _has_same_extent(pair)):
        return "update" if is_change else "contradict"
    if not pair.differences and pair.new.reason and pair.new.reason.isdisjoint(pair.old.reason):
        return "similar"
    if not pair.differences or _is_paraphrase(pair, cosine):
        return "known"
    is_limited = any(word.stem in LIMITS for word in pair.differences)
    return "update" if is_change or is_limited or (pair.gone and pair.come) else "similar"


def is_same_matter(one: str, other: str, cosine: float | None = None) -> bool:
    """Return True if two facts give a value of the same attribute of the same thing, so the newer one holds.

    >>> is_same_matter("The API listens on port 8080.", "The API moved from port 8080 to 9090.")
    True
    >>> is_same_matter("The API listens on port 8080.", "The worker listens on port 9090.")
    False
    """
    both = statement(one), statement(other)
    return any(_is_same_matter(_paired(*each), cosine) for each in (both, both[::-1]))


def disagreements(texts: Sequence[str]) -> Iterator[tuple[int, int, Verdict]]:
    """Yield the pairs of facts that contradict each other or give two values, as far as their words say.

    `texts` has the newest first; a pair is the place of the newer one and of the older one, and the verdict.
    """
    said = [statement(text) for text in texts]
    stems = [each.stems for each in said]
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, own in enumerate(stems):
        for stem in own:
            places[stem].append(place)
    for newer, own in enumerate(stems):
        near = Counter(place for stem in own if len(places[stem]) <= COMMON for place in places[stem])
        for older in sorted(place for place in near if place > newer):
            least = SAME_MATTER_BY_WORDS * min(len(own), len(stems[older]))
            if len(own & stems[older]) >= least:
                judgement = _verdict(_paired(said[older], said[newer]), None)
                if judgement in ("contradict", "update"):
                    yield newer, older, judgement


def _paired(old: Statement, new: Statement) -> _Pair:
    gone = [word for word in old.words if word.stem not in new.stems]
    come = [word for word in new.words if word.stem not in old.stems]
    return _Pair(old, new, gone, come, old.stems & new.stems)


def _is_same_matter(pair: _Pair, cosine: float | None) -> bool:
    """Return True if facts have the same subject and are similar; a change may differ in more places."""
    if not pair.shared:
        return False
    if not pair.gone or not pair.come or _is_moved(pair):
        return True
    if not _has_same_subject(pair) or _parts(pair.gone) != _parts(pair.come):
        return False
    is_change = pair.new.is_change or pair.old.is_change
    if not is_change and not _is_one_value(pair):
        return False
    share = _share(pair)
    return share >= SAME_MATTER_BY_WORDS if cosine is None else share + cosine >= SAME_MATTER


def _parts(found: Iterable[Word]) -> frozenset[str]:
    return PARTS & {word.stem for word in found}


def _is_moved(pair: _Pair) -> bool:
    """Return True if the new fact says that the thing moved: away from the old value, or elsewhere."""
    old, new, gone, come, _ = pair
    if not new.is_change:
        return False
    values = {word.stem for word in old.words[1:]}
    first = next((at for at, word in enumerate(new.words) if word.role == "from"), None)
    if first is not None and any(word.role == "from" and word.stem in values for word in new.words):
        return first == 0 or new.words[0].stem in pair.shared
    is_elsewhere = any(word.role == "in" for word in gone) and any(word.role == "to" for word in come)
    return is_elsewhere and old.words[0].stem == new.words[0].stem


def _has_same_subject(pair: _Pair) -> bool:
    """Return True if facts are about the same thing: what is owned, served or led, else their beginning."""
    owns = _holding(pair.old) and _holding(pair.new)
    if pair.has_other_start:
        return bool(owns) or any(word.stem in pair.new.reason for word in pair.gone)
    has_same_owner = bool(owns) and pair.old.words[0].stem == pair.new.words[0].stem
    return not has_same_owner or any(word.stem[0].isdigit() for word in pair.gone)


def _holding(one: Statement) -> frozenset[str]:
    """Return the verbs whose subject is a statement's value: who owns, leads or serves something."""
    return HOLDING & {word.stem for word in one.words if not word.is_after_be}


def _is_one_value(pair: _Pair) -> bool:
    """Return True if facts differ in one place, or the old one only in a number that the new one replaces."""
    if _places(pair.old, pair.shared) <= 1 and _places(pair.new, pair.shared) <= 1:
        return True
    have_numbers = (any(word.stem[0].isdigit() for word in each) for each in (pair.gone, pair.come))
    return len(pair.gone) == 1 and all(have_numbers)


def _places(one: Statement, shared: frozenset[str]) -> int:
    """Count the runs of words that the other statement does not have."""
    is_apart = [word.stem not in shared for word in one.words]
    return sum(here and not before for before, here in pairwise([False, *is_apart]))


def _share(pair: _Pair) -> float:
    """Return the share of the shorter fact that the other one has; for owners, the share of what is owned."""
    one, other = pair.old.stems, pair.new.stems
    if pair.has_other_start and _holding(pair.old) and _holding(pair.new):
        one = one - HOLDING - {pair.old.words[0].stem}
        other = other - HOLDING - {pair.new.words[0].stem}
    return len(one & other) / max(1, min(len(one), len(other)))


def _is_reversed(pair: _Pair) -> bool:
    """Return True if common words are negated in only one statement, or differently, or once more."""
    one, other = (
        {word.stem for word in each.words if word.is_negated} & pair.shared for each in (pair.old, pair.new)
    )
    if not pair.differences and pair.old.negations != pair.new.negations:
        return True
    return one.isdisjoint(other) and bool(one or other)


def _is_paraphrase(pair: _Pair, cosine: float | None) -> bool:
    """Return True if facts differ only in words of little weight, such as "use" and "file"."""
    if any(word.stem not in LIGHT for word in pair.differences) or (
        cosine is not None and cosine < PARAPHRASE
    ):
        return False
    return _has_same_roles(pair) and _has_same_extent(pair)


def _has_same_roles(pair: _Pair) -> bool:
    """Return True if common words have the same roles in both, and at most one phrase has moved."""
    old, new = ({word.stem: word.role for word in each.words} for each in (pair.old, pair.new))
    changes = {(old[stem], new[stem]) for stem in pair.shared}
    if any(before != after and (after, before) in changes for before, after in changes):
        return False
    if not changes.isdisjoint(_TURNED):
        return False
    if not (_acts_in(new, pair.old) and _acts_in(old, pair.new)):
        return False
    steady = {stem for stem in pair.shared if old[stem] == new[stem]}
    one, other = (
        [word.stem for word in _sorted_lists(each.words) if word.stem in steady]
        for each in (pair.old, pair.new)
    )
    return _is_rotated(one, other)


def _has_same_extent(pair: _Pair) -> bool:
    """Return False if one fact has "may" or "some" where the other has "must" or "all"."""
    one, other = pair.old.extents, pair.new.extents
    is_negated = any(word.is_negated for word in (*pair.old.words, *pair.new.words))
    return is_negated or {axis for axis, _ in one - other}.isdisjoint(axis for axis, _ in other - one)


def _acts_in(active: Mapping[str, str], passive: Statement) -> bool:
    """Return True if the words after "by" in one statement precede the verb in the other, given by roles."""
    order = {stem: at for at, stem in enumerate(active)}
    for verb, agent in pairwise(passive.words):
        is_agent = agent.role in _AGENTS and verb.role not in _AGENTS and active.get(agent.stem) == ""
        if is_agent and order.get(verb.stem, len(order)) < order[agent.stem]:
            return False
    return True


def _sorted_lists(found: Sequence[Word]) -> list[Word]:
    """Sort the items of each list, because their order means nothing."""
    ordered: list[Word] = []
    items: list[Word] = []
    for word in found:
        if not word.is_listed:
            ordered += sorted(items)
            items = []
        items.append(word)
    return ordered + sorted(items)


def _is_rotated(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return True if two sequences are equal except for two adjacent parts that changed places.

    >>> _is_rotated(["run", "lint", "before", "commit"], ["before", "commit", "run", "lint"])
    True
    >>> _is_rotated(["api", "calls", "worker"], ["worker", "calls", "api"])
    False
    """
    begin = _same_beginning(one, other)
    end = len(one) - _same_beginning(one[begin:][::-1], other[begin:][::-1])
    left, right = one[begin:end], other[begin:end]
    at = right.index(left[0]) if left else 0
    return [*right[at:], *right[:at]] == [*left]


def _same_beginning(one: Sequence[str], other: Sequence[str]) -> int:
    return sum(1 for _ in takewhile(lambda both: both[0] == both[1], zip(one, other, strict=False)))
