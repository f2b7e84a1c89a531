"""The models that read whether a text answers a question, and whether a later text changes an earlier one.

None of these sentences is among the lessons.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrubjay.encoders import answer_reader, change_reader
from scrubjay.encoders.bundled import vocabulary
from scrubjay.encoders.cross_encoder import Input

WORDS = vocabulary()
PHOTOS = "where are the product photos kept?", "The product photos are kept on the disk of the shop's server."
OWNER = "who maintains the importer?", "The importer is maintained by Halvard."
RETRO = "when is the retro?", "The retro takes place every other Thursday."


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
) -> None:
    assert answer_reader.log_odds(answered, text) > answer_reader.log_odds(other, text)


@pytest.mark.parametrize(
    ("asked", "changing", "adding"),
    [
        (
            PHOTOS,
            "Photos of products live in an R2 bucket; the server's disk was full.",
            "Each photo has three sizes.",
        ),
        (
            OWNER,
            "For anything about the importer ask Mirembe, Halvard has gone to the mobile team.",
            "Halvard also writes its documentation.",
        ),
        (
            RETRO,
            "Nobody came to the retro, so we collect points in a shared document and skip the call.",
            "The retro should take 40 minutes at most.",
        ),
    ],
)
def test_only_a_text_that_replaces_another_has_high_odds(
    asked: tuple[str, str], changing: str, adding: str
) -> None:
    other = "Invoices are rendered with Typst now, the old template package is gone."
    changed, added, unrelated = (change_reader.log_odds(*asked, text) for text in (changing, adding, other))
    assert changed > 0 > max(added, unrelated)


@pytest.mark.parametrize(
    ("laid_out", "tokens", "segments"),
    [
        (answer_reader.laid_out("one", "two"), "[CLS] one [SEP] two [SEP]", [0, 0, 0, 1, 1]),
        (
            change_reader.laid_out("one", "two", "three"),
            "[CLS] one [SEP] two [SEP] three [SEP]",
            [0, 0, 0, 1, 1, 2, 2],
        ),
    ],
)
def test_the_texts_are_read_in_their_order(laid_out: Input, tokens: str, segments: list[int]) -> None:
    ids, found_segments = laid_out.tolist()
    assert ([WORDS.tokens[each] for each in ids], found_segments) == (tokens.split(), segments)


@given(st.lists(st.text(max_size=3000), min_size=3, max_size=3))
@settings(max_examples=30, deadline=None)
def test_any_texts_are_read_up_to_a_bound(texts: list[str]) -> None:
    answer, change = answer_reader.laid_out(*texts[:2]), change_reader.laid_out(*texts)
    assert answer.shape[1] <= answer_reader.ASKED + answer_reader.SAID + 3 and {*answer[1]} == {0, 1}
    assert change.shape[1] <= change_reader.ASKED + 2 * change_reader.SAID + 4 and {*change[1]} == {0, 1, 2}


def test_a_pair_that_was_read_is_not_read_again() -> None:
    change_reader.log_odds(*PHOTOS, "The photos are square.")
    read_before = change_reader.log_odds.cache_info().misses
    change_reader.log_odds(*PHOTOS, "The photos are square.")
    assert change_reader.log_odds.cache_info().misses == read_before
