"""Teaches the bundled model to read which sentences of a session say that something is open.

    python server/model/left_open.py [--further] [--minutes 24] [--seed 0]

It is trained on the labelled sessions of `sessions.py`, a turn at a time, with what follows. Writes
`left_open.npz`, from which `make_minilm.py` makes the reader's files. A cross-encoder, as in `changes.py`:
each linear layer learns a product of two thin matrices. Prints the area under the curve for every `HELD`-th
session, which is not trained on. `--further` begins with what the file holds. Another machine rounds
differently, so what was learned is kept: by 25 of the files in 24 minutes on two cores, then by all of them,
but for the last 23 sessions of `answers`, in 48 minutes on one core.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import NamedTuple

import numpy as np
import torch
from make_minilm import TAUGHT, OpenReader, add_taught
from pupils import Bundled, learn
from sessions import SESSIONS, Session, read
from torch.nn import functional
from training import halved, padded, train

from scrubjay.encoders.open_reader import Window, windows
from scrubjay.text.titles import Exchange

TURNS, TOGETHER = 24, 8  # windows in a step, and those of similar length that are padded together
ALONE = 0.25  # share of turns that are read without what follows: nothing has settled what they leave open
OPEN = {"-": 0.0, "~": 0.0, "+": 1.0}  # a matter of opinion is not learned
HELD = 25


class Lesson(NamedTuple):
    """A turn, or a part of it, and for each sentence 1 if something is open by it, 0 if not, else None."""

    window: Window
    truth: list[float | None]


class Turn(NamedTuple):
    """A turn, what follows in its session, and the signs of its sentences."""

    said: Exchange
    following: Sequence[Exchange]
    signs: Mapping[str, str]

    def lessons(self) -> list[Lesson]:
        """Return the turn with what follows."""
        return self._lessons(self.following, OPEN)

    def alone(self) -> list[Lesson]:
        """Return the turn without what follows."""
        return self._lessons((), OPEN | {"~": 1.0})

    def _lessons(self, following: Sequence[Exchange], is_open: Mapping[str, float]) -> list[Lesson]:
        return [
            Lesson(window, [is_open.get(self.signs.get(span.text, "?")) for span in window.spans])
            for window in windows(self.said, following)
        ]


def turns(sessions: Sequence[Session]) -> list[Turn]:
    """Return the turns of sessions."""
    return [
        Turn(turn, session.exchanges[at + 1 :], session.signs)
        for session in sessions
        for at, turn in enumerate(session.exchanges)
    ]


class Teacher:
    """Trains the reader."""

    def __init__(self, random: Random) -> None:
        self._random = random
        bert = Bundled().bert
        add_taught(bert, TAUGHT)
        self.reader = OpenReader(bert)
        learn(bert)

    def teach(self, some: Sequence[Turn], minutes: float) -> None:
        """Take steps for so many minutes."""
        due: list[Turn] = []

        def losses() -> Iterator[torch.Tensor]:
            nonlocal due
            if len(due) < TURNS:
                due += self._random.sample(some, len(some))
            batch, due = due[:TURNS], due[TURNS:]
            sides = [turn.alone() if self._random.random() < ALONE else turn.lessons() for turn in batch]
            read = [lesson for side in sides for lesson in side]
            count = sum(len(lesson.truth) for lesson in read)
            for some_of_them in _batches(read):
                odds, truth = self._odds(some_of_them)
                loss = functional.binary_cross_entropy_with_logits(odds, truth, reduction="sum")
                yield loss / count

        train(self.reader, minutes, losses)

    def accuracy(self, some: Sequence[Turn]) -> float:
        """Return how often a sentence by which something is open has more odds than one of the others."""
        with torch.no_grad():
            judged = [
                self._odds(batch) for batch in _batches([each for turn in some for each in turn.lessons()])
            ]
        odds, truth = (torch.cat(each).numpy() for each in zip(*judged, strict=True))
        return float((odds[truth == 1][:, None] > odds[truth == 0][None, :]).mean())

    def _odds(self, lessons: Sequence[Lesson]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the log odds of the sentences, and the truth; those without a truth are left out."""
        with halved():
            tokens = self.reader(*padded([lesson.window.given for lesson in lessons]))
        known = [
            (row[span.start : span.end].mean(), truth)
            for row, lesson in zip(tokens.float(), lessons, strict=True)
            for span, truth in zip(lesson.window.spans, lesson.truth, strict=True)
            if truth is not None
        ]
        if not known:
            return tokens.new_zeros(0), tokens.new_zeros(0)
        return torch.stack([odds for odds, _ in known]), torch.tensor([truth for _, truth in known])


def _batches(lessons: Sequence[Lesson]) -> Iterator[Sequence[Lesson]]:
    ordered = sorted(lessons, key=lambda lesson: lesson.window.given.shape[1])
    for start in range(0, len(ordered), TOGETHER):
        yield ordered[start : start + TOGETHER]


def main() -> None:
    """Teach, and write the file."""
    parser = argparse.ArgumentParser(description="Teach the bundled model to read what a session left open.")
    parser.add_argument("--further", action="store_true", help="begin with what it learned before")
    parser.add_argument("--minutes", type=float, default=24)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    every = [session for file in sorted(SESSIONS.glob("*.txt")) for session in read(file)]
    taught = [session for at, session in enumerate(every) if at % HELD]
    teacher = Teacher(Random(options.seed))
    if options.further:
        teacher.reader.remember()
    teacher.teach(turns(taught), options.minutes)
    accuracy = teacher.accuracy(turns(every[::HELD]))
    print(f"{len(taught)} sessions; AUC of {len(every[::HELD])} others: {accuracy:.3f}")
    np.savez(OpenReader.file, **teacher.reader.learned())


if __name__ == "__main__":
    main()
