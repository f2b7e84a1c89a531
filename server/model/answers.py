"""Teaches the bundled model to read whether a memory answers a question.

    python server/model/answers.py [--further] [--minutes 24] [--seed 0]

It is trained on the memories and questions of `lessons.py`, and on those of the folder `other_things`, whose
unanswered questions ask the same of another thing: "who owns the search module?" of "Nadia owns the payments
module." Writes `answers.npz`, from which `make_minilm.py` makes the reader's files.

A cross-encoder, as in `changes.py`: it begins with what that reader learned. Each memory is a pair with one
of its questions, with a question that nothing answers, and with a question to a memory near it; a question is
a pair with a near memory too. Prints the area under the curve for every `HELD`-th project, which is not
trained on. `--further` begins with what the file holds. Another machine rounds differently, so what was
learned is kept: for 28 minutes on two cores by the lessons and the files `work`, `days` and `pairs`, then for
62, in which other programs ran, by all of them.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
import torch
from lessons import QUESTIONS, Memory, Project, projects
from make_minilm import TAUGHT, AnswerReader, ChangeReader, add_taught
from pupils import Bundled, learn
from training import Reading, accuracy, teach

from scrubjay.encoders import BUNDLED, open_encoder
from scrubjay.encoders.answer_reader import LENGTH, laid_out
from scrubjay.records.passages import with_gloss
from scrubjay.search.retrieval.excerpts import excerpt
from scrubjay.text.developer_words import gloss

OTHER_THINGS = Path(__file__).with_name("other_things")
MEMORIES = 16  # in a step, half of them of `other_things`
NEAR = 3  # memories to choose from, by cosine
UNGLOSSED = 0.2  # share of memories without the kinds of their names, which the dictionary may lack
HELD = 20


class Lesson(NamedTuple):
    """A memory, and the memories of its project that are nearest to it."""

    memory: Memory
    near: list[Memory]

    def readings(self, random: Random) -> Iterator[Reading]:
        """Yield the memory with three questions, and a question to it with another memory."""
        question, other = random.choice(self.memory.answered), random.choice(self.near)
        yield self._reading(question, self.memory, True, random)
        if self.memory.unanswered:
            yield self._reading(random.choice(self.memory.unanswered), self.memory, False, random)
        yield self._reading(question, other, False, random)
        yield self._reading(random.choice(other.answered), self.memory, False, random)

    def _reading(self, question: str, memory: Memory, is_answer: bool, random: Random) -> Reading:
        text = excerpt(memory.text, question, LENGTH)
        is_plain = random.random() < UNGLOSSED
        return Reading(laid_out(question, text if is_plain else with_gloss(text, gloss(text))), is_answer)


def lessons(some: Sequence[Project]) -> list[Lesson]:
    """Return a lesson for each memory of these projects that is not alone in its project."""
    encoder, found = open_encoder(BUNDLED), list[Lesson]()
    for project in some:
        if len(project) > 1:
            vectors = encoder.embed_documents([memory.text for memory in project])
            for memory, vector in zip(project, vectors, strict=True):
                near = [project[at] for at in np.argsort(-(vectors @ vector)).tolist()]
                found.append(Lesson(memory, [other for other in near if other is not memory][:NEAR]))
    return found


def main() -> None:
    """Teach, and write the file."""
    parser = argparse.ArgumentParser(description="Teach the bundled model to read answers.")
    parser.add_argument("--further", action="store_true", help="begin with what it learned before")
    parser.add_argument("--minutes", type=float, default=24)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    random = Random(options.seed)
    bert = Bundled().bert
    add_taught(bert, TAUGHT)
    learn(bert)
    reader = AnswerReader(bert)
    reader.remember(AnswerReader.file if options.further else ChangeReader.file)
    every = [projects(sorted(folder.glob("*.txt"))) for folder in (QUESTIONS, OTHER_THINGS)]
    taught = [lessons([project for at, project in enumerate(some) if at % HELD]) for some in every]

    def step() -> list[Reading]:
        chosen = [each for some in taught for each in random.sample(some, MEMORIES // len(taught))]
        return [reading for each in chosen for reading in each.readings(random)]

    teach(reader, step, options.minutes)
    np.savez(AnswerReader.file, **reader.learned())
    for folder, some in zip((QUESTIONS, OTHER_THINGS), every, strict=True):
        held = [reading for each in lessons(some[::HELD]) for reading in each.readings(random)]
        print(f"{folder.name}: AUC of {len(held)} readings of other projects: {accuracy(reader, held):.3f}")


if __name__ == "__main__":
    main()
