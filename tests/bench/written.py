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

A sentence of the user has its sign after the >. An open point is found if one of the sentences that an opening may show is it; a sentence
shown is wrong unless it is + or ?. The baseline shows the last sentence of the last answer.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from figures import grid, head, header

from scrubjay.text.open_points import left_open
from scrubjay.text.sentences import clip, sentences
from scrubjay.text.titles import Exchange

FOLDER = Path(__file__).with_name("sessions")
_LINE = re.compile(r"(>?)([-+~?]?) *(.+)")
_BEGINNING = 60  # characters by which a sentence is known


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
                signs |= {sentence.text[:_BEGINNING]: sign for sentence in sentences(text)}
        yield Session([Exchange(*("\n\n".join(side) for side in turn)) for turn in turns], signs)


def last_sentence(exchanges: Sequence[Exchange]) -> list[str]:
    """Return the baseline."""
    return [sentence.text for sentence in sentences(exchanges[-1].assistant)][-1:]


def counted(some: Sequence[Session], tell: Callable[[Sequence[Exchange]], list[str]]) -> tuple[str, str]:
    """Return how many open points are found, and how many of what is shown is wrong."""
    points = found = shown = wrong = 0
    for exchanges, signs in some:
        told = {clip(text, _BEGINNING).removesuffix("…") for text in tell(exchanges)}
        due = {text for text, sign in signs.items() if sign == "+"}
        points += len(due)
        found += sum(any(text.startswith(each[:_BEGINNING]) for each in told) for text in due)
        shown += len(told)
        fine = [text for text, sign in signs.items() if sign in "+?"]
        wrong += sum(not any(text.startswith(each) for text in fine) for each in told)
    return f"{found} of {points}", f"{wrong} of {shown}"


def main() -> int:
    """Print a row for each writer."""
    print(head(header()), end="\n\n")
    rows = [("writer", "sessions", "found", "wrong", "last sentence: found", "wrong")]
    every: list[Session] = []
    for file in sorted(FOLDER.glob("*.txt")):
        some = list(read(file))
        every += some
        rows.append((file.stem, str(len(some)), *counted(some, left_open), *counted(some, last_sentence)))
    print(grid([*rows, ("all", str(len(every)), *counted(every, left_open), *counted(every, last_sentence))]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
