"""Real assistants run our hook: each is installed from npm at a pinned version, configured with
`stub_model.py` as its model, and run with no network but loopback, with a home of its own.

`pytest -m real_hosts -n 0 -o faulthandler_timeout=1200`; it installs up to 400 MB a host into the cache of the tests.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from subprocess import CompletedProcess

import memories_made
import pytest
from installs import INSTALL_SECONDS, installation
from stub_model import ANSWER, MODEL
from user import User, make_user

pytestmark = pytest.mark.real_hosts

NODE = "26.10.0"  # some of them need a newer one than machines have
PORT = 8099
URL = f"http://127.0.0.1:{PORT}"
RUN_SECONDS = 400  # OpenCode and Kilo without a network wait 97 s for their package manager
ASKED, AGAIN = "Which port does staging listen on?", "And which port did you say?"
# In a network of its own: the stub, then the assistant of a user who types nothing.
INSIDE = """
ip link set lo up || exit 77
"$PYTHON" "$STUB" "$PORT" "$LOG" & stub=$!
for i in $(seq 100); do (exec 3<>/dev/tcp/127.0.0.1/$PORT) 2>/dev/null && break; sleep 0.1; done
"$@" < "$ASKED"; code=$?
kill $stub; exit $code
"""


ASSISTANTS = tomllib.loads(
    Path(__file__).with_name("assistants.toml").read_text().replace("{url}", URL).replace("{model}", MODEL)
)


def npm(package: str) -> Path:
    """The folder of a package's commands, installed once."""
    if shutil.which("npm") is None or shutil.which("unshare") is None:
        pytest.skip("real assistants need npm to be installed, and unshare to be kept from the network")

    def install(folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        options = ["--prefix", str(folder), "--no-audit", "--no-fund", "--loglevel=error"]
        seconds = 2 * INSTALL_SECONDS
        done = run(["npm", "install", *options, package], folder, os.environ | {"HOME": str(folder)}, seconds)
        assert done.returncode == 0, f"npm could not install {package}:\n{done.stderr[-2000:]}"

    name = package.strip("@").replace("/", "-").partition("@")[0]
    return installation(name, package.encode(), install) / "node_modules" / ".bin"


def run(command: list[str], folder: Path, env: dict[str, str], seconds: float) -> CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=seconds, check=False
    )


def ask(name: str, user: User, folder: Path, question: str) -> str:
    """The requests that an assistant sends to its model in one run with this prompt, as JSON."""
    log, asked, about = folder / "requests.jsonl", folder / "asked.txt", ASSISTANTS[name]
    is_on_stdin = about.get("on_stdin", False)
    log.write_text("")
    asked.write_text(question if is_on_stdin else "")
    (folder / "tmp").mkdir(exist_ok=True)
    commands = f"{npm(about['package'])}:{npm(f'node@{NODE}')}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    env = {
        "HOME": str(folder),
        "TMPDIR": str(folder / "tmp"),
        "PATH": commands,
        "LANG": "C.UTF-8",
        "SCRUBJAY_HOME": user.home.root,
        "PYTHON": sys.executable,
        "PORT": str(PORT),
        "TERM": "xterm",
        "STUB": str(Path(__file__).parents[1] / "support" / "stub_model.py"),
        "LOG": str(log),
        "ASKED": str(asked),
        **about["env"],
    }
    command = [*about["command"], *([] if is_on_stdin else [question])]
    alone = "unshare -n -p -f --mount-proc --kill-child bash -c".split()
    done = run([*alone, INSIDE, "inside", *command], user.project, env, RUN_SECONDS)
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip("this user may not make a network of its own")
    assert ANSWER in done.stdout, f"{name} said {done.stdout[-2000:]!r} and {done.stderr[-2000:]!r}"
    return log.read_text()


@pytest.mark.parametrize("name", ASSISTANTS)
def test_setup_connects_a_real_assistant_and_its_removal_leaves_nothing(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "u"
    folder.mkdir()
    user = make_user(tmp_path)._replace(folder=folder)
    subprocess.run(["git", "init", "-q"], cwd=user.project, check=True)
    if "file" in ASSISTANTS[name]:
        file = folder / ASSISTANTS[name]["file"]
        file.parent.mkdir(parents=True)
        file.write_text(ASSISTANTS[name]["content"])
    before = files(folder)
    user.gets("setup", "--yes", "--only", name)
    connected = files(folder)
    try:
        first = ask(name, user, folder, ASKED)
        assert "scrubjay-memory" not in first
        status = captured(user, "1 of 1 turn")
        assert f"{name}: 1 prompt and 1 answer received" in status
        assert turns(user) == [(name, ASKED, ANSWER)]
        shown = ask(name, user, folder, AGAIN)
        assert "scrubjay-memory" in shown and ASKED in shown  # some write its brackets as entities
        assert "search_memories" in first + shown
        captured(user, "2 of 2 turns")
        past = user.gets("import", "--from", name, str(folder))
        assert past.endswith("2 turns of 2 sessions: 0 imported, 2 already known\n")
        its_memory_is_kept_in_step(user, folder, name)
        left = files(folder)
        user.gets("setup", "--remove", "--yes", "--only", name)
    finally:
        user.types("stop")
    gone = files(folder)
    for path in connected.keys() & gone.keys():
        assert b"scrubjay" not in gone[path], path
        assert left[path] != connected[path] or gone[path] == before[path], path
    newcomer = make_user(tmp_path / "new")  # who starts with the assistant's own files
    try:
        past = newcomer.gets("import", "--from", name, str(folder))
        assert past.endswith("2 turns of 2 sessions: 2 imported\n")
        assert turns(newcomer) == [(name, AGAIN, ANSWER), (name, ASKED, ANSWER)]
    finally:
        newcomer.types("stop")


def its_memory_is_kept_in_step(user: User, folder: Path, name: str) -> None:
    """What a host's own memory says is imported, follows its changes, and outlasts its deletion."""
    kinds = [kind for kind in memories_made.KINDS if kind.host == name and kind.is_users]
    for kind in kinds[:1]:
        other = kind.fact.replace("5433", "5434")
        for said in (kind.fact, other):
            memories_made.write(kind, folder, said)
            user.gets("import", "--from", name)
            page = user.gets("list", "--scope", "user")
            assert said in page
        (line,) = [line for line in page.splitlines() if other in line]
        memories_made.write(kind, folder, "")
        user.gets("import", "--from", name)
        assert other not in user.gets("list", "--scope", "user")
        (id,) = re.findall(r"mem_\w+", line)
        assert "deleted by its host" in user.gets("show", id)
        user.gets("restore", id)
        assert other in user.gets("list", "--scope", "user")


def captured(user: User, count: str) -> str:
    """The output of `status` once so many turns are captured: an answer may come from a transcript a little
    later.
    """
    for _ in range(20):
        status = user.gets("status", "--start")
        if f"captured {count}" in status:
            break
    assert f"captured {count}" in status
    return status


def turns(user: User) -> list[tuple[str, str, str]]:
    """The host and both sides of every turn."""
    lines = [json.loads(line) for line in user.gets("export", "-").splitlines()]
    said = [line for line in lines if line.get("kind") == "turn"]
    return sorted((line["host"], line["user"], line["assistant"]) for line in said)


def files(folder: Path) -> dict[Path, bytes]:
    """The files of assistants below a folder."""
    paths = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {path: path.read_bytes() for path in paths}
