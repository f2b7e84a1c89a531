"""Whether two sentences say the same: how alike their words are, and whether they state the same facts.

"Uses tabs" and "does not use tabs" are alike, and not the same. Spelling and English negation are looked at
here; meaning comes in as a cosine.
"""

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Literal

from rapidfuzz import fuzz

from scrubjay.text.terms import NUMBER_WORDS, STOP, content_words, runs, words

# Chosen on the dev half of tests/bench/pairs.tsv by tests/bench/likeness.py, which prints what they give on
# both halves.
SAME_MEANING, SAME_WORDING = 0.85, 0.8  # from either on, sentences that state the same facts say the same
ABOUT_THE_SAME = 1.3  # cosine + wording: from there on, a fact that differs in one place updates the other
ABOUT_THE_SAME_BY_WORDS = 0.78  # the same for wording alone, where there is no cosine
NEAR, NEAR_BY_WORDS = 0.6, 0.75  # cosine, wording: from either on, a fact is worth showing

Verdict = Literal["known", "update", "similar"]

_NEGATIONS = frozenset(
    "no not never none nothing neither nor without cannot t isnt dont doesnt wont cant".split()
)
# Words that reverse a sentence if they alone differ.
_REVERSALS = frozenset(
    """
    enable enabled enables disable disabled disables on off allow allowed allows deny denied forbid forbidden
    always before after above below min max minimum maximum true false yes instead except unless only avoid
    stop stopped start started add added remove removed include included exclude excluded increase increased
    decrease decreased more less old new
    """.split()
)
_NUMBERS = {word: str(number) for number, word in enumerate(NUMBER_WORDS)}
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_CODE = re.compile(r"`([^`\n]+)`|\b([A-Za-z]*[a-z][A-Z]\w*|\w+_\w+|\w+(?:[./\\:@#]\w+)+)")


def similarity(one: str, other: str) -> float:
    """Compare the wording of two texts in [0, 1]: 1 for the same words, in any order, case and punctuation.

    Takes the better of two edit-distance ratios: of the texts as they stand and of their words sorted.
    """
    first, second = " ".join(words(one)), " ".join(words(other))
    if not first or not second:
        return float(one.strip() == other.strip())
    return max(fuzz.ratio(first, second), fuzz.token_sort_ratio(first, second)) / 100


def same_facts(one: str, other: str) -> bool:
    """Whether numbers, negations, names and code words agree. False is the safe answer: both texts stay."""
    return (
        _numbers(one) == _numbers(other)
        and _negations(one) == _negations(other)
        and _REVERSALS & set(words(one)) == _REVERSALS & set(words(other))
        and not _code(one) ^ _code(other)
        and _names(one) <= _singular(words(other))
        and _names(other) <= _singular(words(one))
    )


def repeats(new: str, old: str) -> bool:
    """Whether the old sentence states all that the new one does: same facts, and no new content word."""
    old_words, new_words = ({_NUMBERS.get(word, word) for word in content_words(text)} for text in (old, new))
    return same_facts(new, old) and all(any(_akin(word, other) for other in old_words) for word in new_words)


def differences(one: str, other: str) -> list[str]:
    """List the edits that turn one sentence's content words into the other's: replace, insert or delete.

    Inflections and the spelling of small numbers make no difference.

    >>> differences("The build needs Node 18.", "The build needs Node 20.")
    ['replace']
    """
    first, second = ([_stem(_NUMBERS.get(word, word)) for word in content_words(t)] for t in (one, other))
    edits = SequenceMatcher(None, first, second, autojunk=False).get_opcodes()
    return [edit for edit, *_ in edits if edit != "equal"]


def verdict(new: str, old: str, cosine: float | None) -> Verdict | None:
    """Decide whether a new fact repeats an old one (known), contradicts (update) or resembles it; else None.

    `cosine` is that of their vectors in [-1, 1], None if meaning is unknown.
    """
    wording = similarity(new, old)
    alike = wording >= SAME_WORDING or (cosine is not None and cosine >= SAME_MEANING)
    if alike and repeats(new, old):
        return "known"
    near = wording >= ABOUT_THE_SAME_BY_WORDS if cosine is None else cosine + wording >= ABOUT_THE_SAME
    if near:
        edits = differences(new, old)
        # An insertion or deletion with the same facts only says more or less.
        if len(edits) == 1 and (edits == ["replace"] or not same_facts(new, old)):
            return "update"
    return "similar" if wording >= NEAR_BY_WORDS or (cosine is not None and cosine >= NEAR) else None


def _akin(one: str, other: str) -> bool:
    """Whether two words may be forms of one: equal, or with the same first letters (hash, hashed)."""
    least = max(3, -(-3 * min(len(one), len(other)) // 5))
    begin_alike = one[:least] == other[:least] and abs(len(one) - len(other)) <= 4
    return one == other or (begin_alike and not (one + other).isdigit())


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _numbers(text: str) -> list[str]:
    """The numbers, sorted; 8,080 is 8080, and two is 2."""
    digits = [re.sub(r",(?=\d{3}\b)", "", number) for number in _NUMBER.findall(text)]
    return sorted(digits + [_NUMBERS[word] for word in words(text) if word in _NUMBERS])


def _negations(text: str) -> int:
    return sum(word in _NEGATIONS for word in words(text))


def _code(text: str) -> set[str]:
    return {quoted.strip() or bare for quoted, bare in _CODE.findall(text)}


def _names(text: str) -> set[str]:
    """Capitalised words, case-folded; also a sentence's first word, which counts if the other lacks it."""
    capitalised = (run for run in runs(text) if run[0].isupper())
    return _singular(word for run in capitalised for word in words(run) if word not in STOP)


def _singular(plurals: Iterable[str]) -> set[str]:
    return {word.rstrip("s") for word in plurals}
