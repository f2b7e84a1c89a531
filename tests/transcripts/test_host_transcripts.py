"""Speakers and texts in the transcripts of every host; the lines are made up, in the shapes of the versions
named next to them.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from scrubjay.hosts.facts import HOSTS
from scrubjay.transcripts.formats import turns
from scrubjay.transcripts.matching import placed
from scrubjay.transcripts.turn import has_ended

AT = "2026-11-22T18:08:51.660Z"


def codex_item(turn: str, kind: str, text: str) -> dict[str, Any]:
    item = {"type": kind, "id": f"i-{turn}", "content": [{"type": "text", "text": text}]}
    return {
        "timestamp": AT,
        "type": "event_msg",
        "payload": {"type": "item_completed", "turn_id": turn, "item": item},
    }


def codex_response(role: str, text: str, turn: str, *kinds: str) -> dict[str, Any]:
    about = {"turn_id": turn, "content_item_kinds": list(kinds)}
    body = {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}
    body |= {"internal_chat_message_metadata_passthrough": about} if kinds else {}
    return {"timestamp": AT, "type": "response_item", "payload": body}


def codex(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": AT, "type": kind, "payload": payload}


def call(command: list[str]) -> dict[str, Any]:
    return codex(
        "response_item", type="function_call", name="exec", arguments=json.dumps({"command": command})
    )


def copilot(kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data, "id": f"e-{kind}", "timestamp": AT}


def gemini(kind: str, number: int, content: Any, **more: Any) -> dict[str, Any]:
    return {"id": f"m{number}", "timestamp": AT, "type": kind, "content": content, **more}


def qwen(kind: str, provenance: str | None, *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    about = {"provenance": provenance} if provenance else {}
    return (
        {"type": kind, "sessionId": "s", "uuid": "u1", "timestamp": AT, "message": {"parts": list(parts)}}
        | about
        | more
    )


def antigravity(step: int, source: str, kind: str, content: str, **more: Any) -> dict[str, Any]:
    return {"step_index": step, "source": source, "type": kind, "created_at": AT, "content": content, **more}


def said(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}]


# host and version -> its lines, and (prompts, answer, tools, commands, prompt_id, session_id) of each turn
FILES: dict[str, tuple[list[dict[str, Any]], list[tuple]]] = {
    "codex 0.169": (
        [
            codex("session_meta", id="s", cwd="/w/api", source="cli"),
            codex("event_msg", type="task_started", turn_id="t1"),
            codex_response("developer", "<scrubjay-memory>\nold\n</scrubjay-memory>", "t1", "hooks.additional_context"),
            codex_response("user", "<environment_context>\n<cwd>/w</cwd>\n</environment_context>", "t1", "environment"),
            codex_response("user", "Which port?", "t1", "user.text"),
            codex_item("t1", "UserMessage", "Which port?"),
            codex_item("t1", "AgentMessage", "I look."),
            call(["bash", "-lc", "ss -ltn"]),
            codex_item("t1", "UserMessage", "of staging"),
            codex_item("t1", "AgentMessage", "5433."),
            codex_response("assistant", "5433.", "t1", "unknown"),
            codex("event_msg", type="task_complete", turn_id="t1", last_agent_message="5433."),
            codex_item("t2", "UserMessage", "Thanks, stop"),
            codex("event_msg", type="turn_aborted", turn_id="t2"),
        ],
        [
            (["Which port?", "of staging"], "I look.\n\n5433.", ["exec"], ["ss -ltn"], "t1", "s"),
            (["Thanks, stop"], "", [], [], "t2", "s"),
        ],
    ),
    "codex 0.147": (
        [
            codex("session_meta", id="s", cwd="/w/api", source="cli"),
            codex_response("user", "<environment_context>x</environment_context>", ""),
            codex_response("user", "# AGENTS.md instructions for /w\n\nBe kind.", ""),
            codex_response("user", "Which port?", ""),
            codex("event_msg", type="user_message", message="Which port?"),
            codex("event_msg", type="agent_message", message="5433."),
            codex_response("assistant", "5433.", ""),
            codex("event_msg", type="user_message", message="Which port?"),
        ],
        [
            (["Which port?"], "5433.", [], [], None, "s"),
            (["Which port?"], "", [], [], None, "s"),
        ],
    ),
    "codex subagent": (
        [
            codex("session_meta", id="s", source={"subagent": {"thread_spawn": {"parent_thread_id": "p"}}}),
            codex("event_msg", type="user_message", message="Look into it"),
        ],
        [],
    ),
    "copilot-cli 1.0.102": (
        [
            copilot("session.start", sessionId="s"),
            copilot("hook.start", input={"prompt": "Which port?"}),
            copilot("user.message", content="Which port?", transformedContent="<x>Which port?", messageId="m1"),
            copilot("assistant.message", content="", toolRequests=[{"name": "bash", "arguments": '{"command": "ss"}'}]),
            copilot("tool.execution_start", toolName="view", arguments={"path": "app.py"}),
            copilot("assistant.message", content="of a helper", parentToolCallId="c1"),
            copilot("assistant.message", content="5433.", toolRequests=[]),
            copilot("user.message", content="And the other?"),
            copilot("abort", reason="user"),
        ],
        [
            (["Which port?"], "5433.", ["bash", "view"], ["ss"], None, "s"),
            (["And the other?"], "", [], [], None, "s"),
        ],
    ),
    "vscode": (  # the same events
        [
            copilot("session.start", sessionId="s", producer="copilot-agent"),
            copilot("user.message", content="Which port?", attachments=[]),
            copilot("assistant.message", content="5433.", reasoningText="hm", toolRequests=[]),
        ],
        [(["Which port?"], "5433.", [], [], None, "s")],
    ),
    "gemini-cli 0.61": (
        [
            {"sessionId": "s", "projectHash": "ab", "startTime": AT, "kind": "main"},
            {"$set": {"messages": [gemini("user", 0, [{"text": "<session_context>\nx\n</session_context>"}])]}},
            gemini(
                "user",
                1,
                [{"text": "<hook_context>a</hook_context>\n\nWhich port?"}, {"text": "<hook_context>b</hook_context>"}],
                displayContent=[{"text": "<hook_context>a</hook_context>\n\nWhich port?"}],
            ),
            gemini("gemini", 2, "", toolCalls=[]),
            gemini("gemini", 2, "", toolCalls=[{"name": "run", "args": {"command": "ss"}}]),
            gemini("user", 3, [{"functionResponse": {"response": {"output": "5433"}}}]),
            gemini("gemini", 4, "5433."),
            gemini("user", 5, "No, forget it"),
            gemini("gemini", 6, "Forgotten."),
            {"$rewindTo": "m5"},
            gemini("info", 7, "rewound"),
            gemini("user", 8, "Thanks"),
        ],
        [(["Which port?"], "5433.", ["run"], ["ss"], None, "s"), (["Thanks"], "", [], [], None, "s")],
    ),
    "gemini-cli subagent": ([{"sessionId": "s", "kind": "subagent"}, gemini("user", 1, "Look")], []),
    "qwen-code 0.24": (
        [
            qwen(
                "user",
                "real_user",
                {"text": "Which port?"},
                {"text": "<qwen:user-prompt-submit-context>\nx\n</qwen:user-prompt-submit-context>"},
            ),
            qwen("system", "system", systemPayload={}),
            qwen("assistant", "assistant_output", {"functionCall": {"name": "run", "args": {"command": "ss"}}}),
            qwen("tool_result", "tool_result", {"functionResponse": {"response": "5433"}}),
            qwen("user", "hook", {"text": "Stop hook says: go on"}),
            qwen("assistant", "assistant_output", {"text": "hm", "thought": True}, {"text": "5433."}),
        ],
        [(["Which port?"], "5433.", ["run"], ["ss"], None, "s")],
    ),
    "antigravity": (
        [
            antigravity(0, "USER_EXPLICIT", "USER_INPUT", "<USER_REQUEST>\nWhich port?\n</USER_REQUEST>\n<X>y</X>"),
            antigravity(1, "SYSTEM", "NOTE", "x"),
            antigravity(2, "MODEL", "PLANNER_RESPONSE", "", tool_calls=[{"name": "run", "args": {"CommandLine": "ss"}}]),
            antigravity(3, "MODEL", "PLANNER_RESPONSE", "5433.", thinking="hm"),
        ],
        [(["Which port?"], "5433.", ["run"], ["ss"], None, None)],
    ),
    "kiro": (
        [
            {"id": "1", "timestamp": AT, "payload": {"type": "user", "content": "Which port?"}},
            {"payload": {"type": "user", "content": "x", "_meta": {"kiro": {"syntheticUserMessageReason": "steer"}}}},
            {"payload": {"type": "tool_call", "toolName": "run", "args": {"command": "ss"}}},
            {"payload": {"type": "assistant", "operationType": "Reasoning", "content": "hm"}},
            {"type": "assistant", "content": "5433."},
        ],
        [(["Which port?"], "5433.", ["run"], ["ss"], None, None)],
    ),
    "kiro cli": (
        [
            {"kind": "Prompt", "data": {"message_id": "1", "content": [{"kind": "text", "data": "Which port?"}], "meta": {"timestamp": 1784278800}}},
            {"kind": "AssistantMessage", "data": {"message_id": "2", "content": [{"kind": "text", "data": "5433."}]}},
        ],
        [(["Which port?"], "5433.", [], [], None, None)],
    ),
    "cursor cli": (
        [
            {"role": "user", "message": {"content": said("<timestamp>Sunday, Jul 26, 2026, 1:06 PM (UTC+3)</timestamp>\n<user_query>\nWhich port?\n</user_query>")}},
            {"role": "assistant", "message": {"content": said("5433.")}},
        ],
        [(["Which port?"], "5433.", [], [], None, None)],
    ),
    "cursor": (
        [
            {"role": "user", "message": {"content": said("<user_query>\nWhich port?\n</user_query>")}},
            {"role": "assistant", "message": {"content": [*said("5433."), {"type": "tool_use", "name": "run", "input": {}}]}},
            {"role": "assistant", "message": {"content": said("Yes, 5433.")}},
            {"type": "turn_ended", "status": "success"},
            {"role": "user", "message": {"content": said("<user_query>\nWhich port?\n</user_query>")}},
        ],
        [
            (["Which port?"], "5433.\n\nYes, 5433.", ["run"], [], None, None),
            (["Which port?"], "", [], [], None, None),
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_transcript_becomes_turns(name: str) -> None:
    lines, expected = FILES[name]
    found = turns([json.dumps(line) for line in lines], name.split()[0])
    fields = ("prompts", "assistant", "tools", "commands", "prompt_id", "session_id")
    assert [tuple(turn[field] for field in fields) for turn in found] == expected
    assert [has_ended(turn) for turn in found] == [
        bool(turn["assistant"] or turn["interrupted"]) for turn in found
    ]


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_being_written_gives_its_complete_turns(name: str) -> None:
    whole = "\n".join(json.dumps(line) for line in FILES[name][0]).encode()
    for at in range(0, len(whole), 61):
        lines = (whole[:at] + b"\n\xff\n[1]\nnull\n").splitlines(keepends=True)
        for turn in turns(lines, name.split()[0]):
            assert turn["prompts"] and all(turn["prompts"]) and isinstance(turn["assistant"], str)


STRANGE = [
    None,
    7,
    True,
    "x",
    [],
    [7],
    {},
    [{}],
    [None],
    {"a": 7},
    "\ud800",
    {"content": [{"text": 7}]},
    1e300,
]


@pytest.mark.parametrize("name", FILES)
def test_values_of_another_type_are_skipped(name: str) -> None:
    lines = FILES[name][0]
    for line in lines:
        for path in _paths(line):
            for value in STRANGE:
                other = [json.dumps(_with(each, path, value) if each is line else each) for each in lines]
                for turn in turns(other, name.split()[0]):
                    placed([turn], [(turn["prompt_id"], "\n\n".join(turn["prompts"]), None)])


def test_a_file_of_an_unknown_host_has_no_turns() -> None:
    line = json.dumps({"type": "user", "message": {"content": "Which port?"}})
    assert turns([line], "nobody") == []
    assert len(turns([line], "claude-code")) == len(turns([line], None)) == 1
    described = {name for name, facts in HOSTS.items() if "transcript" in facts}
    assert described == {name.split()[0] for name in FILES} | {"claude-code"}


@pytest.mark.parametrize(
    "text",
    ["<hook_context>", "a </hook_context>", "</system_reminder>", "<b>Which</b>", "<user_query>x", "x > y"],
)
def test_unpaired_tags_are_the_users_words(text: str) -> None:
    (turn,) = turns([json.dumps({"role": "user", "content": text})], "cursor")
    assert turn["prompts"] == [text]


@pytest.mark.parametrize(
    "context",
    [
        "<open_and_recently_viewed_files>\na.py\n</open_and_recently_viewed_files>",
        "<attached_files>\n<code_selection>\npay()\n</code_selection>\n</attached_files>\n<git_status>x</git_status>",
    ],
)
@pytest.mark.parametrize("is_one_block", [True, False])
def test_what_cursor_puts_before_the_users_words_is_not_theirs(context: str, is_one_block: bool) -> None:
    texts = [context, "<user_query>\nWhy is it slow?\n</user_query>"]
    texts = ["\n".join(texts)] if is_one_block else texts
    line = {"role": "user", "message": {"content": [{"type": "text", "text": text} for text in texts]}}
    machine = {"role": "user", "content": "<user_info>\nOS: linux\n</user_info>\n<rules>x</rules>"}
    (turn,) = turns([json.dumps(machine), json.dumps(line)], "cursor")
    assert turn["prompts"] == ["Why is it slow?"]


@pytest.mark.parametrize(("seconds", "place"), [(-3600.0, None), (-5.0, 0), (0.0, 0), (3600.0, 0), (None, 0)])
def test_the_same_words_said_much_earlier_are_another_turn(seconds: float | None, place: int | None) -> None:
    lines, _ = FILES["vscode"]
    (turn, *_) = turns([json.dumps(line) for line in lines], "vscode")
    asked = 1_792_000_000.0
    at = None if seconds is None else asked + seconds  # hosts write the line a little before or after a hook
    assert placed([{**turn, "at": at}], [("p-1", "Which port?", asked)]) == [place]


def _paths(value: Any) -> list[tuple]:
    if not isinstance(value, (dict, list)):
        return [()]
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    return [(), *((key, *path) for key, each in inner for path in _paths(each))]


def _with(value: Any, path: tuple, new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _with(value[path[0]], path[1:], new)
    return copy


def pairs(host: str, *entries: dict[str, Any]) -> list[tuple[str, str]]:
    return _pairs(host, *map(json.dumps, entries))


def _pairs(host: str, *lines: str | bytes) -> list[tuple[str, str]]:
    return [("\n\n".join(turn["prompts"]), turn["assistant"]) for turn in turns(lines, host)]


PRICES = [("Cache the price list.", "It is cached.")]


@pytest.mark.parametrize(
    "notice",
    [
        "<turn_aborted>\nThe user interrupted the previous turn on purpose.\n</turn_aborted>",
        "<skill>\n<name>release</name>\n</skill>",
        "<subagent_notification>\n{}\n</subagent_notification>",
        '<codex_internal_context source="goal">\nKeep working.\n</codex_internal_context>',
        "Another language model started to solve this problem and produced a summary.",
    ],
)
@pytest.mark.parametrize("has_messages", [True, False])
def test_messages_codex_sends_as_the_user_are_not_prompts(notice: str, has_messages: bool) -> None:
    said = [codex("event_msg", type="user_message", message="Cache the price list.")] * has_messages
    answer = codex("event_msg", type="agent_message", message="It is cached.")
    later = codex("event_msg", type="agent_message", message="Carrying on.")
    asked = codex_response("user", "Cache the price list.", "t1")
    assert pairs("codex", asked, *said, answer, codex_response("user", notice, "t2"), later) == PRICES


@pytest.mark.parametrize("notices", [1, 2, 3])
def test_no_answer_to_any_of_the_hosts_notices_joins_the_users_turn(notices: int) -> None:
    asked = codex("event_msg", type="user_message", message="Cache the price list.")
    answer = codex("event_msg", type="agent_message", message="It is cached.")
    later = codex("event_msg", type="agent_message", message="Carrying on.")
    notice = codex_response("user", "<subagent_notification>\n{}\n</subagent_notification>", "t2")
    assert pairs("codex", asked, answer, *[notice, later] * notices) == PRICES
    assert pairs("codex", asked, answer, *[notice] * notices, later) == PRICES


def test_the_answer_to_a_note_of_qwen_itself_does_not_join_the_users_turn() -> None:
    asked = qwen("user", "real_user", {"text": "Cache the price list."})
    answers = [qwen("assistant", None, {"text": text}) for text in ("It is cached.", "Noted.")]
    assert (
        pairs("qwen-code", asked, answers[0], qwen("user", "system", {"text": "Done."}), answers[1]) == PRICES
    )


def test_response_items_are_the_hosts_if_a_rollout_has_user_messages() -> None:
    said = codex("event_msg", type="user_message", message="Cache the price list.")
    answer = codex("event_msg", type="agent_message", message="It is cached.")
    assert pairs("codex", said, answer, codex_response("user", "<new_tag>x</new_tag>", "t2")) == PRICES


def test_an_editors_preamble_is_removed_and_the_request_stays() -> None:
    message = "# Context from my IDE setup:\n\n## Active file: a.py\n\n## My request for Codex:\nCache the price list.\n"
    answer = codex("event_msg", type="agent_message", message="It is cached.")
    assert pairs("codex", codex("event_msg", type="user_message", message=message), answer) == PRICES


@pytest.mark.parametrize(
    "context", ["  <cwd>/srv/app</cwd>", "Current working directory: /srv/app\nSandbox: x"]
)
def test_a_rollout_before_envelopes_is_read(context: str) -> None:
    def item(role: str, text: str) -> dict[str, Any]:
        return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}

    head = {"id": "old", "timestamp": AT, "instructions": None}
    about = item("user", f"<environment_context>\n{context}\n</environment_context>")
    assert pairs("codex", head, about, item("user", PRICES[0][0]), item("assistant", PRICES[0][1])) == PRICES
    (turn,) = turns(map(json.dumps, [head, about, item("user", PRICES[0][0])]), "codex")
    assert (turn["started_at"], list(turn["folders"])) == (AT, ["/srv/app"])


@pytest.mark.parametrize("source", ["skill-release", "autopilot", "agent-docs", "system"])
def test_messages_copilot_sends_as_the_user_are_not_prompts(source: str) -> None:
    lines = [
        copilot("user.message", content="Cache the price list."),
        copilot("user.message", content="Go on.", source=source),
    ]
    assert pairs("copilot-cli", *lines, copilot("assistant.message", content="It is cached.")) == PRICES


def test_the_events_of_copilots_subagents_are_left_out() -> None:
    lines = [
        copilot("user.message", content="Cache the price list."),
        copilot("user.message", content="You explore the code.") | {"agentId": "explorer"},
        copilot("assistant.message", content="I found it.") | {"agentId": "explorer"},
    ]
    assert pairs("copilot-cli", *lines, copilot("assistant.message", content="It is cached.")) == PRICES


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("vscode", PRICES),
        ({"custom": "chatgpt"}, PRICES),
        ({"subagent": "review"}, []),
        ({"internal": "x"}, []),
    ],
)
def test_only_sessions_that_codex_starts_itself_are_left_out(source: object, found: list[tuple[str, str]]):
    lines = [
        codex("session_meta", id="s", source=source),
        codex("event_msg", type="user_message", message="Cache the price list."),
        codex("event_msg", type="agent_message", message="It is cached."),
    ]
    assert pairs("codex", *lines) == found


FILES_NAMED = [
    "Cache the price list.",
    "\n--- Content from referenced files ---",
    "\nContent from @prices.py:\n",
    "PRICES = {}\n--- End of content ---\n",
    "\n--- End of content ---",
]


@pytest.mark.parametrize("separator", ["\n", "\n\n"])
def test_the_files_that_a_prompt_names_are_not_the_users_words(separator: str) -> None:
    whole = separator.join(FILES_NAMED)
    parts = [{"text": text} for text in FILES_NAMED]
    answers = gemini("gemini", 2, "It is cached."), qwen("assistant", None, {"text": "It is cached."})
    assert pairs("gemini-cli", gemini("user", 1, parts), answers[0]) == PRICES
    assert pairs("gemini-cli", gemini("user", 1, whole), answers[0]) == PRICES
    assert pairs("qwen-code", qwen("user", None, *parts), answers[1] | {"uuid": "u2"}) == PRICES
    unclosed = whole.replace("--- End of content ---", "")
    assert pairs("gemini-cli", gemini("user", 1, unclosed))[0][0] == unclosed.strip()


@pytest.mark.parametrize("cut", [1, 2, 20, 60, 110])
def test_a_line_that_a_crash_cut_off_does_not_hide_the_one_written_after_it(cut: int) -> None:
    half = json.dumps(gemini("gemini", 1, "It will be cached."))[:-cut]
    prompt, answer = (
        json.dumps(gemini(kind, 2 + at, PRICES[0][at])) for at, kind in enumerate(("user", "gemini"))
    )
    assert _pairs("gemini-cli", f"{half}{prompt}\n", f"{answer}\n") == PRICES


def test_a_byte_order_mark_does_not_hide_the_first_line() -> None:
    prompt = json.dumps(copilot("user.message", content=PRICES[0][0]))
    answer = json.dumps(copilot("assistant.message", content=PRICES[0][1]))
    assert _pairs("copilot-cli", b"\xef\xbb\xbf" + prompt.encode(), answer) == PRICES


def test_geminis_thoughts_and_its_message_after_a_compression_are_not_answers() -> None:
    thought = {"text": "Weighing.", "thought": True}
    lines = [
        gemini("user", 1, {"text": "Cache the price list."}),
        gemini("gemini", 2, [thought, {"text": "It is cached."}]),
        gemini("user", 3, "<state_snapshot>x</state_snapshot>"),
        gemini("gemini", 4, "Got it. Thanks for the additional context!"),
    ]
    assert pairs("gemini-cli", *lines) == PRICES


PICTURES: dict[str, list[dict[str, Any]]] = {
    "codex": [
        codex("event_msg", type="user_message", message="Cache the price list."),
        codex("event_msg", type="agent_message", message="It is cached."),
        codex("event_msg", type="user_message", message="", images=["data:image/png;base64,AAAA"]),
        codex("event_msg", type="agent_message", message="A chart."),
    ],
    "codex 0.30": [
        codex_response("user", "Cache the price list.", "t1"),
        codex_response("assistant", "It is cached.", "t1"),
        codex("response_item", type="message", role="user", content=[{"type": "input_text", "text": "<image name=[Image #1]>"}, {"type": "input_image"}, {"type": "input_text", "text": "</image>"}]),
        codex_response("assistant", "A chart.", "t2"),
    ],
    "copilot-cli": [
        copilot("user.message", content="Cache the price list."),
        copilot("assistant.message", content="It is cached."),
        copilot("user.message", content="", attachments=[{"type": "file", "path": "a.png"}]),
        copilot("assistant.message", content="A chart."),
    ],
    "gemini-cli": [
        gemini("user", 1, "Cache the price list."),
        gemini("gemini", 2, "It is cached."),
        gemini("user", 3, [{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]),
        gemini("gemini", 4, "A chart."),
    ],
    "cursor": [
        {"role": "user", "content": "Cache the price list."},
        {"role": "assistant", "content": "It is cached."},
        {"role": "user", "content": [{"type": "image", "data": "AAAA"}]},
        {"role": "assistant", "content": "A chart."},
    ],
    "kiro": [
        {"payload": {"type": "user", "content": "Cache the price list."}},
        {"payload": {"type": "assistant", "content": "It is cached."}},
        {"payload": {"type": "user", "content": [{"type": "image", "data": "AAAA"}]}},
        {"payload": {"type": "assistant", "content": "A chart."}},
    ],
    "kiro cli": [
        {"kind": "Prompt", "data": {"content": [{"kind": "text", "data": "Cache the price list."}]}},
        {"kind": "AssistantMessage", "data": {"content": [{"kind": "text", "data": "It is cached."}]}},
        {"kind": "Prompt", "data": {"content": [{"kind": "image", "data": {}}]}},
        {"kind": "AssistantMessage", "data": {"content": [{"kind": "text", "data": "A chart."}]}},
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_alone_opens_a_turn_in_any_host(name: str) -> None:
    assert pairs(name.split()[0], *PICTURES[name]) == [*PRICES, ("[image]", "A chart.")]


def test_the_words_before_a_picture_in_an_overlong_line_are_a_prompt() -> None:
    image = "data:image/png;base64," + "A" * 90_000
    line = json.dumps(codex("event_msg", type="user_message", message="Read the chart.", images=[image]))
    answer = json.dumps(codex("event_msg", type="agent_message", message="A spike."))
    (turn,) = turns([line[:65_536] + "\n", answer], "codex")
    assert (turn["prompts"], turn["assistant"]) == (["Read the chart."], "A spike.")
    assert turns([line[:65_536], answer], "codex") == []


QUESTION = {"questions": [{"id": "db", "question": "Which store?", "options": []}]}
ANSWERS = {"answers": {"db": {"answers": ["Postgres"]}}}
REJECTED = "The user rejected this with the following feedback: Use Postgres."
QUESTIONS: dict[str, tuple[list[dict[str, Any]], str]] = {
    "codex": (
        [
            codex_response("user", "Set up the store.", "t1"),
            codex("response_item", type="function_call", name="request_user_input", call_id="c1", arguments=json.dumps(QUESTION)),
            codex("response_item", type="function_call_output", call_id="c1", output=json.dumps(ANSWERS)),
        ],
        "Which store? Postgres",
    ),
    "copilot-cli": (
        [
            copilot("user.message", content="Set up the store."),
            copilot("tool.execution_start", toolCallId="c1", toolName="ask_user", arguments={"question": "Which store?"}),
            copilot("tool.execution_complete", toolCallId="c1", result={"content": "User selected: Postgres", "detailedContent": "x"}),
        ],
        "Which store? Postgres",
    ),
    "gemini-cli": (
        [
            gemini("user", 1, "Set up the store."),
            gemini("gemini", 2, "", toolCalls=[{"id": "c1", "name": "ask_user", "args": QUESTION, "result": [{"functionResponse": {"response": {"output": json.dumps(ANSWERS)}}}]}]),
        ],
        "Which store? Postgres",
    ),
    "cursor": (
        [
            {"role": "user", "content": "Set up the store."},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "Shell", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": REJECTED}]},
        ],
        "Use Postgres.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("host", QUESTIONS)
def test_the_users_answers_to_a_tool_are_their_words_in_any_host(host: str) -> None:
    entries, words = QUESTIONS[host]
    (pair,) = pairs(host, *entries)
    assert pair == (f"Set up the store.\n\n{words}", "")


def test_other_tool_results_and_unanswered_questions_are_not_the_users_words() -> None:
    asked = copilot(
        "tool.execution_start", toolCallId="c1", toolName="ask_user", arguments={"question": "Q?"}
    )
    declined = copilot("tool.execution_complete", toolCallId="c1", result={"content": "User declined."})
    ran = copilot("tool.execution_start", toolCallId="c2", toolName="bash", arguments={"command": "ls"})
    listed = copilot("tool.execution_complete", toolCallId="c2", result={"content": "User selected: a"})
    said = copilot("user.message", content="Set up the store.")
    assert pairs("copilot-cli", said, asked, declined, ran, listed) == [("Set up the store.", "")]


LONG = "This session is being continued.\nSummary:\nThe pool leaks; rows are not closed."
TOLD = {
    "claude-code": [
        {"type": "summary", "summary": "Another session", "leafUuid": "elsewhere"},
        {"type": "ai-title", "aiTitle": "Mend the pool"},
        {"type": "user", "uuid": "u0", "message": {"content": "mend it"}},
        {"type": "user", "uuid": "u1", "isCompactSummary": True, "message": {"content": LONG}},
    ],
    "codex": [
        codex("event_msg", type="user_message", message="mend it"),
        codex("event_msg", type="thread_name_updated", thread_name="Mend the pool"),
        codex("compacted", message="The pool leaks; rows are not closed."),
    ],
    "copilot-cli": [
        copilot("user.message", content="mend it"),
        copilot("session.title_changed", title="Mend the pool"),
        copilot("session.compaction_complete", summaryContent="The pool leaks; rows are not closed."),
    ],
    "gemini-cli": [gemini("user", 1, "mend it"), {"$set": {"summary": "Mend the pool"}}],
}


@pytest.mark.parametrize("host", TOLD)
def test_the_title_and_the_summary_that_a_host_wrote_are_not_turns_but_with_the_last_one(host: str):
    (turn,) = turns([json.dumps(line) for line in TOLD[host]], host)
    assert turn["prompts"] == ["mend it"] and turn["title"] == "Mend the pool"
    assert host == "gemini-cli" or turn["recap"] == "The pool leaks; rows are not closed."


def test_what_claude_code_adds_around_its_summary_for_the_model_is_no_part_of_the_summary() -> None:
    intro = "This session is being continued from a previous conversation that ran out of context. Below:\n\n"
    note = "<system-reminder>\nBash, Edit\n</system-reminder>\n"
    details = "\n\nIf you need specific details from before compaction, read the transcript at: /a/b.jsonl"
    older = "\nPlease continue the conversation from where we left it off without asking the user."
    newer = "\nContinue the conversation from where it left off.\n\nThe messages after this summary are kept."
    for before in (f"{intro}Summary:\n", f"{intro}{note}", f"{intro}Analysis:\nLong.\n\nSummary:\n"):
        for after in (details + newer, older, newer, ""):
            content = f"{before}1. The pool leaks.\n\n2. Rows stay open.{after}"
            prompt = {"type": "user", "uuid": "u0", "message": {"content": "mend it"}}
            summary = {**prompt, "uuid": "u1", "isCompactSummary": True, "message": {"content": content}}
            (turn,) = turns([json.dumps(prompt), json.dumps(summary)], "claude-code")
            assert turn["recap"].strip() == "1. The pool leaks.\n\n2. Rows stay open."
