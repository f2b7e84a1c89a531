"""`scrubjay import --from` as a user types it: what it finds, imports, leaves out and prints."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import stores_made as made
from user import User, make_project, make_user

from scrubjay.cli.parser import run
from scrubjay.histories.table import HISTORIES
from scrubjay.hosts.installation import console_command

pytestmark = pytest.mark.long

TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    """A user who worked in a project with several assistants before."""
    user = make_user(tmp_path_factory.mktemp("p"))
    at_work(user, user.folder)
    yield user
    user.types("stop")


def at_work(user: User, home: Path) -> None:
    """Create sessions of the user's project as several assistants would store them."""
    for number, name in enumerate(("Claude Code 2.1", "VS Code 1.110", "OpenCode 1.18")):
        made.make(name, home)
        store = next(path for path in home.rglob("*") if path.is_file() and _names(path, made.SESSION))
        replace(store, made.SESSION, f"session-{number}")
    for path in home.rglob("*"):
        if path.is_file() and "jay" not in path.parts:
            replace(path, made.FOLDER, str(user.project))


def _names(path: Path, text: str) -> bool:
    return "jay" not in path.parts and text.encode() in path.read_bytes()


def replace(path: Path, old: str, new: str) -> None:
    if path.suffix == ".db":
        import sqlite3

        with sqlite3.connect(path) as store:
            store.execute(
                "UPDATE session SET directory = ?, id = ? WHERE id = ?", (new, "s-db", made.SESSION)
            )
            for table in ("message", "part"):
                store.execute(f"UPDATE {table} SET session_id = 's-db'")
        store.close()
    elif old.encode() in path.read_bytes():
        path.write_bytes(path.read_bytes().replace(old.encode(), new.encode()))


def turn_lines(
    session: str, number: int, folder: Path | str, text: str, year: int = 2026
) -> list[dict[str, object]]:
    """A turn as Claude Code writes it."""
    line = {"sessionId": session, "cwd": str(folder), "timestamp": f"{year}-03-04T09:{number:02}:00Z"}
    asked, answered = {"role": "user", "content": text}, {"role": "assistant", "content": "It is done."}
    return [
        {**line, "type": "user", "uuid": f"{session}-{number}", "message": asked},
        {**line, "type": "assistant", "uuid": f"a-{session}-{number}", "message": answered},
    ]


def test_a_dry_run_counts_and_imports_nothing(past: User):
    page = past.gets("import", "--from", "all", "--dry-run")
    assert "together     6 turns of 3 sessions" in page
    assert "claude-code  ~/sparrow: 2 turns of 1 session\n" in page
    assert not (Path(past.home.root) / "data").exists()


def test_an_export_of_another_program_is_refused_with_the_reason(past: User):
    export = past.folder / "conversations.json"
    export.write_text('[{"uuid": "u", "chat_messages": [{"sender": "human", "text": "Which port?"}]}]')
    page = past.gets("import", "--from", "chatgpt", str(export))
    assert "a session in it has no id, so it may not be of chatgpt" in page
    assert "needs its name, as in `scrubjay import --from chatgpt FILE`" in past.refused(
        "import", str(export)
    )


def test_everything_is_imported_once_and_found(past: User):
    before = listing(past.folder)
    page = past.gets("import", "--from", "all")
    assert "together     6 turns of 3 sessions: 6 imported" in page
    assert "6 turns imported, or recorded by tools" in past.gets("status")
    assert "6 turns of 3 sessions: 0 imported, 6 already known" in past.gets("import", "--from", "all")
    answer = json.loads(past.gets("import", "--from", "vscode,opencode", "--json"))
    assert [(each["host"], each["known"]) for each in answer["projects"]] == [("opencode", 2), ("vscode", 2)]
    assert "2026-03-01" in past.gets("search", "which port does staging use")
    assert listing(past.folder) == before


def test_a_chat_that_cursor_writes_into_two_stores_is_imported_once(past: User, tmp_path: Path):
    made.make("Cursor 3", tmp_path)
    made.make("Cursor's command line", tmp_path)
    answer = json.loads(past.gets("import", "--from", "cursor", str(tmp_path), "--json"))
    counts = [(each["added"], each["known"]) for each in answer["projects"]]
    assert [sum(count) for count in zip(*counts, strict=True)] == [2, 2]


def listing(folder: Path) -> dict[str, int]:
    files = (path for path in folder.rglob("*") if path.is_file() and "jay" not in path.parts)
    return {str(path): path.stat().st_mtime_ns for path in files}


def test_turns_captured_by_hooks_are_not_imported_again(past: User, tmp_path: Path):
    past.says("How is the heron deployed?", "It is done.", session="live", turn=0)
    said = turn_lines("live", 0, past.project, "How is the heron deployed?")
    said[0]["promptId"] = "live-0"
    path = made.lines(tmp_path / "live.jsonl", *said)
    page = past.gets("import", "--from", "claude-code", str(path))
    assert page == "claude-code  ~/sparrow: 1 turn of 1 session: 0 imported, 1 already known\n"


def test_an_import_respects_since_secrets_excluded_folders_and_missing_projects(past: User, tmp_path: Path):
    hidden = past.folder / "hidden"
    hidden.mkdir()
    for number, (folder, year, text) in enumerate(
        (
            (past.project, 2026, f"Use {TOKEN} for the release."),
            (past.project, 2025, "What was said a year before."),
            (past.folder, 2026, "Said in the home folder itself."),
            (hidden, 2026, "Said where nothing is recorded."),
        )
    ):
        said = turn_lines(f"kept-{number}", 0, folder, text, year)
        made.lines(tmp_path / f"kept-{number}.jsonl", *said)
    past.gets("exclude", str(hidden))
    page = past.gets("import", "--from", "claude-code", str(tmp_path), "--since", "2026-01-01")
    assert "claude-code  ~/sparrow: 1 turn of 1 session: 1 imported\n" in page
    assert re.search(r"claude-code  ~/hidden: 1 turn of 1 session left out: the folder is excluded\n", page)
    assert "left out: /, your home folder itself" in page
    assert "together" not in page  # one project is left
    brief, whole = (
        turn_lines("brief", n, past.project, text, 2025) for n, text in enumerate(("ok", "Go on."))
    )
    made.lines(tmp_path / "brief.jsonl", brief[0], *whole)
    one_year = past.gets("import", "--from", "claude-code", str(tmp_path), "--since", "2026-01-01")
    assert "more left out" not in one_year  # what is too short there is from the year before
    assert "(1 more left out" in past.gets("import", "--from", "claude-code", str(tmp_path), "--dry-run")
    assert "1 secret" in page
    assert TOKEN not in past.gets("export")
    past.gets("pause")
    assert "Capture is switched off" in past.refused("import", "--from", "all")
    past.gets("resume")


def test_each_turn_is_judged_by_its_own_folder_and_time(past: User, tmp_path: Path):
    other, secret = past.folder / "other", past.folder / "clients"
    secret.mkdir()
    past.gets("exclude", str(secret))
    notes = [{"type": "summary", "leafUuid": f"l{number}"} for number in range(300)]
    folders = (past.project, secret, other, past.project)
    said = [turn_lines("moved", n, folder, f"Heron {n} was moved.") for n, folder in enumerate(folders)]
    made.lines(tmp_path / "moved.jsonl", *notes, *(each for pair in said for each in pair))
    nowhere = [{**line, "cwd": None} for line in turn_lines("nowhere", 0, "", "Heron 9 is nowhere.")]
    made.lines(tmp_path / "nowhere.jsonl", *nowhere)
    page = past.gets("import", "--from", "claude-code", str(tmp_path))
    assert "~/sparrow: 2 turns of 1 session: 2 imported" in page and "~/other: 1 turn" in page
    assert "left out: their folder is not known, and some folders are excluded" in page
    kept = [json.loads(line) for line in past.gets("export").splitlines()]
    herons = {turn["user"][6]: turn["scope"] for turn in kept if "Heron" in turn.get("user", "")}
    assert sorted(herons) == ["0", "2", "3"] and herons["0"] == herons["3"] != herons["2"]


def test_turns_said_during_a_pause_are_not_imported(past: User, tmp_path: Path):
    view = json.loads(Path(past.home.capture).read_text())
    view["pauses"] = [["2026-03-04T09:01:30Z", "2026-03-04T09:02:30Z"]]
    Path(past.home.capture).write_text(json.dumps(view))
    said = [turn_lines("paused", n, past.project, f"Egret {n} has landed.") for n in range(4)]
    made.lines(tmp_path / "paused.jsonl", *(each for pair in said for each in pair))
    past.gets("import", "--from", "claude-code", str(tmp_path))
    assert set(re.findall(r"Egret (\d)", past.gets("export"))) == {"0", "1", "3"}


def test_a_session_that_the_engine_refuses_does_not_block_the_others(past: User, tmp_path: Path):
    question = {"sender": "human", "uuid": "m", "text": "Which queue does the ibis use?"}
    answered = [question, {"sender": "assistant", "text": "The ibis uses RabbitMQ."}]
    odd = {"uuid": "odd", "chat_messages": [{**answered[0], "uuid": "\u0000"}, answered[1]]}
    sessions = [
        {"uuid": f"ibis-{number}", "chat_messages": [{**answered[0], "uuid": f"m{number}"}, answered[1]]}
        for number in range(3)
    ]
    made.document(tmp_path / "conversations.json", [odd, *sessions])
    page = past.gets("import", "--from", "claude-ai", str(tmp_path))
    assert "4 turns of 4 sessions: 3 imported" in page
    assert "1 file could not be read:\n  claude-ai odd: " in page


@pytest.mark.parametrize(
    ("name", "asked", "answered", "offered"),
    [
        ("heron-en", "Which queue does the heron use?", "It uses RabbitMQ.", False),
        ("heron-de", "Welche Warteschlange nimmt der Reiher?", "Er nimmt RabbitMQ.", True),
        ("heron-zh", "苍鹭使用哪个消息队列?", "它使用 RabbitMQ。", True),
    ],
)
def test_a_past_in_another_language_offers_the_multilingual_model(
    past: User, tmp_path: Path, name: str, asked: str, answered: str, *, offered: bool
):
    said = [{"sender": "human", "uuid": name, "text": asked}, {"sender": "assistant", "text": answered}]
    made.document(tmp_path / "conversations.json", [{"uuid": name, "chat_messages": said}])
    page = past.gets("import", "--from", "claude-ai", str(tmp_path))
    assert ("config model multilingual" in page) is offered


def test_a_deleted_project_keeps_its_scope(past: User, tmp_path: Path):
    gone = make_project(past.folder / "gone")
    path = made.make("Claude Code 2.1", tmp_path)
    replace(path, made.FOLDER, str(gone))
    replace(path, made.SESSION, "gone-1")
    replace(path, '"promptId": "p', '"promptId": "q')
    replace(path, "2026-03-01", "2026-03-02")
    scope = imported(past, path)
    assert scope.startswith("repo_gone__")
    shutil.rmtree(gone)
    replace(path, "gone-1", "gone-2")
    replace(path, '"promptId": "q', '"promptId": "r')
    replace(path, '"uuid": "', '"uuid": "later-')
    replace(path, "2026-03-02", "2026-03-03")
    replace(path, str(gone), str(gone / "cmd" / "heron"))
    assert imported(past, path) == scope


def imported(past: User, path: Path) -> str:
    answer = json.loads(past.gets("import", "--from", "claude-code", str(path), "--json"))
    (project,) = answer["projects"]
    assert project["added"] == 2
    return project["scope"]


def test_invalid_arguments_are_refused_in_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    env = {"SCRUBJAY_HOME": str(tmp_path / "jay")}

    def refused(*words: str) -> str:
        assert run(["import", *words], env) == 1
        return capsys.readouterr().err

    assert "Did you mean claude-code?" in refused("--from", "claude-cod")
    assert "Did you mean claude-ai or claude-code or claude-mem?" in refused("--from", "claude")
    assert "There is no file or folder" in refused("--from", "codex", "/nowhere")
    assert "--from takes all, claude-code," in refused("--from", "nobody")
    assert "name it with --from" in refused("--from", "zed,goose", str(tmp_path))
    assert "--since = 'soonish'" in refused("--from", "all", "--since", "soonish")
    assert "`scrubjay import --from all`" in refused()
    for scope in ("two words", "*"):
        assert f"--scope = '{scope}': must be 1 to 100 letters" in refused("--from", "zed", "--scope", scope)
    (tmp_path / "threads.db").write_bytes(b"SQLite format 3\x00 and then nothing of it")
    assert run(["import", "--from", "zed", str(tmp_path)], env) == 0
    page = capsys.readouterr().out
    assert "Nothing to import was found in" in page and "1 file could not be read" in page
    assert run(["import", "--from", "zed", "--since", "3000-01-01", str(tmp_path)], env) == 0
    assert f"Nothing to import was found in {tmp_path} since 3000-01-01." in capsys.readouterr().out


def test_a_file_that_the_user_names_is_read_whatever_its_name_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    env = {"SCRUBJAY_HOME": str(tmp_path / "jay"), "HOME": str(tmp_path)}
    chat = tmp_path / "chat.json"  # as VS Code's "Export Chat" names it
    request = {"message": {"text": made.ASKED[0]}, "response": [{"value": made.ANSWERED[0]}]}
    chat.write_text(json.dumps({"requests": [request]}))
    assert run(["import", "--from", "vscode", str(chat), "--dry-run"], env) == 0
    assert "1 turn of 1 session" in capsys.readouterr().out
    assert run(["import", "--from", "zed", str(chat), "--dry-run"], env) == 0
    assert "file is not a database" in capsys.readouterr().out


def test_an_import_without_a_find_names_the_searched_programs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    env = {"SCRUBJAY_HOME": str(tmp_path / "jay"), "HOME": str(tmp_path)}
    assert run(["import", "--from", "all"], env) == 0
    found, advice = capsys.readouterr().out.splitlines()
    assert all(history.host in found for history in HISTORIES)
    assert "--from NAME PATH" in advice


@pytest.mark.long
def test_an_import_that_is_killed_at_any_moment_is_completed_by_another(tmp_path: Path):
    user = make_user(tmp_path)
    for session in range(60):
        said = []
        for number in range(8):
            text = f"What is step {number} of heron {session}?"
            ask, reply = turn_lines(f"s{session}", number, f"/w/p{session % 3}", text)
            said += [ask | {"promptId": f"{session}-{number}"}, reply]
        made.lines(user.folder / f".claude/projects/p{session % 3}/s{session}.jsonl", *said)
    command = [*console_command(), "import", "--from", "claude-code"]
    chance = random.Random(5)
    try:
        for attempt in range(4):
            importing = subprocess.Popen(command, env=user.env, cwd=user.project, stdout=subprocess.DEVNULL)
            with suppress(subprocess.TimeoutExpired):
                importing.wait(chance.uniform(0.4, 2.5))
            if attempt % 2:
                importing.kill()
            facts = json.loads(user.gets("status", "--json"))
            if facts["engine"]:
                os.kill(facts["engine"]["pid"], signal.SIGKILL)
            importing.kill()
            importing.wait()
        assert "together     480 turns of 60 sessions" in user.gets("import", "--from", "all")
        rows = [json.loads(line) for line in user.gets("export").splitlines()[1:]]
        said = [(row["session_id"], row["prompt_id"]) for row in rows if row["kind"] == "turn"]
        assert len(said) == len(set(said)) == 480
        assert all(row["assistant"] for row in rows if row["kind"] == "turn")
    finally:
        user.types("stop")
