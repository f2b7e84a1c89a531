"""The model that reads whether a later text changes what an earlier one says."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrubjay.encoders.bundled import vocabulary
from scrubjay.encoders.change_reader import ASKED, SAID, laid_out, log_odds

WORDS = vocabulary()
# None of these sentences is among the lessons.
PHOTOS = "where are the product photos kept?", "The product photos are kept on the disk of the shop's server."
OWNER = "who maintains the importer?", "The importer is maintained by Halvard."
RETRO = "when is the retro?", "The retro takes place every other Thursday."


@pytest.mark.parametrize(
    ("question", "earlier", "changing", "other"),
    [
        (
            *PHOTOS,
            "Photos of products live in an R2 bucket; the server's disk was full.",
            "Each photo has three sizes.",
        ),
        (
            *OWNER,
            "For anything about the importer ask Mirembe, Halvard has gone to the mobile team.",
            "Halvard also writes its documentation.",
        ),
        (
            *RETRO,
            "Nobody came to the retro, so we collect points in a shared document and skip the call.",
            "The retro should take 40 minutes at most.",
        ),
    ],
)
def test_a_text_that_replaces_another_has_higher_odds_than_one_that_adds_to_it(
    question: str, earlier: str, changing: str, other: str
):
    assert log_odds(question, earlier, changing) > 0 > log_odds(question, earlier, other)


@pytest.mark.parametrize(("question", "earlier"), [PHOTOS, OWNER, RETRO])
def test_a_change_of_another_thing_changes_nothing(question: str, earlier: str):
    change = "Invoices are rendered with Typst now, the old template package is gone."
    assert log_odds(question, earlier, change) < 0


def test_all_three_texts_are_read_in_their_order():
    ids, segments = laid_out("one", "two", "three").tolist()
    assert [WORDS.tokens[each] for each in ids] == ["[CLS]", "one", "[SEP]", "two", "[SEP]", "three", "[SEP]"]
    assert segments == [0, 0, 0, 1, 1, 2, 2]


@given(st.lists(st.text(max_size=3000), min_size=3, max_size=3))
@settings(max_examples=30, deadline=None)
def test_any_texts_are_read_up_to_a_bound(texts: list[str]):
    given = laid_out(*texts)
    assert given.shape[1] <= ASKED + 2 * SAID + 4 and {*given[1]} == {0, 1, 2}


def test_a_pair_that_was_read_is_not_read_again():
    log_odds(*PHOTOS, "The photos are square.")
    read_before = log_odds.cache_info().misses
    log_odds(*PHOTOS, "The photos are square.")
    assert log_odds.cache_info().misses == read_before
