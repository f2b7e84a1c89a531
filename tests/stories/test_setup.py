"""`scrubjay setup` for a user of six assistants."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from user import User, make_user

from scrubjay.cli.clients import find_clients
from scrubjay.cli.command import Place
from scrubjay.cli.registered import registrations
from scrubjay.hosts.installation import console_command

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
SIX = ["claude-code", "codex", "cursor", "copilot-cli", "gemini-cli", "qwen-code"]
FILES = {
    ".claude/settings.json": '{\n  "model": "opus",\n  "hooks": {"Stop": [{"hooks": []}]}\n}\n',
    ".claude.json": '{"numStartups": 7, "mcpServers": {"other": {"command": "npx"}}}',
    ".codex/config.toml": '# mine\nmodel = "o3"\n\n[mcp_servers.other]\ncommand = "npx" # why\n',
    ".cursor/mcp.json": '{\r\n\t"mcpServers": {\r\n\t}\r\n}\r\n',
    ".copilot/config.json": "{}",
    ".gemini/settings.json": '{ /* none */ "security": {} }\n',
    ".qwen/settings.json": '\ufeff{\n    // two\n    "hooks": {},\n}\n',
}


@pytest.fixture
def six(tmp_path: Path) -> Iterator[User]:
    """A user with six assistants, each with settings."""
    person = make_user(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, newline="")
    yield person
    person.types("stop")


def files(user: User) -> dict[str, bytes]:
    """Everything below the user's folder except Scrubjay's own home."""
    return {
        str(path.relative_to(user.folder)): path.read_bytes() if path.is_file() else b""
        for path in sorted(user.folder.rglob("*"))
        if not path.is_relative_to(user.home.root)
    }


def hosts(page: str) -> dict[str, dict]:
    return {each["host"]: each for each in json.loads(page)["hosts"]}


def doctor(user: User, patch: pytest.MonkeyPatch) -> str:
    """The doctor's findings about the assistants, which need no engine."""
    patch.setenv("HOME", str(user.folder))
    place = Place(user.env, str(user.project), user.home.root)
    return "\n".join(map(str, registrations(place, find_clients(place.env, place.cwd), None)))


def test_an_endless_settings_file_is_named_and_the_other_assistants_are_connected(six, monkeypatch):
    endless = {
        "claude-code": ".claude/settings.json",
        "codex": ".codex/config.toml",
        "cursor": ".cursor/mcp.json",
    }
    for name in endless.values():
        (six.folder / name).unlink()
        os.mkfifo(six.folder / name)
    (six.folder / ".claude.json").unlink()
    with open(six.folder / ".claude.json", "wb") as file:
        file.truncate(20 << 30)
    for action in ("--dry-run", "--remove"):
        page = hosts(six.types("setup", action, "--yes", "--json", "--only", ",".join(SIX)).stdout)
        troubled = {name: each["trouble"] for name, each in page.items() if each["trouble"]}
        assert troubled.keys() == endless.keys()
        assert all("cannot be read: it " in trouble for trouble in troubled.values())
        assert page["qwen-code"]["files"]
    assert ".claude/settings.json cannot be read: it is not a regular file" in six.refused("hooks", "add")
    says = doctor(six, monkeypatch)
    for name in (".claude.json", *endless.values()):
        assert f"{name} cannot be read, so its entries are unknown" in says


def test_unreadable_hooks_next_to_a_plugin_do_not_stop_the_doctor(six, monkeypatch):
    (six.folder / ".codex/config.toml").write_text('[plugins."scrubjay@scrubjay"]\nenabled = true\n')
    os.mkfifo(six.folder / ".codex/hooks.json")
    says = doctor(six, monkeypatch)
    assert ".codex/hooks.json cannot be read" in says
    assert "Codex CLI (scrubjay@scrubjay) has the server and the hooks" in says


def test_six_assistants_are_connected_tested_and_disconnected(six, monkeypatch):
    before = files(six)
    planned = hosts(six.gets("setup", "--dry-run", "--json"))
    assert set(SIX) <= set(planned) and files(six) == before
    refused = six.types("setup")
    assert refused.returncode == 1 and "Nothing was written; --yes" in refused.stdout
    assert files(six) == before

    done = six.types("setup", "--yes", "--json", "--only", ",".join(SIX))
    assert done.returncode == 0, done.stdout
    for name, facts in hosts(done.stdout).items():
        assert facts["tried"][0] == "the server lists 6 tools", name
        assert facts["tried"][1].startswith("its hook took a prompt"), (name, facts)

    page = six.gets("setup", "--yes", "--only", ",".join(SIX))
    assert page.count("connected already") == len(SIX) and "writes" not in page
    says = doctor(six, monkeypatch)
    assert says.count("has the server and the hooks") == len(SIX) and "needs permission to run" in says

    listed = six.gets("setup", "--remove", "--dry-run", "--only", ",".join(SIX))
    assert f"removes {six.folder / '.copilot/hooks/scrubjay.json'}" in listed
    six.gets("setup", "--remove", "--yes", "--only", ",".join(SIX))
    assert files(six) == before
    page = six.gets("setup", "--remove", "--only", "codex")
    assert "nothing to remove" in page and "was removed" not in page


def test_one_assistant_can_be_connected_alone_and_a_failure_of_one_stops_no_other(six):
    (six.folder / ".cursor" / "mcp.json").write_text("{,}")
    (six.folder / ".qwen" / "settings.json").chmod(0o444)
    before = files(six)
    done = six.types("setup", "--yes", "--only", "codex, cursor,qwen-code")
    assert done.returncode == 1
    assert "is not valid JSON" in done.stdout and "is read-only" in done.stdout
    changed = {name for name, content in files(six).items() if before.get(name) != content}
    assert changed == {".codex/config.toml", ".codex/hooks.json"}
    assert "Did you mean cursor?" in six.refused("setup", "--only", "curser")


def test_an_assistant_that_was_never_started_is_not_called_connected(six):
    assert "not connected" in six.gets("setup", "--yes", "--only", "cline")
    (six.folder / ".cline").mkdir()
    first = six.gets("setup", "--yes", "--only", "cline")
    assert "cline_mcp_settings.json" in first and "captured" not in first, "Cline has no capture"
    assert "connected already" in six.gets("setup", "--yes", "--only", "cline")


def test_on_a_terminal_setup_asks_once(six):
    for answer, connected in ((b"n\n", False), (b"\n", True)):
        keyboard, terminal = pty.openpty()
        command = [*console_command(), "setup", "--only", "codex"]
        started = subprocess.Popen(
            command, stdin=terminal, stdout=subprocess.PIPE, env=six.env, cwd=six.project
        )
        os.write(keyboard, answer)
        said = started.communicate()[0].decode()
        os.close(keyboard)
        os.close(terminal)
        assert "Connect 1 assistant? [Y/n]" in said
        assert ("scrubjay" in (six.folder / ".codex" / "config.toml").read_text()) is connected


def test_a_claude_code_plugin_is_detected_and_removed_with_the_rest(six, monkeypatch):
    settings = six.folder / ".claude" / "settings.json"
    market = {"source": {"source": "github", "repo": "somebody/scrubjay"}}
    plain = {"model": "opus", "enabledPlugins": {"other@market": True}}
    plugin = {**plain["enabledPlugins"], "scrubjay@scrubjay": True}
    settings.write_text(
        json.dumps({**plain, "enabledPlugins": plugin, "extraKnownMarketplaces": {"scrubjay": market}})
    )
    kept = six.folder / ".claude" / "plugins"
    (kept / "cache" / "scrubjay" / "scrubjay" / "0.1.0").mkdir(parents=True)
    (kept / "installed_plugins.json").write_text(
        json.dumps({"version": 2, "plugins": {"scrubjay@scrubjay": [], "other@market": []}})
    )
    (kept / "known_marketplaces.json").write_text(json.dumps({"scrubjay": market, "market": {}}))
    page = six.gets("setup", "--dry-run", "--only", "claude-code")
    assert "already, by its plugin scrubjay@scrubjay" in page and "changes" not in page
    six.gets("hooks", "add")
    assert "and in the plugin scrubjay@scrubjay" in doctor(six, monkeypatch)
    six.gets("setup", "--remove", "--yes", "--only", "claude-code")
    assert json.loads(settings.read_text()) == plain
    assert json.loads((kept / "installed_plugins.json").read_text())["plugins"] == {"other@market": []}
    assert json.loads((kept / "known_marketplaces.json").read_text()) == {"market": {}}
    assert not (kept / "cache" / "scrubjay" / "scrubjay").exists()


def test_a_codex_plugin_is_detected_and_removed_with_the_rest(six, monkeypatch):
    config = six.folder / ".codex" / "config.toml"
    plain = config.read_text() + '\n[plugins."other@market"]\nenabled = true\n'
    on = '\n[plugins."scrubjay@scrubjay"]\nenabled = true\n'
    config.write_text(plain + on.replace("true", "false"))
    assert "already" not in six.gets("setup", "--dry-run", "--only", "codex")
    config.write_text(plain + on)
    copy = six.folder / ".codex" / "plugins" / "cache" / "scrubjay" / "scrubjay" / "0.1.0"
    copy.mkdir(parents=True)
    page = six.gets("setup", "--dry-run", "--only", "codex")
    assert "already, by its plugin scrubjay@scrubjay" in page and "changes" not in page
    assert "Codex CLI (scrubjay@scrubjay) has the server" in doctor(six, monkeypatch)
    six.gets("setup", "--remove", "--yes", "--only", "codex")
    assert tomllib.loads(config.read_text()) == tomllib.loads(plain)
    assert not copy.parent.exists()


def test_a_gemini_extension_is_detected_and_removed_with_the_rest(six, monkeypatch):
    extension = six.folder / ".gemini" / "extensions" / "scrubjay"
    shutil.copytree(ROOT / "server" / "packaging" / "gemini", extension)
    (extension / ".gemini-extension-install.json").write_text('{"type": "git"}')
    page = six.gets("setup", "--dry-run", "--only", "gemini-cli")
    assert "already, by its plugin scrubjay" in page and "changes" not in page
    assert "Gemini CLI (" in doctor(six, monkeypatch)
    six.gets("setup", "--remove", "--yes", "--only", "gemini-cli")
    assert not extension.exists()


def test_an_entry_shared_by_two_assistants_stays_until_both_are_removed(six):
    (six.folder / ".config" / "Code" / "User").mkdir(parents=True)
    six.gets("setup", "--yes", "--only", "claude-code,vscode")
    hooked = (six.folder / ".claude" / "settings.json").read_bytes()
    six.gets("setup", "--remove", "--yes", "--only", "vscode")
    assert (six.folder / ".claude" / "settings.json").read_bytes() == hooked
    assert not (six.folder / ".config" / "Code" / "User" / "mcp.json").exists()
    six.gets("setup", "--remove", "--yes", "--only", "claude-code")
    assert (six.folder / ".claude" / "settings.json").read_text() == FILES[".claude/settings.json"]


def test_codexs_own_entry_for_our_hooks_is_read_by_the_doctor_and_removed_with_them(six, monkeypatch):
    six.gets("setup", "--yes", "--only", "codex")
    config = six.folder / ".codex" / "config.toml"
    hooks = six.folder / ".codex" / "hooks.json"
    mine = config.read_text()
    for event in ("session_start", "user_prompt_submit", "stop", "session_end"):
        mine += f'\n[hooks.state."{hooks}:{event}:0:0"]\ntrusted_hash = "sha256:1"\n'
    config.write_text(mine)
    assert "needs permission" not in doctor(six, monkeypatch)
    config.write_text(mine + "enabled = false\n")
    assert "needs permission to run SessionEnd" in doctor(six, monkeypatch)
    six.gets("setup", "--remove", "--yes", "--only", "codex")
    assert config.read_text() == FILES[".codex/config.toml"]


def test_connecting_six_assistants_takes_less_than_five_seconds(six):
    began = time.perf_counter()
    six.gets("setup", "--yes", "--only", ",".join(SIX))
    assert time.perf_counter() - began < 5.0
