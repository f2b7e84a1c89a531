"""The programs of tests/bench start, and measure functions that exist."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[1] / "bench"
PROGRAMS = sorted(path.name for path in BENCH.glob("*.py") if "argparse" in path.read_text("utf-8"))

pytestmark = pytest.mark.long


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_describes_its_options(name: str) -> None:
    done = subprocess.run(
        [sys.executable, BENCH / name, "--help"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_every_step_of_a_search_that_is_timed_exists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCH))
    for places in import_module("where").STEPS.values():
        for module, _, name in (place.partition(":") for place in places):
            assert attrgetter(name)(import_module(f"scrubjay.{module}"))
