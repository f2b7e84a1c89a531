"""Properties of absolute relevance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from signals_made import any_signals, signals, some

from scrubjay.search.retrieval.asked import coverage, parse_question
from scrubjay.search.retrieval.ranking import RELATED, Signals
from scrubjay.search.retrieval.relevance import (
    DOUBTFUL,
    QUOTATION,
    READ,
    STRONG,
    WEAK,
    chance,
    chances_right,
    confidence,
    evidence,
    falls,
    relevance,
    similarities,
    verdict_evidence,
)
from scrubjay.search.retrieval.words import rarity, stem
from scrubjay.text.terms import compared_words

shares = st.floats(0, 1)
asked = st.sampled_from(["which port does the API use?", "why is that?", "what is our CI?"]).map(
    parse_question
)
columns = st.integers(1, 30).flatmap(lambda n: arrays(float, n, elements=st.floats(0, 3)))
chances = st.floats(0, 0.999)


@given(columns, chances, st.data())
def test_relevance_never_rises_in_the_order_of_ranking_and_stays_in_bounds(distance, likely, data):
    distance = np.sort(distance)
    quoted = data.draw(arrays(bool, len(distance)))
    values = relevance(falls(distance), likely, quoted=quoted)
    assert np.all((values >= 0) & (values <= 1))
    assert np.all(values[quoted] >= 0.9) and (not quoted.any() or np.all(values[~quoted] < 0.9))
    for group in (quoted, ~quoted):
        assert np.all(np.diff(values[group]) <= 1e-12)


@given(columns, chances)
def test_the_first_candidate_has_the_chance_of_the_answer_whatever_follows(distance, likely):
    fall = falls(np.sort(distance) - distance.min())
    assert np.isclose(relevance(fall, likely, quoted=np.zeros(len(fall), bool))[0], max(likely, DOUBTFUL))


@given(columns)
def test_the_further_behind_a_candidate_is_the_more_its_odds_fall_and_none_rise(distance):
    fall = falls(np.sort(distance))
    assert np.all(fall >= 0) and np.all(np.diff(fall) >= 0)
    amended = falls(np.array([0.2, 0.0, 0.5]))  # an amendment of the best comes before it
    assert amended[0] == amended[1] < amended[2]


def test_without_candidates_there_is_no_relevance():
    nothing = np.zeros(0)
    assert relevance(falls(nothing), 0.5, quoted=np.zeros(0, bool)).tolist() == []
    none = verdict_evidence(parse_question("which port?"), signals(0), nothing, np.zeros(0, np.int64), [])
    assert none == {} and chance(none) == 0.0
    assert similarities(parse_question("which port?"), signals(0)).tolist() == []


def test_evidence_is_the_sum_of_meaning_and_words():
    values = evidence(np.array([0.1, RELATED, RELATED, 0.9, np.nan]), np.array([0.0, 0.0, 0.5, 1.0, 1.0]))
    assert np.allclose(values, [0.0, 0.5, 0.7, 1.0, 0.8])


def judged(every: Signals, text: str = "The API listens on port 8421.") -> dict[str, float]:
    """The evidence for an answer among these candidates, ranked in this order, each with this text."""
    n = len(every)
    total = np.arange(n, 0, -1.0)
    return verdict_evidence(
        parse_question("which port does the API use?"), every, total, np.arange(n), [text] * min(n, READ)
    )


@given(any_signals())
def test_a_verdict_has_finite_numbers_and_its_chance_is_between_0_and_1(every):
    found = judged(every)
    assert all(map(np.isfinite, found.values())) and 0 <= chance(found) < 1


pairs = st.tuples(shares, shares)


@pytest.mark.parametrize(("raised", "fixed"), [("coverage", "cosine"), ("cosine", "coverage")])
@given(shares, pairs)
def test_neither_more_words_nor_a_nearer_meaning_lowers_the_chance_of_the_only_candidate(
    raised, fixed, value, values
):
    made = (signals(1, **{raised: [each], fixed: [value]}) for each in sorted(values))
    less, more = (chance(judged(each)) for each in made)
    assert more >= less - 1e-12


def test_words_replace_meaning_only_where_no_vector_is_known():
    with_words = judged(signals(2, bm25=[3.0, 2.0], coverage=[1.0, 0.0]))
    columns = {"cosine": [np.nan, np.nan, 0.1], "coverage": [1.0, 0.0, 0.0]}
    with_model = judged(signals(3, bm25=[3.0, 2.0, 1.0], **columns))
    waiting = judged(signals(3, unembedded=[True, False, False], **columns))
    assert with_words["proof"] == waiting["proof"] > with_model["proof"]
    assert chance(with_words) > chance(with_model)


def test_an_answer_with_all_words_is_likelier_than_one_without_the_rarest():
    near = signals(1, cosine=[0.5], coverage=[0.5])
    right = judged(near, "The API listens on port 8421.")
    lacking = judged(near, "The worker listens on a socket.")
    assert right["lacking"] < lacking["lacking"] and chance(right) > chance(lacking)


def test_an_answer_is_less_likely_if_no_record_has_the_subject_or_the_first_no_such_answer():
    near = signals(1, cosine=[0.5], coverage=[0.5])
    texts = "The API uses port 8421.", "The worker uses port 8421.", "The API uses a port."
    right, unsaid, kindless = (judged(near, text) for text in texts)
    assert right["unsaid"] < unsaid["unsaid"] and chance(right) > chance(unsaid)
    assert right["holds"] > kindless["holds"] and chance(right) > chance(kindless)


@given(any_signals(), asked, st.data())
def test_the_similarity_of_a_record_does_not_depend_on_what_else_was_found(every, question, data):
    values = similarities(question, every)
    chosen = data.draw(st.lists(st.integers(0, len(every) - 1), min_size=1, max_size=len(every), unique=True))
    assert np.array_equal(similarities(question, some(every, chosen)), values[chosen])
    assert np.all((values >= 0) & (values <= 1)) and np.all(values[every.quoted] >= QUOTATION)


@given(any_signals(), asked, st.sampled_from(["cosine", "coverage"]), st.data())
def test_similarity_never_falls_with_a_nearer_meaning_or_more_words(every, question, name, data):
    n = len(every)
    more = np.fmax(getattr(every, name), data.draw(arrays(float, n, elements=shares)))
    if name == "cosine":
        more = np.where(every.unembedded, np.nan, more)
    raised = signals(n, **{**{each: getattr(every, each) for each in every.__dataclass_fields__}, name: more})
    assert np.all(similarities(question, raised) >= similarities(question, every) - 1e-12)


@given(any_signals(), asked, st.data())
def test_a_record_further_behind_is_never_likelier_to_be_right(every, question, data):
    distance = data.draw(arrays(float, len(every), elements=st.floats(0, 9)))
    further = distance + data.draw(arrays(float, len(every), elements=st.floats(0, 9)))
    near, far = (chances_right(question, every, each) for each in (distance, further))
    assert np.all(far <= near + 1e-12) and np.all((near >= 0) & (near < 1))


def test_an_answer_is_strong_weak_or_none_by_its_chance_and_a_quotation_is_strong():
    each = [confidence(chance, quoted=False) for chance in (STRONG, STRONG - 0.01, WEAK, WEAK - 0.01)]
    assert each == ["strong", "weak", "weak", "none"]
    assert confidence(0.0, quoted=True) == "strong"


def test_coverage_counts_content_words_in_their_common_forms_by_how_rare_they_are():
    held, other = coverage("when does Alex like to meet?", ["Alex prefers morning meetings.", "Bo does not."])
    assert 2 / 3 < held < 1 and other == 0.0  # "like" is common, and says least
    assert coverage("what was it?", ["anything"]) == 0.0
    forms = {
        "releases": "We release weekly",
        "queries": "the query",
        "stops": "it stopped",
        "deployed": "deploys",
    }
    for asked, said in forms.items():
        assert coverage(asked, [said]) == 1.0


def test_a_rare_word_of_a_question_counts_for_more_than_a_common_one():
    rare, common = coverage("do we use pnpm?", ["pnpm is fast", "use it"])
    assert rare > 0.5 > common > 0
    assert 0 < rarity("use") < rarity("port") < rarity("retention") <= rarity("pnpm") == rarity("qzxv") == 1


def test_words_of_scripts_without_spaces_are_matched_by_character_pairs():
    for asked, share in (("部署", 1.0), ("周五部署", 2 / 3), ("天气", 0.0)):
        assert coverage(asked, ["部署脚本在周五运行。"]) == share


CODED = "getUserByName user_profile_id v2.13.0 2.13.0 E4021 a1b2c3d4e5f6 http-client Pythonの型 部署 İstanbul"
pieces = st.sampled_from([*CODED.split(), "releases", "id", "of"])
spoken = st.lists(pieces | st.text(max_size=6), max_size=8).map(" ".join)


@given(spoken, spoken)
def test_coverage_is_that_of_the_expanded_text(query, text):
    """A text is expanded only if a word is missing, which must change nothing."""
    weights = parse_question(query).weights
    held = {stem(word) for word in compared_words(text)}
    share = sum(weight for word, weight in weights.items() if word in held) / (sum(weights.values()) or 1.0)
    assert np.isclose(coverage(query, [text])[0], share)
