"""The summary of a stretch of a session: its turns' own words, what was decided first of all, within its
limit.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scrubjay.text.summary import ROLLING_LIMIT, rolling_summary, summarise

TURNS = [
    (
        "How do we name the clock function?",
        "We decided to rename tick() to advance(), because the scheduler has a tick.",
        ["src/clock.py"],
    ),
    ("thanks", "You're welcome!", []),
    (
        "Why is the login slow?",
        "The root cause was a missing index on users.email. It takes 3 ms now.",
        ["src/login.py", "src/clock.py"],
    ),
]
SUMMARIES = [summarise(user, assistant, files=files) for user, assistant, files in TURNS]


def test_it_tells_what_was_asked_what_was_decided_and_the_most_touched_files_first():
    assert rolling_summary(SUMMARIES, files=["src/login.py", "src/clock.py", "src/clock.py"]) == (
        "Asked: How do we name the clock function? Why is the login slow?\n"
        "Decided: We decided to rename tick() to advance(), because the scheduler has a tick. "
        "The root cause was a missing index on users.email.\n"
        "Files: src/clock.py, src/login.py"
    )


def test_where_nothing_was_decided_it_tells_what_was_answered():
    assert rolling_summary(["Asked: what is two and two?\nAnswered: Two and two make four."]).endswith(
        "Answered: Two and two make four."
    )


def test_a_summary_that_a_caller_wrote_counts_as_an_answer():
    assert rolling_summary(["The parser was moved: it stands in core/parse.py now."]).startswith(
        "Answered: The parser was moved: it"
    )


def test_nothing_said_gives_nothing():
    assert rolling_summary([]) == rolling_summary(["", "Tools: Bash"]) == ""


def test_what_is_said_again_is_not_repeated():
    assert rolling_summary(SUMMARIES * 5).count("Why is the login slow?") == 1


@given(st.lists(st.text(max_size=400), max_size=25), st.lists(st.text(max_size=60), max_size=30))
def test_it_never_exceeds_its_limit_and_is_always_the_same(texts: list[str], files: list[str]):
    summaries = [summarise(text, text[::-1]) for text in texts]
    made = rolling_summary(summaries, files=files)
    assert len(made) <= ROLLING_LIMIT and made == rolling_summary(summaries, files=files)
