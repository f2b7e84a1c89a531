"""What a session left open is judged by signs and by what a model has read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from scrubjay.text.open_points import left_open
from scrubjay.text.titles import Exchange

MARKED, PLAIN, CLOSED = (
    "The migration of orders needs a follow-up.",
    "Legal has the text.",
    "The exporter writes CSV.",
)
TURN = Exchange("Go on.", f"{CLOSED} {MARKED} {PLAIN}")


def told(turns: Sequence[Exchange], **odds: float) -> list[str]:
    """Return what is open if the model has these odds for sentences with a word, and -4 for the others."""

    def read(turn: Exchange, _: Sequence[Exchange]) -> Iterable[tuple[str, float]]:
        for sentence in filter(None, f"{turn.user} {turn.assistant}".replace(". ", ".\n").split("\n")):
            yield sentence, next((value for word, value in odds.items() if word in sentence), -4.0)

    return left_open(turns, read)


def test_the_model_finds_what_no_sign_tells():
    assert told([TURN], Legal=9) == [PLAIN]


def test_a_sentence_is_open_whatever_its_signs_say_if_the_model_is_sure():
    reason = "It stays as it was by design, because a redirect to the login drops the anchor."
    turn = Exchange("Go on.", f"{CLOSED} {reason} {PLAIN}")
    assert told([turn], redirect=1.5) == []
    assert told([turn], redirect=2.5) == [reason]


def test_the_model_confirms_or_denies_what_a_sign_tells():
    assert told([TURN], migration=0) == [MARKED]
    assert told([TURN], migration=-9) == []


@pytest.mark.parametrize(
    "task", ["- [ ] charts still draw black text", "Remaining:\n- charts still draw black text"]
)
def test_a_task_is_open_unless_the_model_denies_it(task: str):
    turn = Exchange("Add a dark mode", f"The switch works.\n\n{task}")
    assert left_open([turn], lambda *_: []) == ["charts still draw black text"]
    assert left_open([turn], lambda *_: [("charts still draw black text", -3.0)]) == []


def test_what_the_user_still_has_to_do_is_open_if_the_model_says_so():
    turn = Exchange("I'll call the landlord on Thursday.", "Good.")
    assert told([turn], landlord=3) == ["I'll call the landlord on Thursday."]
    assert told([turn], landlord=-3) == []


@pytest.mark.parametrize(
    ("prompt", "odds", "is_open"),
    [
        ("make a table of it", 1.0, True),
        ("works for me too", -3.0, False),
        ("why is CI red on the windows runner?", -3.0, True),
        ("Mach bitte eine Tabelle daraus, und die Titel sollen nicht fehlen", -3.0, True),
    ],
)
def test_a_last_prompt_without_an_answer_is_open_if_it_asks_for_something(
    prompt: str, odds: float, is_open: bool
):
    turns = [Exchange("rename tick() to advance()", "I renamed it in 14 files."), Exchange(prompt, "")]
    assert bool(left_open(turns, lambda turn, _: [(prompt, odds)] if turn.user == prompt else [])) is is_open
