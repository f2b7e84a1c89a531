"""Compares two facts: the same, a contradiction, two values of the same thing, or unrelated.

"Uses tabs" and "does not use tabs" are alike, but not the same. `scrubjay.text.statements` parses the
words; how similar the meanings are is passed in as a cosine.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from rapidfuzz import fuzz

from scrubjay.text.statements import HOLDING, LIGHT, LIMITS, PARTS, RIVALS, Statement, Word, statement
from scrubjay.text.terms import words

# Chosen on the dev half of tests/bench/pairs.tsv by tests/bench/likeness.py, which prints the results for
# both halves.
PARAPHRASE = 0.84  # least cosine of facts that are the same if they differ only in words of little weight
SAME_MATTER = 1.15  # least sum of cosine and share of common words for facts about the same matter
SAME_MATTER_BY_WORDS = 0.6  # least share of common words if the cosine is not known
COMMON = 100  # a word of more facts than this is no reason to compare two of them

Verdict = Literal["known", "update", "contradict", "similar"]

_MANY = frozenset("use prefer support speak know".split())  # verbs that may have several objects at once
_REVERSALS = frozenset({("from", "to"), ("to", "from")})
_AGENTS = frozenset({"by", "from"})  # the prepositions of the agent of a passive verb


def similarity(one: str, other: str) -> float:
    """Compare the wording of two texts, in [0, 1]: 1 for the same words in any order, case and punctuation.

    The result is the higher of two edit-distance ratios: of the texts, and of their sorted words.
    """
    first, second = " ".join(words(one)), " ".join(words(other))
    if not first or not second:
        return float(one.strip() == other.strip())
    return max(fuzz.ratio(first, second), fuzz.token_sort_ratio(first, second)) / 100


class _Pair(NamedTuple):
    """An older and a newer statement, the words that only one of them has, and the stems that both have."""

    old: Statement
    new: Statement
    removed: list[Word]
    added: list[Word]
    shared: frozenset[str]

    @property
    def differences(self) -> list[Word]:
        return [*self.removed, *self.added]

    @property
    def has_other_start(self) -> bool:
        return self.old.words[0] in self.removed and self.new.words[0] in self.added


def verdict(new: str, old: str, cosine: float | None) -> Verdict | None:
    """Return the relation of a new fact to an old one: known, update, contradict or similar, else None.

    `cosine` is the cosine of their vectors in [-1, 1], or None if it is not known.
    """
    return _verdict(_pair(statement(old), statement(new)), cosine)


def _verdict(pair: _Pair, cosine: float | None) -> Verdict | None:
    if not _is_same_matter(pair, cosine):
        return None
    is_change = pair.new.is_change and not pair.old.is_change
    if _is_reversed(pair):
        return "update" if pair.added or is_change else "contradict"
    if not pair.differences and not (_has_same_roles(pair) and _has_same_extent(pair)):
        return "update" if is_change else "contradict"
    if not pair.differences and pair.new.reason and pair.new.reason.isdisjoint(pair.old.reason):
        return "similar"
    if not pair.differences or _is_paraphrase(pair, cosine):
        return "known"
    is_limited = any(word.stem in LIMITS for word in pair.differences)
    return "update" if is_change or is_limited or (pair.removed and pair.added) else "similar"


def is_same_matter(one: str, other: str, cosine: float | None = None) -> bool:
    """Return True if two facts give the same attribute of the same thing, so that only the newer is valid.

    >>> is_same_matter("The API listens on port 8080.", "The API moved from port 8080 to 9090.")
    True
    """
    both = statement(one), statement(other)
    return any(_is_same_matter(_pair(*order), cosine) for order in (both, both[::-1]))


def are_about_other_parts(one: str, other: str, kinds: Mapping[str, str] = PARTS) -> bool:
    """Return True if two texts name different parts of a system that exclude each other.

    `kinds` maps the stem of each part to a kind; parts of a kind exclude each other.

    >>> are_about_other_parts("Production runs Kubernetes 1.26.", "Staging was upgraded to Kubernetes 1.29.")
    True
    """
    first = statement(one).stems & kinds.keys()
    second = statement(other).stems & kinds.keys() if first else first  # a long text takes a millisecond
    shared = {kinds[part] for part in first & second}
    return not ({kinds[part] for part in first} - shared).isdisjoint(map(kinds.get, second))


def disagreements(texts: Sequence[str]) -> Iterator[tuple[int, int, Verdict]]:
    """Yield the pairs of facts that contradict each other or give two values, judged by their words alone.

    `texts` has the newest first. Each result is the newer fact's position, the older one's, and the verdict.
    """
    statements = [statement(text) for text in texts]
    positions: defaultdict[str, list[int]] = defaultdict(list)
    for position, fact in enumerate(statements):
        for stem in fact.stems:
            positions[stem].append(position)
    for newer, fact in enumerate(statements):
        rare_stems = (stem for stem in fact.stems if len(positions[stem]) <= COMMON)
        candidates = {position for stem in rare_stems for position in positions[stem] if position > newer}
        for older in sorted(candidates):
            stems = statements[older].stems
            least = SAME_MATTER_BY_WORDS * min(len(fact.stems), len(stems))
            if len(fact.stems & stems) >= least:
                judgement = _verdict(_pair(statements[older], fact), None)
                if judgement in ("contradict", "update"):
                    yield newer, older, judgement


def _pair(old: Statement, new: Statement) -> _Pair:
    removed = [word for word in old.words if word.stem not in new.stems]
    added = [word for word in new.words if word.stem not in old.stems]
    return _Pair(old, new, removed, added, old.stems & new.stems)


def _is_same_matter(pair: _Pair, cosine: float | None) -> bool:
    """Return True if two facts are similar and have the same subject.

    If one of them tells a change, they may differ in more than one place.
    """
    if not pair.shared:
        return False
    if not pair.removed or not pair.added or _is_moved(pair):
        return True
    are_rivals = _are_rivals(pair)
    is_about_one = _has_same_subject(pair) and _parts(pair.removed) == _parts(pair.added)
    if not (is_about_one or are_rivals):
        return False
    is_change = pair.new.is_change or pair.old.is_change
    if not is_change and not (_is_one_value(pair) and not _has_many_values(pair)):
        return False
    share = _share(pair)
    if cosine is None:
        return are_rivals or share >= SAME_MATTER_BY_WORDS or _differ_in_one_place(pair)
    return are_rivals or share + cosine >= SAME_MATTER


def _differ_in_one_place(pair: _Pair) -> bool:
    """Return True if facts with the same beginning differ in one name, or after the same preposition.

    Of a fact with two words, such as "Standup is at 9:30", the other one shares too few to be known by them.
    """
    roles = {word.role for word in pair.differences}
    are_names = len(pair.removed) == len(pair.added) == 1 and all(word.is_name for word in pair.differences)
    has_one_place = len(roles) == 1 and (are_names or "" not in roles)
    return has_one_place and not pair.has_other_start and _is_one_value(pair)


def _are_rivals(pair: _Pair) -> bool:
    """Return True if facts with the same beginning differ in rivals, such as Monday and Tuesday."""
    groups = {RIVALS.get(word.stem) for word in pair.differences}
    return len(groups) == 1 and None not in groups and not pair.has_other_start


def _has_many_values(pair: _Pair) -> bool:
    """Return True if both facts may be true of a thing: it has two purposes, or two things are used or liked.

    Of rivals and of numbers, only one is true.
    """
    if _are_rivals(pair) or any(_has_digit(word) for word in pair.differences):
        return False
    ends = {pair.old.words[-1], pair.new.words[-1]}
    phrase = [word for fact in (pair.old, pair.new) for word in fact.words if word.role == "for"]
    if ends <= set(pair.differences) <= set(phrase):
        return not any(map(_has_digit, phrase))
    rest = pair.shared - {pair.old.words[0].stem, pair.new.words[0].stem}
    return not pair.has_other_start and rest <= _MANY and bool(_MANY & pair.shared)


def _has_digit(word: Word) -> bool:
    return any(map(str.isdigit, word.stem))


def _parts(differences: Iterable[Word]) -> set[str]:
    return PARTS.keys() & {word.stem for word in differences}


def _is_moved(pair: _Pair) -> bool:
    """Return True if the new fact says that the thing moved: from the old value, or to another place."""
    old, new, removed, added, _ = pair
    if not new.is_change:
        return False
    old_values = {word.stem for word in old.words[1:]}
    first_from = next((position for position, word in enumerate(new.words) if word.role == "from"), None)
    if first_from is not None and any(word.role == "from" and word.stem in old_values for word in new.words):
        return first_from == 0 or new.words[0].stem in pair.shared
    is_elsewhere = any(word.role == "in" for word in removed) and any(word.role == "to" for word in added)
    return is_elsewhere and old.words[0].stem == new.words[0].stem


def _has_same_subject(pair: _Pair) -> bool:
    """Return True if facts have the same subject.

    The subject is the thing that is owned, served or led; in other facts it is their beginning. What
    precedes "is" or "has" and a number belongs to the subject: "topic orders has 6 partitions".
    """
    if _has_own_name(pair.old, pair.shared) and _has_own_name(pair.new, pair.shared):
        return False
    both_hold = _holding_verbs(pair.old) and _holding_verbs(pair.new)
    if pair.has_other_start:
        return bool(both_hold) or any(word.stem in pair.new.reason for word in pair.removed)
    has_same_owner = bool(both_hold) and pair.old.words[0].stem == pair.new.words[0].stem
    return not has_same_owner or any(word.stem[0].isdigit() for word in pair.removed)


def _has_own_name(fact: Statement, shared: frozenset[str]) -> bool:
    """Return True if a word before the first number after "is" is neither shared nor a number."""
    counts = (at for at, word in enumerate(fact.words) if word.is_after_be and _has_digit(word))
    subject = fact.words[: next(counts, 0)]
    return any(word.stem not in shared and not _has_digit(word) for word in subject)


def _holding_verbs(fact: Statement) -> frozenset[str]:
    """Return the verbs of a statement whose subject is its value: who owns, leads or serves something."""
    return HOLDING & {word.stem for word in fact.words if not word.is_after_be}


def _is_one_value(pair: _Pair) -> bool:
    """Return True if facts differ in one place, or if the new one only replaces a number of the old one."""
    if _count_differences(pair.old, pair.shared) <= 1 and _count_differences(pair.new, pair.shared) <= 1:
        return True
    have_numbers = (any(word.stem[0].isdigit() for word in side) for side in (pair.removed, pair.added))
    return len(pair.removed) == 1 and all(have_numbers)


def _count_differences(one: Statement, shared: frozenset[str]) -> int:
    """Count the runs of words that the other statement lacks."""
    differs = [word.stem not in shared for word in one.words]
    return sum(current and not previous for previous, current in pairwise([False, *differs]))


def _share(pair: _Pair) -> float:
    """Return the share of the shorter fact's words that the other has; the owners do not count."""
    one, other = pair.old.stems, pair.new.stems
    if pair.has_other_start and _holding_verbs(pair.old) and _holding_verbs(pair.new):
        one = one - HOLDING - {pair.old.words[0].stem}
        other = other - HOLDING - {pair.new.words[0].stem}
    return len(one & other) / max(1, min(len(one), len(other)))


def _is_reversed(pair: _Pair) -> bool:
    """Return True if facts differ only in the number of negations, or in which common words are negated."""
    old_negated, new_negated = (
        {word.stem for word in fact.words if word.is_negated} & pair.shared for fact in (pair.old, pair.new)
    )
    if not pair.differences and pair.old.negations != pair.new.negations:
        return True
    return old_negated.isdisjoint(new_negated) and bool(old_negated or new_negated)


def _is_paraphrase(pair: _Pair, cosine: float | None) -> bool:
    """Return True if facts differ only in words of little weight, such as "use" and "file"."""
    if any(word.stem not in LIGHT for word in pair.differences) or (
        cosine is not None and cosine < PARAPHRASE
    ):
        return False
    return _has_same_roles(pair) and _has_same_extent(pair)


def _has_same_roles(pair: _Pair) -> bool:
    """Return True if common words have the same roles in both facts, and at most one phrase has moved."""
    old, new = ({word.stem: word.role for word in fact.words} for fact in (pair.old, pair.new))
    changes = {(old[stem], new[stem]) for stem in pair.shared}
    if any(before != after and (after, before) in changes for before, after in changes):
        return False
    if not changes.isdisjoint(_REVERSALS):
        return False
    if not (_agents_precede_verbs(new, pair.old) and _agents_precede_verbs(old, pair.new)):
        return False
    steady = {stem for stem in pair.shared if old[stem] == new[stem]}
    one, other = (
        [word.stem for word in _sorted_lists(fact.words) if word.stem in steady]
        for fact in (pair.old, pair.new)
    )
    return _is_rotated(one, other)


def _has_same_extent(pair: _Pair) -> bool:
    """Return False if one fact has "may" or "some" where the other has "must" or "all"."""
    one, other = pair.old.extents, pair.new.extents
    is_negated = any(word.is_negated for word in (*pair.old.words, *pair.new.words))
    return is_negated or {axis for axis, _ in one - other}.isdisjoint(axis for axis, _ in other - one)


def _agents_precede_verbs(active: Mapping[str, str], passive: Statement) -> bool:
    """Return True if the agents after "by" in a passive statement precede their verbs in the active one.

    `active` maps the stems of the active statement to their roles, in order.
    """
    order = {stem: at for at, stem in enumerate(active)}
    for verb, agent in pairwise(passive.words):
        is_agent = agent.role in _AGENTS and verb.role not in _AGENTS and active.get(agent.stem) == ""
        if is_agent and order.get(verb.stem, len(order)) < order[agent.stem]:
            return False
    return True


def _sorted_lists(sentence: Sequence[Word]) -> list[Word]:
    """Sort the items of each list in a statement, because their order means nothing."""
    ordered: list[Word] = []
    items: list[Word] = []
    for word in sentence:
        if not word.is_listed:
            ordered += sorted(items)
            items = []
        items.append(word)
    return ordered + sorted(items)


def _is_rotated(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return True if two sequences are equal except for two adjacent parts that changed places."""
    differences = [at for at, (left, right) in enumerate(zip(one, other, strict=True)) if left != right]
    changed = slice(min(differences, default=0), max(differences, default=-1) + 1)
    left, right = one[changed], other[changed]
    shift = right.index(left[0]) if left else 0
    return [*right[shift:], *right[:shift]] == [*left]
