"""Relevance: how likely the answer is among the hits, as an absolute number. Knows cosines, words and ranking sums; not where they
come from.

Fitted by `tests/bench/calibration.py --fit` on LoCoMo's dev half alone: its questions, and as many that the store cannot answer,
those of another conversation with the speakers renamed. The first hit's relevance is the share of such questions whose first ten
hits held the answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from scrubjay.search.retrieval.ranking import QUOTED, Floats
from scrubjay.text.terms import compared_words, hidden_words, may_begin, spelled_words

PROOF = 5  # candidates from the top whose evidence counts: 1 separates less well (AUC .872 for .881), 10 no better
UNRELATED, PARAPHRASE = (
    0.15,
    0.75,
)  # cosines with all-MiniLM-L6-v2; 0.1 to 0.2, and spans of 0.5 to 0.7, are a plateau
BY_WORDS = 0.8  # words alone prove less than meaning; 0.7 to 0.9 is a plateau
STEEPNESS, MIDDLE = 9.9, 0.69  # of the chance over the evidence; at MIDDLE it is even
WORDS_STEEPNESS, WORDS_MIDDLE = 6.3, 0.61  # over coverage alone, where there is no vector to compare
FALL = 2.0  # of the log odds for a unit behind the best; 3.2 fits single hits best, but keeps the right one above 0.5 in 57 % and not 62
QUOTATION = (
    0.9  # what the query quotes lies from here to 1, and everything else below while something is quoted
)


def coverage(query: str, texts: Iterable[str]) -> Floats:
    """The share of the query's content words that each text holds, in [0, 1]."""
    wanted = {_stem(word) for word in compared_words(query)}
    return np.array(
        [(len(wanted) - len(_missing(wanted, text))) / len(wanted) if wanted else 0.0 for text in texts],
        dtype=float,
    )


def _missing(wanted: set[str], text: str) -> set[str]:
    may = may_begin(
        text, wanted
    )  # a stem is the beginning of its word; of hundreds of chunks a search holds against a question
    left = may.difference(map(_stem, spelled_words(text, may))) if may else may
    if left:
        left = left.difference(map(_stem, hidden_words(text, left)))
    return (wanted - may) | left


def evidence(cosine: Floats, coverage: Floats) -> Floats:
    """How well a text answers by itself, in [0, 1]: by meaning or by words, whichever it is, both adding up.

    `cosine` of the query and the text, NaN where it is unknown; `coverage`, the share of the query's content words in the text.
    """
    by_meaning = np.clip((np.nan_to_num(cosine, nan=0.0) - UNRELATED) / (PARAPHRASE - UNRELATED), 0.0, 1.0)
    return 1.0 - (1.0 - by_meaning) * (1.0 - BY_WORDS * np.clip(coverage, 0.0, 1.0))


def chance(cosine: Floats, coverage: Floats, *, words_only: NDArray[np.bool_]) -> float:
    """The chance, in [0, 1), that the best of these texts and what ranks like it hold the answer; 0 without a text.

    `words_only` marks those that no vector speaks for.
    """
    by_evidence = STEEPNESS * (evidence(cosine, coverage) - MIDDLE)
    logit = np.where(words_only, WORDS_STEEPNESS * (coverage - WORDS_MIDDLE), by_evidence)
    return float(1.0 / (1.0 + np.exp(-logit.max(initial=-np.inf))))


def relevance(total: Floats, chance: float, *, quoted: NDArray[np.bool_]) -> Floats:
    """Ranking sums as relevance in [0, 1], in their order: the best has `chance`, the others' odds fall with the distance to it.

    When something is quoted, the quoted lie in [0.9, 1] and the rest below.
    """
    odds = chance / (1.0 - chance) * np.exp(-FALL * behind(total, quoted=quoted))
    low, high = bounds(quoted)
    return low + (high - low) * odds / (1.0 + odds)


def bounds(quoted: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """The least and the greatest relevance that each candidate may have."""
    return np.where(quoted, QUOTATION, 0.0), np.where(quoted.any() & ~quoted, QUOTATION, 1.0)


def behind(total: Floats, *, quoted: NDArray[np.bool_]) -> Floats:
    """How far each ranking sum is behind the greatest, what a quotation adds left out; 0 or more."""
    plain = total - QUOTED * quoted
    return plain.max(initial=-np.inf) - plain


@lru_cache(
    maxsize=4096
)  # of five turns in every search, and of hundreds of chunks; mostly the same few thousand words
def _stem(word: str) -> str:
    """A word without its commonest English endings: enough to count coverage, too coarse to search with."""
    for ending in ("ings", "ing", "ies", "ied", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    if len(word) > 3 and (
        word[-1] in "ey" or word[-1] == word[-2]
    ):  # release and releases, query and queries, stop and stopped
        word = word[:-1]
    return word
