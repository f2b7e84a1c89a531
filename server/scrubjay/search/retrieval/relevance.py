"""Relevance: an absolute number, in [0, 1], for how likely the hits hold the answer.

Fitted by `tests/bench/calibration.py --fit` on the dev half of LoCoMo and on the made-up projects in
`tests/bench/projects`: their questions, and as many that the store cannot answer. The relevance of a first
hit is the share of such questions whose first hits held the answer.
"""

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from scrubjay.models.results import Confidence
from scrubjay.search.retrieval.ranking import QUOTED, Floats
from scrubjay.text.terms import compared_words, hidden_words, may_begin, spelled_words

# candidates from the top whose evidence counts; 1 gives AUC .872 instead of .881, 10 no more
EVIDENCE_DEPTH = 5
# Cosines with all-MiniLM-L6-v2; 0.1 to 0.2, and spans of 0.5 to 0.7, are a plateau.
UNRELATED, PARAPHRASE = 0.15, 0.75
BY_WORDS = 0.8  # weight of coverage: words alone prove less than meaning; 0.7 to 0.9 is a plateau
# Coverage by a record that names an entity of the question, in any spelling: enough to be shown as doubtful.
NAMED_COVERS = 0.7
# Of the logistic curve from evidence to chance; 0.5 at MIDDLE. AUC of questions with an answer against
# plausible ones without: .899 on LoCoMo's dev half, .884 and .890 on the projects' dev and test half. A curve
# over cosine, coverage and tokens has the same, and gives nothing for a name that is there in words alone.
STEEPNESS, MIDDLE = 8.8, 0.605
WORDS_STEEPNESS, WORDS_MIDDLE = 6.3, 0.61  # the same from coverage, where there is no vector
# Log odds that a candidate is right: its distance behind the best, its cosine, tokens and coverage, its late
# interaction, and their offset. For what an answer should hold; hits are ordered by their ranking sum.
RIGHT_BEHIND, RIGHT_COSINE, RIGHT_TOKENS, RIGHT_COVERAGE, RIGHT_LATE = -2.7, 3.3, 1.3, 0.9, 1.1
RIGHT_OFFSET = -4.0
# Log odds fall by so much at least for each unit of ranking sum. Without it many hits are as relevant as the
# one before, and age decides between them: any@10 on LoCoMo's first dev conversations is 91.8 instead of
# 92.3; 0.1 to 1 give the same.
LEAST_FALL = 0.3
# Chances below which an answer is doubtful, or none. At 0.5, nine of ten questions without an answer are
# refused or doubtful. Who says how much he wants gets doubtful hits from half of WEAK on.
STRONG, WEAK = 0.5, 0.03
QUOTATION = 0.9  # quoted records lie from here to 1; while anything is quoted, all others lie below


def coverage(query: str, texts: Iterable[str]) -> Floats:
    """Compute the share of the query's content words that each text holds, in [0, 1]."""
    wanted, held = held_words(query, texts)
    return np.array([len(each) / len(wanted) if wanted else 0.0 for each in held], dtype=float)


def held_words(query: str, texts: Iterable[str]) -> tuple[frozenset[str], list[frozenset[str]]]:
    """Return the stems of the query's content words, and which of them each text holds."""
    wanted = _stems(query)
    return wanted, [wanted - _missing(wanted, text) for text in texts]


@lru_cache(maxsize=64)  # a search asks for those of its query some hundred times
def _stems(query: str) -> frozenset[str]:
    return frozenset(stem(word) for word in compared_words(query))


def _missing(wanted: frozenset[str], text: str) -> frozenset[str]:
    """Find the stems that the text does not hold; fast, because a search compares hundreds of chunks."""
    may = may_begin(text, wanted)  # a stem is the beginning of its word
    left = may.difference(map(stem, spelled_words(text, may))) if may else may
    if left:
        left = left.difference(map(stem, hidden_words(text, left)))
    return (wanted - may) | left


def evidence(cosine: Floats, coverage: Floats) -> Floats:
    """Estimate how well a text answers by itself, in [0, 1], from meaning and words together.

    `cosine` is that of query and text, NaN if unknown; `coverage` the share of the query's content words in
    the text.
    """
    by_meaning = np.clip((np.nan_to_num(cosine, nan=0.0) - UNRELATED) / (PARAPHRASE - UNRELATED), 0.0, 1.0)
    return 1.0 - (1.0 - by_meaning) * (1.0 - BY_WORDS * np.clip(coverage, 0.0, 1.0))


def chance(cosine: Floats, coverage: Floats, *, words_only: NDArray[np.bool_]) -> float:
    """Estimate the chance, in [0, 1), that the best of these texts holds the answer; 0 without a text.

    `words_only` marks the texts without a vector.
    """
    by_evidence = STEEPNESS * (evidence(cosine, coverage) - MIDDLE)
    logit = np.where(words_only, WORDS_STEEPNESS * (coverage - WORDS_MIDDLE), by_evidence)
    return float(_share(logit.max(initial=-np.inf)))


def chances_right(distance: Floats, cosine: Floats, tokens: Floats, coverage: Floats, late: Floats) -> Floats:
    """Estimate the chance of each candidate, in [0, 1), to be a right one; `distance` as of `behind`."""
    logit = RIGHT_BEHIND * distance + RIGHT_COSINE * np.nan_to_num(cosine, nan=0.0)
    logit += RIGHT_TOKENS * np.nan_to_num(tokens, nan=0.0) + RIGHT_COVERAGE * coverage + RIGHT_LATE * late
    return _share(logit + RIGHT_OFFSET)


def _share(logit: Floats) -> Floats:
    values: Floats = 1.0 / (1.0 + np.exp(-logit))
    return values


def falls(distance: Floats, right: Floats) -> Floats:
    """Compute by how much the log odds of each candidate lie below the first's, in ranking order.

    They rise a little at least with every distance. `right` are the chances of the first candidates to be
    right; behind these the odds fall with the distance to the best alone.
    """
    if not len(right):
        return np.zeros(0)
    logit = np.log(right) - np.log1p(-right)
    further = np.maximum(0.0, distance[len(right) :] - distance[len(right) - 1])
    by_right = np.maximum(0.0, logit[0] - logit)
    by_right = np.concatenate([by_right, by_right.max() - RIGHT_BEHIND * further])
    least = LEAST_FALL * np.maximum.accumulate(distance)
    values: Floats = least + np.maximum.accumulate(by_right - least)
    return values


def relevance(fall: Floats, chance: float, *, quoted: NDArray[np.bool_]) -> Floats:
    """Turn the falls of candidates into relevance in [0, 1].

    The first gets `chance`, and the odds of the others fall behind it.
    If anything is quoted, the quoted lie in [0.9, 1] and the rest below.
    """
    odds = chance / (1.0 - chance) * np.exp(-fall)
    low, high = bounds(quoted)
    values: Floats = low + (high - low) * odds / (1.0 + odds)
    return values


def confidence(chance: float, *, quoted: bool, weak: float = WEAK) -> Confidence:
    """Say how far hits of this chance are to be relied on; a quotation is what it is."""
    if quoted or chance >= STRONG:
        return "strong"
    return "weak" if chance >= weak else "none"


def bounds(quoted: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Give the least and the greatest relevance that each candidate may have."""
    return np.where(quoted, QUOTATION, 0.0), np.where(quoted.any() & ~quoted, QUOTATION, 1.0)


def behind(total: Floats, *, quoted: NDArray[np.bool_]) -> Floats:
    """Measure how far each ranking sum is behind the greatest, without what a quotation adds; 0 or more."""
    plain = total - QUOTED * quoted
    distance: Floats = plain.max(initial=-np.inf) - plain
    return distance


@lru_cache(maxsize=4096)  # searches meet mostly the same few thousand words
def stem(word: str) -> str:
    """Strip the commonest English endings: enough to count coverage, too coarse to search with."""
    for ending in ("ings", "ing", "ies", "ied", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    if len(word) > 3 and (word[-1] in "ey" or word[-1] == word[-2]):
        word = word[:-1]  # release and releases, query and queries, stop and stopped
    return word
