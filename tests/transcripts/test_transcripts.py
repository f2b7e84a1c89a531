"""Transcripts: turns read from a format that may change, and those that the hooks missed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.transcripts.formats import turns as turns_of
from scrubjay.transcripts.injected import is_error, strip_injected
from scrubjay.transcripts.matching import ended_before, placed
from scrubjay.transcripts.turn import MAX_COMMAND, fields_of

_numbers = count()


def turns(lines: Iterable[str | bytes]) -> list[dict]:
    return turns_of(lines, "claude-code")


def line(type_: str, content: object, **more: object) -> str:
    at = next(_numbers)
    entry = {
        "type": type_,
        "uuid": f"u{at}",
        "sessionId": "s1",
        "timestamp": f"2026-03-05T12:00:{at % 60:02d}.000Z",
        "message": {"content": content},
    }
    return json.dumps({**entry, **more})


def user(text: object, **more: object) -> str:
    return line("user", text, **more)


def says(text: str, **more: object) -> str:
    return line("assistant", [{"type": "text", "text": text}], **more)


def uses(tool: str, **inputs: object) -> str:
    return line("assistant", [{"type": "tool_use", "id": "t1", "name": tool, "input": inputs}])


def result(content: object = "ok") -> str:
    return user([{"type": "tool_result", "tool_use_id": "t1", "content": content}])


SESSION = [
    json.dumps({"type": "summary", "summary": "Earlier", "leafUuid": "u0"}),
    user("Rename tick() please", promptId="p1", uuid="first", timestamp="2026-03-05T12:00:00Z"),
    line("assistant", [{"type": "thinking", "thinking": "hm"}]),
    says("I will look at the loop."),
    uses("Read", file_path="/src/loop.py"),
    result(),
    uses("Edit", file_path="/src/loop.py", old_string="a"),
    result(),
    uses("NotebookEdit", notebook_path="/nb.ipynb"),
    result([{"type": "text", "text": "ok"}]),
    says("Renamed to advance()."),
    user("And the tests?", promptId="p2"),
    says("They pass."),
]


def test_a_turn_is_a_prompt_and_everything_answered_to_it() -> None:
    first, second = turns(SESSION)
    assert first == {
        "prompt_id": "p1",
        "session_id": "s1",
        "uuid": "first",
        "prompts": ["Rename tick() please"],
        "assistant": "I will look at the loop.\n\nRenamed to advance().",
        "tools": ["Read", "Edit", "NotebookEdit"],
        "files": ["/src/loop.py", "/nb.ipynb"],
        "commands": [],
        "runs": [],
        "started_at": "2026-03-05T12:00:00Z",
        "complete": True,
        "interrupted": False,
        "failed": False,
        "folders": {},
        "until": "2026-03-05T12:00:09.000Z",
    }
    assert (second["prompts"], second["assistant"], second["tools"]) == (["And the tests?"], "They pass.", [])


def test_lines_of_subagents_and_of_the_host_are_skipped() -> None:
    noise = [
        user("a subagent's task", isSidechain=True),
        says("a subagent's answer", isSidechain=True),
        user("a note of the host", isMeta=True),
        user("from a colleague", teamName="team", agentName="reviewer"),
        user("<local-command-stdout>12 files</local-command-stdout>"),
        user("<session-start-hook>hello</session-start-hook>"),
        user("<tick>9</tick>"),
        user("<goal>finish</goal>"),
        user("<ide_opened_file>loop.py is open</ide_opened_file>"),
        user("<system-reminder>be brief</system-reminder>"),
        user([{"type": "image", "source": {}}]),
        json.dumps({"type": "system", "subtype": "compact_boundary", "logicalParentUuid": "u0"}),
        json.dumps({"type": "file-history-snapshot"}),
    ]
    mixed = [part for pair in zip(SESSION, [*noise, *noise][: len(SESSION)], strict=True) for part in pair]
    assert turns([*noise, *mixed, *noise]) == turns(SESSION)


def test_broken_lines_and_unknown_shapes_are_skipped() -> None:
    strange = [
        "",
        "{",
        "null",
        "[]",
        '"text"',
        "\x00",
        "[" * 100_000,
        '{"type":"user"}',
        '{"type":"assistant","message":7}',
        '{"type":"user","message":[]}',
    ]
    strange += [
        user(None),
        user([None, 3, {"type": "text", "text": 5}]),
        line("assistant", {"a": 1}),
        line("assistant", [{"type": "tool_use", "name": 3, "input": []}]),
    ]
    assert names(turns([*strange, *SESSION, *strange])) == [
        "Rename tick() please",
        "And the tests?",
    ]
    assert turns(b"\xff\n" + line.encode() for line in SESSION) == []
    assert turns([text.encode() for text in SESSION]) == turns(SESSION)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=6,
)
ENTRY = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["user", "assistant", "system", "attachment"]),
        "message": st.fixed_dictionaries({"content": JSON | st.text()}) | JSON,
        "attachment": st.fixed_dictionaries({"type": st.just("queued_command"), "prompt": JSON}) | JSON,
    },
    optional={"uuid": JSON, "promptId": JSON, "timestamp": JSON, "isMeta": JSON, "isApiErrorMessage": JSON},
)


@given(st.lists(ENTRY.map(json.dumps) | st.text(), max_size=8))
def test_no_transcript_raises_an_error(lines: list[str]) -> None:
    found = turns(lines)
    assert missing(found, []) is not None
    assert len(ended_before(found, ["q", "r"], str)) == 2
    assert all(fields_of(turn, str).get("user", "").strip() for turn in found)


def test_a_line_written_twice_counts_once() -> None:
    assert turns([text for text in SESSION for _ in range(2)]) == turns(SESSION)
    bare = json.dumps({"type": "user", "message": {"content": "no uuid here"}})
    assert len(turns([bare, bare])) == 1


@pytest.mark.parametrize("at", [1_795_255_200, 1_795_255_200_000, 1_795_255_200.0])
def test_a_time_is_read_in_seconds_and_in_milliseconds(at: float) -> None:
    assert [turn["started_at"] for turn in turns([user("Go on.", timestamp=at)])] == ["2026-11-21T10:00:00Z"]


def test_a_prompt_sent_again_under_another_id_is_another_turn() -> None:
    lines = [user("Go on.", promptId="p1"), user("Go on.", promptId="p2"), says("It is done.")]
    assert [(turn["prompt_id"], turn["assistant"]) for turn in turns(lines)] == [
        ("p1", ""),
        ("p2", "It is done."),
    ]


def test_an_error_of_the_service_is_not_an_answer() -> None:
    (turn,) = turns([user("go on"), says("API Error: 529 overloaded", isApiErrorMessage=True)])
    assert (turn["assistant"], turn["complete"], turn["interrupted"], turn["failed"]) == (
        "",
        False,
        False,
        True,
    )
    again = turns([user("go on"), says("API Error: 529", isApiErrorMessage=True), says("Here it is.")])
    assert [(turn["assistant"], turn["complete"], turn["failed"]) for turn in again] == [
        ("Here it is.", True, False)
    ]
    synthetic = {"model": "<synthetic>", "content": [{"type": "text", "text": "No response requested."}]}
    assert turns([user("go on"), line("assistant", None, message=synthetic)])[0]["assistant"] == ""


def test_an_interrupted_turn_keeps_its_words_and_is_marked() -> None:
    (turn,) = turns(
        [
            user("go on"),
            says("First I"),
            uses("Bash", command="ls"),
            user("[Request interrupted by user for tool use]"),
        ]
    )
    assert (turn["assistant"], turn["complete"], turn["interrupted"]) == ("First I", False, True)
    (turn,) = turns([user("go on"), uses("Bash"), result("[Request interrupted by user for tool use]")])
    assert turn["interrupted"]


def test_a_turn_is_complete_when_the_assistant_spoke_last() -> None:
    assert [turns(SESSION[:end])[0]["complete"] for end in (2, 4, 5, 6, 11)] == [
        False,
        True,
        False,
        False,
        True,
    ]


def test_an_answered_slash_command_is_a_prompt() -> None:
    review = (
        "<command-message>review is "
        "running</command-message>\n<command-name>/review</command-name>\n<command-args>loop.py</command-args>"
    )
    clear = "<command-name>/clear</command-name><command-message>clear</command-message><command-args></command-args>"
    found = turns(
        [
            user(clear),
            user("<local-command-stdout></local-command-stdout>"),
            user(review),
            says("Looks fine."),
        ]
    )
    assert names(found) == ["/review loop.py"]
    quoted = "what does <command-name>/x</command-name> mean?"
    assert names(turns([user(quoted)])) == [quoted]


def test_a_command_that_gemini_submits_as_a_json_string_is_what_the_user_typed() -> None:
    text = json.dumps("<scrubjay-command>\nAnswer.\n</scrubjay-command>\n/scrubjay:recall the port")
    assert strip_injected(f"\n{text}") == "/scrubjay:recall the port"
    assert strip_injected(text[:-1]).startswith('"')


def test_reminders_and_our_own_injection_are_removed() -> None:
    text = (
        "<system-reminder>todo\nlist</system-reminder>Fix it<scrubjay-memory>\n- old "
        "fact\n</scrubjay-memory> now"
    )
    assert strip_injected(text) == "Fix it now"
    assert names(turns([user(text), says("<system-reminder>x</system-reminder>")])) == ["Fix it now"]
    assert strip_injected("the tag <scrubjay-memory> by itself") == "the tag <scrubjay-memory> by itself"
    blocks = [
        {"type": "text", "text": "<ide_selection>x = 1</ide_selection>"},
        {"type": "text", "text": "what is this?"},
    ]
    assert names(turns([user(blocks)])) == ["what is this?"]
    marks = "<ide_opened_file>a.py is open</ide_opened_file>what is this?<ide_selection>x = 1</ide_selection>"
    assert names(turns([user(marks)])) == ["what is this?"]


def prompts(*texts: str) -> list[dict]:
    return turns(
        [part for text in texts for part in (user(text, promptId=f"id-{text}"), says(f"Answer to {text}"))]
    )


def missing(found: list[dict], captured: list[tuple[str | None, str | None]]) -> list[dict]:
    """The turns that are not among the captured ones."""
    places = placed(found, [(prompt_id, user, None) for prompt_id, user in captured])
    return [turn for turn, place in zip(found, places, strict=True) if place is None]


def names(found: list[dict]) -> list[str]:
    return ["\n\n".join(turn["prompts"]) for turn in found]


def test_a_turn_counts_as_captured_by_its_id_or_its_text() -> None:
    found = prompts("one", "two", "three", "four")
    captured = [("id-one", "something else"), (None, "two"), (found[2]["uuid"], None)]
    assert names(missing(found, captured)) == ["four"]
    assert names(missing(found, [])) == ["one", "two", "three", "four"]


def test_queued_prompts_that_were_recorded_as_one_turn_are_not_missing() -> None:
    found = prompts("fix the bug\n\nit is in loop.py", "and the docs", "yes")
    assert missing(found, [("id-yes", "fix the bug\n\nit  is in\nloop.py\n\nand the docs\n\nyes")]) == []


def test_a_short_prompt_is_not_hidden_by_a_longer_one_that_contains_it() -> None:
    assert names(missing(prompts("yes", "yesterday it worked"), [(None, "yesterday it worked")])) == ["yes"]


@given(st.lists(st.sampled_from(["yes", "continue", "fix it", "fix it\n\nplease"]), max_size=8), st.data())
def test_recorded_and_missing_turns_are_all_the_turns(texts: list[str], data: st.DataObject) -> None:
    found = turns([part for text in texts for part in (user(text), says("ok"))])
    kept = [turn for turn in found if data.draw(st.booleans())]
    left = missing(found, [(turn["uuid"], turn["prompts"][0]) for turn in kept])
    assert len(left) + len(kept) == len(found)


def test_labels_fit_the_limits_of_a_record() -> None:
    many = [user("go"), *(uses(f"Tool{at}", path="x" * (at + 1)) for at in range(300)), says("done")]
    (turn,) = turns(many)
    assert len(turn["tools"]) == 200
    assert max(map(len, turn["files"])) == 200


INTERRUPTED = "[Request interrupted by user]"


def queued(prompt: object, **more: object) -> str:
    """A prompt added while the assistant works: no prompt line follows."""
    note = {"type": "queued_command", "prompt": prompt, "commandMode": "prompt", **more}
    return json.dumps({"type": "attachment", "uuid": f"q{next(_numbers)}", "attachment": note})


def test_only_the_hosts_own_words_interrupt_a_turn() -> None:
    read = result(f"12: if text.startswith('{INTERRUPTED}'):")
    quoted = user(f"{INTERRUPTED} - what does that mean?")
    found = turns(
        [user("read hooks.py"), uses("Read"), read, says("Done."), quoted, says("That you stopped.")]
    )
    assert [turn["interrupted"] for turn in found] == [False, False]
    blocks = [{"type": "text", "text": INTERRUPTED}, {"type": "text", "text": "do the other thing"}]
    found = turns([user("do one thing"), says("I begin."), user(blocks)])
    assert names(found) == ["do one thing", "do the other thing"]
    assert [turn["interrupted"] for turn in found] == [True, False]


def test_what_a_person_adds_while_the_assistant_works_belongs_to_the_turn() -> None:
    lines = [
        user("fix the bug", promptId="p1"),
        uses("Bash", command="pytest"),
        result(),
        queued("and the docs"),
        queued([{"type": "text", "text": "and say why"}, {"type": "image"}], origin={"kind": "human"}),
        queued("<task-notification>done</task-notification>", commandMode="task-notification"),
        queued("from another agent", origin={"kind": "peer"}),
        queued("a note", isMeta=True),
        says("Fixed both."),
    ]
    found = turns(lines)
    assert names(found) == ["fix the bug\n\nand the docs\n\nand say why"]
    assert missing(found, [(None, "fix the bug")]) == []
    assert missing(found, [(None, "fix the bug\n\nand the docs\n\nand say why")]) == []


def test_a_bash_mode_line_is_not_a_prompt_and_its_command_joins_the_next_turn() -> None:
    found = turns(
        [
            user("hello"),
            says("Hello."),
            user("<bash-input>git status</bash-input>"),
            user("<bash-stdout>clean</bash-stdout><bash-stderr></bash-stderr>"),
            user("and now commit"),
            uses("Bash", command="git add -A &&\\\n  git commit"),
            uses("Bash", command=7),
            says("Committed."),
        ]
    )
    assert [(turn["prompts"], turn["commands"]) for turn in found] == [
        (["hello"], []),
        (["and now commit"], ["git status", "git add -A &&\\"]),
    ]


def test_the_last_commands_are_kept_in_brief_and_without_secrets() -> None:
    ran = [uses("Bash", command=f"step {at}") for at in range(20)]
    ran += [uses("Bash", command="step 15"), uses("Bash", command=f"curl -H 'X: {'s' * 300}'")]
    (turn,) = turns([user("go"), *ran, says("done")])
    commands = fields_of(turn, lambda text: text.replace("s" * 300, "[redacted]"))["metadata"]["commands"]
    wanted = [*(f"step {at}" for at in (11, 12, 13, 14, 16, 17, 18, 19, 15)), "curl -H 'X: [redacted]'"]
    assert commands == wanted
    long = fields_of(turn, str)["metadata"]["commands"][-1]
    assert len(long) == MAX_COMMAND and long.endswith("s…")


def test_failed_commands_are_kept_with_their_error_and_what_made_them_pass() -> None:
    def ran(call: str, command: str, output: str, is_error: bool = False) -> list[dict]:
        use = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": command}}
        result = {"type": "tool_result", "tool_use_id": call, "content": output, "is_error": is_error}
        return [line("assistant", [use]), user([result])]

    lines = [
        user("test it"),
        *ran("a", "pytest -q", "Exit code 1\nE   ModuleNotFoundError: No module named 'x'", True),
    ]
    lines += [*ran("b", "pip install x", "ok"), *ran("c", "pytest -q", "2 passed")]
    lines += [
        *ran("d", "make", "The user doesn't want to proceed", True),
        *ran("e", "ls q", "Exit code 2\nno q", True),
    ]
    (turn,) = turns([*lines, says("Installed it.")])
    metadata = fields_of(turn, lambda text: text.replace("'x'", "[redacted]"))["metadata"]
    assert [each.split("\n") for each in metadata["failed"]] == [
        ["pytest -q", "exit 1: ModuleNotFoundError: No module named [redacted]", "pip install x"],
        ["ls q", "exit 2: no q"],
    ]


def test_how_a_turn_ended_is_recorded() -> None:
    lines = [user("one"), says("I", isMeta=False), user(INTERRUPTED), user("two")]
    lines += [says("API Error: 529", isApiErrorMessage=True), user("three"), says("ok")]
    assert [fields_of(turn, str).get("metadata") for turn in turns(lines)] == [
        {"interrupted": True},
        {"api_error": True},
        None,
    ]
    assert is_error("API Error: Request rejected (429)") and not is_error("The API Error: is this")


def test_a_prompt_that_the_transcript_lacks_has_not_ended() -> None:
    found = turns([user("one"), says("ok"), user("five"), says("All done.")])
    assert ended_before(found, ["not there", "five"], str) == [None, None]
    assert ended_before(found, ["one"], str) == [None]
    assert ended_before([], ["one", "two"], str) == [None, None]


@given(st.lists(st.sampled_from(["interrupted", "queued", "failed", "answered"]), max_size=6), st.data())
def test_a_waiting_prompt_is_a_turn_of_its_own_only_if_it_ended(ends: list[str], data: st.DataObject) -> None:
    texts = [data.draw(st.sampled_from(["continue", "fix it", "yes"])) for _ in ends]
    after = {
        "interrupted": lambda: user(INTERRUPTED),
        "queued": lambda: uses("Read"),
        "failed": lambda: says("API Error", isApiErrorMessage=True),
        "answered": lambda: says("ok"),
    }
    lines = [part for text, end in zip(texts, ends, strict=True) for part in (user(text), after[end]())]
    found = turns([*lines, user("the last"), says("done")])
    ended = ended_before(found, [*texts, "the last"], str)
    wanted = [None if end == "queued" else turn for turn, end in zip(found[:-1], ends, strict=True)]
    assert ended == [*wanted, None]


TAGS = ("<system-reminder>", "</system-reminder>", "<scrubjay-memory>", "</scrubjay-memory>")


@given(st.lists(st.sampled_from([*TAGS, "<", "a", "\n"]), max_size=12).map("".join))
def test_stripping_removes_only_pairs_of_tags(text: str) -> None:
    pattern = r"<(system-reminder|scrubjay-memory)>.*?</\1>"
    assert strip_injected(text) == re.sub(pattern, "", text, flags=re.DOTALL).strip()


TYPO = (user("Fix the typo.", promptId="p1"), says("Fixed."))


def pairs(*lines: str | bytes) -> list[tuple[str, str]]:
    return [("\n\n".join(turn["prompts"]), turn["assistant"]) for turn in turns(lines)]


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        (user([{"type": "image", "source": {}}]), "[image]"),
        (
            user("Rename the Z\u00fcrich entry.").replace("\\u00fc", "\u00fc").encode("latin-1"),
            "Rename the Z\ufffdrich entry.",
        ),
        (user([{"type": "image", "source": {"data": "A" * 90_000}}])[:65_536] + "\n", "[image]"),
        (
            user([{"type": "text", "text": "Why?"}, {"type": "image", "data": "A" * 90_000}])[:65_536] + "\n",
            "Why?",
        ),
    ],
    ids=[
        "a picture alone",
        "a byte that is not of UTF-8",
        "the beginning of a picture's line",
        "words and a picture",
    ],
)
def test_any_line_that_opens_a_turn_keeps_its_answer_to_itself(prompt: str | bytes, expected: str) -> None:
    assert pairs(*TYPO, prompt, says("Done.")) == [("Fix the typo.", "Fixed."), (expected, "Done.")]


@pytest.mark.parametrize(
    "answer",
    [
        result('User has answered your questions: "Which broker?"="Redis streams". You can now continue.'),
        user(
            [{"type": "tool_result", "content": "User has answered your questions."}],
            toolUseResult={"answers": {"Which broker?": ["Redis streams"]}},
        ),
        result('Your questions have been answered: "Which broker?"="Redis streams". You can now continue.'),
        user(
            [{"type": "tool_result", "content": "User has answered your questions."}],
            toolUseResult={
                "answers": {"Which broker?": "Redis"},
                "annotations": {"Which broker?": {"notes": "streams"}},
            },
        ),
    ],
)
def test_the_users_answers_to_a_question_of_the_assistant_are_their_words(answer: str) -> None:
    asked = (user("Set up the queue."), uses("AskUserQuestion"), answer, says("It is set up."))
    assert pairs(*asked) == [("Set up the queue.\n\nWhich broker? Redis streams", "It is set up.")]


def test_an_interruption_at_a_question_is_not_the_users_answer() -> None:
    stopped = result("[Request interrupted by user for tool use]")
    (turn,) = turns([user("Set up the queue."), uses("AskUserQuestion", question="Which one?"), stopped])
    assert turn["prompts"] == ["Set up the queue."] and turn["interrupted"]


def test_a_plan_that_is_shown_to_the_user_is_a_part_of_the_answer() -> None:
    lines = (
        user("Plan the move of the queue."),
        says("Here is the plan."),
        uses("ExitPlanMode", plan="1. Drain it.\n2. Move it."),
        result("User has approved your plan. You can now start coding."),
        says("It is moved."),
    )
    answer = "Here is the plan.\n\n1. Drain it.\n2. Move it.\n\nIt is moved."
    assert pairs(*lines) == [("Plan the move of the queue.", answer)]


@pytest.mark.parametrize(
    "notice",
    [
        user('<teammate-message teammate_id="reviewer">\nThree mistakes\n</teammate-message>'),
        user("The audit ended.", origin={"kind": "task-notification"}),
        user('<channel source="mail">\nDisk is full\n</channel>', origin={"kind": "channel"}),
        user('<cross-session-message from="api">\nMoved\n</cross-session-message>'),
        user('<agent-message from="a1">\n[Subagent hand-back] The report\n</agent-message>'),
        user('Another Claude session sent a message:\n<agent-message from="a1">\nDone\n</agent-message>'),
        user("<bash-notification>\n<shell-id>1</shell-id>\n</bash-notification>"),
        user("<github-webhook-activity>\nA review comment\n</github-webhook-activity>"),
        user("[SYSTEM NOTIFICATION - NOT USER INPUT]\nThis is an automated background-task event."),
    ],
)
def test_messages_of_others_are_not_prompts_and_their_answers_are_not_recorded(notice: str) -> None:
    assert pairs(*TYPO, notice, says("Noted.")) == [("Fix the typo.", "Fixed.")]


def test_a_notice_during_work_does_not_detach_the_answer_from_the_users_prompt() -> None:
    notice = user("<task-notification>done</task-notification>")
    assert pairs(user("Fix the typo."), uses("Bash", command="make"), notice, says("Fixed.")) == [
        ("Fix the typo.", "Fixed.")
    ]


DONE = "<task-notification>\n<status>completed</status>\n</task-notification>"
READ = f"{DONE}\nRead the output file to retrieve the result: /tmp/b1.output"


@pytest.mark.parametrize(
    "content",
    [
        f"{READ}\nRename it.",
        f"{DONE}\n{READ}\n\nRename it.",
        [{"type": "text", "text": READ}, {"type": "text", "text": "Rename it."}],
        "<user-prompt-submit-hook>On branch main</user-prompt-submit-hook>\nRename it.",
    ],
)
def test_the_users_words_after_a_notification_or_a_hooks_output_are_their_prompt(content: object) -> None:
    assert pairs(*TYPO, user(content), says("Renamed.")) == [
        ("Fix the typo.", "Fixed."),
        ("Rename it.", "Renamed."),
    ]
    assert pairs(*TYPO, user(READ), says("Noted.")) == [("Fix the typo.", "Fixed.")]


def test_a_team_lead_is_the_user_and_an_unmarked_summary_is_not() -> None:
    lead = (user("Fix the typo.", teamName="birds"), says("Fixed.", teamName="birds"))
    summary = user("This session is being continued from a previous conversation that ran out of context.")
    assert pairs(*lead, summary) == [("Fix the typo.", "Fixed.")]


def test_an_answer_to_an_unreadable_line_does_not_answer_an_earlier_prompt() -> None:
    lost = '{"type": "user", "uuid": "lost", "message": {"content": "Whi'
    first = [user("Fix the typo.", uuid="u1"), says("Fixed.", uuid="a1", parentUuid="u1")]
    assert pairs(*first, lost, says("By tree.", parentUuid="lost")) == [("Fix the typo.", "Fixed.")]
    assert pairs(*first, says("Done.", parentUuid="a1")) == [("Fix the typo.", "Fixed.\n\nDone.")]
