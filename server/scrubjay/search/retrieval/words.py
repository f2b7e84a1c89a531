"""The words of a question in a text: their stems, how rare each is, and what share of them a text holds."""

import math
from collections.abc import Iterable, Mapping
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from scrubjay.encoders.bundled import FOLDER, VOCABULARY
from scrubjay.text.terms import hidden_words, may_begin, singular, spelled_words

Floats = NDArray[np.float64]
# Endings, the longest first, each with the fewest letters that must be left before it: first those of numbers
# and times, then those that make nouns of verbs.
_INFLECTIONS = tuple((ending, 3) for ending in "ings ing ies ied ed es s".split())
_DERIVATIONS = (("ment", 4), ("enc", 4), ("anc", 4), ("ion", 4), ("at", 4), ("er", 3), ("or", 3), ("al", 5))
_KEPT = frozenset({"format"})  # which is no form
_FIRST_WORD = (
    1_995  # line of the first whole word in the vocabulary, which is sorted by frequency from there on
)
_LAST_WORD = 28_526  # its last rank
_STEEP = 2.0  # of the rarity over the logarithm of the rank: "use" .28, "port" .5, "retention" .92, "pnpm" 1
_LEAST = 0.05
_DIGIT = 0.5


@lru_cache(maxsize=1)
def _ranks() -> Mapping[str, int]:
    """Read the rank of each word by its frequency in English, from the vocabulary of the bundled model."""
    tokens = (FOLDER / VOCABULARY).read_text("utf-8").split("\n")[_FIRST_WORD:]
    return {token: rank for rank, token in enumerate(tokens, 1) if token.isalnum()}


@lru_cache(maxsize=4096)
def rarity(word: str) -> float:
    """Return how rare a word in lower case is, in (0, 1]: 1 for a word that the vocabulary does not have.

    It depends on the word alone, so that what else is stored moves no score. Numbers are frequent in English,
    yet one that a question names tells the record: 1, a single digit .5.
    """
    if word.isdigit():
        return 1.0 if len(word) > 1 else _DIGIT
    ranks = _ranks()
    rank = ranks.get(word) or ranks.get(word.removesuffix("s"))
    return 1.0 if rank is None else max(_LEAST, (math.log(rank) / math.log(_LAST_WORD)) ** _STEEP)


@lru_cache(maxsize=8192)  # searches meet mostly the same few thousand words
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
    """Return the stem of a word and how rare the word is."""
    return stem(word), rarity(word)


def _cut(word: str, endings: Iterable[tuple[str, int]]) -> str:
    for ending, least in endings:
        if word.endswith(ending) and len(word) - len(ending) >= least:
            return word[: -len(ending)]
    return word


def _plain(word: str) -> str:
    """Drop a last letter that comes and goes: release and releases, query and queries, stop and stopped."""
    return word[:-1] if len(word) > 3 and (word[-1] in "ey" or word[-1] == word[-2]) else word


def held(wanted: frozenset[str], text: str) -> frozenset[str]:
    """Return those of these stems that a text holds; fast, because a search compares hundreds of texts."""
    may = may_begin(text, wanted)  # a stem is the beginning of its word
    left = may.difference(map(stem, spelled_words(text, may))) if may else may
    if left:
        left = left.difference(map(stem, hidden_words(text, left)))
    return frozenset(may - left)


def shares(weights: Mapping[str, float], texts: Iterable[str]) -> Floats:
    """Compute which share of the weight of these stems each text holds, in [0, 1]."""
    wanted, total = frozenset(weights), sum(weights.values())
    if not total:
        return np.array([0.0 for _ in texts])
    return np.array(
        [sum(weights[each] for each in held(wanted, text)) / total for text in texts], dtype=float
    )
