"""Whatever a hook is given, it exits with 0 and an answer in time, and its log has none of the content."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest
from campaign.hostile_payloads import CANARY, Payload, hostile_places, payloads
from user import User, newcomer

from scrubjay.hooks.hosts import HOSTS, events
from scrubjay.hosts.installation import hooks_folder

__all__ = ["newcomer"]  # a fixture

resource = pytest.importorskip("resource")  # not on Windows
pytestmark = [pytest.mark.long, pytest.mark.skipif(os.name == "nt", reason="files that block")]
COUNT = 500  # hooks
MOST_S = 1.5  # of a hook, on an idle machine
SLACK_S = 4.5  # of a busy machine, before a hook counts as hung
KEYS = {"hookSpecificOutput", "additionalContext", "additional_context", "injectSteps", "continue"}


def commands() -> list[tuple[str, list[str]]]:
    """(host, command) of every event of every host that this installation serves."""
    entry = os.path.join(hooks_folder(), "hook.py")
    return [
        (host, [entry, "--host", host, "--event", event])
        for host in HOSTS
        for event in (*events(host), "nothing-like-it")
    ]


class Ending(NamedTuple):
    """The end of a hook: its exit code, its output, its duration and its processor time."""

    code: int
    out: bytes
    err: bytes
    seconds: float
    processor: float


def run(command: list[str], data: bytes, user: User) -> Ending:
    """Run a hook as its host does, in a process of its own."""
    began, used = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.run(
        [sys.executable, "-I", "-S", *command],
        input=data,
        capture_output=True,
        env=user.env,
        cwd=user.project,
        timeout=30,
        check=False,
    )
    more = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = more.ru_utime + more.ru_stime - used.ru_utime - used.ru_stime
    return Ending(process.returncode, process.stdout, process.stderr, time.monotonic() - began, processor)


def wrong(ending: Ending, host: str) -> str:
    """What is wrong with the end of a hook; empty if nothing is."""
    if ending.code or ending.err:
        return f"code {ending.code}, {ending.err[-300:]!r}"
    if ending.processor > MOST_S or ending.seconds > MOST_S + SLACK_S:
        return f"{ending.seconds:.1f} s, {ending.processor:.1f} s of a processor"
    if host == "kiro":  # its model sees everything that is printed
        return repr(ending.out[:300]) if CANARY.encode() in ending.out else ""
    try:
        answer = json.loads(ending.out)
    except ValueError:
        return f"no JSON: {ending.out[:300]!r}"
    return "" if isinstance(answer, dict) and answer.keys() <= KEYS else f"an answer {ending.out[:300]!r}"


def remove(path: Path) -> None:
    path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()


def tried(payload: Payload, ending: Ending, command: tuple[str, list[str]]) -> list[str]:
    reason = wrong(ending, command[0])
    return [f"{command[0]} {' '.join(command[1][-1:])}: {payload.name[:200]}: {reason}"] if reason else []


def test_every_hook_exits_cleanly_on_any_input(newcomer: User, tmp_path: Path) -> None:
    all_commands = commands()
    failures: list[str] = []
    for number, payload in enumerate(payloads(14, COUNT, hostile_places(tmp_path / "places"))):
        command = all_commands[number * 7 % len(all_commands)]
        failures += tried(payload, run(command[1], payload.data, newcomer), command)
    logs = [path for path in Path(newcomer.home.log).rglob("*") if path.is_file()]
    lines = [line for path in logs for line in path.read_text(errors="replace").splitlines()]
    leaks = [
        line for line in lines if CANARY in re.sub(r"^(\S+ \S+) \S+", r"\1", line)
    ]  # sessions have names
    assert not failures, "\n".join(failures[:40])
    assert logs and not leaks


def test_a_home_full_of_traps_stops_no_hook(newcomer: User) -> None:
    sound = json.dumps({"session_id": "s1", "prompt_id": "p1", "prompt": CANARY, "cwd": "/"}).encode()
    home = Path(newcomer.home.root)
    run(commands()[0][1], sound, newcomer)
    failures: list[str] = []
    for name in ("capture.json", "engine.json", "scopes.json", "engine.sock", "log/hooks.log"):
        for trap in ("a pipe", "a folder", "a circle", "a device", "bytes", "deep"):
            path = home / name
            if path.is_symlink() or path.exists():
                remove(path)
            if trap == "a pipe":
                os.mkfifo(path)
            elif trap == "a folder":
                path.mkdir()
            elif trap == "a circle":
                path.symlink_to(path)
            elif trap == "a device":
                path.symlink_to("/dev/zero")
            else:
                path.write_bytes(b"\xff\x00" * 1_000_000 if trap == "bytes" else b"[" * 1_000_000)
            for command in commands()[:4]:
                payload = Payload(f"{name} is {trap}", "", sound)
                failures += tried(payload, run(command[1], sound, newcomer), command)
            remove(path)
    assert not failures, "\n".join(failures[:40])
