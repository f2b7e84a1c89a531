"""Transcripts: turns out of a format that may change, and what the hooks missed of them."""

from __future__ import annotations

import json
from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from scrubjay.text.transcripts import completion, missing, strip_injected, turns

_numbers = count()


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
        "user": "Rename tick() please",
        "assistant": "I will look at the loop.\n\nRenamed to advance().",
        "tools": ["Read", "Edit", "NotebookEdit"],
        "files": ["/src/loop.py", "/nb.ipynb"],
        "started_at": "2026-03-05T12:00:00Z",
        "complete": True,
        "interrupted": False,
    }
    assert (second["user"], second["assistant"], second["tools"]) == ("And the tests?", "They pass.", [])


def test_what_is_not_between_the_user_and_the_main_assistant_is_passed_over() -> None:
    noise = [
        user("a subagent's task", isSidechain=True),
        says("a subagent's answer", isSidechain=True),
        user("a note of the host", isMeta=True),
        user("This session is being continued from ...", isCompactSummary=True),
        user("from a colleague", teamName="team"),
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


def test_broken_lines_and_unknown_shapes_are_passed_over() -> None:
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
    assert [turn["user"] for turn in turns([*strange, *SESSION, *strange])] == [
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
        "type": st.sampled_from(["user", "assistant", "system"]),
        "message": st.fixed_dictionaries({"content": JSON | st.text()}) | JSON,
    },
    optional={"uuid": JSON, "promptId": JSON, "timestamp": JSON, "isMeta": JSON, "isApiErrorMessage": JSON},
)


@given(st.lists(ENTRY.map(json.dumps) | st.text(), max_size=8))
def test_no_transcript_is_an_error(lines: list[str]) -> None:
    found = turns(lines)
    assert missing(found, []) is not None
    assert completion(found, "p", "q", "r") is None or found


def test_a_line_that_was_written_twice_counts_once() -> None:
    assert turns([text for text in SESSION for _ in range(2)]) == turns(SESSION)
    bare = json.dumps({"type": "user", "message": {"content": "no uuid here"}})
    assert len(turns([bare, bare])) == 1


def test_an_error_of_the_service_is_no_answer() -> None:
    (turn,) = turns([user("go on"), says("API Error: 529 overloaded", isApiErrorMessage=True)])
    assert (turn["assistant"], turn["complete"], turn["interrupted"]) == ("", False, False)


def test_an_interrupted_turn_keeps_what_was_said_and_says_so() -> None:
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


def test_a_turn_is_complete_when_the_assistant_had_the_last_word() -> None:
    assert [turns(SESSION[:end])[0]["complete"] for end in (2, 4, 5, 6, 11)] == [
        False,
        True,
        False,
        False,
        True,
    ]


def test_a_slash_command_is_what_the_user_typed_and_counts_when_it_was_answered() -> None:
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
    assert [turn["user"] for turn in found] == ["/review loop.py"]


def test_reminders_and_our_own_recalled_block_are_not_what_anybody_said() -> None:
    text = (
        "<system-reminder>todo\nlist</system-reminder>Fix it<scrubjay-memory>\n- old "
        "fact\n</scrubjay-memory> now"
    )
    assert strip_injected(text) == "Fix it now"
    assert turns([user(text), says("<system-reminder>x</system-reminder>")])[0]["user"] == "Fix it now"
    assert strip_injected("the tag <scrubjay-memory> by itself") == "the tag <scrubjay-memory> by itself"
    blocks = [
        {"type": "text", "text": "<ide_selection>x = 1</ide_selection>"},
        {"type": "text", "text": "what is this?"},
    ]
    assert turns([user(blocks)])[0]["user"] == "what is this?"


def prompts(*texts: str) -> list[dict]:
    return turns(
        [part for text in texts for part in (user(text, promptId=f"id-{text}"), says(f"Answer to {text}"))]
    )


def names(found: list[dict]) -> list[str]:
    return [turn["user"] for turn in found]


def test_a_turn_is_captured_when_its_id_or_its_text_is() -> None:
    found = prompts("one", "two", "three", "four")
    captured = [("id-one", "something else"), (None, "two"), (found[2]["uuid"], None)]
    assert names(missing(found, captured)) == ["four"]
    assert names(missing(found, [])) == ["one", "two", "three", "four"]


def test_queued_prompts_that_were_recorded_as_one_turn_are_not_missing() -> None:
    found = prompts("fix the bug\n\nit is in loop.py", "and the docs", "yes")
    assert missing(found, [("id-yes", "fix the bug\n\nit  is in\nloop.py\n\nand the docs\n\nyes")]) == []


def test_a_short_prompt_is_not_hidden_by_a_longer_one_that_contains_it() -> None:
    assert names(missing(prompts("yes", "yesterday it worked"), [(None, "yesterday it worked")])) == ["yes"]


def test_each_recorded_prompt_accounts_for_one_turn_only() -> None:
    found = turns([part for at in range(3) for part in (user("continue"), says(f"Step {at}"))])
    assert len(missing(found, [(None, "continue"), (None, "continue")])) == 1


def test_a_last_turn_that_may_still_be_answered_is_not_missing_yet() -> None:
    running = [user("go on"), says("First"), uses("Bash")]
    assert missing(turns(running), []) == []
    assert names(missing(turns([*running, user("[Request interrupted by user]")]), [])) == ["go on"]
    assert names(missing(turns([*running, user("next"), says("ok")]), [])) == ["go on", "next"]


@given(st.lists(st.sampled_from(["yes", "continue", "fix it", "fix it\n\nplease"]), max_size=8), st.data())
def test_recorded_and_missing_turns_are_all_the_turns(texts: list[str], data: st.DataObject) -> None:
    found = turns([part for text in texts for part in (user(text), says("ok"))])
    kept = [turn for turn in found if data.draw(st.booleans())]
    left = missing(found, [(turn["uuid"], turn["user"]) for turn in kept])
    assert len(left) + len(kept) == len(found)


def test_a_recorded_turn_is_completed_once_the_transcript_has_its_last_words() -> None:
    assert completion(turns(SESSION[:10]), "p1", "Rename tick() please", "Renamed to advance().") is None
    assert completion(turns(SESSION), "p1", "Rename tick() please", "Renamed  to\nadvance().") == {
        "assistant": "I will look at the loop.\n\nRenamed to advance().",
        "tools": ["Read", "Edit", "NotebookEdit"],
        "files": ["/src/loop.py", "/nb.ipynb"],
    }


def test_a_turn_without_an_id_is_completed_by_its_text() -> None:
    found = completion(turns(SESSION), None, "Rename tick() please", "Renamed to advance().")
    assert found and found["tools"] == ["Read", "Edit", "NotebookEdit"]
    assert completion(turns(SESSION), None, "Another prompt", "Renamed to advance().") is None
    assert completion(turns(SESSION), "p1", None, None) is None


def test_queued_prompts_are_completed_together() -> None:
    found = completion(turns(SESSION), "p2", "Rename tick() please\n\nAnd the tests?", "They pass.")
    assert found == {
        "assistant": "I will look at the loop.\n\nRenamed to advance().\n\nThey pass.",
        "tools": ["Read", "Edit", "NotebookEdit"],
        "files": ["/src/loop.py", "/nb.ipynb"],
    }


def test_labels_stay_within_what_a_record_holds() -> None:
    many = [user("go"), *(uses(f"Tool{at}", path="x" * (at + 1)) for at in range(300)), says("done")]
    (turn,) = turns(many)
    assert len(turn["tools"]) == 200
    assert max(map(len, turn["files"])) == 200
