"""The model that reads whether a later text changes what an earlier one says."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrubjay.encoders.bundled import FOLDER, VOCABULARY
from scrubjay.encoders.change_reader import ASKED, SAID, log_odds, read
from scrubjay.encoders.wordpiece import WordPiece

WORDS = WordPiece(FOLDER / VOCABULARY)
DUMPS = "where do the Postgres dumps go?", "The nightly Postgres dumps go to the NAS in the server room."
OWNER = "who owns the ledger service?", "The ledger service is owned by Priya."
STANDUP = "when is the standup?", "Standup is at 9:30 every weekday."


@pytest.mark.parametrize(
    ("question", "earlier", "changing", "other"),
    [
        (
            *DUMPS,
            "The database dumps land in the Wasabi bucket, the NAS was scrapped.",
            "The dump takes an hour.",
        ),
        (
            *OWNER,
            "Tomasz took the ledger over, with pager and backlog.",
            "Priya also reviews its migrations.",
        ),
        (
            *STANDUP,
            "We write our standup in a thread, no call any more.",
            "Standup should stay under 12 minutes.",
        ),
    ],
)
def test_a_text_that_replaces_another_has_higher_odds_than_one_that_adds_to_it(
    question: str, earlier: str, changing: str, other: str
):
    assert log_odds(question, earlier, changing) > 0 > log_odds(question, earlier, other)


@pytest.mark.parametrize(("question", "earlier"), [DUMPS, OWNER, STANDUP])
def test_a_change_of_another_thing_changes_nothing(question: str, earlier: str):
    change = "Invoices are rendered with Typst now, the old template package is gone."
    assert log_odds(question, earlier, change) < 0


def test_all_three_texts_are_read_in_their_order():
    ids, segments = read(WORDS, "one", "two", "three")
    assert [WORDS.tokens[each] for each in ids] == ["[CLS]", "one", "[SEP]", "two", "[SEP]", "three", "[SEP]"]
    assert segments == [0, 0, 0, 1, 1, 2, 2]


@given(st.lists(st.text(max_size=3000), min_size=3, max_size=3))
@settings(max_examples=30, deadline=None)
def test_any_texts_are_read_up_to_a_bound(texts: list[str]):
    ids, segments = read(WORDS, *texts)
    assert len(ids) == len(segments) <= ASKED + 2 * SAID + 4
    assert {*segments} == {0, 1, 2}


def test_a_pair_that_was_read_is_not_read_again():
    first = log_odds(*DUMPS, "The dumps are encrypted.")
    begun = time.process_time()
    assert [log_odds(*DUMPS, "The dumps are encrypted.") for _ in range(1000)] == [first] * 1000
    assert time.process_time() - begun < 0.5
