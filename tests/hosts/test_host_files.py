"""Changes of `scrubjay setup` to the files of hosts: 200 of all formats and shapes are restored to the
byte.
"""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path

import pytest
from configs import config
from ruamel.yaml import YAML

from scrubjay.errors import HomeError, InputError
from scrubjay.home.paths import Home
from scrubjay.hooks import hosts as heard
from scrubjay.hosts import json_text
from scrubjay.hosts.changes import Change, OwnFile, connecting, disconnecting, write
from scrubjay.hosts.entries import JSON, JSONC, TOML, Entry, is_present, parsed
from scrubjay.hosts.entries import YAML as YAML_FORMAT
from scrubjay.hosts.machine import Machine
from scrubjay.hosts.table import HOSTS, markdown

# 200 files; each costs four writes that wait for the disk
SEEDS = pytest.mark.parametrize("seeds", [range(20), pytest.param(range(20, 200), marks=pytest.mark.long)])
FORMATS = {"JSON": JSON, "JSONC": JSONC, "TOML": TOML, "YAML": YAML_FORMAT}
SERVER = {"command": "/opt/jay/bin/scrubjay", "args": [], "env": {"SCRUBJAY_HOME": "/it's here"}}
GROUP = {"hooks": [{"type": "command", "command": "/opt/jay/bin/scrubjay-hook --host codex", "timeout": 10}]}


def entries(name: str, file: Path) -> list[Change]:
    form, path = FORMATS[name], str(file)
    if name == "TOML":
        return [Entry(path, form, ("mcp_servers", "scrubjay"), SERVER)]
    if name == "YAML":
        return [Entry(path, form, ("extensions", "scrubjay"), {"cmd": "/opt/jay/bin/scrubjay", "args": []})]
    hooks = [Entry(path, form, ("hooks", event), GROUP, "element") for event in ("SessionStart", "Stop")]
    return [
        Entry(path, form, ("version",), 1, "frame"),
        *hooks,
        Entry(path, form, ("mcpServers", "scrubjay"), SERVER),
    ]


def said(name: str, content: bytes) -> object:
    text = content.decode("utf-8-sig")
    if name == "TOML":
        return tomllib.loads(text)
    if name == "YAML":
        return YAML(typ="safe", pure=True).load(text)
    return json_text.parse_with_comments(text) if name == "JSONC" else json.loads(text)


def connect(home: Home, changes: list[Change]) -> list[str]:
    return write(home, connecting(home, changes))


def disconnect(home: Home, changes: list[Change]) -> list[str]:
    return write(home, disconnecting(home, changes))


@SEEDS
def test_files_of_all_formats_are_restored_byte_for_byte(home, tmp_path, seeds):
    for seed in seeds:
        name, before = config(seed)
        real, file = tmp_path / f"real-{seed}", tmp_path / f"file-{seed}"
        (real if seed % 5 == 0 else file).write_bytes(before)
        if seed % 5 == 0:
            file.symlink_to(real)
        ours = entries(name, file)
        assert connect(home, ours) == [str(file.resolve())], seed
        assert all(is_present(said(name, file.read_bytes()), each) for each in ours), seed
        if seed % 7 == 0:
            assert not connect(home, ours), seed  # again
        disconnect(home, ours)
        assert file.read_bytes() == before, seed
        assert file.is_symlink() == (seed % 5 == 0)
    assert json.loads(Path(home.hooks).read_bytes()) == {}


@SEEDS
def test_files_edited_by_their_users_lose_only_our_entries(home, tmp_path, seeds):
    for seed in seeds:
        name, before = config(seed)
        file = tmp_path / f"file-{seed}"
        file.write_bytes(before)
        ours = entries(name, file)
        connect(home, ours)
        file.write_bytes(file.read_bytes().replace(b"before", b"later", 1))
        disconnect(home, ours)
        left = file.read_bytes()
        assert said(name, left) == said(name, before.replace(b"before", b"later", 1)), (seed, left)
        assert all(line in left for line in before.splitlines() if line.lstrip().startswith((b"#", b"//")))


@pytest.mark.parametrize("name", FORMATS)
def test_a_read_only_file_is_refused_with_a_sentence(home, tmp_path, name):
    seed = list(FORMATS).index(name)
    file = tmp_path / "file"
    file.write_bytes(config(seed)[1])
    file.chmod(0o444)
    with pytest.raises(HomeError, match=r"is read-only.*it was not changed"):
        connecting(home, entries(name, file))
    assert file.read_bytes() == config(seed)[1] and os.listdir(tmp_path) == ["file", "home"]


def test_several_files_are_written_all_or_none(home, tmp_path):
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    first.write_text("{}")
    second.write_text("{}")
    drafts = connecting(home, [*entries("JSON", first), *entries("JSON", second)])
    second.write_text('{"meanwhile": 1}')
    with pytest.raises(HomeError, match="changed by another program"):
        write(home, drafts)
    assert (first.read_text(), second.read_text()) == ("{}", '{"meanwhile": 1}')
    assert not disconnect(home, entries("JSON", first))


def test_a_file_of_our_own_is_removed_with_the_folders_made_for_it(home, tmp_path):
    mine = OwnFile(str(tmp_path / "a" / "b" / "scrubjay.json"), b'{"scrubjay": 1}')
    second = OwnFile(str(tmp_path / "a" / "b" / "c" / "scrubjay.js"), b"// scrubjay")
    connect(home, [mine, second])
    assert Path(mine.file).read_bytes() == mine.content and not connect(home, [mine, second])
    disconnect(home, [mine, second])
    assert not (tmp_path / "a").exists()


def test_a_foreign_file_in_place_of_ours_stays(home, tmp_path):
    file = tmp_path / "plugin.js"
    file.write_text("// a plugin")
    with pytest.raises(InputError, match="is not ours"):
        connecting(home, [OwnFile(str(file), b"// scrubjay")])
    disconnect(home, [OwnFile(str(file), b"// scrubjay")])
    assert file.read_text() == "// a plugin"


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("TOML", "mcp_servers = { other = { command = 'x' } }\n", "cannot be edited without touching"),
        ("TOML", "mcp_servers = 5\n", "has another shape"),
        ("TOML", "a = [\n", "is not valid TOML"),
        ("YAML", "extensions: [1]\n", "has another shape"),
        ("YAML", "a: 1\n---\nb: 2\n", "is not valid YAML"),
        ("YAML", "a: [\n", "is not valid YAML"),
        ("JSON", '{"hooks": {"Stop": {}}}', "has another shape"),
        ("JSON", '{"mcpServers": []}', "has another shape"),
        ("JSON", '{"a": 1} // no', "is not valid JSON"),
        ("JSONC", '{"a": 1, "a": 2}', "occurs twice"),
        ("JSONC", "[" * 100_000, "is not valid JSON"),
        ("JSONC", '{"a":' * 900 + "1" + "}" * 900, "it is nested too deeply"),
        ("TOML", "a = " + "[" * 493 + "]" * 493, "it is nested too deeply"),
    ],
)
def test_a_file_that_cannot_be_edited_is_refused_and_unchanged(home, tmp_path, name, text, why):
    file = tmp_path / "file"
    file.write_text(text)
    with pytest.raises(InputError, match=why):
        connecting(home, entries(name, file))
    assert file.read_text() == text


@pytest.mark.parametrize(
    ("name", "text"),
    [("JSON", ""), ("JSON", "\n"), ("JSONC", ""), ("JSONC", "// only this"), ("JSONC", "/* and\nthis */\n")],
)
def test_an_empty_file_with_comments_or_nothing_gets_an_object(home, tmp_path, name, text):
    file = tmp_path / "file"
    file.write_text(text)
    connect(home, entries(name, file))
    assert text.strip() in file.read_text() and said(name, file.read_bytes())["version"] == 1
    disconnect(home, entries(name, file))
    assert file.read_text() == text


def test_a_working_server_registered_by_the_user_is_left_unchanged(home, tmp_path):
    jay = tmp_path / "bin" / "scrubjay"
    jay.parent.mkdir()
    jay.write_text("#!/bin/sh\n")
    jay.chmod(0o755)
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"memory": {"command": str(jay), "args": ["--scope", "x"]}}}))
    assert not connect(home, entries("JSON", file)[-1:])
    disconnect(home, entries("JSON", file)[-1:])
    assert json.loads(file.read_text()) == {}  # removal takes everything that is ours


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("extensions:\n  other: {cmd: x}\n  'scrubjay':\n    cmd: /gone/scrubjay\n", {"other": {"cmd": "x"}}),
        ("'extensions':\n  \"my jay\":\n    cmd: /gone/scrubjay\n", {}),
        ("extensions: {scrubjay: {cmd: /gone/scrubjay, envs: {}}}\n", {}),
        ("extensions: {other: {cmd: x}, scrubjay: {cmd: /gone/scrubjay}}\n", {"other": {"cmd": "x"}}),
        ("extensions: {'scrubjay': {cmd: /gone/scrubjay}, other: {cmd: x}}\n", {"other": {"cmd": "x"}}),
    ],
)
def test_our_entry_in_yaml_is_replaced_and_removed_however_its_name_is_written(home, tmp_path, text, left):
    file = tmp_path / "config.yaml"
    file.write_text(text)
    connect(home, entries("YAML", file))
    assert is_present(said("YAML", file.read_bytes()), entries("YAML", file)[0])
    file.write_text(text)
    disconnect(home, entries("YAML", file))
    assert (said("YAML", file.read_bytes()) or {}).get("extensions", {}) == left
    assert ", }" not in file.read_text()


@pytest.mark.parametrize("text", ["{}\n", "# none yet\n{}", "extensions: # {none yet}\n  a: {cmd: x}\n"])
def test_braces_of_an_empty_yaml_file_or_a_comment_hold_no_entry(home, tmp_path, text):
    file = tmp_path / "config.yaml"
    file.write_text(text)
    connect(home, entries("YAML", file))
    assert "scrubjay" in said("YAML", file.read_bytes())["extensions"]
    disconnect(home, entries("YAML", file))
    assert file.read_text() == text


def test_removing_our_hook_keeps_the_users_other_hooks_in_codex(home, tmp_path):
    file = tmp_path / "config.toml"
    file.write_text(
        'a = 1\n\n[hooks.state."/x:stop:0:0"]\ntrusted_hash = "1"\n\n[hooks.state."/y"]\nenabled = true\n'
    )
    disconnect(home, [Entry(str(file), TOML, ("hooks", "state", "/x:stop:0:0"), None, "trace")])
    assert tomllib.loads(file.read_text()) == {"a": 1, "hooks": {"state": {"/y": {"enabled": True}}}}


# Where each host keeps its files.

MACHINES = {
    "linux": Machine({}, "/home/kim", "linux"),
    "darwin": Machine({}, "/Users/kim", "darwin"),
    "win32": Machine({"APPDATA": r"C:\Users\kim\AppData\Roaming"}, r"C:\Users\kim", "win32"),
}
SETTINGS = {
    "linux": "/home/kim/.config",
    "darwin": "/Users/kim/Library/Application Support",
    "win32": r"C:\Users\kim\AppData\Roaming",
}
# By host, with ~ for the user's home and $ for the folder of settings; Cline's are in folders that exist.
PLACES = json.loads(Path(__file__).with_name("places.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("platform", MACHINES)
@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.name)
def test_each_hosts_files_are_at_their_paths_on_this_platform(host, platform):
    places = PLACES["everywhere"] | PLACES.get(platform, {})
    files = dict.fromkeys(change.file for change in host.changes(MACHINES[platform]))
    user_home = MACHINES[platform].user_home
    wanted = [place.replace("~", user_home).replace("$", SETTINGS[platform]) for place in places[host.name]]
    separator = "\\" if platform == "win32" else "/"
    assert list(files) == [path.replace("/", separator) for path in wanted]


def test_environment_variables_move_the_files_of_hosts():
    env = {"CODEX_HOME": "/c", "COPILOT_HOME": "/p", "CLAUDE_CONFIG_DIR": "/l", "XDG_CONFIG_HOME": "/x"}
    machine = Machine(env, "/home/kim", "linux")
    files = {host.name: [change.file for change in host.changes(machine)] for host in HOSTS}
    assert files["codex"][0] == "/c/config.toml" and files["copilot-cli"][0] == "/p/mcp-config.json"
    assert files["claude-code"][:2] == ["/l/.claude.json", "/l/settings.json"]
    assert files["zed"] == ["/x/zed/settings.json"] and files["opencode"][0] == "/x/opencode/opencode.json"


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.name)
def test_a_hosts_entries_are_added_and_removed_again(host, home, tmp_path):
    machine = Machine({}, str(tmp_path / "kim"), "linux")
    changes = host.changes(machine, "/a home")
    assert connect(home, changes) or host.name == "cline"
    for change in changes:
        if isinstance(change, Entry):
            assert is_present(parsed(Path(change.file).read_bytes(), change.format, change.file), change)
    assert not connect(home, changes)
    disconnect(home, changes)
    assert not (tmp_path / "kim").exists()


def test_hooks_of_tools_are_registered_only_on_request_and_removed_with_the_others(home, tmp_path):
    machine = Machine({}, str(tmp_path), "linux")
    host = next(host for host in HOSTS if host.name == "claude-code")
    file = tmp_path / ".claude" / "settings.json"
    write(home, connecting(home, host.changes(machine)))
    assert "PreToolUse" not in json.loads(file.read_text())["hooks"]
    write(home, connecting(home, host.changes(machine, has_tools=True)))
    hooks = json.loads(file.read_text())["hooks"]
    assert hooks["PreToolUse"][0]["matcher"] == "Bash|Edit|MultiEdit|Write|NotebookEdit"
    assert hooks["PostToolUseFailure"][0]["hooks"] == hooks["Stop"][0]["hooks"]
    write(home, connecting(home, host.changes(machine)))
    assert not json.loads(file.read_text())["hooks"].keys() & {"PreToolUse", "PostToolUseFailure"}
    write(home, connecting(home, host.changes(machine, has_tools=True)))
    write(home, disconnecting(home, host.changes(machine)))
    assert not file.exists()
    write(home, connecting(home, host.changes(machine, has_tools=True)))
    file.write_text(file.read_text().replace("{", '{"model": "x",', 1))  # the user's own change
    write(home, connecting(home, host.changes(machine)))
    left = json.loads(file.read_text())
    assert left["model"] == "x" and "Stop" in left["hooks"] and "PreToolUse" not in left["hooks"]


def test_hooks_are_registered_only_for_events_that_the_hook_understands():
    for host in HOSTS:
        if host.capture:
            assert set(host.events) <= set(heard.events(host.name))
            assert bool(host.recall) == ("output" in heard.HOSTS[host.name]), host.name


def test_the_documented_table_has_every_host_once_with_its_features():
    table = markdown()
    names = ", ".join(line.split("|")[1].strip() for line in table.splitlines()[2:]).replace("\\*", "")
    assert sorted(names.split(", ")) == sorted(host.title for host in HOSTS)
    assert "Qwen Code, OpenCode, Kilo, Kiro\\* | yes | yes | session start, prompt | yes | yes |" in table
    assert r"| Zed\*, Roo Code\*, Cline\* | yes | - | - | yes | yes |" in table
    assert r"| Claude Desktop\* | yes | - | - | - | yes |" in table
