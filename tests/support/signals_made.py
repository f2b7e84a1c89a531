"""Signals of made-up candidates: unnamed columns favour none of them."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from scrubjay.search.retrieval.ranking import Signals

_NONE = {
    **dict.fromkeys(("cosine", "bm25", "tokens", "uneven", "coverage"), np.nan),
    **dict.fromkeys(("unembedded", "speaker", "quoted", "user"), False),
    **dict.fromkeys(("session", "place"), -1),
}
_shares = st.floats(0, 1)


def signals(n: int, **columns: Any) -> Signals:
    """Make so many candidates with these columns."""
    given = {name: np.array(values) for name, values in columns.items()}
    rest = {each.name: np.full(n, _NONE.get(each.name, 0.0)) for each in fields(Signals)}
    return Signals(**rest | given)


def some(signals: Signals, positions: Any) -> Signals:
    """The signals of these candidates alone."""
    return replace(signals, **{each.name: getattr(signals, each.name)[positions] for each in fields(Signals)})


@st.composite
def any_signals(draw: st.DrawFn, least: int = 1) -> Signals:
    """Facts, and turns of up to three sessions with gaps; some not found by meaning, by words, or not examined."""
    n = draw(st.integers(least, 12))

    def column(elements: st.SearchStrategy, dtype: type = float) -> Any:
        return draw(arrays(dtype, n, elements=elements))

    def known(elements: st.SearchStrategy) -> Any:
        return column(st.just(np.nan) | elements)

    turns = draw(st.integers(0, n))
    session = np.append(np.sort(column(st.integers(0, 2), np.int64)[:turns]), np.full(n - turns, -1))
    place = np.append(np.cumsum(column(st.integers(1, 2), np.int64)[:turns]), np.full(n - turns, -1))
    cosine, coverage = known(st.floats(-1, 1)), known(_shares)
    examined = ~np.isnan(coverage)
    return signals(
        n,
        cosine=cosine,
        bm25=known(st.floats(0, 30)),
        unembedded=np.isnan(cosine) & column(st.booleans(), bool),
        date=column(st.sampled_from([0.0, 0.5, 1.0])),
        speaker=column(st.booleans(), bool),
        quoted=column(st.sampled_from([False, False, True]), bool),
        named=column(_shares),
        session=session.astype(np.int64),
        place=place.astype(np.int64),
        user=column(st.booleans(), bool),
        late=column(_shares) * examined,
        tokens=np.where(examined, known(st.floats(-1, 1)), np.nan),
        uneven=np.where(examined, known(_shares), np.nan),
        coverage=coverage,
        answer=column(st.sampled_from([-1.0, 0.0, 1.0])) * examined,
        length=column(st.floats(0, 5_000)),
        current=column(_shares),
    )
