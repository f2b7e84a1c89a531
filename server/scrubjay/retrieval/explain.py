"""Why a hit stands where it stands: its rank and value in each leg, and every part of its score. Computed for chosen hits only,
from what ranking them left behind; changes no score."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scrubjay.models.results import Explanation, Hit, Leg, Weighed
from scrubjay.ranking import Floats
from scrubjay.relevance import FALL, behind, bounds
from scrubjay.retrieval.retrieve import Ranked


def explained(hits: Sequence[Hit], ranked: Ranked, weights: tuple[float, float, float]) -> list[Hit]:
    """The hits, each with its `explain`; `weights` are those of relevance, importance and recency in its score."""
    grounds = ranked.grounds
    column = dict(zip((row.id for row in ranked.rows), grounds.positions.tolist(), strict=True))
    distance = behind(grounds.total, quoted=grounds.signals.quoted)
    low, high = bounds(grounds.signals.quoted)

    def explanation(hit: Hit) -> Explanation:
        at = column[hit.id]
        scores = (hit.relevance_score, hit.importance_score_normalized, hit.recency_score)
        return Explanation(
            dense=_leg(grounds.signals.cosine, at),
            lexical=_leg(grounds.signals.bm25, at),
            parts={name: float(part[at]) for name, part in grounds.parts.items()},
            ranking_sum=float(grounds.total[at]),
            evidence=grounds.evidence,
            chance=grounds.chance,
            behind=float(distance[at]),
            fall=FALL,
            bounds=(float(low[at]), float(high[at])),
            score_parts={
                name: Weighed(value=score or 0.0, weight=weight)
                for name, score, weight in zip(("relevance", "importance", "recency"), scores, weights, strict=True)
            },
        )

    return [hit.model_copy(update={"explain": explanation(hit)}) for hit in hits]


def _leg(values: Floats, at: int) -> Leg | None:
    """Rank and value of one candidate in a leg; None where the leg did not find it."""
    return None if np.isnan(values[at]) else Leg(rank=1 + int((values > values[at]).sum()), value=float(values[at]))
