"""Whether two sentences say the same: how alike they are worded, and whether they state the same facts. Knows spelling and English
negation, not meaning; "uses tabs" and "does not use tabs" are alike, and not the same. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from rapidfuzz import fuzz

from scrubjay.terms import STOP, words

_NEGATIONS = frozenset("no not never none nothing neither nor without cannot t isnt dont doesnt wont cant".split())  # noqa: SIM905
# Words that turn a sentence round where they alone differ.
_TURNING = frozenset(
    """
    enable enabled enables disable disabled disables on off allow allowed allows deny denied forbid forbidden always before after
    above below min max minimum maximum true false yes instead except unless only avoid stop stopped start started add added remove
    removed include included exclude excluded increase increased decrease decreased more less old new
    """.split()  # noqa: SIM905 - as a list it would fill a screen
)
_COUNTED = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBERS = {word: str(number) for number, word in enumerate(_COUNTED)}
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_CODE = re.compile(r"`([^`\n]+)`|\b([A-Za-z]*[a-z][A-Z]\w*|\w+_\w+|\w+(?:[./\\:@#]\w+)+)")
_RUN = re.compile(r"[^\W_]+")


def alike(one: str, other: str) -> float:
    """Likeness of wording in [0, 1]: 1 for the same words, in whatever order, case and punctuation.

    The better of two edit-distance ratios, of the texts as they stand and of their words sorted.
    """
    first, second = " ".join(words(one)), " ".join(words(other))
    if not first or not second:
        return float(one.strip() == other.strip())
    return max(fuzz.ratio(first, second), fuzz.token_sort_ratio(first, second)) / 100


def same_facts(one: str, other: str) -> bool:
    """Whether numbers, negations, names and code words agree. False is the safe answer: both sentences are then kept."""
    return (
        _numbers(one) == _numbers(other)
        and _negations(one) == _negations(other)
        and _turns(one) == _turns(other)
        and not _code(one) ^ _code(other)
        and _names(one) <= _singular(words(other))
        and _names(other) <= _singular(words(one))
    )


def _numbers(text: str) -> list[str]:
    """The numbers, sorted; 8,080 is 8080, and two is 2."""
    digits = [re.sub(r",(?=\d{3}\b)", "", number) for number in _NUMBER.findall(text)]
    return sorted(digits + [_NUMBERS[word] for word in words(text) if word in _NUMBERS])


def _negations(text: str) -> int:
    return sum(word in _NEGATIONS for word in words(text))


def _turns(text: str) -> set[str]:
    return _TURNING & set(words(text))


def _code(text: str) -> set[str]:
    """Code words as they are spelled: in backticks, camelCase, snake_case, paths."""
    return {quoted.strip() or bare for quoted, bare in _CODE.findall(text)}


def _names(text: str) -> set[str]:
    """Capitalised words, case-folded. A sentence's first word may be one too; it counts when the other text lacks it."""
    runs = _RUN.findall(unicodedata.normalize("NFKC", text))
    return _singular(word for run in runs if run[0].isupper() for word in words(run) if word not in STOP)


def _singular(said: Iterable[str]) -> set[str]:
    return {word.rstrip("s") for word in said}
