"""Exports of conversations become turns, a prompt and everything answered to it, in any format."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.http_api.hebb.chat_exports import FORMATS, Exchange, detect, read


def line(role: str, content: Any, **fields: Any) -> str:
    return json.dumps({"type": role, "message": {"role": role, "content": content}, **fields})


def node(id: str, parent: str | None, role: str, *parts: Any, at: float | None = None) -> dict[str, Any]:
    message = {
        "id": f"m-{id}",
        "author": {"role": role},
        "content": {"parts": list(parts)},
        "create_time": at,
    }
    return {"id": id, "parent": parent, "message": message}


EDIT = {"type": "tool_use", "name": "Edit", "input": {"file_path": "/a.py"}}
CLAUDE = "\n".join(
    [
        line(
            "user",
            "Rename tick() to advance().",
            uuid="u1",
            sessionId="s1",
            promptId="p1",
            timestamp="2026-03-01T09:00:00Z",
        ),
        line(
            "assistant",
            [
                {"type": "text", "text": "Renamed."},
                {"type": "tool_use", "name": "Edit", "input": {"file_path": "/a.py"}},
                {"type": "tool_use", "name": "Bash", "input": {"command": "pytest -q"}},
            ],
            uuid="u2",
        ),
        "no JSON",
    ]
)
CHATGPT = json.dumps(
    [
        {
            "id": "c1",
            "current_node": "d",
            "mapping": {
                "root": {"id": "root", "parent": None, "message": None},
                "a": node("a", "root", "user", "What is a jay?", at=1_772_355_600),
                "b": node("b", "a", "assistant", "A fruit."),
                "c": node("c", "a", "assistant", "A bird.", {"image": 1}),
                "d": node("d", "c", "assistant", "It hides food."),
            },
        },
        {
            "id": "c2",
            "mapping": {
                "a": node("a", None, "user", "Later", at=9.0),
                "b": node("b", None, "user", "Earlier", at=5.0),
            },
        },
    ]
)


def test_lines_of_claude_code_are_turns_with_tools_and_files():
    export = read(CLAUDE)
    assert export.format == "claude_code" and "1 lines are no JSON" in export.warnings[0]
    (turn,) = export.turns
    assert (turn.session_id, turn.prompt_id, turn.user, turn.assistant) == (
        "s1",
        "p1",
        "Rename tick() to advance().",
        "Renamed.",
    )
    assert (turn.tools, turn.files, turn.started_at) == (
        ("Edit", "Bash"),
        ("/a.py",),
        datetime(2026, 3, 1, 9, tzinfo=UTC),
    )
    assert turn.metadata == {"commands": ["pytest -q"]}


def test_lines_that_only_say_who_said_what_are_turns_too():
    said = [
        ("human", "Hi"),
        ("assistant", "Hello."),
        ("tool_result", "0"),
        ("user", "And?"),
        ("ai", "Nothing."),
    ]
    export = read(
        "\n".join(json.dumps({"type": role, "content": text, "session_id": "s"}) for role, text in said)
    )
    assert [(turn.turn, turn.user, turn.assistant) for turn in export.turns] == [
        (0, "Hi", "Hello."),
        (1, "And?", "Nothing."),
    ]


def test_only_the_final_branch_of_an_edited_conversation_counts():
    export = read(CHATGPT)
    assert export.format == "chatgpt"
    first, second = export.turns
    assert (first.session_id, first.user, first.assistant) == (
        "c1",
        "What is a jay?",
        "A bird.\n\nIt hides food.",
    )
    assert (first.prompt_id, first.started_at) == ("m-a", datetime.fromtimestamp(1_772_355_600, UTC))
    assert (second.session_id, second.user) == ("c2", "Earlier\n\nLater")


@pytest.mark.parametrize(
    ("text", "turns"),
    [
        (
            "User: Hi\nAssistant: Hello.\nHow are you?\nUSER: Fine",
            [("Hi", "Hello.\nHow are you?"), ("Fine", None)],
        ),
        ("Human: a\nuser: b\nAI: c\nassistant: d", [("a\n\nb", "c\n\nd")]),
        ("System: be kind\nUser: Hi", [("Hi", None)]),
        ("Assistant: Welcome.\nUser: Hi", [(None, "Welcome."), ("Hi", None)]),
        ("> one\n> two\n\nthe answer\n> three", [("one\ntwo", "the answer"), ("three", None)]),
        ("User: see\nAssistant: it says\n> User: no\nwell", [("see", "it says\n> User: no\nwell")]),
        ("just a note", [("just a note", None)]),
        ("", []),
    ],
)
def test_plain_text_is_split_by_its_speakers(text: str, turns: list[tuple[str | None, str | None]]):
    export = read(text)
    assert export.format == "plain" and [(turn.user, turn.assistant) for turn in export.turns] == turns
    assert bool(export.warnings) == (text == "just a note")


def test_a_format_is_recognised_by_its_content():
    assert [detect(text) for text in (CLAUDE, CHATGPT, "User: Hi", '{"a": 1}', "[1]", "{")] == [
        "claude_code",
        "chatgpt",
        *["plain"] * 4,
    ]


KEYS = st.sampled_from(
    [
        "mapping",
        "message",
        "author",
        "role",
        "content",
        "parts",
        "parent",
        "current_node",
        "type",
        "create_time",
        "uuid",
        "timestamp",
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda some: st.lists(some) | st.dictionaries(KEYS, some),
    max_leaves=12,
)


@given(
    text=st.text() | JSON.map(json.dumps) | st.lists(JSON.map(json.dumps)).map("\n".join),
    format=st.sampled_from([None, *FORMATS]),
)
def test_no_input_fails_and_every_turn_has_text(text: str, format: Any):
    export = read(text, format)
    assert all(isinstance(turn, Exchange) and (turn.user or turn.assistant) for turn in export.turns)
    numbers: dict[str | None, list[int]] = {}
    for turn in export.turns:
        numbers.setdefault(turn.session_id, []).append(turn.turn)
    assert all(found == list(range(len(found))) for found in numbers.values())
