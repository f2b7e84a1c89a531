"""The demo: what a newcomer sees in the first minute, from the installed command, with nothing left
behind.
"""

from __future__ import annotations

import os
import re
import subprocess

import psutil
import pytest

from scrubjay.cli.demo import QUESTIONS, TURNS
from scrubjay.hosts.installation import console_command


def test_the_demo_records_recalls_and_leaves_nothing(tmp_path_factory: pytest.TempPathFactory) -> None:
    tmp_path = tmp_path_factory.mktemp("d")  # short, so that the socket fits into the demo's home
    env = {"PATH": os.environ["PATH"], **dict.fromkeys(("HOME", "TMPDIR"), str(tmp_path))}
    env["SCRUBJAY_HOME"] = str(tmp_path / "mine")
    place = {"env": env, "cwd": tmp_path, "timeout": 60}
    command = [*console_command(), "demo"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, **place)
    assert (done.returncode, done.stderr) == (0, "")
    page = " ".join(done.stdout.split())
    assert f"{len(TURNS)} turns wait on disk" in page
    answers = (
        "without Redis, and one worker polls it",
        "a retry after a timeout becomes a second picture",
        "> turn 5 Seven days is too long, support says after two days nobody comes back. Keep them 48 hours.",
    )
    places = [
        place
        for question, answer in zip(QUESTIONS, answers, strict=True)
        for place in (page.index(question), page.index(answer))
    ]
    assert places == sorted(places), "each answer stands below its question"
    assert len(re.findall(r"^   > turn ", done.stdout, re.MULTILINE)) == len(QUESTIONS)
    # two neighbours each, but the first turn has only one
    assert len(re.findall(r"^     turn ", done.stdout, re.MULTILINE)) == 5
    assert len(done.stdout.splitlines()) <= 50
    locks = f"scrubjay-{os.getuid()}"  # of the cores, which all engines of a machine share
    left_over = {each.name for each in tmp_path.iterdir()} - {locks}
    assert not left_over, "neither the demo's home nor the user's"
    left = [
        each for each in psutil.process_iter(["cwd"]) if (each.info["cwd"] or "").startswith(str(tmp_path))
    ]
    assert not psutil.wait_procs(left, timeout=10)[1], "the engine let its lock go, and its process ends"
