"""Our hooks in a settings file of another program: real files of many shapes, and their state afterwards."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.errors import HomeError, InputError
from scrubjay.home.files import LONGEST_FILE
from scrubjay.home.paths import Home, open_home
from scrubjay.hosts.changes import connecting, disconnecting, write
from scrubjay.hosts.entries import Entry, at, ours, read
from scrubjay.hosts.installation import is_our_hook, is_our_server
from scrubjay.hosts.machine import Machine
from scrubjay.hosts.table import BY_NAME, Ours, claude_hooks

FOREIGN = {"type": "command", "command": "/usr/bin/notify", "args": ["done"]}
SHAPES = {
    "empty": b"{}",
    "empty with a newline": b"{}\n",
    "two spaces": b'{\n  "model": "opus",\n  "permissions": {\n    "allow": ["Bash(ls:*)"]\n  }\n}\n',
    "four spaces": b'{\n    "env": {"A": "1"}\n}',
    "tabs and CRLF": b'{\r\n\t"model": "opus"\r\n}\r\n',
    "one line": b'{"model": "opus", "hooks": {}}',
    "byte order mark": b'\xef\xbb\xbf{\n  "model": "opus"\n}\n',
    "not ASCII": '{\n  "name": "Häher",\n  "half": "\\ud83d"\n}\n'.encode(),
    "numbers as they are": b'{\n  "ratio": 1.50,\n  "big": 12345678901234567890\n}\n',
    "hooks of others": json.dumps(
        {"hooks": {"Stop": [{"hooks": [FOREIGN]}], "PreCompact": [{"matcher": "auto", "hooks": []}]}}
    ).encode(),
}


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    return tmp_path / "user" / "settings.json"


def make(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def entries(path: Path) -> list[Entry]:
    return claude_hooks(Ours(Machine({}, "/home/kim", "linux"), "claude-code"), str(path))


def add(home: Home, path: Path) -> bool:
    return bool(write(home, connecting(home, entries(path))))


def remove(home: Home, path: Path) -> bool:
    return bool(write(home, disconnecting(home, entries(path))))


def registered(path: Path) -> dict[str, list[dict]]:
    by_event = {}
    settings = json.loads(path.read_text("utf-8-sig"))
    for way in ours(settings):
        by_event.setdefault(way[1], []).append(at(settings, way))
    return by_event


WANTED = {entry.keys[1]: entry.value["hooks"] for entry in entries(Path("x"))}
EVENTS = set(BY_NAME["claude-code"].events)


@pytest.mark.parametrize("shape", SHAPES)
def test_adding_and_removing_restores_every_byte(home, settings, shape):
    make(settings, SHAPES[shape])
    assert add(home, settings)
    assert set(registered(settings)) == EVENTS
    assert remove(home, settings)
    assert settings.read_bytes() == SHAPES[shape]


@given(
    st.dictionaries(
        st.text(),
        st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5),
        max_size=4,
    )
)
def test_the_users_own_settings_survive(tmp_path_factory, kept):
    home, path = open_home(str(tmp_path_factory.mktemp("h"))), tmp_path_factory.mktemp("u") / "settings.json"
    kept.pop("hooks", None)
    before = json.dumps(kept).encode()
    path.write_bytes(before)
    add(home, path)
    assert {name: value for name, value in json.loads(path.read_bytes()).items() if name != "hooks"} == kept
    remove(home, path)
    assert path.read_bytes() == before


def test_a_file_we_created_is_removed_again(home, settings):
    add(home, settings)
    assert stat.S_IMODE(settings.stat().st_mode) == 0o600
    remove(home, settings)
    assert not settings.exists()


def test_later_changes_are_kept_and_only_our_entries_are_removed(home, settings):
    make(settings, SHAPES["hooks of others"])
    add(home, settings)
    changed = json.loads(settings.read_bytes())
    changed["model"] = "opus"
    changed["hooks"]["Stop"][-1]["hooks"].append(FOREIGN)  # next to ours, in our own entry
    settings.write_text(json.dumps(changed, indent=4))
    assert remove(home, settings)
    assert settings.read_text() == json.dumps(
        {
            "hooks": {
                "Stop": [
                    {"hooks": [FOREIGN]},
                    {
                        "hooks": [FOREIGN],
                    },
                ],
                "PreCompact": [{"matcher": "auto", "hooks": []}],
            },
            "model": "opus",
        },
        indent=4,
    )
    assert not remove(home, settings)


def test_hooks_of_another_installation_are_replaced(home, settings):
    old = {
        "type": "command",
        "command": "/old/python",
        "args": ["-I", "-S", "/old/site-packages/scrubjay/hooks/stop.py"],
    }
    make(settings, json.dumps({"hooks": {"Stop": [{"hooks": [old]}]}}).encode())
    assert add(home, settings)
    assert registered(settings) == WANTED


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b'{"a": 1,}',
        b"[]",
        b"\xff\xfe",
        b'{"a": 1, "a": 2}',
        b"[" * 100_000,
    ],
)
def test_a_file_that_is_not_a_settings_file_is_never_touched(home, settings, content):
    make(settings, content)
    for change in (add, remove):
        with pytest.raises(InputError, match="it was not changed"):
            change(home, settings)
    assert settings.read_bytes() == content
    assert os.listdir(settings.parent) == ["settings.json"]


@pytest.mark.parametrize("content", [b'{"hooks": []}', b'{"hooks": {"Stop": {}}}', b'{"hooks": null}'])
def test_hooks_of_an_unknown_shape_are_left_alone(home, settings, content):
    make(settings, content)
    with pytest.raises(InputError, match="it was not changed"):
        add(home, settings)
    assert not remove(home, settings) and settings.read_bytes() == content


def test_a_link_stays_a_link_and_the_file_keeps_its_mode(home, settings, tmp_path):
    real = tmp_path / "dotfiles" / "claude.json"
    make(real, SHAPES["tabs and CRLF"])
    real.chmod(0o640)
    settings.parent.mkdir()
    settings.symlink_to(real)
    add(home, settings)
    assert settings.is_symlink() and set(registered(real)) == EVENTS
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    remove(home, real)  # by its other name
    assert real.read_bytes() == SHAPES["tabs and CRLF"]


def test_the_saved_copy_of_a_settings_file_is_private(home, settings):
    make(settings, SHAPES["two spaces"])
    add(home, settings)
    assert stat.S_IMODE(os.stat(os.path.join(home.root, "hooks.json")).st_mode) == 0o600
    remove(home, settings)
    assert "settings" not in Path(home.root, "hooks.json").read_text()


def test_a_folder_in_place_of_the_file_is_reported(home, settings):
    settings.mkdir(parents=True)
    with pytest.raises(HomeError, match="cannot be read"):
        add(home, settings)


@pytest.mark.parametrize("kind", ["fifo", "device", "long"])
def test_an_endless_file_is_refused_without_waiting(settings, kind):
    settings.parent.mkdir()
    if kind == "fifo":
        os.mkfifo(settings)
    elif kind == "device":
        settings.symlink_to("/dev/zero")
    else:
        settings.touch()
        os.truncate(settings, LONGEST_FILE + 1)
    why = "it has more than 67,108,864 bytes" if kind == "long" else "it is not a regular file"
    with pytest.raises(HomeError, match=rf"{settings} cannot be read: {why}\. It was not changed\."):
        read(str(settings))


@pytest.mark.parametrize("damage", [b"[" * 100_000, b"{", b"[]", None])
def test_a_damaged_or_lost_record_of_changes_loses_only_the_original_formatting(home: Home, settings, damage):
    make(settings, SHAPES["four spaces"])
    add(home, settings)
    Path(home.hooks).write_bytes(damage) if damage else os.unlink(home.hooks)
    remove(home, settings)
    assert json.loads(settings.read_bytes()) == json.loads(SHAPES["four spaces"])


def test_a_record_of_changes_by_an_older_scrubjay_loses_only_the_original_formatting(home: Home, settings):
    make(settings, SHAPES["four spaces"])
    add(home, settings)
    note = json.loads(Path(home.hooks).read_bytes())[str(settings)]
    Path(home.hooks).write_text(json.dumps({str(settings): {"before": None, "after": note["after"]}}))
    remove(home, settings)
    assert json.loads(settings.read_bytes()) == json.loads(SHAPES["four spaces"])


# Registrations, and whether they are ours.
KNOWN = json.loads(Path(__file__).with_name("registrations.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("handler", "is_ours"), KNOWN["handlers"])
def test_our_hooks_are_recognised_by_their_command(handler, is_ours):
    assert is_our_hook(handler) is is_ours


@pytest.mark.parametrize(("server", "is_ours"), KNOWN["servers"])
def test_our_server_is_recognised_by_its_command(server, is_ours):
    assert is_our_server(server) is is_ours
