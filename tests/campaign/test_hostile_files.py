"""Files made to harm their reader: each costs itself alone, within its bounds, and says which of them it met."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest
from hostile_files import FILES

from scrubjay.errors import InputError
from scrubjay.reading import read
from scrubjay.reading.process import PROCESSES

SECONDS = 8.0  # for a file
SLACK = 4.0  # of a machine that does other things
SENTENCE = re.compile(r"'[^\n]+' [^\n]+[^.]\.")
QUICK = (
    "corners.xlsx",
    "deep.docx",
    "spans.docx",
    "deep-pages.pdf",
    "level.ipynb",
    "nested.eml",
    "colspan.html",
)


def said_of(name: str, data: bytes, seconds: float = SECONDS) -> str:
    """What reading gives: the sentence, or nothing if there is text."""
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
def test_a_hostile_file_is_text_or_one_sentence_in_time(name: str) -> None:
    said_of(name, FILES[name]())
    assert read(b"<p>owl", "good.html").text == "owl"


def test_a_file_that_aborts_its_reader_says_so_and_the_next_is_read() -> None:
    assert "is damaged, or needs more than 1 GB of memory" in said_of("a.xlsx", FILES["corners.xlsx"]())
    assert said_of("level.ipynb", FILES["level.ipynb"]()) == (
        "'level.ipynb' needs more than 1 GB of memory to be read; split it."
    )
    assert read(b"<p>owl", "good.html").text == "owl"


def test_a_file_that_takes_too_long_is_given_up_in_time() -> None:
    said = said_of("fences.ipynb", FILES["fences.ipynb"](), seconds=1.0)
    assert said == "'fences.ipynb' takes longer than 1 s to read; split it."


def test_a_file_that_finds_every_process_busy_is_not_waited_for_without_end(
    request: pytest.FixtureRequest,
) -> None:
    for _ in range(2):
        busy = PROCESSES._take(time.monotonic() + SECONDS)
        request.addfinalizer(giving_back(busy))
    assert "had to wait too long for other files" in said_of("good.html", b"<p>owl", seconds=0.1)


def giving_back(process: object) -> Callable[[], None]:
    return lambda: PROCESSES._give_back(process)  # type: ignore[arg-type]
