"""Sending a text again: the whole text, a later part of it, or the same part twice by mistake."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scrubjay.engine.verbs.documents import continue_text

LINES = st.lists(st.text("abc defg", min_size=1, max_size=30).filter(str.strip), min_size=1, max_size=8).map(
    "\n".join
)


def test_the_same_text_with_an_addition_replaces_it():
    assert continue_text("user: hi", "user: hi\nassistant: hello") == "user: hi\nassistant: hello"


def test_a_later_part_is_appended():
    assert continue_text("user: hi\n", "assistant: hello") == "user: hi\n\nassistant: hello"


def test_a_part_that_is_sent_twice_is_stored_once():
    once = continue_text("user: hi", "assistant: hello")
    assert continue_text(once, "assistant: hello") == once


def test_a_later_version_of_the_text_replaces_it():
    old = "# Runbook\nDeploys go out on Tuesday.\nA rollback is made by hand.\nAsk Priya for the key."
    new = old.replace("Tuesday", "Thursday") + "\nAnd write it down."
    assert continue_text(old, new) == new


def test_a_short_line_that_ends_another_line_is_not_a_repetition():
    assert continue_text("user: is it ok", "ok") == "user: is it ok\n\nok"


@given(LINES, LINES)
def test_the_sent_text_is_always_stored_afterwards(old: str, new: str):
    assert new.strip() in continue_text(old, new)


@given(LINES, LINES)
def test_sending_again_changes_nothing(old: str, new: str):
    once = continue_text(old, new)
    assert continue_text(once, new).strip() == once.strip() or continue_text(once, new) == new
