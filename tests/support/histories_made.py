"""Stores of other programs, generated: small, synthetic, one per host and version.

Each function writes a session of two turns to its place under a user's home folder and returns what it wrote.
"""

from __future__ import annotations

import json
import sqlite3
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

ASKED = ("Why is the pool exhausted?", "Which port does staging use?")
ANSWERED = ("The poller leaks rows; close them in poll().", "Staging listens on port 5433.")
AT = ("2026-03-01T09:00:00+00:00", "2026-03-01T09:05:00+00:00")
MS = (1772355600000, 1772355900000)  # the same times
SESSION = "0199a1b2-0000-4000-8000-000000000001"
FOLDER = "/w/api"


def lines(path: Path, *entries: Any, rest: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries) + rest, encoding="utf-8")
    return path


def document(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def database(path: Path, script: str, rows: Iterable[tuple[str, tuple[Any, ...]]] = ()) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(path) as made:
        made.executescript(script)
        for statement, values in rows:
            made.execute(statement, values)
    made.close()
    return path


def claude_code(home: Path) -> Path:
    def line(kind: str, number: int, content: Any, **more: Any) -> dict[str, Any]:
        return {
            "type": kind,
            "uuid": f"{kind}-{number}",
            "sessionId": SESSION,
            "cwd": FOLDER,
            "timestamp": AT[number].replace("+00:00", "Z"),
            "message": {"role": kind, "content": content},
            **more,
        }

    run = {"type": "tool_use", "name": "Bash", "input": {"command": "go test ./..."}}
    return lines(
        home / ".claude/projects/-w-api" / f"{SESSION}.jsonl",
        {"type": "queue-operation", "sessionId": SESSION, "content": ASKED[0]},
        line("user", 0, ASKED[0], promptId="p0"),
        line("assistant", 0, [run, {"type": "text", "text": ANSWERED[0]}]),
        line("user", 0, "a subagent's prompt", uuid="s0", isSidechain=True),
        line("user", 1, ASKED[1], promptId="p1"),
        line("assistant", 1, [{"type": "text", "text": ANSWERED[1]}]),
        rest='{"type":"assistant","uuid":"half',
    )


def codex_new(home: Path) -> Path:
    """Codex 0.169: prompts are completed items."""
    entries: list[dict[str, Any]] = [
        {"type": "session_meta", "payload": {"id": SESSION, "cwd": FOLDER, "source": "exec"}}
    ]
    for number in (0, 1):
        turn = {"turn_id": f"t{number}"}
        user = {"type": "UserMessage", "content": [{"type": "text", "text": ASKED[number]}]}
        agent = {"type": "AgentMessage", "content": [{"type": "Text", "text": ANSWERED[number]}]}
        about = {**turn, "content_item_kinds": ["user.text"]}
        entries += [
            {"type": "event_msg", "payload": {"type": "task_started", **turn}},
            _codex_item("developer", "<scrubjay-memory>what was recalled</scrubjay-memory>"),
            _codex_item("user", "<environment_context><cwd>/w/api</cwd></environment_context>"),
            _codex_item("user", ASKED[number], internal_chat_message_metadata_passthrough=about),
            {"type": "event_msg", "payload": {"type": "item_completed", **turn, "item": user}},
            {"type": "event_msg", "payload": {"type": "item_completed", **turn, "item": agent}},
            _codex_item("assistant", ANSWERED[number]),
            {
                "type": "event_msg",
                "payload": {"type": "task_complete", **turn, "last_agent_message": ANSWERED[number]},
            },
        ]
        for entry in entries[-8:]:
            entry["timestamp"] = AT[number].replace("+00:00", "Z")
    path = home / ".codex/sessions/2026/03/01" / f"rollout-2026-03-01T09-00-00-{SESSION}.jsonl"
    return lines(path, *entries, rest='{"timestamp":"2026-03-01T09:06')


def codex_old(home: Path) -> Path:
    """Codex 0.147, its file compressed."""
    entries: list[dict[str, Any]] = [
        {"type": "session_meta", "payload": {"id": SESSION, "cwd": FOLDER, "source": "cli"}}
    ]
    for number in (0, 1):
        entries += [
            {"type": "event_msg", "payload": {"type": "user_message", "message": ASKED[number]}},
            _codex_item("user", ASKED[number]),
            _codex_item("assistant", ANSWERED[number], phase="final_answer"),
        ]
        for entry in entries[-3:]:
            entry["timestamp"] = AT[number]
    plain = lines(home / "plain.jsonl", *entries)
    path = home / ".codex/archived_sessions" / f"rollout-2026-03-01T09-00-00-{SESSION}.jsonl.zst"
    path.parent.mkdir(parents=True)
    with pa.output_stream(str(path), compression="zstd") as stream:
        stream.write(plain.read_bytes())
    return path


def codex_subagent(home: Path) -> Path:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": SESSION}}}
    return lines(
        home / ".codex/sessions/2026/03/01/rollout-2026-03-01T09-10-00-sub.jsonl",
        {"type": "session_meta", "payload": {"id": "sub", "cwd": FOLDER, "source": source}},
        {"type": "event_msg", "payload": {"type": "user_message", "message": "do a part of it"}},
    )


def _codex_item(role: str, text: str, **more: Any) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    payload = {"type": "message", "role": role, "content": [{"type": kind, "text": text}], **more}
    return {"type": "response_item", "payload": payload}


def copilot_cli(home: Path) -> Path:
    entries: list[dict[str, Any]] = [
        {
            "type": "session.start",
            "id": "e0",
            "data": {"sessionId": SESSION, "copilotVersion": "1.0.102", "context": {"cwd": FOLDER}},
        }
    ]
    for number in (0, 1):
        injected = f"{ASKED[number]}\n\n<system_reminder>what was recalled</system_reminder>"
        said = {"content": ASKED[number], "transformedContent": injected, "messageId": f"m{number}"}
        entries += [
            {"type": "hook.start", "id": f"h{number}", "data": {"input": {"prompt": ASKED[number]}}},
            {"type": "user.message", "id": f"u{number}", "data": said, "timestamp": AT[number]},
            {"type": "assistant.message", "id": f"a{number}", "data": {"content": ""}},
            {"type": "assistant.message", "id": f"b{number}", "data": {"content": ANSWERED[number]}},
        ]
    return lines(home / ".copilot/session-state" / SESSION / "events.jsonl", *entries)


def gemini_cli(home: Path) -> Path:
    document(home / ".gemini/projects.json", {"projects": {FOLDER: "api"}})
    context = {
        "id": "c0",
        "type": "user",
        "content": [{"text": "<session_context>\nsetup\n</session_context>"}],
    }
    entries: list[dict[str, Any]] = [
        {"sessionId": SESSION, "projectHash": "ab12", "startTime": AT[0], "kind": "main"},
        {"$set": {"messages": [context]}},
    ]
    for number in (0, 1):
        said = f"<hook_context>what was recalled</hook_context>\n\n{ASKED[number]}"
        entries += [
            {"id": f"u{number}", "timestamp": AT[number], "type": "user", "content": [{"text": said}]},
            {"id": f"g{number}", "timestamp": AT[number], "type": "gemini", "content": ""},
            {"id": f"g{number}", "timestamp": AT[number], "type": "gemini", "content": ANSWERED[number]},
            {"$set": {"lastUpdated": AT[number]}},
        ]
    return lines(home / ".gemini/tmp/api/chats/session-2026-03-01T09-00-ab12cd34.jsonl", *entries)


def gemini_cli_old(home: Path) -> Path:
    (home / ".gemini/tmp/api").mkdir(parents=True)
    (home / ".gemini/tmp/api/.project_root").write_text(FOLDER)
    messages = [
        {"id": f"{kind}{number}", "timestamp": AT[number], "type": kind, "content": texts[number]}
        for number in (0, 1)
        for kind, texts in (("user", ASKED), ("gemini", ANSWERED))
    ]
    return document(
        home / ".gemini/tmp/api/chats/session-2026-03-01T09-00-ab12cd34.json",
        {"sessionId": SESSION, "projectHash": "ab12", "startTime": AT[0], "messages": messages},
    )


def qwen_code(home: Path) -> Path:
    entries: list[dict[str, Any]] = []
    for number in (0, 1):
        about = {"sessionId": SESSION, "cwd": FOLDER, "timestamp": AT[number], "version": "0.24.4"}
        recalled = "<qwen:user-prompt-submit-context>\nwhat was recalled\n</qwen:user-prompt-submit-context>"
        said = [{"text": ASKED[number]}, {"text": recalled}]
        thought = [{"text": "hm", "thought": True}, {"text": ANSWERED[number]}]
        entries += [
            {
                "uuid": f"u{number}",
                "type": "user",
                "provenance": "real_user",
                **about,
                "message": {"role": "user", "parts": said},
            },
            {"uuid": f"s{number}", "type": "system", "provenance": "system", **about, "systemPayload": {}},
            {
                "uuid": f"a{number}",
                "type": "assistant",
                "provenance": "assistant_output",
                **about,
                "message": {"role": "model", "parts": thought},
            },
        ]
    return lines(home / ".qwen/projects/-w-api/chats" / f"{SESSION}.jsonl", *entries)


def antigravity(home: Path) -> Path:
    said = "<USER_REQUEST>\n{}\n</USER_REQUEST>\n<ADDITIONAL_METADATA>the time</ADDITIONAL_METADATA>"
    entries = [
        {
            "step_index": number * 2 + side,
            "source": source,
            "type": kind,
            "created_at": AT[number],
            "content": text,
        }
        for number in (0, 1)
        for side, source, kind, text in (
            (0, "USER_EXPLICIT", "USER_INPUT", said.format(ASKED[number])),
            (1, "MODEL", "PLANNER_RESPONSE", ANSWERED[number]),
        )
    ]
    logs = home / ".gemini/antigravity-cli/brain" / SESSION / ".system_generated/logs"
    return lines(logs / "transcript.jsonl", *entries)


def kiro(home: Path) -> Path:
    folder = home / ".kiro/sessions/w-api/sess_1"
    document(folder / "session.json", {"id": SESSION, "workspacePaths": [FOLDER]})
    entries = [
        {
            "id": f"{kind}{number}",
            "timestamp": AT[number],
            "payload": {"type": kind, "content": texts[number]},
        }
        for number in (0, 1)
        for kind, texts in (("user", ASKED), ("assistant", ANSWERED))
    ]
    return lines(folder / "messages.jsonl", *entries)


def kiro_cli(home: Path) -> Path:
    folder = home / ".kiro/sessions/cli"
    document(folder / f"{SESSION}.json", {"session_id": SESSION, "cwd": FOLDER})
    entries = [
        {
            "kind": kind,
            "data": {
                "message_id": f"{kind}{number}",
                "content": [{"kind": "text", "data": text}],
                "meta": {"timestamp": MS[number] / 1000},
            },
        }
        for number in (0, 1)
        for kind, text in (
            ("Prompt", ASKED[number]),
            ("AssistantMessage", ANSWERED[number][:9]),
            ("AssistantMessage", ANSWERED[number][9:]),
        )
    ]
    return lines(folder / f"{SESSION}.jsonl", *entries)


def cursor(home: Path) -> Path:
    path = home / ".config/Cursor/User/globalStorage/state.vscdb"
    headers = [{"bubbleId": f"b{n}{side}", "type": side} for n in (0, 1) for side in (1, 2)]
    composer = {
        "composerId": SESSION,
        "createdAt": MS[0],
        "lastUpdatedAt": MS[1],
        "fullConversationHeadersOnly": headers,
    }
    rows = [("composerData:" + SESSION, json.dumps(composer)), ("composerData:empty", None)]
    for number in (0, 1):
        user = {"type": 1, "text": ASKED[number], "timestamp": MS[number], "workspaceProjectDir": FOLDER}

        agent = {"type": 2, "rawText": ANSWERED[number]}
        rows += [
            (f"bubbleId:{SESSION}:b{number}1", json.dumps(user)),
            (f"bubbleId:{SESSION}:b{number}2", json.dumps(agent)),
        ]
    script = "CREATE TABLE cursorDiskKV (key TEXT UNIQUE, value BLOB); CREATE TABLE ItemTable (key TEXT, value BLOB);"
    insert = "INSERT INTO cursorDiskKV VALUES (?, ?)"
    return database(path, script, [(insert, row) for row in rows])


def cursor_old(home: Path) -> Path:
    """Cursor before composers: all chats of a workspace in one value."""
    folder = home / ".config/Cursor/User/workspaceStorage/4f2a"
    document(folder / "workspace.json", {"folder": f"file://{FOLDER}"})
    bubbles = [
        {"type": kind, "id": f"{kind}{number}", "text": texts[number]}
        for number in (0, 1)
        for kind, texts in (("user", ASKED), ("ai", ANSWERED))
    ]
    chats = {"tabs": [{"tabId": SESSION, "lastSendTime": MS[0], "bubbles": bubbles}]}
    return database(
        folder / "state.vscdb",
        "CREATE TABLE ItemTable (key TEXT, value BLOB);",
        [
            (
                "INSERT INTO ItemTable VALUES (?, ?)",
                ("workbench.panel.aichat.view.aichat.chatdata", json.dumps(chats)),
            )
        ],
    )


def cursor_cli(home: Path) -> Path:
    document(home / ".cursor/chats/9c/" / SESSION / "meta.json", {"cwd": FOLDER})
    entries = [
        {"role": role, "message": {"content": [{"type": "text", "text": text}]}}
        for number in (0, 1)
        for role, text in (
            ("user", f"<user_query>\n{ASKED[number]}\n</user_query>"),
            ("assistant", ANSWERED[number]),
        )
    ]
    folder = home / ".cursor/projects/w-api/agent-transcripts"
    return lines(folder / SESSION / f"{SESSION}.jsonl", *entries, {"type": "turn_ended", "status": "success"})


def _vscode_requests() -> list[dict[str, Any]]:
    return [
        {
            "requestId": f"r{number}",
            "timestamp": MS[number],
            "message": {"text": ASKED[number], "parts": []},
            "response": [
                {"kind": "toolInvocationSerialized", "toolId": "copilot_readFile"},
                {"value": ANSWERED[number][:7]},
                {"value": ANSWERED[number][7:]},
            ],
        }
        for number in (0, 1)
    ]


def _vscode_folder(home: Path) -> Path:
    folder = home / ".config/Code/User/workspaceStorage/a1b2"
    document(folder / "workspace.json", {"folder": f"file://{FOLDER}"})
    return folder / "chatSessions"


def vscode(home: Path) -> Path:
    """VS Code 1.110: a log of changes."""
    first, second = _vscode_requests()
    said, first["response"] = first["response"], []
    return lines(
        _vscode_folder(home) / f"{SESSION}.jsonl",
        {"kind": 0, "v": {"version": 3, "sessionId": SESSION, "creationDate": MS[0], "requests": []}},
        {"kind": 2, "k": ["requests"], "v": [first]},
        {"kind": 2, "k": ["requests", 0, "response"], "v": [{"value": "a draft"}]},
        {"kind": 2, "k": ["requests", 0, "response"], "v": said, "i": 0},
        {"kind": 2, "k": ["requests"], "v": [second]},
        {"kind": 1, "k": ["nowhere", 5, "x"], "v": 1},
        {"kind": 3, "k": ["creationDate"]},
        rest='{"kind":2,"k":["requ',
    )


def vscode_old(home: Path) -> Path:
    document_ = {"version": 3, "sessionId": SESSION, "creationDate": MS[0], "requests": _vscode_requests()}
    return document(_vscode_folder(home) / f"{SESSION}.json", document_)


_OPENCODE = """
CREATE TABLE session (id TEXT, project_id TEXT, parent_id TEXT, directory TEXT, time_created INT, time_updated INT);
CREATE TABLE message (id TEXT, session_id TEXT, time_created INT, time_updated INT, data TEXT);
CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, time_created INT, time_updated INT, data TEXT);
"""


def opencode(home: Path, name: str = "opencode") -> Path:
    rows: list[tuple[str, tuple[Any, ...]]] = [
        ("INSERT INTO session VALUES (?, 'p', NULL, ?, ?, ?)", (SESSION, FOLDER, *MS)),
        ("INSERT INTO session VALUES ('child', 'p', ?, ?, ?, ?)", (SESSION, FOLDER, *MS)),
    ]
    for number in (0, 1):
        at = MS[number]
        run = {"type": "tool", "tool": "bash", "state": {"input": {"command": "go test ./..."}}}
        for message, role, parts in (
            (
                f"m{number}1",
                "user",
                [
                    {"type": "text", "text": ASKED[number]},
                    {"type": "text", "text": "read a.go", "synthetic": True},
                ],
            ),
            (f"m{number}2", "assistant", [run, {"type": "text", "text": ANSWERED[number]}]),
        ):
            data = json.dumps({"role": role, "time": {"created": at}})
            rows.append(("INSERT INTO message VALUES (?, ?, ?, ?, ?)", (message, SESSION, at, at, data)))
            for place, part in enumerate(parts):
                values = (f"{message}p{place}", message, SESSION, at, at, json.dumps(part))
                rows.append(("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", values))
    return database(home / f".local/share/{name}/{name}.db", _OPENCODE, rows)


def opencode_second(home: Path) -> Path:
    script = """
    CREATE TABLE session_v2 (id TEXT, parent_id TEXT, directory TEXT, time_created INT, time_updated INT);
    CREATE TABLE session_message (id TEXT, session_id TEXT, type TEXT, seq INT, time_created INT, data TEXT);
    """
    rows: list[tuple[str, tuple[Any, ...]]] = [
        ("INSERT INTO session_v2 VALUES (?, NULL, ?, ?, ?)", (SESSION, FOLDER, *MS))
    ]
    for number in (0, 1):
        time = {"time": {"created": MS[number]}}
        for seq, kind, data in (
            (0, "user", {**time, "text": ASKED[number]}),
            (1, "assistant", {**time, "content": [{"type": "text", "text": ANSWERED[number]}]}),
        ):
            values = (f"m{number}{seq}", SESSION, kind, number * 2 + seq, MS[number], json.dumps(data))
            rows.append(("INSERT INTO session_message VALUES (?, ?, ?, ?, ?, ?)", values))
    return database(home / ".local/share/opencode/opencode.db", script, rows)


def opencode_files(home: Path) -> Path:
    """OpenCode before 1.2."""
    storage = home / ".local/share/opencode/storage"
    for number in (0, 1):
        for side, role, text in ((1, "user", ASKED[number]), (2, "assistant", ANSWERED[number])):
            name = f"msg_{number}{side}"
            about = {"id": name, "role": role, "time": {"created": MS[number]}}
            document(storage / "message" / SESSION / f"{name}.json", about)
            document(storage / "part" / name / "prt_1.json", {"type": "text", "text": text})
    return document(storage / "session/p" / f"{SESSION}.json", {"id": SESSION, "directory": FOLDER})


def kilo(home: Path) -> Path:
    return opencode(home, "kilo")


def cline(home: Path) -> Path:
    """Cline 3.0: the prompt in tags, the answer by a tool that ends the task."""
    messages: list[dict[str, Any]] = []
    for number in (0, 1):
        said = f'<user_input mode="act">{ASKED[number]}</user_input>'
        end = {"type": "tool_use", "name": "attempt_completion", "input": {"result": ANSWERED[number]}}
        result = [{"type": "tool_result", "tool_use_id": "x", "content": "done"}]
        messages += [
            {
                "id": f"u{number}",
                "role": "user",
                "content": [{"type": "text", "text": said}],
                "ts": MS[number],
            },
            {"id": f"a{number}", "role": "assistant", "content": [end], "ts": MS[number]},
            {"id": f"r{number}", "role": "user", "content": result, "ts": MS[number]},
        ]
    folder = home / ".cline/data/sessions" / SESSION
    document(folder / f"{SESSION}.json", {"session_id": SESSION, "cwd": FOLDER})
    return document(
        folder / f"{SESSION}.messages.json",
        {"version": 1, "agent": "lead", "sessionId": SESSION, "messages": messages},
    )


def roo(home: Path) -> Path:
    """Roo, and Cline before 3.0: tool calls are part of the text."""
    task = home / ".config/Code/User/globalStorage/rooveterinaryinc.roo-cline/tasks" / str(MS[0])
    document(
        task / "history_item.json", {"id": str(MS[0]), "ts": MS[0], "task": ASKED[0], "workspace": FOLDER}
    )
    notes = "<environment_details>\n# VSCode Visible Files\n</environment_details>"
    call = "<execute_command>\n<command>go test ./...</command>\n</execute_command>"
    done = f"<attempt_completion>\n<result>\n{ANSWERED[1]}\n</result>\n</attempt_completion>"

    def said(role: str, *texts: str) -> dict[str, Any]:
        return {"role": role, "content": [{"type": "text", "text": text} for text in texts]}

    return document(
        task / "api_conversation_history.json",
        [
            said("user", f"<task>\n{ASKED[0]}\n</task>", notes),
            said("assistant", f"<thinking>hm</thinking>\n{call}"),
            said("user", "[execute_command for 'go test ./...'] Result:", "FAIL", notes),
            said("assistant", ANSWERED[0]),
            said("user", f"<user_message>\n{ASKED[1]}\n</user_message>", notes),
            said("assistant", done),
        ],
    )


_GOOSE = """
CREATE TABLE sessions (id TEXT, description TEXT, session_type TEXT, working_dir TEXT, created_at TEXT, updated_at TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY, message_id TEXT, session_id TEXT, role TEXT, content_json TEXT,
    created_timestamp INT, timestamp TEXT);
"""


def goose(home: Path) -> Path:
    rows: list[tuple[str, tuple[Any, ...]]] = [
        (
            "INSERT INTO sessions VALUES (?, '', 'user', ?, ?, ?)",
            (SESSION, FOLDER, "2026-03-01 09:00:00", "2026-03-01 09:05:00"),
        ),
        ("INSERT INTO sessions VALUES ('sub', '', 'sub_agent', ?, ?, ?)", (FOLDER, *AT)),
    ]
    for number in (0, 1):
        call = {
            "status": "success",
            "value": {"name": "developer__shell", "arguments": {"command": "go test"}},
        }
        for role, content in (
            ("user", [{"type": "text", "text": ASKED[number]}]),
            ("assistant", [{"type": "toolRequest", "id": "x", "toolCall": call}]),
            ("user", [{"type": "toolResponse", "id": "x"}]),
            ("assistant", [{"type": "text", "text": ANSWERED[number]}]),
        ):
            values = (f"{role}{number}", SESSION, role, json.dumps(content), MS[number] // 1000)
            rows.append(("INSERT INTO messages VALUES (NULL, ?, ?, ?, ?, ?, '')", values))
    return database(home / ".local/share/goose/sessions/sessions.db", _GOOSE, rows)


def goose_old(home: Path) -> Path:
    """Goose before 1.10."""
    said = [
        {"role": role, "created": MS[number] // 1000, "content": [{"type": "text", "text": texts[number]}]}
        for number in (0, 1)
        for role, texts in (("user", ASKED), ("assistant", ANSWERED))
    ]
    path = home / ".local/share/goose/sessions" / f"{SESSION}.jsonl"
    return lines(path, {"description": "", "id": SESSION, "working_dir": FOLDER}, *said)


_ZED = "CREATE TABLE threads (id TEXT PRIMARY KEY, summary TEXT, updated_at TEXT, data_type TEXT, data BLOB{more});"


def zed(home: Path) -> Path:
    """Zed 1.16: documents compressed by zstd, columns added since."""
    messages: list[Any] = []
    for number in (0, 1):
        agent = [{"Thinking": {"text": "hm"}}, {"Text": ANSWERED[number]}]
        messages += [
            {"User": {"id": f"u{number}", "content": [{"Text": ASKED[number]}]}},
            {"Agent": {"content": agent, "tool_results": {}}},
            "Resume",
        ]
    body = json.dumps({"version": "0.3.0", "title": "Pool", "messages": messages}).encode()
    packed = pa.BufferOutputStream()
    with pa.CompressedOutputStream(packed, "zstd") as stream:
        stream.write(body)
    data = packed.getvalue().to_pybytes()
    insert = "INSERT INTO threads VALUES (?, '', ?, 'zstd', ?, ?, ?, ?)"
    return database(
        home / ".local/share/zed/threads/threads.db",
        _ZED.format(more=", parent_id TEXT, folder_paths TEXT, created_at TEXT"),
        [
            (insert, (SESSION, AT[1], data, None, f"{FOLDER}\n/w/other", AT[0])),
            (insert, ("child", AT[1], data, SESSION, FOLDER, AT[0])),
            (insert, ("damaged", AT[1], data[:20], None, FOLDER, AT[0])),
        ],
    )


def zed_old(home: Path) -> Path:
    messages = [
        {"id": number, "role": role, "segments": [{"type": "text", "text": texts[number]}]}
        for number in (0, 1)
        for role, texts in (("user", ASKED), ("assistant", ANSWERED))
    ]
    body = json.dumps({"version": "0.2.0", "summary": "Pool", "messages": messages})
    row = ("INSERT INTO threads VALUES (?, '', ?, 'json', ?)", (SESSION, AT[0], body))
    return database(home / ".local/share/zed/threads/threads.db", _ZED.format(more=""), [row])


def aider(home: Path) -> Path:
    text = ["# aider chat started at 2026-03-01 09:00:00", "", "> Aider v0.86", "", "#### /add pool.go", ""]
    for number in (0, 1):
        text += [f"#### {ASKED[number]}", "", ANSWERED[number], "", "> Tokens: 2k sent", ""]
    path = home / "w/.aider.chat.history.md"
    path.parent.mkdir(parents=True)
    path.write_text("\n".join(text))
    return path


def claude_ai(home: Path) -> Path:
    messages = [
        {
            "uuid": f"{sender}{number}",
            "sender": sender,
            "created_at": AT[number],
            "text": texts[number],
            "content": [],
        }
        for number in (0, 1)
        for sender, texts in (("human", ASKED), ("assistant", ANSWERED))
    ]
    conversation = {"uuid": SESSION, "name": "Pool", "updated_at": AT[1], "chat_messages": messages}
    path = home / "data-2026-03-01.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("users.json", "[]")
        archive.writestr("conversations.json", json.dumps([conversation, {"uuid": "empty"}]))
    return path


def chatgpt(home: Path) -> Path:
    nodes: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None}}
    before = "root"
    for number in (0, 1):
        for role, text in (("user", ASKED[number]), ("assistant", ANSWERED[number])):
            name = f"{role}{number}"
            message = {
                "id": name,
                "author": {"role": role},
                "create_time": MS[number] / 1000,
                "content": {"content_type": "text", "parts": [text]},
                "recipient": "all",
            }
            nodes[name] = {"id": name, "message": message, "parent": before}
            before = name
    branch = {"id": "x", "message": {**nodes["user0"]["message"], "id": "x"}, "parent": "root"}
    conversation = {"id": SESSION, "title": "Pool", "update_time": MS[1] / 1000, "current_node": before}
    return document(home / "conversations.json", [{**conversation, "mapping": {**nodes, "x": branch}}])


Maker = Callable[[Path], Path]
# Version of a host -> (its name, the maker of its store). Exports are given by path, the others are found.
MADE: dict[str, tuple[str, Maker]] = {
    "Claude Code 2.1": ("claude-code", claude_code),
    "Codex 0.169": ("codex", codex_new),
    "Codex 0.147": ("codex", codex_old),
    "Copilot CLI 1.0": ("copilot-cli", copilot_cli),
    "Gemini CLI 0.61": ("gemini-cli", gemini_cli),
    "Gemini CLI, a document": ("gemini-cli", gemini_cli_old),
    "Qwen Code 0.24": ("qwen-code", qwen_code),
    "Antigravity": ("antigravity", antigravity),
    "Kiro": ("kiro", kiro),
    "Kiro's command line": ("kiro", kiro_cli),
    "Cursor 3": ("cursor", cursor),
    "Cursor, chats of a workspace": ("cursor", cursor_old),
    "Cursor's command line": ("cursor", cursor_cli),
    "VS Code 1.110": ("vscode", vscode),
    "VS Code, a document": ("vscode", vscode_old),
    "OpenCode 1.18": ("opencode", opencode),
    "OpenCode, second tables": ("opencode", opencode_second),
    "OpenCode before 1.2": ("opencode", opencode_files),
    "Kilo 7.7": ("kilo", kilo),
    "Cline 3.0": ("cline", cline),
    "Roo": ("roo", roo),
    "Goose 1.38": ("goose", goose),
    "Goose before 1.10": ("goose", goose_old),
    "Zed 1.16": ("zed", zed),
    "Zed, older": ("zed", zed_old),
    "Aider": ("aider", aider),
    "claude.ai": ("claude-ai", claude_ai),
    "ChatGPT": ("chatgpt", chatgpt),
}
