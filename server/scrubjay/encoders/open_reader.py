"""Judges which sentences of a turn leave something open that is not settled afterwards.

A cross-encoder, trained by `server/model/left_open.py`, reads the prompt, the answer and what follows
together. It finds "the runner for ARM is offline, so half of the matrix has not seen this change", but not
the barest statements ("Legal has the text"), and a later turn that settles a point only makes that
sentence less likely. It reads English.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from scrubjay.encoders.cross_encoder import CrossEncoder, Input, lay_out
from scrubjay.text.sentences import sentences
from scrubjay.text.titles import Exchange

GRAPH, WEIGHTS = "open.onnx", "open.bin"
PROMPT, ANSWER, FOLLOWING = 96, 224, 160  # the most tokens of each segment; the model has 512 positions
SENTENCE = 40  # tokens; the rest of a longer sentence is not read
NEXT = 40, 80  # the most tokens of each later prompt, and of each later answer
_MODEL = CrossEncoder(GRAPH)


class Span(NamedTuple):
    """A sentence, and where its tokens begin and end in the input."""

    text: str
    start: int
    end: int


class Window(NamedTuple):
    """The input for a turn, or a part of a long turn, with three segments: prompt, answer, what follows."""

    given: Input
    spans: list[Span]


def log_odds(turn: Exchange, following: Sequence[Exchange] = ()) -> Iterator[tuple[str, float]]:
    """Yield each sentence of a turn, the prompt's first, with the log odds that it leaves something open.

    Of a long prompt and of the following turns, only the beginning is read. Reading 500 characters takes some
    15 ms.
    """
    for window in windows(turn, following):
        places = tuple((span.start, span.end) for span in window.spans)
        odds = _sentence_odds(window.given.tobytes(), places)
        yield from zip((span.text for span in window.spans), odds, strict=True)


def windows(turn: Exchange, following: Sequence[Exchange] = ()) -> Iterator[Window]:
    """Yield the inputs of a turn: several if the answer is long, each with the prompt and what follows."""
    prompt = next(_groups(turn.user, PROMPT), [])
    later_segments = [(2, ids) for ids in _beginnings(following)]
    prompt_ids = [token for _, ids in prompt for token in ids]
    for number, answer in enumerate(list(_groups(turn.assistant, ANSWER)) or [[]]):
        answer_ids = [token for _, ids in answer for token in ids]
        spans = [*(_spans(prompt, 1) if number == 0 else ()), *_spans(answer, 2 + len(prompt_ids))]
        yield Window(lay_out([(0, prompt_ids), (1, answer_ids), *later_segments]), spans)


@lru_cache(maxsize=1024)  # because a session is summarised again when it has further turns
def _sentence_odds(tokens: bytes, places: tuple[tuple[int, int], ...]) -> tuple[float, ...]:
    scores = _MODEL.read(np.frombuffer(tokens, np.int16).reshape(2, -1))
    return tuple(float(scores[start:end].mean()) for start, end in places)


def _groups(text: str, room: int) -> Iterator[list[tuple[str, list[int]]]]:
    """Yield groups of sentences with their tokens, in order; a group has at most `room` tokens."""
    group, size = list[tuple[str, list[int]]](), 0
    for sentence in sentences(text):
        ids = _MODEL.ids(sentence.text, SENTENCE)
        if not ids:
            continue
        if group and size + len(ids) > room:
            yield group
            group, size = [], 0
        group.append((sentence.text, ids))
        size += len(ids)
    if group:
        yield group


def _spans(group: Sequence[tuple[str, list[int]]], start: int) -> Iterator[Span]:
    for text, ids in group:
        yield Span(text, start, start + len(ids))
        start += len(ids)


def _beginnings(following: Sequence[Exchange]) -> Iterator[list[int]]:
    """Yield the first tokens of each later prompt and answer, `FOLLOWING` in all."""
    room = FOLLOWING
    for turn in following:
        for text, limit in zip((turn.user, turn.assistant), NEXT, strict=False):
            ids = _MODEL.ids(text, min(limit, room - 1))
            if ids:
                yield ids
                room -= len(ids) + 1
            if room < 2:
                return
