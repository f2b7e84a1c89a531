"""Lessons: memories of developers and questions about them, which were written to train models.

Lines of the files in the folder `questions`:

    @ a project or a person: the memories up to the next @ belong together
    = a memory
    ? a question that the memory above answers
    ! a question about the same thing that no memory answers
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np

QUESTIONS = Path(__file__).with_name("questions")
BATCH, LONG_BATCH = 64, 32  # memories
LONG = 250  # characters from which a project's memories are long, on average
TOGETHER = 16  # memories of a project in a batch


class Memory(NamedTuple):
    """A memory, questions that it answers, and questions that nothing answers."""

    text: str
    answered: list[str]
    unanswered: list[str]


Project = Sequence[Memory]


def projects(files: Sequence[Path]) -> list[Project]:
    """Return the memories of each project that have a question."""
    found: list[list[Memory]] = []
    for line in (line for file in files for line in file.read_text("utf-8").splitlines()):
        kind, text = line[:1], line[2:].strip()
        if kind == "@":
            found.append([])
        elif kind == "=":
            found[-1].append(Memory(text, [], []))
        elif kind == "?":
            found[-1][-1].answered.append(text)
        elif kind == "!":
            found[-1][-1].unanswered.append(text)
    return [[memory for memory in project if memory.answered] for project in found]


def batches(every: Sequence[Project], random: Random) -> list[Project]:
    """Return batches of whole projects or large parts of them; long memories apart, to pad less."""
    done: list[Project] = []
    for size, is_long in ((BATCH, False), (LONG_BATCH, True)):
        parts = [
            part
            for project in every
            if project and (np.mean([len(memory.text) for memory in project]) >= LONG) == is_long
            for part in _parts(random.sample(project, len(project)))
        ]
        random.shuffle(parts)
        batch: list[Memory] = []
        for part in parts:
            batch += part
            if len(batch) >= size:
                done.append(batch)
                batch = []
    random.shuffle(done)
    return done


def _parts(memories: Project) -> Iterator[Project]:
    for start in range(0, len(memories), TOGETHER):
        yield memories[start : start + TOGETHER]
