"""The model that reads which sentences of a turn say that something is open."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrubjay.encoders.open_reader import ANSWER, FOLLOWING, PROMPT, log_odds, windows
from scrubjay.text.titles import Exchange

# None of these sentences is among the lessons.
ASKED = "Make the exporter write CSV."
DONE = "The exporter writes CSV, and `test_export.py` covers quotes and empty cells."


def open_in(turn: Exchange, *following: Exchange) -> list[str]:
    return [text for text, odds in log_odds(turn, following) if odds > 0]


@pytest.mark.parametrize(
    "point",
    [
        "Ingrid has the French strings and sends them on Thursday.",
        "I had no Windows machine to try it on.",
        "Whether Excel opens the file with umlauts I could not try here.",
        "The column names have to be agreed with Ulrike.",
    ],
)
def test_a_plain_statement_of_what_is_to_be_done_is_open(point: str):
    assert open_in(Exchange(ASKED, f"{DONE} {point}")) == [point]


@pytest.mark.parametrize(
    "sentence",
    [
        "Rows without a date are skipped, as you asked.",
        "A cell with a quote has it doubled.",
        "It runs on Windows too.",
    ],
)
def test_what_is_done_or_meant_is_not_open(sentence: str):
    assert open_in(Exchange(ASKED, f"{DONE} {sentence}")) == []


@pytest.mark.parametrize(
    ("point", "settled"),
    [
        (
            "I have not run the arm job, its runner is offline.",
            Exchange("runner is back, pls run it", "The arm job is green, all 88 tests."),
        ),
        (
            "Production is waiting for Petra's approval.",
            Exchange("she said yes an hour ago", "Then I rolled it out; production has the new exporter."),
        ),
    ],
)
def test_what_a_later_turn_settles_in_other_words_is_less_likely_open(point: str, settled: Exchange):
    turn, other = Exchange(ASKED, f"{DONE} {point}"), Exchange("how large is the file?", "4 MB for a year.")
    before, after = (dict(log_odds(turn, [following]))[point] for following in (other, settled))
    assert before > 1 and after < before - 1


def test_each_sentence_of_a_long_answer_is_read():
    said = [f"I moved the module {name} into the folder of its room." for name in "abcdefghij" * 9]
    said[70] = "The manual has not been translated."
    judged = list(log_odds(Exchange(ASKED, " ".join(said))))
    assert [text for text, _ in judged] == [ASKED, *said]
    assert max(judged, key=lambda each: each[1])[0] == said[70]


@given(st.lists(st.builds(Exchange, st.text(max_size=600), st.text(max_size=3000)), min_size=1, max_size=4))
@settings(max_examples=30, deadline=None)
def test_any_turn_is_read_in_parts_of_bounded_size(turns: list[Exchange]):
    for window in windows(turns[0], turns[1:]):
        assert window.given.shape[1] <= 3 + PROMPT + ANSWER + FOLLOWING <= 512
        assert all(1 <= span.start < span.end < window.given.shape[1] for span in window.spans)
