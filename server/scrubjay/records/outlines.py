"""The summary of a session as a list of points, each with the turn that it comes from."""

from collections.abc import Iterator, Sequence

from scrubjay.models.records import Turn
from scrubjay.models.results import Result
from scrubjay.records.session_summaries import exchange_of
from scrubjay.text.sentences import apart
from scrubjay.text.terms import words

LABELS = ("Outcome", "Answered", "Asked", "Open")  # labels of a summary's lines
_LEAST_WORDS = 3  # words of a point; a shorter one such as "Understood." says nothing
_SEARCHED_WORDS = 12  # first words by which a point's turn is found, because a point may be shortened


class Point(Result):
    """One sentence of a summary, under its label; `turn` is the number of the turn that says it."""

    label: str
    text: str
    turn: int | None


def points_of(summary: str, turns: Sequence[Turn]) -> list[Point]:
    """Return the points of a session's summary; a line that a host wrote is one point without a turn."""
    turn_texts = [(turn.turn, f" {_plain(' '.join(exchange_of(turn)[:2]))} ") for turn in turns]
    points = []
    for label, point in _sentences(summary):
        beginning = " ".join(words(point)[:_SEARCHED_WORDS])
        if beginning.count(" ") < _LEAST_WORDS - 1:
            continue
        turn = next((number for number, text in turn_texts if f" {beginning} " in text), None)
        points.append(Point(label=label, text=point, turn=turn))
    return points


def _sentences(summary: str) -> Iterator[tuple[str, str]]:
    """Yield each sentence of a summary with its label, and each unlabelled line with ""."""
    for line in summary.split("\n"):
        label, _, rest = line.partition(": ")
        if label in LABELS:
            yield from ((label, text) for text in apart(rest))
        elif label != "Files":
            yield ("", line)


def _plain(text: str) -> str:
    return " ".join(words(text))
