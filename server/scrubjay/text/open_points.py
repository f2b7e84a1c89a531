"""Finds what a session left open: questions, tasks, and sentences about what is still to be done.

A sentence of an answer is open if the weights of the signs in it (`signs` in `cues.toml`) and of its place in
the session sum up to more than 0. `tests/bench/fit_open.py` fits the weights.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from scrubjay.text import open_cues
from scrubjay.text.sentences import clip, flat, item_of, sentences
from scrubjay.text.terms import content_words
from scrubjay.text.titles import Exchange, excerpt, is_empty, subject_words, title

LONGEST_OPEN = 200  # one sentence about an open point
MOST_OPEN = 4  # sentences about open points
FILE = "open_weights.json"
WEIGHTS: Mapping[str, float] = json.loads((files("scrubjay.text") / FILE).read_text("utf-8"))["weights"]
# The weight of a phrase of `later` or `state`. Where the phrases were chosen it would be fitted too high.
PHRASE = 2.5
_STATE_TURNS = 2  # last turns of a session, in which a phrase of `state` counts
_LEAST_WORDS = 2  # content words of a point
_TAKEN_UP = 0.6  # share of a sentence's words that occur again later: the point was taken up
_STEM = 5  # letters by which "mirror" and "mirrored" are the same word


@dataclass(frozen=True)
class Point:
    """A sentence that may be open; one without evidence is."""

    text: str
    evidence: dict[str, float]  # values of the signs that the weights are for
    is_phrased: bool = False  # it has a phrase of `later` or `state`
    is_later: bool = False  # it has a phrase of `later`, which counts wherever it is said


def left_open(exchanges: Sequence[Exchange], after: Iterable[Exchange] = ()) -> list[str]:
    """Return the open points of a session, at most `MOST_OPEN` sentences, the last one first.

    They are an unanswered last prompt, a question at the end of the last answer, and what is still to be done
    and no later turn, nor one of a later session (`after`), takes up.
    """
    points = (clip(point.text, LONGEST_OPEN) for point in candidates(exchanges, after) if _is_open(point))
    return list(dict.fromkeys(points))[:MOST_OPEN]


def candidates(exchanges: Sequence[Exchange], after: Iterable[Exchange] = ()) -> Iterator[Point]:
    """Yield the sentences of a session that no later turn takes up, with the evidence that they are open."""
    later = [_stems(f"{excerpt(each.user)} {excerpt(each.assistant)}") for each in after]
    following = ""  # the next prompt
    for back, exchange in enumerate(reversed(exchanges)):
        user, assistant = excerpt(exchange.user), excerpt(exchange.assistant)
        for point in () if open_cues.is_done(following) else _points(user, assistant, back):
            words = _stems(point.text)
            taken = max((len(words & turn) / (len(words) or 1) for turn in later), default=0.0)
            if len(words) >= _LEAST_WORDS and taken < _TAKEN_UP:
                if point.evidence:
                    point.evidence["taken"] = taken
                yield point
        later.append(_stems(f"{user} {assistant}"))
        following = user


def _is_open(point: Point) -> bool:
    evidence = point.evidence | {"back": 0.0} if point.is_later else point.evidence
    odds = sum(WEIGHTS[name] * value for name, value in evidence.items())
    return not point.evidence or odds + PHRASE * point.is_phrased > 0


def _stems(text: str) -> set[str]:
    return {word[:_STEM] for word in content_words(text)}


def _points(user: str, assistant: str, back: int) -> Iterator[Point]:
    """Yield what may be open of one turn: a question at the end, lists of open points, other sentences.

    `back` is how many turns follow.
    """
    if back == 0 and not assistant.strip() and not is_empty(user):
        yield Point(title([Exchange(user, "")]), {})
        return
    answer = [sentence.text for sentence in sentences(assistant)]
    size = len(answer)
    if back == 0 and answer and open_cues.OFFER.match(answer[-1]) and len(subject_words(answer[-1])) >= 3:
        yield Point(answer.pop(), {})
    listed = list(_open_list(assistant))
    yield from (Point(item, {}) for item in listed)
    for at, text in reversed(list(enumerate(answer))):
        is_task = text.startswith(("[ ] ", "[x] ")) or text in listed
        if not (is_task or text.endswith(":") or open_cues.NOTHING_OPEN.search(text)):
            yield _weighed(text, at, size, back)
    for text in reversed([sentence.text for sentence in sentences(user)]):
        if open_cues.PLAN.search(text) and not open_cues.ASKS.search(text):
            yield Point(text, {})


def _weighed(text: str, at: int, size: int, back: int) -> Point:
    """Return a sentence with its signs and place: `at` of `size` in an answer that `back` turns follow."""
    is_later = open_cues.LATER.search(text) is not None
    is_state = back < _STATE_TURNS and open_cues.STATE.search(text) is not None
    place = {"first": at == 0 and size > 1, "last": at == size - 1 and size > 1, "end": back == 0}
    form = {"asks": text.endswith("?"), "brief": len(content_words(text)) < 3, "code": "`" in text}
    facts = {name: float(value) for name, value in (place | form).items()}
    evidence = {"offset": 1.0, "back": math.log1p(back), **_signs(text), **facts}
    return Point(text, evidence, is_later or is_state, is_later)


@lru_cache(maxsize=4096)  # a session is summarised after each of its turns
def _signs(text: str) -> Mapping[str, float]:
    return {name: float(sign.search(text) is not None) for name, sign in open_cues.SIGNS.items()}


def _open_list(text: str) -> Iterator[str]:
    """Yield tasks that are not ticked, and the items of a list below a line such as `Remaining:`."""
    listed = False
    for line in text.split("\n"):
        if task := open_cues.task_of(line):
            yield flat(task)
        elif (item := item_of(line)) is not None:
            if listed:
                yield item
        elif line.strip():
            listed = open_cues.begins_list(line)
