"""Finds what a session left open: questions, tasks, and sentences about what is still to be done.

Two scores are added. One is a sum of weights for the signs in a sentence (`signs` in `cues.toml`) and for its
place in the session; `tests/bench/fit_open.py` fits them. The other is from a model, which reads the turn and
what follows (`Read`). The model recognises more wordings; the sum recognises marks in long answers.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from scrubjay.text import tables
from scrubjay.text.languages import is_english
from scrubjay.text.sentences import QUESTION, clip, flat, item_of, sentences
from scrubjay.text.terms import content_words, told_words
from scrubjay.text.titles import Exchange, excerpt, is_empty, subject_words, title

LONGEST_OPEN = 200  # one sentence about an open point
MOST_OPEN = 4  # sentences about open points
FILE = Path(__file__).with_suffix(".json")
WEIGHTS: Mapping[str, float] = json.loads(FILE.read_text("utf-8"))["weights"]
# The weight of a phrase of `later` or `state`. It is not fitted: on the sessions that the phrases were chosen
# from, it would come out too high.
PHRASE = 2.5
# READ is the weight of the model's log odds. A sentence is open if the sum and these together exceed LEAST. A
# task, a listed point, an offer or a plan is open unless the model's log odds are below UNLIKELY. All three
# were chosen on the dev sessions. Above SURE a sentence is open whatever the sum is, because
# the signs only know the wordings of those sessions.
READ, LEAST, UNLIKELY, SURE = 0.6, 0.25, -2.5, 2.0
# The phrases of `later` count anywhere in a session, those of `state` only in its last turns.
_LATER, _STATE = tables.cues("later"), tables.cues("state")
_PLAN, _NOTHING_OPEN = tables.cues("plan"), tables.cues("nothing_open")
_SIGNS = {name: tables.cues(name, "signs") for name in tables.table("cues")["signs"]}
_DONE, _ASKS, _OFFER, _MARKED, _LIST_HEADING, _FAILING, _ALL_PASS = (
    tables.pattern("cues", name)
    for name in ("done", "asks", "offer", "marked", "list_heading", "failing", "all_pass")
)
_UNTICKED = re.compile(r"\s*[-*+] \[ \] +(.+)")  # a task
_STATE_TURNS = 2  # last turns of a session, in which a phrase of `state` counts
_LEAST_WORDS = 2  # content words of a point
_TAKEN_UP = 0.6  # a later turn with at least this share of a point's words takes up the point
_STEM = 5  # letters by which "mirror" and "mirrored" are the same word
_OPEN_WORDS = frozenset("still not yet todo".split())  # the same point without these words may be settled


# Returns the sentences of a turn with the log odds that they leave something open, given what follows.
Read = Callable[[Exchange, Sequence[Exchange]], Iterable[tuple[str, float]]]


@dataclass(frozen=True)
class Point:
    """A sentence about a point that may be open; without evidence it is open unless the model denies it."""

    text: str
    evidence: dict[str, float]  # the value of each sign in `WEIGHTS`
    is_phrased: bool = False  # it has a phrase of `later` or `state`
    is_later: bool = False  # it has a phrase of `later`, which counts anywhere in a session
    read: float | None = None  # log odds of the model; None if it did not read the language or the text


def left_open(exchanges: Sequence[Exchange], read: Read, after: Iterable[Exchange] = ()) -> list[str]:
    """Return the open points of a session, at most `MOST_OPEN` sentences, the latest first.

    A later turn, here or in a later session (`after`), closes the points that it takes up. `read` knows only
    English.
    """
    points = (point.text for point in candidates(exchanges, read, after) if _is_open(point))
    return list(dict.fromkeys(clip(text, LONGEST_OPEN) for text in points))[:MOST_OPEN]


def candidates(exchanges: Sequence[Exchange], read: Read, after: Iterable[Exchange] = ()) -> Iterator[Point]:
    """Yield the sentences of a session that no later turn takes up, with the evidence that they are open."""
    later = [_stems(f"{excerpt(turn.user)} {excerpt(turn.assistant)}") for turn in after]
    following: list[Exchange] = []
    for later_turns, exchange in enumerate(reversed(exchanges)):
        turn = Exchange(excerpt(exchange.user), excerpt(exchange.assistant))
        for point in _read_points(turn, following, later_turns, read):
            words = _stems(point.text)
            taken = max((len(words & stems) / (len(words) or 1) for stems in later), default=0.0)
            if len(set(told_words(point.text))) >= _LEAST_WORDS and taken < _TAKEN_UP:
                if point.evidence:
                    point.evidence["taken"] = taken
                yield point
        later.append(_stems(f"{turn.user} {turn.assistant}"))
        following = [turn, *following]


def _read_points(
    turn: Exchange, following: Sequence[Exchange], later_turns: int, read: Read
) -> Iterator[Point]:
    """Yield the points of a turn with the model's log odds, then sentences that only the model finds."""
    is_read = is_english(f"{turn.user} {turn.assistant}")
    odds = dict(read(turn, following)) if is_read else {}
    is_done = bool(following) and _DONE.match(following[0].user) is not None
    points = [] if is_done else list(_points(turn.user, turn.assistant, later_turns))
    if _is_unanswered(turn, later_turns):
        if turn.user.rstrip().endswith(QUESTION) or max(odds.values(), default=0.0) >= 0:
            yield from points
        return
    yield from (replace(point, read=odds.get(point.text)) for point in points)
    texts = {point.text for point in points}
    for text in (sentence.text for sentence in sentences(turn.user)):
        if text not in texts and odds.get(text, LEAST) > LEAST:
            yield Point(text, {}, read=odds[text])


def _is_open(point: Point) -> bool:
    if _MARKED.match(point.text):
        return True
    if not point.evidence:
        return point.read is None or point.read > UNLIKELY
    if point.read is not None and point.read > SURE:
        return True
    evidence = point.evidence | {"back": 0.0} if point.is_later else point.evidence
    odds = sum(WEIGHTS[name] * value for name, value in evidence.items()) + PHRASE * point.is_phrased
    return odds > 0 if point.read is None else odds + READ * point.read > LEAST


def _is_unanswered(turn: Exchange, later_turns: int) -> bool:
    return later_turns == 0 and not turn.assistant.strip() and not is_empty(turn.user)


def _stems(text: str) -> set[str]:
    return {word[:_STEM] for word in told_words(text) if word not in _OPEN_WORDS}


def _points(user: str, assistant: str, later_turns: int) -> Iterator[Point]:
    """Yield what may be open in one turn: a question at the end, lists of open points, other sentences.

    `later_turns` is the number of turns that follow.
    """
    if _is_unanswered(turn := Exchange(user, assistant), later_turns):
        yield Point(title([turn]), {})
        return
    answer = [sentence.text for sentence in sentences(assistant)]
    size = len(answer)
    if later_turns == 0 and answer and _asks_at_end(answer[-1], turn):
        yield Point(answer.pop(), {})
    listed = list(_open_list(assistant, later_turns == 0 and not _says_all_pass(assistant)))
    yield from (Point(item, {}) for item in listed)
    for at, text in reversed(list(enumerate(answer))):
        is_task = text.startswith(("[ ] ", "[x] ")) or text in listed
        if not (is_task or text.endswith(":") or _NOTHING_OPEN.search(text)):
            yield _point(text, at, size, later_turns)
    for text in reversed([sentence.text for sentence in sentences(user)]):
        if _PLAN.search(text) and not _ASKS.search(text):
            yield Point(text, {})


def _asks_at_end(sentence: str, turn: Exchange) -> bool:
    """Return True if the last sentence of a turn asks for an answer.

    In English it does so if it is an offer; the model judges other questions.
    """
    if _NOTHING_OPEN.search(sentence):
        return False
    is_foreign = sentence.endswith(QUESTION) and not is_english(f"{turn.user} {turn.assistant}")
    return bool(is_foreign or _OFFER.match(sentence)) and len(subject_words(sentence)) >= 3


def _point(text: str, at: int, size: int, later_turns: int) -> Point:
    """Return a point for a sentence of an answer: the number `at` of `size`, counted from 0."""
    is_later = _LATER.search(text) is not None
    is_state = later_turns < _STATE_TURNS and _STATE.search(text) is not None
    place = {"first": at == 0 and size > 1, "last": at == size - 1 and size > 1, "end": later_turns == 0}
    form = {"asks": text.endswith("?"), "brief": len(content_words(text)) < 3, "code": "`" in text}
    facts = {name: float(value) for name, value in (place | form).items()}
    evidence = {"offset": 1.0, "back": math.log1p(later_turns), **_signs(text), **facts}
    return Point(text, evidence, is_later or is_state, is_later)


@lru_cache(maxsize=4096)  # a session is summarised after each of its turns
def _signs(text: str) -> Mapping[str, float]:
    return {name: float(sign.search(text) is not None) for name, sign in _SIGNS.items()}


def _says_all_pass(answer: str) -> bool:
    """Return True if an answer says that all tests pass, and names no failing ones below that."""
    *_, rest = _ALL_PASS.split(answer)
    return rest != answer and not any(map(_FAILING.search, rest.split("\n")))


def _open_list(text: str, is_end: bool) -> Iterator[str]:
    """Yield tasks that are not ticked, and the items of a list below a line such as `Remaining:`.

    `is_end` says that the session ends with this text, and not well: then tests that fail are open too.
    """
    is_open_list = False
    for line in text.split("\n"):
        if task := _UNTICKED.match(line):
            yield flat(task[1])
        elif (item := item_of(line)) is not None:
            if is_open_list and not item.startswith("[x] "):
                yield item
        elif line.strip():
            is_open_list = bool(_LIST_HEADING.match(line) or (is_end and _FAILING.search(line)))
