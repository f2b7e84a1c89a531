"""The words of a question in a text: their stems, their rarity, and the share of them in a text."""

import math
from collections.abc import Iterable, Mapping
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from scrubjay.encoders.bundled import vocabulary
from scrubjay.text.terms import hidden_words, may_begin, singular, spelled_words

Floats = NDArray[np.float64]
# Endings, the longest first, each with the fewest letters that must remain before it: first plurals and
# tenses, then those that make nouns of verbs.
_INFLECTIONS = dict.fromkeys("ings ing ies ied ed es s".split(), 3)
_DERIVATIONS = {"ment": 4, "enc": 4, "anc": 4, "ion": 4, "at": 4, "er": 3, "or": 3, "al": 5}
_KEPT = frozenset({"format"})  # not an inflected form
_FIRST_WORD = 1_995  # id of the first whole word in the vocabulary, which is sorted by frequency from there
_LAST_WORD = 28_526  # the last rank
# Slope of the rarity over the logarithm of the rank: "use" .28, "port" .5, "retention" .92, "pnpm" 1.
_STEEP = 2.0
_LEAST = 0.05
_DIGIT = 0.5


@lru_cache(maxsize=4096)
def rarity(word: str) -> float:
    """Return the rarity of a word in lower case, in (0, 1]: 1 for a word that is not in the vocabulary.

    It depends on the word alone, so that scores do not depend on the store. Numbers are frequent in English,
    but one in a question identifies a record: 1, a single digit .5.
    """
    if word.isdigit():
        return 1.0 if len(word) > 1 else _DIGIT
    rank = _rank(word) or _rank(word.removesuffix("s"))
    return 1.0 if rank is None else max(_LEAST, (math.log(rank) / math.log(_LAST_WORD)) ** _STEEP)


def _rank(word: str) -> int | None:
    """Return the rank of a word by its frequency in English, which the bundled model's vocabulary shows."""
    number = vocabulary().number(word)
    return None if number is None or number < _FIRST_WORD else number - _FIRST_WORD + 1


@lru_cache(maxsize=8192)  # most words of searches are among a few thousand
def stem(word: str) -> str:
    """Strip the commonest English endings: enough to count coverage, too coarse to search with.

    >>> stem("preferences"), stem("prefers"), stem("deployment"), stem("deploys"), stem("releases")
    ('pref', 'pref', 'deplo', 'deplo', 'releas')
    """
    if (single := word.removesuffix("s")) in _KEPT:
        return single
    word = _plain(_cut(singular(word), _INFLECTIONS))
    for _ in range(2):  # preference, prefer, pref
        word = _plain(_cut(word, _DERIVATIONS))
    return word


@lru_cache(maxsize=16_384)
def weighed(word: str) -> tuple[str, float]:
    """Return the stem of a word and its rarity."""
    return stem(word), rarity(word)


def _cut(word: str, endings: Mapping[str, int]) -> str:
    if word.endswith(tuple(endings)):  # most words have none of them
        for ending, least in endings.items():
            if word.endswith(ending) and len(word) - len(ending) >= least:
                return word[: -len(ending)]
    return word


def _plain(word: str) -> str:
    """Drop a last letter that varies: release and releases, query and queries, stop and stopped."""
    return word[:-1] if len(word) > 3 and (word[-1] in "ey" or word[-1] == word[-2]) else word


def held(wanted: frozenset[str], text: str) -> frozenset[str]:
    """Return which of these stems a text has; fast, because a search compares hundreds of texts."""
    may = may_begin(text, wanted)  # a stem is the beginning of its word
    left = may.difference(map(stem, spelled_words(text, may))) if may else may
    if left:
        left = left.difference(map(stem, hidden_words(text, left)))
    return frozenset(may - left)


def shares(weights: Mapping[str, float], texts: Iterable[str]) -> Floats:
    """Return the share of the weight of these stems that each text has, in [0, 1]."""
    wanted, total = frozenset(weights), sum(weights.values())
    if not total:
        return np.array([0.0 for _ in texts])
    return np.array(
        [sum(weights[each] for each in held(wanted, text)) / total for text in texts], dtype=float
    )
