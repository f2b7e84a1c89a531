"""Homes with broken files, without permissions, without space: the intact parts keep working, and each
problem gets a helpful message.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from assistant import engines, until
from small_disk import BALLAST, fill, small_disk
from user import User, make_user

from scrubjay.home import spool
from scrubjay.hosts.installation import console_command

pytestmark = pytest.mark.long

NOBODY = 65534

__all__ = ["small_disk"]  # a fixture


def test_a_broken_spool_file_is_moved_away_with_its_reason_and_stops_nothing(user, opens):
    envelope = {"v": 1, "id": "text-0001", "kind": "turn", "at": "2026-03-01"}
    envelope |= {"scope": "user", "source": "hook:stop", "args": {"session_id": "s"}}
    broken = {
        "00000000000000000001-cut.json": b'{"v": 1, "id": "cut',
        "00000000000000000002-nul.json": bytes(4096),
        "00000000000000000003-shape.json": b'{"v": 1, "kind": "song"}',
        "00000000000000000004-text.json": json.dumps(envelope).encode(),
    }
    for name, content in broken.items():
        Path(user.home.spool_new, name).write_bytes(content)
    folder = "00000000000000000005-folder.json"
    Path(user.home.spool_new, folder).mkdir()
    user.says("What is the zebra called?", "The zebra is called Marty.", session="s", turn=0)
    assert "Marty" in opens().recall("zebra")[0]
    status = user.gets("status")
    assert "captured 1 of 5 turns" in status and "4 turns unreadable" in status  # a folder is not an envelope
    for reason in ("is not JSON", "wrong fields: ", "there is no text"):
        assert reason.lower() in status.lower(), status
    assert sorted(map(os.path.basename, spool.json_files(user.home.spool_broken))) == sorted(broken)


def test_an_empty_newest_manifest_loses_no_acknowledged_write(user, opens):
    first = opens()
    first.get("record_turn", session_id="s", user="The zebra is called Marty.")
    first.leave()
    until(lambda: not engines(user.home.root), "the first engine ended")
    user.says("And the lion, what is it called?", "The lion is called Alex.", session="s", turn=1)
    (left,) = spool.events(user.home, "answer")
    kept = shutil.copy(left, user.folder)
    assert len(opens().recall("what is it called?")) == 2
    until(lambda: not spool.pending(user.home), "the second turn is on disk")
    for engine in engines(user.home.root):
        engine.kill()
    until(lambda: not engines(user.home.root), "the power went")
    # as if power failed just before the sync: the log still has the turn, the table's last version is empty
    shutil.move(kept, left)
    for table in Path(user.home.data).glob("*.lance"):
        newest = min((table / "_versions").glob("*.manifest"))
        newest.write_bytes(b"")
    assert sorted(hit.split()[-1] for hit in opens().recall("what is it called?")) == ["Alex.", "Marty."]
    status = user.gets("status")
    assert "captured 1 of 1 turn" in status
    assert "restored from its copy" in status or "newest version was unreadable" in status


def test_a_full_disk_refuses_writes_answers_searches_and_recovers(small_disk, opens, new_user):
    user = new_user(small_disk)
    client = opens(user)
    client.get("add_memory", content="The zebra is called Marty.")
    gone = client.get("add_memory", content="The giraffe is called Melman.")
    client.recall("zebra")  # which commits both
    client.get("add_memory", content="The zebra eats grass.")
    client.get("forget", id=gone["id"])
    fill(small_disk)  # both writes are acknowledged, and not yet committed
    refused = client.call("add_memory", content="The lion is called Alex. " + "x" * 9000)
    assert refused["isError"]
    assert "cannot be written: No space left on device." in refused["content"][0]["text"]
    hits = client.get("search_memories", query="zebra")
    assert "The zebra is called Marty." in [hit["memory"] for hit in hits["results"]]
    assert "The latest writes are not searchable yet" in hits["degraded"]
    assert gone["id"] not in str(client.get("search_memories", query="giraffe"))
    assert "No space left on device" in client.call("search_memories", query="zebra")["content"][0]["text"]
    assert "The zebra is called Marty." in user.gets("search", "zebra")
    assert "The zebra is called Marty." in user.gets("list")
    (small_disk / BALLAST).unlink()
    assert client.get("add_memory", content="The lion is called Alex.")["action"] == "stored"
    assert client.recall("zebra grass")[0] == "The zebra eats grass."
    assert client.recall("lion")[0] == "The lion is called Alex."
    assert gone["id"] not in str(client.get("search_memories", query="giraffe"))
    user.waits_for_vectors()
    assert spool.pending(user.home) == []


def test_a_client_that_connects_while_the_disk_is_full_is_served_once_there_is_space(
    small_disk, opens, new_user
):
    user = new_user(small_disk)
    fill(small_disk)
    new = opens(user)  # the home has no store yet, so nothing can be found
    for tool, argument in (("search_memories", "query"), ("add_memory", "content")):
        refused = new.call(tool, **{argument: "The zebra is called Marty."})
        assert refused["isError"] and "No space left on device" in refused["content"][0]["text"]
    assert "No space left on device" in user.refused("search", "zebra")
    (small_disk / BALLAST).unlink()
    until(
        lambda: not new.call("add_memory", content="The zebra is called Marty.")["isError"],
        "the engine took a write",
    )
    new.leave()
    until(lambda: not engines(user.home.root), "the engine ended")
    fill(small_disk)
    again = opens(user)
    assert again.recall("zebra") == ["The zebra is called Marty."]
    fill(small_disk)  # a starting engine removes the leftovers
    refused = again.call("add_memory", content="The lion is called Alex.")
    assert refused["isError"] and "No space left on device" in refused["content"][0]["text"]


class Guest(User):
    """A user whose client has a temporary folder of its own, as in a sandbox."""

    @property
    def env(self) -> dict[str, str]:
        return {**User.env.fget(self), "TMPDIR": str(self.folder / "sandbox")}


def test_an_engine_outlives_the_temporary_folder_of_the_client_that_started_it(user, opens):
    guest = Guest(*user)
    os.mkdir(guest.env["TMPDIR"])
    client = opens(guest)
    client.get("add_memory", content="The zebra is called Marty.")
    shutil.rmtree(guest.env["TMPDIR"])
    client.get("add_memory", content="The lion is called Alex.")
    called = ["The lion is called Alex.", "The zebra is called Marty."]
    assert sorted(client.recall("what is it called?")) == called
    user.waits_for_vectors()
    assert spool.pending(user.home) == []
    assert "cannot" not in Path(user.home.log, "engine.log").read_text()


@pytest.fixture
def stranger() -> Iterator[tuple[User, list[str]]]:
    """A user without permissions, and the prefix that runs a command as that user."""
    folder = Path(tempfile.mkdtemp(prefix="jay"))
    folder.chmod(0o755)
    prefix = []
    if os.geteuid() == 0:
        prefix = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        if (
            shutil.which("setpriv") is None
            or subprocess.run([*prefix, *console_command(), "--version"], timeout=30, check=False).returncode
        ):
            pytest.skip("root may do everything, and no other user may run this installation")
    user = make_user(folder)
    os.mkdir(user.home.root, mode=0o500)
    if prefix:
        os.chown(user.home.root, NOBODY, NOBODY)
    yield user, prefix
    shutil.rmtree(folder)


def run(prefix: list[str], user: User, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = [*prefix, *console_command(), *words]
    place = {"env": user.env, "cwd": user.project, "timeout": 30}
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, **place)


def test_an_inaccessible_home_is_refused_with_what_to_do_and_hooks_stay_silent(stranger):
    user, prefix = stranger
    sentence = (
        f"The home folder {user.home.root} ({user.home.spool}) cannot be used: Permission denied. "
        "Set SCRUBJAY_HOME to a folder that you own on a local disk."
    )
    for words in (("status",), ("search", "zebra"), ("--in-process",)):
        done = run(prefix, user, *words)
        assert (done.returncode, done.stdout) == (1, "") and sentence in done.stderr, words
    ask = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}})
    answer = json.loads(run(prefix, user, stdin=f"{ask}\n").stdout)
    assert answer["id"] == 1 and answer["error"]["message"] == sentence
    prompt = {"session_id": "s", "prompt": "What is the zebra called?", "cwd": "/"}
    prompt["hook_event_name"] = "UserPromptSubmit"
    hook = run(prefix, user, "hook", "user-prompt-submit", stdin=json.dumps(prompt))
    assert (hook.returncode, hook.stdout.strip()) == (0, "{}"), hook.stderr
