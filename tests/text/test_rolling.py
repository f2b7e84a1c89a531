"""The summary of a session reads like a note: its topic, its outcome, open items, and files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.encoders.open_reader import log_odds
from scrubjay.text import open_points
from scrubjay.text.open_points import LONGEST_OPEN, MOST_OPEN
from scrubjay.text.sentences import join, sentences
from scrubjay.text.sessions import ROLLING_LIMIT, outcome, session_summary
from scrubjay.text.titles import TITLE_LIMIT, Exchange, title

LOGIN = [
    Exchange(
        "Hi! Can you please find out why the login page times out when more than 20 users come at once? "
        "Logs are attached.",
        "Sure! Let me look at the pool first.\n\nThe root cause was a pool of 5 connections in `db/pool.py`, "
        "because each worker holds two. I raised `POOL_SIZE` to 40.\n\n- tests/test_pool.py passes",
        ("db/pool.py", "tests/test_pool.py"),
    ),
    Exchange("yes", "I committed it as 4fa21bc."),
    Exchange(
        "does the worker also leak connections when a job is cancelled?",
        "Yes: `release()` is never called after a CancelledError. I added a finally block in `jobs/runner.py`.",
        ("jobs/runner.py", "db/pool.py"),
    ),
    Exchange(
        "ok great, that's it for today. tomorrow we should look at the retry logic in the mailer",
        "Noted. The mailer still retries 5 times without backoff; that is open.",
    ),
]
QUEUE = [
    Exchange(
        "I want to choose a queue for the thumbnail jobs: Redis streams, RabbitMQ or plain Postgres?",
        "You have three options.\n\n1. Redis streams\n2. RabbitMQ\n3. Postgres with SKIP LOCKED\n\n"
        "I would take Postgres: you run it already, and 50 jobs a second are well within reach.",
    ),
    Exchange(
        "let's go with Postgres then",
        "We decided on Postgres with SKIP LOCKED instead of RabbitMQ. I created the table `thumb_jobs`.",
        ("migrations/0042_thumb_jobs.sql",),
    ),
    Exchange(
        "write the worker",
        "The worker is in thumbs/worker.py and takes 10 jobs at a time.\n\nRemaining:\n"
        "- metrics for the length of the queue\n- the dead letter table has no cleanup\n\n"
        "Shall I add the cleanup as a nightly cron job?",
        ("thumbs/worker.py",),
    ),
]
EMPTY = "yes|Yes, please do it.|thanks!|go on|sounds good, go ahead|1|ja, mach das".split("|")


def left_open(turns: list[Exchange]) -> list[str]:
    """Return what a session left open by signs and by the model."""
    return open_points.left_open(turns, log_odds)


def test_a_session_is_summarised_like_a_note():
    assert session_summary(LOGIN, left_open(LOGIN)) == (
        "Find out why the login page times out when more than 20 users come at once?\n"
        "Outcome: The root cause was a pool of 5 connections in `db/pool.py`, because each worker holds two. "
        "I raised `POOL_SIZE` to 40. I committed it as 4fa21bc. I added a finally block in `jobs/runner.py`.\n"
        "Asked: does the worker also leak connections when a job is cancelled?\n"
        "Open: The mailer still retries 5 times without backoff; that is open. "
        "tomorrow we should look at the retry logic in the mailer\n"
        "Files: db/pool.py, tests/test_pool.py, jobs/runner.py"
    )


def test_remaining_list_items_and_the_last_question_are_open():
    assert title(QUEUE) == (
        "Choose a queue for the thumbnail jobs: Redis streams, RabbitMQ or plain Postgres?"
    )
    assert left_open(QUEUE) == [
        "Shall I add the cleanup as a nightly cron job?",
        "metrics for the length of the queue",
        "the dead letter table has no cleanup",
    ]


def test_a_session_of_one_short_turn_has_a_summary_too():
    said = session_summary([Exchange("Where is the metrics port?", "It is 9464, in config/prod.env.")])
    assert said == "Where is the metrics port?\nAnswered: It is 9464, in config/prod.env."


@pytest.mark.parametrize(
    "answer",
    [
        "Nothing is left to do; all 212 tests pass.",
        "I opened the file and the next() call returns.",
        "The API remains compatible.",
        "A short message is sent at once, a long one must wait in line.",
        "I didn't need the lock, so nothing has to be changed by hand.",
    ],
)
def test_a_sentence_that_only_sounds_open_is_not(answer: str):
    assert left_open([Exchange("Is it done?", answer)]) == []


@pytest.mark.parametrize(
    "point",
    [
        "I have not run the arm job, its runner is offline.",
        "The migration of orders needs a follow-up.",
        "Production is waiting for Petra's approval.",
        "Remaining: restore the blobs once.",
        "The two DKIM records I did not dare to import.",
        "Once it is at 100 %, the old checkout can go.",
        "The new host follows on Friday.",
        "The manual has not been translated.",
        "The rest of the plugins should be checked by someone with access.",
        "At the moment the price is a guess of mine.",
        "The remaining step is Redis in production.",
        "`payout.js` shares the helper, which I'd port next.",
    ],
)
def test_the_usual_ways_to_leave_something_open_are_found(point: str):
    assert left_open([Exchange("Go on.", f"The exporter writes CSV.\n\n{point}")]) == [point]


def test_what_was_left_for_later_is_found_early_in_a_session_and_a_state_only_at_its_end():
    turns = [
        Exchange(
            "Write the importer.", "The importer works. TODO: tests for empty rows. A flush is pending."
        ),
        *[Exchange(f"Rename module {number}.", f"I renamed module {number}.") for number in range(6)],
    ]
    assert left_open(turns) == ["TODO: tests for empty rows."]


def test_the_title_is_the_most_central_prompt_and_never_cut_at_a_comma():
    central = "why do uploads fail at night, when the backup of the archive runs, and how long do we retry?"
    turns = [
        Exchange("new session: read the readme", "I read the readme."),
        Exchange(central, "Uploads fail because the backup holds the archive's lock at night. " * 3),
        Exchange("thanks", "You're welcome."),
    ]
    assert title(turns).casefold() == central


@pytest.mark.parametrize("prompt", EMPTY)
def test_a_prompt_that_only_agrees_is_neither_a_title_nor_a_question(prompt: str):
    answered = Exchange(prompt, "I moved the parser to core/parse.py.")
    assert title([answered]) == "I moved the parser to core/parse.py"
    assert "Asked" not in session_summary([QUEUE[0], answered])


PIECES = [
    "We decided to use it. ", "Why? ", "Sure. ", "\n", "\n\n", "```\n", "- item ", "TODO: tests. ", "yes", "Next steps:\n",
    "x" * 300, "I added the parser. ", "it still fails. ", "\u2026", "\u306a\u305c\u9045\u3044\u306e\u3067\u3059\u304b\u3002", "Shall I push the branch to origin now?",
]  # fmt: skip
texts = st.one_of(st.text(max_size=300), st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
exchanges = st.builds(Exchange, texts, texts, st.lists(st.text(max_size=60), max_size=5).map(tuple))


@given(st.lists(exchanges, max_size=8), st.integers(100, ROLLING_LIMIT))
def test_a_rolling_summary_respects_its_limits_and_is_deterministic(turns: list[Exchange], limit: int):
    made = session_summary(turns, limit=limit)
    assert len(made) <= limit and made == session_summary(turns, limit=limit)
    assert len(title(turns)) <= TITLE_LIMIT
    assert len(left_open(turns)) <= MOST_OPEN and all(
        len(point) <= LONGEST_OPEN for point in left_open(turns)
    )


@given(st.lists(exchanges, max_size=8))
def test_no_sentence_occurs_twice_in_a_summary(turns: list[Exchange]):
    made = session_summary([turn._replace(files=()) for turn in turns])
    lines = [line.partition(": ")[2] or line for line in made.split("\n")]
    assert len(set(lines)) == len(lines)


def told(*sides: str) -> tuple[str, list[str], list[str]]:
    """Return the title, the outcome and the open points of a session; prompts and answers alternate."""
    turns = [Exchange(*pair) for pair in zip(sides[::2], sides[1::2], strict=True)]
    return title(turns), outcome(turns), left_open(turns)


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        (
            'Traceback (most recent call last):\n  File "/app/main.py", line 61, in run\n    client.connect()\n'
            '  File "/usr/lib/python3/redis/connection.py", line 363, in connect\n    raise self.error()\n'
            "redis.exceptions.ConnectionError: Error 111 connecting to cache:6379\n\nwhat's wrong here",
            "redis.exceptions.ConnectionError: Error 111 connecting to cache:6379",
        ),
        ("# Add a dark mode\n\nPlease use CSS variables.", "Add a dark mode"),
        (
            "# Task\n## Context\nWe have a Next.js app and a Go backend.\n\n"
            "## Goal\nAdd pagination to the users table.",
            "Add pagination to the users table",
        ),
        ("<task>\nMove the config loader to TOML\n</task>\n<rules>\n- be brief\n</rules>", "Move the config"),
        ('# start.sh\necho "start"\nwhy does this script fail on alpine?', 'echo "start" why does this'),
        ("[Image #1] the button is misaligned on mobile", "The button is misaligned on mobile"),
        ("No retries in the uploader, they hide errors.", "No retries in the uploader"),
        ("No, the retries hide errors.", "The retries hide errors"),
        ("Great. Different topic: why is the image so big?", "Why is the image so big"),
        ("We need to add SSO with Okta. Make a plan first, don't code yet.", "Add SSO with Okta"),
        ("Let's not deploy on Fridays.", "Let's not deploy on Fridays"),
    ],
)
def test_a_title_is_what_the_user_wrote_and_not_a_stack_frame_a_tag_or_a_greeting(prompt: str, expected: str):
    answer = "The redis host was wrong. I added pagination to the users table, and the config loader."
    assert title([Exchange(prompt, answer)]).startswith(expected)


def test_an_outcome_has_no_question_task_small_talk_or_title():
    _, said, _ = told(
        "why does this happen?",
        "Hmm, let me look.\n\nThe proxy closes idle connections after 60 s. I apologize for the confusion.\n\n"
        "- [x] `socket.ts` sends a ping every 25 s\n- [ ] the load test runs for an hour\n\n"
        "Shall I raise the timeout of the proxy too?",
        "no, thanks",
        "Good luck!",
    )
    assert said == ["`socket.ts` sends a ping every 25 s"]
    assert told("what is our coverage", "71 %.")[1] == ["71 %."]


def test_a_sentence_keeps_its_closing_quote_and_is_not_split_inside_code():
    answer = 'The page says "The password is wrong." The total was `sum(...) / len(items)`, now it is 0.'
    assert [sentence.text for sentence in sentences(answer)] == [
        'The page says "The password is wrong."',
        "The total was `sum(...) / len(items)`, now it is 0.",
    ]
    assert join(['It says "No."', "It ends"]) == 'It says "No." It ends'


def test_a_summary_has_no_courtesy_for_an_answer():
    turns = [Exchange("what is the port", "It is 9464."), Exchange("thx", "You're welcome!")]
    assert (
        session_summary([*turns, Exchange("leave it", "Understood.")])
        == "what is the port\nAnswered: It is 9464."
    )


def test_what_a_later_turn_took_back_is_no_outcome():
    sides = (
        "Make the dashboard load faster",
        "The cause was 64 queries. I batched them into one query in `loader.py`.",
        "the revenue is wrong now",
        "I added the filter back to the join.",
        "revert it, we'll cache instead",
    )
    undone = "I reverted both commits."
    cached = "Then I added a cache of 60 seconds around `load_dashboard`."
    assert told(*sides, f"{undone} {cached}")[1] == [undone, cached, "The cause was 64 queries."]
    first = told(*sides, "I rolled back `loader.py` to the join.")[1]
    assert "I added the filter back to the join." not in first
    assert "I batched them into one query in `loader.py`." in first
    summary = session_summary([Exchange(*sides[2:4]), Exchange(sides[4], f"{undone} {cached}")])
    assert "Outcome: I reverted both commits. Then I added" in summary and "filter back" not in summary


def test_an_outcome_in_chinese_is_more_than_its_sentences_with_latin_words():
    assert (
        "旧密码在下次登录时重新哈希。" in told("登录太慢", "成本因子改为 12。旧密码在下次登录时重新哈希。")[1]
    )


@pytest.mark.parametrize(
    "closing",
    [
        "Let me know if you'd like me to tackle either of these!",
        "Let me know if you have any questions or if anything is unclear!",
        "Is there anything else I can help you with today?",
        "What would you like to work on next?",
    ],
)
def test_a_closing_courtesy_is_not_open_but_an_offer_that_names_something_is(closing: str):
    assert told("add an import", f"The import of contacts works. {closing}")[2] == []
    offer = "Let me know if you want me to also log the rows that were skipped as duplicates."
    assert told("add logging", f"Each row that fails is logged. {offer}")[2] == [offer]


FAILING = "I ran the tests: 58 passed, 2 failed:\n\n- `test_refund` gets 422\n- `test_idempotency` times out"
LATER = "Still to do: source maps are not uploaded yet."
TASKS = "What I did:\n\n- [x] the switch\n- [ ] charts still draw black text\n- [ ] the print stylesheet"


@pytest.mark.parametrize(
    ("sides", "points"),
    [
        # a prompt without an answer
        (("rename tick()", "I renamed it.", "why is CI red on windows?", ""), ["why is CI red on windows?"]),
        (("rename tick()", "I renamed it.", "thanks", ""), []),
        (
            (
                "deploy",
                "You need to run `make deploy` yourself.",
                "ok did it, worked",
                "Then staging runs 3.",
            ),
            [],
        ),
        (("renew", "The DNS team has to set the record.", "they set it", "The certificate is valid."), []),
        # tasks, and tests that fail when the session ends
        (("Add a dark mode", TASKS), ["charts still draw black text", "the print stylesheet"]),
        (
            ("Add a dark mode", TASKS.replace("What I did", "TODO")),
            ["charts still draw black text", "the print stylesheet"],
        ),
        (("share one interface", FAILING), ["`test_refund` gets 422", "`test_idempotency` times out"]),
        (("share one interface", FAILING, "fix both", "All 60 tests pass."), []),
        (("share one interface", f"{FAILING}\n\nI fixed both, and now all 60 tests pass."), []),
        # a later turn settles a point, also without words such as "still"
        (("set up sentry", f"Sentry is initialised. {LATER}"), [LATER]),
        (("set up sentry", f"Sentry is initialised. {LATER}", "do CI", "CI uploads source maps."), []),
        # other languages
        (("Warum ist es kaputt?", "Es ist Latin-1. Soll ich das ändern?"), ["Soll ich das ändern?"]),
        (("Repariere die Tests", "Einer muss noch angepasst werden."), ["Einer muss noch angepasst werden."]),
        (("Traduis", "Il reste trois messages sans contexte."), ["Il reste trois messages sans contexte."]),
        (
            ("Baue es", "Zwei Tests schlagen noch fehl:\n\n- `login.test.ts` läuft in den Timeout"),
            ["`login.test.ts` läuft in den Timeout"],
        ),
        (
            ("arregla la paginación", "Está lista. Falta documentarla en el OpenAPI."),
            ["Falta documentarla en el OpenAPI."],
        ),
        (
            ("corrige o formulário", "Corrigido. Ainda falta traduzir a mensagem."),
            ["Ainda falta traduzir a mensagem."],
        ),
        (("登录太慢", "已修复。还没有更新压测脚本。"), ["还没有更新压测脚本。"]),
        (("登录太慢", "已修复。还没有更新压测脚本。", "继续", "压测脚本已更新。"), []),
        (
            ("CI が遅い", "直しました。まだ夜間ジョブでは確認していません。"),
            ["まだ夜間ジョブでは確認していません。"],
        ),
        (("Räum auf", "212 Regeln sind weg. Kann ich sonst noch etwas für dich tun?"), []),
    ],
)
def test_points_are_open_until_they_are_settled(sides: tuple[str, ...], points: list[str]):
    assert told(*sides)[2] == points
