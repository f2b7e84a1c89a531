"""Developers' conversations of any number, made up deterministically, over a vocabulary whose words are as
unequal as real ones. Knows words, lengths and frequencies; does not know where turns are stored.

A word index is as large as its vocabulary and as slow as its commonest words. So 60,000 words are drawn with
a probability of 1 / (rank + 2.7) (Mandelbrot's form of Zipf's law), a third of a session's words are its own
few topics, and every turn names an identifier and a path of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from random import Random
from typing import NamedTuple

import numpy as np

from scrubjay.encoders.bundled import FOLDER, VOCABULARY
from scrubjay.text.terms import STOP

SESSION = 20  # turns
SCOPES = 8  # projects; the first has most sessions, in the shares 1, 1/2, 1/3, ...
FIRST = datetime(2025, 1, 6, 8, 0, tzinfo=UTC)
_VOCABULARY = 60_000
_OFFSET = 2.7
_TOPICS, _TOPICAL = 10, 0.35  # words of a session's own, and their share of its text
_ASKED, _ANSWERED = (5, 12), (10, 24)  # content words of the two sides of a turn
_GLUE = (
    "the a of to in for on with and that is was it we this from by at as not but when because after before "
    "so then now into"
).split()
_SOUNDS = (
    "b d f g k l m n p r s t v z br cr dr fl gr kl pl pr st tr sh ch".split(),
    "a e i o u ai ea io ou".split(),
)
_QUESTIONS = (
    "what did we decide about the {0} and the {1} of {2}?",
    "why was {3} failing when the {0} met the {1}?",
    "how does {3} handle the {0} after the {2}",
    "where did we change the {0} for the {1}?",
    "which {2} needs the {0} before the {1} in {3}?",
)


class Said(NamedTuple):
    """One turn: its project and session by number, its place in the session, and both sides."""

    scope: int
    session: int
    place: int
    user: str
    assistant: str
    at: datetime


def turn(number: int) -> Said:
    """The turn of this number; 20 consecutive numbers are one session, and nothing depends on how many there
    will be.
    """
    session, place = divmod(number, SESSION)
    return _session(session)[place]


def question(number: int, among: int) -> tuple[int, str]:
    """(scope, question) about one of the first `among` turns, in words of that turn and its session; no two
    are alike.
    """
    random = Random(f"question {number}")
    asked = turn(random.randrange(among))
    words = [
        word for word in asked.assistant.replace(".", "").split() if word not in _GLUE and "/" not in word
    ]
    plain, names = [word for word in words if "_" not in word], [word for word in words if "_" in word]
    return asked.scope, random.choice(_QUESTIONS).format(*random.sample(plain, 3), random.choice(names))


def scope_name(number: int) -> str:
    """A project as the product names it."""
    return f"repo_project{number}__{number:016x}"


@cache
def _words() -> tuple[str, ...]:
    """English by frequency, as the bundled model's tokenizer lists it (so that vectors mean something), then
    invented words.
    """
    listed = (FOLDER / VOCABULARY).read_text("utf-8").splitlines()
    made = dict.fromkeys(
        word for word in listed if word.isascii() and word.isalpha() and len(word) > 2 and word not in STOP
    )
    random, (onsets, vowels) = Random("words"), _SOUNDS
    while len(made) < _VOCABULARY:
        syllables = random.choice((2, 2, 3, 3, 4))
        made["".join(random.choice(onsets) + random.choice(vowels) for _ in range(syllables))] = None
    return tuple(made)


@cache
def _cumulative() -> np.ndarray:
    weights = 1.0 / (np.arange(_VOCABULARY) + _OFFSET)
    return np.cumsum(weights / weights.sum())


@cache
def _scope_shares() -> np.ndarray:
    weights = 1.0 / np.arange(1, SCOPES + 1)
    return np.cumsum(weights / weights.sum())


# Turns are asked for in order when a store is filled, and at random by questions: a few sessions are enough.
@lru_cache(64)
def _session(number: int) -> list[Said]:
    random = np.random.default_rng((11, number))
    scope = int(np.searchsorted(_scope_shares(), random.random()))
    topics = _drawn(random, _TOPICS)
    began = FIRST + timedelta(minutes=25 * number)
    said = []
    for place in range(SESSION):
        identifier = "_".join(_drawn(random, 2)) + f"_{random.integers(100)}"
        path = f"src/{topics[0]}/{identifier}.py"
        user = _prose(random, topics, _ASKED, [identifier])
        assistant = _prose(random, topics, _ANSWERED, [identifier, path])
        said.append(Said(scope, number, place, user, assistant, began + timedelta(minutes=place)))
    return said


def _drawn(random: np.random.Generator, count: int) -> list[str]:
    words = _words()
    return [words[rank] for rank in np.searchsorted(_cumulative(), random.random(count)).tolist()]


def _prose(
    random: np.random.Generator, topics: Sequence[str], length: tuple[int, int], names: Sequence[str]
) -> str:
    """Content words with function words between them, in sentences of about ten; each of `names` occurs once."""
    content = _drawn(random, int(random.integers(*length)))
    topical = random.random(len(content)) < _TOPICAL
    chosen = random.integers(len(topics), size=len(content))
    content = [topics[at] if own else word for word, own, at in zip(content, topical, chosen, strict=True)]
    for name in names:
        content.insert(int(random.integers(len(content))), name)
    glue, ends = random.integers(2 * len(_GLUE), size=len(content)), random.random(len(content)) < 0.1
    words: list[str] = []
    for word, at, end in zip(content, glue.tolist(), ends.tolist(), strict=True):
        words += [*_GLUE[at : at + 1], word + "." * end]
    return " ".join(words) + "."
