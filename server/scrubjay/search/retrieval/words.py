"""Compares the words of a question with a text: by their stems, weighted by their rarity."""

import math
from collections.abc import Iterable, Mapping
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from scrubjay.encoders.bundled import vocabulary
from scrubjay.text.terms import hidden_words, may_begin, singular, spelled_words

Floats = NDArray[np.float64]
# Endings of plurals and tenses, and of nouns made from verbs, the longest first. Each has the least number of
# letters that must precede it.
_INFLECTIONS = dict.fromkeys("ings ing ies ied ed es s".split(), 3)
_DERIVATIONS = {"ment": 4, "enc": 4, "anc": 4, "ion": 4, "at": 4, "er": 3, "or": 3, "al": 5}
_UNINFLECTED = frozenset({"format"})  # words that only look like inflected forms
_FIRST_WORD = 1_995  # id of the first whole word in the vocabulary, which is sorted by frequency from there
_LAST_WORD = 28_526  # the rank of its last word
# Rarity is the logarithm of the rank, relative to the last rank, to this power. With 2 the rarities are:
# "use" .28, "port" .5, "retention" .92, "pnpm" 1.
_EXPONENT = 2.0
_LEAST_RARITY = 0.05
_DIGIT_RARITY = 0.5


@lru_cache(maxsize=4096)
def rarity(word: str) -> float:
    """Return the rarity of a word in lower case, in (0, 1]: 1 for a word that is not in the vocabulary.

    It depends on the word alone, so that scores do not depend on the store. Numbers are frequent in English,
    but a number in a question identifies a record: it gets 1, a single digit .5.
    """
    if word.isdigit():
        return 1.0 if len(word) > 1 else _DIGIT_RARITY
    rank = _rank(word) or _rank(word.removesuffix("s"))
    return 1.0 if rank is None else max(_LEAST_RARITY, (math.log(rank) / math.log(_LAST_WORD)) ** _EXPONENT)


def _rank(word: str) -> int | None:
    """Return the rank of a word by frequency in English, as in the bundled model's vocabulary, or None."""
    number = vocabulary().number(word)
    return None if number is None or number < _FIRST_WORD else number - _FIRST_WORD + 1


@lru_cache(maxsize=8192)  # most words of searches are among a few thousand
def stem(word: str) -> str:
    """Strip the commonest English endings: good enough for coverage, too coarse for a search.

    >>> stem("preferences"), stem("prefers"), stem("deployment"), stem("deploys"), stem("releases")
    ('pref', 'pref', 'deplo', 'deplo', 'releas')
    """
    if (single := word.removesuffix("s")) in _UNINFLECTED:
        return single
    word = _without_last(_without_ending(singular(word), _INFLECTIONS))
    for _ in range(2):  # preference, prefer, pref
        word = _without_last(_without_ending(word, _DERIVATIONS))
    return word


@lru_cache(maxsize=16_384)
def weighed(word: str) -> tuple[str, float]:
    """Return the stem of a word and its rarity."""
    return stem(word), rarity(word)


def _without_ending(word: str, endings: Mapping[str, int]) -> str:
    if word.endswith(tuple(endings)):  # most words have no such ending
        for ending, least in endings.items():
            if word.endswith(ending) and len(word) - len(ending) >= least:
                return word[: -len(ending)]
    return word


def _without_last(word: str) -> str:
    """Drop a last letter that varies, as in release, releases; query, queries; stop, stopped."""
    return word[:-1] if len(word) > 3 and (word[-1] in "ey" or word[-1] == word[-2]) else word


def stems_in(text: str, stems: frozenset[str]) -> frozenset[str]:
    """Return which of these stems a text has; fast, because a search compares hundreds of texts."""
    possible = may_begin(text, stems)  # a stem is the beginning of its word
    missing = possible.difference(map(stem, spelled_words(text, possible))) if possible else possible
    if missing:
        missing = missing.difference(map(stem, hidden_words(text, missing)))
    return frozenset(possible - missing)


def shares(weights: Mapping[str, float], texts: Iterable[str]) -> Floats:
    """Return how much of the weight of these stems each text has, as a share in [0, 1]."""
    stems, total = frozenset(weights), sum(weights.values())
    if not total:
        return np.array([0.0 for _ in texts])
    return np.array(
        [sum(weights[each] for each in stems_in(text, stems)) / total for text in texts], dtype=float
    )
