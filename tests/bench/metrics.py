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

DEFINITIONS = """\
H: the first 10 hits. R: what came back, hits and neighbours, each turn once. E: the turns a question's evidence names.
any: R meets E. frac: the share of E in R. full: all of E is in R. MRR: 1 / rank of the first hit of H in E, else 0.
w0, w2: 10 hits alone, and with up to two turns each side, of the same session.
1,000, 2,000: of up to 100 hits those whose bare texts fill so many tokens, best first; a text without room is passed over, ten are the end.
session: a session of R holds a turn of E. pooled: all conversations of this run in one store; the conversation must be right too.
tokens: the sum of ceil(characters / 4) over the texts of R. dev: conversations 1, 3, 5, 7, 9; test: the others.
A hit that an earlier hit's window holds already is skipped by scrubjay; the baselines count it among their ten.
bm25: k1 0.9, b 0.4, Porter's stems, stop words. dense: cosine. rrf: both by rank, k = 60. All index `speaker: text`."""


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
