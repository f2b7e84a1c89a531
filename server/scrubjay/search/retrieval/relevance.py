"""How reliable an answer is as a whole, how likely each hit is right, and how similar each record is.

These are three logistic models of absolute evidence, fitted by `tests/bench/fit.py`; their weights are in
`weights.json`. The verdict (strong, weak, none) is about the first hits together. The chance of a hit decides
what is shown. The similarity of a record depends on the question and that record alone.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from scrubjay.models.results import Confidence
from scrubjay.search.retrieval.asked import ParsedQuestion
from scrubjay.search.retrieval.ranking import QUOTED, RELATED, Floats, Ints, Signals, fill_unknown
from scrubjay.search.retrieval.weights import RIGHT, SIMILARITY, VERDICT, VERDICT_READ
from scrubjay.search.retrieval.words import stem, stems_in
from scrubjay.text.answer_kinds import fit, holds
from scrubjay.text.likeness import are_about_other_parts
from scrubjay.text.statements import CONTRARIES, PARTS

MOST_AHEAD = 4.0  # greatest lead of the first that counts, in ranking sum
FEW, ALONE_AHEAD = 2, 1.0  # with at most FEW candidates, the first is assumed to lead by ALONE_AHEAD
EVEN = 0.5  # fit of an answer to a question that wants no kind of answer
READ = 3  # top candidates whose sentences are read for the verdict
# Log odds between which a model reads the first candidate. Below, no reading makes it certain. Above, where
# two of five dev answers are, readings had one effect: three right answers became doubtful.
READ_FROM, READ_BELOW = -3.0, 1.5
DEPTH = 5  # top candidates whose evidence counts for the verdict
# Cosines of unrelated texts and of paraphrases with the bundled model. For the first, 0.15 to 0.2 is a
# plateau; for the span between both, 0.5 to 0.7 is one. Words without a meaning reach 0.27.
UNRELATED, PARAPHRASE = 0.2, 0.75
AROUND = 8  # cosines in the mean `around`; if a store has fewer, `UNRELATED` replaces those missing
USUALLY_UNEVEN = 0.14  # value of `uneven` without token codes: its mean on the dev projects
# Pairs of evidence whose product says more than both alone, chosen from 91. On held-out projects and stores
# these five lower the loss from .380 to .358.
PRODUCTS = (
    ("prior", "fitting"),
    ("lacking", "topical"),
    ("covered", "covered"),
    ("ahead", "wants"),
    ("prior", "prior"),
)
BY_WORDS = 0.8  # weight of coverage: words alone are weaker evidence than meaning; 0.7 to 0.9 is a plateau
# Coverage of a record that names an entity of the question, in any spelling: enough to be shown as doubtful.
NAMED_COVERS = 0.7
# With less proof, nothing supports an answer: the hits have no word of the question, and cosines below 0.27,
# which words without a meaning reach too. Then only a caller that requests a size gets hits.
LEAST_PROOF = 0.13
_EXCLUSIVE = PARTS | CONTRARIES  # what a text says of one of them, it does not say of another
FALL = 0.6  # a hit's log odds fall by this per unit of ranking sum behind the first
# An answer with a chance below STRONG is doubtful, and one with a chance below WEAK is empty. For a caller
# that requests a size, half of WEAK is enough for doubtful hits.
STRONG, WEAK = 0.5, 0.02
DOUBTFUL = 0.1  # least relevance of the first hit: with less, importance alone would order doubtful hits
QUOTATION = 0.9  # least relevance of quoted records; if any is quoted, all others are below


def evidence(cosine: Floats, coverage: Floats) -> Floats:
    """Estimate how well a text answers by itself, in [0, 1], from meaning and words together.

    `cosine` compares query and text (NaN: unknown); `coverage` is the share of the query's content words in
    the text.
    """
    by_meaning = np.clip((fill_unknown(cosine, 0.0) - UNRELATED) / (PARAPHRASE - UNRELATED), 0.0, 1.0)
    return 1.0 - (1.0 - by_meaning) * (1.0 - BY_WORDS * np.clip(coverage, 0.0, 1.0))


def verdict_evidence(
    parsed: ParsedQuestion, signals: Signals, total: Floats, first: Ints, texts: Sequence[str]
) -> dict[str, float]:
    """Return the evidence that the answer is among the `first` candidates, best first, or {}.

    `texts` are those of the first few, with the kinds of what they name. Words replace a missing vector.

    proof    how well the best answers, by meaning and words
    closest  the greatest cosine of the first
    around   the mean of the eight greatest cosines: how much of the store is about the question's subject
    covered  the coverage of the first
    uneven   how unevenly the first matches the question's tokens
    lacking  the rarity of the rarest word of the question that the first lacks
    unsaid   the rarity of the rarest word of its topic that all of the first few lack
    ahead    how far the first is ahead of the next ones, in ranking sum
    prior    log odds that memories answer such a question, independent of the store
    wants    1 if the question wants a kind of answer
    holds    1 if the first has the wanted kind of answer
    fitting  how well one of them has the wanted kind of answer close to the topic, times proof
    topical  how well the best sentence fits the question's subject, with any kind of answer
    other_part  1 if the first names what excludes the question's: staging, not production; import, not export

    The products of the pairs in `PRODUCTS` are evidence too.
    """
    if not len(first):
        return {}
    ranked = np.sort(total[~np.isnan(signals.coverage)])[::-1]
    ahead = float(ranked[0]) - float(np.median(ranked[1:8])) if len(ranked) > FEW else ALONE_AHEAD
    nearness = _nearness(signals, first)
    values = {
        "offset": 1.0,
        **nearness,
        "lacking": _rarest_missing(parsed.weights, texts[0]),
        "unsaid": _rarest_missing(parsed.topic, " ".join(texts)),
        "ahead": min(max(ahead, 0.0), MOST_AHEAD),
        "prior": parsed.prior,
        "other_part": float(are_about_other_parts(parsed.text, texts[0], _EXCLUSIVE)),
        **_answer_fit(parsed, texts, nearness["proof"]),
    }
    return values | {f"{one} * {other}": values[one] * values[other] for one, other in PRODUCTS}


def _nearness(signals: Signals, first: Ints) -> dict[str, float]:
    """Return the evidence from cosines, tokens and words."""
    covered = fill_unknown(signals.coverage[first], 0.0)
    by_words = bool(np.isnan(signals.cosine).all()) or bool(signals.unembedded[first].any())
    unknown = np.isnan(signals.cosine[first]) & by_words
    cosine = np.where(unknown, PARAPHRASE * covered, fill_unknown(signals.cosine[first], 0.0))
    nearest = np.sort(signals.cosine[~np.isnan(signals.cosine)])[::-1][:AROUND]
    return {
        "proof": float(evidence(cosine, covered).max()),
        "closest": float(cosine.max()),
        "around": float(nearest.sum() + UNRELATED * (AROUND - len(nearest))) / AROUND,
        "covered": float(covered[0]),
        "uneven": float(fill_unknown(signals.uneven[first[:1]], USUALLY_UNEVEN)[0]),
    }


def _answer_fit(parsed: ParsedQuestion, texts: Sequence[str], proof: float) -> dict[str, float]:
    """Return the evidence from the kind of answer that is wanted, and from the sentences of the texts."""
    kind = parsed.answer
    fits = [fit(kind, parsed.topic, text, stem) for text in texts] if kind else [EVEN]
    return {
        "wants": float(kind is not None),
        "holds": float(kind is not None and holds(kind, texts[0])),
        "fitting": (max(fits) - EVEN) * proof,
        "topical": max(fit(None, parsed.topic, text, stem) for text in texts),
    }


def _rarest_missing(weights: Mapping[str, float], text: str) -> float:
    """Return the rarity of the rarest of these words that a text lacks, 0 if it has all."""
    stems = frozenset(weights)
    return max((weights[word] for word in stems - stems_in(text, stems)), default=0.0)


def is_worth_reading(grounds: Mapping[str, float]) -> bool:
    """Return True if a model's reading of the first candidate may make the answer strong or doubtful."""
    return bool(grounds) and READ_FROM <= _verdict_odds(VERDICT, grounds) < READ_BELOW


def _verdict_odds(weights: Mapping[str, float], grounds: Mapping[str, float]) -> float:
    return sum(weights.get(name, 0.0) * value for name, value in grounds.items())


def chance(grounds: Mapping[str, float]) -> float:
    """Estimate the chance, in [0, 1), that the first candidates hold the answer; below WEAK without proof.

    `grounds` may have `read`: a model's log odds that the first candidate answers the question.
    """
    if not grounds:
        return 0.0
    odds = _verdict_odds(VERDICT_READ if "read" in grounds else VERDICT, grounds)
    least = WEAK if grounds["proof"] >= BY_WORDS else 0.0  # a record with all words is at least doubtful
    greatest = 1.0 - 1e-9 if grounds["proof"] >= LEAST_PROOF else 0.75 * WEAK
    if grounds["other_part"]:  # so of 21 dev questions, and the first is right for none
        greatest = min(greatest, STRONG - 1e-9)
    return min(max(float(_sigmoid(np.array(odds))), least), greatest)


def chances_right(parsed: ParsedQuestion, signals: Signals, distance: Floats) -> Floats:
    """Estimate each candidate's chance, in [0, 1), to be right; `distance` comes from `behind`."""
    values = record_evidence(parsed, signals) | {
        "distance": distance,
        "late": signals.late,
        "tokens": fill_unknown(signals.tokens, 0.0),
    }
    return _sigmoid(logit(RIGHT, values, len(signals)))


def similarities(parsed: ParsedQuestion, signals: Signals) -> Floats:
    """Compute how well each record answers the question by itself, in [0, 1].

    It depends on the question and that record alone, and is monotone in the record's evidence.
    """
    plain = _sigmoid(logit(SIMILARITY, record_evidence(parsed, signals), len(signals)))
    return np.where(signals.quoted, QUOTATION + (1.0 - QUOTATION) * plain, plain)


def record_evidence(parsed: ParsedQuestion, signals: Signals) -> dict[str, Floats]:
    """Return the evidence for each record by itself, independent of what else is stored."""
    ones = np.ones(len(signals))
    covered = fill_unknown(signals.coverage, 0.0)
    known_cosine = fill_unknown(signals.cosine, 0.0)
    # RELATED stands for the cosine of a record with all words, which is 0.3 to 0.55 on the dev projects.
    cosine = np.clip(np.where(signals.unembedded, RELATED * covered, known_cosine), 0.0, 1.0)
    return {
        "offset": ones,
        "prior": ones * parsed.prior,
        "wants": ones * (parsed.answer is not None),
        "reason": ones * (parsed.answer == "reason"),
        "cosine": cosine,
        "coverage": covered,
        "both": cosine * covered,
        "complete": covered**2,
        "answer": signals.answer,
        "named": signals.named,
        "fact": (signals.session < 0).astype(float),
    }


def logit(weights: Mapping[str, float], values: Mapping[str, Floats], count: int) -> Floats:
    """Return the weighted sum of the evidence for `count` records: the log odds."""
    return sum((weights[name] * value for name, value in values.items() if name in weights), np.zeros(count))


def _sigmoid(log_odds: Floats) -> Floats:
    values: Floats = 1.0 / (1.0 + np.exp(-log_odds))
    return values


def falls(distance: Floats) -> Floats:
    """Return how far the log odds of each candidate, in ranking order, are below those of the first."""
    furthest = np.maximum.accumulate(distance)
    return FALL * (furthest - furthest[:1])


def relevance(fall: Floats, chance: float, *, quoted: NDArray[np.bool_]) -> Floats:
    """Convert the falls of candidates into relevance in [0, 1].

    The first gets `chance`, at least DOUBTFUL, and the odds of the others fall from there. If a
    candidate is quoted, the relevance of quoted ones is in [0.9, 1], and that of the others below.
    """
    chance = max(chance, DOUBTFUL)
    odds = chance / (1.0 - chance) * np.exp(-fall)
    low, high = bounds(quoted)
    values: Floats = low + (high - low) * odds / (1.0 + odds)
    return values


def confidence(chance: float, *, quoted: bool, weak: float = WEAK) -> Confidence:
    """Return how reliable hits with this chance are; a quotation is always strong."""
    if quoted or chance >= STRONG:
        return "strong"
    return "weak" if chance >= weak else "none"


def bounds(quoted: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return the least and the greatest relevance that each candidate may have."""
    return np.where(quoted, QUOTATION, 0.0), np.where(quoted.any() & ~quoted, QUOTATION, 1.0)


def behind(total: Floats, *, quoted: NDArray[np.bool_]) -> Floats:
    """Return how far each ranking sum is behind the greatest, without the bonus of quotations; 0 or more."""
    plain = total - QUOTED * quoted
    distance: Floats = plain.max(initial=-np.inf) - plain
    return distance
