"""Sending a text again: the whole text, a later part of it, or the same part twice by mistake."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.engine.verbs.documents import continue_text

LINES = st.lists(st.text("abc defg", min_size=1, max_size=30).filter(str.strip), min_size=1, max_size=8).map(
    "\n".join
)


RUNBOOK = "# Runbook\nDeploys go out on Tuesday.\nA rollback is made by hand.\nAsk Priya for the key."
LATER = RUNBOOK.replace("Tuesday", "Thursday") + "\nAnd write it down."


@pytest.mark.parametrize(
    ("old", "new", "stored"),
    [
        ("user: hi", "user: hi\nassistant: hello", "user: hi\nassistant: hello"),
        ("user: hi\n\nassistant: hello", "assistant: hello", "user: hi\n\nassistant: hello"),
        (RUNBOOK, LATER, LATER),
        ("user: is it ok", "ok", "user: is it ok\n\nok"),
    ],
    ids=["an addition", "sent twice", "a later version", "the end of another line"],
)
def test_a_text_replaces_or_continues_the_stored_one(old: str, new: str, stored: str):
    assert continue_text(old, new) == stored


@given(LINES, LINES)
def test_the_sent_text_is_always_stored_afterwards(old: str, new: str):
    assert new.strip() in continue_text(old, new)


@given(LINES, LINES)
def test_sending_again_changes_nothing(old: str, new: str):
    once = continue_text(old, new)
    assert continue_text(once, new).strip() == once.strip() or continue_text(once, new) == new
