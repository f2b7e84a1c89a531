"""Homes of every kind under real clients and engines: two of them, copied, deeply nested, unusable, removed,
unreachable.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from clients import INITIALIZE, ON_POSIX, engines, root, start, until

from scrubjay.errors import HomeError
from scrubjay.home.paths import open_home
from scrubjay.wire.lock import FileLock

__all__ = ["root", "start"]  # fixtures

pytestmark = [ON_POSIX, pytest.mark.long]


def test_two_homes_never_see_each_other(root, start):
    other = root + "2"
    one, two = start(), start(other)
    assert one.pid_of_engine() != two.pid_of_engine()
    assert len(engines(root)) == len(engines(other)) == 1
    one.leave()
    until(lambda: not engines(root), "the first engine ended")
    assert two.pid_of_engine() == engines(other)[0].pid
    two.leave()
    until(lambda: not engines(other), "the second engine ended")


def test_a_copied_home_does_not_connect_to_the_engine_of_the_original(root, start):
    one = start()
    first = one.pid_of_engine()
    copy = open_home(root + ".copy").root
    Path(copy, "engine.json").write_text(Path(root, "engine.json").read_text())
    other = start(copy)
    assert other.pid_of_engine() != first
    assert one.pid_of_engine() == first
    other.leave()
    until(lambda: not engines(copy), "the engine of the copy ended")


def test_a_home_with_a_long_path_works(tmp_path_factory, start):
    base = tmp_path_factory.mktemp("h")
    root = str(base / ("long" * 30))
    client = start(root, XDG_RUNTIME_DIR=str(base / "run"))
    assert client.open()["id"] == 0
    assert os.listdir(base / "run" / "scrubjay")
    client.leave()
    until(lambda: not engines(root), "the engine ended")
    assert not os.listdir(base / "run" / "scrubjay")


def test_a_home_that_cannot_be_created_is_explained_to_every_request(tmp_path, start):
    (tmp_path / "file").touch()
    client = start(str(tmp_path / "file" / "home"))
    client.say(0, **INITIALIZE)
    assert "cannot be used: Not a directory" in client.hear()["error"]["message"]
    client.call(1)
    assert "cannot be used" in client.hear()["result"]["content"][0]["text"]


@pytest.mark.parametrize("target", ["unplugged", "home"])
def test_a_home_that_is_a_broken_or_circular_link_is_explained(tmp_path, target):
    (tmp_path / "home").symlink_to(tmp_path / target)
    with pytest.raises(HomeError, match=f"is a link to .*{target}"):
        open_home(str(tmp_path / "home"))


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give a folder away")
def test_a_shared_folder_of_other_files_keeps_its_permissions(tmp_path):
    """A tester named `/` as the home, which closed it to every other user."""
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "notes.txt").write_text("not ours")
    shared.chmod(0o1777)
    with pytest.raises(HomeError, match=r"holds files that are not Scrubjay's.*chmod 700"):
        open_home(str(shared))
    assert stat.S_IMODE(shared.stat().st_mode) == 0o1777 and os.listdir(shared) == ["notes.txt"]
    shared.chmod(0o700)
    assert open_home(str(shared)).root == str(shared), "a closed one may hold other files"
    shared.chmod(0o755)
    open_home(str(shared))
    assert stat.S_IMODE(shared.stat().st_mode) == 0o700, "a home that was copied open is closed again"


def test_a_home_of_another_user_is_refused(root, start):
    os.makedirs(root)
    os.chown(root, 12345, 12345)
    with pytest.raises(HomeError):
        open_home(root)
    client = start()
    client.say(0, **INITIALIZE)
    assert "belongs to user 12345" in client.hear()["error"]["message"]


def test_removing_a_home_ends_its_engine(root, start):
    client = start()
    client.open()
    os.rename(root, root + ".gone")
    until(lambda: not engines(root), "the engine ended")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the owner of a process is unknown")
def test_a_hung_local_engine_is_named_with_the_way_to_end_it(root, start):
    home = open_home(root)
    sleeper = subprocess.Popen([sys.executable, "-c", "input()", "scrubjay"], stdin=subprocess.PIPE)
    with sleeper, FileLock(home.engine_lock) as lock:
        assert lock.acquire()
        Path(home.engine_json).write_text(json.dumps({"socket": f"{root}/none.sock", "pid": sleeper.pid}))
        client = start(UNREACHABLE="0.2")
        client.say(0, **INITIALIZE)
        assert f"`kill -9 {sleeper.pid}` ends it" in client.hear()["error"]["message"]
        sleeper.kill()


def test_an_unreachable_engine_is_described_and_its_lock_is_left_alone(root, start):
    home = open_home(root)
    with FileLock(home.engine_lock) as lock:
        assert lock.acquire()
        facts = {"socket": "/elsewhere/engine.sock", "pid": 4711, "version": "0.1.0"}
        facts["started_at"] = "2026-03-05T12:00:00Z"
        Path(home.engine_json).write_text(json.dumps(facts))
        client = start(UNREACHABLE="0.2")
        client.say(0, **INITIALIZE)
        error = client.hear()["error"]["message"]
        assert "pid 4711" in error and "/elsewhere/engine.sock" in error and "container" in error
        assert lock.is_held
    os.unlink(home.engine_json)
    assert client.open()["id"] == 0
