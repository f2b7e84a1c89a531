"""Measures open points on sessions that other writers made up, who labelled each sentence as they wrote it.

    python tests/bench/written.py

They saw neither the signs nor `told.toml`, and each wrote in a style of their own (`sessions/*.txt`); nothing is fitted to them. Lines,
a sentence each:

    @ a project: what the session is about
    > the user's; more of them belong to one prompt
    - the assistant's, and nothing is to be done because of it
    + it says that something is open, and nothing later settles it
    ~ it says so, and a later turn settles it
    ? it is a matter of opinion

A sentence of the user has its sign after the >. What an opening may show is part of a sentence: a prompt loses its politeness. An open
point is found if a part of it is shown; what is shown is wrong unless it is part of a sentence with + or ?. The baseline is that of `told.py`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from figures import grid, head, header
from told import first_and_last, ours

from scrubjay.text.sentences import sentences
from scrubjay.text.titles import Exchange

FOLDER = Path(__file__).with_name("sessions")
_LINE = re.compile(r"(>?)([-+~?]?) *(.+)")


class Session(NamedTuple):
    """A session, and the sign of each of its sentences."""

    exchanges: list[Exchange]
    signs: dict[str, str]


def read(file: Path) -> Iterator[Session]:
    """Yield the sessions of a file."""
    for part in re.split(r"(?m)^@ ", file.read_text("utf-8"))[1:]:
        turns: list[tuple[list[str], list[str]]] = []
        signs: dict[str, str] = {}
        for line in part.splitlines()[1:]:
            if not (match := _LINE.match(line)):
                continue
            is_user, sign, text = bool(match[1]), match[2] or "-", match[3]
            if is_user and (not turns or turns[-1][1]):
                turns.append(([], []))
            if turns:
                turns[-1][0 if is_user else 1].append(text)
                signs |= {sentence.text: sign for sentence in sentences(text)}
        yield Session([Exchange(*("\n\n".join(side) for side in turn)) for turn in turns], signs)


def counted(some: Iterable[tuple[Session, Sequence[str]]]) -> tuple[str, str]:
    """Return how many open points are found, and how many of what is shown is wrong."""
    points = found = shown = wrong = 0
    for session, told in some:
        due = [text for text, sign in session.signs.items() if sign == "+"]
        fine = [text for text, sign in session.signs.items() if sign in "+?"]
        points += len(due)
        found += sum(any(is_part(each, text) for each in told) for text in due)
        shown += len(told)
        wrong += sum(not any(is_part(each, text) for text in fine) for each in told)
    return f"{found} of {points}", f"{wrong} of {shown}"


def is_part(told: str, text: str) -> bool:
    """Return True if what is told is part of a text; "…" stands where it was cut."""
    return told.removesuffix("…").casefold() in text.casefold()


def main() -> int:
    """Print a row for each writer."""
    print(head(header()), end="\n\n")
    files = {file.stem: list(read(file)) for file in sorted(FOLDER.glob("*.txt"))}
    files["all"] = [session for some in files.values() for session in some]
    rows = [("writer", "sessions", "found", "wrong", "first and last: found", "wrong")]
    for name, some in files.items():
        counts = (
            counted((session, tell(session.exchanges).open) for session in some)
            for tell in (ours, first_and_last)
        )
        rows.append((name, str(len(some)), *(cell for count in counts for cell in count)))
    print(grid(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
