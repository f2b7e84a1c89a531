"""Teaches the bundled model to read whether a later note changes what an earlier one says.

    python server/model/changes.py [--further] [--minutes 24] [--seed 0]

It is trained on the notes in `amendments`, and on pairs of memories of `lessons.py` about one subject, which
do not change each other. Writes `changes.npz`, from which `make_minilm.py` makes the reader's files. Lines of
`amendments/*.txt`:

    @ a project or a person
    = an earlier note
    + a later note that changes it
    - a later note about the same subject that leaves it true
    ? a question that the earlier note answers, and each + after it

A cross-encoder: question, earlier and later note are one input, and each linear layer learns a product of two
thin matrices, as in `teach.py`. Of a group, each later note is a pair with the earlier one. Notes that change
those of other groups are pairs too: without them the model learns how a change sounds, not what it changes.
Prints the area under the curve for every `HELD`-th group, which is not trained on. `--further` begins with
what the file holds. Another machine rounds differently, so what was learned is kept: for 37 minutes on two
cores by the first eight files (apps, data, embedded, infrastructure, small, teams, tools, web), then for 45
on one core by all of them.
"""

import argparse
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
import torch
from lessons import QUESTIONS, projects
from make_minilm import TAUGHT, ChangeReader, add_taught
from pupils import Bundled, learn
from torch.nn import functional
from training import halved, padded, train

from scrubjay.encoders import BUNDLED, open_encoder
from scrubjay.encoders.change_reader import laid_out

AMENDMENTS = Path(__file__).with_name("amendments")
GROUPS, LESSONS = 8, 6  # groups, and pairs of memories, in a step
TOGETHER = 32  # pairs of similar length that are padded together
UNASKED = 0.1  # share of groups without their question
REVERSED = 0.5  # share of groups with the earlier note after another
FOREIGN = 8  # notes of other groups to choose from, by cosine
CHANGING = 2  # notes that change those of other groups, for each group of a step
NEAR = 3  # memories to choose from, by cosine
LONG = 600  # characters of a memory
HELD = 14


class Pair(NamedTuple):
    """A question, an earlier and a later text, and whether the later one changes the earlier."""

    question: str
    earlier: str
    later: str
    changes: bool


class Group:
    """An earlier note and what follows it, and notes of other groups with a similar meaning."""

    def __init__(self) -> None:
        self.earlier = ""
        self.changing: list[str] = []
        self.others: list[str] = []
        self.questions: list[str] = []
        self.foreign: list[str] = []
        self.changing_others: list[str] = []

    def own(self, question: str) -> Iterator[Pair]:
        """Yield each later note with the earlier one."""
        for later in self.changing:
            yield Pair(question, self.earlier, later, True)
        for later in self.others:
            yield Pair(question, self.earlier, later, False)

    def pairs(self, random: Random) -> Iterator[Pair]:
        """Yield the pairs of a step."""
        question = "" if random.random() < UNASKED else random.choice(self.questions)
        yield from self.own(question)
        for later in (random.choice(self.foreign), *random.sample(self.changing_others, CHANGING)):
            yield Pair(question, self.earlier, later, False)
        if random.random() < REVERSED:
            yield Pair(question, random.choice(self.others), self.earlier, False)


def groups(file: Path) -> list[Group]:
    """Read the complete groups of a file."""
    found: list[Group] = []
    for line in file.read_text("utf-8").splitlines():
        kind, text = line[:1], line[2:].strip()
        if kind == "=":
            found.append(Group())
            found[-1].earlier = text
        elif found and kind in "+-?" and text:
            group = found[-1]
            {"+": group.changing, "-": group.others, "?": group.questions}[kind].append(text)
    return [group for group in found if group.changing and group.others and group.questions]


def find_foreign(some: Sequence[Group]) -> None:
    """Give each group the nearest notes of other groups, and the nearest that change one of another group."""
    encoder = open_encoder(BUNDLED)
    notes = [(group, text) for group in some for text in (group.earlier, *group.changing, *group.others)]
    vectors = encoder.embed_documents([text for _, text in notes])
    first = 0
    for group in some:
        near = [notes[at] for at in np.argsort(-(vectors @ vectors[first])).tolist()]
        others = [(other, text) for other, text in near if other is not group]
        group.foreign = [text for _, text in others[:FOREIGN]]
        changing = (text for other, text in others if text in other.changing)
        group.changing_others = list(islice(changing, FOREIGN))
        first += 1 + len(group.changing) + len(group.others)


def unrelated(random: Random) -> list[Pair]:
    """Return a pair for each question of the lessons: its memory, and another one near to that."""
    encoder, found = open_encoder(BUNDLED), []
    for project in projects(sorted(QUESTIONS.glob("*.txt"))):
        vectors = encoder.embed_documents([memory.text for memory in project])
        for at, memory in enumerate(project):
            near = [other for other in np.argsort(-(vectors @ vectors[at])).tolist() if other != at][:NEAR]
            if near and len(memory.text) < LONG:
                found += [
                    Pair(question, memory.text, project[random.choice(near)].text, False)
                    for question in memory.answered
                ]
    return found


class Teacher:
    """Trains the reader."""

    def __init__(self, random: Random) -> None:
        self._random = random
        bert = Bundled().bert
        add_taught(bert, TAUGHT)
        learn(bert)
        self.reader = ChangeReader(bert)

    def teach(self, some: list[Group], lessons: Sequence[Pair], minutes: float) -> None:
        """Take steps for so many minutes."""

        def losses() -> Iterator[torch.Tensor]:
            groups = self._random.sample(some, GROUPS)
            pairs = [pair for each in groups for pair in each.pairs(self._random)]
            pairs += self._random.sample(lessons, LESSONS)
            for batch in self._batches(pairs):
                odds, truth = self._odds(batch), torch.tensor([float(pair.changes) for pair in batch])
                loss = functional.binary_cross_entropy_with_logits(odds, truth, reduction="sum")
                yield loss / len(pairs)

        train(self.reader, minutes, losses)

    def accuracy(self, some: Sequence[Group]) -> float:
        """Return how often a note that changes the earlier one has more odds than one that does not."""
        pairs = [pair for group in some for pair in group.own(group.questions[0])]
        ordered = [pair for batch in self._batches(pairs) for pair in batch]
        with torch.no_grad():
            odds = np.concatenate([self._odds(batch).numpy() for batch in self._batches(pairs)])
        changes = np.array([pair.changes for pair in ordered])
        return float((odds[changes][:, None] > odds[~changes][None, :]).mean())

    def _batches(self, pairs: Sequence[Pair]) -> Iterator[Sequence[Pair]]:
        ordered = sorted(pairs, key=lambda pair: len(pair.earlier) + len(pair.later))
        for start in range(0, len(ordered), TOGETHER):
            yield ordered[start : start + TOGETHER]

    def _odds(self, pairs: Sequence[Pair]) -> torch.Tensor:
        inputs = [laid_out(pair.question, pair.earlier, pair.later) for pair in pairs]
        with halved():
            odds: torch.Tensor = self.reader(*padded(inputs))
        return odds.float()


def main() -> None:
    """Teach, and write the file."""
    parser = argparse.ArgumentParser(description="Teach the bundled model to read changes.")
    parser.add_argument("--further", action="store_true", help="begin with what it learned before")
    parser.add_argument("--minutes", type=float, default=24)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    random = Random(options.seed)
    some = [group for file in sorted(AMENDMENTS.glob("*.txt")) for group in groups(file)]
    held, taught = some[::HELD], [group for at, group in enumerate(some) if at % HELD]
    find_foreign(taught)
    teacher = Teacher(random)
    if options.further:
        teacher.reader.remember()
    teacher.teach(taught, unrelated(random), options.minutes)
    print(f"{len(taught)} groups; AUC of {len(held)} others: {teacher.accuracy(held):.3f}")
    np.savez(ChangeReader.file, **teacher.reader.learned())


if __name__ == "__main__":
    main()
