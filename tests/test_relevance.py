"""Properties of absolute relevance."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from scrubjay.search.retrieval.ranking import QUOTED
from scrubjay.search.retrieval.relevance import (
    MIDDLE,
    STRONG,
    WEAK,
    behind,
    chance,
    confidence,
    coverage,
    evidence,
    falls,
    relevance,
    stem,
)
from scrubjay.text.terms import compared_words

shares = st.floats(0, 1)
columns = st.integers(1, 30).flatmap(lambda n: arrays(float, n, elements=st.floats(0, 3)))
chances = st.floats(0, 0.999)


@given(columns, chances, st.data())
def test_relevance_never_rises_in_the_order_of_ranking_and_stays_in_bounds(distance, likely, data):
    distance = np.sort(distance)
    right = data.draw(
        arrays(float, data.draw(st.integers(1, len(distance))), elements=st.floats(0.001, 0.999))
    )
    quoted = data.draw(arrays(bool, len(distance)))
    values = relevance(falls(distance, right), likely, quoted=quoted)
    assert np.all((values >= 0) & (values <= 1))
    assert np.all(values[quoted] >= 0.9) and (not quoted.any() or np.all(values[~quoted] < 0.9))
    for group in (quoted, ~quoted):
        assert np.all(np.diff(values[group]) <= 1e-12)


@given(columns, chances)
def test_the_first_candidate_has_the_chance_itself_whatever_follows(distance, likely):
    fall = falls(np.sort(distance), np.full(1, 0.5))
    assert np.isclose(relevance(fall, likely, quoted=np.zeros(len(fall), bool))[0], likely)


@given(columns, chances, chances)
def test_a_better_chance_raises_every_candidate(distance, one, other):
    fall, quoted = falls(np.sort(distance), np.full(1, 0.5)), np.zeros(len(distance), bool)
    low, high = (relevance(fall, likely, quoted=quoted) for likely in sorted((one, other)))
    assert np.all(high >= low - 1e-12)


def test_what_is_less_likely_right_is_less_relevant_at_the_same_distance():
    fall = falls(np.array([0.0, 0.1, 0.1]), np.array([0.6, 0.5, 0.1]))
    assert fall[0] == 0 < fall[1] < fall[2]


def test_a_hit_further_behind_is_less_relevant_even_if_it_is_likelier_right():
    fall = falls(np.array([0.0, 0.5, 0.9]), np.array([0.6, 0.2, 0.5]))
    assert fall[0] < fall[1] < fall[2]


@given(columns, st.data())
def test_nothing_is_further_behind_than_its_ranking_sum_says(total, data):
    quoted = data.draw(arrays(bool, len(total)))
    distance = behind(total + QUOTED * quoted, quoted=quoted)
    assert np.all(distance >= -1e-9) and np.isclose(distance.min(), 0.0, atol=1e-9)
    assert np.allclose(distance, total.max() - total)


def test_without_candidates_there_is_no_relevance():
    nothing = np.zeros(0)
    assert relevance(falls(nothing, nothing), 0.5, quoted=np.zeros(0, bool)).tolist() == []
    assert chance(nothing, nothing, words_only=np.zeros(0, bool)) == 0.0


def test_evidence_adds_up_meaning_and_words():
    values = evidence(np.array([0.1, 0.45, 0.45, 0.9, np.nan]), np.array([0.0, 0.0, 0.5, 1.0, 1.0]))
    assert (
        values[0] == 0
        and np.isclose(values[1], 0.5)
        and values[2] > values[1]
        and values[3] == 1.0
        and np.isclose(values[4], 0.8)
    )


@given(
    arrays(float, 5, elements=st.floats(-1, 1)),
    arrays(float, 5, elements=shares),
    arrays(bool, 5),
    st.integers(0, 4),
)
def test_more_of_the_questions_words_never_lower_the_chance(cosine, covered, words_only, at):
    more = covered.copy()
    more[at] = 1.0
    before, after = (chance(cosine, each, words_only=words_only) for each in (covered, more))
    assert after >= before


def test_the_chance_is_even_in_the_middle_of_the_evidence():
    cosine = np.array([0.15 + 0.6 * MIDDLE])
    likely = chance(cosine, np.zeros(1), words_only=np.zeros(1, bool))
    assert np.isclose(likely, 0.5)


def test_words_speak_for_a_text_that_no_vector_speaks_for():
    unknown, all_words = np.array([np.nan]), np.array([1.0])
    with_words, with_model = (
        chance(unknown, all_words, words_only=np.array([each])) for each in (True, False)
    )
    assert with_words > 0.9 > with_model


def test_an_answer_is_strong_weak_or_none_by_its_chance_and_a_quotation_is_strong():
    each = [confidence(chance, quoted=False) for chance in (STRONG, STRONG - 0.01, WEAK, WEAK - 0.01)]
    assert each == ["strong", "weak", "weak", "none"]
    assert confidence(0.0, quoted=True) == "strong"


def test_coverage_counts_content_words_in_their_common_forms():
    assert coverage(
        "when does Alex like to meet?", ["Alex prefers morning meetings.", "Bo does not."]
    ).tolist() == [2 / 3, 0.0]
    assert coverage("what was it?", ["anything"]) == 0.0
    for said, asked in (
        ("We release weekly", "releases"),
        ("the query", "queries"),
        ("it stopped", "stops"),
        ("no deploys", "deployed"),
    ):
        assert coverage(asked, [said]) == 1.0


def test_words_of_scripts_without_spaces_are_covered_by_their_pairs():
    for asked, share in (("部署", 1.0), ("周五部署", 2 / 3), ("天气", 0.0)):
        assert coverage(asked, ["部署脚本在周五运行。"]) == share


CODED = "getUserByName user_profile_id v2.13.0 2.13.0 E4021 a1b2c3d4e5f6 http-client Pythonの型 部署 İstanbul"
pieces = st.sampled_from([*CODED.split(), "releases", "id", "of"])
spoken = st.lists(pieces | st.text(max_size=6), max_size=8).map(" ".join)


@given(spoken, spoken)
def test_coverage_is_that_of_the_expanded_text(query, text):
    """A text is expanded only where a word is missing, which must change nothing."""
    wanted = {stem(word) for word in compared_words(query)}
    held = {stem(word) for word in compared_words(text)}
    assert coverage(query, [text]) == (len(wanted & held) / len(wanted) if wanted else 0.0)
