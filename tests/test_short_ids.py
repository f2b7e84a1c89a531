"""Ids short enough to be said again: what is shown, and that every face takes it."""

from __future__ import annotations

from scrubjay.models.records import derived_id
from scrubjay.models.short_ids import short_id, short_session

V4 = "66288832-1c1a-4b0e-9c3f-2d8a5f1e7b6c"
V7 = "0199a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2b"
OPENCODE = "ses_6f3b2a1c9ffeQkVw3mTzAbCdEf"

# What is shown.


def test_of_an_id_its_kind_and_eight_digits_are_shown() -> None:
    fact = derived_id("mem", "a")
    assert short_id("memory", fact) == fact[: len("mem_") + 8]
    assert short_id("chunk", derived_id("doc", "a"))[:4] == "doc_"
    assert short_id("memory", "a-name-of-a-client") == "a-name-of-a-client"


def test_a_turn_is_shown_by_its_session_and_number() -> None:
    turn = derived_id("turn", "a")
    assert short_id("turn", turn, V4, 5) == "66288832/5"
    assert short_id("turn", turn, "standup", 0) == "standup/0"
    # A name with spaces, or one that costs more than an id.
    for name in ("a talk\nof us", "x" * 25):
        assert short_id("turn", turn, name, 5) == turn[: len("turn_") + 8]


def test_of_a_session_is_shown_what_tells_it_from_those_of_the_same_minute() -> None:
    assert short_session(V4) == "66288832"
    assert short_session(V4.replace("-", "")) == "66288832"
    assert short_session(V7) == "0199a1b2-c3d4"
    assert short_session(OPENCODE) == "ses_6f3b2a1c9ffe"
    assert short_session("a name that somebody chose") == "a name that somebody chose"
