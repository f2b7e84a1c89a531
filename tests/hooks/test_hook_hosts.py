"""Every host that runs our hook: how it is recognised, how its payload is read and answered, and that a turn
reported in two ways is stored once. The payloads are made up, in the shapes of the tested versions.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
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


# Payloads of hosts, and what becomes of them: events of a turn, each with its name on the command line; which host
# sends a payload; the keys or the event's name of an opening; the words and the event's name of a hint.
TABLES = json.loads(Path(__file__).with_name("payloads.json").read_text(encoding="utf-8"))
TURNS, COPILOT, ENVIRONMENT, HINTS = map(TABLES.get, ("turns", "copilot", "environment", "hints"))
KEYS = {"claude-code": "p1", "codex": "p1", "cursor": "g1", "windsurf": "e1", "opencode": "msg_1"}


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


@pytest.mark.parametrize(("payload", "env", "registered", "real"), TABLES["recognition"])
def test_the_real_host_takes_precedence_over_the_registered_one(
    payload: dict, env: dict, registered: str, real: str
) -> None:
    assert hosts.recognize(payload, env, registered) == real


@pytest.mark.parametrize(("name", "event", "payload", "output"), TABLES["openings"])
def test_an_opening_is_printed_in_the_hosts_format(
    host: Host, name: str, event: str, payload: dict, output: str | list[str] | None
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
    assert list(answer) == output
    assert block in (answer.get("additionalContext"), answer.get("additional_context")) or answer == {
        "injectSteps": [{"ephemeralMessage": block}]
    }


@pytest.mark.parametrize(("name", "event", "payload", "says", "output"), TABLES["tools"])
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


@pytest.mark.parametrize(
    ("encoding", "asked"), [("utf-8-sig", "Die Übersicht fehlt."), ("latin-1", "Die \ufffdbersicht fehlt.")]
)
def test_a_byte_order_mark_or_a_byte_that_is_not_utf_8_does_not_hide_a_payload(
    host: Host, encoding: str, asked: str
) -> None:
    become(host, "cursor")
    more = {"workspace_roots": [str(host.project)], "prompt": "Die Übersicht fehlt."}
    host.raw("", json.dumps(TURNS["cursor"][1][1] | more, ensure_ascii=False).encode(encoding))
    assert host.turns() == [("g1", asked, ANSWER)]


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


HOOK = [sys.executable, "-I", "-S", str(HOOKS / "hook.py")]


def drive(
    host: Host, folder: Path, name: str, plugin: str, *arguments: str, command: Sequence[str] = HOOK
) -> Any:
    """The output of a driver of a plugin, configured by `setup` with its host and command."""
    text = (HOOKS / "plugins" / plugin).read_text()
    for line, value in (("const HOST = ", name), ("const COMMAND = ", command)):
        (old,) = [each for each in text.splitlines() if each.startswith(line)]
        text = text.replace(old, f"{line}{json.dumps(value)};")
    (folder / "scrubjay.mjs").write_text(text.replace('const TOOLS = "";', 'const TOOLS = "bash|edit";'))
    shutil.copy(Path(__file__).with_name(f"{plugin.partition('.')[0]}_driver.mjs"), folder / "driver.mjs")
    words = ["node", str(folder / "driver.mjs"), *arguments]
    ran = subprocess.run(words, env=host.env, cwd=host.project, capture_output=True, timeout=30, check=True)
    assert ran.stderr == b""
    return json.loads(ran.stdout)


@pytest.mark.skipif(shutil.which("node") is None, reason="OpenCode's plugin is run with Node")
@pytest.mark.parametrize(("name", "end"), [("opencode", "idle"), ("kilo", "at once")])
def test_the_plugin_reports_a_turn_and_shows_its_opening(
    host: Host, tmp_path: Path, name: str, end: str
) -> None:
    host.policy(inject="edit")
    openings.write(open_home(host.home.root), host.scope, "- Never push to main.", None, hints=HINTS)
    ((title,), (system,), (made,), (read,)) = drive(host, tmp_path, name, "opencode.js", end)
    assert made.startswith("made\n\n<scrubjay-memory>") and "gen.py" in made and read == "made"
    assert title == "You are a title generator."
    assert system == "You are an assistant.\n\n<scrubjay-memory>\n- Never push to main.\n</scrubjay-memory>"
    assert {(each.host, each.args["session_id"]) for each in host.envelopes()} == {(name, "ses_1")}
    assert host.turns() == [("msg_1", ASKED, f"I look.\n\n{ANSWER}")]


@pytest.mark.skipif(shutil.which("node") is None, reason="OpenCode's plugin is run with Node")
def test_the_plugin_without_its_hook_fails_silently(host: Host, tmp_path: Path) -> None:
    shown = drive(host, tmp_path, "opencode", "opencode.js", "idle", command=["/no/such/hook"])
    assert shown[1] == ["You are an assistant."]


@pytest.mark.skipif(shutil.which("node") is None, reason="Amp's plugin is run with Node")
def test_the_plugin_for_amp_reports_a_turn_and_shows_its_opening(host: Host, tmp_path: Path) -> None:
    openings.write(open_home(host.home.root), host.scope, "- Never push to main.", None)
    shown = drive(host, tmp_path, "amp", "amp.ts")
    block = "<scrubjay-memory>\n- Never push to main.\n</scrubjay-memory>"
    assert shown == {"message": {"content": block, "display": False}}
    assert [(each.host, each.args["session_id"]) for each in host.envelopes()] == [("amp", "T-1")]
    assert host.turns() == [("7", ASKED, f"I look.\n\n{ANSWER}")]
