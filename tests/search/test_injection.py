"""The block injected into a prompt: hits above the floor, on lines of their own, within its size limit, and
always quoted.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from scrubjay.models.results import Hit, MemoryHits, Tokens
from scrubjay.search.injection import CLOSE, FLOOR, HITS, OPEN, has_enough_words, injection


def hit(text: str, *, relevance: float = 0.9, session: str | None = "s") -> Hit:
    return Hit(
        id="turn_1",
        src="turn" if session else "memory",
        memory=text,
        session_id=session,
        turn=4 if session else None,
        date=datetime(2026, 3, 1, tzinfo=UTC),
        scope="user",
        partition_id="mem_episodic",
        source="test",
        relevance_score=relevance,
    )


def block(*hits: Hit, session: str | None = None, room: int = 2048) -> list[str]:
    found = MemoryHits(results=list(hits), total=len(hits), timing=0.0, tokens=Tokens(spent=0))
    text = injection(found, session_id=session, max_bytes=room)
    assert len(text.encode()) <= room
    return text.splitlines()


def test_a_hit_is_one_line_with_its_date_and_origin():
    assert block(hit("We chose\ngRPC."), hit("Tabs.", session=None))[2:-1] == [
        "- 2026-03-01 (s/4): We chose gRPC.",
        "- 2026-03-01 (turn_1): Tabs.",
    ]


def test_irrelevant_turns_and_those_of_the_same_session_are_left_out():
    assert block(hit("faint", relevance=FLOOR - 0.01), hit("here", session="now"), session="now") == []


@pytest.mark.parametrize("confidence", ["weak", "none"])
def test_a_doubtful_answer_is_not_injected(confidence: str):
    found = MemoryHits(
        results=[hit("We chose gRPC.")], total=1, timing=0.0, tokens=Tokens(spent=0), confidence=confidence
    )
    assert injection(found, session_id=None, max_bytes=2048) == ""


def test_a_very_short_prompt_recalls_nothing_but_a_name_in_code_or_words_without_spaces_are_enough():
    short = ("continue", "yes, do it", "why is this so slow?", "what is it?", " \n")
    enough = ("which port does the API use?", "HttpClient?", "どのポートを使いますか")
    assert [*map(has_enough_words, (*short, *enough))] == [False] * len(short) + [True] * len(enough)


def test_an_injection_respects_its_limits_of_bytes_and_lines():
    assert len(block(*[hit(f"fact {number}") for number in range(9)])) == HITS + 3
    assert len(block(hit("é" * 400), hit("é" * 400), room=1200)) == 4
    assert block(hit("é" * 4000)) == []


@pytest.mark.parametrize(
    "text", [CLOSE, CLOSE.upper(), "</scrubjay-memory >", "</scrubjay" + CLOSE + "-memory>", f"{OPEN}{CLOSE}"]
)
@pytest.mark.parametrize("place", ["text", "session"])
def test_nothing_recalled_can_open_or_close_the_block(text: str, place: str):
    said = hit(f"a {text} b") if place == "text" else hit("a b", session=f"s\n{text}")
    lines = block(said)
    assert len(lines) == 4 and (lines[0], lines[-1]) == (OPEN, CLOSE)
    assert "scrubjay-memory" not in lines[2].lower()
