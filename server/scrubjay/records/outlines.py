"""The summary of a session as a list of points that lead to their turns."""

from collections.abc import Iterator, Sequence

from scrubjay.models.records import Turn
from scrubjay.models.results import Result
from scrubjay.records.session_summaries import exchange_of
from scrubjay.text.sentences import apart
from scrubjay.text.terms import words

LABELS = ("Outcome", "Answered", "Asked", "Open")  # of a summary's lines
_LEAST = 3  # words of a point; "Understood." says nothing
_SOUGHT = 12  # first words of a point by which its turn is found: a point may be shortened


class Point(Result):
    """One sentence of a summary, under its label; `turn` is the number of the turn that says it."""

    label: str
    text: str
    turn: int | None


def points_of(summary: str, turns: Sequence[Turn]) -> list[Point]:
    """Return the points of a session's summary; what a host wrote is one point without a turn."""
    said = [(turn.turn, f" {_plain(' '.join(exchange_of(turn)[:2]))} ") for turn in turns]
    points = []
    for label, point in _sentences(summary):
        sought = " ".join(words(point)[:_SOUGHT])
        if sought.count(" ") < _LEAST - 1:
            continue
        turn = next((number for number, text in said if f" {sought} " in text), None)
        points.append(Point(label=label, text=point, turn=turn))
    return points


def _sentences(summary: str) -> Iterator[tuple[str, str]]:
    for line in summary.split("\n"):
        label, _, rest = line.partition(": ")
        if label in LABELS:
            yield from ((label, text) for text in apart(rest))
        elif label != "Files":
            yield ("", line)


def _plain(text: str) -> str:
    return " ".join(words(text))
