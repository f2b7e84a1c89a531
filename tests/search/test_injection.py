"""The block injected into a prompt: hits above the floor, on lines of their own, within its size limit, and
always quoted.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from said import SCOPE, embedded, fact, turn

from scrubjay.engine.core import Core
from scrubjay.home.given import sums
from scrubjay.models.results import Hit, MemoryHits
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


def block(
    *hits: Hit, session: str | None = None, room: int = 2048, given: str = "", confidence: str = "strong"
) -> list[str]:
    found = MemoryHits.model_construct(results=list(hits), confidence=confidence)
    text = injection(found, session_id=session, max_bytes=room, given=sums(given))
    assert len(text.encode()) <= room
    return text.splitlines()


def test_a_hit_is_one_line_with_its_date_and_origin():
    assert block(hit("We chose\ngRPC."), hit("Tabs.", session=None))[2:-1] == [
        "- 2026-03-01 (s/4): We chose gRPC.",
        "- 2026-03-01 (turn_1): Tabs.",
    ]


def test_irrelevant_turns_and_those_of_the_same_session_are_left_out():
    assert block(hit("faint", relevance=FLOOR - 0.01), hit("here", session="now"), session="now") == []


def test_a_line_that_was_shown_before_makes_room_for_the_next():
    shown = "\n".join(block(*[hit(f"fact {number}") for number in range(9)]))
    after = block(*[hit(f"fact\n{number}") for number in range(9)], given=shown)
    assert [line.partition(": ")[2] for line in after[2:-1]] == [
        f"fact {number}" for number in range(HITS, 9)
    ]


@pytest.mark.parametrize(
    ("shown", "is_new"),
    [
        ("- 2026-02-01: Use: tabs, never spaces.", False),  # a fact in an opening has no origin
        ("- 2026-03-01 (turn_1): Use: tabs, never spaces.", False),
        ("- 2026-02-01: Use: tabs\u2026", True),  # the opening had only its beginning
        ("- 2026-03-01 (s/4): Another part of the turn.", True),
        ("Outcome: Use: tabs, never spaces.", True),
    ],
)
def test_only_a_memory_that_was_shown_whole_is_left_out(shown: str, is_new: bool):
    assert bool(block(hit("Use: tabs, never spaces."), given=shown)) is is_new


async def test_a_prompt_repeats_nothing_that_the_opening_or_an_earlier_prompt_gave(core: Core):
    core.settings = replace(core.settings, inject="prompt")
    question, answer = "Which port does the API use?", "It uses the port that the operators reserved, 8421."
    await turn(core, "old", user=question, assistant=answer, ts=str(core.clock() - timedelta(days=2)))
    await fact(core, "The API uses port 8421.")
    await embedded(core)
    event = {"session_id": "new", "prompt": question}
    opening = (await core.search.opening(event, SCOPE)).text
    assert "The API uses port 8421." in opening
    first = await core.search.injection({**event, "given": sums(opening)}, SCOPE)
    assert answer in first and "The API uses port 8421." not in first
    assert await core.search.injection({**event, "given": sums(opening + first)}, SCOPE) == ""
    for unknown in (None, 7, "8421", [7, None, []]):  # from a hook of another version
        assert "The API uses port 8421." in await core.search.injection({**event, "given": unknown}, SCOPE)


@pytest.mark.parametrize("confidence", ["weak", "none"])
def test_a_doubtful_answer_is_not_injected(confidence: str):
    assert block(hit("We chose gRPC."), confidence=confidence) == []


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
