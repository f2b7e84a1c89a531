"""Exports of conversations become turns, a prompt and everything answered to it, in any format."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.http_api.hebb.chat_exports import FORMATS, Export, detect, read


def line(role: str, content: Any, **fields: Any) -> str:
    return json.dumps({"type": role, "message": {"role": role, "content": content}, **fields})


def node(id: str, parent: str | None, role: str, *parts: Any, at: float | None = None) -> dict[str, Any]:
    content = {"parts": list(parts)}
    message = {"id": f"m-{id}", "author": {"role": role}, "content": content, "create_time": at}
    return {"id": id, "parent": parent, "message": message}


PROMPT = {"uuid": "u1", "sessionId": "s1", "promptId": "p1", "timestamp": "2026-03-01T09:00:00Z"}
EDIT = {"type": "tool_use", "name": "Edit", "input": {"file_path": "/a.py"}}
BASH = {"type": "tool_use", "name": "Bash", "input": {"command": "pytest -q"}}
CLAUDE = "\n".join(
    [
        line("user", "Rename tick() to advance().", **PROMPT),
        line("assistant", [{"type": "text", "text": "Renamed."}, EDIT, BASH], uuid="u2"),
        "no JSON",
    ]
)
MAPPING = {
    "root": {"id": "root", "parent": None, "message": None},
    "a": node("a", "root", "user", "What is a jay?", at=1_772_355_600),
    "b": node("b", "a", "assistant", "A fruit."),
    "c": node("c", "a", "assistant", "A bird.", {"image": 1}),
    "d": node("d", "c", "assistant", "It hides food."),
}
OTHER = {"id": "c2", "mapping": {"a": node("a", None, "user", "And a wren?", at=9.0)}}
CHATGPT = json.dumps([{"id": "c1", "current_node": "d", "mapping": MAPPING}, OTHER])


def told(export: Export) -> list[tuple[str, str]]:
    return [("\n\n".join(turn["prompts"]), turn["assistant"]) for turn in export.turns]


def test_lines_of_claude_code_are_turns_with_tools_and_files():
    export = read(CLAUDE)
    assert export.format == "claude_code" and "1 lines are no JSON" in export.warnings[0]
    assert told(export) == [("Rename tick() to advance().", "Renamed.")]
    (turn,) = export.turns
    assert (turn["session_id"], turn["prompt_id"], turn["started_at"]) == ("s1", "p1", "2026-03-01T09:00:00Z")
    assert (turn["tools"], turn["files"], turn["commands"]) == (["Edit", "Bash"], ["/a.py"], ["pytest -q"])


def test_lines_that_only_say_who_said_what_are_turns_too():
    said = {"human": "Hi", "assistant": "Hello.", "tool_result": "0", "user": "And?", "ai": "Nothing."}
    lines = [json.dumps({"type": role, "content": text, "session_id": "s"}) for role, text in said.items()]
    export = read("\n".join(lines))
    assert told(export) == [("Hi", "Hello."), ("And?", "Nothing.")]
    assert {turn["session_id"] for turn in export.turns} == {"s"}


def test_only_the_final_branch_of_an_edited_conversation_counts():
    export = read(CHATGPT)
    assert export.format == "chatgpt"
    assert told(export) == [("What is a jay?", "A bird.\n\nIt hides food."), ("And a wren?", "")]
    first, second = export.turns
    assert (first["session_id"], first["prompt_id"], second["session_id"]) == ("c1", "m-a", "c2")
    assert first["started_at"] == datetime.fromtimestamp(1_772_355_600, UTC).isoformat()


@pytest.mark.parametrize(
    ("text", "turns"),
    [
        ("User: Hi\nAssistant: Hello.\nYou?\nUSER: Fine", [("Hi", "Hello.\nYou?"), ("Fine", "")]),
        ("Human: a\nuser: b\nAI: c\nassistant: d", [("a", ""), ("b", "c\n\nd")]),
        ("System: be kind\nUser: Hi", [("Hi", "")]),
        ("Assistant: Welcome.\nUser: Hi", [("Hi", "")]),
        ("User: see\nAssistant: it says\n> User: no\nwell", [("see", "it says\n> User: no\nwell")]),
        ("just a note", [("just a note", "")]),
        ("", []),
    ],
)
def test_plain_text_is_split_by_its_speakers(text: str, turns: list[tuple[str, str]]):
    export = read(text)
    assert export.format == "plain" and told(export) == turns
    assert bool(export.warnings) == (text == "just a note")


def test_a_format_is_recognised_by_its_content():
    assert [detect(text) for text in (CLAUDE, CHATGPT, "User: Hi", '{"a": 1}', "[1]", "{")] == [
        "claude_code",
        "chatgpt",
        *["plain"] * 4,
    ]


KEYS = st.sampled_from(
    "mapping message author role content parts parent current_node type create_time uuid timestamp".split()
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
    assert all(user or answer for user, answer in told(export))
