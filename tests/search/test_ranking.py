"""Properties of the ranking arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from signals_made import any_signals, signals

from scrubjay.search.retrieval.ranking import (
    DAY,
    EXAMINED,
    FADING,
    FAR,
    NEAR,
    PARTS,
    QUOTED,
    blend,
    features,
    late_interaction,
    order,
    parts,
    recency,
    scale,
    sum_parts,
    with_neighbours,
)
from scrubjay.search.retrieval.weights import FIRST, ORDER
from scrubjay.search.windows import nearest_first

pytestmark = pytest.mark.long

shares = st.floats(0, 1)
columns = st.integers(1, 30).flatmap(lambda n: arrays(float, n, elements=shares))
weights = st.tuples(*[st.floats(0, 10)] * 3).filter(lambda each: sum(each) > 0.01)


def ranking_sum(*given: object) -> np.ndarray:
    return sum_parts(parts(*given))


@given(columns, st.data())
def test_a_blend_lies_between_its_weakest_and_its_strongest_signal(relevant, data):
    n = len(relevant)
    important, fresh = (data.draw(arrays(float, n, elements=shares)) for _ in range(2))
    score = blend(relevant, important, fresh, data.draw(weights))
    signals = np.vstack([relevant, important, fresh])
    assert np.all(score >= signals.min(axis=0) - 1e-9)
    assert np.all(score <= signals.max(axis=0) + 1e-9)


@given(arrays(float, 10, elements=st.floats(-100, 10_000)))
def test_recency_is_one_half_at_the_half_life_and_never_rises_with_age(ages):
    assert recency(0, np.array([-30.0 * DAY]))[0] == 0.5
    values = recency(0, -DAY * np.sort(ages))
    assert np.all((values >= 0) & (values <= 1))
    assert np.all(np.diff(values) <= 0)


@given(columns)
def test_scaling_keeps_the_order_and_counts_a_missed_record_as_the_worst(values):
    scaled = scale(values)
    assert np.all((scaled >= 0) & (scaled <= 1))
    assert np.all(scaled[np.argsort(values, kind="stable")] == np.sort(scaled))
    assert scale(np.append(values, np.nan))[-1] == 0.0


def test_neighbours_and_the_session_share_scores_but_not_across_sessions():
    found = features(signals(5, bm25=[9.0, 0, 0, 0, 0], session=[0, 0, 0, 0, 1], place=[0, 1, 2, 3, 0]))
    assert np.allclose(found["near_words"], [0.0, NEAR, FAR, 0.0, 0.0])
    assert np.allclose(found["session_words"], [1.0, 1.0, 1.0, 1.0, 0.0])
    found = features(signals(3, bm25=[9.0, 0, 0], session=[0, 0, 0], place=[3, 5, 9]))
    assert np.allclose(found["near_words"], [0.0, FAR, 0.0])  # a gap counts as distance
    assert np.allclose(found["session_words"], 1.0)


def test_a_record_without_a_session_counts_as_alone():
    found = features(signals(2, cosine=[0.8, 0.2], bm25=[4.0, 4.0], session=[0, -1], place=[0, -1]))
    assert found["alone"].tolist() == [0.0, 1.0]
    assert found["session_meaning"].tolist() == [1.0, 0.0] and found["session_words"].tolist() == [1.0, 0.0]
    assert np.allclose(found["alone_meaning"], found["alone"] * found["meaning"])


weighed = st.fixed_dictionaries({name: st.floats(-5, 5) for name in PARTS})


@given(any_signals(), weighed)
def test_the_ranking_sum_is_the_sum_of_weighted_features_and_bonuses(every, weights):
    linear = sum(weights[name] * values for name, values in features(every).items())
    assert np.allclose(linear + QUOTED * every.quoted + every.current, ranking_sum(every, weights))


@given(any_signals())
def test_each_feature_belongs_to_a_part_and_is_a_finite_number(every):
    found = features(every)
    assert found.keys() == PARTS.keys() and set(EXAMINED) <= found.keys()
    for name, values in found.items():
        assert values.shape == (len(every),) and np.isfinite(values).all(), name


def test_all_fitted_weights_belong_to_existing_features():
    assert FIRST.keys() <= PARTS.keys() - set(EXAMINED) and ORDER.keys() <= PARTS.keys()


@pytest.mark.parametrize("weights", [FIRST, ORDER], ids=["first", "order"])
@given(columns, st.data())
def test_raising_one_signal_never_lowers_a_candidates_rank(weights, cosine, data):
    n = len(cosine)
    at = data.draw(st.integers(0, n - 1))
    raised = np.where(np.arange(n) == at, 1.0, cosine)
    before, after = (ranking_sum(signals(n, cosine=values), weights) for values in (cosine, raised))
    assert (after > after[at] + 1e-12).sum() <= (before > before[at] + 1e-12).sum()


@st.composite
def looks(draw):
    """Matches of candidates with the tokens of a question, some unknown; the examined positions; sessions in
    order, with gaps.
    """
    n, tokens = draw(st.integers(1, 12)), draw(st.integers(1, 5))
    matches = draw(arrays(float, (n, tokens), elements=shares))
    matches[draw(arrays(bool, n))] = np.nan
    looked = np.array(draw(st.permutations(range(n)))[: draw(st.integers(1, n))])
    session = np.sort(draw(arrays(np.int64, n, elements=st.integers(0, 2))))
    return matches, looked, session, np.cumsum(draw(arrays(np.int64, n, elements=st.integers(1, 2))))


@given(looks(), st.data())
def test_late_scores_are_bounded_and_independent_of_the_order_of_candidates_and_tokens(look, data):
    matches, looked, session, place = look
    values = late_interaction(matches, looked, session, place)
    assert np.all((values >= 0) & (values <= 1))
    assert not values[np.setdiff1d(np.arange(len(matches)), looked)].any()
    tokens = data.draw(st.permutations(range(matches.shape[1])))
    others = np.array(data.draw(st.permutations(looked)))
    assert np.allclose(values, late_interaction(matches[:, tokens], others, session, place))


@given(looks())
def test_a_better_match_in_every_token_never_scores_less(look):
    matches, looked, _, place = look
    alone = np.full(len(matches), -1)
    values = late_interaction(matches, looked, alone, place)
    for one in looked:
        for other in looked:
            if np.all(matches[one] >= matches[other]):  # False if either is unknown
                assert values[one] >= values[other] - 1e-9


@given(looks())
def test_a_candidate_without_known_tokens_counts_as_the_mean_of_the_others(look):
    matches, looked, _, place = look
    values = late_interaction(matches, looked, np.full(len(matches), -1), place)
    unknown = np.isnan(matches[looked]).any(axis=1)
    mean = 0.0 if unknown.all() else values[looked[~unknown]].mean()
    assert np.allclose(values[looked[unknown]], mean)


@given(st.integers(1, 9), st.integers(0, 4), shares)
def test_tokens_that_match_everywhere_alike_have_no_effect(n, tokens, value):
    matches, places = np.full((n, tokens), value), np.arange(n)
    assert not late_interaction(matches, places, np.zeros(n, int), places).any()


@pytest.mark.parametrize(
    ("place", "shares"),
    [
        ([0, 1, 2, 3, 6, 0], [1.0, FADING, FADING**2, 0, 0, 0]),
        ([0, 2, 3, 4, 6, 1], [1.0, FADING**2, 0, 0, 0, 0]),
    ],
)
def test_tokens_are_shared_by_turns_of_a_session_at_most_two_positions_apart(place, shares):
    matches, session = np.array([[1.0], *[[0.0]] * 5]), np.array([0, 0, 0, 0, 0, 1])
    assert np.allclose(late_interaction(matches, np.arange(6), session, np.array(place)), shares)


def test_a_tiny_difference_between_candidates_is_not_amplified():
    alone = np.full(2, -1)
    assert np.ptp(late_interaction(np.array([[0.5], [0.52]]), np.arange(2), alone, alone)) <= 0.1 + 1e-9


@pytest.mark.parametrize("weights", [FIRST, ORDER], ids=["first", "order"])
def test_the_nearest_vector_is_not_a_match_while_others_have_no_vector(weights):
    """Found by the demo: the only turn with a vector was treated as the nearest of all."""
    some_known = signals(2, cosine=[0.1, np.nan], bm25=[2.0, 1.5], unembedded=[False, True])
    first, second = ranking_sum(some_known, weights)
    assert first < second
    first, second = ranking_sum(signals(2, cosine=[0.1, -0.2], bm25=[2.0, 1.5]), weights)
    assert first > second


@given(any_signals())
def test_features_of_the_close_examination_are_zero_for_unexamined_candidates(every):
    unseen = np.isnan(every.coverage)
    found = features(every)
    for name in set(EXAMINED) - {"near_coverage"}:  # which belongs to their neighbours
        assert not found[name][unseen].any(), name


def test_candidates_next_to_a_position_are_its_neighbours_in_the_session():
    session, place = np.array([0, 0, 0, 0, 1, 1, -1, -1]), np.array([0, 1, 2, 3, 0, 3, -1, -1])
    assert np.flatnonzero(with_neighbours(np.array([0]), session, place)).tolist() == [0, 1, 2]
    assert np.flatnonzero(with_neighbours(np.array([4, 6]), session, place)).tolist() == [4, 6]


@given(columns, st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_the_order_of_rows_if_ties_are_broken(score, random):
    ties = np.arange(len(score), dtype=float)
    shuffled = random.sample(range(len(score)), len(score))
    first = order(score, ties=(ties,))
    second = order(score[shuffled], ties=(ties[shuffled],))
    assert first.tolist() == [shuffled[at] for at in second]


@given(st.integers(1, 50), st.integers(0, 20), st.integers(0, 20), st.data())
def test_a_window_stays_within_its_bounds_and_its_session(length, before, after, data):
    at = data.draw(st.integers(0, length - 1))
    first, *others = nearest_first(length, at, before, after)
    assert first == at and all(max(0, at - before) <= each <= min(length - 1, at + after) for each in others)
