"""Why a hit has its score, as lines for a terminal. Knows the shape of `explain` in an answer; computes no score. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def reasons(explain: dict[str, Any], score: float) -> Iterator[str]:
    """The legs, the parts of the ranking sum, how it became relevance, and how that was weighed: a line each."""
    yield f"found   {_leg('meaning', 'cosine', explain.get('dense'))}, {_leg('words', 'BM25', explain.get('lexical'))}"
    parts = " + ".join(f"{name} {value:.3f}" for name, value in explain["parts"].items() if value)
    yield f"ranked  {parts or 'nothing'} = {explain['ranking_sum']:.3f}; {explain['behind']:.3f} behind the best"
    relevance = explain["score_parts"]["relevance"]["value"]
    sure = f"evidence {explain['evidence']:.2f}, so a chance of {explain['chance']:.2f} for the best"
    yield f"judged  {sure}; relevance {relevance:.3f}{_kept(*explain['bounds'])}"
    weighed = " + ".join(f"{part['weight']:g} * {name} {part['value']:.3f}" for name, part in explain["score_parts"].items())
    yield f"weighed ({weighed}) / {sum(part['weight'] for part in explain['score_parts'].values()):g} = {score:.3f}"


def _leg(name: str, unit: str, leg: dict[str, Any] | None) -> str:
    return f"by {name} at rank {leg['rank']} ({unit} {leg['value']:.3f})" if leg else f"not by {name}"


def _kept(low: float, high: float) -> str:
    if (low, high) == (0, 1):
        return ""
    return f", from {low:g} on because it is quoted" if low else f", below {high:g} because another is quoted"
