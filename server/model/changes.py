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
from training import Reading, accuracy, teach

from scrubjay.encoders import BUNDLED, open_encoder
from scrubjay.encoders.change_reader import laid_out

AMENDMENTS = Path(__file__).with_name("amendments")
GROUPS, LESSONS = 8, 6  # groups, and pairs of memories, in a step
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

    @property
    def reading(self) -> Reading:
        """The input of the reader, and whether it is a change."""
        return Reading(laid_out(self.question, self.earlier, self.later), self.changes)


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
    bert = Bundled().bert
    add_taught(bert, TAUGHT)
    learn(bert)
    reader = ChangeReader(bert)
    if options.further:
        reader.remember()
    memories = unrelated(random)

    def step() -> list[Reading]:
        pairs = [pair for each in random.sample(taught, GROUPS) for pair in each.pairs(random)]
        return [pair.reading for pair in (*pairs, *random.sample(memories, LESSONS))]

    teach(reader, step, options.minutes)
    others = [pair.reading for group in held for pair in group.own(group.questions[0])]
    print(f"{len(taught)} groups; AUC of {len(held)} others: {accuracy(reader, others):.3f}")
    np.savez(ChangeReader.file, **reader.learned())


if __name__ == "__main__":
    main()
