"""Files made to harm their reader: each affects no other file, stays within its limits, and names the limit
it hit.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from campaign.hostile_files import FILES
from user import User, newcomer

from scrubjay.errors import InputError
from scrubjay.hosts.installation import console_command
from scrubjay.reading import read
from scrubjay.reading.process import PROCESSES

__all__ = ["newcomer"]  # a fixture

SECONDS = 2.0  # for a file
SLACK = 4.0  # of a machine that does other things
SENTENCE = re.compile(r"'[^\n]+' [^\n]+[^.]\.")
QUICK = tuple("corners.xlsx deep.docx deep-pages.pdf nested.eml colspan.html".split())


TEXT = re.compile(r".*\.(txt|json|py|js|ts|yaml|md|csv|xml)")  # which the engine reads itself
DEADLY = ("corners.xlsx", "numbers.pdf", "nested.eml", "deep.docx")
MOST_KB = 1 << 20  # of memory that an engine ever had
LONG = 1 << 20  # bytes of a text


def said_of(name: str, data: bytes, seconds: float = SECONDS) -> str:
    """The error of reading a file, or "" if it has text."""
    began = time.monotonic()
    try:
        assert read(data, name, seconds=seconds).text.strip()
        said = ""
    except InputError as error:
        said = str(error)
        assert SENTENCE.fullmatch(said)
    assert time.monotonic() - began < seconds + SLACK
    return said


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.long) for name in FILES]
)
def test_a_hostile_file_gives_text_or_an_error_in_time(name: str) -> None:
    said_of(name, FILES[name]())
    assert read(b"<p>owl", "good.html").text == "owl"


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of another process is told by Linux alone")
def test_an_engine_stays_small_and_indexes_the_good_files_among_hostile_ones(newcomer: User) -> None:
    folder = newcomer.project / "docs"
    folder.mkdir()
    # Long texts make 100,000 passages, after which the first search waits for minutes.
    made = {name: FILES[name]() for name in FILES if TEXT.fullmatch(name) or name in DEADLY}
    names = [name for name, data in made.items() if len(data) < LONG or name in DEADLY]
    for name in names:
        (folder / name).write_bytes(made[name])
    for number in range(5):
        (folder / f"good{number}.md").write_text(f"# Ships\n\nShip {number} lies in harbour {number * 7}.\n")
    command = [*console_command(), "index", str(folder)]
    indexed = subprocess.run(
        command,
        env=newcomer.env,
        cwd=newcomer.project,
        capture_output=True,
        text=True,
        timeout=1_200,
        check=False,
    )
    try:
        assert indexed.returncode == 0, indexed.stderr
        assert {name for name in names if name in indexed.stderr} >= set(DEADLY)
        assert "Ship 3 lies in harbour 21." in newcomer.gets(
            "search", "--mode", "documents", "where does ship 3 lie"
        )
        engine = json.loads(Path(newcomer.home.engine_json).read_text())["pid"]
        status = Path(f"/proc/{engine}/status").read_text()
        assert int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) < MOST_KB  # type: ignore[index]
    finally:
        newcomer.types("stop")


def test_a_file_does_not_wait_forever_for_a_free_process(
    request: pytest.FixtureRequest,
) -> None:
    for _ in range(2):
        busy = PROCESSES._acquire(time.monotonic() + SECONDS)
        request.addfinalizer(giving_back(busy))
    assert "had to wait too long for other files" in said_of("good.html", b"<p>owl", seconds=0.1)


def giving_back(process: object) -> Callable[[], None]:
    return lambda: PROCESSES._release(process)  # type: ignore[arg-type]
