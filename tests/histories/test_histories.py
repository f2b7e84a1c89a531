"""Reading the stores of other programs: complete, half written, damaged, in use; on three systems."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from contextlib import suppress
from pathlib import Path

import pytest
import stores_made as made
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.histories.disk import Disk, files_below
from scrubjay.histories.memory_files import STORES as NOTES
from scrubjay.histories.stored import Fact, History, Session, instant, with_keys
from scrubjay.histories.table import HISTORIES
from scrubjay.hosts.machine import Machine

UNREADABLE = (OSError, ValueError, LookupError, sqlite3.Error)
BY_NAME = {history.host: history for history in HISTORIES}


def machine(home: Path, *projects: Path) -> Machine:
    return Machine({}, str(home), "linux", tuple(map(str, projects)))


def sessions(history: History, disk: Disk, places: list[str]) -> list[Session | Fact]:
    files = (each for place in places for each in files_below(place, history.fits, history.deep))
    return [each for path, at in files for stored in history.stored(disk, path, at) for each in read(stored)]


def read(stored) -> list[Session | Fact]:
    with suppress(*UNREADABLE):
        return list(stored.read())
    return []


def sessions_in(host: str, folder: Path) -> list[Session]:
    with Disk(str(folder)) as disk:
        return [each for each in sessions(BY_NAME[host], disk, [str(folder)]) if isinstance(each, Session)]


@pytest.mark.parametrize("version", made.HISTORIES)
def test_the_turns_of_a_session_are_read_with_their_times_and_project(version: str, tmp_path: Path):
    host, path = made.HISTORIES[version]["host"], made.make(version, tmp_path)
    history = BY_NAME[host]
    places = list(history.places(machine(tmp_path, tmp_path / "w"))) or [str(path)]
    with Disk(str(tmp_path)) as disk:
        (session,) = [each for each in sessions(history, disk, places) if each.turns]
    assert session.host == host
    assert [turn["prompts"] for turn in session.turns] == [[text] for text in made.ASKED]
    assert [turn["assistant"] for turn in session.turns] == list(made.ANSWERED)
    assert all(turn["complete"] for turn in session.turns)
    if host == "aider":
        assert session.folder == str(tmp_path / "w")
        assert session.turns[0]["started_at"].startswith("2026-03-01T09:00:00")
        return
    assert session.id == (made.SESSION if version != "Roo" else str(made.MS[0]))
    nowhere = host in ("claude-ai", "chatgpt", "antigravity") or version == "Zed, older"
    assert session.folder == (None if nowhere else made.FOLDER)
    if version != "Cursor's command line":  # whose lines have no times
        assert session.turns[0]["started_at"].replace("Z", "+00:00") == made.AT[0]


def test_commands_are_recorded_as_the_hooks_record_them(tmp_path: Path):
    for name in ("OpenCode 1.18", "Roo", "Goose 1.38"):
        made.make(name, tmp_path)
    first = {host: sessions_in(host, tmp_path)[0].turns[0] for host in ("opencode", "roo", "goose")}
    commands = {host: (turn["tools"], turn["commands"]) for host, turn in first.items()}
    assert commands == {
        "opencode": (["bash"], ["go test ./..."]),
        "roo": (["execute_command"], ["go test ./..."]),
        "goose": (["developer__shell"], ["go test"]),
    }


def test_a_codex_fork_names_its_parents_turns_and_the_folder_of_each(tmp_path: Path):
    def line(at: str, kind: str, **payload: object) -> dict[str, object]:
        return {"timestamp": f"2026-03-02T{at}Z", "type": kind, "payload": payload}

    def turn(at: str, number: int, folder: str) -> list[dict[str, object]]:
        return [
            line(at, "turn_context", turn_id=f"t{number}", cwd=folder),
            line(at, "event_msg", type="user_message", message=f"Move heron {number}."),
            line(at, "event_msg", type="agent_message", message="Moved."),
        ]

    made.lines(
        tmp_path / "rollout-2026-03-02T09-00-00-fork.jsonl",
        line("09:00:00.100", "session_meta", id="fork", forked_from_id="parent", cwd="/w/api"),
        line("09:00:00.100", "session_meta", id="parent", cwd="/w/api"),
        *turn("09:00:00.900", 0, "/w/api"),
        *turn("09:00:01.300", 1, "/w/secret"),
        *turn("09:00:20.000", 2, "/w/api"),
    )
    found = {session.id: session.turns for session in sessions_in("codex", tmp_path)}
    assert {name: [turn["prompt_id"] for turn in turns] for name, turns in found.items()} == {
        "parent": ["t0", "t1"],
        "fork": ["t2"],
    }
    assert [list(turn["folders"]) for turn in found["parent"]] == [["/w/api"], ["/w/secret"]]


def test_a_fork_of_claude_code_names_what_it_copied(tmp_path: Path):
    source = {"sessionId": "parent", "messageUuid": "u0"}
    line = {"type": "user", "uuid": "u9", "sessionId": "fork", "forkedFrom": source, "cwd": "/w/api"}
    made.lines(tmp_path / "fork.jsonl", {**line, "message": {"role": "user", "content": "Move the heron."}})
    (session,) = sessions_in("claude-code", tmp_path)
    assert (session.id, session.turns[0]["uuid"]) == ("parent", "u0")


def test_sessions_of_subagents_are_left_out(tmp_path: Path):
    source = {"subagent": {"thread_spawn": {"parent_thread_id": made.SESSION}}}
    made.lines(
        tmp_path / "rollout-2026-03-01T09-10-00-sub.jsonl",
        {"type": "session_meta", "payload": {"id": "sub", "cwd": made.FOLDER, "source": source}},
        {"type": "event_msg", "payload": {"type": "user_message", "message": "do a part of it"}},
    )
    assert sessions_in("codex", tmp_path) == []


def test_an_aider_history_may_quote_its_own_marks(tmp_path: Path):
    answer = "Like this:\n```\n#### no prompt\n> no note\n```"
    text = (
        f"# aider chat started at 2026-03-01 09:00:00\n\n#### Show me a page.\n\n{answer}\n\n> Tokens: 2k\n"
    )
    (tmp_path / ".aider.chat.history.md").write_text(text)
    (session,) = sessions_in("aider", tmp_path)
    assert [(turn["prompts"], turn["assistant"]) for turn in session.turns] == [(["Show me a page."], answer)]


def listing(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path): (path.stat().st_mtime_ns, path.stat().st_size)
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("journal", ["WAL", "DELETE"])
def test_a_store_in_use_is_read_to_its_last_commit_and_left_unchanged(journal: str, tmp_path: Path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    home = tmp_path / "home"
    path = made.make("Cursor 3", home)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute(f"PRAGMA journal_mode={journal}")
    other.execute("PRAGMA wal_autocheckpoint=0")
    said = '{"type":1,"text":"Said a moment ago."}'
    other.execute("UPDATE cursorDiskKV SET value=? WHERE key LIKE 'bubbleId:%:b01'", (said,))
    other.execute("BEGIN IMMEDIATE")  # the other program is about to write
    before = listing(home)
    with Disk(str(scratch)) as disk:
        history = BY_NAME["cursor"]
        found = sessions(history, disk, list(history.places(machine(home))))
        (session,) = [each for each in found if each.turns]
        assert session.turns[0]["prompts"] == ["Said a moment ago."]
    assert listing(home) == before
    assert list(scratch.iterdir()) == []
    other.execute("COMMIT")
    other.close()


def test_reading_an_idle_store_creates_no_file_next_to_it(tmp_path: Path):
    path = made.make("OpenCode 1.18", tmp_path)
    with sqlite3.connect(path) as other:
        other.execute("PRAGMA journal_mode=WAL")
    other.close()
    before = listing(tmp_path)
    with Disk(str(tmp_path / "none")) as disk:
        history = BY_NAME["opencode"]
        assert len(sessions(history, disk, list(history.places(machine(tmp_path))))) == 1
    assert listing(tmp_path) == before


def test_times_are_read_in_seconds_milliseconds_and_iso():
    assert instant(1772355600) == instant(1772355600000) == instant("2026-03-01T09:00:00Z") == made.AT[0]
    assert [instant(each) for each in ("soon", None, True, -5, 10**30, {})] == [None] * 6


def test_a_turn_without_an_id_has_a_key_that_is_stable_as_the_session_grows():
    def turn(text: str) -> dict:
        return {"prompt_id": None, "uuid": None, "prompts": [text], "assistant": ""}

    said = [turn("go on"), turn("go on"), turn("stop")]
    keys = [key for key, _ in with_keys("s", said)]
    assert len(set(keys)) == 3
    assert [key for key, _ in with_keys("s", [*said, turn("go on")])][:3] == keys


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(
    "requests response message text value kind k v i messages content role type User Agent Text parts id ts "
    "chat_messages mapping current_node author sender bubbles payload item data".split()
)
SHAPES = st.recursive(
    JSON, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5)
)


@given(shape=SHAPES)
def test_any_json_in_a_file_is_read_or_skipped(shape, tmp_path_factory):
    folder = tmp_path_factory.mktemp("shapes")
    files = {
        "vscode": folder / "chatSessions/a.json",
        "cline": folder / "s/s.messages.json",
        "roo": folder / "tasks/1/api_conversation_history.json",
        "claude-ai": folder / "conversations.json",
        "chatgpt": folder / "conversations.json",
        "goose": folder / "g.jsonl",
        "codex": folder / "rollout-x.jsonl",
        "gemini-cli": folder / "session-x.json",
    }
    with Disk(str(folder)) as disk:
        for host, path in files.items():
            made.document(path, shape)
            sessions(BY_NAME[host], disk, [str(path)])
        log = made.lines(folder / "chatSessions/b.jsonl", {"kind": 0, "v": {"requests": []}}, shape)
        sessions(BY_NAME["vscode"], disk, [str(log)])


STORES = {"cursor": "Cursor 3", "opencode": "OpenCode 1.18", "goose": "Goose 1.38", "zed": "Zed 1.16"}
VALUES = (
    st.none() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text(max_size=5) | st.binary(max_size=5)
)


@given(host=st.sampled_from(sorted(STORES)), which=st.integers(0, 99), value=VALUES | st.just('{"a":[1,{}]}'))
def test_any_value_in_a_column_is_read_or_skipped(host, which, value, tmp_path_factory):
    path = made.make(STORES[host], tmp_path_factory.mktemp("columns"))
    with sqlite3.connect(path) as store:
        tables = [row[0] for row in store.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        columns = [
            (table, row[1])
            for table in tables
            if not table.startswith("sqlite_")
            for row in store.execute(f"PRAGMA table_info({table})")
        ]
        table, column = columns[which % len(columns)]
        with suppress(sqlite3.IntegrityError):
            store.execute(f"UPDATE {table} SET {column} = ?", (value,))
    store.close()
    with Disk(str(path.parent)) as disk, suppress(*UNREADABLE):
        for session in sessions(BY_NAME[host], disk, [str(path)]):
            assert isinstance(session.id, str)
            assert all(isinstance(key, str) for key, _ in with_keys(session.id, session.turns))


def test_paths_follow_the_operating_system():
    def where(platform: str, host: str, **env: str) -> list[str]:
        user_home = r"C:\Users\kim" if platform == "win32" else "/home/kim"
        return list(BY_NAME[host].places(Machine(env, user_home, platform)))

    assert where("linux", "cursor")[0] == "/home/kim/.config/Cursor/User/globalStorage/state.vscdb"
    assert where("darwin", "cursor")[0].startswith("/home/kim/Library/Application Support/Cursor/User/")
    assert where("win32", "cursor")[0].startswith(r"C:\Users\kim\AppData\Roaming\Cursor\User\globalStorage")
    assert where("linux", "codex", CODEX_HOME="/c") == ["/c/sessions", "/c/archived_sessions"]
    assert where("win32", "codex")[0] == r"C:\Users\kim\.codex\sessions"
    assert where("linux", "opencode", XDG_DATA_HOME="/d") == ["/d/opencode"]
    assert where("win32", "zed", LOCALAPPDATA=r"D:\l") == [r"D:\l\Zed\threads\threads.db"]
    assert where("darwin", "zed") == ["/home/kim/Library/Application Support/Zed/threads/threads.db"]
    assert where("win32", "goose")[0].endswith(r"Roaming\Block\goose\data\sessions")
    assert r"C:\Users\kim\AppData\Roaming\Code\User\workspaceStorage" in where("win32", "vscode")


def test_the_imports_page_names_every_program():
    page = Path(__file__).parents[2].joinpath("server/docs/past.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| ([a-z0-9, -]+) \|", page, re.MULTILINE)
    assert {*BY_NAME, *NOTES} == {name for each in named for name in each.split(", ")}


def test_a_damaged_database_is_not_a_store(tmp_path: Path):
    path = made.make("Goose 1.38", tmp_path)
    path.write_bytes(path.read_bytes()[:5000])
    os.truncate(path, 3000)
    with Disk(str(tmp_path)) as disk, pytest.raises(sqlite3.Error):
        list(BY_NAME["goose"].stored(disk, str(path), 0.0))


def test_a_reference_in_an_answer_of_vs_code_is_its_name(tmp_path: Path):
    pool = {"path": "/w/api/pool.go", "scheme": "file"}
    answer = [
        {"value": "See "},
        {"kind": "inlineReference", "inlineReference": pool},
        {"value": ", "},
        {"kind": "inlineReference", "inlineReference": {"uri": pool, "range": {}}},
        {"value": " and "},
        {"kind": "inlineReference", "inlineReference": {"name": "newPool", "location": {"uri": pool}}},
        {"kind": "thinking", "value": "hm"},
        {"kind": "markdownVuln", "content": {"value": "."}},
    ]
    request = {"message": {"text": made.ASKED[0]}, "response": answer}
    made.document(tmp_path / "chatSessions/s.json", {"sessionId": "s", "requests": [request]})
    (session,) = sessions_in("vscode", tmp_path)
    assert session.turns[0]["assistant"] == "See `pool.go`, `pool.go` and `newPool`."


def test_what_vs_code_answers_after_a_tool_is_a_paragraph_of_its_own(tmp_path: Path):
    answer = [
        {"value": "I look at the"},
        {"value": " pool."},
        {"kind": "toolInvocationSerialized"},
        {"value": "It leaks."},
    ]
    request = {"message": {"text": made.ASKED[0]}, "response": answer}
    made.document(tmp_path / "chatSessions/s.json", {"sessionId": "s", "requests": [request]})
    (session,) = sessions_in("vscode", tmp_path)
    assert session.turns[0]["assistant"] == "I look at the pool.\n\nIt leaks."


def test_a_mention_in_a_prompt_of_zed_is_its_name_in_place(tmp_path: Path):
    blocks = [
        {"Text": "Look at "},
        {"Mention": {"uri": {"File": {"abs_path": "/w/api/pool.go"}}, "content": "package pool"}},
        {"Text": " and "},
        {"Mention": {"uri": {"Symbol": {"abs_path": "/w/a.go", "name": "poll"}}, "content": "func"}},
        {"Mention": {"uri": {"Selection": {"line_range": {"start": 1, "end": 2}}}, "content": "x"}},
        {"Mention": {"uri": "PastedImage", "content": ""}},
        {"Text": "."},
    ]
    thread = {
        "messages": [{"User": {"id": "u", "content": blocks}}, {"Agent": {"content": [{"Text": "Yes."}]}}]
    }
    made.database(
        tmp_path / "threads.db",
        "CREATE TABLE threads (id TEXT, updated_at TEXT, data_type TEXT, data BLOB);"
        f"INSERT INTO threads VALUES ('t', '{made.AT[0]}', 'json', '{json.dumps(thread)}');",
    )
    (session,) = sessions_in("zed", tmp_path)
    assert session.turns[0]["prompts"] == ["Look at @pool.go and @poll."]


def test_a_compaction_of_opencode_is_the_sessions_summary_and_the_answer_goes_on_after_it(tmp_path: Path):
    storage = tmp_path / "storage"
    made.document(storage / "session/p/s.json", {"id": "s", "directory": made.FOLDER})
    run = {"type": "tool", "tool": "bash", "callID": "c", "state": {"input": {"command": "make"}}}
    messages = [
        ({"role": "user"}, [{"type": "text", "text": made.ASKED[0]}]),
        ({"role": "assistant"}, [{"type": "text", "text": "I look."}, run]),
        ({"role": "user"}, [{"type": "compaction", "auto": True}]),
        ({"role": "assistant", "summary": True}, [{"type": "text", "text": "## Goal: the pool"}]),
        ({"role": "user"}, [{"type": "text", "text": "Continue.", "synthetic": True}]),
        ({"role": "assistant"}, [{"type": "text", "text": made.ANSWERED[0]}]),
    ]
    for number, (about, parts) in enumerate(messages):
        made.document(storage / f"message/s/m{number}.json", {"id": f"m{number}", **about})
        for at, part in enumerate(parts):
            made.document(storage / f"part/m{number}/p{at}.json", part)
    (storage / "part/m5/p1.json").write_text('{"type": "te')  # half written
    (session,) = sessions_in("opencode", tmp_path)
    (turn,) = session.turns
    assert turn["assistant"] == f"I look.\n\n{made.ANSWERED[0]}"
    assert turn["recap"] == "## Goal: the pool"


def test_the_marks_of_chatgpt_in_an_answer_are_what_the_reader_saw(tmp_path: Path):
    answer = (
        'In \ue200entity\ue202["city","Lagos","in Nigeria"]\ue201 too \ue200cite\ue202turn0search1\ue202turn0search2'
        "\ue201. See \ue200url\ue202the docs\ue202turn0search3\ue201.\ue200navlist\ue202More\ue202turn0news1\ue201"
    )
    turn = chatgpt_turn(tmp_path, {"content": {"parts": [made.ASKED[0]]}}, {"content": {"parts": [answer]}})
    assert turn["assistant"] == "In Lagos too. See the docs."


def chatgpt_turn(folder: Path, asked: dict[str, object], answered: dict[str, object]) -> dict[str, object]:
    """The turn that is read from an export with these two messages."""
    nodes = {
        "a": {"message": {"author": {"role": "user"}, **asked}},
        "b": {"parent": "a", "message": {"author": {"role": "assistant"}, **answered}},
    }
    conversation = {"id": "c", "title": "The pool", "current_node": "b", "mapping": nodes}
    made.document(folder / "conversations.json", [conversation])
    (session,) = sessions_in("chatgpt", folder)
    (turn,) = session.turns
    assert turn["title"] == "The pool"
    return turn


def test_a_spoken_conversation_of_chatgpt_is_read_by_its_transcription(tmp_path: Path):
    def spoken(text: str) -> dict[str, object]:
        parts = [
            {"content_type": "audio_transcription", "text": text, "direction": "in"},
            {"content_type": "real_time_user_audio_video_asset_pointer", "audio_asset_pointer": {}},
        ]
        return {"content": {"content_type": "multimodal_text", "parts": parts}}

    turn = chatgpt_turn(tmp_path, spoken(made.ASKED[0]), spoken(made.ANSWERED[0]))
    assert (turn["prompts"], turn["assistant"]) == ([made.ASKED[0]], made.ANSWERED[0])


def test_a_picture_alone_is_a_prompt_in_vs_code_and_a_file_alone_in_chatgpt(tmp_path: Path):
    picture = {"variables": [{"kind": "image", "name": "Pasted Image", "value": {}}]}
    request = {"message": {"text": ""}, "variableData": picture, "response": [{"value": made.ANSWERED[0]}]}
    made.document(tmp_path / "chatSessions/s.json", {"sessionId": "s", "requests": [request]})
    (session,) = sessions_in("vscode", tmp_path)
    asked = {"content": {"parts": [""]}, "metadata": {"attachments": [{"name": "pool.csv"}]}}
    for turn in (*session.turns, chatgpt_turn(tmp_path, asked, {"content": {"parts": [made.ANSWERED[0]]}})):
        assert (turn["prompts"], turn["assistant"]) == (["[image]"], made.ANSWERED[0])


def test_a_text_pasted_into_claude_ai_belongs_to_the_prompt_and_a_file_does_not(tmp_path: Path):
    pasted = [{"file_name": name, "extracted_content": f"Pasted as {name!r}."} for name in ("", "paste.txt")]
    report = {"file_name": "report.pdf", "extracted_content": "A long report."}
    messages = [
        {"sender": "human", "uuid": str(number), "text": text, "attachments": attachments}
        for number, (text, attachments) in enumerate(
            [("", pasted[:1]), ("Why?", [pasted[1], report]), ("", [report])]
        )
    ]
    made.document(tmp_path / "conversations.json", [{"uuid": "c", "chat_messages": messages}])
    (session,) = sessions_in("claude-ai", tmp_path)
    assert [turn["prompts"] for turn in session.turns] == [
        ["Pasted as ''."],
        ["Why?\n\nPasted as 'paste.txt'."],
        ["[image]"],
    ]


def test_an_answer_of_claude_ai_without_a_text_is_no_answer(tmp_path: Path):
    artifact = {"type": "tool_use", "name": "artifacts", "input": {"content": "A page."}}
    text = "```\nThis block is not supported on your current device yet.\n```"
    messages = [
        {"sender": "human", "uuid": "m", "text": made.ASKED[0]},
        {"sender": "assistant", "uuid": "a", "text": text, "content": [artifact]},
    ]
    made.document(tmp_path / "conversations.json", [{"uuid": "c", "chat_messages": messages}])
    (session,) = sessions_in("claude-ai", tmp_path)
    assert [(turn["prompts"], turn["assistant"]) for turn in session.turns] == [([made.ASKED[0]], "")]


def test_a_prompt_that_cursor_keeps_only_as_rich_text_is_read(tmp_path: Path):
    path = made.make("Cursor 3", tmp_path)
    lines = [
        [{"text": "Why does "}, {"type": "mention", "text": "@pool.go"}, {"text": " leak?"}],
        [{"text": "It must"}, {"type": "linebreak"}, {"text": "not."}],
    ]
    root = {"type": "root", "children": [{"type": "paragraph", "children": line} for line in lines]}
    bubble = {"type": 1, "text": "", "richText": json.dumps({"root": root})}
    with sqlite3.connect(path) as store:
        store.execute(
            "UPDATE cursorDiskKV SET value = ? WHERE key LIKE '%:b11'",
            (json.dumps(bubble),),
        )
    store.close()
    session, _ = sessions_in("cursor", tmp_path)
    assert session.turns[1]["prompts"] == ["Why does @pool.go leak?\nIt must\nnot."]


def test_a_task_that_another_task_of_roo_started_has_no_words_of_the_user(tmp_path: Path):
    messages = [{"role": "user", "content": "<task>Write only the parser.</task>"}]
    for name, parent in (("1", {}), ("2", {"parentTaskId": "1"})):
        made.document(tmp_path / f"tasks/{name}/api_conversation_history.json", messages)
        made.document(tmp_path / f"tasks/{name}/history_item.json", {"id": name, "ts": 1, **parent})
    assert [session.id for session in sessions_in("roo", tmp_path)] == ["1"]


def test_what_a_tool_of_roo_read_is_not_what_the_user_said(tmp_path: Path):
    def said(*texts: str) -> dict[str, object]:
        return {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}

    def run(tool: str, output: str) -> list[dict[str, object]]:
        call = {"type": "tool_use", "id": f"{tool}-{len(output)}", "name": tool, "input": {}}
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": output}
        return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]

    denied = "The user denied this operation and provided the following feedback:"
    messages = [
        said("<task>Read the feedback.</task>"),
        *run("read_file", "<answer>42</answer>"),
        *run("read_file", "1 | <feedback>\n2 | Slow.</feedback>"),
        *run("ask_followup_question", "<answer>\nThe blue one.\n</answer>"),
        *run("execute_command", f"{denied}\n<feedback>\nKeep it.\n</feedback>"),
        said("[read_file for 'a.xml'] Result:", "<task>Sell.</task>"),
        said("[ask_followup_question for 'Which?'] Result:\n\n<answer>\nThe red one.\n</answer>"),
    ]
    made.document(tmp_path / "tasks/1/api_conversation_history.json", messages)
    (session,) = sessions_in("roo", tmp_path)
    assert [turn["prompts"] for turn in session.turns] == [
        ["Read the feedback."],
        ["The blue one."],
        ["Keep it."],
        ["The red one."],
    ]


@pytest.mark.parametrize("role", ["assistant", "user"])
def test_a_condensed_context_of_roo_is_the_sessions_summary(role: str, tmp_path: Path):
    def message(role: str, text: str, **more: bool) -> dict[str, object]:
        return {"role": role, "content": [{"type": "text", "text": text}], **more}

    messages = [
        message("user", f"<task>{made.ASKED[0]}</task>"),
        message("assistant", made.ANSWERED[0]),
        message(role, "## Goal: the pool", isSummary=True),
        message("user", f"<user_message>{made.ASKED[1]}</user_message>"),
        message("assistant", made.ANSWERED[1]),
    ]
    made.document(tmp_path / "tasks/1/api_conversation_history.json", messages)
    (session,) = sessions_in("roo", tmp_path)
    assert [(turn["prompts"], turn["assistant"]) for turn in session.turns] == [
        ([asked], answered) for asked, answered in zip(made.ASKED, made.ANSWERED, strict=True)
    ]
    assert session.turns[-1]["recap"] == "## Goal: the pool"
