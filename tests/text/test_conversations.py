"""Conversations as text and as turns: what is new in a longer version, and what belongs together."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scrubjay.text.conversations import LONGEST_RESULT, Message, contains, exchanges, transcript

TEXTS = st.sampled_from(["hi", "yes", "ok", "rename tick()", "done", "two\n\nparagraphs", "user: hi"])
MESSAGES = st.lists(
    st.builds(Message, st.sampled_from(["user", "assistant", "tool", "system"]), TEXTS), max_size=12
)


@given(messages=MESSAGES, cut=st.integers(0, 12))
def test_a_conversation_sent_in_two_steps_equals_one_sent_at_once(messages: list[Message], cut: int):
    whole = transcript("", messages)
    assert transcript(transcript("", messages[:cut]), messages) == whole


@given(messages=MESSAGES, start=st.integers(0, 12), end=st.integers(0, 12))
def test_resending_any_part_adds_nothing(messages: list[Message], start: int, end: int):
    whole = transcript("", messages)
    assert transcript(whole, messages[start:end]) == whole


@given(messages=MESSAGES)
def test_every_word_of_user_and_assistant_is_in_one_turn(messages: list[Message]):
    found = exchanges(messages)
    said = [message.text for message in messages if message.role in ("user", "assistant")]
    assert (
        "\n\n".join(part for each in found for part in (each.user, each.assistant) if part).split()
        == " ".join(said).split()
    )
    assert len({each.key for each in found}) == len(found)


@given(messages=MESSAGES, cut=st.integers(0, 12))
def test_a_turn_keeps_its_key_while_the_conversation_grows(messages: list[Message], cut: int):
    before, after = exchanges(messages[:cut]), exchanges(messages)
    assert [each.key for each in after][: len(before)] == [each.key for each in before]
    assert all(
        contains((late.user, late.assistant), early) for early, late in zip(before, after, strict=False)
    )


def test_a_conversation_that_branches_keeps_both_branches():
    one = transcript("", [Message("user", "a"), Message("assistant", "b"), Message("user", "c")])
    two = transcript(one, [Message("user", "a"), Message("assistant", "other"), Message("user", "d")])
    assert two.split("\n\n") == ["user: a", "assistant: b", "user: c", "assistant: other", "user: d"]
    assert transcript(two, [Message("user", "a"), Message("assistant", "other"), Message("user", "d")]) == two


def test_an_answer_to_a_new_prompt_is_kept_although_an_earlier_answer_has_its_words():
    text = transcript("", [Message("user", "a"), Message("assistant", "Done.")])
    latest = [Message("user", "b"), Message("assistant", "Done.")]
    text = transcript(text, latest)
    assert text.split("\n\n") == ["user: a", "assistant: Done.", "user: b", "assistant: Done."]
    assert transcript(text, latest) == text


def test_two_prompts_before_one_answer_are_one_turn():
    (turn,) = exchanges(
        [Message("user", "a"), Message("user", "b"), Message("assistant", "c"), Message("assistant", "d")]
    )
    assert (turn.user, turn.assistant) == ("a\n\nb", "c\n\nd")


def test_tools_belong_to_the_turn_and_long_results_are_cut():
    talk = [
        Message("user", "a"),
        Message("assistant", "", tools=("Bash", "Read")),
        Message("tool", "x" * 5_000),
        Message("assistant", "b"),
    ]
    (turn,) = exchanges(talk)
    assert turn.tools == ("Bash", "Read") and turn.assistant == "b"
    assert "[calls Bash, Read]" in transcript("", talk) and len(transcript("", talk)) < LONGEST_RESULT + 200
