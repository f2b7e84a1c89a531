"""Every host that runs our hook: how it is recognised, how its payload is read and answered, and that a turn
reported in two ways is stored once. The payloads are made up, in the shapes of the versions named next to
them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from claude_code_host import HELLO, HOOKS, Engine, Host
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.cli.status import headline, inbox
from scrubjay.home import openings, spool
from scrubjay.home.paths import open_home
from scrubjay.hooks import hosts, tools
from scrubjay.hosts.facts import RECOGNITION

ASKED, ANSWER = "Which port does staging use?", "Staging listens on port 5433."
AT = "2026-11-22T18:12:51.262Z"
S = "0f4e9a10-0000-4000-8000-00000000cafe"


def gemini(name: str, **more: Any) -> dict[str, Any]:
    return {"session_id": S, "transcript_path": None, "hook_event_name": name, "timestamp": AT, **more}


def cursor(name: str, **more: Any) -> dict[str, Any]:
    common = {
        "conversation_id": S,
        "generation_id": "g1",
        "session_id": "another",
        "cursor_version": "3.24.18",
    }
    return {**common, "hook_event_name": name, "user_email": "kim@example.org", **more}


def windsurf(name: str, **info: Any) -> dict[str, Any]:
    return {
        "agent_action_name": name,
        "trajectory_id": S,
        "execution_id": "e1",
        "timestamp": AT,
        "tool_info": info,
    }


TOLD = f"<hook_context>&lt;scrubjay-memory&gt; a</hook_context>\n\n{ASKED}"
# host -> the events of one turn, in order: the event's name on the command line, and the payload
TURNS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "claude-code": [  # 2.1.330
        ("", {"session_id": S, "prompt_id": "p1", "hook_event_name": "UserPromptSubmit", "prompt": ASKED}),
        (
            "",
            {"session_id": S, "prompt_id": "p1", "hook_event_name": "Stop", "last_assistant_message": ANSWER},
        ),
    ],
    "codex": [  # 0.169.0
        ("", {"session_id": S, "turn_id": "p1", "hook_event_name": "UserPromptSubmit", "prompt": ASKED}),
        ("", {"session_id": S, "turn_id": "p1", "hook_event_name": "Stop", "last_assistant_message": ANSWER}),
    ],
    "cursor": [  # 3.24.18
        ("", cursor("beforeSubmitPrompt", prompt=ASKED, attachments=[])),
        ("", cursor("afterAgentResponse", text=ANSWER)),
        ("", cursor("stop", status="completed", loop_count=0)),
    ],
    "gemini-cli": [  # 0.61.0
        ("", gemini("BeforeAgent", prompt=TOLD)),
        ("", gemini("BeforeModel", llm_request={})),
        ("", gemini("AfterAgent", prompt=TOLD, prompt_response=ANSWER, stop_hook_active=False)),
    ],
    "qwen-code": [  # 0.24.4
        (
            "",
            gemini(
                "UserPromptSubmit", prompt_id=f"{S}########0", prompt=f"{ASKED} @x", submitted_prompt=ASKED
            ),
        ),
        ("", gemini("UserPromptSubmit", prompt_id=f"{S}########0", prompt="")),
        ("", gemini("Stop", prompt_id=f"{S}########0", last_assistant_message=ANSWER)),
    ],
    "opencode": [
        ("", {"hook_event_name": "prompt", "session_id": S, "prompt_id": "msg_1", "prompt": ASKED}),
        (
            "",
            {
                "hook_event_name": "answer",
                "session_id": S,
                "prompt_id": "msg_1",
                "last_assistant_message": ANSWER,
            },
        ),
    ],
    "windsurf": [
        ("", windsurf("pre_user_prompt", user_prompt=ASKED)),
        ("", windsurf("post_cascade_response", response=f"### Planner Response\n\n{ANSWER}\n")),
    ],
    "goose": [  # 1.38
        ("", {"event": "UserPromptSubmit", "session_id": S, "matcher_context": "", "message": ASKED}),
        ("", {"event": "Stop", "session_id": S, "matcher_context": "", "last_assistant_message": ANSWER}),
    ],
}
KEYS = {"claude-code": "p1", "codex": "p1", "cursor": "g1", "windsurf": "e1", "opencode": "msg_1"}
ENVIRONMENT = {
    "qwen-code": {"QWEN_PROJECT_DIR": "", "GEMINI_PROJECT_DIR": "", "CLAUDE_PROJECT_DIR": ""},
    "gemini-cli": {"GEMINI_PROJECT_DIR": "", "GEMINI_SESSION_ID": "s", "CLAUDE_PROJECT_DIR": ""},
    "copilot-cli": {"COPILOT_PROJECT_DIR": "", "COPILOT_CLI": "1", "CLAUDE_PROJECT_DIR": ""},
}

COPILOT = [  # 1.0.102; the events are named only in their registration
    ("sessionStart", {"sessionId": S, "timestamp": 1795371303044, "source": "new", "initialPrompt": ASKED}),
    ("userPromptSubmitted", {"sessionId": S, "timestamp": 1795371303099, "prompt": ASKED}),
    ("agentStop", {"sessionId": S, "timestamp": 1795371304431, "stopReason": "end_turn"}),
    ("sessionEnd", {"sessionId": S, "timestamp": 1795371304458, "reason": "complete"}),
]


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def become(host: Host, name: str) -> None:
    host.name = name
    project = str(host.project)
    host.env |= {key: value or project for key, value in ENVIRONMENT.get(name, {}).items()}


def fire(host: Host, event: str, payload: dict[str, Any]) -> str:
    places = {"cwd": str(host.project), "workspace_roots": [str(host.project)]}
    known = {
        key: value for key, value in places.items() if (key == "cwd") == ("cursor_version" not in payload)
    }
    return host.raw_output(json.dumps(known | payload).encode(), event).decode()


@pytest.mark.parametrize("name", TURNS)
def test_a_turn_becomes_one_envelope_under_its_host(host: Host, name: str) -> None:
    become(host, name)
    for event, payload in TURNS[name]:
        assert fire(host, event, payload) == "{}\n"
    (envelope,) = host.envelopes()
    assert (envelope.host, envelope.scope, envelope.args["session_id"]) == (name, host.scope, S)
    ((key, user, assistant),) = host.turns()
    assert (user, assistant) == (ASKED, ANSWER)
    assert key == KEYS.get(name, key) and key
    assert (inbox(host.home).unanswered, host.log()) == (0, "")
    assert "example.org" not in json.dumps(spool.read(spool.pending(host.home)[0]))


@pytest.mark.parametrize("name", TURNS)
def test_a_host_is_recognised_whatever_it_was_registered_as(host: Host, name: str) -> None:
    become(host, name)
    env = host.env
    told = [payload for _, payload in TURNS[name]]
    as_named = [hosts.recognize(payload, env, "claude-code") for payload in told]
    if name in ("claude-code", "opencode"):  # our own plugin, whose payload no other host sends
        assert {hosts.recognize(payload, env, name) for payload in told} == {name}
    else:
        assert set(as_named) == {name}


@pytest.mark.parametrize(
    ("payload", "env", "registered", "real"),
    [
        ({"sessionId": S, "hookEventName": "Stop", "timestamp": AT}, {}, "claude-code", "vscode"),
        ({"sessionId": S, "timestamp": 1.0}, {}, "claude-code", "copilot-cli"),
        ({"session_id": S, "hook_event_name": "Stop", "timestamp": AT}, {"COPILOT_CLI": "1"}, "claude-code", "copilot-cli"),
        # started from another host's shell, which leaves it its variables
        ({"session_id": S, "hook_event_name": "Stop"}, {"COPILOT_CLI": "1"}, "claude-code", "claude-code"),
        ({"session_id": S, "turn_id": "t"} | {"hook_event_name": "Stop"}, {"CLAUDECODE": "1"}, "codex", "codex"),
        ({"session_id": S, "hook_event_name": "Stop"}, {"CURSOR_VERSION": "3.2"}, "claude-code", "cursor"),
        ({"session_id": S, "transcript_path": "/h/.codex/sessions/2026/rollout-1.jsonl"}, {}, None, "codex"),
        ({"session_id": S, "transcript_path": "C:\\u\\.qwen\\p\\c.jsonl", "timestamp": AT}, {}, None, "qwen-code"),
        ({"session_id": S, "transcript_path": "/h/.gemini/tmp/c.jsonl", "timestamp": AT}, {}, None, "gemini-cli"),
        ({"conversationId": S, "invocationNum": 0}, {}, "gemini-cli", "antigravity"),
        ({"session_id": S, "hook_event_name": "Stop"}, {}, "kiro", "kiro"),
        ({"session_id": S, "hook_event_name": "Stop"}, {}, "nobody", "claude-code"),
        ({"session_id": S, "transcript_path": 7, "timestamp": []}, {}, None, "claude-code"),
    ],
)  # fmt: skip
def test_the_real_host_takes_precedence_over_the_registered_one(
    payload: dict, env: dict, registered: str, real: str
) -> None:
    assert hosts.recognize(payload, env, registered) == real


@pytest.mark.parametrize(
    ("name", "event", "payload", "output"),
    [
        ("codex", "", {"session_id": S, "hook_event_name": "SessionStart", "source": "startup"}, "SessionStart"),
        ("gemini-cli", "", gemini("SessionStart", source="startup"), "SessionStart"),
        ("qwen-code", "", gemini("SessionStart", source="startup"), "SessionStart"),
        ("vscode", "", {"sessionId": S, "hookEventName": "SessionStart", "timestamp": AT}, "SessionStart"),
        ("copilot-cli", *COPILOT[0], {"additionalContext"}),
        ("copilot-cli", "", gemini("SessionStart", source="new"), {"additionalContext"}),
        ("cursor", "", cursor("sessionStart"), {"additional_context"}),
        ("cursor", "", cursor("SessionStart"), "SessionStart"),  # of Claude Code's settings
        ("opencode", "", {"hook_event_name": "start", "session_id": S}, {"additionalContext"}),
        ("antigravity", "PreInvocation", {"conversationId": S, "invocationNum": 0}, {"injectSteps"}),
        ("kiro", "", {"session_id": S, "hook_event_name": "SessionStart"}, None),
    ],
)  # fmt: skip
def test_an_opening_is_printed_in_the_hosts_format(
    host: Host, name: str, event: str, payload: dict, output: str | set[str] | None
) -> None:
    become(host, name)
    scope = host.scope
    openings.write(open_home(host.home.root), scope, "- Never push to main.", None)
    said = fire(host, event, payload | {"workspacePaths": [str(host.project)]})
    block = "<scrubjay-memory>\n- Never push to main.\n</scrubjay-memory>"
    if output is None:
        assert said == f"{block}\n"
        return
    answer = json.loads(said)
    if isinstance(output, str):
        assert answer == {"hookSpecificOutput": {"hookEventName": output, "additionalContext": block}}
        return
    assert set(answer) == output
    assert block in (answer.get("additionalContext"), answer.get("additional_context")) or answer == {
        "injectSteps": [{"ephemeralMessage": block}]
    }


HINTS = {
    "about": [{"id": "t1", "text": "2026-03-01 (t1): Never edit api/gen.py.", "until": None, "files": ["api/gen.py"],
               "symbols": [], "commands": ["make gen"]}],
    "errors": [{"id": "t2", "shape": "open <path>: no such file", "text": "`make` passed after `make data`."}],
}  # fmt: skip
EDIT = {"file_path": "/w/api/gen.py", "old_string": "a", "new_string": "b"}
MAKE, FAILED = {"command": "make"}, "open /srv/b.txt: no such file"
COPILOT_TOOL = {"sessionId": S, "timestamp": 1795809512422}


@pytest.mark.parametrize(
    ("name", "event", "payload", "says", "output"),
    [
        ("codex", "", {"session_id": S, "turn_id": "p1", "hook_event_name": "PreToolUse", "tool_input": {"command": "*** Begin Patch\n*** Update File: api/gen.py\n+b"}}, "gen.py", "PreToolUse"),
        ("codex", "", {"session_id": S, "turn_id": "p1", "hook_event_name": "PostToolUse", "tool_input": MAKE, "tool_response": f"{FAILED}\n"}, "data", "PostToolUse"),
        ("gemini-cli", "", gemini("AfterTool", tool_input=EDIT, tool_response={"llmContent": "Successfully modified file"}), "gen.py", "AfterTool"),
        ("gemini-cli", "", gemini("AfterTool", tool_input=MAKE, tool_response={"llmContent": f"<untrusted_context>\nOutput: {FAILED}\nExit Code: 2\n</untrusted_context>"}), "data", "AfterTool"),
        ("gemini-cli", "", gemini("AfterTool", tool_input=MAKE, tool_response={"llmContent": f"Output: {FAILED}\nExit Code: 0"}), None, None),
        ("qwen-code", "", gemini("PostToolUse", tool_input=EDIT, tool_response={"llmContent": "The file has been updated."}), "gen.py", "PostToolUse"),
        ("qwen-code", "", gemini("PostToolUseFailure", tool_input=MAKE, error=f"Command: make\nDirectory: (root)\nOutput: {FAILED}\nError: (none)\nExit Code: 2"), "data", "PostToolUseFailure"),
        ("copilot-cli", "preToolUse", {**COPILOT_TOOL, "toolName": "edit", "toolArgs": {"path": "/w/api/gen.py", "old_str": "a", "new_str": "b"}}, "gen.py", None),
        ("copilot-cli", "postToolUse", {**COPILOT_TOOL, "toolName": "bash", "toolArgs": MAKE, "toolResult": {"resultType": "success", "textResultForLlm": f"{FAILED}\n<shellId: 0 completed with exit code 2>"}}, "data", None),
        ("copilot-cli", "postToolUse", {**COPILOT_TOOL, "toolName": "bash", "toolArgs": MAKE, "toolResult": {"textResultForLlm": f"{FAILED}\n<shellId: 0 completed with exit code 0>"}}, None, None),
        ("cursor", "", cursor("postToolUse", tool_name="Shell", tool_input={"command": "make gen"}, tool_output="{}"), "gen.py", None),
        ("vscode", "", {"sessionId": S, "hookEventName": "PreToolUse", "timestamp": AT, "tool_input": {"filePath": "/w/api/gen.py", "oldString": "a", "newString": "b"}}, "gen.py", "PreToolUse"),
    ],
)  # fmt: skip
def test_a_tool_of_each_host_is_commented_in_the_hosts_format(
    host: Host, name: str, event: str, payload: dict, says: str | None, output: str | None
) -> None:
    become(host, name)
    openings.write(home := open_home(host.home.root), "s", "", None, hints=HINTS)
    read = hosts.read(hosts.recognize(payload, host.env, None), payload, host.env, "/w", event or None)
    answer = json.loads(hosts.answer(read, tools.hint(home, read, "s", 2e9)) or "{}")
    said = answer.pop("hookSpecificOutput", answer)
    assert (read.host, said.get("hookEventName")) == (name, output)
    context = said.get("additionalContext") or said.get("additional_context")
    assert says in context if says else context is None


def test_without_recalled_text_kiro_gets_empty_output(host: Host) -> None:
    become(host, "kiro")
    assert fire(host, "", {"session_id": S, "hook_event_name": "SessionStart"}) == ""
    assert host.raw_output(b"garbage") == b""


@pytest.mark.parametrize("name", ["windsurf", "goose"])
def test_nothing_is_looked_up_for_a_host_that_takes_no_context(host: Host, name: str) -> None:
    become(host, name)
    host.policy(inject="prompt")
    with Engine(host.home, HELLO, {"text": "- 2026-03-01: Never push."}) as engine:
        assert fire(host, *TURNS[name][0]) == "{}\n"
    assert engine.heard == []


def test_an_injection_names_the_event_of_the_host(host: Host) -> None:
    host.policy(inject="prompt")
    with Engine(host.home, HELLO, {"text": "- 2026-03-01: Never push."}):
        for name in ("codex", "gemini-cli", "qwen-code"):
            become(host, name)
            said = json.loads(fire(host, *TURNS[name][0]))["hookSpecificOutput"]
            assert said["hookEventName"] == TURNS[name][0][1]["hook_event_name"]
        assert fire(host, *TURNS["qwen-code"][1]) == "{}\n"  # fires after each tool result: shown once


def test_a_turn_reported_by_two_registrations_is_stored_once(host: Host) -> None:
    become(host, "gemini-cli")
    for _, payload in TURNS["gemini-cli"]:  # an extension and the settings, at every event
        fire(host, "", payload)
        fire(host, "", payload)
    host.name = "claude-code"
    for _, payload in TURNS["cursor"]:  # a hook of Claude Code's settings and one of its own
        fire(host, "", payload | {"conversation_id": "c2"})
        host.name = "cursor" if host.name == "claude-code" else "claude-code"
        fire(host, "", payload | {"conversation_id": "c2"})
    keys = {(each.host, each.args["session_id"], each.args["prompt_id"]) for each in host.envelopes()}
    assert {key[:2] for key in keys} == {("gemini-cli", S), ("cursor", "c2")} and len(keys) == 2
    assert {turn[1:] for turn in host.turns()} == {(ASKED, ANSWER)}


def test_a_prompt_said_in_a_pause_and_repeated_with_its_answer_is_not_recorded(host: Host) -> None:
    become(host, "gemini-cli")
    host.policy(paused=True)
    before, _, after = (payload for _, payload in TURNS["gemini-cli"])
    fire(host, "", before)
    host.policy()
    fire(host, "", after)
    assert host.turns() == []
    fire(host, "", before | {"prompt": "And production?"})
    fire(host, "", after | {"prompt": "And production?"})
    assert host.said() == [("And production?", ANSWER)]


def test_the_same_words_said_twice_are_two_turns(host: Host) -> None:
    become(host, "gemini-cli")
    for answer in ("Yes, it is done.", "Done again."):
        for _, payload in TURNS["gemini-cli"]:
            fire(host, "", payload | {"prompt": "continue please", "prompt_response": answer})
    assert host.said() == [
        ("continue please", "Yes, it is done."),
        ("continue please", "Done again."),
    ]
    assert len({turn[0] for turn in host.turns()}) == 2


def events_file(host: Host, *entries: tuple[str, dict[str, Any]]) -> str:
    path = host.project / "events.jsonl"
    at = datetime.now(UTC).isoformat()
    lines = [
        {"type": kind, "data": data, "id": f"e{n}", "timestamp": at} for n, (kind, data) in enumerate(entries)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


SHOWN = (
    "user.message",
    {"content": ASKED, "transformedContent": f"<system_reminder>x</system_reminder>{ASKED}"},
)
SPOKEN = ("assistant.message", {"content": ANSWER, "toolRequests": []})
WORKING = (
    "assistant.message",
    {"content": "", "toolRequests": [{"name": "bash", "arguments": {"command": "ss -l"}}]},
)


@pytest.mark.parametrize("copies", [1, 2])
def test_an_answer_that_only_the_transcript_has_is_fetched_from_it(host: Host, copies: int) -> None:
    become(host, "copilot-cli")
    path = events_file(host, SHOWN, WORKING, SPOKEN)
    for event, payload in COPILOT:
        for _ in range(copies):
            assert fire(host, event, payload | {"transcriptPath": path}) == "{}\n"
    (turn,) = host.recorded()
    assert (turn.host, turn.user, turn.assistant) == ("copilot-cli", ASKED, ANSWER)
    assert (turn.tools, turn.metadata) == (("bash",), {"commands": ["ss -l"]})
    assert (inbox(host.home).unanswered, host.log()) == (0, "")


def test_status_does_not_count_a_turn_without_its_answer_as_captured(host: Host) -> None:
    left = inbox(open_home(host.home.root))
    assert headline({"captured": 3, "without_answer": 1}, None, left) == [
        "captured 2 of 3 turns",
        "  1 turn stored without the answer: the host's transcript has none (yet)",
    ]
    assert headline({"captured": 3}, None, left) == ["captured 3 of 3 turns"]


@pytest.mark.parametrize(
    "shown", [[], [SHOWN], [SHOWN, WORKING], [("user.message", {"content": "other"}), SPOKEN]]
)
def test_a_prompt_is_safe_while_the_transcript_lacks_the_answer(host: Host, shown: list) -> None:
    become(host, "copilot-cli")
    path = events_file(host, *shown)
    for event, payload in COPILOT[1:3]:
        fire(host, event, payload | {"transcriptPath": path})
    (envelope,) = host.envelopes()  # which the engine completes from its transcript
    assert (envelope.source, envelope.transcript_path) == ("hook:stop", path)
    assert host.turns()[0][1:] == (ASKED, None)


def test_the_prompt_that_antigravity_does_not_send_is_read_from_its_transcript(host: Host) -> None:
    become(host, "antigravity")
    path = host.project / "transcript_full.jsonl"
    asked = {
        "step_index": 0,
        "source": "USER_EXPLICIT",
        "type": "USER_INPUT",
        "created_at": datetime.now(UTC).isoformat(),
    }
    asked["content"] = (
        f"<USER_REQUEST>\n{ASKED}\n</USER_REQUEST>\n<ADDITIONAL_METADATA>\nx\n</ADDITIONAL_METADATA>"
    )
    spoken = {"step_index": 2, "source": "MODEL", "type": "PLANNER_RESPONSE", "content": "", "tool_calls": []}
    payload = {"conversationId": S, "transcriptPath": str(path), "workspacePaths": [str(host.project)]}
    path.write_text(json.dumps(asked) + "\n")
    fire(host, "PreInvocation", payload | {"invocationNum": 0, "initialNumSteps": 1})
    path.write_text(json.dumps(asked) + "\n" + json.dumps(spoken | {"tool_calls": [{"name": "ls"}]}) + "\n")
    fire(host, "PreInvocation", payload | {"invocationNum": 1})
    with path.open("a") as file:
        file.write(json.dumps(spoken | {"content": ANSWER}) + "\n")
    fire(host, "Stop", payload | {"executionNum": 1, "terminationReason": "NO_TOOL_CALL", "fullyIdle": True})
    turns = host.recorded()
    assert [(turn.scope, turn.user, turn.assistant) for turn in turns] == [(host.scope, ASKED, ANSWER)]


def test_the_answer_that_kiro_does_not_send_is_read_from_its_messages(host: Host) -> None:
    become(host, "kiro")
    folder = Path(host.env["HOME"], ".kiro", "sessions", "0123abcd", S)
    folder.mkdir(parents=True)
    lines = [
        {"type": "user", "content": ASKED},
        {"type": "assistant", "operationType": "Say", "content": ANSWER},
    ]
    folder.joinpath("messages.jsonl").write_text(
        "".join(json.dumps({"payload": line}) + "\n" for line in lines)
    )
    event = {"session_id": S, "hook_event_name": "UserPromptSubmit", "prompt": ASKED}
    assert fire(host, "", event) == ""
    assert fire(host, "", event | {"hook_event_name": "Stop"}) == ""
    assert [(turn.user, turn.assistant) for turn in host.recorded()] == [(ASKED, ANSWER)]


def test_a_cursor_window_without_a_workspace_belongs_to_no_project(host: Host) -> None:
    become(host, "cursor")
    for event, payload in TURNS["cursor"]:
        assert fire(host, event, payload | {"workspace_roots": []}) == "{}\n"
    assert host.envelopes() == [] and "Nothing is recorded in" in host.log()


def test_a_payload_with_a_byte_order_mark_is_read(host: Host) -> None:
    become(host, "cursor")
    payload = TURNS["cursor"][1][1] | {"workspace_roots": [str(host.project)], "prompt": ASKED}
    host.raw("", b"\xef\xbb\xbf" + json.dumps(payload).encode())
    assert host.turns() == [("g1", ASKED, ANSWER)]


def test_a_payload_with_a_byte_that_is_not_utf_8_loses_only_that_letter(host: Host) -> None:
    become(host, "cursor")
    payload = TURNS["cursor"][1][1] | {
        "workspace_roots": [str(host.project)],
        "prompt": "Die Übersicht fehlt.",
    }
    host.raw("", json.dumps(payload, ensure_ascii=False).encode("latin-1"))
    assert host.turns() == [("g1", "Die \ufffdbersicht fehlt.", ANSWER)]


def test_the_files_that_gemini_adds_to_a_prompt_are_not_recorded(host: Host) -> None:
    become(host, "gemini-cli")
    files = "--- Content from referenced files ---\nContent from @a.py:\nA = 1\n--- End of content ---"
    for event, payload in TURNS["gemini-cli"]:
        fire(host, event, payload | ({"prompt": f"{ASKED}\n{files}"} if "prompt" in payload else {}))
    assert [(turn.user, turn.assistant) for turn in host.recorded()] == [(ASKED, ANSWER)]


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.sampled_from([S, "1", "\ud800", "../.."]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["0", "user_prompt", "response"]), inner),
    max_leaves=5,
)  # fmt: skip
NAMES = sorted(
    {
        path.split(".")[0]
        for host in hosts.HOSTS
        for paths in hosts.fields(host).values()
        for path in paths.split()
    }
    | {field for rule in RECOGNITION for field in rule.get("fields", ())}
    | {"workspace_roots", "workspacePaths", "submitted_prompt", "agent_id"}
)


@given(st.sampled_from(sorted(hosts.HOSTS)), st.dictionaries(st.sampled_from(NAMES), JSON))
def test_any_payload_becomes_an_event(name: str, payload: dict[str, Any]) -> None:
    env = {"HOME": os.devnull}
    event = hosts.read(hosts.recognize(payload, env, name), payload, env, "/w", "Stop")
    assert event.kind in (None, "prompt", "answer", "start", "end", "before", "after", "done")
    for text in (event.session_id, event.prompt_id, event.prompt, event.answer, event.cwd, event.source):
        assert text is None or text.encode() is not None
    assert event.session_id is None or 0 < len(event.session_id.strip()) <= 200


def drive(host: Host, folder: Path, name: str, plugin: str, driver: str, *arguments: str) -> Any:
    """The output of a driver of a plugin, configured by `setup` with its host and command."""
    text = (HOOKS / "plugins" / plugin).read_text()
    command = [sys.executable, "-I", "-S", str(HOOKS / "hook.py")]
    for line, value in (("const HOST = ", name), ("const COMMAND = ", command)):
        (old,) = [each for each in text.splitlines() if each.startswith(line)]
        text = text.replace(old, f"{line}{json.dumps(value)};")
    (folder / "scrubjay.mjs").write_text(text.replace('const TOOLS = "";', 'const TOOLS = "bash|edit";'))
    (folder / "driver.mjs").write_text(driver)
    words = ["node", str(folder / "driver.mjs"), *arguments]
    ran = subprocess.run(words, env=host.env, cwd=host.project, capture_output=True, timeout=30, check=True)
    assert ran.stderr == b""
    return json.loads(ran.stdout)


DRIVER = """
import plugin from "./scrubjay.mjs";
const scrubjay = await (plugin.server ?? plugin)({ directory: process.cwd() });
const session = "ses_1", part = (text, more) => ({ type: "text", text, ...more });
const created = (info) => scrubjay.event({ event: { type: "session.created", properties: { sessionID: info.id, info } } });
await created({ id: session });
await created({ id: "ses_helper", parentID: session });
const say = (sessionID, id, ...parts) =>
  scrubjay["chat.message"]({ sessionID }, { message: { id, role: "user" }, parts });
await say("ses_helper", "msg_9", part("Look for the port."));
await say(session, "msg_1", part("Which port does staging use?"), part("a file", { synthetic: true }));
const asked = async (...system) => {
  await scrubjay["experimental.chat.system.transform"]({ sessionID: session }, { system });
  return system;
};
const seen = [await asked("You are a title generator."), await asked("You are an assistant.")];
for (const tool of ["bash", "read"]) {
  const done = { output: "made" };
  await scrubjay["tool.execute.after"]({ tool, sessionID: session, args: { command: "make gen" } }, done);
  seen.push([done.output]);
}
const updated = (info) => scrubjay.event({ event: { type: "message.updated", properties: { info } } });
await updated({ id: "msg_1", sessionID: session, role: "user", summary: { diffs: [] } });
await updated({ id: "msg_3", sessionID: session, role: "assistant", summary: true });
const said = [["msg_2", "I look."], ["msg_3", "## Goal: the port"], ["msg_4", "Staging listens on port 5433."]];
for (const [messageID, text] of said)
  await scrubjay["experimental.text.complete"]({ sessionID: session, messageID }, { text });
if (process.argv[2] === "idle")
  await scrubjay.event({ event: { type: "session.idle", properties: { sessionID: session } } });
console.log(JSON.stringify(seen));
if (process.argv[2] === "at once") process.exit(0);
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="OpenCode's plugin is run with Node")
@pytest.mark.parametrize(("name", "end"), [("opencode", "idle"), ("kilo", "at once")])
def test_the_plugin_reports_a_turn_and_shows_its_opening(
    host: Host, tmp_path: Path, name: str, end: str
) -> None:
    host.policy(inject="edit")
    openings.write(open_home(host.home.root), host.scope, "- Never push to main.", None, hints=HINTS)
    ((title,), (system,), (made,), (read,)) = drive(host, tmp_path, name, "opencode.js", DRIVER, end)
    assert made.startswith("made\n\n<scrubjay-memory>") and "gen.py" in made and read == "made"
    assert title == "You are a title generator."
    assert system == "You are an assistant.\n\n<scrubjay-memory>\n- Never push to main.\n</scrubjay-memory>"
    assert {(each.host, each.args["session_id"]) for each in host.envelopes()} == {(name, "ses_1")}
    assert host.turns() == [("msg_1", ASKED, f"I look.\n\n{ANSWER}")]


@pytest.mark.skipif(shutil.which("node") is None, reason="OpenCode's plugin is run with Node")
def test_the_plugin_without_its_hook_fails_silently(host: Host, tmp_path: Path) -> None:
    text = (HOOKS / "plugins" / "opencode.js").read_text()
    (tmp_path / "scrubjay.mjs").write_text(text.replace('["scrubjay-hook"]', '["/no/such/hook"]'))
    (tmp_path / "driver.mjs").write_text(DRIVER)
    command = ["node", str(tmp_path / "driver.mjs"), "idle"]
    ran = subprocess.run(command, cwd=host.project, capture_output=True, timeout=30, check=True)
    assert json.loads(ran.stdout)[1] == ["You are an assistant."] and ran.stderr == b""


AMP = """
import plugin from "./scrubjay.mjs";
const heard = {};
plugin({ on: (name, handler) => (heard[name] = handler) });
const thread = { id: "T-1" };
const seen = await heard["agent.start"]({ id: 7, message: "Which port does staging use?", thread });
const messages = [
  { role: "user", content: "Which port does staging use?" },
  { role: "assistant", content: [{ type: "text", text: "I look." }, { type: "tool_use" }] },
  { role: "assistant", content: [{ type: "text", text: "Staging listens on port 5433." }] },
];
await heard["agent.end"]({ id: 7, status: "done", thread, messages });
console.log(JSON.stringify(seen));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="Amp's plugin is run with Node")
def test_the_plugin_for_amp_reports_a_turn_and_shows_its_opening(host: Host, tmp_path: Path) -> None:
    openings.write(open_home(host.home.root), host.scope, "- Never push to main.", None)
    shown = drive(host, tmp_path, "amp", "amp.ts", AMP)
    block = "<scrubjay-memory>\n- Never push to main.\n</scrubjay-memory>"
    assert shown == {"message": {"content": block, "display": False}}
    assert [(each.host, each.args["session_id"]) for each in host.envelopes()] == [("amp", "T-1")]
    assert host.turns() == [("7", ASKED, f"I look.\n\n{ANSWER}")]
