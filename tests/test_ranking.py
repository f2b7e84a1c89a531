"""Properties of the ranking arithmetic."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from scrubjay.ranking import (
    ALONE,
    FAR,
    NEAR,
    SESSION,
    Signals,
    blend,
    evidence,
    in_context,
    order,
    ranking_sum,
    recency,
    relevance,
    scale,
    window,
)

shares = st.floats(0, 1)
columns = st.integers(1, 30).flatmap(lambda n: arrays(float, n, elements=shares))
weights = st.tuples(*[st.floats(0, 10)] * 3).filter(lambda each: sum(each) > 0.01)


@given(columns, st.data())
def test_a_blend_lies_between_its_weakest_and_its_strongest_signal(relevant, data):
    n = len(relevant)
    important, fresh = (data.draw(arrays(float, n, elements=shares)) for _ in range(2))
    score = blend(relevant, important, fresh, data.draw(weights))
    signals = np.vstack([relevant, important, fresh])
    assert np.all(score >= signals.min(axis=0) - 1e-9)
    assert np.all(score <= signals.max(axis=0) + 1e-9)


@given(arrays(float, 10, elements=st.floats(-100, 10_000)))
def test_recency_stays_in_bounds_and_never_rises_with_age(ages):
    values = recency(np.sort(ages), half_life_days=30)
    assert np.all((values >= 0) & (values <= 1))
    assert np.all(np.diff(values) <= 0)


def test_recency_is_one_half_at_the_half_life():
    assert recency(np.array([30.0]), half_life_days=30)[0] == 0.5


@given(columns)
def test_scaling_keeps_the_order_and_reaches_both_ends(values):
    scaled = scale(values)
    assert np.all((scaled >= 0) & (scaled <= 1))
    assert np.all(scaled[np.argsort(values, kind="stable")] == np.sort(scaled))


def test_what_a_leg_did_not_find_counts_as_its_worst():
    assert scale(np.array([0.2, np.nan, 0.6])).tolist() == [0.0, 0.0, 1.0]
    assert scale(np.array([np.nan, np.nan])).tolist() == [0.0, 0.0]


def test_neighbours_and_the_session_pass_score_on_but_not_across_sessions():
    score = np.array([1.0, 0.0, 0.0, 0.0, 0.0])
    total = in_context(score, np.array([0, 0, 0, 0, 1]), np.array([0, 1, 2, 3, 0]))
    assert np.allclose(total, [1 + SESSION, SESSION + NEAR, SESSION + FAR, SESSION, 0.0])


def test_a_gap_between_places_counts_as_distance():
    score = np.array([1.0, 0.0, 0.0])
    total = in_context(score, np.array([0, 0, 0]), np.array([3, 5, 9]))
    assert np.allclose(total, [1 + SESSION, SESSION + FAR, SESSION])


def test_a_record_without_neighbours_gets_a_share_of_its_own_score_instead():
    assert np.allclose(in_context(np.array([0.5]), np.array([-1]), np.array([-1])), [0.5 * (1 + ALONE)])


@given(columns, st.data())
def test_raising_one_signal_never_lowers_a_candidates_rank(cosine, data):
    n = len(cosine)
    at = data.draw(st.integers(0, n - 1))

    def sums(values):
        return ranking_sum(
            Signals(
                cosine=values,
                bm25=np.full(n, np.nan),
                unembedded=np.zeros(n, bool),
                date=np.zeros(n),
                speaker=np.zeros(n, bool),
                quoted=np.zeros(n, bool),
                session=np.full(n, -1),
                place=np.full(n, -1),
            )
        )

    raised = cosine.copy()
    raised[at] = 1.0
    before, after = sums(cosine), sums(raised)
    assert (after > after[at] + 1e-12).sum() <= (before > before[at] + 1e-12).sum()


@given(columns, shares, st.data())
def test_relevance_is_monotone_in_the_ranking_sum_and_stays_in_bounds(total, proof, data):
    quoted = data.draw(arrays(bool, len(total)))
    total = total + quoted  # a quotation lies above what context adds
    values = relevance(total, proof, quoted=quoted)
    assert np.all((values >= 0) & (values <= 1))
    assert np.all(values[quoted] >= 0.9)
    for group in (quoted, ~quoted):
        ranked = np.argsort(total[group], kind="stable")
        assert np.all(np.diff(values[group][ranked]) >= -1e-12)


def test_evidence_adds_up_meaning_and_words():
    values = evidence(np.array([0.1, 0.45, 0.45, 0.9, np.nan]), np.array([0.0, 0.0, 0.5, 1.0, 1.0]))
    assert values[0] == 0 and np.isclose(values[1], 0.5) and values[2] > values[1] and values[3] == 1.0 and np.isclose(values[4], 0.8)


@given(columns, st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_the_rows_order_where_ties_are_told_apart(score, random):
    ties = np.arange(len(score), dtype=float)
    shuffled = list(range(len(score)))
    random.shuffle(shuffled)
    first = order(score, ties=(ties,))
    second = order(score[shuffled], ties=(ties[shuffled],))
    assert first.tolist() == [shuffled[at] for at in second]


@given(st.integers(1, 50), st.integers(0, 20), st.integers(0, 20), st.data())
def test_a_window_stays_within_its_bounds_and_its_session(length, before, after, data):
    at = data.draw(st.integers(0, length - 1))
    around = window(length, at, before=before, after=after)
    assert at in around and around[0] >= max(0, at - before) and around[-1] <= min(length - 1, at + after)
