"""The progress bar of long commands: one line on a terminal, with the remaining time."""

from __future__ import annotations

import io

import pytest

from scrubjay.cli import display
from scrubjay.cli.display import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that the test sets."""
    now = [100.0]
    monkeypatch.setattr(display.time, "monotonic", lambda: now[0])
    return now


def test_on_a_terminal_one_line_is_redrawn_with_the_remaining_time(seconds: list[float]) -> None:
    screen = Terminal()
    with Progress(stream=screen) as progress:
        progress.step({"done": 10, "total": 10, "what": "reading"})
        progress.step({"done": 0, "total": 1_000, "what": "embedding"})
        seconds[0] += 20
        progress.step({"done": 250, "total": 1_000, "what": "embedding"})
        progress.step({"done": 1_000, "total": 1_000, "what": "embedding"})
    lines = screen.getvalue().split("\n")
    assert len(lines) == 3 and lines[2] == ""  # a line a stage
    assert lines[0].endswith("reading [##############################] 10 of 10")
    first, middle, last = lines[1].removeprefix("\r").split("\r")
    assert first == "embedding [..............................] 0 of 1,000"
    assert middle == "embedding [#######.......................] 250 of 1,000, about 60 s left"
    assert last.rstrip().endswith("1,000 of 1,000") and len(last) == len(middle)  # it is erased


def test_elsewhere_nothing_is_printed(seconds: list[float]) -> None:
    file = io.StringIO()
    with Progress("embedding", file) as progress:
        progress.show(5, 10)
    assert file.getvalue() == ""
