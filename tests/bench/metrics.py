"""Metrics of an answer: its results against the turns that hold the evidence. Knows keys and counts;
knows no text and no system.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from locomo import Key

Outcome = dict[str, float]  # one value a metric

WINDOWS = {"w0": {"top_k": 10}, "w2": {"top_k": 10, "prev_turns": 2, "next_turns": 2}}
BUDGETS = {"1000": {"text_tokens": 1_000}, "2000": {"text_tokens": 2_000}}
# name -> the arguments of a search, or the tokens that the texts of hits are to fill
MODES: dict[str, dict[str, int]] = WINDOWS | BUDGETS
_PASSED_OVER = 10  # a budget is full when so many texts did not fit any more


class Found(NamedTuple):
    """What one search returned: ranked hits, their neighbours, and the tokens of all their texts."""

    hits: Sequence[Key]
    neighbours: Sequence[Key]
    tokens: int


def filling(costs: Sequence[int], budget: int) -> list[int]:
    """The positions of what fits into a budget, taken in order.

    >>> filling([5, 9, 4, 2], 10)
    [0, 2]
    """
    taken, room, passed_over = [], budget, 0
    for position, cost in enumerate(costs):
        if cost <= room:
            taken.append(position)
            room -= cost
        elif (passed_over := passed_over + 1) == _PASSED_OVER:
            break
    return taken


def outcome(evidence: frozenset[Key], found: Mapping[str, Found]) -> Outcome:
    """Every metric of one question, from the results of each mode. Shares are in [0, 1].

    >>> where = frozenset({("a", 1), ("b", 7)})
    >>> outcome(where, {"w0": Found([("a", 0), ("a", 1)], [], 25)})
    {'any_w0': 1.0, 'frac_w0': 0.5, 'full_w0': 0.0, 'session_w0': 1.0, 'tokens_w0': 25.0, 'mrr': 0.5}
    """
    values: Outcome = {}
    for mode, (hits, neighbours, tokens) in found.items():
        returned = {*hits, *neighbours}
        met = len(evidence & returned)
        values |= {
            f"any_{mode}": float(met > 0),
            f"frac_{mode}": met / len(evidence),
            f"full_{mode}": float(met == len(evidence)),
            f"session_{mode}": float(
                not {session for session, _ in returned}.isdisjoint(session for session, _ in evidence)
            ),
            f"tokens_{mode}": float(tokens),
        }
    if "w0" in found:
        values["mrr"] = next(
            (1 / rank for rank, hit in enumerate(found["w0"].hits, 1) if hit in evidence), 0.0
        )
    return values


def mean(outcomes: Iterable[Outcome]) -> Outcome:
    """The mean of each metric; all outcomes must have the same ones.

    >>> mean([{"mrr": 1.0}, {"mrr": 0.5}])
    {'mrr': 0.75}
    """
    every = list(outcomes)
    return {name: sum(each[name] for each in every) / len(every) for name in every[0]} if every else {}
