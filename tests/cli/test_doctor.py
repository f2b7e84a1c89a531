"""The doctor as a user sees it: a healthy home, broken ones, and clients that lack something."""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from user import make_user, newcomer, user

from scrubjay.cli.command import Place
from scrubjay.cli.doctor import guarded, http, spool
from scrubjay.cli.registered import described
from scrubjay.home.paths import open_home
from scrubjay.hosts.installation import console_command
from scrubjay.http_api import tokens

pytestmark = pytest.mark.long

__all__ = ["newcomer", "user"]  # fixtures


def test_the_doctor_finds_nothing_wrong_in_a_healthy_home_and_leaves_nothing_behind(user):
    done = user.types("doctor")
    assert done.returncode == 0, done.stdout
    assert "PROBLEM" not in done.stdout
    for what in ("home", "settings", "model", "engine", "store", "round trip", "spool"):
        assert re.search(rf"^ok +{what} ", done.stdout, re.MULTILINE), what
    assert "doctor" not in user.gets("list", "--all", "--last", "100")
    assert not [name for name in os.listdir(user.home.prompts) if name.startswith("doctor")]
    assert "nothing to undo" in user.refused("undo")


def test_the_doctor_names_what_each_client_lacks(user, monkeypatch):
    servers = {"mcpServers": {"memory": {"command": console_command()[0], "args": ["stdio"]}}}
    (user.folder / ".claude.json").write_text(json.dumps(servers))
    (user.folder / ".cursor").mkdir(exist_ok=True)
    nowhere = {"mcpServers": {"scrubjay": {"command": "/nowhere/scrubjay"}}}
    (user.folder / ".cursor" / "mcp.json").write_text(json.dumps(nowhere))
    page = user.types("doctor").stdout
    assert "Claude Code" in page and "lacks the hooks" in page
    monkeypatch.setenv("HOME", str(user.folder))
    shown = {each["host"]: each for each in described(Place(user.env, str(user.project), user.home.root))}
    assert shown["claude-code"]["tools"] and not shown["claude-code"]["capture"]
    assert re.search("lacks the hooks: its turns are not captured", shown["claude-code"]["trouble"][0])
    assert "/nowhere/scrubjay, which does not exist" in shown["cursor"]["trouble"][0]
    assert re.search(r"PROBLEM +clients +Cursor .* starts /nowhere/scrubjay, which does not exist", page)
    (user.folder / ".cursor" / "mcp.json").unlink()
    user.gets("hooks", "add")
    done = user.types("doctor")
    assert done.returncode == 0
    assert "has the server and the hooks, and nothing received yet" in done.stdout
    settings = user.folder / ".claude" / "settings.json"
    settings.write_text(settings.read_text().replace("/hooks/hook.py", "/gone/hooks/hook.py"))
    assert "PROBLEM" in user.types("doctor").stdout
    (user.folder / ".claude.json").unlink()
    settings.unlink()


def test_in_the_home_folder_the_hooks_of_the_user_are_not_counted_twice(newcomer, monkeypatch):
    newcomer.gets("hooks", "add")
    monkeypatch.setenv("HOME", str(newcomer.folder))
    shown = described(Place(newcomer.env, str(newcomer.folder), newcomer.home.root))
    assert not [line for each in shown for line in each["trouble"] if "twice" in line]


def test_the_doctor_reports_what_really_arrived_and_who_is_not_connected(user):
    (user.folder / ".cursor").mkdir(exist_ok=True)
    user.gets("setup", "--yes", "--only", "claude-code")
    user.says("Which colour has the jay?", "It is blue, as far as I know.", session="s", turn=0)
    page = user.types("doctor").stdout
    assert "has the server and the hooks, and 1 prompt and 1 answer received, the last" in page
    assert "`scrubjay setup --only cursor` connects it." in page
    user.says("And which colour has the crow?", "Black, and nothing else.", session="s", turn=1)
    assert "claude-code: 2 prompts and 2 answers received" in user.gets("status")


def test_the_last_line_of_the_doctor_names_the_next_step(tmp_path):
    person = make_user(tmp_path)

    def last_line() -> str:
        return person.gets("doctor").splitlines()[-1]

    try:
        assert last_line() == "Left to do: Connect an assistant that has hooks: `scrubjay setup`."
        (person.folder / ".codex").mkdir()
        person.gets("setup", "--yes", "--only", "codex")
        assert last_line().startswith("Left to do: Start codex once and choose to trust the hooks")
        status = person.gets("status")
        assert "codex: nothing received yet\n" in status
        assert "needs permission to run SessionStart, UserPromptSubmit, Stop, SessionEnd." in status
        person.gets("setup", "--remove", "--yes")
        (person.folder / ".claude").mkdir()
        person.gets("setup", "--yes", "--only", "claude-code")
        assert last_line().startswith("Left to do: Start a new session in Claude Code")
        person.says("Which colour has the jay?", "It is blue, as far as I know.", session="s", turn=0)
        assert last_line() == "Everything works."
        person.gets("pause")
        assert last_line() == "Left to do: `scrubjay resume` ends the pause."
        person.gets("resume")
        person.gets("config", "capture", "off")
        assert last_line() == "Left to do: `scrubjay config capture all` turns capture on."
    finally:
        person.types("stop")


def test_the_doctor_reports_a_hung_engine(user):
    Path(user.home.deaths).write_text("Timeout (0:01:00)!\n")
    page = user.types("doctor").stdout
    os.unlink(user.home.deaths)
    assert re.search(r"note +engine +An engine hung or crashed", page)


def test_the_doctor_says_once_what_is_wrong_with_the_settings(tmp_path):
    broken = make_user(tmp_path)
    broken.gets("status")
    Path(broken.home.config).write_text("capture = \n")
    try:
        done = broken.types("doctor")
    finally:
        broken.types("stop")
    assert done.returncode == 1
    assert re.search(r"PROBLEM +settings +\S+config.toml is not valid TOML", done.stdout)
    assert done.stdout.count("PROBLEM") == 1


def test_the_doctor_says_whether_the_keys_can_be_read(tmp_path):
    home = open_home(str(tmp_path / "home"))
    place = Place({}, str(tmp_path), home.root)
    assert not list(guarded("keys", http, place))
    tokens.add(home, datetime.now(UTC), name="editor")
    (finding,) = guarded("keys", http, place)
    assert finding.verdict == "ok" and finding.message.startswith("1 key for HTTP")
    Path(home.tokens).write_text('{"tokens": "none"}')
    (finding,) = guarded("keys", http, place)
    assert finding.verdict == "PROBLEM" and "tokens.json cannot be read" in finding.message


def test_the_doctor_names_what_is_no_file_among_the_waiting_writes(tmp_path):
    home = open_home(str(tmp_path / "home"))
    place = Place({}, str(tmp_path), home.root)
    os.makedirs(os.path.join(home.spool_new, "1-x.json"))
    foreign, rest = guarded("spool", spool, place)
    assert foreign.verdict == "PROBLEM" and "1-x.json is not a file" in foreign.message
    assert rest.verdict == "ok"


def test_the_doctor_says_what_is_wrong_with_the_home(newcomer):
    Path(newcomer.home.root).write_text("a file")
    done = newcomer.types("doctor")
    assert done.returncode == 1
    assert re.search(r"PROBLEM +home +The home folder \S+ cannot be used", done.stdout)
    assert "round trip" not in done.stdout
