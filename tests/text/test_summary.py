"""Summaries: the sentences that matter, in order, within the limit, and nothing that was not said."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.text.summary import gist, summarise

ANSWER = """Sure! Let me look at the code first.

I'll check the connection pool.

```python
DECIDED = "because code is not prose"
```

The root cause was a pool of 5 connections in `db/pool.py`, because each worker holds two.
I looked at several files. The weather in the log is unrelated.

We decided to raise it to 40 instead of adding a queue:

- `POOL_SIZE` is now 40.
- The test `test_pool.py` passes.

Let me know if you would like more changes!"""
QUESTION = "Hi! Why do requests time out under load? Please fix it."

PIECES = [
    "We decided to use it. ", "Why? ", "Sure. ", "\n", "\n\n", "```\n", "- item ", "**bold** ", "| a |\n", "# H\n", "e.g. this ",
    "これは文です。", "x" * 400, "supercalifragilistic ", "a_b ", "…", "2**3 ",
]  # fmt: skip
texts = st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
names = st.lists(st.text(max_size=30), max_size=12)

IDEOGRAPHIC = "\u2e80-\ua4cf\uf900-\ufaff\U00020000-\U0003ffff"
WORD = re.compile(rf"[^\W{IDEOGRAPHIC}]+")


@given(st.none() | texts, st.none() | texts, names, names, st.integers(0, 1500))
def test_a_summary_never_exceeds_its_limit_and_is_deterministic(
    user: str | None, assistant: str | None, tools: list[str], files: list[str], limit: int
) -> None:
    said = summarise(user, assistant, tools=tools, files=files, limit=limit)
    assert len(said) <= limit
    assert said == summarise(user, assistant, tools=tools, files=files, limit=limit)


@given(texts, texts, st.integers(0, 400))
def test_a_summary_has_only_whole_words_from_the_turn(user: str, assistant: str, limit: int) -> None:
    said = set(WORD.findall(f"{user} {assistant}")) | {"Asked", "Answered"}
    assert set(WORD.findall(summarise(user, assistant, limit=limit))) <= said


@given(texts.filter(lambda text: any(char.isalnum() for char in text) and not re.search(r"\w{300}", text)))
def test_a_turn_with_any_text_has_a_summary(text: str) -> None:
    assert summarise(f"Explain this.\n\n{text}", None).startswith("Asked: ")
    assert summarise("", text).startswith("Answered: ")


def test_the_question_the_decision_and_the_touched_files_are_kept() -> None:
    lines = summarise(
        QUESTION, ANSWER, tools=["Read", "Edit", "Read"], files=["db/pool.py", "tests/test_pool.py"]
    ).split("\n")
    assert lines[0] == "Asked: Why do requests time out under load? Please fix it."
    assert lines[1].startswith(
        "Answered: The root cause was a pool of 5 connections in `db/pool.py`, because each worker holds two."
    )
    assert "We decided to raise it to 40 instead of adding a queue:" in lines[1]
    assert lines[2:] == ["Files: db/pool.py, tests/test_pool.py", "Tools: Read, Edit"]


def test_small_talk_and_code_are_left_out() -> None:
    summary = summarise(QUESTION, ANSWER)
    for phrase in ("Sure", "Let me", "I'll check", "not prose", "Hi!"):
        assert phrase not in summary


def test_a_question_after_a_long_log_is_found() -> None:
    log = "\n".join(f"INFO request {n} took {n} ms." for n in range(200))
    assert "Why is the third one slow?" in summarise(
        f"This is the log.\n\n{log}\n\nWhy is the third one slow?", "It waits."
    )


@pytest.mark.parametrize(
    ("user", "assistant", "expected"),
    [
        ("Move the cache\nto Redis,\r\nplease.", None, "Asked: Move the cache to Redis, please."),
        (None, "It runs now\n```\ncode\n```\nTen tests pass", "Answered: It runs now; Ten tests pass"),
    ],
)
def test_lines_are_joined_to_sentences_and_code_separates_them(
    user: str | None, assistant: str | None, expected: str
) -> None:
    assert summarise(user, assistant) == expected


def test_a_turn_of_code_or_small_talk_alone_still_has_a_summary() -> None:
    assert summarise("```\nprint(1)\n```", "Sure!") == "Asked: print(1)\nAnswered: Sure!"


def test_the_summary_of_a_turn_without_words_lists_only_touched_files() -> None:
    assert summarise(None, None) == "" == summarise(" ", "\n")
    assert summarise(None, None, tools=["Bash"]) == "Tools: Bash"


def test_files_that_do_not_fit_are_counted() -> None:
    line = summarise(None, None, files=[f"src/module_{n}.py" for n in range(100)], limit=300)
    assert line.startswith("Files: src/module_0.py, ")
    assert re.search(r" and \d+ more$", line)
    assert len(line) <= 60
    assert summarise(None, None, files=["x" * 500, "y"]) == "Files: 2"


def test_other_languages_are_summarised_by_position() -> None:
    summary = summarise(
        "なぜ遅いのですか。", "接続数が足りません。" + "これは長い説明です。" * 100 + "四十に増やしました。"
    )
    assert "なぜ遅いのですか。" in summary
    assert "接続数が足りません。" in summary


SHORT = "The vault key is quagga-7731."


def test_a_gist_keeps_one_short_sentence_and_never_several_whole_ones():
    assert gist("Where is the key?", SHORT) == f"Asked: Where is the key?\nAnswered: {SHORT.rstrip('.')}"
    long = (
        "We decided to rent the flat in Leeds, because my brother Tom lives there. Its rent is 900 a month."
    )
    said = gist("Hi! My brother Tom and I look for a flat. Which of the two should we take?", long)
    assert said.startswith("Asked: My brother Tom and I look for a flat") and "Which of" not in said
    assert "900 a month" not in said


def test_a_gist_keeps_a_dozen_words_of_a_long_sentence():
    words = [f"word{n}" for n in range(40)]
    assert gist(None, " ".join(words)) == f"Answered: {' '.join(words[:12])}\u2026"


@given(texts, texts)
def test_a_gist_is_never_longer_than_the_turn_and_never_its_labelled_copy(user: str, assistant: str) -> None:
    said = gist(user, assistant)
    assert said == gist(user, assistant) and len(said) <= len(user) + len(assistant) + len(
        "Asked: \nAnswered: "
    )
    answered = said.partition("Answered: ")[2]
    assert len(answered) <= max(len(assistant) // 2, 90) + 1


@pytest.mark.parametrize("prompt", ["yes", "Yes, please do it.", "go on", "thanks!", "ok"])
def test_a_prompt_that_only_agrees_has_no_summary_line(prompt: str):
    assert summarise(prompt, "The parser stands in core/parse.py now.") == (
        "Answered: The parser stands in core/parse.py now."
    )
