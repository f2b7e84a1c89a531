"""Engines killed by SIGKILL at a step of a job: nothing acknowledged is lost or duplicated, the job can be
repeated, and permanently deleted text is in no file of the home.

`SCRUBJAY_CAMPAIGN` multiplies the number of kills in CI.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from campaign import dying

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(os.name == "nt", reason="no SIGKILL and no forkserver there"),
]

SCALE = float(os.environ.get("SCRUBJAY_CAMPAIGN", "1"))
DEATHS = max(1, round(2 * SCALE))  # of each job
PROCESSES = dying.Processes()


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("t")
    assert PROCESSES.run(dying.prepare, str(folder)) == 0
    assert dying.holding(str(folder / "home"))
    shutil.rmtree(folder / "first")
    return folder


@pytest.fixture
def homes(template: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Callable[[], Path]]:
    """Makes copies of the template folder, with the home that the job starts from."""
    job, numbers = request.getfixturevalue("job"), iter(range(10**6))
    made = tmp_path / "template"
    shutil.copytree(template, made)
    if job == "start":
        shutil.rmtree(made / "home")
        (made / "acknowledged").unlink()
    if job == "upgrade":
        assert PROCESSES.run(dying.age, str(made / "home")) == 0

    def copied() -> Path:
        folder = tmp_path / str(next(numbers))
        shutil.copytree(made, folder)
        return folder

    yield copied
    shutil.rmtree(tmp_path)


def seen_after(folder: Path, job: str) -> dict[str, Any]:
    """The records after the job was repeated, and what the deletion of the secret left."""
    answer = f"{folder}.seen"
    assert PROCESSES.run(dying.look_at, str(folder / "home"), job, answer) == 0, folder
    return json.loads(Path(answer).read_text())


@pytest.mark.parametrize("job", dying.JOBS)
def test_a_kill_at_any_step_loses_duplicates_and_leaks_nothing(job: str, homes: Callable[[], Path]) -> None:
    whole = homes()
    assert PROCESSES.run(dying.do, str(whole / "home"), job, None, f"{whole}.steps") == 0
    steps = json.loads(Path(f"{whole}.steps").read_text())
    expected = seen_after(whole, job)
    assert (expected["lost"], expected["leaked"], expected["bare"]) == ([], [], 0)
    as_before = seen_after(homes(), "restore")["held"] if job == "restore" else None

    def died(step: str) -> tuple[str, dict[str, Any]]:
        folder = homes()
        code = PROCESSES.run(dying.do, str(folder / "home"), job, step, f"{folder}.steps")
        assert code in (0, -9), (step, code)
        seen = seen_after(folder, job)
        shutil.rmtree(folder)
        return step, seen

    chosen = random.Random(14).sample(steps, min(DEATHS, len(steps)))
    with ThreadPoolExecutor(2) as pool:
        ends = list(pool.map(died, chosen))
    wrong: list[tuple[str, object]] = []
    for step, seen in ends:
        held = Counter(map(json.dumps, seen["held"]))
        wanted = Counter(map(json.dumps, as_before if seen["held"] == as_before else expected["held"]))
        lost, doubled = len(seen["lost"]) + (wanted - held).total(), seen["doubled"] + (held - wanted).total()
        if lost or doubled or seen["leaked"]:
            wrong.append((step, {**seen, "held": [*(wanted - held), *(held - wanted)]}))
        if as_before is None and {**seen, "held": expected["held"]} != expected:
            wrong.append((step, {key: value for key, value in seen.items() if value != expected[key]}))
    assert not wrong
