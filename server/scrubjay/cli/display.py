"""Formats numbers, times, scopes and progress for users."""

from __future__ import annotations

import json
import os
import re
import sys
import time

from scrubjay.text.answers import DOUBTFUL
from scrubjay.text.answers import plural as plural  # commands import it from here
from scrubjay.text.foreign import visible, visible_json

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without the import that every command would pay
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime
    from typing import Any, TextIO

WIDTH = 30  # characters of the progress bar
TEXT_WIDTH, PIPED_WIDTH = 110, 200  # the most characters of a line of text, and of a list in a pipe
NARROW = 80  # on a terminal with fewer columns, lists leave out the time and the project
LEAST_SECONDS = 1.0  # of work before the remaining time is estimated


def size(count: float) -> str:
    """Return a number of bytes in the unit that makes it shortest.

    >>> size(999), size(1_234_567), size(10_000_000_000)
    ('999 B', '1.2 MB', '10 GB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            break
        count /= 1000
    return f"{count:.0f} {unit}" if count >= 10 or unit == "B" else f"{count:.1f} {unit}"


def contents(counts: Mapping[str, int]) -> str:
    """Return the numbers of turns, facts and documents as text, and of commits if there are any.

    >>> contents({"turns": 1, "memories": 2, "documents": 0})
    '1 turn, 2 facts, 0 documents'
    """
    names = {"turns": "turn", "memories": "fact", "documents": "document"}
    if counts.get("commits"):
        names["commits"] = "commit"
    return ", ".join(plural(counts[name], noun) for name, noun in names.items())


def redaction_notice(secrets: int) -> list[str]:
    """Return a sentence about the secrets that were replaced, if there are any.

    >>> redaction_notice(1), redaction_notice(0)
    (['1 secret in the text was replaced before it was stored.'], [])
    """
    verb = "was replaced before it was" if secrets == 1 else "were replaced before they were"
    return [f"{plural(secrets, 'secret')} in the text {verb} stored."] if secrets else []


def list_width() -> int:
    """Return the characters of a line of a list: those of the terminal, or PIPED_WIDTH without one."""
    if not sys.stdout.isatty():
        return PIPED_WIDTH
    from shutil import get_terminal_size  # takes 3 ms, only needed here

    return get_terminal_size().columns


def text_width() -> int | None:
    """Return how many characters a line of a text has on a terminal; None, unlimited, without a terminal."""
    return min(list_width(), TEXT_WIDTH) if sys.stdout.isatty() else None


def span(seconds: float) -> str:
    """Return a duration in one unit.

    >>> span(42), span(150), span(7_300), span(200_000)
    ('42 s', '2 min', '2 h', '2 days')
    """
    for unit, length, least in (("days", 86_400, 2), ("h", 3_600, 2), ("min", 60, 2)):
        if seconds >= length * least:
            return f"{seconds // length:.0f} {unit}"
    return f"{seconds:.0f} s"


def local(instant: str) -> datetime:
    """Return an instant from the engine in the time zone of this machine."""
    from datetime import datetime  # takes 2 ms, only needed here

    return datetime.fromisoformat(instant).astimezone()


def first_line(text: str, width: int) -> str:
    """Return the beginning of a text on one line of at most `width` columns.

    >>> first_line("user: Which port?\\n\\nassistant: 8080.", 20), first_line("鸟站在浅水里等待鱼类", 12)
    ('Which port?', '鸟站在浅...')
    """
    for raw in visible(text).splitlines():
        if line := raw.strip().removeprefix("user:").strip():
            if columns(line) <= width:
                return line
            cut = line[: max(width - 3, 1)]
            while len(cut) > 1 and columns(cut) > width - 3:
                cut = cut[:-1]
            return cut.rstrip() + "..."
    return ""


def columns(text: str) -> int:
    """Return how many columns of a terminal a text takes: Chinese, Japanese and Korean letters take two."""
    if text.isascii():
        return len(text)
    from unicodedata import east_asian_width

    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def cell(text: str, width: int) -> str:
    """Return a short text cut and filled to `width` columns of a list.

    >>> cell("プロジェクト", 9), cell("sparrow", 9)
    ('プロジェ ', 'sparrow  ')
    """
    while columns(text) > width:
        text = text[:-1]
    return text + " " * (width - columns(text))


def wrap_text(text: str, width: int) -> list[str]:
    """Return a paragraph as lines for a terminal, each of about `width` columns.

    >>> wrap_text("鸟站在浅水里等待鱼类", 8)
    ['鸟站在浅', '水里等待', '鱼类']
    """
    from textwrap import wrap  # takes 1 ms, only for a search

    letters = width * len(text) // max(columns(text), 1)
    return wrap(text, max(letters, 1), break_on_hyphens=False)


def summary_line(hit: Mapping[str, Any], width: int) -> str:
    """Return the beginning of a hit's title or text, as `first_line` does."""
    return first_line(hit.get("title") or hit.get("memory") or hit.get("chunk") or "", width)


def degraded_note(answer: Mapping[str, Any]) -> list[str]:
    """Return a line that says why a search was degraded, if it was."""
    return [f"Note: {answer['degraded']}"] if answer.get("degraded") else []


# Patterns of what a terminal shows in colour, except in a record's text, and the codes of their colours.
_COLOURS = (
    (r"^\S[^:]*:(?= {2,})|^--- \S+|^Facts:", "1"),
    (r"\b(?:mem|turn|doc)_[0-9a-f]{8,24}\b|(?<= )[\w.-]+/\d+(?=  )|(?<=  )[0-9a-f]{8}(?=  )", "36"),
    (r"\b\d{4}-\d\d-\d\d(?: \d\d:\d\d(?::\d\d)?)?|\bscore \d\.\d\d", "2"),
    (r"(?<= )#[\w.-]+", "32"),
    (rf"^(?:Note:|{DOUBTFUL}).*", "33"),
)
# The beginning of a line of a record's text; at this place a line of the profile has a date.
_TEXT = r" {6}(?! {3}\d{4}-)"


def has_colours(stream: TextIO) -> bool:
    """Return True if this output is a terminal that shows colours, and the user wants them."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def coloured(line: str) -> str:
    r"""Return a line for a terminal with its ids, dates and labels in colour.

    >>> coloured("mem_0123abcd  heron")
    '\x1b[36mmem_0123abcd\x1b[0m  heron'
    """
    if re.match(_TEXT, line):
        return line
    pattern = "|".join(f"({each})" for each, _ in _COLOURS)
    return re.sub(pattern, lambda m: f"\x1b[{_COLOURS[(m.lastindex or 1) - 1][1]}m{m[0]}\x1b[0m", line)


def print_answer(answer: Any, lines: Iterable[str], *, as_json: bool) -> None:
    """Print an answer for a user, or as JSON for a program."""
    if as_json:
        in_unicode = (sys.stdout.encoding or "").lower().startswith("utf")
        print(visible_json(json.dumps(answer, indent=1, ensure_ascii=not in_unicode)))
        return
    style = coloured if has_colours(sys.stdout) else str
    for line in lines:
        print(style(visible(line)))


class Progress:
    """Shows the progress of some work at a terminal; use it as a context manager, which ends its line."""

    def __init__(self, label: str = "", stream: TextIO | None = None) -> None:
        self._label, self._stream = label, stream or sys.stderr
        self._has_stages = not label  # each is shown by its own name and bar
        self._first_step: tuple[int, float] | None = None  # amount and time of the first step
        self._bar_length = 0  # characters of the bar

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def step(self, step: Mapping[str, Any]) -> None:
        """Show a step as the engine reports it: `done` of `total`, in the stage `what`."""
        if self._has_stages and step["what"] != self._label:
            self._close()
            self._label, self._first_step = step["what"], None
        self.show(step["done"], step["total"])

    def show(self, done: int, total: int) -> None:
        """Show that `done` of `total` are done, and estimate the remaining time."""
        if not self._stream.isatty():
            return
        now = time.monotonic()
        first, since = self._first_step = self._first_step or (done, now)
        estimate = ""
        if now - since >= LEAST_SECONDS and first < done < total:
            estimate = f", about {span((now - since) * (total - done) / (done - first))} left"
        bar = ("#" * (WIDTH * done // max(total, 1))).ljust(WIDTH, ".")
        line = f"{self._label} [{bar}] {done:,} of {total:,}{estimate}"
        self._stream.write(f"\r{line:<{self._bar_length}}")
        self._stream.flush()
        self._bar_length = len(line)

    def _close(self) -> None:
        if self._bar_length:
            self._stream.write("\n")
            self._bar_length = 0
