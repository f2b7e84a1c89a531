"""The model that reads whether a text answers a question."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrubjay.encoders.answer_reader import ASKED, SAID, laid_out, log_odds
from scrubjay.encoders.bundled import vocabulary

WORDS = vocabulary()


# None of these sentences is among the lessons.
@pytest.mark.parametrize(
    ("text", "answered", "other"),
    [
        ("Nadia owns the payments module.", "who owns the payments module?", "who owns the search module?"),
        (
            "Backups of the orders table are kept for 30 days.",
            "retention of order backups",
            "retention of logs",
        ),
        ("The admin API listens on port 8443.", "port of the admin API", "port of the metrics endpoint"),
        ("We deploy the web shop on Tuesdays.", "when is the shop deployed?", "when is the app released?"),
        ("The docs site is built with MkDocs.", "what builds the docs?", "what builds the landing page?"),
    ],
)
def test_a_question_has_higher_odds_than_the_same_question_about_another_thing(
    text: str, answered: str, other: str
):
    assert log_odds(answered, text) > log_odds(other, text)


def test_both_texts_are_read_in_their_order():
    ids, segments = laid_out("one", "two").tolist()
    assert [WORDS.tokens[each] for each in ids] == ["[CLS]", "one", "[SEP]", "two", "[SEP]"]
    assert segments == [0, 0, 0, 1, 1]


@given(st.lists(st.text(max_size=3000), min_size=2, max_size=2))
@settings(max_examples=30, deadline=None)
def test_any_texts_are_read_up_to_a_bound(texts: list[str]):
    given = laid_out(*texts)
    assert given.shape[1] <= ASKED + SAID + 3 and {*given[1]} == {0, 1}
