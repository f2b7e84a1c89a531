"""Measures open points on sessions that other writers made up, who labelled each sentence as they wrote it.

    python tests/bench/written.py

Their files, in `sessions`, have the form of `server/model/sessions.py`. Three writers; no model was trained on
theirs, and each wrote in a style of their own.

What an opening may show is part of a sentence: a long one is cut. An open point is found if a part of it is
shown; what is shown is wrong unless it is part of a sentence with + or ?. The baseline is that of `told.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from figures import grid, head, header
from told import first_and_last, ours

sys.path.insert(0, str(Path(__file__).parents[2] / "server" / "model"))
from sessions import Session, read

FOLDER = Path(__file__).with_name("sessions")


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
