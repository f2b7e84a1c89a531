"""Our hooks in somebody else's settings file: real files of many shapes, and what is left of them
afterwards.
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.cli import hooks
from scrubjay.cli.installation import SCRIPTS, hook_entries, is_our_hook, is_our_server
from scrubjay.errors import HomeError, InputError
from scrubjay.home.paths import Home, open_home

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


def write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def registered(path: Path) -> dict:
    return hooks.ours(json.loads(path.read_text("utf-8-sig")))


@pytest.mark.parametrize("shape", SHAPES)
def test_adding_and_removing_gives_every_byte_back(home, settings, shape):
    write(settings, SHAPES[shape])
    assert hooks.add(home, str(settings))
    assert set(registered(settings)) == set(SCRIPTS)
    assert hooks.remove(home, str(settings))
    assert settings.read_bytes() == SHAPES[shape]


@given(
    st.dictionaries(
        st.text(),
        st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5),
        max_size=4,
    )
)
def test_whatever_the_user_keeps_there_survives(tmp_path_factory, kept):
    home, path = open_home(str(tmp_path_factory.mktemp("h"))), tmp_path_factory.mktemp("u") / "settings.json"
    kept.pop("hooks", None)
    before = json.dumps(kept).encode()
    path.write_bytes(before)
    hooks.add(home, str(path))
    assert {name: value for name, value in json.loads(path.read_bytes()).items() if name != "hooks"} == kept
    hooks.remove(home, str(path))
    assert path.read_bytes() == before


def test_a_file_that_was_not_there_is_gone_again(home, settings):
    hooks.add(home, str(settings))
    assert stat.S_IMODE(settings.stat().st_mode) == 0o600
    hooks.remove(home, str(settings))
    assert not settings.exists()


def test_adding_twice_changes_nothing(home, settings):
    write(settings, SHAPES["two spaces"])
    hooks.add(home, str(settings))
    once = settings.read_bytes()
    assert not hooks.add(home, str(settings))
    assert settings.read_bytes() == once
    hooks.remove(home, str(settings))
    assert settings.read_bytes() == SHAPES["two spaces"]


def test_what_was_changed_in_between_is_kept_and_only_ours_goes(home, settings):
    write(settings, SHAPES["hooks of others"])
    hooks.add(home, str(settings))
    changed = json.loads(settings.read_bytes())
    changed["model"] = "opus"
    changed["hooks"]["Stop"][-1]["hooks"].append(FOREIGN)  # beside ours, in our own entry
    settings.write_text(json.dumps(changed, indent=4))
    assert hooks.remove(home, str(settings))
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
    assert not hooks.remove(home, str(settings))


def test_hooks_of_another_installation_are_replaced(home, settings):
    old = {
        "type": "command",
        "command": "/old/python",
        "args": ["-I", "-S", "/old/site-packages/scrubjay/hooks/stop.py"],
    }
    write(settings, json.dumps({"hooks": {"Stop": [{"hooks": [old]}]}}).encode())
    assert hooks.add(home, str(settings))
    assert registered(settings) == {event: entry["hooks"] for event, entry in hook_entries().items()}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b'{"a": 1,}',
        b"[]",
        b"\xff\xfe",
        b'{"a": 1, "a": 2}',
        b'{"hooks": []}',
        b'{"hooks": {"Stop": {}}}',
        b'{"hooks": {"Stop": [1]}}',
        b"[" * 100_000,
    ],
)
def test_a_file_that_is_no_settings_file_is_never_touched(home, settings, content):
    write(settings, content)
    for change in (hooks.add, hooks.remove):
        with pytest.raises(InputError, match="it was not touched"):
            change(home, str(settings))
    assert settings.read_bytes() == content
    assert os.listdir(settings.parent) == ["settings.json"]


def test_a_link_stays_a_link_and_the_file_keeps_its_mode(home, settings, tmp_path):
    real = tmp_path / "dotfiles" / "claude.json"
    write(real, SHAPES["tabs and CRLF"])
    real.chmod(0o640)
    settings.parent.mkdir()
    settings.symlink_to(real)
    hooks.add(home, str(settings))
    assert settings.is_symlink() and set(registered(real)) == set(SCRIPTS)
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    hooks.remove(home, str(real))  # by its other name
    assert real.read_bytes() == SHAPES["tabs and CRLF"]


def test_what_is_kept_of_a_settings_file_is_for_its_owner_only(home, settings):
    write(settings, SHAPES["two spaces"])
    hooks.add(home, str(settings))
    assert stat.S_IMODE(os.stat(os.path.join(home.root, "hooks.json")).st_mode) == 0o600
    hooks.remove(home, str(settings))
    assert "settings" not in Path(home.root, "hooks.json").read_text()


def test_a_folder_in_the_place_of_the_file_is_reported(home, settings):
    settings.mkdir(parents=True)
    with pytest.raises(HomeError, match="cannot be read"):
        hooks.add(home, str(settings))


def test_a_lost_notebook_costs_only_the_bytes(home: Home, settings):
    write(settings, SHAPES["four spaces"])
    hooks.add(home, str(settings))
    os.unlink(os.path.join(home.root, "hooks.json"))
    hooks.remove(home, str(settings))
    assert json.loads(settings.read_bytes()) == json.loads(SHAPES["four spaces"])


@pytest.mark.parametrize(
    ("handler", "ours"),
    [
        ({"command": "scrubjay", "args": ["hook", "stop"]}, True),
        ({"type": "command", "command": "C:/tools/scrubjay.exe", "args": ["hook", "stop"]}, True),
        ({"command": "scrubjay", "args": ["search", "x"]}, False),
        ({"command": "python3", "args": ["/x/scrubjay/hooks/stop.py"]}, True),
        ({"command": "python3", "args": ["/x/other/hooks/stop.py"]}, False),
        ({"type": "prompt", "command": "scrubjay", "args": ["hook"]}, False),
        ({"command": 5}, False),
        ("scrubjay hook stop", False),
    ],
)
def test_our_hooks_are_known_by_what_they_run(handler, ours):
    assert is_our_hook(handler) is ours


@pytest.mark.parametrize(
    ("server", "ours"),
    [
        ({"command": "scrubjay"}, True),
        ({"command": "/opt/bin/scrubjay", "args": ["stdio"]}, True),
        ({"command": "uvx", "args": ["scrubjay@latest"]}, True),
        ({"command": "python3", "args": ["-m", "scrubjay"]}, True),
        ({"command": "npx", "args": ["scrubjay-themes"]}, False),
        ({"url": "http://localhost"}, False),
    ],
)
def test_our_server_is_known_by_what_it_starts(server, ours):
    assert is_our_server(server) is ours
